/* See fitted_parts.h: later rows of a series that no labelled row is of, a product that is launched.
 *
 * Members that know the past know nothing of it, and what they err was judged on series that they know. It is
 * answered as rows of a new group are: by models whose folds leave whole series out, with the intervals that
 * these have, or those of later rows where they are wider (decision 0587). Endpoints keep such a model, of
 * the cheapest base (decision 0651). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { FEWEST = 3 }; /* series that can be left out */

/* Which series have labelled rows (series + 1), and how many do. NULL: the arena is full. */
static bool *known_of(const tab_fitted *f, size_t *ret)
{
    const tab_series *s = &f->asked.series;
    bool *known = tab_arena_new_of(f->arena, bool, s->n + 1);
    *ret = 0;
    for (size_t r = 0; known != NULL && r < f->rows; r++)
        if (!f->asked.open[r] && s->series[r] != TAB_NULL && !known[s->series[r]])
            known[s->series[r]] = true, ++*ret;
    return known;
}

/* The answer out of fold of encoded row i, and its interval where it is wider than that of a later row. */
static void number(const tab_fitted *f, const tab_stack *s, const tab_interval *v, size_t i, tab_ahead *h)
{
    size_t row = f->data->row[i];
    double off[TAB_LEVELS], value = tab_target_value(f, (double)s->oof[i]);
    double scale = (double)v->oof_scale[i];
    tab_interval_quantiles(v, f->data, i, s->oof[i], (float)scale, off);
    for (size_t l = 0; l < TAB_LEVELS; l++) {
        double later = h->quantile[row * TAB_LEVELS + l] - h->value[row];
        double own = tab_target_value(f, (double)s->oof[i] + scale * off[l]) - value;
        h->quantile[row * TAB_LEVELS + l] = value + (fabs(later) > fabs(own) ? later : own);
    }
    h->value[row] = value;
    h->spread[row] = fmax(h->spread[row], scale * v->spread * f->scale);
}

static void classes(const tab_fitted *f, const tab_stack *s, size_t i, tab_ahead *h)
{
    double *p = h->probability + f->data->row[i] * f->classes, all = 0;
    for (size_t k = 0; k < f->classes; k++)
        all += p[k]; /* the rest is that of a class nobody knows */
    for (size_t k = 0; k < f->classes; k++)
        p[k] = all * exp((double)s->oof[i * f->classes + k]);
}

/* The stack whose folds leave whole series out, and its intervals. False: memory or cancelled. */
static bool fit(const tab_engine *e, const tab_recipe *r, tab_fitted *f, tab_stack **stack,
                tab_interval **interval)
{
    const tab_series *s = &f->asked.series;
    size_t known;
    float *place = tab_arena_new_of(f->arena, float, f->rows + 1);
    for (size_t i = 0; place != NULL && i < f->rows; i++)
        place[i] = (float)tab_unit(tab_mix2(s->series[f->data->row[i]], 0x9a));
    tab_problem q = f->problem;
    q.place = place;
    *stack = place == NULL ? NULL : tab_stack_fit(e, f->arena, &q, r);
    *interval = NULL;
    if (*stack != NULL && !q.classification)
        *interval = tab_interval_fit(e, f->arena, &q, *stack, NULL, f->base->scaled_residuals);
    return *stack != NULL && (*interval != NULL || q.classification) &&
           tab_groups_widen(&q, *stack, s->series, *interval, &known);
}

bool tab_fresh_fit(const tab_engine *e, const tab_recipe *r, tab_fitted *f)
{
    size_t known = 0;
    if (f->asked.series.keys == 0)
        return true;
    return known_of(f, &known) != NULL && (known < FEWEST || fit(e, r, f, &f->fresh, &f->fresh_interval));
}

bool tab_fresh_answer(const tab_fitted *f, const tab_data *d, const uint32_t *row, size_t n, double *ret)
{
    size_t k = f->fresh->outputs;
    const tab_interval *v = f->fresh_interval;
    float *out = malloc((n * k + 1) * sizeof *out), *scale = malloc((n + 1) * sizeof *scale);
    bool ok = out != NULL && scale != NULL && tab_stack_predict(f->fresh, f->enc, d, row, n, out) &&
              (v == NULL || tab_interval_scale(v, f->enc, d, row, n, scale));
    for (size_t i = 0; ok && i < n; i++) {
        double *at = ret + i * (v == NULL ? k : TAB_LEVELS + 2), off[TAB_LEVELS], all = 0;
        for (size_t j = 0; v == NULL && j < k; j++)
            all += at[j]; /* the rest is that of a class nobody knows */
        for (size_t j = 0; v == NULL && j < k; j++)
            at[j] = all * exp((double)out[i * k + j]);
        if (v == NULL)
            continue;
        double value = tab_target_value(f, (double)out[i]), own = (double)scale[i];
        tab_interval_quantiles(v, d, row[i], out[i], scale[i], off);
        for (size_t l = 0; l < TAB_LEVELS; l++) {
            double later = at[2 + l] - at[0],
                   far = tab_target_value(f, (double)out[i] + own * off[l]) - value;
            at[2 + l] = value + (fabs(later) > fabs(far) ? later : far);
        }
        at[0] = value;
        at[1] = fmax(at[1], own * v->spread * f->scale);
    }
    free(out), free(scale);
    return ok;
}

bool tab_unseen_series(const tab_engine *e, tab_fitted *f)
{
    const tab_series *s = &f->asked.series;
    size_t known = 0;
    if (f->ahead == NULL || s->keys == 0)
        return true;
    bool *has = known_of(f, &known);
    if (has == NULL)
        return false;
    for (size_t r = 0; r < f->rows; r++)
        f->unseen += f->ahead->answered[r] && s->series[r] != TAB_NULL && !has[s->series[r]];
    if (f->unseen == 0 || known < FEWEST)
        return true;
    tab_stack *t = NULL;
    tab_interval *v = NULL;
    if (!fit(e, &f->base->recipe, f, &t, &v))
        return false;
    for (size_t i = 0; i < f->rows; i++) {
        size_t row = f->data->row[i];
        if (!f->ahead->answered[row] || s->series[row] == TAB_NULL || has[s->series[row]])
            continue;
        if (v == NULL)
            classes(f, t, i, f->ahead);
        else
            number(f, t, v, i, f->ahead);
    }
    return true;
}
