#include "common/files/csv/csv.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
    cr_expect(t->cols == 2 && notes.dialect.delimiter == ';', "a title above the records");
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
    cr_expect(notes.dialect.delimiter == ';' && t->cols == 2);
    t = READ("a\tb, c\n1\t2\n", &notes);
    cr_expect(notes.dialect.delimiter == '\t' && t->cols == 2);
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

Test(csv, titles_comments_and_totals_are_no_rows)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("Sales of the year,,\nin EUR,,\n,,\nregion,q1,q2\nnorth,1,2\nsouth,3,4\n"
                              "east,5,6\nTotal,9,12\n",
                              &notes);
    cr_assert(t->rows == 3 && t->cols == 3 && notes.skipped == 3 && notes.total);
    cr_expect(tab_str_eq(t->col[1].name, TAB_S("q1")) && t->col[0].levels == 3);
    t = READ("# a;b\na;b;c\n1;2;3\n# no row\n4;5;7\n", &notes);
    cr_expect(t->rows == 2 && t->cols == 3 && notes.comments == 2 && notes.dialect.comment == '#');
    t = READ("#id,name\n1,x\n2,y\n", &notes);
    cr_expect(notes.dialect.comment == 0 && tab_str_eq(t->col[0].name, TAB_S("#id")));
    t = READ("Name,Zip,Sum\n#1001,'10115,5\n#1002,'20095,6\n#1003,'50667,7\n", &notes);
    cr_expect(t->rows == 3 && notes.comments == 0, "orders whose names begin so: %zu", t->rows);
    t = READ("# station 7, north\n# unit, K, daily, mean\nday,k\n1,2\n2,\"3\"\n", &notes);
    cr_expect(t->rows == 2 && notes.comments == 2, "%zu rows", t->rows);
    t = READ("region,q1\nnorth,0\nsouth,1\neast,0\nwest,1\n", &notes);
    cr_expect(t->rows == 4 && !notes.total, "a row that only happens to be the sum");
    /* names behind the sign of the notes above them, if they are as many as the fields */
    t = READ("# station 7\n# north\n#\n# day,k,site\n2024-01-01,2,a\n2024-01-02,3,b\n", &notes);
    cr_expect(t->rows == 2 && tab_str_eq(t->col[0].name, TAB_S("day")) && notes.header);
    cr_expect(tab_str_eq(t->col[2].name, TAB_S("site")) && notes.comments == 3);
    t = READ("# station 7\n# north\n# 1,2\n3,4\n5,6\n", &notes);
    cr_expect(t->rows == 2 && !notes.header && notes.comments == 3);
}

Test(csv, titles_of_every_form)
{
    static const char *const titles[] = {
        "Sales 2026,,,\n", "Sales 2026,,,\n,,,\n", "  ,\u00a0,,\n", ",,,\n", "Sales,,,EUR\n,,,\n",
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        char text[400];
        int n = snprintf(text, sizeof text,
                         "%sRegion,Jul,Aug,Sum\nNorth,10,20,30\nSouth,11,21,32\nEast,12,22,34\n", titles[i]);
        tab_csv_notes notes;
        const tab_table *t;
        cr_assert(tab_csv_read(a, (tab_str){ text, (size_t)n }, TAB_S("t"), &t, &notes, NULL) == TAB_OK);
        cr_expect(t->rows == 3 && tab_str_eq(t->col[0].name, TAB_S("Region")), "%s: %.*s", titles[i],
                  TAB_STR(t->col[0].name));
    }
}

Test(csv, totals_of_every_form)
{
    static const struct {
        const char *name, *text;
        size_t rows;
        bool total;
    } cases[] = {
        { "a blank line before it", "who,where,n\nann,x,1\nbob,y,2\ncid,x,4\n,,\n\nTotal,,7\n", 3, true },
        { "a formula without a value", "who,where,n\nann,x,1\nbob,y,2\ncid,x,4\nTotal,,\n", 3, true },
        { "its label last", "n;who;where\n1.000,50;ann;x\n2,25;bob;y\n3,25;cid;x\n1.006,00;;Summe\n", 3,
          true },
        { "a label alone", "a;b;c\n4711;x;1\n4712;y;2\n4713;x;3\nSumme;;\n", 3, true },
        { "groups and points", "who,n\nann,\"1,000.50\"\nbob,2.25\ncid,3.25\nTotal,\"1,006.00\"\n", 3, true },
        { "no sum, a cell missing", "who,where,n\nann,x,1\nbob,y,2\ncid,x,4\nTotal,,3\n", 3, true },
        { "no sum, the largest", "n;who\n1,50;ann\n2,25;bob\n3,25;cid\n9,00;Summe\n", 3, true },
        { "no sum, a gap above", "who,where,n\nann,x,1\nbob,y,2\ncid,x,4\n\n\nTotal,,9\n", 3, true },
        { "no sum, as the others", "n;who\n1,50;ann\n2,25;bob\n3,25;cid\n2,00;Summe\n", 4, false },
        { "a mean beside it", "who,n,x\nann,1,2\nbob,2,-6\ncid,4,1\nTotal,7,-1\n", 3, true },
        { "of all", "who,n,x\nann,1,2\nbob,2,-6\ncid,4,1\nTotal of all,7,-3\n", 3, true },
        { "a name that begins so", "who,n,x\nann,1,2\nbob,2,6\ncid,4,1\nTotal Gas,9,\n", 4, false },
        { "another label beside it", "who,where,n\nann,x,1\nbob,y,2\ncid,x,4\nTotal,z,7\n", 4, false },
        { "a list of words", "word\nsum\napple\npear\ntotal\n", 4, false },
        { "a value of its own", "who,n\nann,0\nbob,0\ncid,5\ntotal,5\n", 4, false },
        { "blank lines without one", "who,n\nann,1\nbob,2\ncid,4\n,\n", 4, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        tab_csv_notes notes;
        const tab_table *t;
        cr_assert(tab_csv_read(a, tab_str_of(cases[i].text), TAB_S("t"), &t, &notes, NULL) == TAB_OK);
        cr_expect(t->rows == cases[i].rows && notes.total == cases[i].total, "%s: %zu rows", cases[i].name,
                  t->rows);
    }
}

Test(csv, a_first_line_may_declare_the_delimiter)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("sep=^\r\na^b\r\n1,2^x;y\r\n3,4^z;w\r\n", &notes);
    cr_assert(notes.dialect.delimiter == '^' && t->cols == 2 && t->rows == 2 && notes.skipped == 0);
    expect_cell(t, 0, 0, "1,2");
    expect_cell(t, 1, 1, "z;w");
    t = READ("sep=,b\n1,2\n", &notes);
    cr_expect(t->rows == 1 && tab_str_eq(t->col[0].name, TAB_S("sep=")), "a header that begins so");
}

Test(csv, a_first_record_of_values_is_data)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("1,ann,2020-01-01\n2,bob,2020-02-03\n3,cid,2021-09-08\n", &notes);
    cr_expect(!notes.header && t->rows == 3 && t->col[1].name.n == 0 && t->col[0].num[0] == 1);
    t = READ("country,2019,2020\nA,17,18\nB,12,13\n", &notes);
    cr_expect(notes.header && t->rows == 2, "years name their columns");
    t = READ("0,1,2\n5.1,3.5,1.4\n4.9,3.1,1.5\n", &notes);
    cr_expect(notes.header && t->rows == 2, "so do positions");
}

Test(csv, other_quotes_escapes_and_spaces)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_csv_notes notes;
    const tab_table *t = READ("name,city\n'a, b','new york'\n'c\\'d',rome\n'e, f',oslo\n", &notes);
    cr_expect(notes.dialect.quote == '\'' && notes.dialect.escape == '\\');
    expect_cell(t, 0, 0, "a, b");
    expect_cell(t, 1, 0, "c'd");
    t = READ("n, x, y\na, 1, \"p, q\"\nb, 2, r\n", &notes);
    cr_expect(notes.dialect.space && t->cols == 3 && t->col[1].layout == TAB_NUMBERS);
    expect_cell(t, 0, 2, "p, q");
    t = READ("n,note\na, begins with a space\nb,does not\n", &notes);
    cr_expect(!notes.dialect.space);
    expect_cell(t, 0, 1, " begins with a space");
    t = READ("agent\nMozilla (Windows; U; rv:1)\nMozilla (X11; Linux; en; x)\nOpera (Mac; U)\nX\n", &notes);
    cr_expect_eq(t->cols, 1);
    static const char utf16[] = { 'a', 0, ';', 0, 'b', 0, '\n', 0, '1', 0, ';', 0, '2', 0, '\n', 0 };
    t = read_ok(a, utf16, sizeof utf16, &notes);
    cr_expect_str_eq(notes.encoding, "utf-16le");
    cr_expect(t->cols == 2 && t->rows == 1);
}

Test(csv, quotes_undoubled_in_quoted_fields)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 22);
    tab_csv_notes notes;
    const tab_table *t = READ("id,text,n\n1,\"He said \"no\" to me\",1\n2,\"a \"b, c\" d\",2\n"
                              "3,\"5\" pipe\",3\n4,\"x \"\"y\"\" z\",4\n5,\"say \"hi\"\",5\n6,\"\",6\n",
                              &notes);
    static const char *const want[] = { "He said \"no\" to me", "a \"b, c\" d", "5\" pipe", "x \"y\" z",
                                        "say \"hi\"" };
    cr_expect(notes.dialect.inner && t->cols == 3 && t->rows == 6);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        expect_cell(t, i, 1, want[i]);
    /* where quotes are doubled, one that closes is one */
    t = READ("id,text\n1,\"a\"\"b\"\n2,\"c\"\n3,\"\"\"d\"\"\"\n", &notes);
    cr_expect(!notes.dialect.inner);
    expect_cell(t, 2, 1, "\"d\"");
}

/* A gigabyte of one quote: one page, seen a gigabyte's times. The field's limit ends it. */
Test(csv, one_quote_for_a_gigabyte)
{
    const size_t page = 1 << 20, most = (size_t)1 << 30;
    int fd = memfd_create("quotes", 0);
    char *p = mmap(NULL, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *quotes = malloc(page);
    cr_assert(fd >= 0 && p != MAP_FAILED && quotes != NULL);
    memset(quotes, '"', page);
    cr_assert(write(fd, quotes, page) == (ssize_t)page);
    for (size_t at = 0; at < most; at += page)
        cr_assert(mmap(p + at, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    cr_expect(tab_csv_read(a, (tab_str){ p, most }, TAB_S("t"), &t, NULL, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "16 MiB") != NULL, "%s", err.message);
    munmap(p, most);
    free(quotes);
    close(fd);
}

Test(csv, a_line_of_commas_is_no_table)
{
    enum { COMMAS = 5000000 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    char *p = malloc(COMMAS);
    const tab_table *t;
    tab_error err = { 0 };
    memset(p, ',', COMMAS);
    cr_expect(tab_csv_read(a, (tab_str){ p, COMMAS }, TAB_S("t"), &t, NULL, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "65536 fields") != NULL, "%s", err.message);
    free(p);
}

/* A record far below the first ones, whose first field beyond the others is empty: all columns have as many
 * cells. */
Test(csv, a_late_record_that_is_wider_by_an_empty_field)
{
    enum { ROWS = 1500 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    char *text = malloc(ROWS * 8 + 64);
    size_t n = (size_t)sprintf(text, "a,b\n");
    for (size_t i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, i == 1200 ? "1,2,,4,\n" : "1,2\n");
    const tab_table *t = read_ok(a, text, n, NULL);
    cr_assert(t->rows == ROWS && t->cols == 4);
    for (size_t i = 0; i < ROWS; i++) {
        cr_expect(isnan(t->col[2].num[i]));
        cr_expect(i == 1200 ? t->col[3].num[i] == 4 : isnan(t->col[3].num[i]));
    }
    free(text);
}

/* Columns that look like numbers in the first 1,000 records and are texts, columns that nobody names: as if
 * all had been known from the start. */
Test(csv, what_shows_late_holds_from_the_start)
{
    enum { ROWS = 3000, LATE = 2100 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    char *text = malloc(ROWS * 64), quoted[32];
    size_t n = (size_t)sprintf(text, "code,n,word,gap\n");
    for (int r = 0; r < ROWS; r++) {
        n += (size_t)sprintf(text + n, "%03d.50,%d,\"w%d \"\"q\"\"\",", r % 7, r, r % 50);
        if (r == LATE)
            n += (size_t)sprintf(text + n, "none,late,\"a \"\"b\"\"\"");
        n += (size_t)sprintf(text + n, "\n");
    }
    tab_csv_notes notes;
    const tab_table *t = read_ok(a, text, n, &notes);
    free(text);
    cr_assert(t->rows == ROWS && t->cols == 6, "%zu x %zu", t->rows, t->cols);
    cr_expect(t->col[0].layout == TAB_CODED && t->col[0].levels == 7);
    cr_expect(t->col[1].layout == TAB_NUMBERS);
    cr_expect(notes.widened == 1 && notes.padded == 0, "%zu %zu", notes.widened, notes.padded);
    for (size_t r = 0; r < ROWS; r++) {
        char code[32];
        snprintf(code, sizeof code, "%03d.50", (int)r % 7);
        snprintf(quoted, sizeof quoted, "w%d \"q\"", (int)r % 50);
        expect_cell(t, r, 0, code);
        cr_expect(tab_cell_at(&t->col[1], r).num == (double)r);
        expect_cell(t, r, 2, quoted);
        expect_cell(t, r, 3, r == LATE ? "none" : NULL);
        expect_cell(t, r, 4, r == LATE ? "late" : NULL);
        expect_cell(t, r, 5, r == LATE ? "a \"b\"" : NULL);
    }
}
