/* From evidence to probability, by what the data set itself shows: targets and decoys.
 *
 * Evidence of a pair is a sum of log-likelihood ratios whose attributes are not independent, on tables whose
 * share of true pairs nobody knows. Read as log-odds it would be far too sure, and by another factor on each
 * data set. What can be counted is how high pairs score that are surely false, and a data set has plenty of
 * those. Proteomics has the same question (is this spectrum this peptide?) and the same answer.
 *
 *   candidates ─> best assignment (one to one, or each row of the many to one): targets, of which
 *                 an unknown share is true
 *              ─> the targets struck out, the best assignment of what is left: decoys. Where a row's
 *                 target is true, its decoy is the best of its pairs that are not.
 *
 * A linear score over what does not depend on the data set's scale tells targets from decoys; it is
 * learned on the data set, as Percolator does for peptides (Kall et al., Nature Methods 2007), with the
 * targets' own probabilities as weights, and held near equal weights. Its probability is the local false
 * discovery rate (Efron 2004): the ratio of the densities of decoys and targets by isotonic regression,
 * times the share of false targets. Nothing here is fitted to any other table.
 *
 *   1. choose_sets   targets, decoys, and what is best when both are struck out: three sets, each of the best
 *                    pairs that are left. Features are without dimension, standardised over the first two.
 *   2. tell_apart    ROUNDS times: score by weights, probabilities by discover, weights by Newton's steps. A
 *                    decoy counts as far as its rows' targets are true: else it is no second best of false
 *                    pairs but the best of them, and would be held against true targets twice.
 *   3. raise_decoys  in the last round a decoy whose target is false is moved to where a first would lie, by
 *                    the gap to the third set (Renyi): the null of a best pair is that of best pairs.
 *   4. second_opinion  where many rows match, moved decoys are too careful; the weighed ones are heard.
 *   5. settle        few rows show no densities: below about FEW pairs the probabilistic model of score.c
 *                    counts as well, and evidence that chance gives among so many rows counts for nothing.
 *
 * What holds: weights of features are at least LEAST, so more agreement never makes a pair less likely (of
 * pairs with the same text weight and rows); probabilities ascend with the score; none is 1, since n targets
 * cannot show more than n decoys would contradict; pairs that were not chosen have p = 0. A row that may have
 * several partners has no rivals, and is not struck out. Cost: a sort of the candidates three times, and
 * linear passes; learning looks at FITTED pairs of each set. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"

enum { FEATURES = 5, WIDE = FEATURES + 1, ROUNDS = 6, STEPS = 40, FITTED = 20000, FEW = 30 };

typedef struct {
    uint32_t i; /* candidate */
    float x[FEATURES];
    float score, p, w;
} chosen;

typedef struct {
    float key;
    uint32_t i;
} ranked;

static int highest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* ---- two assignments ------------------------------------------------------------------------- */

double tab_pair_ratio(const tab_candidates *c, const float *self, size_t na, size_t i)
{
    return (double)(c->evidence[i] / fmaxf(fminf(self[c->a[i]], self[na + c->b[i]]), 1));
}

typedef struct {
    double sum, square;
} moment;

static void take(moment *m, double x)
{
    m->sum += x;
    m->square += x * x;
}

static double spread(const moment *m, double n)
{
    double mean = m->sum / n;
    return sqrt(fmax(m->square / n - mean * mean, 0)) + 1e-9;
}

tab_pair_scale tab_pair_scale_of(const tab_candidates *c, const float *self, size_t na)
{
    moment s = { 0 }, q = { 0 }, t = { 0 };
    for (size_t i = 0; i < c->n; i++) {
        take(&s, (double)c->evidence[i]);
        take(&q, (double)c->cosine[i]);
        take(&t, tab_pair_ratio(c, self, na, i));
    }
    double n = (double)c->n;
    return (tab_pair_scale){ spread(&s, n), spread(&q, n), spread(&t, n) };
}

float tab_pair_key(const tab_pair_scale *s, double evidence, double cosine, double ratio)
{
    return (float)(evidence / s->evidence + cosine / s->cosine + ratio / s->ratio);
}

/* Candidates by tab_pair_key. */
static void rank(const tab_candidates *c, const float *self, size_t na, ranked *r)
{
    tab_pair_scale s = tab_pair_scale_of(c, self, na);
    for (size_t i = 0; i < c->n; i++)
        r[i] = (ranked){ tab_pair_key(&s, (double)c->evidence[i], (double)c->cosine[i],
                                      tab_pair_ratio(c, self, na, i)),
                         (uint32_t)i };
    qsort(r, c->n, sizeof *r, highest_first);
}

/* The likeliest of the open candidates whose rows are both free; a row that may have several partners
 * always is. */
static size_t assign(const tab_linkage *l, const ranked *r, size_t na, size_t rows, const bool *open,
                     bool *used, chosen *out)
{
    const tab_candidates *c = &l->c;
    size_t n = 0;
    memset(used, 0, rows);
    for (size_t k = 0; k < c->n; k++) {
        uint32_t i = r[k].i, x = c->a[i], y = (uint32_t)na + c->b[i];
        if (open[i] && !used[x] && !used[y]) {
            used[x] = !l->many_b;
            used[y] = !l->many_a;
            assert(x < na && y < rows && n < c->n);
            out[n++].i = i;
        }
    }
    return n;
}

/* Best and second best of a value over the candidates of each row. */
typedef struct {
    float first, second;
    uint32_t who;
} best_two;

static void note(best_two *b, float x, uint32_t i)
{
    if (x > b->first) {
        b->second = b->first;
        b->first = x;
        b->who = i;
    } else if (x > b->second) {
        b->second = x;
    }
}

static float rival(const best_two *b, uint32_t i)
{
    return b->who == i ? b->second : b->first;
}

/* Evidence, its share of what the rows could give, cosine, the cosine's lead over the rivals', and the
 * evidence's lead over rivals and chance together; open: the candidates that are rivals. A row that may
 * have several partners knows no rivals. */
static void features(const tab_linkage *l, const float *self, size_t na, size_t rows, float floor,
                     const bool *open, best_two *s, best_two *q, chosen *x, size_t n)
{
    const tab_candidates *c = &l->c;
    double log_none = l->log_none;
    for (size_t i = 0; i < rows; i++) {
        s[i] = (best_two){ floor, floor, TAB_NULL };
        q[i] = (best_two){ 0, 0, TAB_NULL };
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (!open[i])
            continue;
        for (int side = 0; side < 2; side++) {
            if (side ? l->many_a : l->many_b)
                continue;
            size_t row = side ? na + c->b[i] : c->a[i];
            note(&s[row], c->evidence[i], i);
            note(&q[row], c->cosine[i], i);
        }
    }
    for (size_t k = 0; k < n; k++) {
        uint32_t i = x[k].i;
        size_t a = c->a[i], b = na + c->b[i];
        double other = (double)fmaxf(rival(&s[a], i), rival(&s[b], i)), high = fmax(other, log_none);
        double lead = (double)c->evidence[i] - high - log1p(exp(fmin(other, log_none) - high));
        float *f = x[k].x;
        f[0] = c->evidence[i];
        f[1] = (float)tab_pair_ratio(c, self, na, i);
        f[2] = c->cosine[i];
        f[3] = c->cosine[i] - fmaxf(rival(&q[a], i), rival(&q[b], i));
        f[4] = (float)(4 * tanh(lead / 4));
    }
}

/* By the mean and spread of targets and decoys together; x[0] targets, x[1] decoys, x[2] third choices. */
static void standardise(chosen *const x[3], const size_t n[3])
{
    for (size_t f = 0; f < FEATURES; f++) {
        moment z = { 0 };
        for (int g = 0; g < 2; g++)
            for (size_t k = 0; k < n[g]; k++)
                take(&z, (double)x[g][k].x[f]);
        double all = (double)(n[0] + n[1]), mean = z.sum / all, wide = spread(&z, all);
        for (int g = 0; g < 3; g++)
            for (size_t k = 0; k < n[g]; k++)
                x[g][k].x[f] = (float)(((double)x[g][k].x[f] - mean) / wide);
    }
}

/* ---- the score ------------------------------------------------------------------------------- */

static const double USUAL = 0.5, RIDGE = 0.02,
                    LEAST = 0.02; /* weights are held near the first, above the last */

typedef struct {
    const chosen *t, *d;
    size_t n, m, step_t, step_d;
} sample;

static double margin(const double *w, const float *x)
{
    double z = w[FEATURES];
    for (size_t f = 0; f < FEATURES; f++)
        z += w[f] * (double)x[f];
    return z;
}

/* Adds one weighed example to loss, gradient and Hessian. */
static void example(const double *w, const float *x, double y, double weight, double *loss, double *g,
                    double *h)
{
    if (weight <= 0)
        return;
    double z = fmin(fmax(margin(w, x), -30), 30), p = 1 / (1 + exp(-z));
    *loss += weight * (log1p(exp(z)) - y * z);
    if (g == NULL)
        return;
    double v[WIDE], r = weight * (p - y), c = weight * p * (1 - p);
    for (size_t f = 0; f < WIDE; f++)
        v[f] = f < FEATURES ? (double)x[f] : 1;
    for (size_t f = 0; f < WIDE; f++) {
        g[f] += r * v[f];
        for (size_t k = 0; k <= f; k++)
            h[f * WIDE + k] += c * v[f] * v[k];
    }
}

/* Mean log-loss of telling likely targets from decoys and unlikely targets, and the ridge. */
static double objective(const sample *s, const double *w, double *g, double *h)
{
    double loss = 0, total = 1e-9;
    if (g != NULL) {
        memset(g, 0, WIDE * sizeof *g);
        memset(h, 0, WIDE * WIDE * sizeof *h);
    }
    for (size_t k = 0; k < s->n; k += s->step_t) {
        double p = (double)s->t[k].p, yes = p > 0.5 ? p : 0;
        example(w, s->t[k].x, 1, yes, &loss, g, h);
        example(w, s->t[k].x, 0, 1 - p, &loss, g, h);
        total += yes + 1 - p;
    }
    for (size_t k = 0; k < s->m; k += s->step_d) {
        example(w, s->d[k].x, 0, (double)s->d[k].w, &loss, g, h);
        total += (double)s->d[k].w;
    }
    loss /= total;
    for (size_t f = 0; f < WIDE; f++) {
        double ridge = f < FEATURES ? RIDGE : 1e-3 / total, off = w[f] - (f < FEATURES ? USUAL : 0);
        loss += 0.5 * ridge * off * off;
        for (size_t k = 0; g != NULL && k <= f; k++)
            h[f * WIDE + k] = h[f * WIDE + k] / total + (f == k ? ridge + 1e-9 : 0);
        if (g != NULL)
            g[f] = g[f] / total + ridge * off;
    }
    return loss;
}

/* x = h^-1 g by Cholesky; h is positive definite, its lower half is used. */
static void solve(double *h, const double *g, double *x)
{
    for (size_t i = 0; i < WIDE; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = h[i * WIDE + j];
            for (size_t k = 0; k < j; k++)
                sum -= h[i * WIDE + k] * h[j * WIDE + k];
            h[i * WIDE + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / h[j * WIDE + j];
        }
    }
    for (size_t i = 0; i < WIDE; i++) {
        x[i] = g[i];
        for (size_t k = 0; k < i; k++)
            x[i] -= h[i * WIDE + k] * x[k];
        x[i] /= h[i * WIDE + i];
    }
    for (size_t i = WIDE; i-- > 0;) {
        for (size_t k = i + 1; k < WIDE; k++)
            x[i] -= h[k * WIDE + i] * x[k];
        x[i] /= h[i * WIDE + i];
    }
}

/* Newton's steps, halved until they help; more of any feature never counts against a pair. */
static void learn(const sample *s, double *w)
{
    double g[WIDE], h[WIDE * WIDE], step[WIDE], loss = objective(s, w, g, h);
    for (int round = 0; round < STEPS; round++) {
        solve(h, g, step);
        double next[WIDE], better = loss;
        for (double t = 1; t > 1e-4; t /= 2) {
            for (size_t f = 0; f < WIDE; f++)
                next[f] = f < FEATURES ? fmax(w[f] - t * step[f], LEAST) : w[f] - t * step[f];
            better = objective(s, next, NULL, NULL);
            if (better < loss)
                break;
        }
        if (!(better < loss))
            return;
        bool done = loss - better < 1e-6 * loss;
        memcpy(w, next, sizeof next);
        if (done)
            return;
        loss = objective(s, w, g, h);
    }
}

/* ---- the false discovery rate ---------------------------------------------------------------- */

typedef struct {
    float score, w;
    uint32_t target; /* index of a target, or TAB_NULL: a decoy */
} pooled;

static int lowest_first(const void *a, const void *b)
{
    const pooled *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target); /* targets first: ties count as decoys do */
}

typedef struct {
    double hit, weight;
    size_t n;
} block;

/* p of the targets. unseen: decoys to be reckoned with above all that were seen; with one, what stands
 * above every decoy is as sure as its number allows (the + 1 of target-decoy competition, Levitsky et al.,
 * J. Proteome Res. 2017). pool and stack hold n + m. */
static void discover(chosen *t, size_t n, const chosen *d, size_t m, double unseen, pooled *pool,
                     block *stack)
{
    double decoys = 1e-9, below_t = 0, below_d = 0, none = 1;
    for (size_t k = 0; k < n; k++)
        pool[k] = (pooled){ t[k].score, 1, (uint32_t)k };
    for (size_t k = 0; k < m; k++) {
        pool[n + k] = (pooled){ d[k].score, d[k].w, TAB_NULL };
        decoys += (double)d[k].w;
    }
    qsort(pool, n + m, sizeof *pool, lowest_first);
    /* the share of false targets, where decoys lie: among low scores most targets are false (Storey 2002);
     * where nearly every row has a partner, among the lowest alone */
    static const double quantile[] = { 0.1, 0.3, 0.5, 0.7 };
    enum { QUANTILES = sizeof quantile / sizeof *quantile };
    for (size_t k = 0, q = 0; k < n + m && q < QUANTILES; k++) {
        if (pool[k].target != TAB_NULL) {
            below_t++;
            continue;
        }
        below_d += (double)pool[k].w;
        for (; q < QUANTILES && below_d >= quantile[q] * decoys; q++)
            none = fmin(none, (below_t + 1) / ((double)n * quantile[q] + 1));
    }
    /* the share of targets grows with the score: pool adjacent violators (Ayer et al. 1955) */
    size_t top = 0;
    for (size_t k = 0; k < n + m; k++) {
        stack[top++] = (block){ pool[k].target != TAB_NULL ? 1 : 0, (double)pool[k].w, 1 };
        while (top > 1 &&
               stack[top - 2].hit * stack[top - 1].weight >= stack[top - 1].hit * stack[top - 2].weight) {
            top--;
            stack[top - 1].hit += stack[top].hit;
            stack[top - 1].weight += stack[top].weight;
            stack[top - 1].n += stack[top].n;
        }
    }
    double most = 1 - 0.5 / ((double)n + 1), scale = none * (double)n / decoys;
    double above_t = 0, above_d = unseen;
    for (size_t b = top, k = n + m; b-- > 0;) {
        double hit = stack[b].hit, g = fmax(hit / fmax(stack[b].weight, 1e-12), 1e-9);
        above_t += hit;
        above_d += stack[b].weight - hit;
        double p = 1 - scale * (1 - g) / g;
        if (unseen > 0)
            p = fmin(p, 1 - scale * above_d / fmax(above_t, 1));
        for (size_t end = k - stack[b].n; k > end; k--)
            if (pool[k - 1].target != TAB_NULL)
                t[pool[k - 1].target].p = (float)fmin(fmax(p, 0), most);
    }
}

/* ---- in order -------------------------------------------------------------------------------- */

static double log_odds(double p)
{
    p = fmin(fmax(p, 1e-6), 1 - 1e-6);
    return log(p / (1 - p));
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Decoys that were moved are careful, and right where few rows match; decoys weighed by how true their
 * rows' targets are (w holds what they say) know the null from rows that match, and are right where many
 * do. The more match, surely and beyond what chance adds to so few, the more these are heard, in full
 * where a quarter do; they only raise. */
static void second_opinion(chosen *t, size_t n)
{
    static const double IN_FULL = 0.25;
    double sure = 0;
    for (size_t k = 0; k < n; k++)
        sure += fmax(2 * (double)t[k].p - 1, 0);
    double share = fmin(fmax(sure - 2 * sqrt(sure), 0) / (IN_FULL * (double)n), 1);
    for (size_t k = 0; k < n; k++) {
        double z = log_odds((double)t[k].p), other = log_odds((double)t[k].w);
        t[k].p = (float)(1 / (1 + exp(-(z + share * fmax(other - z, 0)))));
    }
}

/* Writes x for the rows of candidate i that have but one partner. */
static void note_row(const tab_linkage *l, size_t na, uint32_t i, float x, float *row)
{
    if (!l->many_b)
        row[l->c.a[i]] = x;
    if (!l->many_a)
        row[na + l->c.b[i]] = x;
}

/* Evidence that a row without a rival is held against: low among the candidates'. */
static float low_evidence(const tab_candidates *c, float *scratch)
{
    size_t n = 0, step = c->n / 20000 + 1;
    for (size_t i = 0; i < c->n; i += step)
        scratch[n++] = c->evidence[i];
    qsort(scratch, n, sizeof *scratch, ascending);
    return scratch[n / 20];
}

/* What the steps of one calibration share. */
typedef struct {
    size_t na, rows, least;   /* rows of the one table, of both, of the one that has fewer partners */
    ranked *order;            /* (candidates) */
    bool *open, *used;        /* (candidates), (rows) */
    best_two *first, *second; /* (rows) */
    chosen *set[3];           /* (least): targets, decoys, and the decoys' own; count of each */
    size_t count[3];
    float *real, *of, *next; /* (rows): is one thing, has a true target, what comes behind its decoy */
    float *low;
    pooled *pool;
    block *stack;
} calibration;

static void calibration_free(calibration *k)
{
    free(k->order);
    free(k->open);
    free(k->used);
    free(k->first);
    free(k->second);
    for (int g = 0; g < 3; g++)
        free(k->set[g]);
    free(k->next);
    free(k->real);
    free(k->of);
    free(k->low);
    free(k->pool);
    free(k->stack);
}

static bool calibration_new(const tab_views *v, const tab_linkage *l, calibration *k)
{
    size_t n = l->c.n, na = v->table[l->ta].rows, nb = v->table[l->tb].rows, rows = na + nb;
    size_t least = l->many_b ? nb : l->many_a ? na : na < nb ? na : nb;
    *k = (calibration){ .na = na, .rows = rows, .least = least };
    k->order = malloc(n * sizeof *k->order);
    k->open = malloc(n);
    k->used = malloc(rows);
    k->first = malloc(rows * sizeof *k->first);
    k->second = malloc(rows * sizeof *k->second);
    for (int g = 0; g < 3; g++)
        k->set[g] = calloc(least, sizeof **k->set);
    k->real = malloc(rows * sizeof *k->real);
    k->of = calloc(rows, sizeof *k->of);
    k->next = calloc(rows, sizeof *k->next);
    k->low = malloc(20001 * sizeof *k->low);
    k->pool = malloc(2 * least * sizeof *k->pool);
    k->stack = malloc(2 * least * sizeof *k->stack);
    return k->order && k->open && k->used && k->first && k->second && k->set[0] && k->set[1] && k->set[2] &&
           k->real && k->of && k->next && k->low && k->pool && k->stack &&
           tab_link_real(&v->table[l->ta], k->real) && tab_link_real(&v->table[l->tb], k->real + na);
}

/* Targets, decoys and the decoys' own: each the best candidates that are left. */
static tab_status choose_sets(const tab_engine *e, const tab_linkage *l, const float *self, calibration *k,
                              tab_error *err)
{
    const tab_candidates *c = &l->c;
    float floor = low_evidence(c, k->low);
    rank(c, self, k->na, k->order);
    memset(k->open, true, c->n);
    for (int g = 0; g < 3; g++) {
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        k->count[g] = assign(l, k->order, k->na, k->rows, k->open, k->used, k->set[g]);
        features(l, self, k->na, k->rows, floor, k->open, k->first, k->second, k->set[g], k->count[g]);
        for (size_t i = 0; i < k->count[g]; i++)
            k->open[k->set[g][i].i] = false;
    }
    standardise(k->set, k->count);
    return TAB_OK;
}

/* Where a row's target is false, its decoy is second among what is not a match, and the target first. Of an
 * exponential tail the gap between first and second is twice that between second and third (Renyi 1953),
 * which is known: with it a decoy becomes a first. The values of texts' rivals, variants of one another, lie
 * closer. */
static void raise_decoys(const tab_linkage *l, const double *w, double text, bool last, calibration *k)
{
    const tab_candidates *c = &l->c;
    chosen *d = k->set[1], *third = k->set[2];
    for (size_t i = 0; i < k->rows; i++)
        k->next[i] = -FLT_MAX;
    for (size_t i = 0; i < k->count[2]; i++)
        note_row(l, k->na, third[i].i, (float)margin(w, third[i].x), k->next);
    for (size_t i = 0; last && i < k->count[1]; i++) {
        float after = fmaxf(k->next[c->a[d[i].i]], k->next[k->na + c->b[d[i].i]]);
        if (after > -FLT_MAX)
            d[i].score += (1 - d[i].w) * (2 - (float)text) * fmaxf(d[i].score - after, 0);
        d[i].w = 1;
    }
}

/* The targets' p, by what tells them from the decoys: learnt in rounds. */
static tab_status tell_apart(const tab_engine *e, const tab_linkage *l, double text, calibration *k,
                             tab_error *err)
{
    const tab_candidates *c = &l->c;
    chosen *t = k->set[0], *d = k->set[1];
    size_t n = k->count[0], m = k->count[1];
    double w[WIDE];
    for (size_t f = 0; f < FEATURES; f++)
        w[f] = USUAL;
    w[FEATURES] = 0;
    for (size_t i = 0; i < m; i++)
        d[i].w = 1;
    sample pick = { t, d, n, m, n / FITTED + 1, m / FITTED + 1 };
    for (int round = 0; round < ROUNDS; round++) {
        bool last = round + 1 == ROUNDS;
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        for (size_t i = 0; i < n; i++)
            t[i].score = (float)margin(w, t[i].x);
        for (size_t i = 0; i < m; i++)
            d[i].score = (float)margin(w, d[i].x);
        if (last) { /* as the rounds before saw it: each decoy as far as it is first of what is not a match */
            discover(t, n, d, m, 0, k->pool, k->stack);
            for (size_t i = 0; i < n; i++)
                t[i].w = t[i].p;
        }
        raise_decoys(l, w, text, last, k);
        discover(t, n, d, m, last ? 1 : 0, k->pool, k->stack);
        if (last)
            break;
        for (size_t i = 0; i < n; i++)
            note_row(l, k->na, t[i].i, t[i].p, k->of);
        /* a decoy counts as far as its rows' targets are true: only then is it the best of what is not */
        for (size_t i = 0; i < m; i++)
            d[i].w = 0.02f + 0.98f * fmaxf(k->of[c->a[d[i].i]], k->of[k->na + c->b[d[i].i]]);
        learn(&pick, w);
    }
    second_opinion(t, n);
    return TAB_OK;
}

/* Where rows are too few for densities, the model of score.c says more, within what such a model can know. */
static void settle(double text, const calibration *k, tab_candidates *c)
{
    static const double MODEL = 3;
    chosen *t = k->set[0];
    size_t n = k->count[0], na = k->na;
    double trust = (double)n / (double)(n + FEW);
    /* a row meets `rows - least` others: evidence under the log of that comes by chance, where values are
     * independent; the evidence of words is inflated, or damped, by what is not known */
    double chance = (1 - text) * log((double)(k->rows - k->least));
    for (size_t j = 0; j < n; j++) {
        size_t i = t[j].i;
        double model = fmin(fmax(log_odds((double)c->p[i]), -MODEL), MODEL);
        double z = trust * log_odds((double)t[j].p) + (1 - trust) * model;
        double likelier = 1 / (1 + exp(chance - (double)c->evidence[i]));
        t[j].p = k->real[c->a[i]] * k->real[na + c->b[i]] * (float)(likelier / (1 + exp(-z)));
    }
    for (size_t i = 0; i < c->n; i++)
        c->p[i] = 0;
    for (size_t j = 0; j < n; j++) {
        c->p[t[j].i] = t[j].p;
        c->kept[t[j].i] = true;
    }
}

tab_status tab_calibrate(const tab_engine *e, const tab_views *v, tab_linkage *l, const float *self,
                         double text, tab_error *err)
{
    calibration k;
    if (l->c.n == 0)
        return TAB_OK;
    tab_status s = calibration_new(v, l, &k) ? choose_sets(e, l, self, &k, err)
                                             : tab_fail(err, TAB_INTERNAL, "", "out of memory");
    if (s == TAB_OK)
        s = tell_apart(e, l, text, &k, err);
    if (s == TAB_OK)
        settle(text, &k, &l->c);
    calibration_free(&k);
    return s;
}
