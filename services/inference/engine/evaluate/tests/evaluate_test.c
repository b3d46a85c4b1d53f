#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/evaluate/answer_quality.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/evaluate/quality_metrics.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

Test(metrics, auc_by_hand)
{
    const double s[] = { 0.1, 0.4, 0.35, 0.8 };
    const bool y[] = { false, false, true, true };
    cr_expect_float_eq(tab_auc(s, y, 4), 0.75, 1e-12); /* 3 of 4 pairs stand in order */
    const double tied[] = { 1, 1, 1, 1 };
    cr_expect_float_eq(tab_auc(tied, y, 4), 0.5, 1e-12);
    cr_expect(isnan(tab_auc(s, (const bool[]){ true, true, true, true }, 4)));
}

Test(metrics, average_precision_by_hand)
{
    const double s[] = { 0.9, 0.8, 0.7, 0.6, 0.6 };
    const bool y[] = { true, false, true, false, true };
    /* recall 1/3 at precision 1, 1/3 more at 2/3, the last third with the tie at 3/5 */
    cr_expect_float_eq(tab_average_precision(s, y, 5), (1 + 2.0 / 3 + 0.6) / 3, 1e-12);
    cr_expect(isnan(tab_average_precision(s, (const bool[5]){ false }, 5)));
}

Test(metrics, calibration_by_hand)
{
    /* Ten answers of 0.7, seven of them right: no error. All right: 0.3, and z = 3 / sqrt(10 * 0.21). */
    double p[20];
    uint32_t y[10];
    for (size_t i = 0; i < 10; i++)
        p[2 * i] = 0.3, p[2 * i + 1] = 0.7, y[i] = i < 7;
    cr_expect_float_eq(tab_ece(p, y, 10, 2), 0, 1e-12);
    cr_expect_float_eq(tab_calibration_z(p, y, 10, 2), 0, 1e-9);
    for (size_t i = 0; i < 10; i++)
        y[i] = 1;
    cr_expect_float_eq(tab_ece(p, y, 10, 2), 0.3, 1e-12);
    cr_expect_float_eq(tab_calibration_z(p, y, 10, 2), 3 / sqrt(2.1), 1e-9);
    cr_expect_float_eq(tab_log_loss(p, y, 10, 2), -log(0.7), 1e-12);
}

static double metric(const Tabella__HeldOut *h, const char *name)
{
    for (size_t i = 0; i < h->n_metrics; i++)
        if (strcmp(h->metrics[i]->name, name) == 0)
            return h->metrics[i]->value;
    return (double)NAN;
}

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* x decides y and the outcome; in group g3 the outcome is a coin. */
static tab_table *table(tab_arena *a, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, 4);
    tab_builder *x = tab_builder_new(a, TAB_S("x")), *g = tab_builder_new(a, TAB_S("g"));
    tab_builder *y = tab_builder_new(a, TAB_S("y")), *o = tab_builder_new(a, TAB_S("o"));
    for (size_t i = 0; i < rows; i++) {
        char name[8];
        int group = (int)(unit(i, 2) * 4);
        snprintf(name, sizeof name, "g%d", group);
        tab_builder_number(x, unit(i, 1));
        tab_builder_text(g, tab_str_of(name));
        tab_builder_number(y, 10 * unit(i, 1) + unit(i, 3));
        bool yes = group == 3 ? unit(i, 4) < 0.5 : unit(i, 1) > 0.5;
        tab_builder_text(o, yes ? TAB_S("yes") : TAB_S("no"));
    }
    cr_assert(tab_builder_finish(x, &col[0]) && tab_builder_finish(g, &col[1]) &&
              tab_builder_finish(y, &col[2]) && tab_builder_finish(o, &col[3]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 4, .col = col };
    return t;
}

Test(evaluate, finds_the_weak_slice)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 3 };
    tab_table *t = table(a, 800);
    Tabella__HeldOut *h = NULL;
    tab_evaluate_options o = { .base = "base-1", .target = 3 };
    cr_assert_eq(tab_evaluate(&e, t, &o, &h, NULL), TAB_OK);
    cr_expect_eq(h->train_rows + h->test_rows, 800);
    cr_expect(h->stratified);
    cr_expect_gt(h->score, 0.75);
    cr_expect_float_eq(metric(h, "lift_pp"), 100 * (h->score - metric(h, "baseline_majority")), 1e-9);
    cr_expect(strstr(h->weakest_slice, "t.g = g3") != NULL, "weakest slice: %s", h->weakest_slice);
    cr_assert_gt(h->n_slices, 2);
    const Tabella__Slice *worst = h->slices[0];
    cr_expect(worst->beyond_chance && worst->slice.len == 4 && memcmp(worst->slice.data, "= g3", 4) == 0);
    for (size_t i = 1; i < h->n_slices; i++)
        cr_expect(h->slices[i - 1]->beyond_chance > h->slices[i]->beyond_chance ||
                      (h->slices[i - 1]->beyond_chance == h->slices[i]->beyond_chance &&
                       h->slices[i - 1]->error >= h->slices[i]->error),
                  "slice %zu is worse than the one before it", i);
    uint64_t told = 0;
    for (size_t i = 0; i < h->n_calibration; i++)
        told += h->calibration[i]->rows;
    cr_expect(told <= h->test_rows && told + 30 > h->test_rows, "%lu rows", told);
    cr_expect_eq(h->n_per_class, 2);
    cr_expect_eq(h->per_class[0]->support + h->per_class[1]->support, h->test_rows);
}

/* The levels of a category make up all rows, and so do the squares of their errors. */
Test(evaluate, slices_of_numbers_are_in_the_targets_unit)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 3 };
    Tabella__HeldOut *h = NULL;
    tab_evaluate_options o = { .base = "base-1", .target = 2 };
    cr_assert_eq(tab_evaluate(&e, table(a, 800), &o, &h, NULL), TAB_OK);
    double squares = 0;
    uint64_t rows = 0;
    for (size_t i = 0; i < h->n_slices; i++)
        if (h->slices[i]->slice.len == 4 && memcmp(h->slices[i]->slice.data, "= g", 3) == 0) {
            squares += (double)h->slices[i]->rows * h->slices[i]->error * h->slices[i]->error;
            rows += h->slices[i]->rows;
        }
    cr_assert_eq(rows, h->test_rows);
    cr_expect_float_eq(sqrt(squares / (double)rows), metric(h, "rmse"), 1e-9, "%g of %g",
                       sqrt(squares / (double)rows), metric(h, "rmse"));
}

/* Rows 0 .. 99: the first half is answered at 0.9 and right, the second at 0.6 and right in every other
 * row. */
Test(judge, counts_by_hand)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    double sure[100], missed[100];
    for (size_t i = 0; i < 100; i++)
        sure[i] = i < 50 ? 0.9 : 0.6, missed[i] = i >= 50 && i % 2 == 1;
    Tabella__Calibration **c;
    size_t n;
    cr_assert(tab_calibration_classes(a, sure, missed, 100, &c, &n));
    cr_assert_eq(n, 2);
    cr_expect(fabs(c[0]->said - 0.6) < 1e-12 && fabs(c[0]->was - 0.5) < 1e-12 && c[0]->rows == 50);
    cr_expect(fabs(c[1]->said - 0.9) < 1e-12 && fabs(c[1]->was - 1) < 1e-12 && c[1]->rows == 50);
}

/* What is said of a run's answers is what they and the table say. */
Test(judge, a_runs_own_answers)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 3 };
    const tab_table *t = table(a, 400);
    tab_profile *p;
    tab_fitted *f = NULL;
    Tabella__Prediction *m;
    for (size_t target = 2; target < 4; target++) {
        bool classes = target == 3;
        cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
        tab_fit_options o = { .base = "base-1",
                              .task = classes ? TAB_TASK_CLASSIFICATION : TAB_TASK_REGRESSION,
                              .target = target };
        cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
        cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
        cr_assert(tab_answer_quality(&e, p, 0, target, NULL, m));
        cr_assert_eq(m->judged, 400);
        double error = 0;
        for (size_t i = 0; i < 400; i++) {
            uint32_t row = m->results->row[i];
            if (classes) {
                tab_str truth = tab_cell_at(&t->col[3], row).text;
                size_t k = m->results->n_probabilities / 400;
                uint32_t y = tab_truth_of(a, &t->col[3], 400, m->classes, k)[row];
                cr_assert(y < 2 && truth.n > 0);
                error += m->results->label[i] != y;
            } else {
                error += pow(t->col[2].num[row] - m->results->value[i], 2);
            }
        }
        cr_expect_float_eq(m->error, classes ? error / 400 : sqrt(error / 400), 1e-9);
        cr_expect_lt(m->error, m->baseline);
        cr_expect(m->n_slices > 2 && m->n_calibration > 2);
        tab_fitted_free(f);
    }
}

/* Rows far off in x are labelled: graded by their labels, which the scores never see. */
Test(evaluate, anomalies_are_graded_by_labels)
{
    enum { ROWS = 800 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 5 };
    tab_column col[3];
    tab_builder *x = tab_builder_new(a, TAB_S("x")), *y = tab_builder_new(a, TAB_S("y"));
    tab_builder *o = tab_builder_new(a, TAB_S("odd"));
    for (size_t i = 0; i < ROWS; i++) {
        bool odd = i % 25 == 7;
        tab_builder_number(x, unit(i, 21) + (odd ? 5 + 20 * unit(i, 24) : 0));
        tab_builder_number(y, unit(i, 22));
        tab_builder_text(o, odd ? TAB_S("fraud") : TAB_S("fine"));
    }
    cr_assert(tab_builder_finish(x, &col[0]) && tab_builder_finish(y, &col[1]) &&
              tab_builder_finish(o, &col[2]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
    tab_evaluate_options how = { .base = "base-1", .task = TAB_TASK_ANOMALY, .target = 2, .labels = true };
    Tabella__HeldOut *h = NULL;
    cr_assert_eq(tab_evaluate(&e, &t, &how, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->metric, "pr_auc");
    cr_expect(h->stratified);
    cr_expect_gt(h->score, 0.8, "pr_auc %g", h->score);
    cr_expect_float_eq(metric(h, "baseline_share"), 0.04, 0.005);
    cr_expect_float_eq(metric(h, "lift_pp"), 100 * (h->score - metric(h, "baseline_share")), 1e-9);
    cr_expect_gt(metric(h, "recall"), 0.6);
    cr_expect_gt(metric(h, "precision"), 0.5);
    cr_expect(!h->low_confidence, "%s", h->low_confidence_reason);
    cr_expect_eq(h->target->column, 2);

    /* Labels that nothing in the rows tells of: no better than any order. A scorer that read them would
     * find them. */
    tab_builder *coin = tab_builder_new(a, TAB_S("odd"));
    for (size_t i = 0; i < ROWS; i++)
        tab_builder_text(coin, unit(i, 23) < 0.05 ? TAB_S("fraud") : TAB_S("fine"));
    cr_assert(tab_builder_finish(coin, &col[2]));
    cr_assert_eq(tab_evaluate(&e, &t, &how, &h, NULL), TAB_OK);
    cr_expect_lt(metric(h, "lift_pp"), 15, "lift %g", metric(h, "lift_pp"));

    tab_builder *one = tab_builder_new(a, TAB_S("odd"));
    for (size_t i = 0; i < ROWS; i++)
        tab_builder_text(one, i == 3 ? TAB_S("fraud") : TAB_S("fine"));
    cr_assert(tab_builder_finish(one, &col[2]));
    cr_assert_eq(tab_evaluate(&e, &t, &how, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->metric, "score_separation");
    cr_expect(h->low_confidence && strstr(h->low_confidence_reason, "anomalies") != NULL);
}

/* Targets that nothing explains: a coin, three classes by shares, a number. What is held out says so:
 * hardly any lift over the base rate, an AUC of a coin, and confidences no higher than the share that was
 * right. */
Test(evaluate, noise_has_no_lift, .timeout = 1800)
{
    enum { ROWS = 900, WHOLE = 6 };
    static const char *const classes[] = { "low", "middle", "high" };
    static const char *const bases[] = { "base-1", "base-2" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_column *col = tab_arena_new_of(a, tab_column, WHOLE);
    tab_builder *b[WHOLE];
    for (size_t j = 0; j < WHOLE; j++)
        b[j] = tab_builder_new(a, j < 2 ? TAB_S("x") : j == 2 ? TAB_S("g") : TAB_S("o"));
    for (size_t i = 0; i < ROWS; i++) {
        tab_builder_number(b[0], unit(i, 11));
        tab_builder_number(b[1], exp(2 * unit(i, 12)));
        tab_builder_text(b[2], tab_str_of(classes[(size_t)(3 * unit(i, 13))]));
        tab_builder_text(b[3], unit(i, 14) < 0.3 ? TAB_S("yes") : TAB_S("no"));
        tab_builder_text(b[4], tab_str_of(classes[(size_t)(3 * unit(i, 15) * unit(i, 16))]));
        tab_builder_number(b[5], 100 * unit(i, 17));
    }
    for (size_t j = 0; j < WHOLE; j++)
        cr_assert(tab_builder_finish(b[j], &col[j]));
    for (size_t k = 0; k < 6; k++) {
        tab_column own[4] = { col[0], col[1], col[2], col[3 + k % 3] };
        tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 4, .col = own };
        tab_engine e = { .arena = a, .seed = 3 };
        tab_evaluate_options o = { .base = bases[k / 3], .target = 3 };
        Tabella__HeldOut *h = NULL;
        cr_assert_eq(tab_evaluate(&e, &t, &o, &h, NULL), TAB_OK);
        cr_expect_lt(fabs(metric(h, "lift_pp")), 2, "%s, target %zu: lift %.2f", o.base, k % 3,
                     metric(h, "lift_pp"));
        cr_expect(strstr(h->weakest_slice, " rows") != NULL, "a weakest slice, chance or not");
        if (k % 3 == 2)
            continue;
        cr_expect_float_eq(metric(h, "auc"), 0.5, 0.12);
        cr_expect_lt(metric(h, "ece"), 0.12, "%s, target %zu: ece %.3f", o.base, k % 3, metric(h, "ece"));
    }
}

Test(evaluate, regression_intervals_hold)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a, .seed = 4 };
    tab_table *t = table(a, 800);
    Tabella__HeldOut *h = NULL;
    tab_evaluate_options o = { .base = "base-1", .target = 2 };
    cr_assert_eq(tab_evaluate(&e, t, &o, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->metric, "r2");
    cr_expect_gt(h->score, 0.9);
    cr_expect(h->calibrated, "coverage %g", metric(h, "coverage_80"));
    cr_expect_gt(metric(h, "lift_pp"), 70);
}

Test(evaluate, entities_stay_together_and_small_tests_are_flagged)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_table *t = table(a, 60);
    uint32_t entity[60];
    for (uint32_t i = 0; i < 60; i++)
        entity[i] = i / 3;
    Tabella__HeldOut *h = NULL;
    tab_evaluate_options o = { .base = "base-1", .target = 3, .entity = entity };
    cr_assert_eq(tab_evaluate(&e, t, &o, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->unit, "entity");
    cr_expect_eq(h->test_rows % 3, 0);
    cr_expect(h->low_confidence);
    o = (tab_evaluate_options){ .base = "base-1", .task = TAB_TASK_ANOMALY };
    cr_assert_eq(tab_evaluate(&e, t, &o, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->metric, "score_separation");
    tab_table few = *t;
    few.rows = 5;
    o = (tab_evaluate_options){ .base = "base-1", .target = 3 };
    cr_expect_eq(tab_evaluate(&e, &few, &o, &h, NULL), TAB_VALIDATION);
}

/* Coins for 150 rows of numbers, each row three times, the copies apart; or rows whose target is their
 * group's. */
static const tab_table *coins(tab_arena *a, bool grouped)
{
    enum { UNLIKE = 150, COPIES = 3, GROUPS = 45 };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, 4);
    for (size_t c = 0; c < 4; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
        for (size_t i = 0; i < UNLIKE * COPIES; i++) {
            size_t of = grouped ? i : i % UNLIKE, group = i % GROUPS;
            if (c == 3)
                tab_builder_text(b, unit(grouped ? group : of, 70) < 0.5 ? TAB_S("head") : TAB_S("tail"));
            else if (c == 0 && grouped)
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "box %zu", group)));
            else
                tab_builder_number(b, floor(1e5 * unit(of, 60 + c)) / 1e3);
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("coins"), .rows = UNLIKE * COPIES, .cols = 4, .col = col };
    return t;
}

/* What a copy tells of its like is no skill (decision 0391): the score is chance's, and is doubted. */
Test(evaluate, copies_are_held_out_together)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a, .seed = 5 };
    tab_evaluate_options o = { .base = "base-1", .target = 3 };
    Tabella__HeldOut *h = NULL;
    for (int grouped = 0; grouped < 2; grouped++) {
        cr_assert_eq(tab_evaluate(&e, coins(a, grouped == 1), &o, &h, NULL), TAB_OK);
        cr_expect_str_eq(h->unit, grouped == 1 ? "group" : "copies");
        cr_expect(metric(h, "accuracy") < 0.72, "accuracy %g", metric(h, "accuracy"));
        cr_expect(h->low_confidence, "%g in %g to %g", h->score, h->score_low, h->score_high);
        cr_expect(strstr(h->note, grouped == 1 ? "share a target" : "copies of others") != NULL, "%s",
                  h->note);
        /* of 37 and 11 that were drawn together, not of 112 rows */
        cr_expect_gt(h->score_high - h->score_low, 0.2);
    }
}

/* Late rows that are copies of early ones tell nothing of the future either. */
Test(evaluate, late_copies_are_no_test)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a, .seed = 5 };
    const tab_table *t = coins(a, false);
    tab_column col[5];
    tab_builder *b = tab_builder_new(a, TAB_S("when"));
    for (size_t i = 0; i < t->rows; i++)
        tab_builder_text(b, tab_str_of(tab_arena_printf(a, "20%02zu-%02zu-%02zu", 10 + i / 336,
                                                        1 + i % 336 / 28, 1 + i % 28)));
    memcpy(col, t->col, 4 * sizeof *col);
    cr_assert(tab_builder_finish(b, &col[4]));
    const tab_table dated = { .id = t->id, .rows = t->rows, .cols = 5, .col = col };
    tab_evaluate_options o = { .base = "base-1", .target = 3, .split = TAB_SPLIT_TIME, .by = 4 };
    Tabella__HeldOut *h = NULL;
    cr_assert_eq(tab_evaluate(&e, &dated, &o, &h, NULL), TAB_OK);
    cr_expect_str_eq(h->unit, "copies");
    cr_expect_lt(metric(h, "accuracy"), 0.72);
    cr_expect(h->low_confidence);
}

/* A class of one row in eight: hits tell nothing of a good model, and it is not doubted for them. */
Test(evaluate, a_rare_class_is_told_by_rank)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_engine e = { .arena = a, .seed = 5 };
    tab_evaluate_options o = { .base = "base-1", .target = 2 };
    Tabella__HeldOut *h = NULL;
    for (int told = 0; told < 2; told++) {
        tab_column col[3];
        for (size_t c = 0; c < 3; c++) {
            tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
            for (size_t i = 0; i < 1600; i++) {
                double x = unit(i, 81), chance = told == 1 ? 0.25 * x : 0.125;
                if (c < 2)
                    tab_builder_number(b, floor(1e5 * unit(i, 81 + c)) / 1e3);
                else
                    tab_builder_text(b, unit(i, 90) < chance ? TAB_S("left") : TAB_S("stays"));
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        tab_table t = { .id = TAB_S("churn"), .rows = 1600, .cols = 3, .col = col };
        cr_assert_eq(tab_evaluate(&e, &t, &o, &h, NULL), TAB_OK);
        cr_expect_str_eq(h->metric, "auc");
        cr_expect_float_eq(h->score, metric(h, "auc"), 1e-12);
        cr_expect_lt(h->score_low, h->score);
        cr_expect_eq(h->low_confidence, told == 0, "%s", h->low_confidence_reason);
        cr_expect_eq(metric(h, "skill") > 0.01, told == 1, "%g", metric(h, "skill"));
        if (told == 0)
            cr_expect(strstr(h->low_confidence_reason, "log loss") != NULL, "%s", h->low_confidence_reason);
    }
}
