/* Rows that are asked beyond all numbers that were given: nothing that is given says what is there, and no
 * answer is sure of it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"

enum { ROWS = 600 };

static double size(size_t row)
{
    return 10 * tab_unit(tab_mix2(row, 3));
}

static double noise(size_t row)
{
    return tab_unit(tab_mix2(row, 4)) - 0.5;
}

/* The answers for the rows of more than seven: all of them lack the target. */
static const Tabella__Prediction *beyond(tab_arena *a, bool classes)
{
    char *csv = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&csv, &n);
    fputs("size,flag,target\n", f);
    for (size_t r = 0; r < ROWS; r++) {
        double x = size(r);
        fprintf(f, "%.3f,%d,", x, tab_mix2(r, 5) % 2 == 0);
        if (x <= 7 && classes)
            fputs(x < 3 ? "small" : "middle", f);
        else if (x <= 7)
            fprintf(f, "%.3f", 3 * x + noise(r));
        fputs("\n", f);
    }
    fclose(f);
    const tab_table *t;
    Tabella__Bundle *b = NULL;
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("target");
    cr_assert_eq(tab_csv_read(a, tab_arena_copy(a, (tab_str){ csv, n }), TAB_S("t"), &t, NULL, NULL), TAB_OK);
    cr_assert_eq(tab_engine_run(&e, &t, 1, &o, &b, NULL), TAB_OK);
    free(csv);
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
    cr_assert_not_null(strstr(p->split->reason, "have numbers beyond"), "%s", p->split->reason);
}

/* Cases numbered in time, the last of them measured in another unit: later rows did not lie so far out before,
 * and what is said of them is drawn to the shares. In the same unit they are answered as surely as before. */
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
