/* JSON and NDJSON as a table. The elements of an array, or each value of a stream of values, are the rows; a
 * single object with exactly one member that is an array of objects is that array; any other object is one
 * row. Objects inside a row are flattened to "a.b"; an array is one cell, as JSON text. A column is a name,
 * in order of first sight; where a row has no such member the cell is null. An element that is no object is
 * the cell of a column "value". */
#ifndef TAB_FILES_JSON_ROWS_H
#define TAB_FILES_JSON_ROWS_H

#include "common/table/table.h"

/* text is UTF-8, text.p[text.n] readable and 0. Errors: VALIDATION (the grammar, with the byte; depth; more
 * than `cols` columns or `cells` cells; a name twice in a row; nothing there), INTERNAL (memory). */
tab_status tab_json_rows_read(tab_arena *a, tab_str text, tab_str id, size_t cols, uint64_t cells,
                              const tab_table **ret, tab_error *err) TAB_CHECKED;

/* The cells of a column that are there, each a list as JSON text: their elements are the rows. parent[i]: the
 * row of the cell that row i stood in. err is needed. Errors: as above. */
tab_status tab_json_lists_read(tab_arena *a, const tab_column *c, size_t rows, tab_str id, size_t cols,
                               uint64_t cells, const tab_table **ret, const uint32_t **ret_parent,
                               tab_error *err) TAB_CHECKED;

#endif
