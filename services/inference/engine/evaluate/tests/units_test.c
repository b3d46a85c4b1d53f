/* What a fitted table answers of rows that belong together, or are equal by chance: decision 0391. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

/* Forty boxes of coins, all of a box alike; two measures that tell nothing. from: the
 * first box. */
static tab_table boxes(tab_arena *a, size_t rows, size_t from)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 4);
    for (size_t c = 0; c < 4; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
        for (size_t i = 0; i < rows; i++) {
            size_t box = from + i % 40;
            if (c == 0)
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "box %zu", box)));
            else if (c < 3)
                tab_builder_number(b, floor(1e5 * tab_unit(tab_mix2(from + i, c))) / 1e3);
            else
                tab_builder_text(b, tab_unit(tab_mix2(box, 77)) < 0.5 ? TAB_S("head") : TAB_S("tail"));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    return (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 4, .col = col };
}

/* The mean probability of the true class. */
static double sureness(tab_arena *a, const Tabella__Prediction *m, const Tabella__Results *r,
                       const tab_column *truth)
{
    size_t n = r->n_row, classes = r->n_probabilities / n;
    const uint32_t *is = tab_truth_of(a, truth, n, m->classes, classes);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += r->probabilities[i * classes + is[i]] / (double)n;
    return sum;
}

/* Folds keep a box together, so nothing is claimed of a new one; a known one is answered by its rows
 * (decision 0391). */
Test(units, known_groups_are_known_and_new_ones_are_not, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    const tab_table t = boxes(a, 400, 0);
    tab_profile *p = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    Tabella__Prediction *m = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .base = "base-1", .target = 3, .task = TAB_TASK_CLASSIFICATION };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    cr_expect_str_eq(m->split->kind, "group", "%s", m->split->reason);
    cr_assert_not_null(m->split->by);
    cr_expect_eq(m->split->by->column, 0);
    double own = sureness(a, m, m->results, &t.col[3]);
    cr_expect_lt(own, 0.65, "its own rows: %g", own);
    for (size_t from = 0; from <= 500; from += 500) {
        const tab_table asked = boxes(a, 40, from);
        cr_assert_eq(tab_score_any(&e, f, &asked, false, &m, NULL), TAB_OK);
        double sure = sureness(a, m, m->results, &asked.col[3]);
        cr_expect(from == 0 ? sure > 0.97 : sure < 0.7, "boxes from %zu: %g", from, sure);
    }
}

/* A column that no key-like role groups rows by is taken all the same where its levels have one target
 * each. */
Test(units, a_report_is_split_by_any_group_of_one_target, .timeout = 600)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 9 };
    tab_column col[3];
    for (size_t c = 0; c < 3; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
        for (size_t i = 0; i < 240; i++)
            if (c < 2)
                tab_builder_number(b, c == 0 ? 3.5 * (double)(i % 16)
                                             : floor(1e5 * tab_unit(tab_mix2(i, c))) / 1e3);
            else
                tab_builder_text(b, tab_unit(tab_mix2(i % 16, 78)) < 0.5 ? TAB_S("head") : TAB_S("tail"));
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    const tab_table t = { .id = TAB_S("t"), .rows = 240, .cols = 3, .col = col };
    tab_evaluate_options o = { .base = "base-1", .target = 2, .split = TAB_SPLIT_GROUP, .by = 0 };
    Tabella__HeldOut *h = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_evaluate(&e, &t, &o, &h, &err), TAB_OK, "%s", err.message);
    cr_expect_str_eq(h->unit, "group");
    cr_expect(h->low_confidence && strstr(h->low_confidence_reason, "held out together") != NULL, "%s",
              h->low_confidence_reason);
    o.by = 1;
    cr_expect_eq(tab_evaluate(&e, &t, &o, &h, NULL), TAB_VALIDATION);
}

/* Eighty rows of a colour that decides a kind: few unlike rows are no reason to tell nothing. */
Test(units, few_unlike_rows_are_enough, .timeout = 600)
{
    static const char *const colour[] = { "red", "blue", "green", "black", "white", "grey", "pink", "teal" };
    static const char *const kind[] = { "round", "square", "flat" };
    for (size_t rows = 24; rows <= 80; rows += 56) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        tab_engine e = { .arena = a };
        tab_column col[2];
        tab_builder *b = tab_builder_new(a, TAB_S("colour")), *k = tab_builder_new(a, TAB_S("kind"));
        for (size_t i = 0; i < rows; i++) {
            size_t at = rows == 24 ? i % 4 : (size_t)(8 * tab_unit(tab_mix2(i, 5)));
            tab_builder_text(b, tab_str_of(colour[at]));
            tab_builder_text(k, tab_str_of(kind[at % 3]));
        }
        cr_assert(tab_builder_finish(b, &col[0]) && tab_builder_finish(k, &col[1]));
        tab_table t = { .id = TAB_S("t"), .rows = rows, .cols = 2, .col = col };
        tab_profile *p = NULL;
        TAB_AUTO(tab_fitted) *f = NULL;
        Tabella__Prediction *m = NULL;
        cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
        tab_fit_options o = { .target = 1, .task = TAB_TASK_CLASSIFICATION };
        cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
        cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
        double sure = sureness(a, m, m->results, &t.col[1]);
        cr_expect_gt(sure, 0.9, "%zu rows: %g", rows, sure);
    }
}
