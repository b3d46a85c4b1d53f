/* Which rows belong together: decision 0391. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/units.h"

enum { COLS = 5, ROWS = 240 };

static double draw(size_t row, size_t what)
{
    return tab_unit(tab_mix2(row + 1, what));
}

/* One table: what a row's cells and target are made from, which may be those of another row. */
typedef struct {
    const char *name;
    size_t unlike;  /* rows that are not copies; row i is a copy of i % unlike */
    size_t changed; /* columns in which a copy is drawn anew, another one each time */
    size_t levels;  /* of the categories; 0: numbers */
    size_t groups;  /* levels of the first column; 0: it is like the others */
    bool follows;   /* the target follows the first column; else a coin */
    bool again;     /* copies have a coin of their own */
    bool id;        /* the last column is a number of the row's own */
    tab_units_kind want;
} sort;

static tab_profile *make(tab_arena *a, const sort *k)
{
    tab_engine e = { .arena = a };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, COLS + 1);
    for (size_t c = 0; c <= COLS; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
        for (size_t i = 0; i < ROWS; i++) {
            size_t row = i % k->unlike;
            char text[32];
            if (i != row && k->changed > 0 && (size_t)(draw(i, 50) * (COLS - 1)) == c)
                row = i + 7000;
            size_t group = k->groups > 0 ? i % k->groups : (size_t)(draw(row, 0) * (double)k->levels);
            double u = draw(row, c);
            if (c == COLS) {
                size_t of = k->groups > 0 ? group : k->again ? i : i % k->unlike;
                bool yes = k->follows ? group % 2 == 0 : draw(of, 99) < 0.5;
                tab_builder_text(b, yes ? TAB_S("yes") : TAB_S("no"));
            } else if (c == COLS - 1 && k->id) {
                tab_builder_number(b, (double)(500 + i));
            } else if (c == 0 && k->groups > 0) {
                snprintf(text, sizeof text, "group %zu", group);
                tab_builder_text(b, tab_str_of(text));
            } else if (k->levels > 0) {
                snprintf(text, sizeof text, "level %zu", c == 0 ? group : (size_t)(u * (double)k->levels));
                tab_builder_text(b, tab_str_of(text));
            } else {
                tab_builder_number(b, round(1e5 * u) / 1e4);
            }
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = COLS + 1, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    return p;
}

Test(units, are_copies_near_copies_and_groups_of_one_target)
{
    static const sort cases[] = {
        { "rows that are unlike", .unlike = ROWS, .want = TAB_UNITS_ROWS },
        { "copies", .unlike = 80, .want = TAB_UNITS_COPIES },
        { "copies with ids", .unlike = 80, .id = true, .want = TAB_UNITS_COPIES },
        { "one cell changed", .unlike = 80, .changed = 1, .want = TAB_UNITS_COPIES },
        { "measured again", .unlike = 80, .again = true, .want = TAB_UNITS_ROWS },
        { "cells of a survey", .unlike = ROWS, .levels = 2, .want = TAB_UNITS_REPEATS },
        { "of which one decides", .unlike = ROWS, .levels = 2, .follows = true, .want = TAB_UNITS_REPEATS },
        { "groups of one target", .unlike = ROWS, .groups = 40, .want = TAB_UNITS_GROUPS },
        { "few kinds", .unlike = ROWS, .groups = 6, .want = TAB_UNITS_ROWS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        tab_units u;
        tab_profile *p = make(a, &cases[i]);
        cr_assert(tab_units_find(a, p, COLS, false, &u));
        cr_expect_eq(u.kind, cases[i].want, "%s: %d", cases[i].name, u.kind);
        cr_expect_eq(u.unit != NULL, u.kind == TAB_UNITS_COPIES || u.kind == TAB_UNITS_GROUPS);
        for (size_t r = 0; u.unit != NULL && r < ROWS; r++)
            cr_expect_eq(u.unit[r], u.kind == TAB_UNITS_GROUPS ? r % 40 : r % 80, "%s: row %zu",
                         cases[i].name, r);
    }
}

/* Copies of numbers have the very number; what is measured again has not. */
Test(units, numbers_agree_by_equality)
{
    for (int copied = 0; copied < 2; copied++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        tab_engine e = { .arena = a };
        tab_column col[3];
        for (size_t c = 0; c < 3; c++) {
            tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
            for (size_t i = 0; i < ROWS; i++) {
                double x = draw(i % 80, c) + (c == 2 && copied == 0 ? 0.5 * draw(i, 9) : 0);
                tab_builder_number(b, round(1e5 * x) / 1e4);
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
        tab_profile *p = NULL;
        tab_units u;
        cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
        cr_assert(tab_units_find(a, p, 2, true, &u));
        cr_expect_eq(u.kind, copied == 1 ? TAB_UNITS_COPIES : TAB_UNITS_ROWS, "%d", u.kind);
    }
}

/* Rows that stand there three times, all numbers of them moved a little: one unit where they have one target,
 * unless it was drawn for each, or asked rows are such copies too (decision 0787). */
Test(units, noisy_copies_are_one)
{
    enum { ORIGINALS = 80, NUMBERS = 3, ONE_TARGET = 0, OWN_TARGETS, ASKED_COPIES, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
        tab_engine e = { .arena = a };
        tab_column col[NUMBERS + 1];
        for (size_t c = 0; c <= NUMBERS; c++) {
            tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
            for (size_t i = 0; i < ROWS; i++) {
                size_t of = i % ORIGINALS;
                double moved = draw(of, c) + 0.01 * (draw(i, 60 + c) - 0.5);
                bool asked = kind == ASKED_COPIES ? i < ORIGINALS : of >= 70;
                if (c < NUMBERS)
                    tab_builder_number(b, round(1e6 * moved) / 1e5);
                else if (asked)
                    tab_builder_null(b);
                else
                    tab_builder_bool(b, draw(kind == OWN_TARGETS ? i : of, 61) < 0.5);
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = NUMBERS + 1, .col = col };
        tab_profile *p = NULL;
        tab_units u;
        cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
        cr_assert(tab_units_find(a, p, NUMBERS, false, &u));
        cr_expect_eq(u.kind, kind == ONE_TARGET ? TAB_UNITS_COPIES : TAB_UNITS_ROWS, "%d: %d", kind, u.kind);
        for (size_t r = 0; u.unit != NULL && r < ROWS; r++)
            if (r % ORIGINALS < 70)
                cr_expect_eq(u.unit[r], u.unit[r % ORIGINALS], "row %zu", r);
    }
}

/* Groups that most of the asked rows are of are known: the question is not about new ones. */
Test(units, known_groups_are_none)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    for (int known = 0; known < 2; known++) {
        tab_engine e = { .arena = a };
        tab_column col[3];
        for (size_t c = 0; c < 3; c++) {
            tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
            for (size_t i = 0; i < ROWS; i++) {
                bool asked = i >= ROWS - 40;
                size_t group = asked && known == 0 ? 100 + i % 10 : i % 40;
                if (c == 0)
                    tab_builder_text(b, tab_str_of(tab_arena_printf(a, "group %zu", group)));
                else if (c == 1)
                    tab_builder_number(b, round(1e5 * draw(i, 1)) / 1e4);
                else if (asked)
                    tab_builder_null(b);
                else
                    tab_builder_text(b, draw(group, 3) < 0.5 ? TAB_S("yes") : TAB_S("no"));
            }
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
        tab_profile *p = NULL;
        tab_units u;
        cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
        cr_assert(tab_units_find(a, p, 2, false, &u));
        cr_expect_eq(u.kind, known == 1 ? TAB_UNITS_ROWS : TAB_UNITS_GROUPS, "%d: %d", known, u.kind);
    }
}

/* Rows of few kinds, each cell of which is now and then another kind's: those nearest to one another are
 * equal but for a cell, and rows a cell further tell as much. */
Test(units, neighbours_are_no_copies)
{
    enum { KINDS = 40, CELLS = 14 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    tab_engine e = { .arena = a };
    tab_column col[CELLS + 1];
    for (size_t c = 0; c <= CELLS; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
        for (size_t i = 0; i < 2 * ROWS; i++) {
            size_t kind = (size_t)(draw(i, 70) * KINDS);
            size_t of = draw(i, 80 + c) < 0.2 ? (size_t)(draw(i, 90 + c) * KINDS) : kind;
            if (c == 0) { /* a measure, so that no two rows are equal */
                tab_builder_number(b, round(1e7 * draw(i, 71)) / 1e6);
                continue;
            }
            const char *text = c == CELLS ? tab_arena_printf(a, "class %zu", kind % 5)
                                          : tab_arena_printf(a, "v%d", (int)(draw(of, c) * 4));
            tab_builder_text(b, tab_str_of(text));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = 2 * ROWS, .cols = CELLS + 1, .col = col };
    tab_profile *p = NULL;
    tab_units u;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert(tab_units_find(a, p, CELLS, false, &u));
    cr_expect_neq(u.kind, TAB_UNITS_COPIES);
}

/* A long table is learned from by a part of its rows; units are by rows of the whole. */
Test(units, of_a_few_rows_of_a_long_table)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    enum { LONG = 5000, FEW = 6 };
    uint32_t unit[LONG], row[FEW] = { 4998, 17, 4990, 4999, 16, 4000 }, *of;
    for (uint32_t r = 0; r < LONG; r++)
        unit[r] = r & ~1U;
    tab_units u = { .kind = TAB_UNITS_COPIES, .unit = unit };
    tab_data d = { .rows = FEW, .row = row };
    cr_assert(tab_units_of(a, &u, &d, &of));
    const uint32_t want[FEW] = { 0, 1, 2, 0, 1, 5 };
    cr_assert_arr_eq(of, want, sizeof want);
}
