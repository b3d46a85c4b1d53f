/* A branch's churn rate beside each of its customers: computed from their own targets it is left out and
 * named, of last year it is read. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/target_means.h"
#include "services/inference/engine/predict/explain/leaks.h"

enum { ROWS = 600, GROUPS = 100, COLS = 4 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

static double target(size_t i)
{
    return 10 * draw(i % GROUPS, 1) + 6 * draw(i, 2);
}

static bool open_row(size_t i)
{
    return draw(i, 3) < 0.3;
}

/* What is said of column `rate`: the kind of leak, or "". */
static const char *told(tab_arena *a, bool of_these, bool *used)
{
    static const char *const name[COLS] = { "branch", "age", "rate", "spent" };
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[COLS];
    tab_column col[COLS];
    double sum[GROUPS] = { 0 }, n[GROUPS] = { 0 };
    for (size_t i = 0; i < ROWS; i++)
        if (!open_row(i))
            sum[i % GROUPS] += target(i), n[i % GROUPS]++;
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(name[c]));
    for (size_t i = 0; i < ROWS; i++) {
        size_t g = i % GROUPS;
        char text[32];
        snprintf(text, sizeof text, "branch %zu", g);
        tab_builder_text(b[0], tab_str_of(text));
        tab_builder_number(b[1], round(50 * draw(i, 4)));
        tab_builder_number(b[2], of_these ? sum[g] / fmax(1, n[g]) : 10 * draw(g, 1) + 3 + draw(g, 5));
        if (open_row(i))
            tab_builder_null(b[3]);
        else
            tab_builder_number(b[3], target(i));
    }
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-1", .target = COLS - 1, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, true, &m, NULL), TAB_OK);
    cr_assert_eq(tab_leaks(&e, f, p, m, NULL), TAB_OK);
    *used = false;
    for (size_t i = 0; i < m->missing_target_results->n_reasons; i++)
        for (size_t k = 0; k < m->missing_target_results->reasons[i]->n_reasons; k++)
            *used = *used || m->missing_target_results->reasons[i]->reasons[k]->column->column == 2;
    return m->n_leaks == 0 ? "" : m->leaks[0]->reason;
}

Test(group_means, of_these_targets_are_left_out_and_named, .timeout = 300)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    bool used;
    cr_expect_str_eq(
        told(a, true, &used),
        "`rate` gives the target away: it follows the targets of its group's rows more closely than "
        "chance allows, as if it were computed from them; it was left out");
    cr_expect_not(used);
    cr_expect_str_empty(told(a, false, &used));
    cr_expect(used, "of last year it tells");
}

/* One row of each group wins: no mean differs from another, whatever the number is. */
Test(group_means, groups_whose_means_are_one_tell_nothing)
{
    tab_target_sums g[GROUPS];
    double v[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        g[i] = (tab_target_sums){ .n = 6, .sum = 1, .square = 1, .all = 6 };
        v[i] = draw(i, 1);
    }
    cr_expect_not(tab_made_of_targets(g, v, GROUPS));
}
