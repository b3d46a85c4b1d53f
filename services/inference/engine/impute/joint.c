/* See joint.h. With x a row's centred coordinates, O those present and M those missing, S the
 * covariance and L = S^-1 its precision,
 *
 *   E[x_M | x_O] = -L_MM^-1 L_MO x_O            cov[x_M | x_O] = L_MM^-1
 *
 * which is all that expectation-maximisation needs. What is left out a column at a time follows
 * from the same numbers: with r the row completed so, B the coordinates of a present column, and Y
 * = L_MM^-1 L_MB,
 *
 *   P = L_BB - L_BM Y                           the precision of x_B given the rest of O
 *   d = P^-1 (L r)_B                            x_B less its expectation given the rest of O
 *   E[x_M | x_O without B] = r_M + Y d
 *
 * The covariance is drawn a little towards independence, by PRIOR rows of it. */
#include "services/inference/engine/impute/joint.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/solve.h"

/* Sizes and bounds: folds that are left out in turn, rows that expectation-maximisation reads, least rows
 * of a table, most coordinates, rounds on all rows and then on each fold, levels of a category, rows of a
 * loop's turn. Chosen by hand, not measured. */
enum {
    FOLDS = 4,
    FIT_ROWS = 4000,
    LEAST_ROWS = 30,
    WIDEST = 200,
    ROUNDS = 12,
    MORE_ROUNDS = 4,
    LEVELS = 12,
    BLOCK = 256
};
static const double PRIOR =
    4; /* rows' worth of independence in the covariance: chosen by hand, not measured */

typedef struct {
    size_t feature, source;
    size_t at, width; /* its coordinates: at .. at + width; none where a category has one level */
    size_t first;     /* categories: the level of its first coordinate */
} part;

typedef struct {
    double *mean;      /* (m) */
    double *precision; /* (m, m) */
} model;

struct tab_joint {
    size_t m, parts;
    part *part; /* (parts) those of one column stand together */
    float score[TAB_KNOTS];
    const float *x;       /* (rows, m) coordinates, NaN where missing */
    const uint64_t *hash; /* (rows) */
    uint32_t *place;      /* (rows) of a row of the table, among the encoded ones */
    size_t rows, cols;
    size_t *from, *to; /* (cols) coordinates of a column; from = to: it has none */
    model fold[FOLDS];
};

/* A row's fold, by its content: copies share one. */
static size_t fold_of(const tab_joint *j, size_t row)
{
    return (size_t)(tab_mix2(j->hash[row], 0x1017) % FOLDS);
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* Lays out the coordinates of at most `levels` levels a category; returns their number. */
static size_t lay_out(const tab_encoder *enc, size_t levels, part *p)
{
    size_t m = 0;
    for (size_t i = 0; i < enc->n; i++) {
        const tab_feature *f = &enc->f[i];
        size_t width = 1, first = 0;
        if (f->kind == TAB_FEATURE_CODE) { /* where every level is named, the commonest follows from
                                              the others */
            first = f->levels <= levels;
            width = first ? f->levels - 1 : levels;
        }
        p[i] = (part){ .feature = i, .source = f->source, .at = m, .width = width, .first = first };
        m += width;
    }
    return m;
}

/* For qsort: parts by the column that they read. */
static int by_source(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

typedef struct {
    const tab_joint *j;
    const tab_encoder *enc;
    const tab_data *d;
    float *x;
} read_job;

/* The coordinates of one block of rows: normal scores of skewed numbers, z-scores of others within 5,
 * indicators of levels. */
static void read_block(void *ctx, size_t b)
{
    read_job *q = ctx;
    const tab_joint *j = q->j;
    size_t to = (b + 1) * BLOCK < j->rows ? (b + 1) * BLOCK : j->rows;
    for (size_t k = 0; k < j->parts; k++) {
        const part *p = &j->part[k];
        const tab_feature *f = &q->enc->f[p->feature];
        for (size_t i = b * BLOCK; i < to; i++) {
            float *x = q->x + i * j->m + p->at;
            if (f->kind == TAB_FEATURE_CODE) {
                uint32_t c = q->d->code[p->feature][i];
                for (size_t l = 0; l < p->width; l++)
                    x[l] = c == TAB_NULL ? NAN : (float)(c == p->first + l);
                continue;
            }
            float v = q->d->x[p->feature][i];
            float z = (v - f->mean) / f->sd;
            x[0] = isnan(v)    ? NAN
                   : f->skewed ? tab_number_score(f, j->score, v)
                   : z > 5     ? 5
                   : z < -5    ? -5
                               : z;
        }
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Scratch of one row's completion. */
typedef struct {
    uint32_t *missing; /* (m) */
    size_t n;
    double *l;    /* (n, n) Cholesky factor of L_MM, lower */
    double *r;    /* (m) the row, centred and completed */
    double *y;    /* (m, m) */
    double *left; /* (m, m) */
} room;

/* False: out of memory; room_free frees what there is. */
static bool room_new(room *s, size_t m)
{
    *s = (room){ .missing = malloc(m * sizeof *s->missing),
                 .l = malloc(m * m * sizeof *s->l),
                 .r = malloc(m * sizeof *s->r),
                 .y = malloc(m * m * sizeof *s->y),
                 .left = malloc(m * m * sizeof *s->left) };
    return s->missing != NULL && s->l != NULL && s->r != NULL && s->y != NULL && s->left != NULL;
}

static void room_free(room *s)
{
    free(s->missing), free(s->l), free(s->r), free(s->y), free(s->left);
}

/* a (n, n) becomes its Cholesky factor, in the lower triangle. Precisions are well away from
 * singular. */
static void factor(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                s -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(s > 1e-12 ? s : 1e-12) : s / a[j * n + j];
        }
}

/* x (n) of stride `step` <- (l l')^-1 x */
static void solve(const double *l, size_t n, double *x, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        double s = x[i * step];
        for (size_t k = 0; k < i; k++)
            s -= l[i * n + k] * x[k * step];
        x[i * step] = s / l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double s = x[i * step];
        for (size_t k = i + 1; k < n; k++)
            s -= l[k * n + i] * x[k * step];
        x[i * step] = s / l[i * n + i];
    }
}

/* Completes row x by its expectation: s->missing, s->l and s->r. */
static void complete(const model *f, const float *x, size_t m, room *s)
{
    s->n = 0;
    for (size_t i = 0; i < m; i++) {
        if (isnan(x[i]))
            s->missing[s->n++] = (uint32_t)i;
        s->r[i] = isnan(x[i]) ? 0 : (double)x[i] - f->mean[i];
    }
    size_t n = s->n;
    double *v = s->y;
    for (size_t i = 0; i < n; i++) {
        const double *row = f->precision + s->missing[i] * m;
        for (size_t k = 0; k <= i; k++)
            s->l[i * n + k] = row[s->missing[k]];
        v[i] = 0;
        for (size_t k = 0; k < m; k++)
            v[i] -= row[k] * s->r[k];
    }
    factor(s->l, n);
    solve(s->l, n, v, 1);
    for (size_t i = 0; i < n; i++)
        s->r[s->missing[i]] = v[i];
}

/* ---- expectation-maximisation ---------------------------------------------------------------- */

void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* precision <- cov^-1, whole; cov is overwritten. */
static bool invert(double *cov, double *precision, size_t m)
{
    int n = (int)m, info = 0;
    if (!tab_cholesky(cov, m))
        return false;
    dpotri_("U", &n, cov, &n, &info);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k <= i; k++)
            precision[i * m + k] = precision[k * m + i] = cov[i * m + k];
    return info == 0;
}

/* Rounds of expectation-maximisation from f, on rows [0, n) that are not of fold `without`. */
static bool maximise(const tab_engine *e, const tab_joint *j, size_t n, size_t without, const double *prior,
                     size_t rounds, model *f)
{
    size_t m = j->m;
    double *r = malloc(n * m * sizeof *r), *cov = malloc(m * m * sizeof *cov);
    room s;
    bool ok = room_new(&s, m) && r != NULL && cov != NULL;
    for (size_t round = 0; ok && round < rounds && !tab_engine_cancelled(e); round++) {
        size_t used = 0;
        memset(cov, 0, m * m * sizeof *cov);
        for (size_t i = 0; i < n; i++) {
            if (fold_of(j, i) == without)
                continue;
            complete(f, j->x + i * m, m, &s);
            memcpy(r + used++ * m, s.r, m * sizeof *r);
            for (size_t a = 0; a < s.n; a++) { /* what the missing coordinates still vary */
                memset(s.y, 0, s.n * sizeof *s.y);
                s.y[a] = 1;
                solve(s.l, s.n, s.y, 1);
                for (size_t b = 0; b <= a; b++)
                    cov[s.missing[a] * m + s.missing[b]] += s.y[b];
            }
        }
        double weight = (double)used + PRIOR;
        for (size_t k = 0; k < m; k++) {
            double sum = 0;
            for (size_t i = 0; i < used; i++)
                sum += r[i * m + k];
            sum /= (double)used + 1;
            f->mean[k] += sum;
            for (size_t i = 0; i < used; i++)
                r[i * m + k] -= sum;
        }
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)m, (int)used, 1 / weight, r, (int)m,
                    1 / weight, cov, (int)m);
        for (size_t k = 0; k < m; k++)
            cov[k * m + k] += prior[k] * (PRIOR / weight + 1e-4);
        ok = invert(cov, f->precision, m);
    }
    room_free(&s);
    free(r), free(cov);
    return ok && !tab_engine_cancelled(e);
}

typedef struct {
    const tab_engine *e;
    tab_joint *j;
    size_t n;
    const double *prior;
    atomic_bool failed;
} fold_job;

/* Four rounds more from the fit on all rows, without one fold. */
static void fit_fold(void *ctx, size_t f)
{
    fold_job *q = ctx;
    if (!maximise(q->e, q->j, q->n, f, q->prior, MORE_ROUNDS, &q->j->fold[f]))
        atomic_store(&q->failed, true);
}

/* *ret stays NULL where the table is too small or too wide for it. Features of one column stand together,
 * so that the column can be left out as one run of coordinates. */
bool tab_joint_fit(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                   tab_joint **ret)
{
    *ret = NULL;
    if (d->rows < LEAST_ROWS || enc->n < 2 || enc->n > WIDEST)
        return true;
    tab_joint *j = tab_arena_new_of(a, tab_joint, 1);
    part *p = tab_arena_new_of(a, part, enc->n), *own = tab_arena_new_of(a, part, enc->n);
    uint64_t(*order)[2] = tab_arena_alloc(a, enc->n, sizeof *order);
    if (tab_arena_full(a))
        return false;
    size_t levels = LEVELS;
    while (lay_out(enc, levels, p) > WIDEST && levels > 1)
        levels /= 2;
    *j = (tab_joint){ .m = lay_out(enc, levels, p),
                      .parts = enc->n,
                      .part = own,
                      .hash = d->hash,
                      .rows = d->rows,
                      .cols = enc->cols };
    if (j->m == 0 || j->m > WIDEST)
        return true;
    tab_number_scores(j->score);
    for (size_t i = 0; i < enc->n; i++) {
        order[i][0] = (uint64_t)enc->f[i].source << 32 | i;
        order[i][1] = i;
    }
    qsort(order, enc->n, sizeof *order, by_source);
    j->from = tab_arena_new_of(a, size_t, enc->cols + 1);
    j->to = tab_arena_new_of(a, size_t, enc->cols + 1);
    j->place = tab_arena_new_of(a, uint32_t, d->rows + 1);
    float *x = tab_arena_new_of(a, float, d->rows * j->m);
    double *prior = tab_arena_new_of(a, double, j->m);
    model all = { tab_arena_new_of(a, double, j->m), tab_arena_new_of(a, double, j->m * j->m) };
    for (size_t f = 0; f < FOLDS; f++)
        j->fold[f] = (model){ tab_arena_new_of(a, double, j->m), tab_arena_new_of(a, double, j->m * j->m) };
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < d->rows; i++)
        j->place[d->row[i]] = (uint32_t)i;
    size_t at = 0;
    for (size_t i = 0; i < enc->n; i++) {
        j->part[i] = p[order[i][1]];
        j->part[i].at = at;
        size_t source = j->part[i].source;
        j->from[source] = j->to[source] > 0 ? j->from[source] : at;
        at += j->part[i].width;
        j->to[source] = at;
    }
    read_job q = { j, enc, d, x };
    tab_engine_for(e, (d->rows + BLOCK - 1) / BLOCK, read_block, &q);
    j->x = x;

    /* From independent coordinates. */
    size_t n = d->rows < FIT_ROWS ? d->rows : FIT_ROWS;
    for (size_t k = 0; k < j->m; k++) {
        double sum = 0, square = 0, seen = 0;
        for (size_t i = 0; i < n; i++)
            if (!isnan(x[i * j->m + k]))
                sum += (double)x[i * j->m + k], square += (double)(x[i * j->m + k] * x[i * j->m + k]), seen++;
        double mean = seen > 0 ? sum / seen : 0, var = seen > 0 ? square / seen - mean * mean : 0;
        prior[k] = var > 1e-6 ? var : 1e-6;
        all.mean[k] = mean;
        all.precision[k * j->m + k] = 1 / prior[k];
    }
    if (!maximise(e, j, n, FOLDS, prior, ROUNDS, &all))
        return false;
    for (size_t f = 0; f < FOLDS; f++) {
        memcpy(j->fold[f].mean, all.mean, j->m * sizeof *all.mean);
        memcpy(j->fold[f].precision, all.precision, j->m * j->m * sizeof *all.precision);
    }
    fold_job g = { .e = e, .j = j, .n = n, .prior = prior };
    atomic_init(&g.failed, false);
    tab_engine_for(e, FOLDS, fit_fold, &g);
    if (atomic_load(&g.failed))
        return false;
    *ret = j;
    return true;
}

/* ---- what a column's learners see ------------------------------------------------------------ */

typedef struct {
    const tab_joint *j;
    size_t from, to; /* the target's coordinates */
    float *own;      /* (to - from, rows) their expectations */
    float **fill;    /* (parts) (rows) numbers with their gaps filled, as coordinates; NULL: not wanted */
    atomic_bool failed;
} view_job;

/* For each row of a block: the expected numbers in its gaps, without the column that is asked for, and the
 * expectation of that column's own coordinates, by the formulas at the head. */
static void view_block(void *ctx, size_t b)
{
    view_job *q = ctx;
    const tab_joint *j = q->j;
    size_t m = j->m, end = (b + 1) * BLOCK < j->rows ? (b + 1) * BLOCK : j->rows, width = q->to - q->from;
    room s;
    bool ok = room_new(&s, m);
    double *d = malloc((width + 1) * sizeof *d);
    if (!ok || d == NULL)
        atomic_store(&q->failed, true);
    for (size_t i = b * BLOCK; ok && d != NULL && i < end; i++) {
        const float *x = j->x + i * m;
        const model *f = &j->fold[fold_of(j, i)];
        complete(f, x, m, &s);
        memset(d, 0, (width + 1) * sizeof *d);
        if (width > 0 && !isnan(x[q->from])) {
            for (size_t k = 0; k < width; k++) { /* y (width, n) <- L_MM^-1 L_MB, and the precision left */
                const double *row = f->precision + (q->from + k) * m;
                double *y = s.y + k * s.n;
                for (size_t c = 0; c < s.n; c++)
                    y[c] = row[s.missing[c]];
                solve(s.l, s.n, y, 1);
                for (size_t l = 0; l <= k; l++) {
                    double v = row[q->from + l];
                    for (size_t c = 0; c < s.n; c++)
                        v -= row[s.missing[c]] * s.y[l * s.n + c];
                    s.left[k * width + l] = v;
                }
                for (size_t c = 0; c < m; c++)
                    d[k] += row[c] * s.r[c];
            }
            factor(s.left, width);
            solve(s.left, width, d, 1);
            for (size_t c = 0; c < s.n; c++)
                for (size_t k = 0; k < width; k++)
                    s.r[s.missing[c]] += s.y[k * s.n + c] * d[k];
        }
        for (size_t k = 0; k < width; k++)
            q->own[k * j->rows + i] = (float)(s.r[q->from + k] - d[k] + f->mean[q->from + k]);
        for (size_t k = 0; k < j->parts; k++)
            if (q->fill[k] != NULL)
                q->fill[k][i] = (float)(s.r[j->part[k].at] + f->mean[j->part[k].at]);
    }
    free(d);
    room_free(&s);
}

/* Appends a number, values (rows), to the view's features. */
static bool append(tab_arena *a, tab_encoder *enc, tab_data *d, tab_feature *f, const float *value,
                   uint64_t hash)
{
    tab_feature *g = &f[enc->n];
    *g = (tab_feature){ .kind = TAB_FEATURE_NUMBER,
                        .derive = TAB_DERIVE_VALUE,
                        .source = enc->cols,
                        .hash = hash,
                        .scale = 1,
                        .sd = 1,
                        .edge = tab_arena_new_of(a, float, TAB_BINS) };
    float *x = tab_arena_new_of(a, float, d->rows + 1);
    uint8_t *bin = tab_arena_new_of(a, uint8_t, d->rows + 1);
    double *copy = malloc((d->rows + 1) * sizeof *copy);
    bool ok = copy != NULL && !tab_arena_full(a);
    for (size_t i = 0; ok && i < d->rows; i++)
        copy[i] = (double)value[i];
    ok = ok && tab_number_fit(g, copy, d->rows);
    free(copy);
    if (!ok)
        return false;
    for (size_t i = 0; i < d->rows; i++) {
        x[i] = tab_number_scaled(g, (double)value[i]);
        bin[i] = tab_number_bin(g, x[i]);
    }
    d->x[enc->n] = x;
    d->code[enc->n] = NULL;
    d->bin[enc->n] = bin;
    d->n = ++enc->n;
    return true;
}

/* Where `source` is missing, what other columns' gaps were filled with comes before their expectations. */
static void take_filled(const tab_joint *j, size_t source, const tab_joint_filled *k, const tab_feature *g,
                        float *x)
{
    for (size_t i = 0; j->from[source] < j->to[source] && i < k->n; i++) {
        size_t at = j->place[k->row[i]];
        if (isnan(j->x[at * j->m + j->from[source]]))
            x[at] = tab_number_scaled(g, k->value[i]);
    }
}

bool tab_joint_complete(const tab_engine *e, tab_arena *a, const tab_joint *j, size_t source,
                        const tab_joint_filled *filled, size_t n, tab_encoder *enc, tab_data *data)
{
    size_t width = j->to[source] - j->from[source], rows = j->rows, most = enc->n + width + 1;
    tab_feature *f = tab_arena_new_of(a, tab_feature, most);
    float **x = tab_arena_new_of(a, float *, most);
    uint32_t **code = tab_arena_new_of(a, uint32_t *, most);
    uint8_t **bin = tab_arena_new_of(a, uint8_t *, most);
    view_job q = { .j = j, .from = j->from[source], .to = j->to[source] };
    q.own = tab_arena_new_of(a, float, width *rows + 1);
    q.fill = tab_arena_new_of(a, float *, j->parts + 1);
    size_t *view = tab_arena_new_of(a, size_t, j->parts + 1); /* a part's feature in the view */
    if (tab_arena_full(a))
        return false;
    memcpy(f, enc->f, enc->n * sizeof *f);
    memcpy(x, data->x, enc->n * sizeof(float *));
    memcpy(code, data->code, enc->n * sizeof(uint32_t *));
    memcpy(bin, data->bin, enc->n * sizeof(uint8_t *));
    enc->f = f;
    data->x = x, data->code = code, data->bin = bin;
    for (size_t k = 0; k < j->parts; k++) { /* views keep the order of features */
        if (j->part[k].source == source)
            continue;
        view[k] = 0;
        for (size_t i = 0; i < j->parts; i++)
            view[k] += j->part[i].feature < j->part[k].feature && j->part[i].source != source;
        if (f[view[k]].kind == TAB_FEATURE_NUMBER && f[view[k]].has_missing) {
            q.fill[k] = tab_arena_new_of(a, float, rows + 1);
            if (q.fill[k] == NULL)
                return false;
        }
    }
    atomic_init(&q.failed, false);
    tab_engine_for(e, (rows + BLOCK - 1) / BLOCK, view_block, &q);
    if (atomic_load(&q.failed))
        return false;
    for (size_t k = 0; k < j->parts; k++) {
        if (q.fill[k] == NULL)
            continue;
        tab_feature *g = &f[view[k]];
        const float *old = x[view[k]];
        uint8_t *bins = tab_arena_new_of(a, uint8_t, rows + 1);
        if (bins == NULL)
            return false;
        for (size_t i = 0; i < rows; i++) {
            float v = q.fill[k][i];
            q.fill[k][i] = !isnan(old[i]) ? old[i]
                           : g->skewed    ? tab_number_of_score(g, j->score, v)
                                          : v * g->sd + g->mean;
        }
        for (size_t i = 0; width > 0 && i < n; i++)
            if (filled[i].column == g->source &&
                (g->derive == TAB_DERIVE_VALUE || g->derive == TAB_DERIVE_LEVEL))
                take_filled(j, source, &filled[i], g, q.fill[k]);
        for (size_t i = 0; i < rows; i++)
            bins[i] = tab_number_bin(g, q.fill[k][i]);
        x[view[k]] = q.fill[k];
        bin[view[k]] = bins;
        g->has_missing = false;
    }
    for (size_t k = 0; k < width; k++)
        if (!append(a, enc, data, f, q.own + k * rows, tab_mix2(enc->column_hash[source], 0x30 + k)))
            return false;
    return true;
}
