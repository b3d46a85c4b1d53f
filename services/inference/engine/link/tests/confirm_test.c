#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

/* People with a birth date, and the same people with the date of a visit. */
static void people(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%s %s", given[chance(r, 1, 18)], family[chance(r, 2, 18)]);
    else if (col == 1)
        snprintf(out, CELL, "%s%u@mail.example", family[chance(r, 2, 18)], chance(r, 3, 100000));
    else if (col == 2)
        snprintf(out, CELL, "%u-%02u-%02u", 1950 + chance(r, 4, 70), 1 + chance(r, 5, 12),
                 1 + chance(r, 6, 28));
    else
        snprintf(out, CELL, "%s", town[chance(r, 7, 7)]);
}

static void visitors(size_t r, size_t col, char out[CELL])
{
    people(r + 40, col, out);
    if (col == 2)
        snprintf(out, CELL, "%u-%02u-%02u", 1950 + chance(r, 14, 70), 1 + chance(r, 15, 12),
                 1 + chance(r, 16, 28));
}

Test(confirm, a_date_of_a_visit_is_no_birth_date)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "people", 240, 4, people);
    w.table[1] = table_of(w.arena, "visitors", 240, 4, visitors);
    cross(&w);
    cr_expect_geq(w.map->entity_matches->n_a_row, 180);
    for (size_t i = 0; i < w.map->n_column_alignment; i++)
        cr_expect_neq(w.map->column_alignment[i]->a->column, 2, "aligned at %.2f",
                      w.map->column_alignment[i]->confidence);
    cr_expect_eq(w.map->n_shared, 3);
    /* what a record says of either date is what its own table says */
    const Tabella__UnifiedRows *u = w.unified;
    for (size_t k = 0; k < u->n_shared_variants; k++)
        cr_expect_neq(u->shared_variants[k]->from->column, 2);
    tab_arena_free(w.arena);
}
