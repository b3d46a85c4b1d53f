#include "common/files/csv/drawn.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/csv/csv.h"

static const tab_table *read_text(tab_arena *a, const char *text, tab_csv_notes *notes)
{
    const tab_table *t = NULL;
    tab_error err = { 0 };
    cr_assert(tab_csv_read(a, tab_str_of(text), TAB_S("t"), &t, notes, &err) == TAB_OK, "%s", err.message);
    return t;
}

static void expect_text(const tab_table *t, size_t row, size_t col, const char *want)
{
    tab_cell c = tab_cell_at(&t->col[col], row);
    cr_expect(c.kind == TAB_CELL_TEXT && tab_str_eq(c.text, tab_str_of(want)), "row %zu column %zu: %.*s",
              row, col, (int)c.text.n, c.text.p);
}

Test(drawn, tables_of_every_program_are_one)
{
    static const struct {
        const char *name, *text;
        char sign;
    } cases[] = {
        { "Markdown",
          "# Staff\n\n| id | name  | pay |\n|---:|:------|---|\n| 1 | Ann B | 2.5 |\n| 2 | Bo | 3 |\n", '|' },
        { "psql", " id | name  | pay \n----+-------+-----\n  1 | Ann B | 2.5\n  2 | Bo    |   3\n(2 rows)\n",
          '|' },
        { "mysql",
          "+----+-------+-----+\n| id | name  | pay |\n+----+-------+-----+\n"
          "|  1 | Ann B | 2.5 |\n|  2 | Bo    |   3 |\n"
          "+----+-------+-----+\n",
          '|' },
        { "sqlcmd", "id   name    pay\n---- ------- ---\n1    Ann B   2.5\n2    Bo      3\n", ' ' },
        { "fixed width", "id   name    pay\r\n1    Ann B   2.5\r\n2    Bo      3\r\n",
          0 }, /* too few lines */
        { "fixed width",
          "id   name    pay\n1    Ann B   2.5\n2    Bo      3\n3    Cy D    4\n4    Di E    5\n", ' ' },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
        tab_csv_notes notes;
        const tab_table *t = read_text(a, cases[i].text, &notes);
        if (cases[i].sign == 0) {
            cr_expect(!notes.drawn, "%s", cases[i].name);
            continue;
        }
        cr_assert(notes.drawn && notes.dialect.delimiter == cases[i].sign, "%s", cases[i].name);
        cr_assert(t->cols == 3 && t->rows == (i == 5 ? 4 : 2), "%s: %zu x %zu", cases[i].name, t->rows,
                  t->cols);
        cr_expect(tab_str_eq(t->col[1].name, TAB_S("name")), "%s", cases[i].name);
        expect_text(t, 0, 1, "Ann B");
        cr_expect(t->col[2].layout == TAB_NUMBERS && t->col[2].num[0] == 2.5, "%s", cases[i].name);
    }
}

Test(drawn, a_bar_may_be_escaped_and_quotes_are_signs)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    tab_csv_notes notes;
    const tab_table *t = read_text(a, "|a|b|\n|---|---|\n|x\\|y|5\"|\n|z|\"u|\n", &notes);
    cr_assert(t->rows == 2 && t->cols == 2);
    expect_text(t, 0, 0, "x|y");
    expect_text(t, 0, 1, "5\"");
    expect_text(t, 1, 1, "\"u");
}

Test(drawn, a_number_that_reaches_into_the_blanks_is_whole)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_csv_notes notes;
    char *text = calloc(1, 1 << 14);
    size_t n = (size_t)sprintf(text, "%-6s%-8s%12s\n", "id", "name", "total");
    for (size_t i = 0; i < 120; i++)
        n += (size_t)sprintf(text + n, "%-6zu%-8s%12zu\n", i, i % 2 ? "Ann B" : "Bo",
                             i == 110 ? 123456789012 : i);
    const tab_table *t = read_text(a, text, &notes);
    cr_assert(notes.drawn && t->rows == 120 && t->cols == 3);
    expect_text(t, 110, 1, "Bo");
    cr_expect(t->col[2].num[110] == 123456789012.0);
    free(text);
}

Test(drawn, what_is_a_list_of_codes_or_a_csv_stays)
{
    static const char *const texts[] = {
        "iban\nDE89 3704 0044\nDE12 5001 0517\nDE75 5121 0800\nDE55 5001 0517\n", /* nothing pads */
        "a,b\n1,---\n2,---\n3,---\n4,---\n",
        "a, b,  c\n1, 2,  3\n4, 5,  6\n7, 8,  9\n1, 2,  4\n", /* delimiters cut */
        "a|b\nx|-\ny|-\nz|-\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
        tab_csv_notes notes;
        read_text(a, texts[i], &notes);
        cr_expect(!notes.drawn, "%zu", i);
    }
}

Test(csv, names_of_rows_have_no_name)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    tab_csv_notes notes;
    const tab_table *t = read_text(a, "mpg,cyl\nRX4,21,6\nDatsun,22.8,4\nHornet,21.4,6\n", &notes);
    cr_assert(t->cols == 3 && notes.row_names);
    cr_expect(t->col[0].name.n == 0 && tab_str_eq(t->col[1].name, TAB_S("mpg")));
    t = read_text(a, "\"mpg\" \"cyl\" \"gear\"\n\"1\" 21 6 4\n\"2\" 22.8 4 4\n\"3\" 21.4 6 3\n\"4\" 18 8 3\n",
                  &notes);
    cr_assert(t->cols == 4 && notes.row_names && t->rows == 4);
    /* a last column that the header forgot: the first field returns */
    t = read_text(a, "a,b\nx,1,u\nx,2,v\ny,3,w\n", &notes);
    cr_expect(!notes.row_names && tab_str_eq(t->col[0].name, TAB_S("a")));
}

Test(csv, a_delimiter_at_each_line_s_end_is_no_column)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    tab_csv_notes notes;
    cr_expect_eq(read_text(a, "a;b;\n1;x;\n2;y;\n", &notes)->cols, 2);
    cr_expect_eq(read_text(a, "a;b;\n1;x;\n2;y;z\n", &notes)->cols, 3);
}

Test(csv, totals_of_money_and_lines_of_programs_are_no_rows)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        { "account,debit\nCash,\"$1,200.50\"\nBank,$300.00\nTax,$10.00\nTOTAL,\"$1,510.50\"\n", "account" },
        { "konto;soll\nKasse;1.200,50 EUR\nBank;300,00 EUR\nSteuer;(10,00 EUR)\nSumme;1.490,50 EUR\n",
          "konto" },
        { "\"EXTF\";700;21;\"x\";13\nUmsatz;Kennzeichen;Konto;Gegenkonto;Datum\n5,5;S;1200;8400;0503\n"
          "6,5;H;1200;8400;0603\n7,5;S;1200;8400;0703\n",
          "Umsatz" },
        { "Region,under 18,18-64,65+\nA,10,20,30\nB,20,30,40\nC,30,40,50\n", "Region" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
        tab_csv_notes notes;
        const tab_table *t = read_text(a, cases[i].text, &notes);
        cr_expect(t->rows == 3 && tab_str_eq(t->col[0].name, tab_str_of(cases[i].name)), "%zu: %zu rows", i,
                  t->rows);
    }
}
