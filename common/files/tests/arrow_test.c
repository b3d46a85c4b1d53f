/* Arrow streams of pyarrow and polars (tests/arrow/make.py) beside the same rows as NDJSON; and damaged
 * ones. */
#include "common/files/arrow/arrow.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/json_rows.h"

#define FOLDER "common/files/tests/arrow/"
enum { COLS = 100, CELLS = 10000, UNPACKED = 1 << 20 };

static tab_str whole(tab_arena *a, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "%s", name);
    FILE *f = fopen(path, "rb");
    cr_assert(f != NULL, "%s", path);
    char *text = tab_arena_alloc(a, 1, 1 << 16);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    return (tab_str){ text, n };
}

static tab_status read(tab_arena *a, tab_str bytes, const tab_table **ret, tab_error *err)
{
    *err = (tab_error){ 0 };
    return tab_arrow_read(a, bytes, TAB_S("t"), COLS, CELLS, UNPACKED, ret, err);
}

static void expect_same(const char *arrow, const char *json)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *got, *want;
    tab_error err;
    cr_assert(read(a, whole(a, arrow), &got, &err) == TAB_OK, "%s: %s", arrow, err.message);
    cr_assert(tab_json_rows_read(a, whole(a, json), TAB_S("t"), COLS, CELLS, &want, &err) == TAB_OK, "%s: %s",
              json, err.message);
    cr_expect(got->rows == want->rows && got->cols == want->cols, "%s: %zu x %zu", arrow, got->rows,
              got->cols);
    for (size_t c = 0; c < want->cols && c < got->cols; c++) {
        tab_table x = { .id = TAB_S("t"), .rows = got->rows, .cols = 1, .col = &got->col[c] },
                  y = { .id = TAB_S("t"), .rows = want->rows, .cols = 1, .col = &want->col[c] };
        cr_expect(tab_table_equal(&x, &y), "%s: column %.*s", arrow, TAB_STR(want->col[c].name));
    }
}

Test(arrow, holds_what_its_json_holds)
{
    static const char *const pairs[][2] = {
        { "plain.arrows", "plain.ndjson" },   { "lz4.arrows", "plain.ndjson" },
        { "zstd.arrows", "plain.ndjson" },    { "file.arrow", "plain.ndjson" },
        { "single.arrows", "single.ndjson" }, { "midnights.arrows", "midnights.ndjson" },
        { "views.arrows", "views.ndjson" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        expect_same(pairs[i][0], pairs[i][1]);
}

Test(arrow, without_rows_keeps_its_columns)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *t;
    tab_error err;
    cr_assert(read(a, whole(a, "empty.arrows"), &t, &err) == TAB_OK, "%s", err.message);
    cr_expect(t->rows == 0 && t->cols == 22 && tab_str_eq(t->col[21].name, TAB_S("at.deep.y")));
}

Test(arrow, a_list_is_no_cell)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *t;
    tab_error err;
    cr_assert(read(a, whole(a, "list.arrows"), &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "`tags`") != NULL && strstr(err.message, "list") != NULL, "%s",
              err.message);
}

Test(arrow, is_bounded)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    tab_str s = whole(a, "plain.arrows"), packed = whole(a, "zstd.arrows");
    cr_expect(tab_arrow_read(a, s, TAB_S("t"), 21, CELLS, UNPACKED, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "21 columns") != NULL, "%s", err.message);
    cr_expect(tab_arrow_read(a, s, TAB_S("t"), COLS, 100, UNPACKED, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "100 cells") != NULL, "%s", err.message);
    cr_expect(tab_arrow_read(a, packed, TAB_S("t"), COLS, CELLS, 64, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "decompress") != NULL, "%s", err.message);
}

/* Each prefix, and each byte changed: an answer or an error, never more. A stream may end between batches. */
Test(arrow, damage_is_an_error, .timeout = 300)
{
    static const char *const files[] = { "plain.arrows", "views.arrows", "lz4.arrows" };
    for (size_t f = 0; f < 3; f++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        tab_str s = whole(a, files[f]);
        size_t wrong = 0;
        for (size_t i = 0; i < s.n; i++) {
            TAB_AUTO(tab_arena) *one = tab_arena_new(4 << 20);
            char *copy = malloc(s.n); /* exactly its size, for the sanitizer to see a byte too far */
            const tab_table *t;
            tab_error err;
            memcpy(copy, s.p, s.n);
            wrong += read(one, (tab_str){ copy, s.n - 1 - i }, &t, &err) != TAB_OK;
            copy[i] = (char)(copy[i] ^ (i % 2 == 0 ? 0xff : 1));
            if (read(one, (tab_str){ copy, s.n }, &t, &err) != TAB_OK)
                cr_expect(err.message[0] != 0, "byte %zu", i);
            free(copy);
        }
        cr_expect(wrong > s.n - 40, "%s: %zu of %zu prefixes were refused", files[f], wrong, s.n);
    }
}
