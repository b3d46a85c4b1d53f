#include "common/table/table.h"

#include <criterion/criterion.h>
#include <string.h>

Test(builder, keeps_numbers_as_doubles_until_something_else_comes)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    tab_builder_number(b, 1.5);
    tab_builder_null(b);
    tab_column numbers, mixed;
    tab_builder *m = tab_builder_new(a, TAB_S("y"));
    tab_builder_number(m, 0.1);
    tab_builder_text(m, TAB_S("0.1"));
    tab_builder_bool(m, true);
    tab_builder_null(m);
    tab_builder_number_text(m, TAB_S("9007199254740993"));
    tab_builder_number(m, 0.1);
    cr_assert(tab_builder_finish(b, &numbers));
    cr_assert(tab_builder_finish(m, &mixed));

    cr_expect(numbers.layout == TAB_NUMBERS);
    cr_expect(tab_cell_at(&numbers, 0).num == 1.5);
    cr_expect(tab_cell_at(&numbers, 1).kind == TAB_CELL_NULL);

    cr_expect(mixed.layout == TAB_CODED);
    cr_expect_eq(mixed.levels, 4, "the number 0.1 and the text \"0.1\" are two levels");
    cr_expect(tab_cell_at(&mixed, 0).kind == TAB_CELL_NUMBER && tab_cell_at(&mixed, 0).num == 0.1);
    cr_expect(tab_cell_at(&mixed, 1).kind == TAB_CELL_TEXT);
    cr_expect(tab_cell_at(&mixed, 2).kind == TAB_CELL_BOOL);
    cr_expect(tab_cell_at(&mixed, 3).kind == TAB_CELL_NULL);
    cr_expect(tab_str_eq(tab_cell_at(&mixed, 4).text, TAB_S("9007199254740993")));
    cr_expect_eq(mixed.code[5], mixed.code[0]);
}

Test(builder, copies_cells_of_any_column)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_builder *b[4];
    tab_column c[4];
    for (int i = 0; i < 4; i++)
        b[i] = tab_builder_new(a, TAB_S("x"));
    for (int r = 0; r < 6; r++) { /* numbers alone; then texts, booleans, nulls and long numbers, repeated */
        tab_builder_number(b[0], r % 3 + 0.5);
        if (r % 5 == 1)
            tab_builder_null(b[1]);
        else if (r % 2 == 0)
            tab_builder_text(b[1], r == 2 ? TAB_S("") : TAB_S("0.5"));
        else if (r == 3)
            tab_builder_bool(b[1], true);
        else
            tab_builder_number_text(b[1], TAB_S("9007199254740993"));
    }
    cr_assert(tab_builder_finish(b[0], &c[0]) && tab_builder_finish(b[1], &c[1]));
    uint32_t known[2][8] = { { 0 } };
    for (size_t r = 0; r < 6; r++)
        for (int k = 0; k < 2; k++) {
            tab_builder_copy(b[2], &c[k], r, known[k]);
            tab_builder_cell(b[3], tab_cell_at(&c[k], r));
        }
    cr_assert(tab_builder_finish(b[2], &c[2]) && tab_builder_finish(b[3], &c[3]));
    tab_table copied = { .id = TAB_S("t"), .rows = 12, .cols = 1, .col = &c[2] },
              told = { .id = TAB_S("t"), .rows = 12, .cols = 1, .col = &c[3] };
    cr_expect(tab_table_equal(&copied, &told));
    cr_expect_eq(c[2].levels, c[3].levels);
    for (size_t r = 0; r < 12; r++)
        cr_expect_eq(c[2].code[r], c[3].code[r]);
}

Test(builder, says_no_when_the_arena_is_full)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(20000);
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    for (int i = 0; i < 100000; i++)
        tab_builder_number(b, i);
    tab_column c;
    cr_expect(!tab_builder_finish(b, &c));
}

Test(column, with_an_empty_or_repeated_name_is_addressed_by_position)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    tab_column cols[] = {
        { .name = TAB_S("x") }, { .name = TAB_S("") }, { .name = TAB_S("y") }, { .name = TAB_S("y") }
    };
    tab_table t = { .id = TAB_S("t"), .rows = 0, .cols = 4, .col = cols };
    cr_expect(tab_str_eq(tab_column_address(a, &t, 0), TAB_S("x")));
    cr_expect(tab_str_eq(tab_column_address(a, &t, 1), TAB_S("c1")));
    cr_expect(tab_str_eq(tab_column_address(a, &t, 3), TAB_S("c3")));
}

Test(number_text, is_the_shortest_that_reads_back)
{
    static const struct {
        double x;
        const char *want;
    } cases[] = {
        { 1, "1" },          { 0.1, "0.1" },        { -2.5, "-2.5" },
        { 1e300, "1e+300" }, { 900000, "900000" },  { -3e14, "-300000000000000" },
        { 1e15, "1e+15" },   { 2.5e-7, "2.5e-07" }, { 123456789, "123456789" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        size_t n = tab_number_text(cases[i].x, buf);
        cr_expect(tab_str_eq((tab_str){ buf, n }, tab_str_of(cases[i].want)), "%.*s", (int)n, buf);
    }
}

/* Two tables of columns, found by name, and the refusal that lists what there is. */
Test(columns, one_that_is_not_there_is_told_what_there_is)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_column col[] = { { .name = TAB_S("amount") }, { .name = TAB_S("city") } };
    const tab_table one = { .id = TAB_S("t"), .cols = 2, .col = col },
                    two = { .id = TAB_S("u"), .cols = 1, .col = col };
    const tab_table *const tables[] = { &one, &two };
    size_t table = 9, column = 9;
    tab_error err;
    cr_assert_eq(tab_column_find(a, tables, 1, TAB_S("amount"), &table, &column, &err), TAB_OK);
    cr_expect(table == 0 && column == 0);
    cr_assert_eq(tab_column_find(a, tables, 1, TAB_S("amuont"), &table, &column, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.message,
                     "column \"amuont\" does not exist; did you mean amount? The columns are amount, city");
    cr_assert_eq(tab_column_find(a, tables, 2, TAB_S("shoes"), &table, &column, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.message,
                     "column \"shoes\" does not exist; the columns are t.amount, t.city, u.amount");
    cr_assert_eq(tab_column_find(a, tables, 2, TAB_S("amount"), &table, &column, &err), TAB_VALIDATION);
    cr_expect_not_null(strstr(err.message, "several tables"));
}

Test(columns, many_are_listed_in_part)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    static tab_column col[300];
    for (size_t i = 0; i < 300; i++)
        col[i].name = tab_str_of(tab_arena_printf(a, "a_rather_long_name_of_a_column_%zu", i));
    const tab_table one = { .id = TAB_S("t"), .cols = 300, .col = col };
    const tab_table *const tables[] = { &one };
    size_t table, column;
    tab_error err;
    cr_assert_eq(tab_column_find(a, tables, 1, TAB_S("z"), &table, &column, &err), TAB_VALIDATION);
    size_t n = strlen(err.message);
    cr_expect(n < sizeof err.message - 1 && strcmp(err.message + n - 5, ", ...") == 0, "%s", err.message);
}
