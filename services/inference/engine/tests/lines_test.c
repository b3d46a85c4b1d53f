/* Lines of orders, parcels that refer to them by order and line, and staff with their managers: what a
 * whole run says of them. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/engine.h"
#include "services/inference/engine/features/mix.h"

enum { LINES, PARCELS, STAFF, TABLES };
enum { ORDERS = 150, PER_ORDER = 4, PARCEL_ROWS = 300, STAFF_ROWS = 120, COLUMNS = 4 };

static uint32_t draw(uint64_t a, uint64_t b, uint32_t n)
{
    return (uint32_t)(tab_unit(tab_mix2(a + 1, b + 7)) * n);
}

/* Lines of an order: 2 or PER_ORDER, in turn. */
static void line_at(uint32_t i, uint32_t *order, uint32_t *line)
{
    uint32_t two = 2 + PER_ORDER;
    *order = 2 * (i / two) + (i % two >= 2);
    *line = i % two < 2 ? i % two : i % two - 2;
}

enum { LINE_ROWS = ORDERS / 2 * (2 + PER_ORDER) };

static uint32_t line_of(uint32_t parcel)
{
    return draw(parcel, 1, LINE_ROWS);
}

static void cell(int table, uint32_t r, size_t c, tab_builder *b)
{
    uint32_t order, line, i = r * 77 % STAFF_ROWS;
    char text[32];
    line_at(table == PARCELS ? line_of(r) : r, &order, &line);
    if (table != STAFF && c < 2) {
        tab_builder_number(b, c == 0 ? 5001 + 3 * order : 1 + line);
    } else if (table == STAFF && c == 0) {
        tab_builder_number(b, 301 + 7 * i);
    } else if (table == STAFF && c == 1) {
        if (i == 0)
            tab_builder_null(b);
        else
            tab_builder_number(b, 301 + 7 * draw(i, 2, 1 + i / 5));
    } else if (c == 2) {
        snprintf(text, sizeof text, "%c%c%c %u", 'A' + (int)draw(r, 3, 26), 'a' + (int)draw(r, 4, 26),
                 'a' + (int)draw(r, 5, 26), draw(r, 6, 1000) + 1000 * (unsigned)table);
        tab_builder_text(b, tab_str_of(text));
    } else {
        tab_builder_number(b, 0.25 * draw(r, 7 + (uint64_t)table, 4000));
    }
}

static const Tabella__TableRelation *relation(const Tabella__CrossTableMap *m, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < m->n_relation; i++)
        if (m->relation[i]->a_table == a && m->relation[i]->b_table == b)
            return m->relation[i];
    return NULL;
}

Test(lines, parcels_hang_under_what_lines_are_and_managers_are_staff)
{
    static const uint32_t rows[TABLES] = { LINE_ROWS, PARCEL_ROWS, STAFF_ROWS };
    static const char *const id[TABLES] = { "lines", "parcels", "staff" };
    tab_arena *a = tab_arena_new(SIZE_MAX / 2);
    tab_table t[TABLES];
    const tab_table *all[TABLES];
    for (int k = 0; k < TABLES; k++) {
        tab_column *col = tab_arena_new_of(a, tab_column, COLUMNS);
        for (size_t c = 0; c < COLUMNS; c++) {
            tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%zu", c)));
            for (uint32_t r = 0; r < rows[k]; r++)
                cell(k, r, c, b);
            cr_assert(tab_builder_finish(b, &col[c]));
        }
        t[k] = (tab_table){ .id = tab_str_of(id[k]), .rows = rows[k], .cols = COLUMNS, .col = col };
        all[k] = &t[k];
    }
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.target = TAB_TARGET_NONE;
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_engine_run(&e, all, TABLES, &o, &b, &err), TAB_OK, "%s", err.message);
    const Tabella__CrossTableMap *m = b->cross_table_map;

    const Tabella__TableRelation *r = relation(m, LINES, PARCELS);
    cr_assert_not_null(r);
    cr_expect_str_eq(r->relation, "one_to_many", "%s", r->evidence);
    cr_expect(r->key && r->confidence >= 0.89, "%g", r->confidence);
    cr_expect_eq(r->matches, PARCEL_ROWS);
    cr_assert(r->n_a_columns == 2 && r->n_b_columns == 2);
    for (uint32_t c = 0; c < 2; c++)
        cr_expect(r->a_columns[c]->column == c && r->b_columns[c]->column == c);

    r = relation(m, STAFF, STAFF);
    cr_assert_not_null(r);
    cr_expect_str_eq(r->relation, "many_to_one");
    cr_expect(r->n_a_columns == 1 && r->a_columns[0]->column == 1);
    cr_expect(r->n_b_columns == 1 && r->b_columns[0]->column == 0);
    cr_expect_eq(r->matches, STAFF_ROWS - 1);
    cr_expect_not_null(strstr(r->evidence, "no row refers back to itself"), "%s", r->evidence);
    for (size_t i = 0; i < m->n_shared; i++)
        for (size_t k = 0; k < m->shared[i]->n_from; k++)
            cr_expect(m->shared[i]->from[k]->table != STAFF || m->shared[i]->from[k]->column > 1,
                      "a manager is no attribute in common");

    const Tabella__UnifiedRows *u = b->unified_rows;
    cr_assert_eq(u->n_child_row, PARCEL_ROWS);
    for (size_t i = 0; i < u->n_child_row; i++) {
        cr_assert_eq(u->child_table[i], PARCELS);
        cr_expect_eq(u->from_row[u->child_entity[i] * TABLES + LINES], line_of(u->child_row[i]));
    }
    tab_arena_free(a);
}
