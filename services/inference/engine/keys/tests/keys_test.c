#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/keys/choose.h"
#include "services/inference/engine/keys/plan.h"

enum { TABLES = 5, COLUMNS = 6, CELL = 48 };

typedef void cell_of(size_t row, size_t col, char out[CELL]);

typedef struct {
    tab_arena *arena;
    size_t n;
    tab_table table[TABLES];
    tab_views *v;
    tab_key_plan plan;
} world;

static uint32_t draw(size_t a, size_t b, uint32_t n)
{
    uint64_t s = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 7) * 0xd6e8feb86659fd93u;
    s = (s ^ (s >> 31)) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((s ^ (s >> 29)) >> 20) % n;
}

/* Adds a table; a cell of digits is a number, an empty one null. */
static void add(world *w, const char *id, size_t rows, size_t cols, cell_of *cell)
{
    tab_column *col = tab_arena_new_of(w->arena, tab_column, cols);
    for (size_t c = 0; c < cols; c++) {
        char name[32];
        snprintf(name, sizeof name, "k%zu", c);
        tab_builder *b = tab_builder_new(w->arena, tab_arena_copy(w->arena, tab_str_of(name)));
        for (size_t r = 0; r < rows; r++) {
            char text[CELL] = "", *end;
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

static world begin(void)
{
    return (world){ .arena = tab_arena_new(SIZE_MAX / 2) };
}

static void find(world *w)
{
    tab_profile *p[TABLES];
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

/* The reference of a column, or NULL. */
static const tab_reference *of(const world *w, uint32_t table, uint32_t column)
{
    for (size_t i = 0; i < w->plan.keys.n; i++)
        if (w->plan.keys.ref[i].child_table == table && w->plan.keys.ref[i].child == column &&
            w->plan.keys.ref[i].p >= 0.5)
            return &w->plan.keys.ref[i];
    return NULL;
}

/* ---- styles of keys -------------------------------------------------------------------------- */

enum { CUSTOMERS = 300, ORDERS = 1500 };

static void (*style)(uint32_t i, char out[CELL]);

static void nine_digits(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "%u", 100000000 + draw(i, 1, 800000000));
}

static void codes(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "CU-%05u", i);
}

static void hexes(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "%08x%08x", draw(i, 2, UINT32_MAX), draw(i, 3, UINT32_MAX));
}

static void with_gaps(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "%u", 17 + 5 * i + draw(i, 4, 5));
}

static void counted(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "%u", i + 1);
}

static void customers(size_t r, size_t col, char out[CELL])
{
    static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon" };
    if (col == 0)
        style((uint32_t)r, out);
    else if (col == 1)
        snprintf(out, CELL, "Name %c%c%u", 'A' + (int)draw(r, 5, 26), 'a' + (int)draw(r, 6, 26),
                 draw(r, 7, 900));
    else if (col == 2)
        snprintf(out, CELL, "%s", town[draw(r, 8, 6)]);
    else
        snprintf(out, CELL, "%u", 18 + draw(r, 9, 60));
}

static void orders(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", 10248 + r);
    else if (col == 1)
        style(draw(r, 10, CUSTOMERS), out);
    else if (col == 2)
        snprintf(out, CELL, "2024-%02u-%02u", 1 + draw(r, 11, 12), 1 + draw(r, 12, 28));
    else if (col == 3)
        snprintf(out, CELL, "%u",
                 1 + draw(r, 13, 4) * draw(r, 14, 4)); /* a quantity: among the counted keys */
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 15, 400), draw(r, 16, 100));
}

Test(keys, references_of_every_style_are_found_and_quantities_are_none)
{
    static const struct {
        const char *name;
        void (*style)(uint32_t i, char out[CELL]);
    } sample[] = { { "nine digits", nine_digits },
                   { "codes", codes },
                   { "hexadecimal", hexes },
                   { "with gaps", with_gaps },
                   { "counted", counted } };
    for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
        world w = begin();
        style = sample[i].style;
        add(&w, "customers", CUSTOMERS, 4, customers);
        add(&w, "orders", ORDERS, 5, orders);
        find(&w);
        const tab_reference *r = of(&w, 1, 1);
        cr_assert_not_null(r, "%s", sample[i].name);
        cr_expect(r->parent_table == 0 && r->parent == 0 && !r->one_to_one, "%s", sample[i].name);
        for (uint32_t c = 0; c < 5; c++)
            cr_expect(c == 1 || of(&w, 1, c) == NULL, "%s: column %u of the orders", sample[i].name, c);
        for (uint32_t c = 0; c < 4; c++)
            cr_expect_null(of(&w, 0, c), "%s: column %u of the customers", sample[i].name, c);
        cr_expect(w.plan.apart[1] && w.plan.apart[2], "an order is no customer");
        cr_expect_eq(w.plan.under[1], r - w.plan.keys.ref);
        cr_expect_eq(w.plan.under[0], TAB_NULL);
        uint32_t *to = tab_reference_rows(w.v, r);
        for (size_t k = 0; k < ORDERS; k++)
            cr_expect_eq(to[k], draw(k, 10, CUSTOMERS));
        free(to);
        end(&w);
    }
}

Test(keys, what_speaks_for_a_reference_is_said_in_words)
{
    world w = begin();
    style = codes;
    add(&w, "customers", CUSTOMERS, 4, customers);
    add(&w, "orders", 200, 5, orders);
    find(&w);
    const tab_reference *r = of(&w, 1, 1);
    cr_assert_not_null(r);
    char want[160];
    snprintf(want, sizeof want,
             "all %u values of orders.k1 occur among the 300 of customers.k0, which identify its rows",
             r->child_values);
    cr_expect_str_eq(tab_reference_words(w.arena, w.v, r), want);
    end(&w);
}

/* ---- what values cannot tell ----------------------------------------------------------------- */

static void regions(size_t r, size_t col, char out[CELL])
{
    static const char *const name[] = { "north", "south", "east", "west", "centre", "abroad", "sea", "air" };
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else
        snprintf(out, CELL, "%s", name[r % 8]);
}

static void rated(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 500);
    else
        snprintf(out, CELL, "%u", 1 + draw(r, 17, 5)); /* stars, or regions: who can tell */
}

Test(keys, whole_numbers_of_six_values_are_never_said)
{
    world w = begin();
    add(&w, "regions", 8, 2, regions);
    add(&w, "rated", 400, 3, rated);
    find(&w);
    cr_expect_eq(w.plan.keys.n, 0);
    end(&w);
}

/* Pupils are counted, and marks refer to them; so are moves. Rooms tell their places and shelves their load:
 * few numbers that lie among those of the counters. */
static void pupils(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else
        snprintf(out, CELL, "%c%u", 'a' + (int)draw(r, 80, 26), draw(r, 81, 9000));
}

static void marks(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%u", 1 + draw(r, 84, 240));
    else
        snprintf(out, CELL, "2024-%02u-%02u", 1 + draw(r, 85, 12), 1 + draw(r, 86, 28));
}

static void rooms(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "R%zu", 10 + r);
    else
        snprintf(out, CELL, "%u", 12 + draw(r, 82, 48));
}

static void shelves(size_t r, size_t col, char out[CELL])
{
    static const unsigned load[] = { 100, 250, 500 };
    if (col == 0)
        snprintf(out, CELL, "%c%zu", 'A' + (int)(r / 8), 1 + r % 8);
    else
        snprintf(out, CELL, "%u", load[draw(r, 83, 3)]);
}

static void moves(size_t r, size_t col, char out[CELL])
{
    static const unsigned pack[] = { 1, 1, 1, 2, 5, 10, 24 };
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else if (col == 1)
        snprintf(out, CELL, "%c%u", 'A' + (int)draw(r, 87, 5), 1 + draw(r, 88, 8));
    else
        snprintf(out, CELL, "%u", pack[draw(r, 89, 7)]);
}

Test(keys, measures_within_a_counter_refer_to_nothing)
{
    world w = begin();
    add(&w, "pupils", 240, 2, pupils);
    add(&w, "marks", 700, 2, marks);
    add(&w, "rooms", 18, 2, rooms);
    add(&w, "shelves", 40, 2, shelves);
    add(&w, "moves", 900, 3, moves);
    find(&w);
    cr_expect_not_null(of(&w, 1, 0));
    cr_expect_null(of(&w, 2, 1), "places");
    cr_expect_null(of(&w, 3, 1), "loads");
    cr_expect_null(of(&w, 4, 2), "packs");
    end(&w);
}

/* People are counted, and their leave refers to them; what a job pays lies among their numbers. */
static void people(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else if (col == 1)
        snprintf(out, CELL, "%c%u", 'a' + (int)draw(r, 90, 26), draw(r, 91, 9000));
    else
        snprintf(out, CELL, "%u", 21 + draw(r, 92, 118));
}

static void jobs(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "J%c%zu", 'A' + (int)(r % 5), r);
    else if (col == 1)
        snprintf(out, CELL, "%u", 20 + draw(r, 93, 40));
    else
        snprintf(out, CELL, "%u", 61 + draw(r, 94, 80));
}

static void leave(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else if (col == 1)
        snprintf(out, CELL, "%u", 1 + draw(r, 95, 160));
    else
        snprintf(out, CELL, "%u", 1 + draw(r, 96, 5) * draw(r, 97, 5));
}

Test(keys, what_a_job_pays_is_nobody_s_number)
{
    world w = begin();
    add(&w, "people", 160, 3, people);
    add(&w, "jobs", 16, 3, jobs);
    add(&w, "leave", 900, 3, leave);
    find(&w);
    cr_expect_not_null(of(&w, 2, 1));
    cr_expect_null(of(&w, 1, 1), "least");
    cr_expect_null(of(&w, 1, 2), "most");
    cr_expect_null(of(&w, 2, 2), "days");
    end(&w);
}

/* ---- chains and stars ------------------------------------------------------------------------ */

static void items(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%u", 10248 + draw(r, 18, ORDERS));
    else if (col == 1)
        snprintf(out, CELL, "SKU-%u", 100 + draw(r, 19, 60));
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 20, 90), draw(r, 21, 100));
}

static void products(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "SKU-%zu", 100 + r);
    else if (col == 1)
        snprintf(out, CELL, "thing %c%u", 'a' + (int)draw(r, 22, 26), draw(r, 23, 1000));
    else
        snprintf(out, CELL, "%u", draw(r, 24, 500)); /* stock */
}

Test(keys, an_item_hangs_under_its_order_and_keys_do_not_mix)
{
    world w = begin();
    style = counted;
    add(&w, "customers", CUSTOMERS, 4, customers);
    add(&w, "orders", ORDERS, 5, orders);
    add(&w, "items", 4000, 3, items);
    add(&w, "products", 60, 3, products);
    find(&w);
    const tab_reference *customer = of(&w, 1, 1), *order = of(&w, 2, 0), *product = of(&w, 2, 1);
    cr_assert(customer != NULL && order != NULL && product != NULL);
    cr_expect(order->parent_table == 1 && order->parent == 0);
    cr_expect(product->parent_table == 3 && product->parent == 0);
    cr_expect_eq(w.plan.under[2], order - w.plan.keys.ref, "of 1,500 orders, not of 60 products");
    cr_expect_eq(w.plan.under[1], customer - w.plan.keys.ref);
    cr_expect(w.plan.apart[0 * 4 + 3], "customers and products meet in the items alone");
    cr_expect(tab_keys_differ(&w.plan.keys, 0, 0, 1, 0), "a customer's number is no order's");
    cr_expect(!tab_keys_differ(&w.plan.keys, 0, 0, 1, 1));
    cr_expect(tab_keys_differ(&w.plan.keys, 0, 0, 3, 2), "nor is it a stock of products");
    end(&w);
}

/* The same people in a second list, with a column of its own. */
static void again(size_t r, size_t col, char out[CELL])
{
    if (col < 4)
        customers(r < 200 ? (r * 7) % CUSTOMERS : draw(r, 25, CUSTOMERS), col, out);
    else
        snprintf(out, CELL, "%u", draw(r, 26, 90000));
}

Test(keys, rows_that_repeat_the_entity_are_not_held_apart_from_it)
{
    world w = begin();
    style = codes;
    add(&w, "customers", CUSTOMERS, 4, customers);
    add(&w, "visitors", 500, 5, again);
    find(&w);
    cr_assert_not_null(of(&w, 1, 0));
    cr_expect(!w.plan.apart[1]);
    cr_expect_eq(w.plan.under[1], TAB_NULL);
    end(&w);
}

/* Counted readings: a number, two measures. */
static void readings(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else
        snprintf(out, CELL, "%.2f", 20 + draw(r, col, 900) / 100.0);
}

/* Counted people: a number, a code, a quantity. */
static void counted_people(size_t r, size_t col, char out[CELL])
{
    if (col == 0)
        snprintf(out, CELL, "%zu", r + 1);
    else if (col == 1)
        snprintf(out, CELL, "KX-%u", 10000 + draw(r, 31, 90000));
    else
        snprintf(out, CELL, "%u", draw(r, 32, 40));
}

Test(keys, two_lists_that_were_cut_at_a_round_number_are_not_one_to_one)
{
    static const size_t round[] = { 30, 100, 250, 500, 1000 };
    for (size_t i = 0; i < sizeof round / sizeof *round; i++) {
        world w = begin();
        add(&w, "readings", round[i], 3, readings);
        add(&w, "people", round[i], 3, counted_people);
        find(&w);
        cr_expect(of(&w, 0, 0) == NULL && of(&w, 1, 0) == NULL, "%zu rows", round[i]);
        end(&w);
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

Test(keys, a_child_has_one_parent_and_no_circle_is_closed)
{
    /* columns 0, 1, 2: 0 in 1, 0 in 2, 1 in 2, 2 in 0 */
    const tab_inclusion x[] = { { .child = 0, .parent = 1 },
                                { .child = 0, .parent = 2 },
                                { .child = 1, .parent = 2 },
                                { .child = 2, .parent = 0 } };
    float p[] = { 0.9f, 0.8f, 0.7f, 0.6f };
    cr_assert(tab_keys_choose(3, x, 4, p));
    cr_expect(p[0] == 0.9f && p[1] == 0 && p[2] == 0.7f && p[3] == 0);
}
