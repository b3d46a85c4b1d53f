/* See slice.h and decision 0191: the part of the held-out rows on which a model does worst, for held_out.c. A
 * slice is a level of a category or a third of a number. Columns of personal, identifying or free text values
 * are left out: such a slice would name somebody. */
#include "services/inference/engine/evaluate/slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/message.h"

/* LEAST: rows of a slice, and beside it. MOST_LEVELS: categories of more levels have no slices of that
 * size. STANDS_OUT: standard errors above all rows (decision 0191). LISTED: slices that are told. */
enum { LEAST = 20, MOST_LEVELS = 200, LISTED = 20 };
static const double STANDS_OUT = 2; /* standard errors: decision 0191 */

/* Rows of a slice and the sum of their errors. */
typedef struct {
    double n, sum;
} group;

/* A slice that was looked at. */
typedef struct {
    bool out; /* worse by more than chance explains */
    double n, mean;
    size_t column, group;
    double cut[2];
} slice;

/* The worst slices so far, the worst first. */
typedef struct {
    slice at[LISTED];
    size_t n;
} ranking;

/* A slice that stands out is worse than one that does not; among alike ones the greater error. Of equal ones
 * the first to be looked at stands first. */
static bool worse(const slice *x, const slice *y)
{
    return x->out == y->out ? x->mean > y->mean : x->out;
}

static void rank(ranking *r, const slice *s)
{
    size_t at = r->n < LISTED ? r->n++ : LISTED;
    if (at == LISTED && !worse(s, &r->at[--at]))
        return;
    for (; at > 0 && worse(s, &r->at[at - 1]); at--)
        r->at[at] = r->at[at - 1];
    r->at[at] = *s;
}

/* Compares each group with all n rows, whose errors have this mean and variance. */
static void compare(const group *g, size_t groups, double n, double mean, double var, size_t column,
                    const double *cut, ranking *r)
{
    for (size_t k = 0; k < groups; k++) {
        /* too few rows in the slice or beside it say nothing */
        if (g[k].n < LEAST || g[k].n < n / 20 || n - g[k].n < LEAST)
            continue;
        double own = g[k].sum / g[k].n, z = (own - mean) / sqrt(var / g[k].n + 1e-300);
        slice s = { .out = z > STANDS_OUT, .n = g[k].n, .mean = own, .column = column, .group = k };
        if (cut != NULL)
            s.cut[0] = cut[0], s.cut[1] = cut[1];
        rank(r, &s);
    }
}

/* Which rows it has: a category by its value, cut at 60 bytes; a number by its thirds. */
static char *where(tab_arena *a, const tab_profile *p, const slice *w)
{
    const tab_column_profile *q = &p->col[w->column];
    if (q->code != NULL && q->levels <= MOST_LEVELS) {
        tab_str level = q->level[w->group];
        size_t n = level.n < 60 ? level.n : 60;
        while (n > 0 && n < level.n && (level.p[n] & 0xc0) == 0x80)
            n--;
        return tab_arena_printf(a, "= %.*s", (int)n, level.p);
    }
    if (w->group == 0)
        return tab_arena_printf(a, "below %.4g", w->cut[0]);
    if (w->group == 1)
        return tab_arena_printf(a, "from %.4g to below %.4g", w->cut[0], w->cut[1]);
    return tab_arena_printf(a, "from %.4g", w->cut[1]);
}

/* The worst slice as a line of text; mean: of all rows' errors. */
static char *describe(tab_arena *a, const tab_profile *p, const slice *w, double mean, bool misses)
{
    tab_str name = tab_column_address(a, p->table, w->column);
    const char *which = where(a, p, w), *chance = w->out ? "" : "; the difference is not significant";
    if (which == NULL)
        return NULL;
    if (misses)
        return tab_arena_printf(a, "%.*s.%.*s %s: accuracy %.3f on %.0f rows, %.3f overall%s",
                                TAB_STR(p->table->id), TAB_STR(name), which, 1 - w->mean, w->n, 1 - mean,
                                chance);
    return tab_arena_printf(a, "%.*s.%.*s %s: %.2f times the RMSE of all rows, on %.0f rows%s",
                            TAB_STR(p->table->id), TAB_STR(name), which, sqrt(w->mean / mean), w->n, chance);
}

/* The list as the bundle shows it. False: the arena is full. */
static bool list(tab_arena *a, const tab_profile *p, uint32_t table, const ranking *r, double mean,
                 double rmse, Tabella__Slice ***ret, size_t *ret_n)
{
    *ret = tab_arena_new_of(a, Tabella__Slice *, r->n + 1);
    *ret_n = 0;
    for (size_t i = 0; *ret != NULL && i < r->n; i++) {
        const slice *w = &r->at[i];
        Tabella__Slice *m = tab_message(a, Tabella__Slice, TABELLA__SLICE__INIT);
        char *which = where(a, p, w);
        if (m == NULL || which == NULL)
            return false;
        m->column = tab_column_ref(a, p->table, table, w->column);
        m->slice = (ProtobufCBinaryData){ .len = strlen(which), .data = (uint8_t *)which };
        m->rows = (uint64_t)w->n;
        m->error = rmse < 0 ? w->mean : mean > 0 ? sqrt(w->mean / mean) * rmse : 0;
        m->beyond_chance = w->out;
        (*ret)[(*ret_n)++] = m;
    }
    return !tab_arena_full(a);
}

/* Categories are cut by level, numbers into thirds of the held-out rows. */
char *tab_slices(tab_arena *a, const tab_profile *p, const bool *test, size_t target, const double *error,
                 double rmse, uint32_t table, Tabella__Slice ***ret, size_t *ret_n)
{
    size_t rows = p->table->rows, n = 0;
    /* mean and variance over all held rows */
    double mean = 0, var = 0;
    for (size_t i = 0; i < rows; i++)
        if (test[i])
            mean += error[n++];
    mean /= n > 0 ? (double)n : 1;
    for (size_t i = 0; i < n; i++)
        var += (error[i] - mean) * (error[i] - mean) / (double)n;
    ranking r = { .n = 0 };
    double *sorted = malloc((n + 1) * sizeof *sorted);
    group *g = malloc((MOST_LEVELS + 1) * sizeof *g);
    for (size_t c = 0; sorted != NULL && g != NULL && c < p->table->cols; c++) {
        const tab_column_profile *q = &p->col[c];
        if (c == target || q->pii || q->identifying || q->type == TAB_TEXT)
            continue;
        memset(g, 0, (MOST_LEVELS + 1) * sizeof *g);
        /* errors come in the order of the held rows: k counts them */
        if (q->code != NULL && q->levels <= MOST_LEVELS) {
            for (size_t i = 0, k = 0; i < rows; i++) {
                if (!test[i])
                    continue;
                if (q->code[i] != TAB_NULL)
                    g[q->code[i]].n++, g[q->code[i]].sum += error[k];
                k++;
            }
            compare(g, q->levels, (double)n, mean, var, c, NULL, &r);
        } else if (q->number != NULL && q->type == TAB_NUMERIC) {
            /* the thirds of the held rows that have a number */
            size_t m = 0;
            for (size_t i = 0; i < rows; i++)
                if (test[i] && !isnan(q->number[i]))
                    sorted[m++] = q->number[i];
            if (m < 3 * LEAST)
                continue;
            qsort(sorted, m, sizeof *sorted, tab_ascending_double);
            double cut[2] = { sorted[m / 3], sorted[2 * m / 3] };
            for (size_t i = 0, k = 0; i < rows; i++) {
                if (!test[i])
                    continue;
                if (!isnan(q->number[i])) {
                    size_t at = q->number[i] < cut[0] ? 0 : q->number[i] < cut[1] ? 1 : 2;
                    g[at].n++, g[at].sum += error[k];
                }
                k++;
            }
            compare(g, 3, (double)n, mean, var, c, cut, &r);
        }
    }
    free(sorted);
    free(g);
    if (!list(a, p, table, &r, mean, rmse, ret, ret_n))
        return NULL;
    /* the worst one is no better than all rows, or there is none */
    return r.n == 0 || !(r.at[0].mean > mean) ? tab_arena_printf(a, "%s", "")
                                              : describe(a, p, &r.at[0], mean, rmse < 0);
}
