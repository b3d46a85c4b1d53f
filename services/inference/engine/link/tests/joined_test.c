/* Columns of one table that make up a column of the other, and tables that share no more than such columns
 * (decisions 0760, 0761). */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { NAMES = 324, ROWS = 160, BOTH = 120 };

/* Of the second table's rows: the first BOTH in another order are the first table's. */
static size_t entity_of(size_t r)
{
    size_t e = (r * 7) % ROWS;
    return e < BOTH ? e : e + NAMES / 4;
}

static void name_of(size_t e, char *ret_given, char *ret_family)
{
    size_t k = (e * 5) % NAMES;
    snprintf(ret_given, CELL / 3, "%s", given[k % 18]);
    snprintf(ret_family, CELL / 3, "%s", family[k / 18]);
}

static void staff(size_t r, size_t c, char out[CELL])
{
    char first[CELL / 3], last[CELL / 3];
    name_of(r, first, last);
    if (c < 2)
        snprintf(out, CELL, "%s", c == 0 ? first : last);
    else if (c == 2)
        snprintf(out, CELL, "%s", town[chance(r, 2, 7)]);
    else
        snprintf(out, CELL, "20%02u-%02u-%02u", chance(r, 3, 20), 1 + chance(r, 4, 12), 1 + chance(r, 5, 28));
}

static void badges(size_t r, size_t c, char out[CELL])
{
    char first[CELL / 3], last[CELL / 3];
    size_t e = entity_of(r);
    name_of(e, first, last);
    if (c == 0)
        snprintf(out, CELL, "%s, %s", last, first);
    else
        snprintf(out, CELL, "%u", 10000 + chance(e, 7, 80000));
}

Test(joined, a_name_in_two_columns_is_enough)
{
    for (int back = 0; back < 2; back++) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
        w.table[back] = table_of(w.arena, "staff", ROWS, 4, staff);
        w.table[1 - back] = table_of(w.arena, "badges", ROWS, 2, badges);
        cross(&w);
        const Tabella__EntityMatches *m = w.map->entity_matches;
        size_t right = 0;
        for (size_t i = 0; i < m->n_a_row; i++)
            right += entity_of(back ? m->a_row[i] : m->b_row[i]) == (back ? m->b_row[i] : m->a_row[i]);
        cr_expect_geq(right, BOTH * 9 / 10, "%zu of %d", right, BOTH);
        cr_expect_eq(right, m->n_a_row, "%zu wrong", m->n_a_row - right);
        tab_arena_free(w.arena);
    }
}

static const char *const kind[] = { "Primary School", "High School", "Academy", "Infant School" };
static const char *const saint[] = { "Anne", "John", "Peter", "Mary", "Paul", "Luke" };

static void schools(size_t r, size_t c, char out[CELL])
{
    size_t k = (r * 5) % (4 * 6 * 7);
    if (c == 0)
        snprintf(out, CELL, "Saint %s %s", saint[k % 6], kind[k / 6 % 4]);
    else if (c == 1)
        snprintf(out, CELL, "%s", town[k / 24]);
    else
        snprintf(out, CELL, "%u", 100 + chance(r, 11, 900));
}

static void register_(size_t r, size_t c, char out[CELL])
{
    char name[CELL], place[CELL];
    size_t e = (r * 7) % ROWS;
    schools(e, 0, name);
    schools(e, 1, place);
    if (c == 0)
        snprintf(out, CELL, "%.60s, %.30s", name, place);
    else
        snprintf(out, CELL, "%s %s", given[chance(r, 12, 18)], family[chance(r, 13, 18)]);
}

Test(joined, schools_are_told_apart_by_their_town)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "schools", ROWS, 3, schools);
    w.table[1] = table_of(w.arena, "register", ROWS, 2, register_);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t said = m->n_a_row, right = 0;
    for (size_t i = 0; i < said; i++)
        right += m->a_row[i] == (m->b_row[i] * 7) % ROWS;
    cr_expect_geq(right, ROWS * 3 / 4, "%zu of %d", right, ROWS);
    cr_expect_leq(said - right, 5, "%zu wrong", said - right);
    tab_arena_free(w.arena);
}

/* Two firms' staff: nobody works for both, and one name in ten is in both lists by chance. */
static void namesakes(size_t r, size_t c, int firm, char out[CELL])
{
    size_t k = chance(r, 20 + (size_t)firm, 17 * 17);
    if (c == 0)
        snprintf(out, CELL, firm == 0 ? "%s" : "%s %s", given[k % 17], family[k / 17]);
    else if (c == 1 && firm == 0)
        snprintf(out, CELL, "%s", family[k / 17]);
    else if (c == 1)
        snprintf(out, CELL, "%u", 1 + chance(r, 23, 60));
    else if (c == 2)
        snprintf(out, CELL, "%s", town[chance(r, 24 + (size_t)firm, 7)]);
    else
        snprintf(out, CELL, "19%02u-%02u-%02u", 50 + chance(r, 26 + (size_t)firm, 50), 1 + chance(r, 28, 12),
                 1 + chance(r, 29 + (size_t)firm, 28));
}

static void one_firm(size_t r, size_t c, char out[CELL])
{
    namesakes(r, c, 0, out);
}

static void other_firm(size_t r, size_t c, char out[CELL])
{
    namesakes(r, c, 1, out);
}

Test(joined, namesakes_are_no_entity)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "one", 250, 4, one_firm);
    w.table[1] = table_of(w.arena, "other", 250, 4, other_firm);
    cross(&w);
    cr_expect_leq(w.map->entity_matches->n_a_row, 2, "%zu pairs", w.map->entity_matches->n_a_row);
    tab_arena_free(w.arena);
}
