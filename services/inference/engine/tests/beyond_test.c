/* Rows that are asked, or served, beyond all numbers that were given: nothing that is given says what is
 * there, and no answer is sure of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { ROWS = 600 };

static double size(size_t row)
{
    return 10 * tab_unit(tab_mix2(row, 3));
}

static double noise(size_t row)
{
    return tab_unit(tab_mix2(row, 4)) - 0.5;
}

/* The rows of at least the least size and less than the most; those of more than seven lack the target. */
static const tab_table *table(tab_arena *a, double least, double most, bool classes)
{
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("size,flag,target\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        double x = size(r);
        if (x < least || x >= most)
            continue;
        fprintf(f, "%.3f,%d,", x, tab_mix2(r, 5) % 2 == 0);
        if (x <= 7 && classes)
            fputs(x < 3 ? "small" : "middle", f);
        else if (x <= 7)
            fprintf(f, "%.3f", 3 * x + noise(r));
        fputs("\n", f);
    }
    fclose(f);
    const tab_table *t;
    cr_assert_eq(tab_csv_read(a, tab_arena_copy(a, (tab_str){ csv, n }), TAB_S("t"), &t, NULL, NULL), TAB_OK);
    free(csv);
    return t;
}

/* The answers for the rows of more than seven. */
static const Tabella__Prediction *beyond(tab_arena *a, bool classes)
{
    const tab_table *t = table(a, 0, 10, classes);
    Tabella__Bundle *b = NULL;
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("target");
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
    return b->prediction;
}

Test(beyond, classes_are_not_sure_and_intervals_hold)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const Tabella__Prediction *p = beyond(a, true);
    const Tabella__Results *r = p->missing_target_results;
    size_t out = 0, held = 0;
    double sure = 0;
    cr_assert(r->n_regime == r->n_row && r->n_row > 100);
    for (size_t i = 0; i < r->n_row; i++)
        if (r->regime[i] == 3)
            out++, sure += fmax(r->probabilities[2 * i], r->probabilities[2 * i + 1]);
    cr_assert(out > 50 && sure / (double)out < 0.8, "%zu rows, said %g, none is right", out,
              sure / (double)out);
    p = beyond(a, false);
    r = p->missing_target_results;
    out = 0;
    for (size_t i = 0; i < r->n_row; i++) {
        const double *q = r->quantiles + i * p->n_quantile_levels;
        double truth = 3 * size(r->row[i]) + noise(r->row[i]);
        if (r->regime[i] == 3)
            out++, held += q[1] <= truth && truth <= q[5];
    }
    cr_assert(out > 50 && (double)held / (double)out > 0.7, "%zu of %zu hold", held, out);
    bool told = false; /* that none of the known rows can say how good these answers are */
    for (size_t i = 0; i < p->n_regimes; i++)
        told = told || (strcmp(p->regimes[i]->regime, "out_of_range") == 0 && p->regimes[i]->judged == 0 &&
                        p->regimes[i]->rows == out);
    cr_assert(told);
    cr_assert_not_null(strstr(p->split->reason, "have numbers outside"), "%s", p->split->reason);
}

/* Numbers that look like those of rows, and tell the target: what lies far beyond them is as little known as
 * beyond any other. Some asked rows lie among them, so that they are no time (decision 0844). */
Test(beyond, numbers_of_orders_are_numbers)
{
    enum { KNOWN = 200 };
    static const int asked[] = { 20, 220, 300 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("x,z,y\n", f);
    for (size_t r = 0; r < KNOWN; r++)
        fprintf(f, "%zu,%.4f,%zu\n", r, noise(r), 2 * r + r % 3);
    for (size_t i = 0; i < 3; i++)
        fprintf(f, "%d,0,\n", asked[i]);
    fclose(f);
    const tab_table *t;
    Tabella__Bundle *b = NULL;
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("y");
    cr_assert_eq(tab_csv_read(a, tab_arena_copy(a, (tab_str){ csv, n }), TAB_S("t"), &t, NULL, NULL), TAB_OK);
    free(csv);
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
    const Tabella__Results *r = b->prediction->missing_target_results;
    cr_assert(r->n_row == 3 && r->n_regime == 3);
    for (size_t i = 0; i < 3; i++) {
        const double *q = r->quantiles + i * b->prediction->n_quantile_levels;
        double truth = 2 * asked[i] + asked[i] % 3;
        cr_expect_eq(r->regime[i], i == 0 ? 0 : 3);
        cr_expect(i == 0 || (q[1] <= truth && truth <= q[5]), "%d: %g to %g", asked[i], q[1], q[5]);
    }
}

/* Cases numbered in time, the last of them measured in another unit: later rows did not lie so far out
 * before, and what is said of them is drawn to the shares. In the same unit they are answered as surely as
 * before. */
static double sure_of_later(double unit)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    char *csv = NULL;
    size_t n = 0, asked = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("id,weight,region,risk\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        bool later = r >= ROWS * 4 / 5;
        double kg = 50 + 6 * size(r);
        fprintf(f, "%zu,%.1f,%c,", r + 1, later ? unit * kg : kg, (char)('A' + tab_mix2(r, 5) % 3));
        fputs(later ? "\n" : (kg > 80) == (tab_unit(tab_mix2(r, 6)) < 0.92) ? "high\n" : "low\n", f);
    }
    fclose(f);
    const tab_table *t;
    Tabella__Bundle *b = NULL;
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("risk");
    cr_assert_eq(tab_csv_read(a, tab_arena_copy(a, (tab_str){ csv, n }), TAB_S("t"), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
    free(csv);
    const Tabella__Results *r = b->prediction->missing_target_results;
    double sure = 0;
    for (size_t i = 0; i < r->n_row; i++, asked++)
        sure += fmax(r->probabilities[2 * i], r->probabilities[2 * i + 1]);
    cr_assert_eq(asked, ROWS / 5);
    return sure / (double)asked;
}

Test(beyond, later_rows_in_another_unit_are_not_sure)
{
    double said = sure_of_later(1), pounds = sure_of_later(2.2046);
    cr_expect_gt(said, 0.8);
    cr_expect_lt(pounds, 0.7, "said %g, half of them are right", pounds);
}

/* The served answers of rows from a size on to another, by those up to seven. */
static const Tabella__Results *served(tab_arena *a, double least, double most, bool classes)
{
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_fit_options o = { .target = 2,
                          .task = classes ? TAB_TASK_CLASSIFICATION : TAB_TASK_REGRESSION,
                          .served = true };
    cr_assert_eq(tab_profile_table(&e, table(a, 0, 7, classes), &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_score(&e, f, table(a, least, most, classes), false, &m, NULL), TAB_OK);
    return m->results;
}

/* The mean probability of the answered of two classes. */
static double sureness(const Tabella__Results *r)
{
    double sure = 0;
    for (size_t i = 0; i < r->n_row; i++)
        sure += fmax(r->probabilities[2 * i], r->probabilities[2 * i + 1]) / (double)r->n_row;
    return sure;
}

Test(beyond, served_classes_are_not_sure_and_those_within_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    double out = sureness(served(a, 8, 10, true)), in = sureness(served(a, 4, 7, true));
    cr_expect(out < 0.8, "said %g beyond, none is right", out);
    cr_expect(in > 0.95, "said %g within, all are right", in);
}

Test(beyond, served_intervals_are_as_wide_as_the_line_goes)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const Tabella__Results *r = served(a, 8, 10, false);
    size_t row = 0, held = 0, levels = r->n_quantiles / r->n_row;
    for (size_t k = 0; k < ROWS; k++) {
        if (size(k) < 8)
            continue;
        const double *q = r->quantiles + row++ * levels;
        double truth = 3 * size(k) + noise(k);
        held += q[1] <= truth && truth <= q[5];
    }
    cr_assert(row == r->n_row && row > 50);
    cr_expect((double)held / (double)row > 0.7, "%zu of %zu hold", held, row);
}
