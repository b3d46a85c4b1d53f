/* A column that is computed from others shows, the whole apart from its parts. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/identities.h"

enum { ROWS = 300 };
enum { NET, TAX, TOTAL, UNITS, PRICE, REVENUE, COLS };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* TOTAL is NET plus TAX, REVENUE is UNITS times PRICE; the rest is drawn by itself. noise: of the wholes. */
static void identities(double noise, tab_identity *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    static double v[COLS][ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        v[NET][i] = 50 + 100 * unit(i, 1);
        v[TAX][i] = 1 + 30 * unit(i, 2);
        v[TOTAL][i] = v[NET][i] + v[TAX][i] + noise * 60 * unit(i, 5);
        v[UNITS][i] = 1 + floor(40 * unit(i, 3));
        v[PRICE][i] = 2 + 9 * unit(i, 4);
        v[REVENUE][i] = v[UNITS][i] * v[PRICE][i] * (1 + noise * unit(i, 6));
    }
    tab_column_profile col[COLS] = { 0 };
    for (size_t k = 0; k < COLS; k++)
        col[k] = (tab_column_profile){ .type = TAB_NUMERIC, .number = v[k] };
    tab_table t = { .rows = ROWS, .cols = COLS };
    tab_profile p = { .table = &t, .col = col };
    cr_assert(tab_identities(a, &p, ret));
}

Test(identities, sums_and_products)
{
    tab_identity of[COLS];
    identities(0, of);
    for (size_t k = 0; k < COLS; k++)
        cr_expect_gt(of[k].share, 0.9, "column %zu: %g", k, of[k].share);
    cr_expect_gt(of[TOTAL].positive, 0.99);
    cr_expect_gt(of[REVENUE].positive, 0.99);
    cr_expect_lt(of[TAX].positive, 0.8);
    cr_expect_lt(of[UNITS].positive, 0.8);
}

Test(identities, what_only_depends_is_none)
{
    tab_identity of[COLS];
    identities(1, of);
    for (size_t k = 0; k < COLS; k++)
        cr_expect_lt(of[k].share, 0.5, "column %zu: %g", k, of[k].share);
}

Test(identities, few_rows_determine_nothing)
{
    double v[3][7];
    tab_column_profile col[3] = { 0 };
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < 7; i++)
            v[k][i] = unit(i, k);
        col[k] = (tab_column_profile){ .type = TAB_NUMERIC, .number = v[k] };
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    tab_table t = { .rows = 7, .cols = 3 };
    tab_profile p = { .table = &t, .col = col };
    tab_identity of[3];
    cr_assert(tab_identities(a, &p, of));
    for (size_t k = 0; k < 3; k++)
        cr_expect_eq(of[k].share, 0);
}
