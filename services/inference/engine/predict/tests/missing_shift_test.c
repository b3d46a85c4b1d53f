/* Rows that are asked without what the others have: a column that is written down once the outcome is known,
 * and a served row that lacks what decided all others. Answers are no surer than they are right. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { ROWS = 600, COLS = 3 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static bool is_asked(size_t i)
{
    return draw(i, 1) < 0.3;
}

static bool churned(size_t i)
{
    return draw(i, 2) < 0.4;
}

/* Days that a case took, which tell who churned; empty in so many of the asked rows and of the others. */
static tab_table cases(tab_arena *a, tab_column col[COLS], double asked, double known, bool all)
{
    static const char *const name[COLS] = { "score", "days", "churned" };
    tab_builder *b[COLS];
    size_t n = 0;
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < ROWS; i++) {
        bool open = is_asked(i);
        if (!all && open)
            continue;
        n++;
        tab_builder_number(b[0], round(100 * draw(i, 3) + (churned(i) ? 15 : 0)));
        if (draw(i, 4) < (open ? asked : known))
            tab_builder_null(b[1]);
        else
            tab_builder_number(b[1],
                               round(10 * (churned(i) ? 20 + 10 * draw(i, 5) : 5 + 10 * draw(i, 5))) / 10);
        if (open)
            tab_builder_null(b[2]);
        else
            tab_builder_text(b[2], churned(i) ? TAB_S("yes") : TAB_S("no"));
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    return (tab_table){ .id = TAB_S("t"), .rows = n, .cols = COLS, .col = col };
}

/* By how much the answers of the asked rows are surer than they are right. */
static double surer(const Tabella__Results *r, const size_t *row, double *ret_right)
{
    double said = 0, right = 0;
    for (size_t i = 0; i < r->n_label; i++) {
        bool yes = r->label[i] == 1;
        said += r->probabilities[2 * i + yes];
        right += yes == churned(row[r->row[i]]);
    }
    *ret_right = right / (double)r->n_label;
    return (said - right) / (double)r->n_label;
}

static double run(double asked, double known, double *ret_right, bool *ret_told)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_column col[COLS];
    tab_table t = cases(a, col, asked, known, true);
    size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    *ret_told = strstr(m->split->reason, "`days` is empty in") != NULL;
    return surer(m->missing_target_results, row, ret_right);
}

Test(missing_shift, what_no_asked_row_has_is_not_relied_on, .timeout = 300)
{
    double right;
    bool told;
    double more = run(1, 0, &right, &told);
    cr_expect(told);
    cr_expect_lt(more, 0.1, "surer by %.3f, right %.3f", more, right);
}

Test(missing_shift, what_most_asked_rows_lack_is_judged_so, .timeout = 300)
{
    double right;
    bool told;
    double more = run(0.7, 0.05, &right, &told);
    cr_expect(told);
    cr_expect_lt(more, 0.07, "surer by %.3f, right %.3f", more, right);
    cr_expect_gt(right, 0.65);
}

Test(missing_shift, gaps_as_often_everywhere_change_nothing, .timeout = 300)
{
    double right;
    bool told;
    double more = run(0.1, 0.1, &right, &told);
    cr_expect_not(told);
    cr_expect_lt(fabs(more), 0.07);
    cr_expect_gt(right, 0.9);
}

/* An endpoint's rows come one by one: nobody knows before what they will lack. */
Test(missing_shift, a_served_row_is_answered_by_what_it_may_be, .timeout = 300)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_column col[COLS], lacking[COLS];
    tab_table t = cases(a, col, 0, 0, false), q = cases(a, lacking, 1, 1, true);
    size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = {
        .base = "base-1", .target = COLS - 1, .task = TAB_TASK_CLASSIFICATION, .served = true
    };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score(&e, f, &q, false, &m, NULL), TAB_OK);
    double right, more = surer(m->results, row, &right);
    cr_expect_lt(more, 0.1, "surer by %.3f, right %.3f", more, right);
    cr_assert_eq(m->results->n_doubt, ROWS);
    cr_expect(strstr(m->doubts[m->results->doubt[0] - 1], "t.days is empty") != NULL);
}

/* Of numbers the interval says how little is known. */
Test(missing_shift, a_served_number_has_an_interval_as_wide, .timeout = 300)
{
    enum { KNOWN = 500, SERVED = 300 };
    static const char *const name[COLS] = { "age", "size", "price" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_column col[2][COLS];
    tab_table t[2];
    double truth[SERVED];
    for (size_t which = 0; which < 2; which++) {
        tab_builder *b[COLS];
        size_t n = which == 0 ? KNOWN : SERVED;
        for (size_t c = 0; c < COLS; c++)
            b[c] = tab_builder_new(a, tab_str_of(name[c]));
        for (size_t k = 0; k < n; k++) {
            size_t i = which * KNOWN + k;
            double age = 50 * draw(i, 21), size = 100 * draw(i, 22),
                   price = 3 * size - age + 10 * (draw(i, 23) + draw(i, 24) - 1);
            tab_builder_number(b[0], age);
            if (which == 0)
                tab_builder_number(b[1], size), tab_builder_number(b[2], price);
            else
                tab_builder_null(b[1]), tab_builder_null(b[2]), truth[k] = price;
        }
        for (size_t c = 0; c < COLS; c++)
            cr_assert(tab_builder_finish(b[c], &col[which][c]));
        t[which] = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = COLS, .col = col[which] };
    }
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION, .served = true };
    cr_assert_eq(tab_profile_table(&e, &t[0], &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score(&e, f, &t[1], false, &m, NULL), TAB_OK);
    size_t in = 0;
    for (size_t i = 0; i < SERVED; i++) {
        const double *row = m->results->quantiles + i * m->n_quantile_levels;
        in += truth[i] >= row[1] && truth[i] <= row[m->n_quantile_levels - 2];
    }
    cr_expect(in > SERVED * 0.7 && in < SERVED * 0.97, "%zu of %d within 80%%", in, SERVED);
}
