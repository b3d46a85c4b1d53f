/* References by two columns and within a table, on tables of a shop: orders, their lines, shipments of lines,
 * employees with their managers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/plan.h"
#include "services/inference/engine/keys/sets.h"
#include "services/inference/engine/keys/within_weights.h"

enum { ORDERS = 200, LINES = 5, SHIPMENTS = 400, EMPLOYEES = 150, CELL = 32 };

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 1, b + 7)) * n);
}

/* The number of lines of an order: 1 to LINES. */
static uint32_t lines_of(uint32_t order)
{
    return 1 + draw(order, 1, LINES);
}

/* Line i of all, as order and line. */
static void line_at(uint32_t i, uint32_t *order, uint32_t *line)
{
    for (*order = 0; i >= lines_of(*order); ++*order)
        i -= lines_of(*order);
    *line = i + 1;
}

static uint32_t lines(void)
{
    uint32_t n = 0;
    for (uint32_t o = 0; o < ORDERS; o++)
        n += lines_of(o);
    return n;
}

/* A cell of column c of row r as text; digits become numbers, nothing null. */
typedef void cell_of(uint32_t r, size_t c, char out[CELL]);

static void line_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t order, line;
    line_at(r, &order, &line);
    if (c == 0)
        snprintf(out, CELL, "%u", 1 + order);
    else if (c == 1)
        snprintf(out, CELL, "%u", line);
    else if (c == 2)
        snprintf(out, CELL, "%u", 1 + draw(r, 3, 9)); /* a quantity */
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 4, 90), draw(r, 5, 100));
}

/* Some lines are sent, in two parcels now and then. */
static void shipment_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t order, line;
    line_at(draw(r, 10, lines()), &order, &line);
    if (c == 0)
        snprintf(out, CELL, "2024-%02u-%02u", 1 + draw(r, 11, 12), 1 + draw(r, 12, 28));
    else if (c == 1)
        snprintf(out, CELL, "%u", 1 + order);
    else
        snprintf(out, CELL, "%u", line);
}

/* The same columns, of which the second is drawn anew: what they hold is in both columns of the lines. */
static void loose_cell(uint32_t r, size_t c, char out[CELL])
{
    shipment_cell(r, c, out);
    if (c == 2)
        snprintf(out, CELL, "%u", 1 + draw(r, 13, LINES));
}

static uint32_t boss_of(uint32_t r)
{
    return draw(r, 20, r < 12 ? 1 : r / 4); /* few have people below them */
}

/* Employees in no order: the ids are a permutation. */
static void employee_cell(uint32_t r, size_t c, char out[CELL])
{
    enum { STEP = 67 }; /* prime to EMPLOYEES */
    uint32_t i = r * STEP % EMPLOYEES;
    *out = 0;
    if (c == 0)
        snprintf(out, CELL, "%u", 1 + i);
    else if (c == 1)
        snprintf(out, CELL, "%c%c%c %u", 'A' + (int)draw(r, 21, 26), 'a' + (int)draw(r, 22, 26),
                 'a' + (int)draw(r, 23, 26), draw(r, 24, 500));
    else if (c == 2 && i > 0)
        snprintf(out, CELL, "%u", 1 + boss_of(i));
    else if (c == 3)
        snprintf(out, CELL, "%u", 20 + draw(r, 25, 45)); /* an age: among the ids */
}

typedef struct {
    tab_arena *arena;
    size_t n;
    tab_table table[4];
    tab_views *v;
    tab_key_plan plan;
} world;

static void add(world *w, const char *id, uint32_t rows, size_t cols, cell_of *cell)
{
    tab_column *col = tab_arena_new_of(w->arena, tab_column, cols);
    for (size_t c = 0; c < cols; c++) {
        tab_builder *b = tab_builder_new(w->arena, tab_str_of(tab_arena_printf(w->arena, "k%zu", c)));
        for (uint32_t r = 0; r < rows; r++) {
            char text[CELL], *end;
            cell(r, c, text);
            double x = strtod(text, &end);
            if (*text == 0)
                tab_builder_null(b);
            else if (*end == 0)
                tab_builder_number(b, x);
            else
                tab_builder_text(b, tab_str_of(text));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    w->table[w->n++] = (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = cols, .col = col };
}

static void find(world *w)
{
    tab_profile *p[4];
    tab_error err = { 0 };
    tab_engine e = { .arena = w->arena };
    for (size_t i = 0; i < w->n; i++)
        cr_assert_eq(tab_profile_table(&e, &w->table[i], &p[i], &err), TAB_OK);
    cr_assert_eq(tab_views_new(&e, p, w->n, &w->v, &err), TAB_OK);
    cr_assert_eq(tab_key_plan_new(&e, w->v, 0.5, w->arena, &w->plan, &err), TAB_OK, "%s", err.message);
}

static void end(world *w)
{
    tab_views_free(w->v);
    tab_arena_free(w->arena);
}

/* The reference of two columns from a table, or NULL. */
static const tab_reference *pair_of(const world *w, uint32_t table)
{
    for (size_t i = 0; i < w->plan.keys.n; i++)
        if (w->plan.keys.ref[i].child_table == table && w->plan.keys.ref[i].also > 0)
            return &w->plan.keys.ref[i];
    return NULL;
}

/* The reference within a table, or NULL. */
static const tab_reference *own_of(const world *w, uint32_t table)
{
    for (size_t i = 0; i < w->plan.keys.n; i++)
        if (w->plan.keys.ref[i].child_table == table && w->plan.keys.ref[i].parent_table == table)
            return &w->plan.keys.ref[i];
    return NULL;
}

Test(key_pairs, shipments_refer_to_lines_by_order_and_line)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "lines", lines(), 4, line_cell);
    add(&w, "shipments", SHIPMENTS, 3, shipment_cell);
    find(&w);
    const tab_reference *r = pair_of(&w, 1);
    cr_assert_not_null(r);
    cr_expect_eq(r->parent_table, 0);
    cr_expect(r->child == 1 && r->also == 1 && r->child_also[0] == 2 && r->parent == 0 &&
              r->parent_also[0] == 1);
    cr_expect_eq(r->held, r->child_values);
    cr_expect_geq(r->p, 0.9);
    cr_expect_not(r->one_to_one);
    /* each row leads to the line that it was drawn from */
    uint32_t *to = tab_reference_rows(w.v, r);
    for (uint32_t i = 0; i < SHIPMENTS; i++)
        cr_assert_eq(to[i], draw(i, 10, lines()));
    free(to);
    /* and hangs under it */
    cr_expect_eq(w.plan.under[1], (uint32_t)(r - w.plan.keys.ref));
    cr_expect(w.plan.apart[1]);
    const char *words = tab_reference_words(w.arena, w.v, r);
    cr_expect_not_null(strstr(words, "pairs of values of shipments.k1 and shipments.k2"), "%s", words);
    cr_expect_not_null(strstr(words, "lines.k0 and lines.k1, which together identify its rows"), "%s", words);
    end(&w);
}

/* Shipments of which the first twenty are of lines that were deleted. */
static void orphan_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t order = draw(r, 13, ORDERS);
    while (lines_of(order) == LINES)
        order = (order + 1) % ORDERS;
    if (r >= 20 || c == 0)
        shipment_cell(r, c, out);
    else
        snprintf(out, CELL, "%u", c == 1 ? 1 + order : LINES);
}

/* The search stops early where too many are missed: those that come first are no more than others. */
Test(key_pairs, orphans_at_the_beginning_hide_no_reference)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "lines", lines(), 4, line_cell);
    add(&w, "shipments", SHIPMENTS, 3, orphan_cell);
    find(&w);
    const tab_reference *r = pair_of(&w, 1);
    cr_assert_not_null(r);
    cr_expect_gt(r->child_values, SHIPMENTS / 2);
    cr_expect_geq(r->held + 20, r->child_values);
    cr_expect_lt(r->held, r->child_values);
    end(&w);
}

Test(key_pairs, values_that_are_held_one_by_one_are_no_pair)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "lines", lines(), 4, line_cell);
    add(&w, "loose", SHIPMENTS, 3, loose_cell);
    find(&w);
    cr_expect_null(pair_of(&w, 1));
    end(&w);
}

/* Row i of a grid of shops and weeks of which three in ten are not there. */
static void shop_week(uint32_t i, uint32_t *shop, uint32_t *week)
{
    enum { WEEKS = 40 };
    uint32_t at = 0;
    for (;; at++)
        if (draw(at, 50, 10) >= 3 && i-- == 0)
            break;
    *shop = at / WEEKS;
    *week = at % WEEKS;
}

/* What each shop sold in a week, and what it should have sold: of most of the same weeks. */
static void sales_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t shop, week;
    shop_week(r, &shop, &week);
    snprintf(out, CELL, "%u", c == 0 ? 100 + shop : c == 1 ? 1 + week : draw(r, 51, 5000));
}

static void target_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t shop, week;
    shop_week(r + r / 9, &shop, &week);
    snprintf(out, CELL, "%u", c == 0 ? 100 + shop : c == 1 ? 1 + week : draw(r, 52, 5000));
}

Test(key_pairs, two_facts_of_the_same_shops_and_weeks_are_no_sure_reference)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "sales", 700, 3, sales_cell);
    add(&w, "targets", 600, 3, target_cell);
    find(&w);
    for (size_t i = 0; i < w.plan.keys.n; i++)
        if (w.plan.keys.ref[i].also > 0)
            cr_expect_lt(w.plan.keys.ref[i].p, 0.95, "%.3f", w.plan.keys.ref[i].p);
    end(&w);
}

/* The first lines, and parcels of them whose columns are called as theirs or not. */
static void parcel_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t order, line;
    line_at(r * 7 % 20, &order, &line);
    snprintf(out, CELL, "%u", c == 0 ? 1 + order : c == 1 ? line : 1 + draw(r, 61, 900));
}

Test(key_pairs, in_tables_of_twenty_rows_names_tell)
{
    for (int named = 0; named < 2; named++) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
        add(&w, "lines", 20, 4, line_cell);
        add(&w, "parcels", 14, 3, parcel_cell);
        tab_column *col = (tab_column *)(uintptr_t)w.table[1].col;
        for (int c = 0; c < 2 && !named; c++)
            col[c].name = c == 0 ? TAB_S("x") : TAB_S("y");
        find(&w);
        const tab_reference *r = pair_of(&w, 1);
        cr_assert_eq(r != NULL, named);
        if (named)
            cr_expect(r->parent_table == 0 && r->p >= 0.5 && r->child == 0 && r->also == 1);
        end(&w);
    }
}

enum { STORES = 5, MONTHS = 4 };

/* What each store should sell in each month, and what it did: in a whole grid tuples tell nothing. */
static void plan_cell(uint32_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "S%u", r / MONTHS);
    else if (c == 1)
        snprintf(out, CELL, "W%u", r % MONTHS);
    else
        snprintf(out, CELL, "%u", 50 + draw(r, 71, 900));
}

static void sold_cell(uint32_t r, size_t c, char out[CELL])
{
    plan_cell(r * 7 % (STORES * MONTHS), c, out);
    if (c == 2)
        snprintf(out, CELL, "%u", 40 + draw(r, 72, 900));
}

Test(key_pairs, in_a_whole_grid_the_names_tell_unless_they_are_numbers)
{
    static const struct {
        const char *plan[3], *sold[3];
        bool said;
    } cases[] = { { { "store", "month", "budget" }, { "Store", "month", "sales" }, true },
                  { { "store", "month", "budget" }, { "shop", "period", "sales" }, false },
                  { { "c0", "c1", "c2" }, { "c0", "c1", "c2" }, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
        add(&w, "plan", STORES * MONTHS, 3, plan_cell);
        add(&w, "sold", STORES * MONTHS, 3, sold_cell);
        for (size_t c = 0; c < 3; c++) {
            ((tab_column *)(uintptr_t)w.table[0].col)[c].name = tab_str_of(cases[i].plan[c]);
            ((tab_column *)(uintptr_t)w.table[1].col)[c].name = tab_str_of(cases[i].sold[c]);
        }
        find(&w);
        const tab_reference *r = pair_of(&w, 0) != NULL ? pair_of(&w, 0) : pair_of(&w, 1);
        cr_assert_eq(r != NULL, cases[i].said, "case %zu", i);
        if (r != NULL)
            cr_expect(r->one_to_one && r->p >= 0.9 && r->also == 1);
        end(&w);
    }
}

Test(key_pairs, what_chance_may_hold_is_not_sure_whatever_else_speaks_for_it)
{
    /* p = 1 / (1 + ways exp(-told / 3)), where the features are sure */
    static const struct {
        double told;
        uint32_t ways;
        double want;
    } cases[] = { { 3, 1, 0.731058578630 }, { 3, 10, 0.213730271520 }, { 30, 1, 0.999954602131 } };
    const double sure[TAB_KEY_SET_FEATURES + 1] = { [TAB_KEY_SET_FEATURES] = 50 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_key_set x = { .n = 2, .told = cases[i].told, .ways = cases[i].ways };
        cr_expect_float_eq(tab_key_set_p(&x, sure), cases[i].want, 1e-9, "case %zu: %.12f", i,
                           tab_key_set_p(&x, sure));
    }
}

Test(key_within, an_employees_manager_is_an_employee)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "employees", EMPLOYEES, 4, employee_cell);
    add(&w, "lines", lines(), 4, line_cell);
    find(&w);
    const tab_reference *r = own_of(&w, 0);
    cr_assert_not_null(r);
    cr_expect(r->child == 2 && r->parent == 0 && r->also == 0);
    cr_expect_geq(r->p, 0.7);
    cr_expect_null(own_of(&w, 1), "an order's number and a quantity are among nothing's keys");
    /* it joins no tables and no domains, and prediction does not walk it */
    cr_expect_eq(w.plan.under[0], TAB_NULL);
    tab_references refs;
    cr_assert(tab_references_of(&w.plan.keys, w.arena, &refs));
    for (size_t i = 0; i < refs.n; i++)
        cr_expect(tab_reference_plain(&refs.ref[i]));
    end(&w);
}

/* Ages are among the ids as the managers are, but lead in circles. */
static void aged_cell(uint32_t r, size_t c, char out[CELL])
{
    employee_cell(r, c == 2 ? 3 : c, out);
}

/* Rows in groups, numbered as they come: each number is below the row's own, and no row's parent. */
static void group_cell(uint32_t r, size_t c, char out[CELL])
{
    snprintf(out, CELL, "%u", c == 0 ? 1 + r : c == 1 ? 1 + r / 6 : draw(r, 40, 1000));
}

Test(key_within, ages_and_numbered_groups_refer_to_no_row)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    add(&w, "aged", EMPLOYEES, 3, aged_cell);
    add(&w, "groups", 400, 3, group_cell);
    find(&w);
    cr_expect_null(own_of(&w, 0));
    cr_expect_null(own_of(&w, 1));
    end(&w);
}

/* Among the ids as managers are, and in no circle by luck; what tells them apart is where rows end. */
Test(key_within, an_end_without_a_value_speaks_for_a_manager_and_oneself_above_oneself_against)
{
    static const struct {
        const char *name;
        float evidence, none, selves;
        double least, most;
    } cases[] = {
        { "one director of 150", 5, 1, 0, 0.8, 1 },
        { "the same, but the director has a number as well", 5, 0, 0, 0, 0.5 },
        { "a row is above itself", 5, 0, 1, 0, 0.05 },
        { "a measure that half of the rows do not have", 0.7f, 1, 0, 0, 0.2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_key_within x = { .f = { [TAB_KEY_WITHIN_F_EVIDENCE] = cases[i].evidence,
                                    [TAB_KEY_WITHIN_F_NONE] = cases[i].none,
                                    [TAB_KEY_WITHIN_F_SELVES] = cases[i].selves } };
        double p = tab_key_within_p(&x, tab_key_within_weights);
        cr_expect(p >= cases[i].least && p <= cases[i].most, "%s: %.3f", cases[i].name, p);
    }
}
