/* See interval.h and decision 0053. From a number to a distribution: conformal intervals whose width follows
 * the row (locally weighted split conformal prediction: Lei et al., JASA 2018).
 *
 *   residual r = y - f(x), f out of fold
 *   scale    s(x), a stack of its own: learns sqrt |r|, whose tails are light, and squares it
 *   ratio    r / s, whose quantiles Q over the fitted rows are read off
 *   answer   f(x) + s(x) Q
 *
 * A conformal interval is right in the mean whatever the model is: where the asked row is drawn as the fitted
 * ones were, the share of rows beyond Q is what the level says, up to 1 / n, even where f is poor and s is
 * wrong. What the scale adds is that it is right for rows of unlike noise, too, and groups
 * (group_quantiles.h) that it is right within categories and fifths of numbers that have enough rows to tell.
 *
 * Four things would make it lie, and each is dealt with here:
 *
 *   - Residuals of rows that the model has seen are too small. All residuals here are out of fold; those that
 *     the scale's stack is read at are out of its own folds.
 *   - A served row is answered by the mean of the folds' models, an out-of-fold row by one of them. The
 *     mean's error is smaller, by the models' variance (Krogh & Vedelsby 1995): `narrow` is that ratio, one
 *     for all rows, read on fitted ones (fit_narrow).
 *   - Asked rows may be of another mix than the fitted ones. Rows are then weighed by how often the asked mix
 *     has their like (Tibshirani et al. 2019; fit_mix).
 *   - Rows may come in time or in groups. Then folds are, and quantiles are those of rows so far away; groups
 *     are not heard, and ahead/ widens with the distance.
 *
 * What holds: scales are positive and no smaller than a twentieth of the mean residual, so that no row claims
 * to be certain; quantiles do not fall from level to level. */
#include "services/inference/engine/predict/interval/interval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

const double tab_quantile_level[TAB_LEVELS] = { 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 };

enum {
    LEAST_ROWS = 60,    /* fewer rows do not carry a local scale; chosen by hand */
    NARROW_ROWS = 1000, /* how far the folds' models differ is a mean over these */
    BLOCK = 125,        /* of them at a time */
    NO_FOLD = 255       /* tab_stack: the row has no target */
};
static const double NORMAL_90 = 1.2815515655446004; /* the normal distribution's quantile at 0.9 */

/* The scale is learned as the square root of |residual|, whose tails are light, then squared. */
static const tab_recipe SCALE = {
    .learner = { &tab_learn_boost_fast, &tab_learn_linear }, .n = 2, .folds = 5, .work = 1e12
};

int tab_ascending_weighed(const void *a, const void *b)
{
    const tab_weighed *x = a, *y = b;
    if (x->x < y->x || x->x > y->x)
        return x->x < y->x ? -1 : 1;
    return (x->weight > y->weight) - (x->weight < y->weight);
}

/* A row of the asked mix is met as often as its weight says, so that the one that is asked has the mean
 * weight of rows drawn so (Tibshirani et al. 2019). Of equal weights it is the quantile at (n + 1) tau. */
double tab_weighed_quantile(const tab_weighed *v, size_t n, double tau)
{
    double all = 0, squares = 0, upto = 0;
    for (size_t i = 0; i < n; i++) {
        assert(!(v[i].weight < 0));
        all += v[i].weight, squares += v[i].weight * v[i].weight;
    }
    if (!(all > 0))
        return 0;
    assert(tau > 0 && tau < 1);
    double at = tau * (all + squares / all);
    for (size_t i = 0; i < n; i++) {
        double next = upto + v[i].weight;
        if (next >= at && i == 0)
            return v[0].x;
        if (next >= at)
            return v[i - 1].x + (v[i].x - v[i - 1].x) * (at - upto) / v[i].weight;
        upto = next;
    }
    return v[n - 1].x;
}

/* From sqrt |residual| to the scale; at least the floor, a twentieth of the mean |residual|, so that no
 * row claims to be certain. */
static float to_scale(const tab_interval *v, float root)
{
    double s = root > 0 ? (double)root * (double)root : 0;
    assert(v->floor > 0); /* or a row would claim to be certain */
    return (float)(s > v->floor ? s : v->floor);
}

/* out (n): the local scale of new rows, 1 where the base learns none. */
bool tab_interval_scale(const tab_interval *v, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out)
{
    if (v->scale != NULL && !tab_stack_predict(v->scale, enc, q, row, n, out))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (float)v->narrow * (v->scale != NULL ? to_scale(v, out[i]) : 1);
    return true;
}

void tab_interval_quantiles(const tab_interval *v, const tab_data *q, size_t row, float answer, float scale,
                            double *out)
{
    memcpy(out, v->quantile, sizeof v->quantile);
    tab_groups_shift(&v->groups, q, row, answer, scale, out, TAB_LEVELS);
}

typedef struct {
    const tab_problem *p;
    const tab_stack *s;
    const uint32_t *row;
    size_t n;
    float *ambiguity; /* (n) */
    atomic_bool failed;
} ambiguity_job;

static void ambiguity_block(void *ctx, size_t b)
{
    ambiguity_job *j = ctx;
    size_t from = b * BLOCK, n = j->n - from < BLOCK ? j->n - from : BLOCK;
    if (!tab_stack_ambiguity(j->s, j->p->enc, j->p->data, j->row + from, n, j->ambiguity + from))
        atomic_store(&j->failed, true);
}

/* An answer out of fold is one model's, a new row's the mean of the folds' models: its squared error is less
 * by the models' variance among each other. Read on fitted rows, the same for all new ones: row by row it
 * would be narrow where the models agree by chance. (Of rows kept apart by time or group the models that know
 * the group differ from the one that does not: nothing is read.) The residuals' spread is that of their bulk,
 * which the interval's ends lie in. False: out of memory. */
static bool fit_narrow(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_stack *s,
                       tab_interval *v)
{
    uint32_t *row = tab_arena_new_of(a, uint32_t, NARROW_ROWS);
    float *ambiguity = tab_arena_new_of(a, float, NARROW_ROWS);
    if (row == NULL || ambiguity == NULL)
        return false;
    ambiguity_job j = { .p = p, .s = s, .row = row, .ambiguity = ambiguity };
    for (size_t i = 0; i < p->data->rows && j.n < NARROW_ROWS; i++) /* in hash order: a fair sample */
        if (!isnan(p->y[i]))
            row[j.n++] = (uint32_t)i;
    double bulk = (v->quantile[5] - v->quantile[1]) / (2 * NORMAL_90), sum = 0;
    if (p->place != NULL || j.n < LEAST_ROWS || !(bulk > 0))
        return true;
    tab_engine_for(e, (j.n + BLOCK - 1) / BLOCK, ambiguity_block, &j);
    for (size_t i = 0; i < j.n; i++) {
        double scale = bulk * (double)v->oof_scale[row[i]];
        sum += sqrt(fmax(0.25, 1 - (double)ambiguity[i] / (scale * scale)));
    }
    v->narrow = sum / (double)j.n;
    assert(!(v->narrow < 0.5 - 1e-9 || v->narrow > 1 + 1e-9));
    return !atomic_load(&j.failed);
}

/* Quantiles of residuals in units of their scale, over all rows and by group, which serve every row. residual
 * (rows): scratch. False: out of memory. */
static bool fit_quantiles(tab_arena *a, const tab_problem *p, const tab_stack *s, tab_interval *v,
                          float *residual)
{
    size_t rows = p->data->rows, m = 0;
    double square = 0;
    tab_weighed *scaled = tab_arena_new_of(a, tab_weighed, rows + 1);
    if (scaled == NULL)
        return false;
    for (size_t i = 0; i < rows; i++) {
        v->oof_scale[i] = v->scale != NULL ? to_scale(v, v->scale->oof[i]) : 1;
        residual[i] = NAN;
        if (isnan(p->y[i]))
            continue;
        double r = (double)(p->y[i] - s->oof[i]) / (double)v->oof_scale[i];
        residual[i] = (float)r;
        scaled[m++] = (tab_weighed){ r, 1 };
        square += r * r;
    }
    qsort(scaled, m, sizeof *scaled, tab_ascending_weighed);
    for (size_t l = 0; l < TAB_LEVELS; l++)
        v->quantile[l] = tab_weighed_quantile(scaled, m, tab_quantile_level[l]);
    for (size_t l = 1; l < TAB_LEVELS; l++)
        assert(!(v->quantile[l - 1] > v->quantile[l])); /* NaN: what came overflows a float */
    v->spread = m > 0 ? sqrt(square / (double)m) : 0;
    tab_groups_task t = { .data = p->data,
                          .residual = residual,
                          .answer = s->oof,
                          .scale = v->oof_scale,
                          .target = p->y,
                          .level = tab_quantile_level,
                          .quantile = v->quantile,
                          .levels = TAB_LEVELS };
    /* Rows kept apart by time or group err together, and not as rows of a known group do: how far shares
     * differ by chance is not told by the number of rows. */
    return p->place != NULL || tab_groups_fit(a, &t, &v->groups);
}

/* Moves the quantiles to where they hold for rows of the asked mix, behind what groups shift them by.
 * residual (rows): of rows out of fold in units of their scale. False: out of memory. */
static bool fit_mix(const tab_problem *p, const tab_stack *s, const float *weight, const float *residual,
                    tab_interval *v)
{
    size_t rows = p->data->rows, n;
    tab_weighed *off = malloc((rows + 1) * sizeof *off);
    double by[TAB_LEVELS], own[TAB_LEVELS], square = 0, all = 0;
    for (size_t l = 0; off != NULL && l < TAB_LEVELS; l++) {
        n = 0;
        for (size_t i = 0; i < rows; i++) {
            if (isnan(residual[i]))
                continue;
            tab_interval_quantiles(v, p->data, i, s->oof[i], v->oof_scale[i], own);
            off[n++] = (tab_weighed){ (double)residual[i] - own[l], (double)weight[i] };
        }
        qsort(off, n, sizeof *off, tab_ascending_weighed);
        by[l] = tab_weighed_quantile(off, n, tab_quantile_level[l]);
    }
    for (size_t i = 0; i < rows; i++)
        if (!isnan(residual[i])) {
            double w = (double)weight[i], r = (double)residual[i];
            square += w * r * r, all += w;
        }
    for (size_t l = 0; off != NULL && l < TAB_LEVELS; l++)
        v->quantile[l] += by[l];
    v->spread = all > 0 ? sqrt(square / all) : v->spread;
    bool ok = off != NULL;
    free(off);
    return ok;
}

/* The scale's own stack learns out-of-fold residuals on the same rows, so its out-of-fold answers have
 * seen no row's own residual. */
tab_interval *tab_interval_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_stack *s,
                               const float *weight, bool local)
{
    size_t rows = p->data->rows, n = 0;
    tab_interval *v = tab_arena_new_of(a, tab_interval, 1);
    float *root = tab_arena_new_of(a, float, rows + 1);
    if (v == NULL || root == NULL)
        return NULL;
    v->narrow = 1;
    for (size_t l = 0; l < TAB_LEVELS; l++)
        v->wider[l] = 1;
    v->oof_scale = tab_arena_new_of(a, float, rows + 1);
    if (v->oof_scale == NULL)
        return NULL;
    /* out-of-fold residuals, and their mean for the floor */
    double sum = 0;
    for (size_t i = 0; i < rows; i++) {
        root[i] = NAN;
        if (isnan(p->y[i]))
            continue;
        float r = fabsf(p->y[i] - s->oof[i]);
        root[i] = sqrtf(r);
        sum += (double)r;
        n++;
    }
    v->floor = n > 0 ? 0.05 * sum / (double)n + 1e-9 : 1e-9;
    if (local && n >= LEAST_ROWS) {
        /* the scale is learned where the base asks for it and the rows carry it, else it is 1 */
        tab_problem q = *p;
        q.y = root;
        q.of = p->y;
        q.seed ^= 0x5ca1e;
        tab_recipe r = SCALE;
        for (size_t l = 0; l < s->members; l++) /* whose distribution has a say in the location */
            if (s->member[l].learner == &tab_learn_pfn && s->member[l].weight > 0)
                r.learner[r.n++] = &tab_learn_pfn;
        v->scale = tab_stack_fit(e, a, &q, &r);
        if (v->scale == NULL)
            return NULL;
    }
    if (!fit_quantiles(a, p, s, v, root) || (weight != NULL && !fit_mix(p, s, weight, root, v)) ||
        !fit_narrow(e, a, p, s, v))
        return NULL;
    for (size_t i = 0; i < rows; i++) /* rows in no fold are answered as new ones are */
        if (s->fold[i] == NO_FOLD)
            v->oof_scale[i] *= (float)v->narrow;
    return v;
}
