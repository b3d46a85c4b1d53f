/* Whether two columns' common values are explained by chance, which their neighbours tell. */
#include "services/inference/engine/align/beyond_chance.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ROWS = 200 }; /* all of which are looked at */

typedef void cell_fn(tab_builder *b, size_t table, size_t row);

/* The columns that `cell` writes for tables 0 and 1: whether chance explains what each holds of the other. */
static bool by_chance(cell_fn *cell)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    TAB_AUTO(tab_views) *v = NULL;
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table table[2];
    tab_profile *profile[2];
    tab_held *held[2];
    for (size_t t = 0; t < 2; t++) {
        tab_column *col = tab_arena_new_of(a, tab_column, 1);
        tab_builder *b = tab_builder_new(a, TAB_S("x"));
        for (size_t r = 0; r < ROWS; r++)
            cell(b, t, r);
        cr_assert(tab_builder_finish(b, col));
        table[t] = (tab_table){ .id = t == 0 ? TAB_S("a") : TAB_S("b"), .rows = ROWS, .cols = 1, .col = col };
        cr_assert_eq(tab_profile_table(&e, &table[t], &profile[t], &err), TAB_OK);
    }
    cr_assert_eq(tab_views_new(&e, profile, 2, &v, &err), TAB_OK);
    for (size_t t = 0; t < 2; t++)
        cr_assert_not_null(held[t] = tab_held_new(v, &v->table[t].col[0], a));
    bool ret = tab_held_by_chance(held[0], held[1]);
    cr_assert_eq(tab_held_by_chance(held[1], held[0]), ret); /* it has no sides */
    return ret;
}

static size_t shared; /* rows whose value both tables hold */

/* Numbers far from one another: no column holds another's neighbours. */
static void apart(tab_builder *b, size_t table, size_t row)
{
    size_t own = row < shared ? row : row + (table + 1) * 1000;
    tab_builder_number(b, (double)(own * own * 7919 % 1000003) + (own % 3 == 0 ? 0.25 : 0.5));
}

static void apart_in_words(tab_builder *b, size_t table, size_t row)
{
    char text[32];
    size_t own = row < shared ? row : row + (table + 1) * 1000;
    snprintf(text, sizeof text, "w%zux", own * 7919 % 1000003);
    tab_builder_text(b, tab_str_of(text));
}

/* All numbers of one range, each second one missing in the second table. */
static void of_one_range(tab_builder *b, size_t table, size_t row)
{
    tab_builder_number(b, (double)(table == 0 ? row : 2 * row % ROWS + (row >= ROWS / 2)));
}

static void shifted(tab_builder *b, size_t table, size_t row)
{
    tab_builder_number(b, (double)(row + table * (ROWS - 40)));
}

/* Three values in common are what chance may give, four are not. */
Test(beyond_chance, values_without_neighbours_are_common_from_four_on)
{
    cell_fn *const kinds[] = { apart, apart_in_words };
    for (size_t k = 0; k < 2; k++) {
        for (shared = 0; shared <= 3; shared++)
            cr_expect(by_chance(kinds[k]), "%zu of kind %zu", shared, k);
        for (shared = 4; shared <= ROWS; shared = shared * 3 / 2 + 1)
            cr_expect_not(by_chance(kinds[k]), "%zu of kind %zu", shared, k);
    }
}

Test(beyond_chance, ranges_hold_neighbours_as_often_as_values)
{
    cr_expect(by_chance(of_one_range));
    cr_expect(by_chance(shifted));
}
