/* Stored tables: every cell comes back as it was, in ranges of any length, and nothing that is cut short or
 * changed is a table. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/stored.h"
#include "common/json/json.h"

enum { ROWS = 300 };

static tab_arena *arena(void)
{
    tab_arena *a = tab_arena_new((size_t)256 << 20);
    cr_assert_not_null(a);
    return a;
}

/* Rows [from, to) of a table of cells that other formats change. */
static tab_table *rows_of(tab_arena *a, size_t from, size_t to)
{
    enum { COLS = 3 };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, COLS);
    tab_builder *b[COLS];
    cr_assert(t != NULL && c != NULL);
    for (size_t k = 0; k < COLS; k++)
        b[k] = tab_builder_new(a, TAB_S("same")); /* a name twice */
    for (size_t i = from; i < to; i++) {
        tab_builder_number(b[0], (double)i / 8);
        if (i % 5 == 0)
            tab_builder_null(b[1]);
        else if (i % 5 == 1)
            tab_builder_text(b[1], TAB_S("12"));
        else if (i % 5 == 2)
            tab_builder_number(b[1], 12);
        else if (i % 5 == 3)
            tab_builder_bool(b[1], true);
        else
            tab_builder_text(b[1], TAB_S(""));
        tab_builder_number_text(b[2], TAB_S("12345678901234567890"));
    }
    for (size_t k = 0; k < COLS; k++)
        cr_assert(tab_builder_finish(b[k], &c[k]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = to - from, .cols = COLS, .col = c };
    return t;
}

static tab_str written(tab_arena *a, bool file, size_t step)
{
    tab_out o = { 0 };
    char head[TAB_STORED_HEAD], end[TAB_STORED_END];
    tab_error err;
    tab_stored_head(file, head);
    tab_out_bytes(&o, head, sizeof head);
    for (size_t at = 0; at < ROWS; at += step) {
        tab_str bytes;
        size_t to = at + step < ROWS ? at + step : ROWS;
        cr_assert_eq(tab_stored_rows(a, rows_of(a, at, to), &bytes, &err), TAB_OK);
        tab_out_bytes(&o, bytes.p, bytes.n);
    }
    tab_stored_end(ROWS, end);
    tab_out_bytes(&o, end, sizeof end);
    tab_str all = tab_arena_copy(a, tab_out_text(&o));
    tab_out_free(&o);
    return all;
}

static const tab_file_limits LIMITS = TAB_FILE_LIMITS;

Test(stored, cells_come_back)
{
    static const size_t steps[] = { 1, 7, ROWS };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        TAB_AUTO(tab_arena) *a = arena();
        tab_str bytes = written(a, i == 1, steps[i]);
        tab_file f;
        tab_error err = { 0 };
        cr_assert_eq(tab_file_read(a, TAB_S("t.tabella"), bytes, &LIMITS, &f, &err), TAB_OK, "%s",
                     err.message);
        cr_assert_eq(f.n, 1);
        cr_expect(tab_table_equal(f.table[0], rows_of(a, 0, ROWS)), "in ranges of %zu", steps[i]);
        cr_expect_eq(f.table[0]->file, i == 1);
    }
}

Test(stored, what_is_cut_or_changed_is_none)
{
    TAB_AUTO(tab_arena) *a = arena();
    tab_str bytes = written(a, false, 100);
    const tab_table *t;
    tab_error err;
    for (size_t n = 16; n < bytes.n; n++) {
        TAB_AUTO(tab_arena) *b = arena();
        char *part = malloc(n); /* what is read beyond it is found */
        memcpy(part, bytes.p, n);
        cr_expect_eq(tab_stored_read(b, (tab_str){ part, n }, TAB_S("t"), &LIMITS, &t, &err), TAB_VALIDATION);
        free(part);
    }
    for (size_t at = TAB_STORED_HEAD; at < bytes.n; at += 3) {
        TAB_AUTO(tab_arena) *b = arena();
        char *bent = malloc(bytes.n);
        memcpy(bent, bytes.p, bytes.n);
        bent[at] ^= 0x41;
        (void)!tab_stored_read(b, (tab_str){ bent, bytes.n }, TAB_S("t"), &LIMITS, &t, &err); /* no crash */
        free(bent);
    }
}

Test(stored, limits_hold)
{
    TAB_AUTO(tab_arena) *a = arena();
    tab_str bytes = written(a, false, 100);
    const tab_table *t;
    tab_error err;
    tab_file_limits few = LIMITS, small = LIMITS, narrow = LIMITS;
    few.cells = 3 * ROWS - 1;
    small.bytes = 64;
    narrow.cols = 2;
    cr_expect_eq(tab_stored_read(a, bytes, TAB_S("t"), &few, &t, &err), TAB_VALIDATION);
    cr_expect_eq(tab_stored_read(a, bytes, TAB_S("t"), &small, &t, &err), TAB_VALIDATION);
    cr_expect_eq(tab_stored_read(a, bytes, TAB_S("t"), &narrow, &t, &err), TAB_VALIDATION);
}
