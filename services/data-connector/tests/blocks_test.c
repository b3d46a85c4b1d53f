#include "services/data-connector/store/blocks.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const uint8_t key[BLOCK_KEY] = "a key of an organization, 32 by";

/* rows x cols: numbers, texts with nulls, booleans and mixed cells by turns, from a small
 * generator. */
static const tab_table *made(tab_arena *a, size_t rows, size_t cols, unsigned seed)
{
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t c = 0; c < cols; c++) {
        char name[32], text[24];
        snprintf(name, sizeof name, "c%zu", c);
        tab_builder *b = tab_builder_new(a, tab_arena_copy(a, tab_str_of(name)));
        for (size_t r = 0; r < rows; r++) {
            unsigned x = (unsigned)((r * 2654435761u + c * 40503u + seed) >> 7);
            snprintf(text, sizeof text, "t%u", x % 5000);
            if (x % 11 == 0)
                tab_builder_null(b);
            else if (c % 3 == 0 || (c % 3 == 2 && x % 2 == 0))
                tab_builder_number(b, x % 1000 / 8.0);
            else if (x % 7 == 0 && c % 3 == 2)
                tab_builder_bool(b, x % 2 == 1);
            else
                tab_builder_text(b, tab_str_of(text));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = cols, .col = col };
    return t;
}

static const tab_table *through(tab_arena *a, const tab_table *t, size_t first, size_t rows,
                                const uint32_t *columns, size_t n)
{
    block_joiner *j = block_joiner_new(a, first, rows, columns, n);
    block_range at = { 0 };
    const tab_table *piece, *got;
    while (block_next(t, &at)) {
        block b;
        cr_assert_eq(block_write(a, t, at, key, &b, NULL), TAB_OK);
        cr_assert_eq(block_read(a, b.bytes, b.raw, &piece, NULL), TAB_OK);
        cr_assert_eq(block_join(j, at, piece, NULL), TAB_OK);
    }
    cr_assert_eq(block_joined(j, TAB_S("t"), &got, NULL), TAB_OK);
    return got;
}

Test(blocks, give_the_same_table_back)
{
    static const size_t sizes[][2] = { { 0, 3 },     { 1, 1 },     { 10, 40 },   { 65535, 2 },
                                       { 65536, 2 }, { 65537, 3 }, { 140000, 5 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 30);
        uint32_t all[40];
        for (uint32_t c = 0; c < 40; c++)
            all[c] = c;
        const tab_table *t = made(a, sizes[i][0], sizes[i][1], 7);
        cr_expect(tab_table_equal(t, through(a, t, 0, t->rows, all, t->cols)), "%zu x %zu", t->rows, t->cols);
    }
}

Test(blocks, give_ranges_of_rows_and_columns)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 30);
    const tab_table *t = made(a, 70000, 5, 3);
    const uint32_t some[] = { 4, 1 };
    const tab_table *got = through(a, t, 65530, 20, some, 2);
    cr_assert(got->rows == 20 && got->cols == 2);
    for (size_t c = 0; c < 2; c++)
        for (size_t r = 0; r < 20; r++) {
            tab_cell want = tab_cell_at(&t->col[some[c]], 65530 + r), is = tab_cell_at(&got->col[c], r);
            cr_expect(want.kind == is.kind && tab_str_eq(want.text, is.text));
        }
    cr_expect_leq(got->col[1].levels, 20, "the dictionary holds what the rows need");
}

Test(blocks, of_equal_rows_are_equal_and_of_other_keys_are_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 30);
    const tab_table *t = made(a, 131072, 1, 5), *longer = made(a, 131073, 1, 5);
    static const uint8_t other[BLOCK_KEY] = "another organization's key of 32";
    block_range at = { 0 }, at_longer = { 0 };
    for (int i = 0; i < 2; i++) {
        block x, y, z;
        cr_assert(block_next(t, &at) && block_next(longer, &at_longer));
        cr_assert_eq(block_write(a, t, at, key, &x, NULL), TAB_OK);
        cr_assert_eq(block_write(a, longer, at_longer, key, &y, NULL), TAB_OK);
        cr_assert_eq(block_write(a, t, at, other, &z, NULL), TAB_OK);
        cr_expect_arr_eq(x.hash, y.hash, BLOCK_HASH, "an added row leaves the blocks before it alone");
        cr_expect_arr_neq(x.hash, z.hash, BLOCK_HASH);
    }
}

Test(blocks, that_are_damaged_are_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 30);
    const tab_table *t = made(a, 500, 3, 9), *got;
    block_range at = { 0 };
    block b;
    cr_assert(block_next(t, &at));
    cr_assert_eq(block_write(a, t, at, key, &b, NULL), TAB_OK);
    cr_expect_eq(block_read(a, b.bytes, b.raw - 1, &got, NULL), TAB_INTERNAL);
    cr_expect_eq(block_read(a, (tab_str){ b.bytes.p, b.bytes.n / 2 }, b.raw, &got, NULL), TAB_INTERNAL);
    char *bytes = (char *)(uintptr_t)b.bytes.p;
    for (size_t i = 8 * 8; i < 8 * b.bytes.n; i += 13) { /* a few bits of a frame say nothing */
        block again = { 0 };
        block_range whole = { 0, at.rows, 0, at.cols };
        bytes[i / 8] ^= (char)(1 << i % 8);
        tab_status s = block_read(a, b.bytes, b.raw, &got, NULL);
        bytes[i / 8] ^= (char)(1 << i % 8);
        if (s == TAB_OK)
            cr_assert_eq(block_write(a, got, whole, key, &again, NULL), TAB_OK);
        cr_expect(s == TAB_INTERNAL || memcmp(again.hash, b.hash, BLOCK_HASH) == 0, "bit %zu", i);
    }
}
