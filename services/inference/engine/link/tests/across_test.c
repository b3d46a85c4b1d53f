/* Tables that hold duplicates of their own: entities with several rows in both, and tables that share
 * nobody. */
#include <stdio.h>

#include "services/inference/engine/link/evidence/across_model.h"
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

/* Of the people of `strangers` one in five is one of ours. */
enum { SHARED = 30 };

static void acquaintances(size_t r, size_t col, char out[CELL])
{
    size_t k = r % PEOPLE;
    record(k < SHARED ? FIRST + k : 1000 + k, r < PEOPLE, col, out);
}

Test(across, entities_that_few_rows_share_are_matched)
{
    world w = linked(ours, acquaintances);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0, there = 4 * SHARED;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->b_row[i] % PEOPLE < SHARED && m->a_row[i] % PEOPLE == FIRST + m->b_row[i] % PEOPLE;
    cr_assert(right * 10 >= there * 7, "%zu of %zu found", right, there);
    cr_assert(right * 100 >= m->n_a_row * 90, "%zu of %zu right", right, m->n_a_row);
    tab_arena_free(w.arena);
}

/* Fifteen people with twenty records in either table: more than a row has neighbours. */
enum { REGULARS = 15 };

static void visits(size_t r, size_t col, char out[CELL])
{
    record(r % REGULARS, r / REGULARS % 3 == 1, col, out);
}

Test(across, all_pairs_of_an_entity_of_many_rows_are_said)
{
    world w = linked(visits, visits);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0, there = REGULARS * (2 * PEOPLE / REGULARS) * (2 * PEOPLE / REGULARS);
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] % REGULARS == m->b_row[i] % REGULARS;
    cr_assert(right * 10 >= there * 8, "%zu of %zu found", right, there);
    cr_assert(right * 100 >= m->n_a_row * 95, "%zu of %zu right", right, m->n_a_row);
    tab_arena_free(w.arena);
}

Test(across, the_model_stands_where_more_rows_are_near_than_chance_makes)
{
    static const struct {
        const char *name;
        tab_across_view g;
        bool want;
    } cases[] = {
        { "half of the rows shared", { .twins = 0.5, .excess = 0.3, .whole = 0.4, .model = 0.6 }, true },
        { "look-alikes, but no more near than chance", { .twins = 0.5, .excess = 0.1, .model = 0.6 }, false },
        { "few, with an excess", { .twins = 0.5, .excess = 0.14, .model = 0.05 }, true },
        { "one partner a row explains it",
          { .twins = 0.5, .excess = 0.3, .whole = 0.7, .model = 0.6 },
          false },
        { "the rules find as many", { .twins = 0.3, .excess = 0.3, .rules = 0.6, .model = 0.6 }, false },
        { "hardly any twins", { .twins = 0.1, .excess = 0.3, .model = 0.9 }, false },
        { "some twins, most rows", { .twins = 0.2, .excess = 0.1, .model = 0.6 }, true },
        { "some twins, some rows", { .twins = 0.2, .excess = 0.3, .model = 0.4 }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_across_stands(&cases[i].g), cases[i].want, "%s", cases[i].name);
}
