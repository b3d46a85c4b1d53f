/* Values that stand once are as telling as their column says (docs/decisions/0341). */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { CALLERS = 40, SHARED = 30, FROM = CALLERS - SHARED };

#define NUMBER(k, form, out) \
    snprintf(out, CELL, form, 201 + chance(k, 1, 788), 200 + chance(k, 2, 800), chance(k, 3, 10000))

static void calls(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        NUMBER(r, "+1 %u %u %04u", out);
    else
        snprintf(out, CELL, "%u", chance(r, 4, 500));
}

static void contacts(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        NUMBER((r * 7) % CALLERS + FROM, "(%u) %u-%04u", out);
    else
        snprintf(out, CELL, "%s", chance(r, 5, 2) > 0 ? "private" : "business");
}

Test(numbers, that_both_tables_hold_once_are_one_caller)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", CALLERS, 2, calls);
    w.table[1] = table_of(w.arena, "b", CALLERS, 2, contacts);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    cr_expect_eq(m->n_a_row, SHARED, "%zu of %d found", m->n_a_row, SHARED);
    for (size_t i = 0; i < m->n_a_row; i++) {
        cr_expect_eq(m->a_row[i], (m->b_row[i] * 7) % CALLERS + FROM);
        cr_expect(m->confidence[i] > 0.9, "row %u: %g", m->a_row[i], m->confidence[i]);
    }
    tab_arena_free(w.arena);
}

/* Orders of one customer, on days that lie close, paid alike: the customer is whose they are. */
enum { BUYERS = 60, ORDERS = 240 };

static void buyers(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "K-%zu", 4100 + 7 * r);
    else
        snprintf(out, CELL, "%s %s", given[chance(r, 1, 18)], family[chance(r, 2, 18)]);
}

static void orders(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "B%zu", 10000 + 3 * r);
    else if (col == 1)
        snprintf(out, CELL, "K-%u", 4100 + 7 * chance(r, 3, BUYERS));
    else if (col == 2)
        snprintf(out, CELL, "2025-%02u-%02u", 1 + chance(r, 4, 12), 1 + chance(r, 5, 28));
    else if (col == 3)
        snprintf(out, CELL, "%u.5", 10 + chance(r, 6, 40));
    else
        snprintf(out, CELL, "%s", chance(r, 7, 2) > 0 ? "card" : "bank");
}

Test(numbers, of_customers_make_no_orders_one)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "buyers", BUYERS, 2, buyers);
    w.table[1] = table_of(w.arena, "orders", ORDERS, 5, orders);
    cross(&w);
    cr_expect_eq(w.map->duplicates->n_row, 0, "%zu of %d orders", w.map->duplicates->n_row, ORDERS);
    tab_arena_free(w.arena);
}

/* Row numbers stand once in every table, and say nothing. */
static void counted(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else
        snprintf(out, CELL, "%u", chance(r, col, 30));
}

static void counted_elsewhere(size_t r, size_t col, char out[CELL])
{
    counted((r * 11) % CALLERS, col, out);
    if (col > 0)
        snprintf(out, CELL, "%u", chance(r, col + 9, 30));
}

Test(numbers, of_rows_are_no_entities)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", CALLERS, 3, counted);
    w.table[1] = table_of(w.arena, "b", CALLERS, 3, counted_elsewhere);
    cross(&w);
    cr_expect_eq(w.map->entity_matches->n_a_row, 0);
    tab_arena_free(w.arena);
}
