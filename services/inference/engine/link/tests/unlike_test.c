/* Tables that look alike and tell of different things (decision 0505): letters, whole numbers of one range,
 * shares, days and flags are one attribute of two tables only where rows or other columns say so. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

static size_t seed; /* of the cells */
static size_t from; /* of the rows */

static void plain(size_t r, size_t c, char out[CELL])
{
    uint32_t x = chance(r + from, c + 100 * seed, 1u << 20);
    switch (c) {
    case 0:
        snprintf(out, CELL, "%c", 'A' + x % 4);
        break;
    case 1:
        snprintf(out, CELL, "%u", x % 101);
        break;
    case 2:
        snprintf(out, CELL, "20%02u-%02u-%02u", 19 + x % 5, 1 + x / 5 % 12, 1 + x / 60 % 28);
        break;
    case 3:
        snprintf(out, CELL, "%s", x % 3 == 0 ? "yes" : "no");
        break;
    default:
        snprintf(out, CELL, "%.1f", (double)(x % 1000) / 10);
    }
}

/* The same behind a shuffled number of the row. */
static void ranked(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%zu", (r * (37 + 2 * seed) + seed) % 180 + 1);
    else
        plain(r, c - 1, out);
}

/* Measures of which the third is the sum of the others. */
static void measures(size_t r, size_t c, char out[CELL])
{
    double x = 20.0 + chance(r + from, 1, 80), y = 90.0 + chance(r + from, 2, 30) * 2;
    double of[] = { x, y, x + y, y - x, 400 - 3 * x };
    snprintf(out, CELL, "%.0f", of[c]);
}

/* How many columns of two tables are one attribute, at 0.5; matches are counted in *rows. */
static size_t aligned(cell_of *a, size_t from_a, size_t seed_a, cell_of *b, size_t from_b, size_t seed_b,
                      size_t cols, size_t *rows)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    from = from_a;
    seed = seed_a;
    w.table[0] = table_of(w.arena, "a", a == ranked ? 180 : 200, cols, a);
    from = from_b;
    seed = seed_b;
    w.table[1] = table_of(w.arena, "b", 180, cols, b);
    cross(&w);
    size_t n = w.map->n_column_alignment;
    *rows = w.map->entity_matches->n_a_row;
    tab_arena_free(w.arena);
    return n;
}

Test(unlike, columns_that_any_tables_have_are_no_attribute)
{
    for (size_t s = 1; s <= 10; s++)
        for (size_t cols = 2; cols <= 5; cols++) {
            size_t rows, n = aligned(plain, 0, 2 * s, plain, 0, 2 * s + 1, cols, &rows);
            cr_expect_eq(n, 0, "%zu of %zu columns, seed %zu", n, cols, s);
            cr_expect_eq(rows, 0, "%zu rows, seed %zu", rows, s);
        }
}

Test(unlike, rows_of_one_shuffled_number_are_no_entity)
{
    size_t rows, all = 0;
    for (size_t s = 2; s <= 40; s += 4) {
        (void)aligned(ranked, 0, s, ranked, 0, s + 5, 6, &rows);
        all += rows;
    }
    cr_expect_leq(all, 2, "%zu of 1800 rows", all);
}

Test(unlike, rows_that_agree_beyond_chance_make_them_one)
{
    size_t rows;
    cr_expect_eq(aligned(plain, 0, 1, plain, 20, 1, 5, &rows), 5);
    cr_expect_geq(rows, 175, "%zu", rows);
}

Test(unlike, measures_that_depend_on_one_another_alike_are_of_one_form)
{
    size_t rows;
    size_t n = aligned(measures, 0, 0, measures, 5000, 0, 5, &rows);
    cr_expect_eq(n, 5, "%zu of 5 columns", n);
}
