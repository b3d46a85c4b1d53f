/* What a row is, row indexes, and keys of three columns, on tables of a shop, a league and weather
 * stations. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/keys/plan.h"

enum { CELL = 40, CUSTOMERS = 120, ORDERS = 600, TABLES = 5 };

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 1, b + 7)) * n);
}

/* A cell of column c of row r as text; digits become numbers, nothing null. */
typedef void cell_of(uint32_t r, size_t c, char out[CELL]);

typedef struct {
    tab_arena *arena;
    size_t n;
    tab_table table[TABLES];
    tab_views *v;
    tab_key_plan plan;
} world;

static world begin(void)
{
    return (world){ .arena = tab_arena_new(SIZE_MAX / 2) };
}

/* index: a column that counts the rows stands before all others. */
static void add(world *w, const char *id, uint32_t rows, size_t cols, bool index, cell_of *cell)
{
    tab_column *col = tab_arena_new_of(w->arena, tab_column, cols + index);
    for (size_t c = 0; c < cols + index; c++) {
        tab_builder *b = tab_builder_new(w->arena, tab_str_of(tab_arena_printf(w->arena, "k%zu", c)));
        for (uint32_t r = 0; r < rows; r++) {
            char text[CELL], *end;
            if (index && c == 0)
                snprintf(text, CELL, "%u", r);
            else
                cell(r, c - index, text);
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
    w->table[w->n++] = (tab_table){ .id = tab_str_of(id), .rows = rows, .cols = cols + index, .col = col };
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

/* ---- a shop ------------------------------------------------------------------------------------- */

static void code(uint32_t i, char out[CELL])
{
    snprintf(out, CELL, "C-%05u", 10000 + i * 37 % 90000);
}

static void customers(uint32_t r, size_t c, char out[CELL])
{
    static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon" };
    if (c == 0)
        code(r, out);
    else if (c == 1)
        snprintf(out, CELL, "%c%c%c Street %u", 'A' + (int)draw(r, 1, 26), 'a' + (int)draw(r, 2, 26),
                 'a' + (int)draw(r, 3, 26), 1 + draw(r, 4, 400));
    else
        snprintf(out, CELL, "%s", town[draw(r, 5, 6)]);
}

/* Each repeats its customer's address. */
static void orders(uint32_t r, size_t c, char out[CELL])
{
    uint32_t customer = draw(r, 10, CUSTOMERS);
    if (c == 0)
        snprintf(out, CELL, "SO%07u", 1000000 + r * 91 % 8000000);
    else if (c == 1)
        code(customer, out);
    else if (c == 2)
        snprintf(out, CELL, "2024-%02u-%02u", 1 + draw(r, 11, 12), 1 + draw(r, 12, 28));
    else if (c == 3)
        customers(customer, 1, out);
    else if (c == 4)
        customers(customer, 2, out);
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 15, 400), draw(r, 16, 100));
}

static void items(uint32_t r, size_t c, char out[CELL])
{
    if (c == 0)
        orders(draw(r, 20, ORDERS), 0, out);
    else if (c == 1)
        snprintf(out, CELL, "%u", 1 + draw(r, 21, 30));
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 22, 90), draw(r, 23, 100));
}

static void shop(world *w, bool index)
{
    add(w, "customers", CUSTOMERS, 3, index, customers);
    add(w, "orders", ORDERS, 6, index, orders);
    add(w, "items", 2000, 3, index, items);
    find(w);
}

Test(grain, a_shop_has_things_and_lines_of_them)
{
    world w = begin();
    shop(&w, false);
    const tab_grain *g = w.plan.grain;
    cr_expect(g[0].kind == TAB_GRAIN_ENTITY && g[0].n == 1 && g[0].of[0] == 0);
    cr_expect(g[1].kind == TAB_GRAIN_ENTITY && g[1].n == 1 && g[1].of[0] == 0);
    cr_expect(g[2].kind == TAB_GRAIN_LINE && g[2].n == 1 && g[2].of[0] == 0);
    end(&w);
}

Test(grain, an_order_with_its_customers_address_refers_and_is_no_customer)
{
    world w = begin();
    shop(&w, false);
    cr_expect(w.plan.apart[0 * 3 + 1] && w.plan.apart[1 * 3 + 0]);
    size_t between = 0;
    for (size_t i = 0; i < w.plan.keys.n; i++) {
        const tab_reference *r = &w.plan.keys.ref[i];
        if (r->p < 0.5 || r->child_table != 1 || r->parent_table != 0)
            continue;
        between++;
        cr_expect(r->child == 1 && r->parent == 0, "by the customer's code, not by the address");
        cr_expect_not(w.plan.again[i]);
    }
    cr_expect_eq(between, 1);
    end(&w);
}

/* ---- a row index -------------------------------------------------------------------------------- */

Test(counters, an_index_in_every_table_changes_no_reference)
{
    world a = begin(), b = begin();
    shop(&a, false);
    shop(&b, true);
    size_t n = 0, m = 0;
    for (size_t i = 0; i < a.plan.keys.n; i++)
        n += a.plan.keys.ref[i].p >= 0.5;
    for (size_t i = 0; i < b.plan.keys.n; i++)
        m += b.plan.keys.ref[i].p >= 0.5;
    cr_expect(n == 2 && m == n, "%zu with, %zu without", m, n);
    for (size_t i = 0; i < b.plan.keys.n; i++) {
        const tab_reference *r = &b.plan.keys.ref[i];
        cr_expect(r->p < 0.5 || (r->child > 0 && r->parent > 0), "no index refers or is referred to");
    }
    for (size_t t = 0; t < 3; t++) {
        cr_expect(b.plan.keys.counted[t][0]);
        cr_expect_eq(b.plan.keys.domain[t][0], TAB_NULL);
        cr_expect_eq(b.plan.grain[t].kind, a.plan.grain[t].kind);
    }
    end(&a);
    end(&b);
}

/* ---- a league: a match by season, round and home team --------------------------------------------- */

enum { SEASONS = 6, ROUNDS = 10, TEAMS = 8 };

static void match_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t season = r / (ROUNDS * TEAMS / 2), round = r / (TEAMS / 2) % ROUNDS, game = r % (TEAMS / 2);
    uint32_t home = (game * 2 + round + season) % TEAMS;
    if (c == 0)
        snprintf(out, CELL, "season %u", 2010 + season);
    else if (c == 1)
        snprintf(out, CELL, "round %c", 'A' + (int)round);
    else if (c == 2)
        snprintf(out, CELL, "team %c%c", 'K' + (int)home, 'a' + (int)home);
    else
        snprintf(out, CELL, "%u", draw(r, 30, 60000));
}

static void goal_cell(uint32_t r, size_t c, char out[CELL])
{
    uint32_t of = draw(r, 31, SEASONS * ROUNDS * TEAMS / 2);
    if (c < 3)
        match_cell(of, c, out);
    else
        snprintf(out, CELL, "%u", 1 + draw(r, 32, 90));
}

Test(key_sets, goals_refer_to_a_match_by_three_columns)
{
    world w = begin();
    add(&w, "matches", SEASONS * ROUNDS * TEAMS / 2, 4, false, match_cell);
    add(&w, "goals", 700, 4, false, goal_cell);
    find(&w);
    const tab_reference *r = NULL;
    for (size_t i = 0; i < w.plan.keys.n; i++)
        if (w.plan.keys.ref[i].child_table == 1 && w.plan.keys.ref[i].also > 0)
            r = &w.plan.keys.ref[i];
    cr_assert_not_null(r);
    cr_expect(r->parent_table == 0 && r->also == 2 && r->held == r->child_values);
    uint32_t *to = tab_reference_rows(w.v, r);
    for (uint32_t i = 0; i < 700; i++)
        cr_expect_eq(to[i], draw(i, 31, SEASONS * ROUNDS * TEAMS / 2));
    free(to);
    end(&w);
}

/* ---- weather stations ----------------------------------------------------------------------------- */

static uint32_t first_day;

static void reading(uint32_t r, size_t c, char out[CELL])
{
    uint32_t station = r % 12, day = first_day + r / 12;
    if (c == 0)
        snprintf(out, CELL, "Station %c%c", 'A' + (int)station, 'z' - (int)station);
    else if (c == 1)
        snprintf(out, CELL, "20%02u-%02u-%02u", 10 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
    else
        snprintf(out, CELL, "%u.%u", draw(r + first_day, 40 + c, 35), draw(r, 50 + c, 10));
}

Test(grain, readings_are_observations_of_stations_and_none_is_another_years)
{
    world w = begin();
    first_day = 0;
    add(&w, "early", 12 * 40, 4, false, reading);
    first_day = 400;
    add(&w, "late", 12 * 40, 4, false, reading);
    find(&w);
    for (size_t t = 0; t < 2; t++) {
        const tab_grain *g = &w.plan.grain[t];
        cr_expect(g->kind == TAB_GRAIN_OBSERVATION && g->n == 1 && g->of[0] == 0 && g->when == 1, "table %zu",
                  t);
    }
    cr_expect(w.plan.moments[1] && w.plan.moments[2]);
    end(&w);
}

Test(grain, one_table_tells_alone)
{
    world w = begin();
    first_day = 0;
    add(&w, "readings", 12 * 40, 4, false, reading);
    find(&w);
    cr_expect(w.plan.grain->kind == TAB_GRAIN_OBSERVATION && w.plan.grain->of[0] == 0);
    end(&w);
}

Test(grain, a_table_without_rows_is_told)
{
    world w = begin();
    add(&w, "none", 0, 2, false, customers);
    find(&w);
    cr_expect(w.plan.grain->kind == TAB_GRAIN_ENTITY && w.plan.grain->n == 0);
    end(&w);
}

/* ---- who hired whom ------------------------------------------------------------------------------- */

static void staff(uint32_t r, size_t c, char out[CELL])
{
    static const char *const boss[] = { "", "1", "2", "2", "2", "1", "6", "6" };
    if (c == 0)
        snprintf(out, CELL, "%u", r + 1);
    else if (c == 1)
        snprintf(out, CELL, "%c. %c%c%c", 'A' + (int)r, 'K' + (int)draw(r, 60, 10),
                 'a' + (int)draw(r, 61, 26), 'a' + (int)draw(r, 62, 26));
    else
        snprintf(out, CELL, "%s", boss[r]);
}

static void unrelated(uint32_t r, size_t c, char out[CELL])
{
    snprintf(out, CELL, c == 0 ? "x%u" : "%u.5", c == 0 ? r * 7919 % 5000 : draw(r, 63, 50));
}

Test(within, eight_people_of_whom_three_lead_others)
{
    world w = begin();
    add(&w, "staff", 8, 3, false, staff);
    add(&w, "other", 50, 2, false, unrelated);
    find(&w);
    bool found = false;
    for (size_t i = 0; i < w.plan.keys.n; i++) {
        const tab_reference *r = &w.plan.keys.ref[i];
        found = found || (r->child_table == 0 && r->parent_table == 0 && r->child == 2 && r->parent == 0);
    }
    cr_expect(found, "each leads to one who was there before, which chance hardly does");
    end(&w);
}

/* Accounts in their order, each below the last one that ends in two zeros. */
static void chart(uint32_t r, size_t c, char out[CELL])
{
    uint32_t own = 1000 + r / 12 * 700 + r % 12 * 30;
    if (c == 0)
        snprintf(out, CELL, "%u", own);
    else if (c == 1)
        snprintf(out, CELL, "account %c%u", 'a' + (int)draw(r, 64, 26), draw(r, 65, 900));
    else
        snprintf(out, CELL, r % 12 == 0 ? "" : "%u", 1000 + r / 12 * 700);
}

Test(within, a_chart_in_its_order_leads_to_its_heads)
{
    world w = begin();
    add(&w, "accounts", 72, 3, false, chart);
    add(&w, "other", 50, 2, false, unrelated);
    find(&w);
    bool found = false;
    for (size_t i = 0; i < w.plan.keys.n; i++) {
        const tab_reference *r = &w.plan.keys.ref[i];
        found = found || (r->child_table == 0 && r->parent_table == 0 && r->child == 2 && r->parent == 0);
    }
    cr_expect(found, "six numbers of nine in a hundred are held");
    end(&w);
}

/* ---- rates of a day --------------------------------------------------------------------------------- */

static void day_of(uint32_t r, char out[CELL])
{
    snprintf(out, CELL, "2023-%02u-%02u", 1 + r / 28 % 12, 1 + r % 28);
}

static void entries(uint32_t r, size_t c, char out[CELL])
{
    static const char *const money[] = { "EUR", "USD", "GBP", "CHF", "SEK" };
    if (c == 0)
        snprintf(out, CELL, "%u", 20001 + r);
    else if (c == 1)
        day_of(draw(r, 66, 60), out);
    else
        snprintf(out, CELL, "%s", money[draw(r, 67, 5)]);
}

static void entry_lines(uint32_t r, size_t c, char out[CELL])
{
    if (c == 0)
        snprintf(out, CELL, "%u", 20001 + draw(r, 68, 300));
    else
        snprintf(out, CELL, "%u.%02u", draw(r, 69, 400), draw(r, 70, 100));
}

static void rates(uint32_t r, size_t c, char out[CELL])
{
    static const char *const money[] = { "EUR", "USD", "GBP", "CHF", "SEK" };
    if (c == 0)
        day_of(r / 5, out);
    else if (c == 1)
        snprintf(out, CELL, "%s", money[r % 5]);
    else
        snprintf(out, CELL, "%u.%04u", draw(r, 71, 2), draw(r, 72, 10000));
}

Test(grain, a_rate_of_the_day_is_no_entry)
{
    world w = begin();
    add(&w, "entries", 300, 3, false, entries);
    add(&w, "lines", 900, 2, false, entry_lines);
    add(&w, "rates", 300, 3, false, rates);
    find(&w);
    cr_expect_eq(w.plan.grain[0].kind, TAB_GRAIN_ENTITY);
    cr_expect_eq(w.plan.grain[2].kind, TAB_GRAIN_OBSERVATION);
    cr_expect(w.plan.moments[0 * 3 + 2] && w.plan.moments[2 * 3 + 0]);
    cr_expect(!w.plan.moments[0 * 3 + 1]);
    end(&w);
}
