/* The last values of each series that is forecast, for the page's chart: read from the rows as the steps
 * themselves were (horizon/horizon.c). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/series/series.h"
#include "tools/tabella/findings.h"

/* A chart has so many values for each step, so many in any case, and so many at most. */
enum { A_STEP = 4, LEAST = 24, MOST = 200 };

typedef struct {
    uint32_t series;
    int64_t index;
    double y;
} known;

static int by_time(const void *a, const void *b)
{
    const known *x = a, *y = b;
    return x->series != y->series ? (x->series > y->series) - (x->series < y->series)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* Series with a known value stand in the forecast in their order, each with as many steps. */
static bool cut(tab_arena *a, const known *v, size_t n, size_t steps, findings *ret)
{
    size_t groups = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        groups += i == 0 || v[i].series != v[i - 1].series;
    if (groups == 0 || steps % groups != 0)
        return true;
    size_t most = A_STEP * (steps / groups);
    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    ret->past = tab_arena_new_of(a, findings_past, groups);
    for (size_t i = 0, end; ret->past != NULL && i < n; i = end) {
        for (end = i; end < n && v[end].series == v[i].series;)
            end++;
        size_t own = end - i < most ? end - i : most;
        double *y = tab_arena_new_of(a, double, own);
        for (size_t k = 0; y != NULL && k < own; k++)
            y[k] = v[end - own + k].y;
        ret->past[at++] = (findings_past){ own, y };
    }
    ret->pasts = groups;
    return !tab_arena_full(a);
}

bool findings_past_of(const tab_engine *e, const tab_table *t, const Tabella__Prediction *p, findings *ret)
{
    tab_arena *a = e->arena;
    tab_profile *profile = NULL;
    tab_series s;
    tab_error err;
    if (p->forecast == NULL || p->target == NULL || p->target->column >= t->cols)
        return true;
    if (tab_profile_table(e, t, &profile, &err) != TAB_OK)
        return false;
    tab_column_profile *c = &profile->col[p->target->column];
    bool number = true, *open = tab_arena_new_of(a, bool, t->rows + 1);
    known *v = tab_arena_new_of(a, known, t->rows + 1);
    if (open == NULL || v == NULL || !tab_view_as_number(a, c, t->rows, &number))
        return false;
    if (!number)
        return true;
    for (size_t r = 0; r < t->rows; r++)
        open[r] = isnan(c->number[r]);
    if (tab_series_find(a, profile, p->target->column, open, &s, &err) != TAB_OK)
        return false;
    size_t n = 0;
    for (size_t r = 0; s.kind != TAB_TIME_NONE && r < t->rows; r++)
        if (!open[r] && s.series[r] != TAB_NULL && s.index[r] != INT64_MIN)
            v[n++] = (known){ s.series[r], s.index[r], c->number[r] };
    qsort(v, n, sizeof *v, by_time);
    return cut(a, v, n, p->forecast->n_value, ret);
}
