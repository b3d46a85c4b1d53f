/* See group_means.h; fitted.c asks before anything is encoded. */
#include "services/inference/engine/predict/explain/group_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/features/target_means.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* GROUPINGS: columns whose levels are groups, those with most; LEAST: levels. By hand. */
enum { GROUPINGS = 8, LEAST = 20 };

/* A column as groups. */
typedef struct {
    size_t column, n;
    uint32_t *of; /* (rows) 0..n-1, or TAB_NULL */
} grouping;

/* Words, and whole numbers, that repeat. */
static bool may_group(const tab_profile *p, size_t column, size_t target)
{
    const tab_column_profile *c = &p->col[column];
    bool whole = c->column->layout == TAB_NUMBERS && c->decimals == 0;
    return column != target && c->type != TAB_DATETIME && (c->code != NULL || whole) &&
           c->distinct >= LEAST && 2 * c->distinct <= c->present;
}

/* The GROUPINGS columns with most levels. False: memory. */
static bool find_groupings(tab_arena *a, const tab_profile *p, size_t own, size_t target, grouping *ret,
                           size_t *n)
{
    size_t rows = p->table->rows;
    *n = 0;
    for (size_t c = 0; c < own; c++) {
        size_t at = *n, distinct = p->col[c].distinct;
        while (at > 0 && p->col[ret[at - 1].column].distinct < distinct)
            at--;
        if (!may_group(p, c, target) || at == GROUPINGS)
            continue;
        *n += *n < GROUPINGS;
        memmove(&ret[at + 1], &ret[at], (*n - at - 1) * sizeof *ret);
        ret[at] = (grouping){ .column = c };
    }
    for (size_t i = 0; i < *n; i++) {
        ret[i].of = tab_group_values(a, &p->col[ret[i].column], rows);
        if (ret[i].of == NULL)
            return false;
        for (size_t r = 0; r < rows; r++)
            if (ret[i].of[r] != TAB_NULL && ret[i].of[r] >= ret[i].n)
                ret[i].n = ret[i].of[r] + 1;
    }
    return true;
}

/* v (groups): the number that all rows of a group have. False: they have several. */
static bool one_each(const grouping *g, const double *x, size_t rows, double *v)
{
    for (size_t k = 0; k < g->n; k++)
        v[k] = (double)NAN;
    for (size_t r = 0; r < rows; r++) {
        if (g->of[r] == TAB_NULL || isnan(x[r]))
            continue;
        double *own = &v[g->of[r]];
        if (!isnan(*own) && *own != x[r]) // NOLINT: the very number
            return false;
        *own = x[r];
    }
    return true;
}

/* Sums of class k, or of numbers, by group. */
static void sum_up(const tab_fitted *f, const grouping *g, uint32_t k, tab_target_sums *s)
{
    memset(s, 0, g->n * sizeof *s);
    for (size_t r = 0; r < f->rows; r++) {
        if (g->of[r] == TAB_NULL)
            continue;
        tab_target_sums *own = &s[g->of[r]];
        bool open = f->task == TAB_TASK_CLASSIFICATION ? f->label[r] == TAB_NULL : isnan(f->y[r]);
        double y = open                                 ? 0
                   : f->task == TAB_TASK_CLASSIFICATION ? (double)(f->label[r] == k)
                                                        : (double)f->y[r];
        own->all++;
        own->n += !open, own->sum += y, own->square += y * y;
    }
}

/* Whether the column's numbers were computed from the targets of the groups of g. */
static bool computed(const tab_fitted *f, const grouping *g, const double *x, double *v, tab_target_sums *s)
{
    size_t classes = f->task != TAB_TASK_CLASSIFICATION ? 1
                     : f->classes < TAB_TARGET_LEVELS   ? f->classes
                                                        : TAB_TARGET_LEVELS;
    bool found = false;
    if (!one_each(g, x, f->rows, v))
        return false;
    for (uint32_t k = 0; !found && k < classes; k++) {
        sum_up(f, g, k, s);
        found = tab_made_of_targets(s, v, g->n);
    }
    return found;
}

bool tab_group_means(const tab_profile *p, size_t own, bool *use, tab_fitted *f)
{
    grouping g[GROUPINGS + 1];
    size_t n = 0, rows = p->table->rows;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    f->computed = tab_arena_new_of(f->arena, bool, f->cols + 1);
    if (a == NULL || f->computed == NULL || !find_groupings(a, p, own, f->target, g, &n))
        return false;
    double *v = tab_arena_new_of(a, double, rows + 1);
    tab_target_sums *s = tab_arena_new_of(a, tab_target_sums, rows + 1);
    if (v == NULL || s == NULL)
        return false;
    for (size_t c = 0; c < own; c++) {
        const tab_column_profile *q = &p->col[c];
        if (!use[c] || q->number == NULL || q->type != TAB_NUMERIC || c == f->target)
            continue;
        for (size_t i = 0; i < n && !f->computed[c]; i++)
            if (g[i].column != c && g[i].n <= rows)
                f->computed[c] = computed(f, &g[i], q->number, v, s);
        use[c] = !f->computed[c];
    }
    return true;
}
