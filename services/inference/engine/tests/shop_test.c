/* A shop of four tables, without a word of what they are: customers, their orders, the orders' items, the
 * products. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/engine.h"

enum { CUSTOMERS = 300, ORDERS = 1500, ITEMS = 3000, PRODUCTS = 60, TABLES = 4, COLUMNS = 4 };
enum { CUSTOMER, ORDER, ITEM, PRODUCT };

static uint32_t draw(size_t a, size_t b, uint32_t n)
{
    uint64_t s = (a + 1) * 0x9e3779b97f4a7c15u ^ (b + 7) * 0xd6e8feb86659fd93u;
    s = (s ^ (s >> 31)) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((s ^ (s >> 29)) >> 20) % n;
}

static uint32_t customer_of(size_t order)
{
    return draw(order, 1, CUSTOMERS);
}

static uint32_t order_of(size_t item)
{
    return draw(item, 2, ORDERS);
}

/* All keys are counted up from 1 on, but those of orders. */
static void cell(int table, size_t r, size_t c, tab_builder *b)
{
    static const char *const town[] = { "Lisbon", "Turin", "Graz", "Bergen", "Leeds", "Lyon" };
    char text[48];
    switch (10 * table + (int)c) {
    case 10 * CUSTOMER:
    case 10 * PRODUCT:
        tab_builder_number(b, (double)r + 1);
        return;
    case 10 * CUSTOMER + 1:
        snprintf(text, sizeof text, "c%u@mail.example", draw(r, 3, 1000000));
        break;
    case 10 * CUSTOMER + 2:
        snprintf(text, sizeof text, "%s", town[draw(r, 4, 6)]);
        break;
    case 10 * CUSTOMER + 3:
        tab_builder_number(b, 18 + draw(r, 5, 60));
        return;
    case 10 * ORDER:
    case 10 * ITEM:
        tab_builder_number(b, 10248 + (table == ORDER ? r : order_of(r)));
        return;
    case 10 * ORDER + 1:
        tab_builder_number(b, 1 + customer_of(r));
        return;
    case 10 * ORDER + 2:
        snprintf(text, sizeof text, "2024-%02u-%02u", 1 + draw(r, 6, 12), 1 + draw(r, 7, 28));
        break;
    case 10 * ITEM + 1:
        tab_builder_number(b, 1 + draw(r, 8, PRODUCTS));
        return;
    case 10 * ITEM + 2:
        tab_builder_number(b, 1 + draw(r, 9, 4) * draw(r, 10, 4)); /* a quantity */
        return;
    case 10 * PRODUCT + 1:
        snprintf(text, sizeof text, "thing %c%u", 'a' + (int)draw(r, 11, 26), draw(r, 12, 1000));
        break;
    default: /* sums and prices */
        tab_builder_number(b, draw(r, 13 + c, 40000) / 100.0);
        return;
    }
    tab_builder_text(b, tab_str_of(text));
}

static Tabella__Bundle *shop(tab_arena *a)
{
    static const char *const id[] = { "customers", "orders", "items", "products" };
    static const size_t rows[] = { CUSTOMERS, ORDERS, ITEMS, PRODUCTS };
    static tab_table table[TABLES];
    const tab_table *tables[TABLES];
    for (int t = 0; t < TABLES; t++) {
        tab_column *col = tab_arena_new_of(a, tab_column, COLUMNS);
        for (size_t c = 0; c < COLUMNS; c++) {
            tab_builder *b = tab_builder_new(a, TAB_S(""));
            for (size_t r = 0; r < rows[t]; r++)
                cell(t, r, c, b);
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        table[t] = (tab_table){ .id = tab_str_of(id[t]), .rows = rows[t], .cols = COLUMNS, .col = col };
        tables[t] = &table[t];
    }
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    Tabella__Bundle *b;
    tab_error err = { 0 };
    cr_assert_eq(tab_engine_run(&e, tables, TABLES, &o, &b, &err), TAB_OK, "%s", err.message);
    return b;
}

/* The only relation between two tables. */
static const Tabella__TableRelation *relation(const Tabella__CrossTableMap *m, uint32_t a, uint32_t b)
{
    const Tabella__TableRelation *found = NULL;
    for (size_t i = 0; i < m->n_relation; i++)
        if (m->relation[i]->a_table == a && m->relation[i]->b_table == b) {
            cr_expect_null(found);
            found = m->relation[i];
        }
    return found;
}

Test(shop, orders_stay_orders_under_their_customers)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    Tabella__Bundle *b = shop(a);
    const Tabella__CrossTableMap *m = b->cross_table_map;
    static const struct {
        uint32_t a, b, a_column, b_column;
        const char *relation;
        size_t matches;
    } want[] = { { CUSTOMER, ORDER, 0, 1, "one_to_many", ORDERS },
                 { ORDER, ITEM, 0, 0, "one_to_many", ITEMS },
                 { ITEM, PRODUCT, 1, 0, "many_to_one", ITEMS } };
    cr_expect_eq(m->n_relation, 3);
    for (size_t i = 0; i < 3; i++) {
        const Tabella__TableRelation *r = relation(m, want[i].a, want[i].b);
        cr_assert_not_null(r, "tables %u and %u", want[i].a, want[i].b);
        cr_expect_str_eq(r->relation, want[i].relation);
        cr_expect(r->key && r->confidence >= 0.5 && r->confidence <= 1 && *r->evidence != 0);
        cr_expect_eq(r->matches, want[i].matches);
        cr_assert(r->n_a_columns == 1 && r->n_b_columns == 1);
        cr_expect_eq(r->a_columns[0]->column, want[i].a_column);
        cr_expect_eq(r->b_columns[0]->column, want[i].b_column);
    }
    cr_expect_eq(m->entity_matches->n_a_row, 0, "no row is another");

    const Tabella__UnifiedRows *u = b->unified_rows;
    cr_expect_eq(u->records->rows, CUSTOMERS + PRODUCTS);
    cr_assert_eq(u->n_child_row, ORDERS + ITEMS);
    bool seen[2][ITEMS] = { { false } };
    for (size_t i = 0; i < u->n_child_row; i++) {
        uint32_t t = u->child_table[i], row = u->child_row[i];
        cr_assert(t == ORDER || t == ITEM);
        cr_expect(!seen[t == ITEM][row], "row %u of table %u hangs once", row, t);
        seen[t == ITEM][row] = true;
        const uint32_t *from = u->from_row + u->child_entity[i] * TABLES;
        cr_expect_eq(from[CUSTOMER], customer_of(t == ITEM ? order_of(row) : row));
    }
    tab_arena_free(a);
}

Test(shop, attributes_that_mean_different_keys_are_not_merged)
{
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    const Tabella__CrossTableMap *m = shop(a)->cross_table_map;
    cr_expect_eq(m->n_shared, 3, "the keys of customers, orders and products");
    for (size_t i = 0; i < m->n_shared; i++) {
        cr_assert_eq(m->shared[i]->n_from, 2);
        const Tabella__ColumnRef *x = m->shared[i]->from[0], *y = m->shared[i]->from[1];
        bool key = (x->table == CUSTOMER && x->column == 0 && y->table == ORDER && y->column == 1) ||
                   (x->table == ORDER && x->column == 0 && y->table == ITEM && y->column == 0) ||
                   (x->table == ITEM && x->column == 1 && y->table == PRODUCT && y->column == 0);
        cr_expect(key, "%u.%u with %u.%u", x->table, x->column, y->table, y->column);
    }
    tab_arena_free(a);
}
