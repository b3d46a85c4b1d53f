#include <criterion/criterion.h>

#include "services/inference/serve/row_index.h"

static const tab_table *table(tab_arena *a, size_t n, const char *const *cell)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, 1);
    tab_builder *b = tab_builder_new(a, TAB_S("name"));
    for (size_t i = 0; i < n; i++)
        cell[i] == NULL ? tab_builder_null(b) : tab_builder_text(b, tab_str_of(cell[i]));
    cr_assert(tab_builder_finish(b, c));
    *t = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = 1, .col = c };
    return t;
}

Test(row_index, the_rarest_shared_words_decide)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const char *rows[] = { "Anna Berg, Main Street", "Carl Dorn, Main Street", NULL, "Emma Falk, Main Street",
                           "Anna Falk, Main Street" };
    static const struct {
        const char *query;
        uint32_t likest;
    } cases[] = {
        { "BERG anna", 0 }, { "carl.dorn@example.org", 1 }, { "Street of Emma", 3 }, { "Falk, Anna", 4 }
    };
    const tab_row_index *x = tab_row_index_new(a, table(a, 5, rows));
    tab_row_index_space *s = tab_row_index_scratch(a, x);
    cr_assert(x != NULL && s != NULL);
    for (int again = 0; again < 2; again++) /* a query leaves nothing behind */
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint32_t got[2];
            cr_assert_geq(tab_row_index_rows(x, s, table(a, 1, &cases[i].query), 0, 2, got), 1, "%s",
                          cases[i].query);
            cr_expect_eq(got[0], cases[i].likest, "%s: row %u", cases[i].query, got[0]);
        }
}

Test(row_index, equal_rows_come_by_number_and_never_more_than_asked)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const char *rows[] = { "x", "same words", "same words", "same words" }, *query = "same words",
               *nothing = NULL;
    const tab_row_index *x = tab_row_index_new(a, table(a, 4, rows));
    tab_row_index_space *s = tab_row_index_scratch(a, x);
    uint32_t got[8];
    cr_expect_eq(tab_row_index_rows(x, s, table(a, 1, &query), 0, 2, got), 2);
    cr_expect(got[0] == 1 && got[1] == 2);
    cr_expect_eq(tab_row_index_rows(x, s, table(a, 1, &query), 0, 8, got), 3);
    cr_expect_eq(tab_row_index_rows(x, s, table(a, 1, &nothing), 0, 8, got), 0);
}

Test(row_index, a_table_without_rows_is_near_nothing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const char *query = "anything";
    const tab_row_index *x = tab_row_index_new(a, table(a, 0, NULL));
    tab_row_index_space *s = tab_row_index_scratch(a, x);
    uint32_t got[1];
    cr_assert(x != NULL && s != NULL);
    cr_expect_eq(tab_row_index_rows(x, s, table(a, 1, &query), 0, 1, got), 0);
}
