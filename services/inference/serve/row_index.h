/* Which rows of a table share the rarest words and word pieces with a given row: blocking for serve calls,
 * over rows that stay while the queries come one by one.
 *
 *   cell ─> lower-case words, and the 3-grams of its letters and digits ─> 2^18 hashed features
 *   row  ─> its distinct features; index: feature -> rows
 *   score(query, row) = sum of idf^2 over shared features / sqrt(sum of idf^2 over the row's)
 *
 * A query reads its features from the rarest on until it has spent its budget of postings. It depends on the
 * indexed rows and the query row alone. Column names are not read, and neither is which column a cell is
 * in. */
#ifndef TAB_INFERENCE_ROW_INDEX_H
#define TAB_INFERENCE_ROW_INDEX_H

#include "common/table/table.h"
#include "services/inference/engine/pack/pack.h"

typedef struct tab_row_index tab_row_index;

/* In the arena; NULL when it is full. */
tab_row_index *tab_row_index_new(tab_arena *a, const tab_table *t);
tab_pack_fn tab_pack_row_index; /* a pointer to one */

/* The `most` likest rows to row `row` of q, likest first, ties by row; returns how many share anything.
 * scratch belongs to one caller at a time and is made by tab_row_index_scratch (in its arena). */
typedef struct tab_row_index_space tab_row_index_space;
tab_row_index_space *tab_row_index_scratch(tab_arena *a, const tab_row_index *x);
size_t tab_row_index_rows(const tab_row_index *x, tab_row_index_space *scratch, const tab_table *q,
                          size_t row, size_t most, uint32_t *ret);

#endif
