/* Small tables that hold the same values as keys and share nothing else: one to one, row by row, where the
 * values are a small part of what their parts might make; nothing where everybody has the same list. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { ROWS = 16, MANY = 100 };

static void (*key)(size_t i, char out[CELL]);

static void names(size_t i, char out[CELL])
{
    snprintf(out, CELL, "%s %s", given[i], family[chance(i, 1, 18)]);
}

static void codes(size_t i, char out[CELL])
{
    snprintf(out, CELL, "%c%c-%u", 'A' + (int)chance(i, 2, 26), 'A' + (int)chance(i, 3, 26),
             1000 + chance(i, 4, 9000));
}

static void numbers(size_t i, char out[CELL])
{
    snprintf(out, CELL, "%u", 10000 + chance(i, 5, 90000));
}

static void seats(size_t i, char out[CELL])
{
    snprintf(out, CELL, "A%zu", i + 1);
}

static void tens(size_t i, char out[CELL])
{
    snprintf(out, CELL, "%zu", 10 * i + 10);
}

static void shelves(size_t i, char out[CELL])
{
    snprintf(out, CELL, "Shelf %c-%zu", (char)('A' + i / 4), i % 4 + 1);
}

static void countries(size_t i, char out[CELL])
{
    static const char *const list[ROWS] = { "Germany", "France",      "Italy",   "Spain",
                                            "Austria", "Norway",      "Sweden",  "United Kingdom",
                                            "Greece",  "Poland",      "Denmark", "Latvia",
                                            "Estonia", "South Korea", "Canada",  "New Zealand" };
    snprintf(out, CELL, "%s", list[i]);
}

static void here(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        key(r, out);
    else if (c == 1)
        snprintf(out, CELL, "%u", 20 + chance(r, 6, 40));
    else
        snprintf(out, CELL, "%s", chance(r, 7, 2) ? "inside" : "outside");
}

/* In another order: the row of here that stands at row r. */
static size_t moved(size_t r, size_t rows)
{
    return (r * 7 + 3) % rows;
}

static size_t rows_there = ROWS;

static void there(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "R%u", 1 + chance(r, 8, 30));
    else
        key(moved(r, rows_there), out);
}

static world beside(void (*of)(size_t, char[CELL]), size_t rows)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    key = of;
    rows_there = rows;
    w.table[0] = table_of(w.arena, "here", rows, 3, here);
    w.table[1] = table_of(w.arena, "there", rows, 2, there);
    cross(&w);
    return w;
}

static void expect_one_to_one(void (*of)(size_t, char[CELL]), size_t rows)
{
    world w = beside(of, rows);
    cr_assert_eq(w.map->n_relation, 1);
    const Tabella__TableRelation *r = w.map->relation[0];
    cr_expect(r->key && r->n_a_columns == 1 && r->a_columns[0]->column == 0 && r->b_columns[0]->column == 1);
    cr_expect_str_eq(r->relation, "one_to_one");
    cr_expect(r->confidence >= 0.95 && r->confidence < 0.99, "said %.3f", r->confidence);
    cr_expect_eq(w.map->n_column_alignment, 1);
    cr_assert_eq(w.map->entity_matches->n_a_row, rows, "%zu pairs", w.map->entity_matches->n_a_row);
    for (size_t i = 0; i < rows; i++) {
        cr_expect_eq(w.map->entity_matches->a_row[i], moved(w.map->entity_matches->b_row[i], rows));
        cr_expect_float_eq(w.map->entity_matches->confidence[i], r->confidence, 1e-6);
    }
    cr_expect_eq(w.unified->n_from_row, 2 * rows, "one record each");
    tab_arena_free(w.arena);
}

Test(same_keys, names_codes_and_long_numbers_are_one_to_one)
{
    expect_one_to_one(names, ROWS);
    expect_one_to_one(codes, ROWS);
    expect_one_to_one(numbers, ROWS);
}

Test(same_keys, more_rows_are_not_less_sure)
{
    expect_one_to_one(codes, MANY);
    expect_one_to_one(numbers, MANY);
}

Test(same_keys, what_everybody_counts_or_lists_is_no_key_of_both)
{
    static void (*const lists[])(size_t, char[CELL]) = { seats, shelves, countries };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        world w = beside(lists[i], ROWS);
        for (size_t k = 0; k < w.map->n_relation; k++)
            cr_expect(!w.map->relation[k]->key, "list %zu", i);
        cr_expect_eq(w.map->entity_matches->n_a_row, 0, "list %zu", i);
        tab_arena_free(w.arena);
    }
    world w = beside(tens, ROWS);
    for (size_t k = 0; k < w.map->n_relation; k++)
        cr_expect_lt(w.map->relation[k]->confidence, 0.9);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0);
    tab_arena_free(w.arena);
}
