/* Files that tables are written to, read again by arrow.h and parquet.h. tests/suite/downloads has them read
 * by pyarrow where it is installed. */
#include "common/files/written/table_file.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/files/arrow/arrow.h"
#include "common/files/parquet/parquet.h"
#include "common/json/json.h"

enum { COLS = 9, CELLS = 10000000, UNPACKED = 1 << 30 };

static tab_status keep(void *to, tab_str bytes, tab_error *err)
{
    (void)err;
    tab_out_bytes(to, bytes.p, bytes.n);
    return TAB_OK;
}

/* Cell k of row i of the example; every type, nulls, texts that need quotes. */
static void cell(tab_builder *b, size_t k, size_t i)
{
    char text[64];
    if ((i + k) % 11 == 3) {
        tab_builder_null(b);
        return;
    }
    switch (k) {
    case 0:
        tab_builder_number(b, (double)i - 50);
        break;
    case 1:
        tab_builder_number(b, (double)i / 8);
        break;
    case 2:
        tab_builder_bool(b, i % 3 == 0);
        break;
    case 3:
        snprintf(text, sizeof text, "2024-%02zu-%02zu", 1 + i % 12, 1 + i % 28);
        tab_builder_text(b, tab_str_of(text));
        break;
    case 4:
        snprintf(text, sizeof text, "2024-02-29T%02zu:30:00", i % 24);
        tab_builder_text(b, tab_str_of(text));
        break;
    case 5:
        snprintf(text, sizeof text, "row \"%zu\", \xc3\xa9\n", i % 1000);
        tab_builder_text(b, tab_str_of(text));
        break;
    case 6:
        snprintf(text, sizeof text, "90071992547409%zu", 100 + i % 800);
        tab_builder_number_text(b, tab_str_of(text));
        break;
    case 7:
        tab_builder_null(b);
        break;
    default:
        if (i % 2 == 0)
            tab_builder_number(b, 1.5);
        else
            tab_builder_text(b, TAB_S("none"));
        break;
    }
}

static const tab_table *example(tab_arena *a, size_t from, size_t rows)
{
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t k = 0; k < COLS; k++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "column %zu", k)));
        for (size_t i = from; i < from + rows; i++)
            cell(b, k, i);
        cr_assert(tab_builder_finish(b, &col[k]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = COLS, .col = col };
    return t;
}

/* rows in batches of `step`, as a file. */
static void write(tab_file_format format, size_t rows, size_t step, tab_out *ret)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_file_seen seen[COLS] = { 0 };
    tab_file_column column[COLS];
    tab_error err = { 0 };
    const tab_table *all = example(a, 0, rows);
    for (size_t k = 0; k < COLS; k++) {
        seen[k] |= tab_file_look(&all->col[k], rows);
        column[k] = (tab_file_column){ all->col[k].name, tab_file_type_of(seen[k]) };
    }
    TAB_AUTO(tab_file) *f = tab_file_new(format, column, COLS, keep, ret);
    cr_assert_not_null(f);
    for (size_t at = 0; at < rows; at += step)
        cr_assert_eq(tab_file_rows(f, example(a, at, rows - at < step ? rows - at : step), &err), TAB_OK);
    cr_assert_eq(tab_file_end(f, &err), TAB_OK, "%s", err.message);
}

static tab_cell as_text(tab_cell x, char number[32])
{
    if (x.kind != TAB_CELL_NUMBER)
        return x;
    tab_str text = { number, tab_number_text(x.num, number) };
    return (tab_cell){ TAB_CELL_TEXT, 0, x.text.n > 0 ? x.text : text };
}

static void expect_read(tab_file_format format, size_t rows, size_t step)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_out file = { 0 };
    const tab_table *got = NULL, *want = example(a, 0, rows);
    tab_error err = { 0 };
    write(format, rows, step, &file);
    tab_status s =
        format == TAB_FILE_ARROW
            ? tab_arrow_read(a, tab_out_text(&file), TAB_S("t"), COLS, CELLS, UNPACKED, &got, &err)
            : tab_parquet_read(a, tab_out_text(&file), TAB_S("t"), COLS, CELLS, UNPACKED, &got, &err);
    cr_assert_eq(s, TAB_OK, "%s", err.message);
    cr_assert(got->rows == rows && got->cols == COLS, "%zu x %zu", got->rows, got->cols);
    for (size_t k = 0; k < COLS; k++) {
        cr_expect(tab_str_eq(got->col[k].name, want->col[k].name));
        for (size_t i = 0; i < rows; i++) {
            char number[2][32];
            tab_cell x = tab_cell_at(&got->col[k], i), y = tab_cell_at(&want->col[k], i);
            if (k == 8) { /* a column of numbers and texts is one of texts, as soon as it has both */
                x = as_text(x, number[0]);
                y = as_text(y, number[1]);
            }
            bool same = x.kind != TAB_CELL_NUMBER || x.num == y.num;
            cr_assert(same && x.kind == y.kind && tab_str_eq(x.text, y.text),
                      "column %zu, row %zu: %.*s (%g), not %.*s (%g)", k, i, TAB_STR(x.text), x.num,
                      TAB_STR(y.text), y.num);
        }
    }
    tab_out_free(&file);
}

Test(table_file, what_was_written_is_read_again, .timeout = 120)
{
    static const size_t sizes[][2] = { { 0, 1 }, { 1, 1 }, { 25, 7 }, { 2000, 2000 }, { 70000, 9000 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect_read(TAB_FILE_ARROW, sizes[i][0], sizes[i][1]);
        expect_read(TAB_FILE_PARQUET, sizes[i][0], sizes[i][1]);
    }
}

Test(table_file, csv_is_safe_for_spreadsheets)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const char *const text[] = { "=1+1", "@x", "plain", "a,b", "say \"so\"", "", "-5" };
    tab_builder *b = tab_builder_new(a, TAB_S("=cmd")), *n = tab_builder_new(a, TAB_S("n"));
    tab_column col[2];
    tab_error err = { 0 };
    tab_out out = { 0 };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        tab_builder_text(b, tab_str_of(text[i]));
        tab_builder_number(n, -1.5);
    }
    cr_assert(tab_builder_finish(b, &col[0]) && tab_builder_finish(n, &col[1]));
    tab_table t = { .id = TAB_S("t"), .rows = sizeof text / sizeof *text, .cols = 2, .col = col };
    const tab_file_column column[] = { { col[0].name, TAB_FILE_TEXT }, { col[1].name, TAB_FILE_REAL } };
    TAB_AUTO(tab_file) *f = tab_file_new(TAB_FILE_CSV, column, 2, keep, &out);
    cr_assert_eq(tab_file_rows(f, &t, &err), TAB_OK);
    cr_assert_eq(tab_file_end(f, &err), TAB_OK);
    tab_out_bytes(&out, "", 1);
    cr_expect_str_eq(out.p, "'=cmd,n\r\n'=1+1,-1.5\r\n'@x,-1.5\r\nplain,-1.5\r\n\"a,b\",-1.5\r\n"
                            "\"say \"\"so\"\"\",-1.5\r\n\"\",-1.5\r\n'-5,-1.5\r\n");
    tab_out_free(&out);
}

Test(table_file, types_are_the_narrowest_that_hold_all)
{
    static const struct {
        const char *cells[4];
        tab_file_type type;
    } column[] = {
        { { "2024-02-29", "1999-12-31" }, TAB_FILE_DATE },
        { { "2023-02-29", "1999-12-31" }, TAB_FILE_TEXT },
        { { "2024-02-29 10:00", "2024-02-29" }, TAB_FILE_TIME },
        { { "2024-02-29T10:00:00.25", NULL }, TAB_FILE_TIME },
        { { "2024-02-29T10:00:00Z", "2024-02-29T10:00+02:00" }, TAB_FILE_UTC },
        { { "2024-02-29T10:00:00Z", "2024-02-29T10:00" }, TAB_FILE_TEXT },
        { { "2024-02-29T10:00:00.1234567" }, TAB_FILE_TEXT },
        { { "12" }, TAB_FILE_TEXT },
        { { NULL }, TAB_FILE_TEXT },
    };
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        tab_builder *b = tab_builder_new(a, TAB_S("c"));
        tab_column c;
        for (size_t k = 0; k < 4 && column[i].cells[k] != NULL; k++)
            tab_builder_text(b, tab_str_of(column[i].cells[k]));
        size_t rows = tab_builder_rows(b);
        cr_assert(tab_builder_finish(b, &c));
        cr_expect_eq(tab_file_type_of(tab_file_look(&c, rows)), column[i].type, "%zu", i);
    }
    int64_t us;
    cr_assert_eq(tab_file_time(TAB_S("2024-02-29T10:00:00.25+02:00"), &us), TAB_FILE_UTC);
    cr_expect_eq(us, INT64_C(1709193600250000));
}

Test(table_file, names_are_made_unlike)
{
    static const tab_file_column column[] = { { TAB_S("x"), TAB_FILE_INT },
                                              { TAB_S("x"), TAB_FILE_INT },
                                              { TAB_S(""), TAB_FILE_INT },
                                              { TAB_S("x_2"), TAB_FILE_INT },
                                              { TAB_S("x"), TAB_FILE_INT } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const tab_table *got = NULL;
    tab_error err = { 0 };
    tab_out out = { 0 };
    TAB_AUTO(tab_file) *f = tab_file_new(TAB_FILE_PARQUET, column, 5, keep, &out);
    cr_assert_eq(tab_file_end(f, &err), TAB_OK);
    cr_assert_eq(tab_parquet_read(a, tab_out_text(&out), TAB_S("t"), 9, 9, UNPACKED, &got, &err), TAB_OK,
                 "%s", err.message);
    for (size_t i = 0; i < got->cols; i++)
        for (size_t k = 0; k < i; k++)
            cr_expect(!tab_str_eq(got->col[i].name, got->col[k].name));
    cr_expect(tab_str_eq(got->col[2].name, TAB_S("c2")));
    tab_out_free(&out);
}
