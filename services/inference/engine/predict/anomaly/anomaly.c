/* See anomaly.h: how unusual a row is among the others, for fitted.c and reasons.c. Three detectors read each
 * row, and the score grows with the mean of their readings, each in standard deviations of the fitted rows'
 * (Kriegel et al., SDM 2011):
 *
 *   isolation   how soon a row is alone when columns are cut at random (Liu et al., ICDM 2008)
 *   distance    the mean distance to the nearest twentieth of a sample (Angiulli & Pizzuti, PKDD 2002)
 *   ellipse     the logarithm of the squared distance from the mean under the inverse covariance
 *               (Mahalanobis)
 *
 * Rows are read in the dense form whose far values stay far (features/dense.c): what makes a row unusual is
 * mostly in the tails that ranks level. Why so, and what else was tried: decisions 0373, 0382. Distances to
 * many rows are one matrix product: |x - r|^2 = |x|^2 + |r|^2 - 2 x.r. The forest and the ellipse are of BULK
 * rows at most, neighbours are sought among REFERENCE of them. Beyond ELLIPSE coordinates the covariance is
 * taken to be of blocks that stand apart: time and memory then grow with the width, not with its square or
 * cube (decision 0147). */
#include "services/inference/engine/predict/anomaly/anomaly.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/predict/anomaly/anomaly_cut.h"

/* BULK: rows that the forest and the ellipse are fitted on. REFERENCE: rows among which neighbours are
 * sought; of them one in NEAREST is near, and NEIGHBOUR at least (decision 0373). SAMPLE and HEIGHT: a tree
 * of the isolation forest sees 256 rows and is log2 of that deep, as its authors have it. LEAST_BULK, ELLIPSE
 * and MOST_PRODUCTS: decision 0147. WIDEST: columns of the dense form. BLOCK: rows of a loop's turn, five
 * tiles. */
enum {
    DETECTORS = 3,
    BULK = 6000,
    REFERENCE = 1000,
    NEAREST = 20,
    NEIGHBOUR = 10,
    MOST_NEIGHBOURS = REFERENCE / NEAREST,
    SAMPLE = 256,
    LEAST_BULK = 500,
    ELLIPSE = 300,
    HEIGHT = 8,
    WIDEST = 300,
    BLOCK = 240
};
static const double MOST_PRODUCTS = 5e10; /* rows x BULK x coordinates */
/* A reading that hardly varies is not magnified beyond its rounding: the least standard deviation. */
static const double LEAST_SD = 0.01;

/* A node of an isolation tree: rows with x[column] <= cut go left. */
typedef struct {
    int32_t column; /* -1: a leaf */
    float cut;
    uint32_t left, right;
    float depth; /* leaf: depth plus what its rows would still need */
} iso_node;

struct tab_anomaly_parts {
    tab_dense *dense;
    size_t width, trees, references, neighbours;
    size_t nodes;
    iso_node *node; /* (nodes) */
    uint32_t *root;
    float *reference; /* (width, references): columns are rows, for the product */
    float *norm;      /* (references) */
    size_t side;      /* coordinates of a block of the covariance; the last may have fewer */
    double *inverse;  /* (width, side) of the covariance: a row's own block */
    double *mean;     /* (width) */
    double middle[DETECTORS], sd[DETECTORS]; /* of the fitted rows' readings */
};

/* ---- isolation ------------------------------------------------------------------------------- */

/* Mean path length of an unsuccessful search in a binary search tree of n keys. */
static double path(double n)
{
    return n < 2 ? 0 : n < 3 ? 1 : 2 * (log(n - 1) + 0.5772156649015329) - 2 * (n - 1) / n;
}

typedef struct {
    tab_anomaly_parts *m;
    const float *x; /* (rows, width) */
    size_t nodes;
    uint64_t seed;
} grower;

/* One isolation tree, in preorder. A column whose rows are all equal cannot be cut: up to twelve columns
 * are tried. */
static uint32_t grow(grower *g, uint32_t *row, size_t n, size_t depth)
{
    size_t width = g->m->width;
    uint32_t at = (uint32_t)g->nodes++;
    iso_node *node = &g->m->node[at];
    assert(n > 0 && depth <= HEIGHT);
    *node = (iso_node){ .column = -1, .depth = (float)((double)depth + path((double)n)) };
    /* a leaf that still holds rows counts the depth that they would need */
    if (n < 2 || depth >= HEIGHT)
        return at;
    for (int attempt = 0; attempt < 12; attempt++) {
        uint64_t h = tab_mix2(g->seed, at * 16 + (uint64_t)attempt);
        size_t c = (size_t)(h % width);
        /* a cut drawn evenly between the least and the greatest value of the node's rows */
        float lo = g->x[row[0] * width + c], hi = lo;
        for (size_t i = 1; i < n; i++) {
            float v = g->x[row[i] * width + c];
            lo = fminf(lo, v), hi = fmaxf(hi, v);
        }
        if (!(hi > lo))
            continue;
        float cut = (float)((double)lo + ((double)hi - (double)lo) * tab_unit(tab_mix(h)));
        /* rows at or below the cut come to the front */
        size_t left = 0;
        for (size_t i = 0; i < n; i++)
            if (g->x[row[i] * width + c] <= cut) {
                uint32_t swap = row[left];
                row[left++] = row[i];
                row[i] = swap;
            }
        if (left == 0 || left == n)
            continue;
        uint32_t l = grow(g, row, left, depth + 1), r = grow(g, row + left, n - left, depth + 1);
        node->column = (int32_t)c;
        node->cut = cut;
        node->left = l;
        node->right = r;
        return at;
    }
    return at;
}

/* Minus the mean depth over the trees: higher for rows that are soon alone. */
static float isolation(const tab_anomaly_parts *m, const float *x)
{
    double sum = 0;
    for (size_t t = 0; t < m->trees; t++) {
        uint32_t at = m->root[t];
        while (m->node[at].column >= 0)
            at = x[m->node[at].column] <= m->node[at].cut ? m->node[at].left : m->node[at].right;
        sum += (double)m->node[at].depth;
    }
    return (float)(-sum / (double)m->trees);
}

/* ---- distance -------------------------------------------------------------------------------- */

/* Rows of x (n <= BLOCK, width): the mean distance to the nearest references. own: the rows are
 * references themselves, and the nearest one, at distance zero, is left out. */
static bool distances(const tab_anomaly_parts *m, const float *x, size_t n, bool own, float *out)
{
    size_t r = m->references;
    float *dot = malloc((n * r + 1) * sizeof *dot);
    if (dot == NULL)
        return false;
    tab_apply(x, n, m->width, m->reference, r, dot);
    for (size_t i = 0; i < n; i++) {
        /* squared distances of the nearest so far, rising; one more where the row itself is among them */
        float norm = 0, near[MOST_NEIGHBOURS + 1];
        size_t held = 0, want = m->neighbours + own;
        for (size_t j = 0; j < m->width; j++)
            norm += x[i * m->width + j] * x[i * m->width + j];
        for (size_t k = 0; k < r; k++) {
            float d = norm + m->norm[k] - 2 * dot[i * r + k];
            if (held == want && d >= near[held - 1])
                continue;
            size_t at = held < want ? held++ : held - 1;
            for (; at > 0 && near[at - 1] > d; at--)
                near[at] = near[at - 1];
            near[at] = d;
        }
        /* the first is the row itself, where it is a reference */
        double sum = 0;
        size_t used = 0;
        for (size_t k = own; k < held; k++, used++)
            sum += (double)sqrtf(near[k] > 0 ? near[k] : 0);
        out[i] = used > 0 ? (float)(sum / (double)used) : 0;
    }
    free(dot);
    return true;
}

/* ---- ellipse --------------------------------------------------------------------------------- */

/* Squared distance from the mean under the inverse covariance, block by block; part (width), where it is
 * not NULL, receives each coordinate's share. */
static double mahalanobis(const tab_anomaly_parts *m, const float *x, double *part)
{
    double sum = 0, d[ELLIPSE];
    for (size_t from = 0; from < m->width; from += m->side) {
        /* one block of coordinates, less the mean */
        size_t n = m->width - from < m->side ? m->width - from : m->side;
        for (size_t i = 0; i < n; i++)
            d[i] = (double)x[from + i] - m->mean[from + i];
        for (size_t i = 0; i < n; i++) {
            const double *own = m->inverse + (from + i) * m->side;
            double s[4] = { 0 }; /* four sums, so that none waits for the one before */
            size_t j = 0;
            for (; j + 4 <= n; j += 4)
                for (size_t k = 0; k < 4; k++)
                    s[k] += own[j + k] * d[j + k];
            for (; j < n; j++)
                s[0] += own[j] * d[j];
            double share = d[i] * ((s[0] + s[1]) + (s[2] + s[3]));
            if (part != NULL)
                part[from + i] = share;
            sum += share;
        }
    }
    return sum;
}

/* What the blocks of the covariance share. */
typedef struct {
    tab_anomaly_parts *m;
    const float *x; /* (rows, width) */
    size_t rows, kept;
    const bool *keep;
    double trace; /* of the whole covariance */
    double *cov;  /* (width, side), as the inverse */
    atomic_bool failed;
} ellipse;

/* The lower triangle of one block, summed over the kept rows in their order. */
static void block_covariance(void *ctx, size_t b)
{
    ellipse *q = ctx;
    const tab_anomaly_parts *m = q->m;
    size_t w = m->width, side = m->side, from = b * side, n = w - from < side ? w - from : side;
    double *cov = q->cov + from * side;
    const double *mean = m->mean + from;
    for (size_t r = 0; r < q->rows; r++) {
        const float *x = q->x + r * w + from;
        for (size_t i = 0; q->keep[r] && i < n; i++) {
            /* many coordinates are at the mean (missing cells, levels that a row has not) */
            double d = (double)x[i] - mean[i];
            for (size_t j = 0; d != 0 && j <= i; j++)
                cov[i * side + j] += d * ((double)x[j] - mean[j]);
        }
    }
}

/* The diagonal is raised by 2 % of the mean variance, so that columns that depend on one another do not
 * decide alone. Chosen by hand, not measured. */
static void block_inverse(void *ctx, size_t b)
{
    ellipse *q = ctx;
    const tab_anomaly_parts *m = q->m;
    size_t w = m->width, side = m->side, from = b * side, n = w - from < side ? w - from : side;
    double *cov = calloc(n * n, sizeof *cov), *column = malloc(n * sizeof *column);
    bool ok = cov != NULL && column != NULL;
    /* the covariance with a raised diagonal, then its factor */
    for (size_t i = 0; ok && i < n; i++) {
        for (size_t j = 0; j <= i; j++)
            cov[i * n + j] = q->cov[(from + i) * side + j] / (double)(q->kept + 1);
        cov[i * n + i] += 0.02 * q->trace / (double)w + 1e-6;
    }
    ok = ok && tab_cholesky(cov, n);
    for (size_t c = 0; ok && c < n; c++) { /* the inverse, a column at a time */
        memset(column, 0, n * sizeof *column);
        column[c] = 1;
        for (size_t i = c; i < n; i++) {
            for (size_t j = c; j < i; j++)
                column[i] -= cov[i * n + j] * column[j];
            column[i] /= cov[i * n + i];
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t j = i + 1; j < n; j++)
                column[i] -= cov[j * n + i] * column[j];
            column[i] /= cov[i * n + i];
        }
        for (size_t i = 0; i < n; i++)
            m->inverse[(from + i) * side + c] = column[i];
    }
    if (!ok)
        atomic_store(&q->failed, true);
    free(cov);
    free(column);
}

/* Mean and inverse covariance of the rows with keep[] set; the diagonal is raised by a little, so that
 * columns that depend on each other do not rule. */
static bool fit_ellipse(const tab_engine *e, tab_anomaly_parts *m, const float *x, size_t rows,
                        const bool *keep)
{
    size_t w = m->width, blocks = (w + m->side - 1) / m->side;
    ellipse q = { .m = m, .x = x, .rows = rows, .keep = keep };
    q.cov = calloc(w * m->side, sizeof *q.cov);
    if (q.cov == NULL)
        return false;
    atomic_init(&q.failed, false);
    memset(m->mean, 0, w * sizeof *m->mean);
    for (size_t r = 0; r < rows; r++)
        if (keep[r]) {
            q.kept++;
            for (size_t i = 0; i < w; i++)
                m->mean[i] += (double)x[r * w + i];
        }
    for (size_t i = 0; i < w; i++)
        m->mean[i] /= q.kept > 0 ? (double)q.kept : 1;
    /* covariances, the trace over all of them, inverses: blocks in parallel */
    tab_engine_for(e, blocks, block_covariance, &q);
    for (size_t i = 0; i < w; i++)
        q.trace += q.cov[i * m->side + i % m->side] / (double)(q.kept + 1);
    tab_engine_for(e, blocks, block_inverse, &q);
    free(q.cov);
    return !atomic_load(&q.failed) && !tab_engine_cancelled(e);
}

/* ---- the three together ---------------------------------------------------------------------- */

/* 0.5 for a row of mean readings, towards 1 with their height and never at it: an order is kept however far a
 * row lies. At one, three and ten standard deviations 0.85, 0.97 and 0.998. */
static float together(const tab_anomaly_parts *m, const float *raw)
{
    double z = 0;
    for (size_t k = 0; k < DETECTORS; k++)
        z += ((double)raw[k] - m->middle[k]) / m->sd[k] / DETECTORS;
    double score = 0.5 + 0.5 * z / sqrt(1 + z * z);
    assert(!(score < 0 || score > 1));
    return (float)score;
}

/* raw (n, DETECTORS) of rows row[0..n). False: out of memory. */
static bool raw_block(const tab_anomaly_parts *m, const tab_encoder *enc, const tab_data *q,
                      const uint32_t *row, size_t n, bool own, float *raw)
{
    float *x = malloc((n * m->width + 1) * sizeof *x), far[BLOCK];
    if (x == NULL)
        return false;
    tab_dense_read(m->dense, enc, q, row, n, x);
    bool ok = distances(m, x, n, own, far);
    for (size_t i = 0; ok && i < n; i++) {
        raw[i * DETECTORS] = isolation(m, x + i * m->width);
        raw[i * DETECTORS + 1] = far[i];
        raw[i * DETECTORS + 2] = (float)log(fmax(0, mahalanobis(m, x + i * m->width, NULL)) + 1e-3);
    }
    free(x);
    return ok;
}

/* Scores of the fitted rows, in blocks. */
typedef struct {
    const tab_engine *e;
    const tab_anomaly_parts *m;
    const tab_encoder *enc;
    const tab_data *d;
    const bool *reference;
    float *raw;
    atomic_bool failed;
} job;

/* The raw scores of one block of fitted rows. */
static void block(void *ctx, size_t b)
{
    job *j = ctx;
    size_t from = b * BLOCK, n = j->d->rows - from < BLOCK ? j->d->rows - from : BLOCK;
    if (tab_engine_cancelled(j->e))
        return;
    /* Rows that are references find themselves at distance 0; the others do not. */
    for (int own = 0; own < 2; own++) {
        uint32_t row[BLOCK];
        float raw[BLOCK * DETECTORS];
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (j->reference[from + i] == (own == 1))
                row[k++] = (uint32_t)(from + i);
        if (k > 0 && !raw_block(j->m, j->enc, j->d, row, k, own == 1, raw))
            atomic_store(&j->failed, true);
        for (size_t i = 0; i < k; i++)
            memcpy(j->raw + (size_t)row[i] * DETECTORS, raw + i * DETECTORS, DETECTORS * sizeof *raw);
    }
}

/* The rows of the bulk, row (rows), *n of them: how many goes by the work that they may cost. References are
 * taken among them at even steps: reference[i] says whether row i is one, *references how many are. */
static void choose_bulk(const tab_data *d, size_t width, uint64_t seed, bool *reference, uint32_t *row,
                        size_t *n, size_t *references)
{
    size_t rows = d->rows;
    double most = fmax(LEAST_BULK, MOST_PRODUCTS / ((double)rows * (double)width));
    double share = fmin(BULK, most) / (double)rows;
    *n = *references = 0;
    for (size_t i = 0; i < rows; i++)
        if (share >= 1 || tab_unit(tab_mix2(d->hash[i] + i, seed + 5)) < share)
            row[(*n)++] = (uint32_t)i;
    if (*n == 0)
        row[(*n)++] = 0;
    size_t step = (*n + REFERENCE - 1) / REFERENCE;
    for (size_t i = 0; i < *n; i += step, (*references)++)
        reference[row[i]] = true;
}

/* Room for the fitted form. False: the arena is full. */
static bool parts_new(tab_anomaly_parts *m, tab_arena *a, size_t trees, size_t references)
{
    size_t w = m->width, near = references / NEAREST;
    m->references = references;
    m->neighbours = near < NEIGHBOUR ? NEIGHBOUR : near;
    m->trees = trees;
    m->reference = tab_arena_new_of(a, float, w *references);
    m->norm = tab_arena_new_of(a, float, references);
    m->side = w < ELLIPSE ? w : ELLIPSE;
    m->inverse = tab_arena_new_of(a, double, w * m->side);
    m->mean = tab_arena_new_of(a, double, w);
    m->node = tab_arena_new_of(a, iso_node, trees * 2 * SAMPLE);
    m->root = tab_arena_new_of(a, uint32_t, trees);
    return !tab_arena_full(a);
}

/* The isolation forest over the bulk's coordinates x (sample, width). */
static void grow_forest(tab_anomaly_parts *m, const float *x, size_t sample, uint64_t seed)
{
    grower g = { .m = m, .x = x };
    for (size_t t = 0; t < m->trees; t++) {
        uint32_t pick[SAMPLE];
        size_t n = sample < SAMPLE ? sample : SAMPLE;
        for (size_t i = 0; i < n; i++) /* one of every n-th part of the rows, which stand by hash */
            pick[i] = (uint32_t)((double)sample * ((double)i + tab_unit(tab_mix2(seed + t, i))) / (double)n);
        g.seed = tab_mix2(seed, t);
        m->root[t] = grow(&g, pick, n, 0);
    }
    m->nodes = g.nodes;
}

/* The ellipse of the bulk, x (n, width), then twice of those that are not among the farthest tenth: what is
 * far must not widen the ellipse that it is measured by. False: out of memory or cancelled. */
static bool fit_bulk(const tab_engine *e, tab_anomaly_parts *m, const float *x, size_t n)
{
    size_t w = m->width;
    bool *keep = malloc(n * sizeof *keep);
    float *distance = malloc(n * sizeof *distance), *order = malloc(n * sizeof *order);
    bool ok = keep != NULL && distance != NULL && order != NULL;
    for (size_t i = 0; ok && i < n; i++)
        keep[i] = true;
    ok = ok && fit_ellipse(e, m, x, n, keep);
    for (int round = 0; ok && round < 2; round++) {
        for (size_t i = 0; i < n; i++)
            order[i] = distance[i] = (float)mahalanobis(m, x + i * w, NULL);
        qsort(order, n, sizeof *order, tab_ascending_float);
        float cut = order[n - 1 - n / 10];
        for (size_t i = 0; i < n; i++)
            keep[i] = distance[i] <= cut;
        ok = fit_ellipse(e, m, x, n, keep);
    }
    free(keep), free(distance), free(order);
    return ok;
}

/* The fitted rows' scores, and the threshold among them. False: out of memory or cancelled. */
static bool score_fitted(const tab_engine *e, tab_anomaly *an, const tab_encoder *enc, const tab_data *d,
                         const bool *reference, tab_anomaly_cut cut)
{
    tab_anomaly_parts *m = an->parts;
    size_t rows = d->rows;
    float *raw = malloc(rows * DETECTORS * sizeof *raw), *score = malloc(rows * sizeof *score);
    job j = { .e = e, .m = m, .enc = enc, .d = d, .reference = reference, .raw = raw };
    atomic_init(&j.failed, raw == NULL || score == NULL);
    if (raw != NULL && score != NULL)
        tab_engine_for(e, (rows + BLOCK - 1) / BLOCK, block, &j);
    bool ok = !atomic_load(&j.failed) && !tab_engine_cancelled(e);
    /* each detector's mean and standard deviation make its readings comparable */
    for (size_t k = 0; ok && k < DETECTORS; k++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < rows; i++)
            sum += (double)raw[i * DETECTORS + k];
        m->middle[k] = sum / (double)rows;
        for (size_t i = 0; i < rows; i++) {
            double off = (double)raw[i * DETECTORS + k] - m->middle[k];
            squares += off * off;
        }
        m->sd[k] = fmax(LEAST_SD, sqrt(squares / (double)rows));
    }
    for (size_t i = 0; ok && i < rows; i++)
        score[i] = an->score[i] = together(m, raw + i * DETECTORS);
    if (ok) {
        qsort(score, rows, sizeof *score, tab_ascending_float);
        tab_anomaly_cut_find(cut, score, rows, &an->threshold, &an->expected_share);
    }
    free(raw), free(score);
    return ok;
}

/* Order of work: the dense form, the references, forest and ellipse over them, and the scores of all rows. */
tab_anomaly *tab_anomaly_fit(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                             size_t trees, tab_anomaly_cut cut, uint64_t seed)
{
    size_t rows = d->rows, sample, references;
    tab_anomaly *an = tab_arena_new_of(a, tab_anomaly, 1);
    tab_anomaly_parts *m = tab_arena_new_of(a, tab_anomaly_parts, 1);
    if (an == NULL || m == NULL)
        return NULL;
    an->parts = m;
    an->threshold = cut.by == TAB_CUT_THRESHOLD ? cut.value : 1;
    an->score = tab_arena_new_of(a, float, rows + 1);
    m->dense = tab_dense_new(a, enc, TAB_DENSE_FAR, WIDEST, NULL);
    if (m->dense == NULL || an->score == NULL)
        return NULL;
    m->width = m->dense->width;
    if (rows < 2 || m->width == 0) { /* nothing to compare with: every row is ordinary */
        for (size_t i = 0; i < rows; i++)
            an->score[i] = 0.5f;
        an->expected_share = an->threshold <= 0.5;
        m->width = 0;
        return an;
    }
    size_t w = m->width;
    bool *reference = tab_arena_new_of(a, bool, rows + 1);
    uint32_t *row = tab_arena_new_of(a, uint32_t, rows + 1);
    if (reference == NULL || row == NULL)
        return NULL;
    /* the bulk, the references among it, their coordinates column by column, and the three detectors */
    choose_bulk(d, w, seed, reference, row, &sample, &references);
    if (!parts_new(m, a, trees, references))
        return NULL;
    float *x = malloc(sample * w * sizeof *x);
    if (x == NULL)
        return NULL;
    tab_dense_read(m->dense, enc, d, row, sample, x);
    for (size_t i = 0, r = 0; i < sample; i++) {
        if (!reference[row[i]])
            continue;
        for (size_t j = 0; j < w; j++) {
            m->reference[j * references + r] = x[i * w + j];
            m->norm[r] += x[i * w + j] * x[i * w + j];
        }
        r++;
    }
    grow_forest(m, x, sample, seed);
    bool ok = fit_bulk(e, m, x, sample);
    free(x);
    return ok && score_fitted(e, an, enc, d, reference, cut) ? an : NULL;
}

/* New rows are never among the references, so no distance is left out. */
bool tab_anomaly_scores(const tab_anomaly *m, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out)
{
    if (m->parts->width == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = 0.5f;
        return true;
    }
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t b = n - at < BLOCK ? n - at : BLOCK;
        float raw[BLOCK * DETECTORS];
        if (!raw_block(m->parts, enc, q, row + at, b, false, raw))
            return false;
        for (size_t i = 0; i < b; i++)
            out[at + i] = together(m->parts, raw + i * DETECTORS);
    }
    return true;
}

/* part (features): each feature's share of the ellipse's distance, for reasons. */
bool tab_anomaly_parts_of(const tab_anomaly *m, const tab_encoder *enc, const tab_data *q, uint32_t row,
                          double *part)
{
    const tab_anomaly_parts *p = m->parts;
    memset(part, 0, enc->n * sizeof *part);
    if (p->width == 0)
        return true;
    float *x = malloc(p->width * sizeof *x);
    double *own = malloc(p->width * sizeof *own);
    bool ok = x != NULL && own != NULL;
    if (ok) {
        tab_dense_read(p->dense, enc, q, &row, 1, x);
        mahalanobis(p, x, own);
        for (size_t j = 0; j < p->width; j++)
            part[p->dense->feature[j]] += own[j];
    }
    free(x);
    free(own);
    return ok;
}

/* ---- in few bytes ---------------------------------------------------------------------------- */

static void pack_parts(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_anomaly_parts *m = each;
    TAB_PACK_ONE(p, m->dense, tab_pack_dense);
    TAB_PACK(p, m->node, m->nodes);
    TAB_PACK(p, m->root, m->trees);
    TAB_PACK(p, m->reference, m->width * m->references);
    TAB_PACK(p, m->norm, m->references);
    TAB_PACK(p, m->inverse, m->width * m->side);
    TAB_PACK(p, m->mean, m->width);
}

void tab_pack_anomaly(tab_pack *p, void *each, const void *context)
{
    tab_anomaly *m = each;
    TAB_PACK(p, m->score, *(const size_t *)context);
    TAB_PACK_ONE(p, m->parts, pack_parts);
}
