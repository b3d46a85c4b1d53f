/* The record of totals that spreadsheets end with: no entity, and every learner and sum would be misled.
 *
 * It is the last row (behind it, only rows without any value), and every number in it is the sum of its
 * column, of at least three rows above. One such sum at least is of three numbers that are not 0. Of the
 * other cells one is filled and says "total" or its like; or none is, and two sums at least are of that
 * kind. */
#ifndef TAB_FILES_TOTAL_H
#define TAB_FILES_TOTAL_H

#include "common/table.h"

/* Cuts that row off t, whose columns are col; true when there was one. */
bool tab_total_row_cut(tab_table *t, tab_column *col);

#endif
