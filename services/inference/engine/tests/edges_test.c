/* Shapes at the limits, bounded in time, and properties that hold on any table: what was asked for is
 * answered with finite numbers, and with no more confidence than the data give. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

typedef struct {
    tab_arena *a;
    tab_column col[2100];
    tab_table t;
} maker;

static maker *start(void)
{
    static maker m;
    m.a = tab_arena_new((size_t)8 << 30);
    m.t = (tab_table){ .id = TAB_S("t"), .col = m.col };
    return &m;
}

static double noise(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

typedef void fill(tab_builder *b, size_t i, size_t j);

static void add(maker *m, const char *name, size_t rows, size_t j, fill *cell)
{
    tab_builder *b = tab_builder_new(m->a, tab_arena_copy(m->a, tab_str_of(name)));
    for (size_t i = 0; i < rows; i++)
        cell(b, i, j);
    cr_assert(tab_builder_finish(b, &m->col[m->t.cols++]));
    m->t.rows = rows;
}

static void number(tab_builder *b, size_t i, size_t j)
{
    tab_builder_number(b, noise(i, j));
}

static void gappy(tab_builder *b, size_t i, size_t j)
{
    if (noise(i, j + 5000) < 0.1)
        tab_builder_null(b);
    else
        tab_builder_number(b, noise(i, j));
}

static void coin(tab_builder *b, size_t i, size_t j)
{
    tab_builder_text(b, noise(i, j) < 0.3 ? TAB_S("yes") : TAB_S("no"));
}

static void outcome(tab_builder *b, size_t i, size_t j)
{
    (void)j;
    tab_builder_text(b, noise(i, 1) + 0.3 * noise(i, 99) > 0.65 ? TAB_S("yes") : TAB_S("no"));
}

static void few(tab_builder *b, size_t i, size_t j)
{
    static const char *const names[] = { "red", "green", "blue", "grey" };
    tab_builder_text(b, tab_str_of(names[(size_t)(4 * noise(i, j))]));
}

static void empty(tab_builder *b, size_t i, size_t j)
{
    (void)i, (void)j;
    tab_builder_null(b);
}

static void constant(tab_builder *b, size_t i, size_t j)
{
    (void)i, (void)j;
    tab_builder_number(b, 7);
}

static void category(tab_builder *b, size_t i, size_t j)
{
    char text[24];
    snprintf(text, sizeof text, "part %05zu", (size_t)(10000 * noise(i, j)));
    tab_builder_text(b, tab_str_of(text));
}

static void extreme(tab_builder *b, size_t i, size_t j)
{
    double v = noise(i, j);
    tab_builder_number(b, v < 0.3 ? 1e300 * v : v < 0.6 ? 1e-300 * v : v < 0.8 ? -1.7e308 * v : 4.9e-324);
}

/* Checks what every bundle must hold. */
static void check(const maker *m, const Tabella__Bundle *b)
{
    for (size_t i = 0; i < b->imputation->n_row; i++)
        cr_assert(tab_cell_at(&m->col[b->imputation->column[i]], b->imputation->row[i]).kind == TAB_CELL_NULL,
                  "a supplied cell is filled");
    for (size_t i = 0; i < b->imputation->n_row_confidence; i++)
        cr_assert(b->imputation->row_confidence[i] >= 0 && b->imputation->row_confidence[i] <= 1);
    const Tabella__Prediction *p = b->prediction;
    if (p == NULL)
        return;
    const Tabella__Results *parts[] = { p->results, p->missing_target_results };
    size_t answered = 0;
    for (size_t q = 0; q < 2; q++) {
        const Tabella__Results *r = parts[q];
        if (r == NULL)
            continue;
        answered += r->n_row;
        size_t k = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
        for (size_t i = 0; i < r->n_row; i++) {
            double sum = 0;
            for (size_t c = 0; c < k; c++)
                sum += r->probabilities[i * k + c];
            /* of one class it is not certain (decision 0641) */
            cr_assert(k == 0 || (k == 1 ? sum > 0.5 && sum < 1 : fabs(sum - 1) < 1e-9),
                      "probabilities sum to %.12g", sum);
            const double *at = r->n_quantiles > 0 ? r->quantiles + i * p->n_quantile_levels : NULL;
            for (size_t l = 0; at != NULL && l < p->n_quantile_levels; l++)
                cr_assert(isfinite(at[l]) && (l == 0 || at[l] >= at[l - 1]), "quantile %zu: %g", l, at[l]);
            cr_assert(r->n_value == 0 || (isfinite(r->value[i]) && isfinite(r->std[i])));
            cr_assert(r->n_anomaly_score == 0 || isfinite(r->anomaly_score[i]));
            if (r->n_reasons > 0)
                for (size_t c = 0; c < r->reasons[i]->n_reasons; c++)
                    cr_assert(isfinite(r->reasons[i]->reasons[c]->contribution));
        }
    }
    cr_assert_eq(answered, m->t.rows);
}

/* NULL target: automatic; "": anomaly. NULL: refused as a validation error. */
static Tabella__Bundle *run(maker *m, const char *target)
{
    tab_engine e = { .arena = m->a };
    const tab_table *t = &m->t;
    tab_run_options o = { .threshold = 0.5, .explain = true };
    if (target != NULL && target[0] != 0) {
        o.target = TAB_TARGET_COLUMN;
        o.target_column = tab_str_of(target);
    } else if (target != NULL) {
        o.task = TAB_TASK_ANOMALY;
    }
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    tab_status st = tab_engine_run(&e, &t, 1, &o, &b, &err);
    if (st == TAB_VALIDATION) {
        cr_assert(err.message[0] != 0 && err.param[0] != 0, "a refusal says what and where");
        return NULL;
    }
    cr_assert_eq(st, TAB_OK, "%s: %s", err.param, err.message);
    check(m, b);
    return b;
}

Test(edges, two_thousand_columns, .timeout = 1800)
{
    maker *m = start();
    char name[16];
    add(m, "o", 120, 0, outcome);
    for (size_t j = 1; j < 2000; j++) {
        snprintf(name, sizeof name, "x%zu", j);
        add(m, name, 120, j, number);
    }
    cr_assert_not_null(run(m, "o"));
    tab_arena_free(m->a);
}

Test(edges, two_thousand_columns_and_no_target_named, .timeout = 1800)
{
    maker *m = start();
    char name[16];
    for (size_t j = 1; j <= 2000; j++) {
        snprintf(name, sizeof name, "x%zu", j);
        add(m, name, 50, j, number);
    }
    cr_assert_not_null(run(m, NULL));
    tab_arena_free(m->a);
}

Test(edges, two_thousand_columns_with_gaps, .timeout = 1800)
{
    maker *m = start();
    char name[16];
    for (size_t j = 0; j < 2000; j++) {
        snprintf(name, sizeof name, "x%zu", j);
        add(m, name, 60, j, gappy);
    }
    Tabella__Bundle *b = run(m, "x0");
    cr_assert_gt(b->imputation->n_row, 10000);
    tab_arena_free(m->a);
}

/* Rows 3 and 70 stand far out, each in forty columns of the last hundred: they are the two most unusual
 * ones, and the columns that say so are named. */
static void wild(tab_builder *b, size_t i, size_t j)
{
    bool out = (i == 3 || i == 70) && j >= 1900 && (j + i) % 5 < 2;
    tab_builder_number(b, noise(i, j) + (out ? 9 : 0));
}

Test(edges, unusual_rows_of_two_thousand_columns, .timeout = 1800)
{
    maker *m = start();
    char name[16];
    for (size_t j = 0; j < 2000; j++) {
        snprintf(name, sizeof name, "x%zu", j);
        add(m, name, 150, j, wild);
    }
    const Tabella__Results *r = run(m, "")->prediction->results;
    cr_assert_eq(r->n_anomaly_score, 150);
    for (size_t i = 0; i < 150; i++)
        cr_expect(i == 3 || i == 70 || r->anomaly_score[i] < fmin(r->anomaly_score[3], r->anomaly_score[70]),
                  "row %zu: %g", i, r->anomaly_score[i]);
    for (size_t k = 0; k < 2; k++) {
        size_t row = k == 0 ? 3 : 70;
        cr_assert_gt(r->reasons[row]->n_reasons, 0);
        uint32_t c = r->reasons[row]->reasons[0]->column->column;
        cr_expect(c >= 1900 && (c + row) % 5 < 2, "row %zu: column %u", row, c);
    }
    tab_arena_free(m->a);
}

static void seldom(tab_builder *b, size_t i, size_t j)
{
    (void)j;
    if (i % 50 == 0)
        tab_builder_text(b, TAB_S("yes"));
    else
        tab_builder_null(b);
}

/* Many rows alike: a threshold through them would call most of the table unusual. */
Test(edges, rows_alike_are_not_all_unusual, .timeout = 1800)
{
    maker *m = start();
    add(m, "coin", 200, 1, coin);
    const Tabella__Prediction *p = run(m, "")->prediction;
    size_t flagged = 0;
    for (size_t i = 0; i < 200; i++)
        flagged += p->results->anomaly_score[i] >= p->threshold;
    cr_expect_leq(flagged, 20, "%zu of 200 rows", flagged);
    cr_expect_float_eq(p->expected_share, (double)flagged / 200, 1e-9);
    tab_arena_free(m->a);
}

/* Four cells say "yes", 196 nothing: nothing says that the others should, and that all are "yes", where that
 * is asked for, is a guess. */
Test(edges, few_cells_do_not_make_sure, .timeout = 1800)
{
    maker *m = start();
    add(m, "x", 200, 0, number);
    add(m, "seldom", 200, 1, seldom);
    static const char *const targets[] = { "x", "seldom" };
    for (size_t k = 0; k < 2; k++) {
        const Tabella__Imputation *filled = run(m, targets[k])->imputation;
        cr_assert_eq(filled->n_row, k == 0 ? 0 : 196);
        cr_assert_eq(filled->n_not_filled, k == 0 ? 1 : 0);
        for (size_t i = 0; i < filled->n_confidence_row; i++)
            cr_assert_leq(filled->row_confidence[i], 5.0 / 6 + 1e-6);
    }
    tab_arena_free(m->a);
}

Test(edges, ten_thousand_categories, .timeout = 1800)
{
    maker *m = start();
    add(m, "o", 20000, 0, outcome);
    add(m, "x", 20000, 1, number);
    add(m, "k", 20000, 7, category);
    add(m, "g", 20000, 8, gappy);
    cr_assert_not_null(run(m, "o"));
    run(m, "k"); /* thousands of classes: an answer or a refusal, soon */
    tab_arena_free(m->a);
}

Test(edges, a_class_a_row, .timeout = 1800)
{
    maker *m = start();
    add(m, "x", 300, 1, number);
    add(m, "k", 300, 7, category);
    Tabella__Bundle *b = run(m, "k");
    if (b != NULL)
        for (size_t i = 0; i < b->prediction->results->n_probabilities; i++)
            cr_assert_lt(b->prediction->results->probabilities[i], 0.5);
    tab_arena_free(m->a);
}

Test(edges, one_and_two_rows_of_anything)
{
    static fill *const kinds[] = { number, coin, few, empty, constant, category, extreme };
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
    for (size_t rows = 1; rows <= 2; rows++)
        for (size_t all = 0; all < 2; all++) {
            maker *m = start();
            for (size_t k = 0; k < 7; k++)
                add(m, names[k], rows, k, kinds[k]);
            for (size_t k = 0; k < 7; k++)
                run(m, names[k]);
            run(m, NULL);
            run(m, "");
            tab_arena_free(m->a);
        }
}

Test(edges, extremes_beside_each_other)
{
    maker *m = start();
    add(m, "e", 200, 1, extreme);
    add(m, "f", 200, 2, extreme);
    add(m, "o", 200, 1, outcome);
    run(m, "e");
    run(m, "o");
    run(m, "");
    tab_arena_free(m->a);
}

Test(edges, constants_and_nothing)
{
    maker *m = start();
    add(m, "c", 90, 0, constant);
    add(m, "n", 90, 0, empty);
    add(m, "o", 90, 4, coin);
    cr_assert_not_null(run(m, "c"));
    cr_expect_null(run(m, "n"), "a target without any value is refused");
    cr_assert_not_null(run(m, "o"));
    run(m, NULL);
    run(m, "");
    tab_arena_free(m->a);
}

static void nearly_missing(tab_builder *b, size_t i, size_t j)
{
    if (i % 100 == 3)
        outcome(b, i, j);
    else
        tab_builder_null(b);
}

Test(edges, a_target_nearly_all_missing)
{
    maker *m = start();
    add(m, "x", 400, 1, number);
    add(m, "t", 400, 0, nearly_missing);
    Tabella__Bundle *b = run(m, "t");
    cr_expect_eq(b->prediction->missing_target, 396);
    cr_expect_eq(b->prediction->results->n_row, 4);
    tab_arena_free(m->a);
}

/* Each row eight times over, the target a coin a row: copies answer alike, and what the folds say is no
 * better than the base rate, since no copy was learned from. */
static void eightfold(tab_builder *b, size_t i, size_t j)
{
    number(b, i / 8, j);
}

Test(edges, copies_do_not_leak)
{
    maker *m = start();
    add(m, "x", 800, 1, eightfold);
    add(m, "y", 800, 2, eightfold);
    tab_builder *o = tab_builder_new(m->a, TAB_S("o"));
    for (size_t i = 0; i < 800; i++)
        coin(o, i / 8, 33);
    cr_assert(tab_builder_finish(o, &m->col[m->t.cols++]));
    Tabella__Bundle *b = run(m, "o");
    double loss = 0, share = 0;
    for (size_t i = 0; i < 800; i++)
        share += noise(i / 8, 33) < 0.3;
    share /= 800;
    for (size_t i = 0; i < 800; i++) {
        bool yes = noise(i / 8, 33) < 0.3;
        loss -= log(b->prediction->results->probabilities[2 * i + yes]) / 800;
    }
    double base = -share * log(share) - (1 - share) * log(1 - share);
    cr_expect_gt(loss, 0.93 * base, "out-of-fold loss %.3f of copied noise, base rate %.3f", loss, base);
    tab_arena_free(m->a);
}

Test(edges, noise_is_answered_by_the_base_rate, .timeout = 1800)
{
    for (size_t seed = 0; seed < 3; seed++) {
        maker *m = start();
        for (size_t j = 1; j <= 6; j++) {
            char name[8];
            snprintf(name, sizeof name, "x%zu", j);
            add(m, name, 600, 10 * seed + j, j < 5 ? number : few);
        }
        add(m, "o", 600, 700 + seed, coin);
        const Tabella__Results *r = run(m, "o")->prediction->results;
        double share = 0, far = 0;
        for (size_t i = 0; i < 600; i++)
            share += (noise(i, 700 + seed) < 0.3) / 600.0;
        for (size_t i = 0; i < 600; i++)
            far += fabs(r->probabilities[2 * i + 1] - share) / 600;
        cr_expect_lt(far, 0.05, "rows are %.3f from the base rate %.3f on average", far, share);
        tab_arena_free(m->a);
    }
}
