#include "common/csv.h"

#include <criterion/criterion.h>
#include <math.h>

static const tab_table *read_ok(tab_arena *a, const char *text, size_t n, tab_csv_notes *notes)
{
    const tab_table *t = NULL;
    tab_error err = { 0 };
    cr_assert(tab_csv_read(a, (tab_str){ text, n }, TAB_S("t"), &t, notes, &err) == TAB_OK, "%s",
              err.message);
    return t;
}
#define READ(text, notes) read_ok(a, text, sizeof text - 1, notes)

static void expect_cell(const tab_table *t, size_t row, size_t col, const char *want)
{
    tab_cell c = tab_cell_at(&t->col[col], row);
    if (want == NULL)
        cr_expect(c.kind == TAB_CELL_NULL, "row %zu column %zu is not null", row, col);
    else
        cr_expect(c.kind == TAB_CELL_TEXT && tab_str_eq(c.text, tab_str_of(want)), "row %zu column %zu: %.*s",
                  row, col, (int)c.text.n, c.text.p);
}

Test(csv, reads_quotes_line_ends_and_nulls)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("\xEF\xBB\xBFname,\"the \"\"note\"\"\",n\r\n\"a, "
                              "b\",\"two\nlines\",1\r\n,\"\",2.50\n\n\"x\"y,,-3e2",
                              &notes);
    cr_assert(t->rows == 3 && t->cols == 3);
    cr_expect(tab_str_eq(t->col[1].name, TAB_S("the \"note\"")));
    expect_cell(t, 0, 0, "a, b");
    expect_cell(t, 0, 1, "two\nlines");
    expect_cell(t, 1, 0, NULL);
    expect_cell(t, 1, 1, NULL);
    expect_cell(t, 2, 0, "xy");
    cr_expect(t->col[2].layout == TAB_NUMBERS && t->col[2].num[1] == 2.5 && t->col[2].num[2] == -300);
    cr_expect_eq(notes.empty, 1);
}

Test(csv, a_row_without_any_value_keeps_its_number)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("a,b\n1,x\n,\n\n\"\",\"\"\n4,y\n", &notes);
    cr_assert(t->rows == 4 && notes.empty == 1);
    expect_cell(t, 1, 1, NULL);
    expect_cell(t, 2, 1, NULL);
    cr_expect(t->col[0].num[3] == 4);
    expect_cell(t, 3, 1, "y");
    t = READ("a\n1\n\"\"\n3\n", NULL);
    cr_expect(t->rows == 3 && t->col[0].num[2] == 3);
}

Test(csv, one_column_whose_texts_hold_a_delimiter_stays_one)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("title\nred | blue\ngreen\nred | green\nblue\n", &notes);
    cr_assert(t->cols == 1 && t->rows == 4);
    expect_cell(t, 0, 0, "red | blue");
    t = READ("a report\nx;y\n1;2\n3;4\n5;6\n7;8\n9;1\n2;3\n4;5\n6;7\n8;9\n", &notes);
    cr_expect(t->cols == 2 && notes.delimiter == ';', "a title above the records");
}

Test(csv, numbers_only_where_every_field_is_one_that_keeps_its_digits)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_table *t = READ("a,b,c,d,e\n1,007,12345678901234567890,,1\n2,008,1,,x\n,9,2,,\n", NULL);
    cr_expect(t->col[0].layout == TAB_NUMBERS && isnan(t->col[0].num[2]));
    expect_cell(t, 0, 1, "007");
    expect_cell(t, 2, 1, "9");
    expect_cell(t, 0, 2, "12345678901234567890");
    expect_cell(t, 1, 2, "1");
    cr_expect(t->col[3].layout == TAB_NUMBERS, "a column of nulls");
    expect_cell(t, 0, 4, "1");
}

Test(csv, finds_the_delimiter_and_the_encoding)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("a;b\n1,5;2,5\n3,5;4,5\n", &notes);
    cr_expect(notes.delimiter == ';' && t->cols == 2);
    t = READ("a\tb, c\n1\t2\n", &notes);
    cr_expect(notes.delimiter == '\t' && t->cols == 2);
    t = READ("only\nx\ny\n", &notes);
    cr_expect(t->cols == 1 && t->rows == 2);
    t = READ("a,b\nM\xfcnchen,\x80\n", &notes);
    cr_expect_str_eq(notes.encoding, "windows-1252");
    expect_cell(t, 0, 0, "M\xc3\xbcnchen");
    expect_cell(t, 0, 1, "\xe2\x82\xac");
    t = READ("\xff\xfe"
             "a\0,\0b\0\n\0\xe9\0,\0=\xd8\x00\xde\n\0",
             &notes);
    cr_expect_str_eq(notes.encoding, "utf-16le");
    expect_cell(t, 0, 0, "\xc3\xa9");
    expect_cell(t, 0, 1, "\xF0\x9F\x98\x80");
}

Test(csv, ragged_records_lose_nothing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("a,b\nx\ny,z,w\nq,r\n", &notes);
    cr_assert(t->cols == 3 && t->rows == 3);
    cr_expect(t->col[2].name.n == 0 && notes.padded == 1 && notes.widened == 1);
    expect_cell(t, 0, 1, NULL);
    expect_cell(t, 1, 2, "w");
    expect_cell(t, 2, 2, NULL);
}

Test(csv, says_what_is_wrong)
{
    static const char *const bad[] = { "", "\n\n", "a,b\n\"x,1\n2,3\n" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        const tab_table *t;
        tab_error err = { 0 };
        cr_expect(tab_csv_read(a, tab_str_of(bad[i]), TAB_S("t"), &t, NULL, &err) == TAB_VALIDATION &&
                      err.message[0] != 0,
                  "%s", bad[i]);
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    cr_expect(tab_csv_read(a, TAB_S("a,b\n1,\0\n"), TAB_S("t"), &t, NULL, &err) == TAB_VALIDATION);
}
