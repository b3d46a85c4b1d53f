/* Columns of one table that make up one of the other, as a first and a last name a full one ("Anna", "Meza":
 * "Meza, Anna"), over rows that seem to match. */
#ifndef TAB_ALIGN_COMPOSED_H
#define TAB_ALIGN_COMPOSED_H

#include "services/inference/engine/align/align.h"

/* Over how many pairs of rows, and in which share of them beyond chance. */
typedef struct {
    float pairs, share;
} tab_composed;

/* ret (cols of a, cols of b), of share 0 where nothing is composed: of the columns that make up another
 * one with more values than each of them, the one with most values stands for all. shared (rows->n): what
 * the words that both rows hold weigh, as in agreement.h. */
void tab_composed_find(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                       const tab_row_pairs *rows, const float *shared, tab_composed *ret);
#endif
