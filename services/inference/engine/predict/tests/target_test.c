/* What is left out of the features, and which task a target of numbers is: decision 0261. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/profile/roles/roles.h"

/* Evenly drawn whole numbers lo..hi. */
static double drawn(size_t i, size_t j, double lo, double hi)
{
    return lo + floor(tab_unit(tab_mix2(i, j)) * (hi - lo + 1));
}

typedef struct {
    const char *name;
    double (*value)(size_t row);
} column;

static tab_profile *profile_of(tab_arena *a, const column *c, size_t cols, size_t rows)
{
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t j = 0; j < cols; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(c[j].name));
        for (size_t i = 0; i < rows; i++)
            tab_builder_number(b, c[j].value(i));
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = col };
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    e->arena = a;
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}

static double area(size_t i)
{
    return drawn(i, 1, 30, 220);
}

static double rooms(size_t i)
{
    return drawn(i, 2, 1, 6);
}

static double price(size_t i)
{
    return 2100 * area(i) + 9000 * rooms(i) + drawn(i, 3, -15000, 15000);
}

static double counter(size_t i)
{
    return (double)(i + 1);
}

static double customer(size_t i)
{
    return (double)(i + 10001);
}

static double score(size_t i)
{
    return drawn(i, 4, 0, 999);
}

static double hint(size_t i)
{
    return score(i) / 10 + drawn(i, 5, -300, 300) / 100;
}

static double grade(size_t i)
{
    return drawn(i, 6, 1, 9);
}

Test(target, evenly_drawn_whole_numbers_explain)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    enum { ROWS = 600 };
    const column c[] = { { "area", area }, { "rooms", rooms }, { "price", price } };
    tab_profile *p = profile_of(a, c, 3, ROWS);
    tab_engine e = { .arena = a };
    tab_fit_options fit = { .base = "base-1", .task = TAB_TASK_REGRESSION, .target = 2 };
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_fit(&e, p, &fit, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    cr_assert_eq(m->results->n_value, ROWS);
    double mean = 0, all = 0, left = 0;
    for (size_t i = 0; i < ROWS; i++)
        mean += price(i) / ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        all += pow(price(i) - mean, 2);
        left += pow(price(m->results->row[i]) - m->results->value[i], 2);
    }
    cr_expect_gt(1 - left / all, 0.9, "R2 %.3f", 1 - left / all);
}

Test(target, what_only_counts_rows_explains_nothing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const column c[] = { { "k", counter }, { "customer", customer }, { "area", area }, { "price", price } };
    tab_profile *p = profile_of(a, c, 4, 600);
    for (size_t j = 0; j < 2; j++) {
        cr_expect_eq(p->col[j].role, TAB_ROLE_ID, "%s is %s", c[j].name, tab_role_names[p->col[j].role]);
        cr_expect_not(tab_explains(&p->col[j]), "%s", c[j].name);
    }
    cr_expect(tab_explains(&p->col[2]));
}

Test(target, of_many_numbers_is_a_regression_whatever_its_role)
{
    static const struct {
        const char *name;
        double (*value)(size_t);
        tab_task asked, want;
    } cases[] = { { "score", score, TAB_TASK_AUTO, TAB_TASK_REGRESSION },
                  { "score", score, TAB_TASK_CLASSIFICATION, TAB_TASK_CLASSIFICATION },
                  { "grade", grade, TAB_TASK_AUTO, TAB_TASK_CLASSIFICATION },
                  { "grade", grade, TAB_TASK_REGRESSION, TAB_TASK_REGRESSION },
                  { "counter", counter, TAB_TASK_REGRESSION, TAB_TASK_REGRESSION } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        const column c[] = { { "hint", hint }, { cases[k].name, cases[k].value } };
        tab_profile *p = profile_of(a, c, 2, 2000);
        tab_engine e = { .arena = a };
        tab_run_options o = { .task = cases[k].asked,
                              .target = TAB_TARGET_COLUMN,
                              .target_column = tab_str_of(cases[k].name) };
        tab_selection s;
        cr_assert_eq(tab_select(&e, &p, 1, NULL, &o, &s, NULL), TAB_OK, "case %zu", k);
        cr_expect_eq(s.task, cases[k].want, "case %zu: %s", k, s.how->type);
        if (s.task == TAB_TASK_REGRESSION)
            cr_expect_float_eq(p->col[1].number[7], cases[k].value(7), 1e-9, "case %zu", k);
    }
}

static double vast(size_t i)
{
    return 1.75e308 + 1e306 * drawn(i, 5, 0, 4);
}

/* All are beyond what an answer may be, which is then the nearest that it may. */
Test(target, of_numbers_at_the_end_of_a_double_is_answered)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    static const column c[] = { { "area", area }, { "vast", vast } };
    const tab_profile *p = profile_of(a, c, 2, 60);
    tab_engine e = { .arena = a };
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = 1, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    for (size_t i = 0; i < m->results->n_value; i++)
        cr_expect(isfinite(m->results->value[i]) && m->results->value[i] > 1e308);
}
