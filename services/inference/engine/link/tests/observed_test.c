/* Two months' orders of one shop (decision 0552): customers come again, no order does. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { ORDERS = 200, CUSTOMERS = 60 };

static size_t month;

static void order(size_t r, size_t c, char out[CELL])
{
    size_t who = chance(r, 40 + month, CUSTOMERS);
    const char *first = given[chance(who, 1, 18)], *last = family[chance(who, 2, 18)];
    if (c == 0)
        snprintf(out, CELL, "W-%zu", 31000 + month * ORDERS + r);
    else if (c == 1)
        snprintf(out, CELL, "2024-%02zu-%02u", month, 1 + chance(r, 3 + month, 28));
    else if (c == 2)
        snprintf(out, CELL, "%s %s%zu", first, last, who);
    else if (c == 3)
        snprintf(out, CELL, "%s.%s%zu@post.example", first, last, who);
    else
        snprintf(out, CELL, "%u.%02u", 3 + chance(r, 5 + month, 400), chance(r, 6 + month, 100));
}

Test(observed, orders_of_the_same_customers_are_no_entity)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    month = 1;
    w.table[0] = table_of(w.arena, "january", ORDERS, 5, order);
    month = 2;
    w.table[1] = table_of(w.arena, "february", ORDERS, 5, order);
    cross(&w);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0, "%zu pairs", w.map->entity_matches->n_a_row);
    cr_assert_eq(w.map->n_relation, 1);
    const Tabella__TableRelation *r = w.map->relation[0];
    cr_expect_str_eq(r->relation, "many_to_many");
    cr_assert(r->n_a_columns == 1 && r->n_b_columns == 1, "the customer joins them");
    cr_expect(r->a_columns[0]->column == r->b_columns[0]->column);
    cr_expect(r->a_columns[0]->column == 2 || r->a_columns[0]->column == 3, "%u", r->a_columns[0]->column);
    tab_arena_free(w.arena);
}

/* ---- within one table ------------------------------------------------------------------------- */

enum { PATIENTS = 150, VISITS = 450, LINES = 480 };

static void patient(size_t who, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%zu", 10000 + who * 97);
    else if (c == 1)
        snprintf(out, CELL, "%s %s%zu", given[chance(who, 1, 18)], family[chance(who, 2, 18)], who);
    else if (c == 2)
        snprintf(out, CELL, "19%02u-%02u-%02u", 40 + chance(who, 3, 60), 1 + chance(who, 4, 12),
                 1 + chance(who, 5, 28));
    else
        snprintf(out, CELL, "%s", town[chance(who, 6, 7)]);
}

/* Two visits of each patient on one day, and others on other days. */
static void visit(size_t r, size_t c, char out[CELL])
{
    size_t who = r % PATIENTS, day = r < 2 * PATIENTS ? who : r;
    if (c == 3)
        snprintf(out, CELL, "2024-%02u-%02u", 1 + chance(day, 10, 12), 1 + chance(day, 11, 28));
    else if (c == 4)
        snprintf(out, CELL, "%u.%u", 36 + chance(r, 12, 3), chance(r, 13, 10));
    else
        patient(who, c, out);
}

/* A file of visits that was read twice. */
static void visit_again(size_t r, size_t c, char out[CELL])
{
    visit(2 * PATIENTS + r % PATIENTS, c, out);
}

static size_t seed;

/* Who did what on a day, and for how long: one to three lines a person, which are often equal. */
static void hours(size_t r, size_t c, char out[CELL])
{
    static const char *const work[] = { "site", "app", "audit" };
    static const char *const hour[] = { "0.5", "1", "1.5", "2", "4" };
    static const char *const who[] = { "A. Meza", "J. Roth", "K. Ilves", "P. Dunn" };
    size_t person = 0; /* of all days, one after the other */
    for (size_t left = r, lines; left >= (lines = 1 + chance(person, 23 + seed, 3)); person++)
        left -= lines;
    if (c == 0)
        snprintf(out, CELL, "2024-%02zu-%02zu", 1 + person / 4 / 28, 1 + person / 4 % 28);
    else
        snprintf(out, CELL, "%s",
                 c == 1   ? who[person % 4]
                 : c == 2 ? work[chance(r, 20 + seed, 3)]
                          : hour[chance(r, 21 + seed, 5)]);
}

/* Rows of the last table that are said to be others'. */
static size_t duplicates(world *w)
{
    size_t n = 0;
    cross(w);
    for (size_t i = 0; i < w->b.n_duplicates; i++)
        if (w->b.duplicates[i]->table == w->n - 1)
            n += w->b.duplicates[i]->n_row - w->b.duplicates[i]->n_row_end;
    tab_arena_free(w->arena);
    return n;
}

Test(observed, two_visits_of_a_day_are_two)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "patients", PATIENTS, 4, patient);
    w.table[1] = table_of(w.arena, "visits", VISITS, 5, visit);
    size_t n = duplicates(&w);
    cr_expect_eq(n, 0, "%zu", n);
}

Test(observed, rows_that_were_read_twice_are_found)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "patients", PATIENTS, 4, patient);
    w.table[1] = table_of(w.arena, "visits", 2 * PATIENTS, 5, visit_again);
    size_t n = duplicates(&w);
    cr_expect_geq(n, PATIENTS * 9 / 10, "%zu of %d", n, PATIENTS);
}

Test(observed, lines_that_chance_makes_equal_are_no_duplicates)
{
    size_t n = 0;
    for (seed = 0; seed < 24; seed += 4) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 1 };
        w.table[0] = table_of(w.arena, "hours", LINES, 4, hours);
        n += duplicates(&w);
    }
    cr_expect_leq(n, 6, "%zu in six tables", n);
}
