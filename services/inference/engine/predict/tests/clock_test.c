/* Served rows whose times stand in parts: a later day of the same year is later. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { COLS = 4, DAYS_FITTED = 900, DAYS_SERVED = 300 };

static double bell(size_t i)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += tab_unit(tab_mix2(i, 77 + k));
    return s;
}

/* Year, month and day of the nth day from 2021 on. */
static void date_of(size_t n, int ret[3])
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    ret[0] = 2021 + (int)(n / 365), ret[1] = 0, ret[2] = (int)(n % 365);
    while (ret[2] >= days[ret[1]])
        ret[2] -= days[ret[1]++];
    ret[1]++, ret[2]++;
}

/* A random walk by day. */
static tab_table *walk(tab_arena *a, size_t from, size_t n)
{
    static const char *const names[COLS] = { "year", "month", "day", "level" };
    tab_builder *b[COLS];
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    double y = 500;
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(names[c]));
    for (size_t i = 0; i < from + n; i++) {
        int date[3];
        y += 3 * bell(i);
        date_of(i, date);
        for (size_t c = 0; i >= from && c < COLS; c++)
            tab_builder_number(b[c], c < 3 ? date[c] : round(100 * y) / 100);
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = COLS, .col = col };
    return t;
}

Test(clock, times_in_parts_tell_that_a_served_row_is_later, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_fit_options o = { .base = "base-1", .task = TAB_TASK_REGRESSION, .target = COLS - 1 };
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_profile_table(&e, walk(a, 0, DAYS_FITTED), &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score(&e, f, walk(a, DAYS_FITTED, DAYS_SERVED), false, &m, NULL), TAB_OK);
    cr_assert_eq(m->results->n_regime, DAYS_SERVED, "the rows' regimes are said");
    for (size_t r = 0; r < DAYS_SERVED; r++)
        cr_expect_eq(m->results->regime[r], 1, "day %zu", r);
    const tab_table *truth = walk(a, DAYS_FITTED, DAYS_SERVED);
    double in = 0;
    for (size_t r = 0; r < DAYS_SERVED; r++) {
        const double *q = m->results->quantiles + r * m->n_quantile_levels, y = truth->col[COLS - 1].num[r];
        in += (y >= q[1] && y <= q[m->n_quantile_levels - 2]) / (double)DAYS_SERVED;
    }
    cr_expect_gt(in, 0.7, "covered %g", in);
    cr_assert_eq(tab_score(&e, f, walk(a, 100, 50), false, &m, NULL), TAB_OK);
    cr_expect_eq(m->results->n_regime, 0, "days among the fitted ones are like them");
}
