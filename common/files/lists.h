/* Lists of objects in the cells of a table that was read from JSON, as tables of their own: an order's items
 * are rows of a table that refers to the orders.
 *
 *   orders  id  items                      orders  id      orders_items  orders_id  sku  pieces
 *            1  [{"sku": "A", "pieces": 2},         1                            1  A         2
 *                {"sku": "B", "pieces": 1}]                                      1  B         1
 *
 * A column is taken out where all that it holds are such lists, or empty ones; one of plain values stays a
 * text. The key is a column of the table whose values are all there and all distinct, of whole numbers or
 * texts, id before others; where there is none, the table gets a column `row`, counted from 1. */
#ifndef TAB_FILES_LISTS_H
#define TAB_FILES_LISTS_H

#include "common/table/table.h"

typedef struct {
    const tab_table
        *table;   /* its first column refers to the key of t, if that has several rows; its id is t's */
    tab_str path; /* the column it was */
} tab_lists_table;

/* *ret_rest: the table without its lists, t itself where it has none, NULL where nothing else is in it. ret:
 * (most) of at most so many columns and cells each; lists beyond stay texts. Errors: INTERNAL (memory). */
tab_status tab_lists_part(tab_arena *a, const tab_table *t, size_t cols, uint64_t cells, size_t most,
                          const tab_table **ret_rest, tab_lists_table *ret, size_t *ret_n,
                          tab_error *err) TAB_CHECKED;

#endif
