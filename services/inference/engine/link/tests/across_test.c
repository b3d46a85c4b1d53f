/* Tables that hold duplicates of their own: entities with several rows in both, and tables that share
 * nobody. */
#include <stdio.h>

#include "services/inference/engine/link/across_model.h"
#include "services/inference/engine/link/tests/tables.h"

/* Person k: name, telephone, town, street, e-mail; the second record of one has lost a cell or has a letter
 * typed twice. */
static void record(size_t k, bool again, size_t col, char out[CELL])
{
    const char *f = given[chance(k, 1, 18)], *l = family[chance(k, 2, 18)];
    if (col == 0)
        snprintf(out, CELL, again && k % 3 == 0 ? "%s %sx" : "%s %s", f, l);
    else if (col == 1 && !(again && k % 3 == 1))
        snprintf(out, CELL, "212/%u %u", 100 + chance(k, 3, 900), 1000 + chance(k, 4, 9000));
    else if (col == 2)
        snprintf(out, CELL, "%s", town[chance(k, 5, 7)]);
    else if (col == 3)
        snprintf(out, CELL, "%u %s Lane", 1 + chance(k, 6, 200), family[chance(k, 7, 18)]);
    else if (col == 4 && !(again && k % 3 == 2))
        snprintf(out, CELL, "%s.%s%u@mail.example", f, l, chance(k, 8, 1000));
}

enum { PEOPLE = 150, FIRST = 75 };

/* Two records of each: people 0 to 149, 75 to 224, 1000 to 1149. */
static void ours(size_t r, size_t col, char out[CELL])
{
    record(r % PEOPLE, r >= PEOPLE, col, out);
}

static void theirs(size_t r, size_t col, char out[CELL])
{
    record(FIRST + r % PEOPLE, r < PEOPLE, col, out);
}

static void strangers(size_t r, size_t col, char out[CELL])
{
    record(1000 + r % PEOPLE, r < PEOPLE, col, out);
}

static world linked(cell_of *a, cell_of *b)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", 2 * PEOPLE, 5, a);
    w.table[1] = table_of(w.arena, "b", 2 * PEOPLE, 5, b);
    cross(&w);
    return w;
}

Test(across, entities_of_several_rows_in_both_tables_are_matched)
{
    world w = linked(ours, theirs);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0, there = 4 * (PEOPLE - FIRST);
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] % PEOPLE == FIRST + m->b_row[i] % PEOPLE;
    cr_assert(right * 10 >= there * 8, "%zu of %zu found", right, there);
    cr_assert(right * 100 >= m->n_a_row * 95, "%zu of %zu right", right, m->n_a_row);
    cr_assert_str_eq(w.map->relation[0]->relation, "many_to_many");
    tab_arena_free(w.arena);
}

Test(across, tables_of_duplicates_that_share_nobody_have_no_match)
{
    world w = linked(ours, strangers);
    cr_assert_eq(w.map->entity_matches->n_a_row, 0);
    tab_arena_free(w.arena);
}
