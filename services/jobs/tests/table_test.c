/* Kept outcomes as a table: rows that tell other columns, in another order, twice or too many. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/jobs/outcomes/table.h"

static Tabella__OutcomeRow row_of(uint32_t kind, double number, const char *text, const char *cells)
{
    Tabella__OutcomeRow o = TABELLA__OUTCOME_ROW__INIT;
    o.kind = kind;
    o.number = number;
    o.text = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
    o.cells = (ProtobufCBinaryData){ strlen(cells), (uint8_t *)(uintptr_t)cells };
    return o;
}

static void add(outcome_table *x, uint32_t kind, double number, const char *text, const char *cells)
{
    Tabella__OutcomeRow o = row_of(kind, number, text, cells);
    tab_error err = { 0 };
    cr_assert_eq(outcome_table_add(x, &o, &err), TAB_OK, "%s", err.message);
}

/* A cell as text: "-" for none. */
static const char *shown(tab_arena *a, const tab_table *t, size_t c, size_t row)
{
    tab_cell v = tab_cell_at(&t->col[c], row);
    return v.kind == TAB_CELL_NULL     ? "-"
           : v.kind == TAB_CELL_NUMBER ? tab_arena_printf(a, "%g", v.num)
                                       : tab_arena_printf(a, "%.*s", TAB_STR(v.text));
}

static void expect(tab_arena *a, const tab_table *t, size_t c, const char *name, const char *const *want)
{
    cr_assert_lt(c, t->cols);
    cr_expect(tab_str_eq(t->col[c].name, tab_str_of(name)), "%s", name);
    for (size_t r = 0; r < t->rows; r++)
        cr_expect_str_eq(shown(a, t, c, r), want[r], "%s, row %zu", name, r);
}

Test(outcome_table, rows_keep_their_cells_whatever_columns_they_tell)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 20);
    outcome_table *x = outcome_table_new(a);
    const tab_table *t = NULL;
    tab_error err = { 0 };
    add(x, 2, 1.5, "", "{\"a\":1,\"b\":\"x\"}");
    add(x, 3, 0, "blue", "{\"b\":\"y\",\"c\":true,\"a\":2}");
    add(x, 1, 1, "", "{}");
    add(x, 1, 0, "", "{\"a\":7,\"b\":null}");
    add(x, 2, -2, "", "{\"c\":false,\"a\":9}");
    cr_assert_eq(outcome_table_end(x, TAB_OK, &t, &err), TAB_OK);
    cr_assert(t != NULL && t->rows == 5 && t->cols == 4 && tab_str_eq(t->id, TAB_S("outcomes")));
    expect(a, t, 0, "outcome", (const char *[]){ "1.5", "blue", "true", "false", "-2" });
    expect(a, t, 1, "a", (const char *[]){ "1", "2", "-", "7", "9" });
    expect(a, t, 2, "b", (const char *[]){ "x", "y", "-", "-", "-" });
    expect(a, t, 3, "c", (const char *[]){ "-", "true", "-", "-", "false" });
}

Test(outcome_table, without_rows_there_is_none_and_an_earlier_failure_stays_one)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 20);
    const tab_table *t = NULL;
    tab_error err = { 0 };
    cr_expect_eq(outcome_table_end(outcome_table_new(a), TAB_OK, &t, &err), TAB_OK);
    cr_expect_null(t);
    outcome_table *x = outcome_table_new(a);
    add(x, 2, 1, "", "{\"a\":1}");
    cr_expect_eq(outcome_table_end(x, TAB_UNAVAILABLE, &t, &err), TAB_UNAVAILABLE);
    cr_expect_null(t);
    Tabella__OutcomeRow broken = row_of(2, 1, "", "{\"a\":");
    x = outcome_table_new(a);
    cr_expect_neq(outcome_table_add(x, &broken, &err), TAB_OK);
    cr_expect_eq(outcome_table_end(x, TAB_INTERNAL, &t, &err), TAB_INTERNAL);
}

Test(outcome_table, columns_are_bounded)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)64 << 20);
    outcome_table *x = outcome_table_new(a);
    const tab_table *t = NULL;
    tab_error err = { 0 };
    char cells[32];
    for (int i = 1; i <= OUTCOME_COLUMNS + 1; i++) {
        snprintf(cells, sizeof cells, "{\"c%d\":%d}", i, i);
        add(x, 2, i, "", cells);
    }
    cr_assert_eq(outcome_table_end(x, TAB_OK, &t, &err), TAB_OK);
    cr_assert(t->cols == OUTCOME_COLUMNS && t->rows == OUTCOME_COLUMNS + 1);
    cr_expect_str_eq(shown(a, t, OUTCOME_COLUMNS - 1, OUTCOME_COLUMNS - 2), "1999", "the last that has room");
    cr_expect_str_eq(shown(a, t, OUTCOME_COLUMNS - 1, OUTCOME_COLUMNS), "-");
}

Test(outcome_table, numbers_keep_the_digits_that_a_double_has_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)8 << 20);
    outcome_table *x = outcome_table_new(a);
    const tab_table *t = NULL;
    tab_error err = { 0 };
    add(x, 2, 1, "", "{\"id\":12345678901234567890}");
    add(x, 2, 1, "", "{\"id\":1e400}");
    cr_assert_eq(outcome_table_end(x, TAB_OK, &t, &err), TAB_OK);
    tab_cell v = tab_cell_at(&t->col[1], 0);
    cr_expect(v.kind == TAB_CELL_TEXT ? tab_str_eq(v.text, TAB_S("12345678901234567890")) : v.num > 1.2e19);
}

Test(outcome_table, what_is_kept_is_of_what_the_endpoint_predicts_now)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    Tabella__OutcomeRow row = row_of(2, 1, "", "{}"), bare = row_of(2, 1, "", "");
    counted c = { .receipt = { .task = TAB_RECEIPT_NUMBER, .config_revision = 4 } };
    e.target_revision = 4;
    cr_expect(outcome_is_kept(&e, &row, &c));
    cr_expect_not(outcome_is_kept(&e, &bare, &c), "its cells are not told");
    e.target_revision = 5;
    cr_expect_not(outcome_is_kept(&e, &row, &c), "another target since");
    e.target_revision = 4;
    c.receipt.task = TAB_RECEIPT_ANOMALY;
    cr_expect_not(outcome_is_kept(&e, &row, &c));
    c.receipt.task = TAB_RECEIPT_CLASS;
    c.receipt.config_revision = 5;
    cr_expect(outcome_is_kept(&e, &row, &c));
}

/* Whatever room there is, a table is whole or refused. */
Test(outcome_table, needs_room_for_all_or_is_none)
{
    size_t refused = 0, whole = 0;
    for (size_t room = 1024; whole < 20 && room < (size_t)1 << 20; room += 32) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(room);
        outcome_table *x = outcome_table_new(a);
        const tab_table *t = NULL;
        tab_error err = { 0 };
        Tabella__OutcomeRow o = row_of(2, 1.5, "", "{\"a\":1}");
        tab_status s = x == NULL ? TAB_UNAVAILABLE : outcome_table_add(x, &o, &err);
        if (x == NULL || outcome_table_end(x, s, &t, &err) != TAB_OK) {
            refused++;
            continue;
        }
        whole++;
        cr_assert(t != NULL && t->rows == 1 && t->cols == 2);
        expect(a, t, 1, "a", (const char *[]){ "1" });
    }
    cr_expect(refused > 0 && whole == 20);
}
