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
