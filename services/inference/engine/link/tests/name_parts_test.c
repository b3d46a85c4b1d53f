/* First and last name here, full name there (decision 0506): they go together as columns and name the
 * rows that are one. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { PEOPLE = 100, OTHERS = 120, BOTH = 60 };

static size_t person_of(size_t r)
{
    return r < BOTH ? r : r + 1000;
}

static void born(size_t p, char out[CELL])
{
    snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(p, 3, 60), 1 + chance(p, 4, 12),
             1 + chance(p, 5, 28));
}

static void parted(size_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%s", given[chance(r, 1, 18)]);
    else if (c == 1)
        snprintf(out, CELL, "%s%u", family[chance(r, 2, 18)], chance(r, 7, 9));
    else if (c == 2)
        born(r, out);
    else
        snprintf(out, CELL, "%s", town[chance(r, 6, 7)]);
}

static void whole(size_t r, size_t c, char out[CELL])
{
    size_t p = person_of((r * 7) % OTHERS);
    if (c == 0)
        snprintf(out, CELL, "%s%u, %s", family[chance(p, 2, 18)], chance(p, 7, 9), given[chance(p, 1, 18)]);
    else if (c == 1)
        born(p, out);
    else
        snprintf(out, CELL, "%s", chance(p, 8, 2) == 0 ? "basic" : "plus");
}

Test(name_parts, make_up_the_full_name)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", PEOPLE, 4, parted);
    w.table[1] = table_of(w.arena, "b", OTHERS, 3, whole);
    cross(&w);
    bool named = false;
    for (size_t i = 0; i < w.map->n_column_alignment; i++)
        named |= w.map->column_alignment[i]->a->column == 1 && w.map->column_alignment[i]->b->column == 0 &&
                 w.map->column_alignment[i]->confidence >= 0.9;
    cr_expect(named, "the last name is not told to be of the full one");
    size_t right = 0, said = w.map->entity_matches->n_a_row;
    for (size_t i = 0; i < said; i++)
        right += w.map->entity_matches->a_row[i] == (w.map->entity_matches->b_row[i] * 7) % OTHERS;
    cr_expect_geq(right, BOTH - 2, "%zu of %d", right, BOTH);
    cr_expect_eq(right, said, "%zu wrong", said - right);
    tab_arena_free(w.arena);
}
