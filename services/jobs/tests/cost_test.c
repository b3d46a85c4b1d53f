/* What a refresh bills: rows that are new or other at its own rate, those that stayed at the cached one. */
#include <criterion/criterion.h>

#include "services/jobs/jobs.h"

typedef struct {
    size_t n;
    const char *op[4];
    uint64_t cells[4];
} lines;

static void add(void *to, const char *op, uint64_t cells)
{
    lines *l = to;
    l->op[l->n] = op;
    l->cells[l->n++] = cells;
}

Test(cost, rows_that_stayed_are_billed_as_cached)
{
    refresh_cells c = { 0 };
    lines l = { 0 };
    Tabella__RowDiff d = TABELLA__ROW_DIFF__INIT;
    d.rows_added = 3;
    d.rows_changed = 2;
    d.rows_unchanged = 100;
    d.rows_removed = 7; /* costs nothing */
    refresh_cells_add(&c, &d, 4);
    refresh_cells_add(&c, &d, 1);
    refresh_bill(&c, add, &l);
    cr_assert_eq(l.n, 2);
    cr_expect_str_eq(l.op[0], "refresh");
    cr_expect_eq(l.cells[0], 5 * 4 + 5);
    cr_expect_str_eq(l.op[1], "cached");
    cr_expect_eq(l.cells[1], 100 * 4 + 100);
}

Test(cost, nothing_is_no_line)
{
    refresh_cells c = { 0 };
    lines l = { 0 };
    refresh_bill(&c, add, &l);
    cr_expect_eq(l.n, 0);
    c.kept = 1;
    refresh_bill(&c, add, &l);
    cr_assert_eq(l.n, 1);
    cr_expect_str_eq(l.op[0], "cached");
}

Test(cost, a_change_of_columns_is_told_under_the_table_s_name)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    Tabella__PinnedDataset d = TABELLA__PINNED_DATASET__INIT;
    Tabella__RowDiff diff = TABELLA__ROW_DIFF__INIT;
    char *names[] = { (char *)"a", (char *)"b", (char *)"c" };
    d.dataset = (char *)"ds_1";
    d.name = (char *)"orders.csv";
    diff.columns_removed = names, diff.n_columns_removed = 1;
    diff.columns_added = names + 1, diff.n_columns_added = 2;
    diff.types_changed = names, diff.n_types_changed = 3;
    Tabella__SchemaChange *x = schema_change(a, &d, &diff);
    cr_assert_not_null(x);
    cr_expect_str_eq(x->name, "orders.csv", "the dataset's where the table has none");
    cr_expect(x->n_removed == 1 && x->n_added == 2 && x->n_retyped == 3 && x->added == names + 1);
    d.table_id = (ProtobufCBinaryData){ 1, (uint8_t *)(uintptr_t) "o" };
    cr_expect_str_eq(schema_change(a, &d, &diff)->name, "o");
}

Test(cost, one_cell_is_a_line)
{
    refresh_cells c = { .fresh = 1 };
    lines l = { 0 };
    refresh_bill(&c, add, &l);
    cr_assert_eq(l.n, 1);
    cr_expect(strcmp(l.op[0], "refresh") == 0 && l.cells[0] == 1);
}

Test(cost, only_a_connection_has_rows_that_are_newer_than_the_pinned_ones)
{
    cr_expect(refresh_reads_source("conn_1"));
    cr_expect_not(refresh_reads_source("upload"));
    cr_expect_not(refresh_reads_source("generate"));
}
