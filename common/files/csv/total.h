/* The record of totals that spreadsheets end with: no entity, and every learner and sum would be misled.
 *
 * It is the last row (behind it, only rows without any value). One of its cells says "total" or its like,
 * wherever it stands, and every other is empty (a formula without a stored value is) or the sum of its
 * column; or none says so, and two sums at least are of three numbers that are not 0. Numbers may have groups
 * and a decimal comma. Rows without any value that set it off go with it. */
#ifndef TAB_FILES_TOTAL_H
#define TAB_FILES_TOTAL_H

#include "common/table/table.h"

/* Cuts that row off t, whose columns are col; true when there was one. */
bool tab_total_row_cut(tab_table *t, tab_column *col);

#endif
