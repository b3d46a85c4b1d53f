/* What matched rows say of two columns. */
#include "services/inference/engine/align/agreement.h"

#include <criterion/criterion.h>

enum { ROWS = 120, COLS = 4 };

/* Row r of table t: a city or its country's code, a country by name or code, m or male, a letter of its
 * own. */
static const char *datum(size_t t, size_t r, size_t c)
{
    static const char *const city[2][5] = { { "Berlin", "Paris", "Madrid", "Rome", "Vienna" },
                                            { "DE", "FR", "ES", "IT", "AT" } };
    static const char *const country[2][5] = { { "Germany", "France", "Spain", "Italy", "Austria" },
                                               { "DE", "FR", "ES", "IT", "AT" } };
    static const char *const gender[2][2] = { { "m", "f" }, { "male", "female" } };
    static const char *const letter[2][3] = { { "a", "b", "c" }, { "x", "y", "z" } };
    size_t k = r * r % 11 + r;
    switch (c) {
    case 0:
        return city[t][k % 5];
    case 1:
        return country[t][(k + r / 7) % 5];
    case 2:
        return gender[t][(k + r / 3) % 2];
    default:
        return letter[t][(k + (t == 0 ? 0 : r / 5)) % 3]; /* nothing follows */
    }
}

Test(agreement, of_codes_is_that_one_follows_from_the_other_but_for_places_of_two_kinds)
{
    tab_arena *arena = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = arena };
    tab_table table[2];
    tab_profile *p[2];
    tab_views *v;
    tab_error err = { 0 };
    for (size_t t = 0; t < 2; t++) {
        tab_column *col = tab_arena_new_of(arena, tab_column, COLS);
        for (size_t c = 0; c < COLS; c++) {
            tab_builder *b = tab_builder_new(arena, TAB_S(""));
            for (size_t r = 0; r < ROWS; r++)
                tab_builder_text(b, tab_str_of(datum(t, r, c)));
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        table[t] =
            (tab_table){ .id = t == 0 ? TAB_S("a") : TAB_S("b"), .rows = ROWS, .cols = COLS, .col = col };
        cr_assert_eq(tab_profile_table(&e, &table[t], &p[t], &err), TAB_OK);
    }
    cr_assert_eq(tab_views_new(&e, p, 2, &v, &err), TAB_OK);
    uint32_t row[ROWS], x[ROWS], y[ROWS];
    float shared[ROWS];
    tab_rank_point point[ROWS];
    for (uint32_t r = 0; r < ROWS; r++)
        row[r] = r, shared[r] = 100;
    tab_row_pairs rows = { ROWS, row, row };
    tab_agreement_scratch own = { point, x, y };
    float f[COLS][TAB_ALIGN_ROW_FEATURES] = { { 0 } };
    for (size_t c = 0; c < COLS; c++)
        tab_row_agreement(v, &v->table[0].col[c], &v->table[1].col[c], &rows, shared, &own, f[c]);
    cr_expect(f[0][4] == 0 && f[0][5] == 0, "a city is no country: %g %g", (double)f[0][4], (double)f[0][5]);
    cr_expect_gt(f[1][4], 0.8f, "a country's name and its code: %g", (double)f[1][4]);
    cr_expect_gt(f[2][4], 0.8f, "m and male: %g", (double)f[2][4]);
    cr_expect_lt(f[3][4], 0.5f, "letters that have nothing in common: %g", (double)f[3][4]);
    tab_views_free(v);
    tab_arena_free(arena);
}

/* A salary and a day of entry are numbers both and no attribute; years beside days are, as matched rows
 * tell. */
Test(agreement, days_are_no_other_numbers)
{
    enum { BOTH = 7, ONE = 8, RANKS = TAB_ALIGN_VALUE_FEATURES + 3 };
    const tab_view day = { .kind = TAB_VIEW_DATE }, number = { .kind = TAB_VIEW_NUMBER };
    const struct {
        const tab_view *a, *b;
        float ranks, both;
    } want[] = { { &number, &day, 0.2f, 0 },
                 { &day, &number, 0, 0 },
                 { &day, &number, 0.8f, 1 },
                 { &day, &day, 0, 1 },
                 { &number, &number, 0, 1 } };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        float f[TAB_ALIGN_FEATURES] = { [BOTH] = 1, [RANKS] = want[i].ranks };
        tab_tell_days_apart(want[i].a, want[i].b, f);
        cr_expect(f[BOTH] == want[i].both && f[ONE] == 1 - want[i].both, "%zu", i);
    }
}

/* Values that stand once each follow from one another by themselves: that is no association. */
Test(agreement, what_stands_once_follows_from_nothing)
{
    enum { ONCE = 30 };
    TAB_AUTO(tab_arena) *arena = tab_arena_new(SIZE_MAX / 2);
    TAB_AUTO(tab_views) *v = NULL;
    tab_engine e = { .arena = arena };
    tab_error err = { 0 };
    tab_table table[2];
    tab_profile *p[2];
    for (size_t t = 0; t < 2; t++) {
        tab_column *col = tab_arena_new_of(arena, tab_column, 2);
        for (size_t c = 0; c < 2; c++) {
            tab_builder *b = tab_builder_new(arena, TAB_S(""));
            for (size_t r = 0; r < ONCE; r++) {
                size_t of = c == 0 ? (r * 7 + t * 11) % ONCE : r / 3;
                tab_builder_text(b, tab_str_of(tab_arena_printf(arena, "%c%zu", t == 0 ? 'a' : 'q', of)));
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        table[t] = (tab_table){ .id = t == 0 ? TAB_S("a") : TAB_S("b"), .rows = ONCE, .cols = 2, .col = col };
        cr_assert_eq(tab_profile_table(&e, &table[t], &p[t], &err), TAB_OK);
    }
    cr_assert_eq(tab_views_new(&e, p, 2, &v, &err), TAB_OK);
    uint32_t row[ONCE], x[ONCE], y[ONCE];
    float shared[ONCE], f[2][TAB_ALIGN_ROW_FEATURES] = { { 0 } };
    tab_rank_point point[ONCE];
    for (uint32_t r = 0; r < ONCE; r++)
        row[r] = r, shared[r] = 100;
    tab_row_pairs rows = { ONCE, row, row };
    tab_agreement_scratch own = { point, x, y };
    for (size_t c = 0; c < 2; c++)
        tab_row_agreement(v, &v->table[0].col[c], &v->table[1].col[c], &rows, shared, &own, f[c]);
    cr_expect(f[0][4] == 0 && f[0][5] == 0, "each once: %g, %g", (double)f[0][4], (double)f[0][5]);
    cr_expect_float_eq(f[1][4], f[1][7], 1e-6, "ten by threes, each other's: %g", (double)f[1][4]);
}
