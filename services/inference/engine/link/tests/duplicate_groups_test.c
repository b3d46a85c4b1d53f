/* Duplicates of one table, from its cells to the message. */
#include <stdio.h>

#include "services/inference/engine/link/tests/tables.h"

enum { PEOPLE = 200, TWINS = 27, COLS = 5 };

/* People; those behind the first PEOPLE are the first ones once more, a letter too many in the name. */
static void person(size_t r, size_t col, char out[CELL])
{
    size_t k = r < PEOPLE ? r : r - PEOPLE;
    const char *f = given[chance(k, 1, 18)], *l = family[chance(k, 2, 18)];
    if (col == 0)
        snprintf(out, CELL, "%s%s %s", f, r < PEOPLE ? "" : "x", l);
    else if (col == 1)
        snprintf(out, CELL, "212/%u %u", 100 + chance(k, 3, 900), 1000 + chance(k, 4, 9000));
    else if (col == 2)
        snprintf(out, CELL, "%s", town[chance(k, 5, 7)]);
    else if (col == 3)
        snprintf(out, CELL, "%u %s Lane", 1 + chance(k, 6, 200), family[chance(k, 7, 18)]);
    else
        snprintf(out, CELL, "%s.%s%u@mail.example", f, l, chance(k, 8, 1000));
}

static Tabella__Bundle *found(tab_arena *a, bool twins, double threshold)
{
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table t = table_of(a, "people", twins ? PEOPLE + TWINS : PEOPLE, COLS, person);
    const tab_table *list[] = { &t };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    o.threshold = threshold;
    Tabella__Bundle *b;
    cr_assert_eq(tab_engine_run(&e, list, 1, &o, &b, &err), TAB_OK, "%s", err.message);
    return b;
}

Test(duplicate_groups, of_a_single_table_are_told_with_their_evidence)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = found(a, true, 0.5);
    cr_assert_null(b->cross_table_map);
    cr_assert_eq(b->n_duplicates, 1);
    const Tabella__DuplicateGroups *d = b->duplicates[0];
    cr_expect_eq(d->table, 0);
    cr_expect_geq(d->n_confidence, TWINS / 2);
    cr_expect_eq(d->n_row, 2 * d->n_confidence);
    for (size_t g = 0, row = 0, k = 0; g < d->n_confidence; g++) {
        double name = 1, telephone = 0;
        uint32_t first = d->row[row++];
        cr_expect(g == 0 || d->confidence[g] <= d->confidence[g - 1], "surest first");
        cr_expect_eq(d->row_end[g], row + 1);
        cr_expect_eq(d->row[row] - PEOPLE, first, "%u and %u", first, d->row[row]);
        for (row = d->row_end[g]; k < d->evidence_end[g]; k++) {
            name = d->column[k] == 0 ? d->similarity[k] : name;
            telephone = d->column[k] == 1 ? d->similarity[k] : telephone;
            if (d->column[k] == 1)
                cr_expect_gt(d->weight[k], 0);
        }
        cr_expect_lt(name, 1);
        cr_expect_eq(telephone, 1);
    }
}

Test(duplicate_groups, are_none_where_nobody_stands_twice)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    cr_expect_eq(found(a, false, 0.5)->n_duplicates, 0);
}

/* The threshold is the caller's, under 0.5 as well. */
Test(duplicate_groups, of_less_confidence_are_told_where_they_are_asked_for)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    size_t last = 0;
    static const double threshold[] = { 0.9999999, 0.5, 0.02, 0 };
    for (size_t i = 0; i < sizeof threshold / sizeof *threshold; i++) {
        Tabella__Bundle *b = found(a, true, threshold[i]);
        size_t rows = b->n_duplicates == 0 ? 0 : b->duplicates[0]->n_row;
        cr_expect_geq(rows, last);
        for (size_t g = 0; b->n_duplicates > 0 && g < b->duplicates[0]->n_confidence; g++)
            cr_expect_geq(b->duplicates[0]->confidence[g], threshold[i] - 1e-6);
        last = rows;
    }
    cr_expect_geq(last, TWINS);
}

/* Measurements: a code, a score of three decimals and a region; two rows that agree in score and region are a
 * coincidence, of which 600 rows make a dozen. */
static void measurement(size_t r, size_t col, char out[CELL])
{
    double bell = 0;
    for (size_t i = 0; i < 12; i++)
        bell += (double)chance(r, 20 + i, 1000) / 1000;
    if (col == 0)
        snprintf(out, CELL, "%06x", chance(r, 11, 1 << 24));
    else if (col == 1)
        snprintf(out, CELL, "%.3f", bell - 6);
    else
        snprintf(out, CELL, "%c", "ABC"[chance(r, 12, 3)]);
}

Test(duplicate_groups, are_none_where_numbers_agree_now_and_then)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = a };
    tab_error err = { 0 };
    tab_table t = table_of(a, "measured", 600, 3, measurement);
    const tab_table *list[] = { &t };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    Tabella__Bundle *b;
    cr_assert_eq(tab_engine_run(&e, list, 1, &o, &b, &err), TAB_OK, "%s", err.message);
    cr_expect_eq(b->n_duplicates, 0);
}
