/* Who moved is found: equal name, e-mail, telephone and birth date, another address. Whoever shares an
 * address is no twin for that. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { PEOPLE = 400, HOUSEHOLD = 5, MOVED = 80, COLS = 7 };

static const char *word(uint32_t k, char out[CELL])
{
    snprintf(out, CELL, "%s%c%s", family[k % 18], 'a' + (char)(k / 18 % 20), town[k % 7] + 1);
    return out;
}

/* Some live with the one before; those behind the first PEOPLE are the first ones at another address, whose
 * telephone is written otherwise. */
static void customer(size_t r, size_t col, char out[CELL])
{
    size_t k = r < PEOPLE ? r : r - PEOPLE, head = k - (k % HOUSEHOLD == 1),
           home = r < PEOPLE ? head : 5000 + k;
    char last[CELL], road[CELL];
    const char *first = given[chance(k, 1, 18)];
    word(chance(head, 2, 360), last);
    if (col == 0)
        snprintf(out, CELL, "%s", first);
    else if (col == 1)
        snprintf(out, CELL, "%s", last);
    else if (col == 2)
        snprintf(out, CELL, "%s.%.40s%u@mail.example", first, last, chance(k, 3, 1000));
    else if (col == 3)
        snprintf(out, CELL, r < PEOPLE ? "(212) %u-%u" : "212 %u %u", 100 + chance(k, 4, 900),
                 1000 + chance(k, 5, 9000));
    else if (col == 4)
        snprintf(out, CELL, "%u-%02u-%02u", 1940 + chance(k, 6, 60), 1 + chance(k, 7, 12),
                 1 + chance(k, 8, 28));
    else if (col == 5)
        snprintf(out, CELL, "%u %.40s Lane", 1 + chance(home, 9, 200), word(chance(home, 10, 360), road));
    else
        word(chance(home, 11, 120), out);
}

/* Given name, family name, e-mail, telephone, street, postal code, town: of few names, clean, and those
 * behind the first PEOPLE are the first ones at another address, of which nothing else has changed. */
static void subscriber(size_t r, size_t col, char out[CELL])
{
    size_t k = r < PEOPLE ? r : r - PEOPLE;
    const char *first = given[chance(k, 11, 18)], *last = family[chance(k, 12, 18)];
    char road[CELL];
    if (col < 2)
        snprintf(out, CELL, "%s", col == 0 ? first : last);
    else if (col == 2)
        snprintf(out, CELL, "%s.%s%zu@mail.example", first, last, k);
    else if (col == 3)
        snprintf(out, CELL, "+49 %u %u", 30 + chance(k, 13, 900), 100000 + chance(k, 14, 900000));
    else if (col == 4)
        snprintf(out, CELL, "%u %.40s Lane", 1 + chance(r, 15, 200), word(chance(r, 16, 360), road));
    else if (col == 5)
        snprintf(out, CELL, "%05u", 1067 + chance(r, 17, 90000));
    else
        snprintf(out, CELL, "%s", town[chance(r, 18, 7)]);
}

/* The same of a firm that gives addresses out by the name: namesakes have one, and nothing else in common. */
static void colleague(size_t r, size_t col, char out[CELL])
{
    if (col == 2)
        snprintf(out, CELL, "%s.%s@firm.example", given[chance(r, 11, 18)], family[chance(r, 12, 18)]);
    else if (col == 3)
        out[0] = 0;
    else
        subscriber(r, col, out);
}

/* Orders: a subscriber's cells, and a day in place of the town. */
static void ordered(size_t r, size_t col, char out[CELL])
{
    if (col == COLS - 1)
        snprintf(out, CELL, "2024-%02u-%02u", 1 + chance(r, 41, 12), 1 + chance(r, 42, 28));
    else
        subscriber(r, col, out);
}

enum { FIRMS = 300, CHAIN = 12, TWICE = 30 };

/* Name, site, street, postal code, town, telephone of firms; the first CHAIN are branches of one, with
 * one switchboard. Those behind FIRMS are the last ones again with another telephone. */
static void firm(size_t r, size_t col, char out[CELL])
{
    size_t k = r < FIRMS ? r : r - TWICE, name = k < CHAIN ? 0 : k;
    char x[CELL], y[CELL];
    word(chance(name, 31, 360), x);
    word(chance(name, 32, 360), y);
    if (col == 0)
        snprintf(out, CELL, "%.30s %.30s %s", x, y, chance(name, 33, 2) ? "Ltd" : "GmbH");
    else if (col == 1)
        snprintf(out, CELL, "www.%.30s-%.30s.com", x, y);
    else if (col == 2)
        snprintf(out, CELL, "%u %.40s Lane", 1 + chance(k, 34, 200), word(chance(k, 35, 360), x));
    else if (col == 3)
        snprintf(out, CELL, "%05u", 1067 + chance(k, 36, 90000));
    else if (col == 4)
        snprintf(out, CELL, "%s", town[chance(k, 37, 7)]);
    else
        snprintf(out, CELL, "+49 %u %u", 30 + chance(r < CHAIN ? 0 : r, 38, 900),
                 100000 + chance(r < CHAIN ? 0 : r, 39, 900000));
}

static Tabella__Bundle *found_in(tab_arena *a, size_t rows, cell_of *cell)
{
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table t = table_of(a, "customers", rows, COLS, cell);
    const tab_table *list[] = { &t };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    o.threshold = 0.5;
    Tabella__Bundle *b;
    cr_assert_eq(tab_engine_run(&e, list, 1, &o, &b, &err), TAB_OK, "%s", err.message);
    return b;
}

static Tabella__Bundle *found(tab_arena *a, size_t rows)
{
    return found_in(a, rows, customer);
}

/* Decision 0746. */
Test(movers, of_a_clean_list_are_found_where_only_the_address_differs)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found_in(a, PEOPLE + MOVED, subscriber);
    cr_assert_eq(b->n_duplicates, 1);
    const Tabella__DuplicateGroups *d = b->duplicates[0];
    cr_assert_eq(d->n_confidence, MOVED);
    for (size_t g = 0; g < MOVED; g++) {
        cr_expect_eq(d->row[2 * g + 1], d->row[2 * g] + PEOPLE);
        cr_expect_gt(d->confidence[g], 0.9, "%g", d->confidence[g]);
    }
}

Test(movers, two_orders_of_one_customer_are_two)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found_in(a, PEOPLE + MOVED, ordered);
    size_t n = b->n_duplicates == 0 ? 0 : b->duplicates[0]->n_confidence;
    cr_expect_leq(n, MOVED / 20, "%zu", n); /* some days are one by chance */
}

Test(movers, firms_with_another_telephone_are_found_and_branches_are_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table t = table_of(a, "firms", FIRMS + TWICE, 6, firm);
    const tab_table *list[] = { &t };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    Tabella__Bundle *b;
    cr_assert_eq(tab_engine_run(&e, list, 1, &o, &b, &err), TAB_OK, "%s", err.message);
    cr_assert_eq(b->n_duplicates, 1);
    const Tabella__DuplicateGroups *d = b->duplicates[0];
    cr_expect_geq(d->n_confidence, TWICE - 2, "%zu of %d", d->n_confidence, TWICE);
    for (size_t g = 0, row = 0; g < d->n_confidence; row = d->row_end[g++])
        cr_expect(d->row_end[g] == row + 2 && d->row[row + 1] == d->row[row] + TWICE, "%u %u", d->row[row],
                  d->row[row + 1]);
}

Test(movers, namesakes_of_a_firm_are_two)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found_in(a, PEOPLE, colleague);
    cr_expect_eq(b->n_duplicates, 0);
}

Test(movers, are_found_and_households_are_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found(a, PEOPLE + MOVED);
    cr_assert_eq(b->n_duplicates, 1);
    const Tabella__DuplicateGroups *d = b->duplicates[0];
    size_t right = 0;
    for (size_t g = 0, row = 0; g < d->n_confidence; row = d->row_end[g++])
        right += d->row_end[g] == row + 2 && d->row[row + 1] == d->row[row] + PEOPLE;
    cr_expect_geq(right * 100, 95 * MOVED, "%zu of %d", right, MOVED);
    cr_expect_leq((d->n_confidence - right) * 100, 5 * d->n_confidence, "%zu wrong", d->n_confidence - right);
}

Test(movers, households_alone_are_no_twins)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found(a, PEOPLE);
    cr_expect(b->n_duplicates == 0 || b->duplicates[0]->n_confidence <= PEOPLE / 200);
}

enum { LIST = 300, SHARED = 60 };

/* Who stands in a row of one list or the other: the first SHARED of both are the same people. */
static size_t who_of(size_t r, bool second)
{
    return r < SHARED || !second ? r : 1000 + r;
}

static void listed(size_t r, size_t col, bool second, char out[CELL])
{
    size_t k = who_of(r, second);
    char last[CELL];
    const char *first = given[chance(k, 21, 18)];
    word(chance(k, 22, 200), last);
    if (col == 2)
        snprintf(out, CELL, "%s%.40s%u@mail.example", first, last, chance(k, 23, 99));
    else if (col == 3) /* the second list has another number of everybody */
        snprintf(out, CELL, "+49 %u %u", 30 + chance(k, 25 + second, 900),
                 100000 + chance(k, 27 + second, 900000));
    else if (col < 2)
        snprintf(out, CELL, "%s", col == 0 ? first : last);
    else
        subscriber(k, col, out);
}

static void first_list(size_t r, size_t col, char out[CELL])
{
    listed(r, col, false, out);
}

static void second_list(size_t r, size_t col, char out[CELL])
{
    listed(r, col, true, out);
}

/* Decision 0747: anna.novak39 and anna.novak16 are two. */
Test(movers, namesakes_whose_addresses_hold_other_digits_are_two)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2), .n = 2 };
    w.table[0] = table_of(w.arena, "a", LIST, COLS, first_list);
    w.table[1] = table_of(w.arena, "b", LIST, COLS, second_list);
    cross(&w);
    const Tabella__EntityMatches *m = w.map->entity_matches;
    size_t right = 0;
    for (size_t i = 0; i < m->n_a_row; i++)
        right += m->a_row[i] == m->b_row[i] && m->a_row[i] < SHARED;
    cr_expect_eq(m->n_a_row, right, "%zu of %zu are wrong", m->n_a_row - right, m->n_a_row);
    cr_expect_geq(right, SHARED - 2, "%zu of %d", right, SHARED);
    tab_arena_free(w.arena);
}
