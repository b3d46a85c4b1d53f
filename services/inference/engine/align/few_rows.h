/* Columns of a table of a few rows beside another one: a handful of values says nothing of how a column
 * looks, but one row that stands in both tables says which columns are one. */
#ifndef TAB_ALIGN_FEW_ROWS_H
#define TAB_ALIGN_FEW_ROWS_H

#include "services/inference/engine/align/align.h"

/* Whether one of them is so short that this is asked. */
static inline bool tab_few_rows_asked(const tab_table_view *a, const tab_table_view *b)
{
    return a->rows < 20 || b->rows < 20;
}

/* Log-odds that column i of a and column j of b hold one attribute, by the pairs of rows that agree beyond
 * chance: ret[i * b->cols + j], 0 where none do. */
void tab_few_rows(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                  const tab_row_pairs *rows, float *ret);

#endif
