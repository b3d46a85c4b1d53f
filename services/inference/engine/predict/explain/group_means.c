/* See group_means.h; fitted.c asks before anything is encoded. */
#include "services/inference/engine/predict/explain/group_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/features/target_means.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* GROUPINGS: columns whose levels are groups, those with most; LEAST: levels; FIRST: rows that are asked
 * before levels are counted. By hand. */
enum { GROUPINGS = 8, LEAST = 20, FIRST = 2048 };

/* A column as groups. */
typedef struct {
    size_t column, n;
    uint32_t *of; /* (rows) 0..n-1, or TAB_NULL; NULL: not read yet */
} grouping;

/* A row's level, by its code or number, and the number that is held against it. */
typedef struct {
    double level, x;
} paired;

static int by_level(const void *a, const void *b)
{
    const paired *x = a, *y = b;
    return (x->level > y->level) - (x->level < y->level);
}

/* Whether the first rows leave open that all rows of a level have one number. */
static bool may_be_one_each(const tab_column_profile *g, const double *x, size_t rows)
{
    paired v[FIRST];
    size_t n = 0;
    for (size_t r = 0; r < rows && r < FIRST; r++) {
        double level = g->code == NULL          ? g->column->num[r]
                       : g->code[r] == TAB_NULL ? (double)NAN
                                                : (double)g->code[r];
        if (!isnan(level) && !isnan(x[r]))
            v[n++] = (paired){ level, x[r] };
    }
    qsort(v, n, sizeof *v, by_level);
    for (size_t i = 1; i < n; i++)
        if (v[i].level == v[i - 1].level && v[i].x != v[i - 1].x) // NOLINT: the very numbers
            return false;
    return true;
}

/* Words, and whole numbers, that repeat. */
static bool may_group(const tab_profile *p, size_t column, size_t target)
{
    const tab_column_profile *c = &p->col[column];
    bool whole = c->column->layout == TAB_NUMBERS && c->decimals == 0;
    return column != target && c->type != TAB_DATETIME && (c->code != NULL || whole) &&
           c->distinct >= LEAST && 2 * c->distinct <= c->present;
}

/* The GROUPINGS columns with most levels; returns how many. */
static size_t find_groupings(const tab_profile *p, size_t own, size_t target, grouping *ret)
{
    size_t n = 0;
    for (size_t c = 0; c < own; c++) {
        size_t at = n, distinct = p->col[c].distinct;
        while (at > 0 && p->col[ret[at - 1].column].distinct < distinct)
            at--;
        if (!may_group(p, c, target) || at == GROUPINGS)
            continue;
        n += n < GROUPINGS;
        memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof *ret);
        ret[at] = (grouping){ .column = c };
    }
    return n;
}

/* Reads a column's groups, once. False: memory. */
static bool read_groups(tab_arena *a, const tab_profile *p, grouping *g)
{
    if (g->of != NULL)
        return true;
    g->of = tab_group_values(a, &p->col[g->column], p->table->rows);
    for (size_t r = 0; g->of != NULL && r < p->table->rows; r++)
        if (g->of[r] != TAB_NULL && g->of[r] >= g->n)
            g->n = g->of[r] + 1;
    return g->of != NULL;
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
    size_t rows = p->table->rows, n = find_groupings(p, own, f->target, g);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    f->computed = tab_arena_new_of(f->arena, bool, f->cols + 1);
    if (a == NULL || f->computed == NULL)
        return false;
    double *v = tab_arena_new_of(a, double, rows + 1);
    tab_target_sums *s = tab_arena_new_of(a, tab_target_sums, rows + 1);
    if (v == NULL || s == NULL)
        return false;
    for (size_t c = 0; c < own; c++) {
        const tab_column_profile *q = &p->col[c];
        if (!use[c] || q->number == NULL || q->type != TAB_NUMERIC || c == f->target)
            continue;
        for (size_t i = 0; i < n && !f->computed[c]; i++) {
            if (g[i].column == c || !may_be_one_each(&p->col[g[i].column], q->number, rows))
                continue;
            if (!read_groups(a, p, &g[i]))
                return false;
            f->computed[c] = g[i].n <= rows && computed(f, &g[i], q->number, v, s);
        }
        use[c] = !f->computed[c];
    }
    return true;
}
