/* Tables of one kind that share nobody, a few rows or many: no more is matched than is more than chance. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

/* Customers: an e-mail follows from the name, so that two who share a name share both; of names there are
 * 324. */
static void client(size_t k, size_t col, char out[CELL])
{
    const char *f = given[chance(k, 1, 18)], *l = family[chance(k, 2, 18)];
    static const char *const host[] = { "mail", "post", "corp" };
    if (col == 0)
        snprintf(out, CELL, "%s %s", f, l);
    else if (col == 1)
        snprintf(out, CELL, "%s.%s@%s.example", f, l, host[chance(k, 3, 3)]);
    else if (col == 2)
        snprintf(out, CELL, "+1 %u %u", 200 + chance(k, 4, 799), 1000000 + chance(k, 5, 8999999));
    else if (col == 3)
        snprintf(out, CELL, "%u-%02u-%02u", 1940 + chance(k, 6, 65), 1 + chance(k, 7, 12),
                 1 + chance(k, 8, 28));
    else if (col == 4)
        snprintf(out, CELL, "%s", town[chance(k, 9, 7)]);
    else
        snprintf(out, CELL, "%u.%02u", 15000 + chance(k, 10, 60000), chance(k, 11, 100));
}

/* Orders: what is bought, when and how much of it; a number of its own that says nothing. */
static void order(size_t k, size_t col, char out[CELL])
{
    static const char *const thing[] = { "drill", "kettle", "lamp",   "printer", "router",
                                         "shelf", "pump",   "filter", "clock",   "ladder" };
    uint32_t amount = 1 + chance(k, 1, 4), price = 500 + chance(k, 2, 9000);
    if (col == 0)
        snprintf(out, CELL, "SO-%06u", chance(k, 3, 1000000));
    else if (col == 1)
        snprintf(out, CELL, "%s %c", thing[chance(k, 4, 10)], "SML"[chance(k, 5, 3)]);
    else if (col == 2)
        snprintf(out, CELL, "%u", amount);
    else if (col == 3)
        snprintf(out, CELL, "%u.%02u", amount * price / 100, amount * price % 100);
    else if (col == 4)
        snprintf(out, CELL, "202%u-%02u-%02u", chance(k, 6, 4), 1 + chance(k, 7, 12), 1 + chance(k, 8, 28));
    else
        snprintf(out, CELL, "%s", town[chance(k, 9, 7)]);
}

/* Clients by what tells most of them; of 300 the second table has the last 100 twice. */
static void listed(size_t r, size_t col, char out[CELL])
{
    static const size_t told[] = { 2, 4, 3, 5, 0 };
    client(r < 300 ? r : r - 100, told[col], out);
}

static size_t reported_of_doubled(size_t cols)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", 300, cols, listed);
    w.table[1] = table_of(w.arena, "b", 400, cols, listed);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t doubled = 0, single = 0;
    for (size_t i = 0; i < m->n_a_row; i++) {
        doubled += m->a_row[i] >= 200;
        single += m->a_row[i] < 200 && m->b_row[i] == m->a_row[i];
    }
    cr_expect_geq(single, 190, "%zu of 200", single);
    tab_arena_free(w.arena);
    return doubled;
}

Test(ties, of_two_rows_that_cannot_be_told_apart_neither_is_likely)
{
    /* a telephone and a town are too little to say that two rows are one client, five columns enough */
    size_t apart = reported_of_doubled(2), copies = reported_of_doubled(5);
    cr_expect_leq(apart, 10, "%zu of 100 that may be two", apart);
    cr_expect_geq(copies, 95, "%zu of 100 that are one twice", copies);
}

enum { ROWS = 400, COLS = 6, DRAWS = 3 };

static cell_of *kind;
static size_t first; /* the row that a table begins with */

static void from_first(size_t r, size_t col, char out[CELL])
{
    kind(first + r, col, out);
}

/* Over DRAWS pairs of tables with so many rows in both: matches said, and right ones. */
static void match(cell_of *of, size_t both, size_t *ret_said, size_t *ret_right)
{
    *ret_said = *ret_right = 0;
    kind = of;
    for (size_t k = 0; k < DRAWS; k++) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
        first = 10000 * k;
        w.table[0] = table_of(w.arena, "a", ROWS, COLS, from_first);
        first += ROWS - both;
        w.table[1] = table_of(w.arena, "b", ROWS, COLS, from_first);
        cross(&w);
        const Tabella__EntityMatches *m = w.map->entity_matches;
        *ret_said += m->n_a_row;
        for (size_t i = 0; i < m->n_a_row; i++)
            *ret_right += m->a_row[i] == m->b_row[i] + ROWS - both;
        tab_arena_free(w.arena);
    }
}

Test(within_table_null, what_chance_makes_alike_within_a_table_is_no_match_across_two)
{
    static const struct {
        const char *name;
        cell_of *cell;
    } sample[] = { { "clients", client }, { "orders", order } };
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
        size_t said, right;
        match(sample[i].cell, 0, &said, &right);
        cr_expect_leq(said, DRAWS * ROWS / 50, "%s that are not shared: %zu matches", sample[i].name, said);
        static const size_t shared[] = { ROWS / 50, ROWS / 20, ROWS / 5, ROWS };
        for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
            match(sample[i].cell, shared[k], &said, &right);
            cr_expect_geq(right, DRAWS * shared[k] * 95 / 100, "%s, %zu shared: %zu found", sample[i].name,
                          shared[k] * DRAWS, right);
            cr_expect_leq(said - right, DRAWS * ROWS / 20, "%s, %zu shared: %zu wrong", sample[i].name,
                          shared[k] * DRAWS, said - right);
        }
    }
}
