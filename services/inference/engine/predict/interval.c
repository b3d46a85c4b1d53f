/* See interval.h and decision 0053: the distribution of a numeric answer, for fitted.c. The residual of a row
 * is its scale, learned by a stack of its own, times a residual whose quantiles are read off the fitted rows
 * (conformal intervals: Lei et al., JASA 2018). */
#include "services/inference/engine/predict/interval.h"

#include <math.h>
#include <stdlib.h>

#include "common/order.h"

const double tab_quantile_level[TAB_LEVELS] = { 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 };

enum { LEAST_ROWS = 60 }; /* fewer rows do not carry a local scale; chosen by hand */

/* The scale is learned as the square root of |residual|, whose tails are light, then squared. */
static const tab_recipe SCALE = {
    .learner = { &tab_learn_boost_fast, &tab_learn_linear }, .n = 2, .folds = 5, .work = 1e12
};

/* The quantile at (n + 1) tau, between order statistics: a new row's rank among n + 1 is uniform. */
static double quantile(const double *sorted, size_t n, double tau)
{
    double at = tau * ((double)n + 1) - 1;
    if (at <= 0)
        return sorted[0];
    if (at >= (double)n - 1)
        return sorted[n - 1];
    size_t i = (size_t)at;
    return sorted[i] + (sorted[i + 1] - sorted[i]) * (at - (double)i);
}

/* From sqrt |residual| to the scale; at least the floor, a twentieth of the mean |residual|, so that no
 * row claims to be certain. */
static float to_scale(const tab_interval *v, float root)
{
    double s = root > 0 ? (double)root * (double)root : 0;
    return (float)(s > v->floor ? s : v->floor);
}

/* out (n): the local scale of new rows, 1 where the base learns none. */
bool tab_interval_scale(const tab_interval *v, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out)
{
    if (v->scale != NULL && !tab_stack_predict(v->scale, enc, q, row, n, out))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = v->scale != NULL ? to_scale(v, out[i]) : 1;
    return true;
}

/* The scale's own stack learns out-of-fold residuals on the same rows, so its out-of-fold answers have
 * seen no row's own residual. */
tab_interval *tab_interval_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_stack *s,
                               bool local)
{
    size_t rows = p->data->rows, n = 0;
    tab_interval *v = tab_arena_new_of(a, tab_interval, 1);
    float *root = tab_arena_new_of(a, float, rows + 1);
    double *scaled = tab_arena_new_of(a, double, rows + 1);
    if (v == NULL || root == NULL || scaled == NULL)
        return NULL;
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
    /* residuals in units of their scale: their quantiles serve every row */
    size_t m = 0;
    double square = 0;
    for (size_t i = 0; i < rows; i++) {
        v->oof_scale[i] = v->scale != NULL ? to_scale(v, v->scale->oof[i]) : 1;
        if (isnan(p->y[i]))
            continue;
        double r = (double)(p->y[i] - s->oof[i]) / (double)v->oof_scale[i];
        scaled[m++] = r;
        square += r * r;
    }
    qsort(scaled, m, sizeof *scaled, tab_ascending_double);
    for (size_t l = 0; l < TAB_LEVELS; l++)
        v->quantile[l] = m > 0 ? quantile(scaled, m, tab_quantile_level[l]) : 0;
    v->spread = m > 0 ? sqrt(square / (double)m) : 0;
    return v;
}
