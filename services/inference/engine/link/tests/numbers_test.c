/* Values that stand once are as telling as their column says (decision 0341). */
#include <stdio.h>

#include "common/files/csv/csv.h"
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

static tab_table sample(tab_arena *a, const char *id)
{
    char path[96];
    snprintf(path, sizeof path, "tests/samples/shop/%s.csv", id);
    FILE *f = fopen(path, "rb");
    char *text = tab_arena_alloc(a, 1, 1 << 18);
    const tab_table *t;
    tab_error err = { 0 };
    cr_assert(f != NULL, "%s", path);
    size_t n = fread(text, 1, (1 << 18) - 1, f);
    fclose(f);
    cr_assert(tab_csv_read(a, (tab_str){ text, n }, tab_str_of(id), &t, NULL, &err) == TAB_OK, "%s",
              err.message);
    return *t;
}

/* Orders of one customer share the customer: whose they are, not which (decision 0318). */
Test(numbers, of_customers_make_no_orders_one)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = sample(w.arena, "customers");
    w.table[1] = sample(w.arena, "orders");
    cross(&w);
    cr_expect_eq(w.map->n_relation, 1);
    cr_expect_eq(w.map->duplicates->n_row, 0, "%zu of 789 orders", w.map->duplicates->n_row);
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
