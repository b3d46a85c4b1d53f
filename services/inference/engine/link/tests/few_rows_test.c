/* A table of a few rows beside a long one: one row that stands in both says which columns are one (decision
 * 0551); rows of other things say nothing. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { PEOPLE = 900, ONE = 417 };

static void person(size_t p, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%s %s%u", given[chance(p, 1, 18)], family[chance(p, 2, 18)], chance(p, 7, 9));
    else if (c == 1)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(p, 3, 60), 1 + chance(p, 4, 12),
                 1 + chance(p, 5, 28));
    else if (c == 2)
        snprintf(out, CELL, "+39 %u %u", 300 + chance(p, 8, 60), 100000 + chance(p, 9, 900000));
    else
        snprintf(out, CELL, "%s", town[chance(p, 6, 7)]);
}

static void all(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else
        person(r, c - 1, out);
}

static void one(size_t r, size_t c, char out[CELL])
{
    person(ONE + r, c, out);
}

static void stranger(size_t r, size_t c, char out[CELL])
{
    person(5000 + r, c, out);
}

/* Counted, of the same towns, and nothing else in common. */
static void shop(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else if (c == 1)
        snprintf(out, CELL, "%s", town[chance(r, 6, 7)]);
    else
        snprintf(out, CELL, "%u.%02u", 10 + chance(r, 12, 90), chance(r, 13, 100));
}

static world beside(cell_of *cell, size_t rows, size_t cols)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "all", PEOPLE, 5, all);
    w.table[1] = table_of(w.arena, "few", rows, cols, cell);
    cross(&w);
    return w;
}

Test(few_rows, one_row_is_found_among_many)
{
    world w = beside(one, 1, 4);
    cr_assert_eq(w.map->entity_matches->n_a_row, 1);
    cr_expect_eq(w.map->entity_matches->a_row[0], ONE);
    cr_expect_eq(w.map->entity_matches->b_row[0], 0);
    size_t right = 0;
    for (size_t i = 0; i < w.map->n_column_alignment; i++)
        right += w.map->column_alignment[i]->a->column == w.map->column_alignment[i]->b->column + 1;
    cr_expect_geq(right, 3, "%zu columns", right);
    cr_expect_eq(right, w.map->n_column_alignment);
    tab_arena_free(w.arena);
}

Test(few_rows, a_stranger_is_nobody)
{
    for (size_t n = 1; n < 6; n += 2) {
        world w = beside(stranger, n, 4);
        cr_expect_eq(w.map->entity_matches->n_a_row, 0, "of %zu", n);
        tab_arena_free(w.arena);
    }
}

Test(few_rows, a_number_and_a_town_are_no_person)
{
    for (size_t n = 1; n < 14; n += 4) {
        world w = beside(shop, n, 3);
        cr_expect_eq(w.map->entity_matches->n_a_row, 0, "of %zu", n);
        tab_arena_free(w.arena);
    }
}

/* Those who all stand in the list, their name's words in another order. */
static void turned(size_t r, size_t c, char out[CELL])
{
    size_t p = ONE + 31 * r;
    if (c == 1)
        snprintf(out, CELL, "%s%u, %s", family[chance(p, 2, 18)], chance(p, 7, 9), given[chance(p, 1, 18)]);
    else
        person(p, c == 0 ? 2 : c == 2 ? 1 : 3, out);
}

/* Orders of people who all stand in the list: theirs are a name and a town. */
static void order(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        person(ONE + 31 * r, 0, out);
    else if (c == 1)
        person(ONE + 31 * r, 3, out);
    else if (c == 2)
        snprintf(out, CELL, "%u.%02u", 10 + chance(r, 12, 90), chance(r, 13, 100));
    else
        snprintf(out, CELL, "2024-%02u-%02u", 1 + chance(r, 20, 12), 1 + chance(r, 21, 28));
}

Test(few_rows, rows_that_all_stand_there_are_found)
{
    for (size_t n = 2; n < 6; n++) {
        world w = beside(turned, n, 4);
        const Tabella__EntityMatches *m = w.map->entity_matches;
        cr_assert_eq(m->n_a_row, n, "%zu of %zu", m->n_a_row, n);
        for (size_t i = 0; i < n; i++)
            cr_expect_eq(m->a_row[i], ONE + 31 * m->b_row[i]);
        tab_arena_free(w.arena);
    }
}

Test(few_rows, a_few_orders_are_no_people)
{
    world w = beside(order, 4, 4);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0);
    tab_arena_free(w.arena);
}

/* A person of a rare last name in a small town, as eight cells. */
static void villager(size_t p, size_t kin, size_t c, char out[CELL])
{
    const char *first = given[chance(p, 1, 18)], *last = family[chance(kin, 2, 18)];
    unsigned n = chance(kin, 7, 40), village = chance(kin, 6, 80);
    if (c == 0)
        snprintf(out, CELL, "%s %s%u", first, last, n);
    else if (c == 1)
        snprintf(out, CELL, "%s.%s%u@%s.example", first, last, n, chance(p, 14, 2) ? "mail" : "post");
    else if (c == 2)
        snprintf(out, CELL, "+39 %u %u", 300 + chance(p, 8, 60), 100000 + chance(p, 9, 900000));
    else if (c == 3)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(p, 3, 60), 1 + chance(p, 4, 12),
                 1 + chance(p, 5, 28));
    else if (c == 4)
        snprintf(out, CELL, "%u %s Street", 1 + chance(p, 10, 200), town[chance(p, 11, 7)]);
    else if (c == 5)
        snprintf(out, CELL, "%sfield %u", town[village % 7], village);
    else if (c == 6)
        snprintf(out, CELL, "%u", 10000 + village * 90 + chance(p, 12, 9));
    else
        snprintf(out, CELL, "%u.%02u", 20000 + chance(p, 13, 40000), chance(p, 15, 100));
}

static void villagers(size_t r, size_t c, char out[CELL])
{
    villager(r, r, c, out);
}

/* Three who stand there, and two of whom others have the last name and the town. */
static void kin(size_t r, size_t c, char out[CELL])
{
    villager(r < 3 ? ONE + 31 * r : 7000 + r, ONE + 31 * r, c, out);
}

Test(few_rows, relatives_are_not_sure)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "all", 3000, 8, villagers);
    w.table[1] = table_of(w.arena, "few", 5, 8, kin);
    cross(&w);
    size_t right = 0;
    for (size_t i = 0; i < w.map->entity_matches->n_a_row; i++)
        right += w.map->entity_matches->b_row[i] < 3 &&
                 w.map->entity_matches->a_row[i] == ONE + 31 * w.map->entity_matches->b_row[i];
    cr_expect_eq(right, 3);
    cr_expect_eq(w.map->entity_matches->n_a_row, 3, "%zu said", w.map->entity_matches->n_a_row);
    tab_arena_free(w.arena);
}

/* ---- a handful of pairs ----------------------------------------------------------------------- */

enum { LIST = 250, BOTH = 8, COLUMNS = 8 };

/* Members of a club: the postal code is nearly the town's, and three in a list have one plan. */
static void member(size_t p, size_t c, char out[CELL])
{
    static const char *const plan[] = { "basic", "plus", "pro" };
    size_t first = chance(p, 1, 18), last = chance(p, 2, 360), home = chance(p, 6, 200);
    home = home < 100 ? home % 7 : home < 150 ? 7 + home % 10 : 17 + home % 30;
    if (c == 0)
        snprintf(out, CELL, "%s %s%c", given[first], family[last % 18], 'a' + (char)(last / 18));
    else if (c == 1)
        snprintf(out, CELL, "%s.%s%c%u@mail.example", given[first], family[last % 18],
                 'a' + (char)(last / 18), chance(p, 10, 100));
    else if (c == 2)
        snprintf(out, CELL, "+1 %u %u", 200 + chance(p, 8, 700), 1000000 + chance(p, 9, 9000000));
    else if (c == 3)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(p, 3, 60), 1 + chance(p, 4, 12),
                 1 + chance(p, 5, 28));
    else if (c == 4)
        snprintf(out, CELL, "%s%c%s", family[home % 18], 'a' + (char)(home / 18), town[home % 7] + 1);
    else if (c == 5)
        snprintf(out, CELL, "%zu", 10000 + home * 1613 + chance(p, 11, 90));
    else if (c == 6)
        snprintf(out, CELL, "%s", plan[chance(p, 12, 3)]);
    else
        snprintf(out, CELL, "%u.%02u", 20000 + chance(p, 13, 15000) + chance(p, 14, 15000),
                 chance(p, 15, 100));
}

static size_t in_both, round_of;

static void member_there(size_t r, size_t c, char out[CELL])
{
    member(r < in_both ? r : 7000 + 1000 * round_of + r, c, out);
}

Test(few_rows, a_handful_of_pairs_in_long_tables)
{
    size_t wrong = 0, right = 0;
    for (in_both = 0; in_both <= BOTH; in_both += BOTH)
        for (round_of = 0; round_of < 4; round_of++) {
            world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
            w.table[0] = table_of(w.arena, "a", LIST, COLUMNS, member);
            w.table[1] = table_of(w.arena, "b", LIST, COLUMNS, member_there);
            cross(&w);
            const Tabella__EntityMatches *m = w.map->entity_matches;
            for (size_t i = 0; i < m->n_a_row; i++) {
                bool is = m->a_row[i] == m->b_row[i] && m->a_row[i] < in_both;
                right += is;
                wrong += !is;
            }
            tab_arena_free(w.arena);
        }
    cr_expect_eq(right, 4 * BOTH);
    cr_expect_leq(wrong, 1, "%zu", wrong);
}
