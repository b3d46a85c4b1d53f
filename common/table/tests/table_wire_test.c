#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/table/table_wire.h"
#include "proto/table.pb-c.h"

static tab_table *sample(tab_arena *a, size_t rows)
{
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *c = tab_arena_new_of(a, tab_column, 4);
    tab_builder *b[4];
    static const char *const names[] = { "price", "city", "", "mixed" };
    for (size_t i = 0; i < 4; i++)
        b[i] = tab_builder_new(a, tab_str_of(names[i]));
    for (size_t r = 0; r < rows; r++) {
        char buf[32];
        tab_builder_number(b[0], (double)r / 3);
        if (r % 7 == 0)
            tab_builder_null(b[1]);
        else
            tab_builder_text(b[1], tab_str_of(r % 2 ? "Bonn" : "K\xc3\xb6ln"));
        tab_builder_bool(b[2], r % 3 == 0);
        int n = snprintf(buf, sizeof buf, "90071992547409%zu", 90 + r % 10);
        if (r % 2)
            tab_builder_number_text(b[3], (tab_str){ buf, (size_t)n });
        else
            tab_builder_text(b[3], TAB_S(""));
    }
    for (size_t i = 0; i < 4; i++)
        cr_assert(tab_builder_finish(b[i], &c[i]));
    *t = (tab_table){ TAB_S("sample"), rows, 4, c };
    return t;
}

static tab_str bytes_of(tab_arena *a, const tab_wire *w)
{
    tab_str s = { NULL, tab_wire_bytes(w) };
    char *p = tab_arena_alloc(a, s.n + 64, 1);
    tab_wire_copy(w, 0, s.n, p);
    s.p = p;
    return s;
}

Test(table_wire, what_is_read_is_what_was_written)
{
    static const size_t rows[] = { 0, 1, 100, 3000 };
    for (size_t i = 0; i < 4; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
        const tab_table *t = sample(a, rows[i]), *two[] = { t, t };
        tab_wire *w;
        cr_assert_eq(tab_wire_new(a, two, 2, &w, NULL), TAB_OK);
        const tab_table *const *back;
        size_t n;
        tab_error err = { 0 };
        cr_assert_eq(tab_wire_read(a, bytes_of(a, w), &back, &n, &err), TAB_OK, "%s", err.message);
        cr_assert_eq(n, 2);
        cr_expect(tab_table_equal(t, back[0]));
        cr_expect(tab_table_equal(t, back[1]));
    }
}

Test(table_wire, aligned_bytes_are_read_in_place_and_others_are_copied)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const tab_table *t = sample(a, 50), *const * back;
    tab_wire *w;
    cr_assert_eq(tab_wire_new(a, &t, 1, &w, NULL), TAB_OK);
    tab_str s = bytes_of(a, w);
    size_t n;
    cr_assert_eq(tab_wire_read(a, s, &back, &n, NULL), TAB_OK);
    const char *num = (const char *)back[0]->col[0].num;
    cr_expect(num >= s.p && num < s.p + s.n);
    char *moved = tab_arena_alloc(a, s.n + 1, 1);
    memcpy(moved + 1, s.p, s.n);
    cr_assert_eq(tab_wire_read(a, (tab_str){ moved + 1, s.n }, &back, &n, NULL), TAB_OK);
    cr_expect(tab_table_equal(t, back[0]));
}

Test(table_wire, parts_make_the_whole)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const tab_table *t = sample(a, 100);
    tab_wire *w;
    cr_assert_eq(tab_wire_new(a, &t, 1, &w, NULL), TAB_OK);
    tab_str s = bytes_of(a, w);
    for (size_t part = 1; part < 97; part += 5) {
        char *p = tab_arena_alloc(a, s.n, 1);
        for (size_t at = 0; at < s.n; at += part)
            tab_wire_copy(w, at, s.n - at < part ? s.n - at : part, p + at);
        cr_expect_eq(memcmp(p, s.p, s.n), 0, "parts of %zu", part);
    }
}

Test(table_wire, protobuf_reads_the_same_message)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const tab_table *t = sample(a, 10);
    tab_wire *w;
    cr_assert_eq(tab_wire_new(a, &t, 1, &w, NULL), TAB_OK);
    tab_str s = bytes_of(a, w);
    Tabella__TableSet *set = tabella__table_set__unpack(NULL, s.n, (const uint8_t *)s.p);
    cr_assert_not_null(set);
    cr_assert_eq(set->n_tables, 1);
    cr_expect_eq(set->tables[0]->rows, 10);
    cr_assert_eq(set->tables[0]->n_columns, 4);
    cr_expect_eq(set->tables[0]->columns[0]->numbers.len, 80);
    cr_expect_eq(memcmp(set->tables[0]->columns[0]->numbers.data, t->col[0].num, 80), 0);
    cr_expect(set->tables[0]->columns[1]->coded);
    tabella__table_set__free_unpacked(set, NULL);
}

Test(table_wire, every_cut_and_every_flipped_byte_is_refused_or_a_legal_table)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    const tab_table *t = sample(a, 6);
    tab_wire *w;
    cr_assert_eq(tab_wire_new(a, &t, 1, &w, NULL), TAB_OK);
    tab_str s = bytes_of(a, w);
    size_t refused = 0;
    for (size_t i = 0; i < s.n; i++)
        for (int flip = 0; flip < 2; flip++) {
            TAB_AUTO(tab_arena) *b = tab_arena_new(1 << 20);
            size_t n = flip ? s.n : i, tables;
            char *p = malloc(n + 1); /* of its exact size, so that ASan sees a step outside */
            memcpy(p, s.p, n);
            if (flip)
                p[i] ^= (char)(1 << i % 8);
            const tab_table *const *back;
            if (tab_wire_read(b, (tab_str){ p, n }, &back, &tables, NULL) != TAB_OK)
                refused++;
            else
                for (size_t k = 0; k < tables; k++)
                    cr_expect(back[k]->rows == 6 || back[k]->cols == 0 || flip || n == 0);
            free(p);
        }
    cr_expect_gt(refused, s.n);
}
