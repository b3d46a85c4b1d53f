/* How strongly an outcome follows its score. A plan states a rate and an AUC, or an R2; here the
 * score's shift and scale, or the noise beside it, are found that give them. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/generate/plan.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The shift at which the mean chance is the rate: it rises with the shift. */
static double shift_of(const double *z, size_t n, double scale, double rate)
{
    double lo = -60, hi = 60;
    for (int k = 0; k < 40; k++) {
        double mid = (lo + hi) / 2, sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += logistic(mid + scale * z[i]);
        if (sum < rate * (double)n)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

/* The AUC that knowing the score gives: of pairs of one with the outcome and one without, the share in which
 * the first has the higher score. z rises; rows of one score are half right. */
static double auc_of(const double *z, size_t n, double shift, double scale)
{
    double without = 0, right = 0, with_all = 0;
    for (size_t i = 0; i < n;) {
        double p = 0, q = 0;
        size_t k = i;
        for (; k < n && z[k] == z[i]; k++) {
            double x = logistic(shift + scale * z[k]);
            p += x;
            q += 1 - x;
        }
        right += p * (without + q / 2);
        without += q;
        with_all += p;
        i = k;
    }
    return with_all * without > 0 ? right / (with_all * without) : 0.5;
}

static tab_status fit(tab_generator *g, tab_generate_reader *r, table *t, column *c, double *z, size_t n,
                      tab_error *err)
{
    double mean = 0, square = 0;
    size_t at = (size_t)(t - g->table);
    for (size_t i = 0; i < n; i++) {
        rows_begin(&r->now[at], i * t->rows / n);
        z[i] = rows_formula(r, &r->now[at], &c->e, c->own);
        mean += z[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (z[i] - mean) * (z[i] - mean) / (double)n;
    double sd = sqrt(square);
    assert(c->strength > 0 && c->strength < 1); /* plan.c has refused others */
    if (!(sd > 1e-12) || !isfinite(sd))
        return tab_fail(err, TAB_INTERNAL, "sector", "%.*s: its score is always the same", TAB_STR(c->name));
    if (c->kind == KIND_SIGNAL) {
        c->scale = sd * sqrt((1 - c->strength) / c->strength);
        return TAB_OK;
    }
    qsort(z, n, sizeof *z, by_value);
    double lo = 0, hi = 30 / sd;
    for (int k = 0; k < 24; k++) {
        c->scale = (lo + hi) / 2;
        c->shift = shift_of(z, n, c->scale, c->rate);
        if (auc_of(z, n, c->shift, c->scale) < c->strength)
            lo = c->scale;
        else
            hi = c->scale;
    }
    if (fabs(auc_of(z, n, c->shift, c->scale) - c->strength) > 0.005)
        return tab_fail(err, TAB_INTERNAL, "sector", "%.*s: no such strength is to be had", TAB_STR(c->name));
    return TAB_OK;
}

tab_status strength_fit(tab_generator *g, tab_error *err)
{
    enum { ROWS = 1024 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    tab_generate_reader *r = a == NULL ? NULL : tab_generate_reader_new(a, g);
    double *z = r == NULL ? NULL : tab_arena_new_of(a, double, ROWS);
    if (z == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < g->tables; i++)
        for (size_t k = 0; k < g->table[i].cols; k++) {
            table *t = &g->table[i];
            column *c = &t->col[k];
            if (c->kind == KIND_OUTCOME || c->kind == KIND_SIGNAL)
                TAB_TRY(fit(g, r, t, c, z, t->rows < ROWS ? t->rows : ROWS, err));
        }
    return TAB_OK;
}
