/* Which rows are unusual: those whose numbers lie far out, also in skewed columns and many together, and
 * those of levels that hardly occur (decision 0373). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted.h"

enum { ROWS = 600, COLS = 4, UNUSUAL = 12 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* The rows that are made unusual. */
static bool unusual(size_t i)
{
    return i % (ROWS / UNUSUAL) == 7;
}

/* A spread that is skewed by far, as amounts are. */
static double amount(size_t i, size_t j)
{
    return round(100 * exp(2.5 * sqrt(-2 * log(unit(i, j) + 1e-9)) * cos(6.283 * unit(i, j + 9)))) / 100;
}

static void ordinary(tab_builder *b, size_t i, size_t j)
{
    static const char *const kinds[] = { "north", "east", "south", "west" };
    if (j == 3)
        tab_builder_text(b, tab_str_of(kinds[(size_t)(4 * unit(i, 3))]));
    else
        tab_builder_number(b, j == 0 ? amount(i, 0) : round(1000 * unit(i, j)) / 10);
}

/* One amount in fifty is written in cents, thrice over. */
static void slipped(tab_builder *b, size_t i, size_t j)
{
    if (j == 0 && unusual(i))
        tab_builder_number(b, (1e5 + amount(i, 0)) * 1e6);
    else
        ordinary(b, i, j);
}

/* A dozen rows lie together, far from all others: more than would be each other's ten nearest. */
static void together(tab_builder *b, size_t i, size_t j)
{
    if ((j == 1 || j == 2) && unusual(i))
        tab_builder_number(b, 300 + round(10 * unit(i, j)) / 10);
    else
        ordinary(b, i, j);
}

/* A level that hardly occurs. */
static void seldom(tab_builder *b, size_t i, size_t j)
{
    static const char *const few[] = { "n/a", "tbd", "?", "none" };
    if (j == 3 && unusual(i))
        tab_builder_text(b, tab_str_of(few[i % 4]));
    else
        ordinary(b, i, j);
}

/* How many of the made rows are among the 2 * UNUSUAL most unusual ones. */
static size_t found(void (*cell)(tab_builder *b, size_t i, size_t j), const char *base)
{
    static const char *const names[COLS] = { "amount", "length", "width", "region" };
    tab_arena *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[COLS];
    for (size_t j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < ROWS; i++)
            cell(b, i, j);
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    Tabella__Prediction *m;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    tab_fit_options o = { .base = base, .target = COLS, .task = TAB_TASK_ANOMALY };
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        size_t above = 0;
        for (size_t k = 0; k < ROWS; k++)
            above += m->results->anomaly_score[k] > m->results->anomaly_score[i];
        n += unusual(i) && above < 2 * UNUSUAL;
    }
    tab_fitted_free(f);
    tab_arena_free(a);
    return n;
}

Test(anomaly, finds_what_lies_far_out, .timeout = 600)
{
    static const struct {
        const char *name;
        void (*cell)(tab_builder *b, size_t i, size_t j);
        size_t least;
    } cases[] = {
        { "numbers far out in a skewed column", slipped, UNUSUAL },
        { "a dozen far rows together", together, UNUSUAL },
        { "levels that hardly occur", seldom, UNUSUAL - 1 },
        { "nothing: as chance has it", ordinary, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int base = 1; base <= 2; base++) {
            size_t n = found(cases[i].cell, base == 1 ? "base-1" : "base-2");
            cr_expect_geq(n, cases[i].least, "%s, base-%d: %zu of %d", cases[i].name, base, n, UNUSUAL);
            cr_expect(cases[i].least > 0 || n < UNUSUAL / 2, "%s, base-%d: %zu", cases[i].name, base, n);
        }
}
