/* See slice.h and decision 0191: the part of the held-out rows on which a model does worst, for evaluate.c. A
 * slice is a level of a category or a third of a number. Columns of personal, identifying or free text values
 * are left out: such a slice would name somebody. */
#include "services/inference/engine/evaluate/slice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/order.h"

/* LEAST: rows of a slice, and beside it. MOST_LEVELS: categories of more levels have no slices of that
 * size. STANDS_OUT: standard errors above all rows (decision 0191). */
enum { LEAST = 20, MOST_LEVELS = 200 };
static const double STANDS_OUT = 2; /* standard errors: decision 0191 */

/* Rows of a slice and the sum of their errors. */
typedef struct {
    double n, sum;
} group;

/* The worst slice so far. */
typedef struct {
    bool out; /* by more than chance explains */
    double n, mean;
    size_t column, group;
    double cut[2];
} worst;

/* Compares each group with all n rows, whose errors have this mean and variance. */
static void compare(const group *g, size_t groups, double n, double mean, double var, size_t column,
                    const double *cut, worst *w)
{
    for (size_t k = 0; k < groups; k++) {
        /* too few rows in the slice or beside it say nothing */
        if (g[k].n < LEAST || g[k].n < n / 20 || n - g[k].n < LEAST)
            continue;
        double own = g[k].sum / g[k].n, z = (own - mean) / sqrt(var / g[k].n + 1e-300);
        /* a slice that stands out beats one that does not; among alike ones the greater error */
        bool out = z > STANDS_OUT;
        if (own > mean && (out == w->out ? own > w->mean : out)) {
            *w = (worst){ .out = out, .n = g[k].n, .mean = own, .column = column, .group = k };
            if (cut != NULL)
                w->cut[0] = cut[0], w->cut[1] = cut[1];
        }
    }
}

/* The slice as a line of text; mean: of all rows' errors. */
static char *describe(tab_arena *a, const tab_profile *p, const worst *w, double mean, bool misses)
{
    const tab_column_profile *q = &p->col[w->column];
    tab_str name = tab_column_address(a, p->table, w->column);
    char where[160];
    /* a category by its value, cut at 60 bytes; a number by its thirds */
    if (q->code != NULL && q->levels <= MOST_LEVELS) {
        tab_str level = q->level[w->group];
        snprintf(where, sizeof where, "= %.*s", (int)(level.n < 60 ? level.n : 60), level.p);
    } else {
        if (w->group == 0)
            snprintf(where, sizeof where, "below %.4g", w->cut[0]);
        else if (w->group == 1)
            snprintf(where, sizeof where, "from %.4g to below %.4g", w->cut[0], w->cut[1]);
        else
            snprintf(where, sizeof where, "from %.4g", w->cut[1]);
    }
    const char *chance = w->out ? "" : "; chance alone may explain it";
    if (misses)
        return tab_arena_printf(a, "%.*s.%.*s %s: accuracy %.3f on %.0f rows, %.3f over all%s",
                                TAB_STR(p->table->id), TAB_STR(name), where, 1 - w->mean, w->n, 1 - mean,
                                chance);
    return tab_arena_printf(a, "%.*s.%.*s %s: %.2f times the RMSE of all rows, on %.0f rows%s",
                            TAB_STR(p->table->id), TAB_STR(name), where, sqrt(w->mean / mean), w->n, chance);
}

/* Categories are cut by level, numbers into thirds of the held-out rows. */
char *tab_weakest_slice(tab_arena *a, const tab_profile *p, const bool *test, size_t target,
                        const double *error, bool misses)
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
    worst w = { .n = 0 };
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
            compare(g, q->levels, (double)n, mean, var, c, NULL, &w);
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
            compare(g, 3, (double)n, mean, var, c, cut, &w);
        }
    }
    free(sorted);
    free(g);
    return w.n == 0 ? tab_arena_printf(a, "%s", "") : describe(a, p, &w, mean, misses);
}
