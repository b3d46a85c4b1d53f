/* Parquet files of pyarrow, polars and fastparquet (tests/parquet/make.py) beside the same rows as NDJSON;
 * and damaged ones. */
#include "common/files/parquet/parquet.h"

#include <criterion/criterion.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/files/files.h"
#include "common/files/json_rows.h"
#include "common/files/parquet/parquet_pages.h"
#include "common/files/reading.h"

#define FOLDER "common/files/tests/parquet/"
enum { COLS = 100, CELLS = 10000, UNPACKED = 4 << 20, FILE_MOST = 1 << 17 };

static tab_str whole(tab_arena *a, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "%s", name);
    FILE *f = fopen(path, "rb");
    cr_assert(f != NULL, "%s", path);
    char *text = tab_arena_alloc(a, 1, FILE_MOST);
    size_t n = fread(text, 1, FILE_MOST - 1, f);
    fclose(f);
    return (tab_str){ text, n };
}

static tab_status read(tab_arena *a, tab_str bytes, const tab_table **ret, tab_error *err)
{
    *err = (tab_error){ 0 };
    return tab_parquet_read(a, bytes, TAB_S("t"), COLS, CELLS, UNPACKED, ret, err);
}

static void expect_same(const char *parquet, const char *json)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *got, *want;
    tab_error err;
    cr_assert(read(a, whole(a, parquet), &got, &err) == TAB_OK, "%s: %s", parquet, err.message);
    cr_assert(tab_json_rows_read(a, whole(a, json), TAB_S("t"), COLS, CELLS, &want, &err) == TAB_OK, "%s: %s",
              json, err.message);
    cr_expect(got->rows == want->rows && got->cols == want->cols, "%s: %zu x %zu", parquet, got->rows,
              got->cols);
    for (size_t c = 0; c < want->cols && c < got->cols; c++) {
        tab_table x = { .id = TAB_S("t"), .rows = got->rows, .cols = 1, .col = &got->col[c] },
                  y = { .id = TAB_S("t"), .rows = want->rows, .cols = 1, .col = &want->col[c] };
        cr_expect(tab_table_equal(&x, &y), "%s: column %.*s", parquet, TAB_STR(want->col[c].name));
    }
}

Test(parquet, holds_what_its_json_holds)
{
    static const char *const pairs[][2] = {
        { "plain.parquet", "plain.ndjson" },
        { "none.parquet", "plain.ndjson" },
        { "gzip.parquet", "plain.ndjson" },
        { "brotli.parquet", "plain.ndjson" },
        { "zstd.parquet", "plain.ndjson" },
        { "lz4.parquet", "plain.ndjson" },
        { "v2.parquet", "plain.ndjson" },
        { "v2_none.parquet", "plain.ndjson" },
        { "old.parquet", "old.ndjson" },
        { "encodings.parquet", "encodings.ndjson" },
        { "pages.parquet", "encodings.ndjson" },
        { "rare.parquet", "rare.ndjson" },
        { "decimals.parquet", "decimals.ndjson" },
        { "required.parquet", "required.ndjson" },
        { "midnights.parquet", "midnights.ndjson" },
        { "polars.parquet", "polars.ndjson" },
        { "polars_lz4.parquet", "polars.ndjson" },
        { "fast.parquet", "fast.ndjson" },
        { "nested.parquet", "nested.ndjson" },
        { "nested_v2.parquet", "nested.ndjson" },
        { "nested_pages.parquet", "nested.ndjson" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        expect_same(pairs[i][0], pairs[i][1]);
}

/* points is a list of structs; lists of plain values stay texts. */
Test(parquet, lists_of_structs_are_tables_unless_one_is_asked_for)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_file_limits most = { UNPACKED, CELLS, COLS, 8, false, false };
    tab_reading_asked one = TAB_READING_FOUND;
    tab_file f;
    tab_error err = { 0 };
    tab_str bytes = whole(a, "nested.parquet");
    cr_assert(tab_file_read(a, TAB_S("o.parquet"), bytes, &most, &f, &err) == TAB_OK, "%s", err.message);
    cr_assert(f.n == 2 && tab_str_eq(f.table[1]->id, TAB_S("o_points")), "%zu tables", f.n);
    const tab_table *points = f.table[1];
    cr_expect(points->rows == 4 && points->cols == 3 && tab_str_eq(points->col[0].name, TAB_S("o_id")));
    bool x = false;
    for (size_t k = 1; k < points->cols; k++)
        x |= tab_str_eq(points->col[k].name, TAB_S("x")) && tab_cell_at(&points->col[k], 0).num == 1;
    cr_expect(x);
    cr_expect(f.table[0]->cols == 10 && tab_str_eq(f.table[0]->col[1].name, TAB_S("tags")));
    one.one_table = true;
    cr_assert(tab_file_read_as(a, TAB_S("o.parquet"), bytes, &most, &one, &f, &err) == TAB_OK, "%s",
              err.message);
    cr_expect(f.n == 1 && f.table[0]->cols == 11);
}

Test(parquet, without_rows_keeps_its_columns)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *t;
    tab_error err;
    cr_assert(read(a, whole(a, "empty.parquet"), &t, &err) == TAB_OK, "%s", err.message);
    cr_expect(t->rows == 0 && t->cols == 19 && tab_str_eq(t->col[18].name, TAB_S("at.deep.y")));
}

Test(parquet, what_is_no_cell_says_the_way_out)
{
    static const char *const refused[][3] = {
        { "bytes.parquet", "`b`", "not UTF-8" },
        { "encrypted.parquet", "encrypted", "without encryption" },
        { "encrypted_columns.parquet", "encrypted", "without encryption" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        const tab_table *t;
        tab_error err;
        cr_assert(read(a, whole(a, refused[i][0]), &t, &err) == TAB_VALIDATION, "%s", refused[i][0]);
        cr_expect(strstr(err.message, refused[i][1]) != NULL && strstr(err.message, refused[i][2]) != NULL,
                  "%s: %s", refused[i][0], err.message);
    }
}

Test(parquet, is_bounded)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    const tab_table *t;
    tab_error err = { 0 };
    tab_str s = whole(a, "plain.parquet");
    cr_expect(tab_parquet_read(a, s, TAB_S("t"), 18, CELLS, UNPACKED, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "18 columns") != NULL, "%s", err.message);
    cr_expect(tab_parquet_read(a, s, TAB_S("t"), COLS, 60, UNPACKED, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "60 cells") != NULL, "%s", err.message);
    cr_expect(tab_parquet_read(a, s, TAB_S("t"), COLS, CELLS, 1000, &t, &err) == TAB_VALIDATION);
    cr_expect(strstr(err.message, "decompress") != NULL, "%s", err.message);
}

/* No writer that is at hand makes Hadoop's frames: size unpacked, size packed, block; of two blocks here. */
Test(parquet, lz4_of_hadoop)
{
    enum { SIZE = 1000, HALF = SIZE / 2, LZ4_CODEC = 5 };
    char text[SIZE], packed[2 * SIZE], out[SIZE];
    size_t n = 0;
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i * i % 7);
    for (size_t i = 0; i < SIZE; i += HALF) {
        int made = LZ4_compress_default(text + i, packed + n + 8, HALF, (int)(sizeof packed - n) - 8);
        const char head[] = { 0, 0, HALF >> 8, (char)(HALF & 255), 0, 0, (char)(made >> 8), (char)made };
        cr_assert(made > 0);
        memcpy(packed + n, head, sizeof head);
        n += sizeof head + (size_t)made;
    }
    cr_expect(parquet_unpack(LZ4_CODEC, (tab_str){ packed, n }, out, SIZE));
    cr_expect(memcmp(out, text, SIZE) == 0);
    cr_expect(!parquet_unpack(LZ4_CODEC, (tab_str){ packed, n - 1 }, out, SIZE));
    cr_expect(!parquet_unpack(LZ4_CODEC, (tab_str){ packed, n }, out, SIZE - 1));
}

/* Levels of the first writers: eight of three bits, the highest bit first (the format's example). */
Test(parquet, levels_packed_from_the_highest_bit)
{
    static const char bytes[] = { 0x05, 0x39, 0x77 };
    uint32_t level[8];
    cr_assert(parquet_bits((tab_str){ bytes, 3 }, 3, level, 8));
    for (uint32_t i = 0; i < 8; i++)
        cr_expect(level[i] == i, "%u", level[i]);
    cr_expect(!parquet_bits((tab_str){ bytes, 2 }, 3, level, 8));
}

/* Each prefix, and each byte changed: an error or an answer, never more. */
Test(parquet, damage_is_an_error, .timeout = 600)
{
    static const char *const files[] = { "none.parquet",   "v2_none.parquet",     "encodings.parquet",
                                         "rare.parquet",   "plain.parquet",       "fast.parquet",
                                         "nested.parquet", "nested_pages.parquet" };
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
        tab_str s = whole(a, files[f]);
        for (size_t i = 0; i < s.n; i++) {
            TAB_AUTO(tab_arena) *one = tab_arena_new(4 << 20);
            char *copy = malloc(s.n); /* exactly its size, for the sanitizer to see a byte too far */
            const tab_table *t;
            tab_error err;
            memcpy(copy, s.p, s.n);
            copy[i] = (char)(copy[i] ^ (i % 2 == 0 ? 0xff : 1));
            if (read(one, (tab_str){ copy, s.n }, &t, &err) != TAB_OK)
                cr_expect(err.message[0] != 0, "byte %zu", i);
            free(copy);
            copy = malloc(i + 1);
            memcpy(copy, s.p, i);
            cr_expect(read(one, (tab_str){ copy, i }, &t, &err) == TAB_VALIDATION, "%s: %zu bytes", files[f],
                      i);
            free(copy);
        }
    }
}
