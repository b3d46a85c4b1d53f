/* The record of totals that spreadsheets end with: no entity, and every learner and sum would be misled.
 *
 * It is the last row (behind it, only rows without any value). One of its cells says "total" or its like,
 * wherever it stands, and every other is empty (a formula without a stored value is) or a number: the sum of
 * its column, or any, where a sum stands beside it, a cell is missing that no other row lacks, or each is the
 * largest of its column. Or none says so, and two sums at least are of three numbers that are not 0. Numbers
 * may have groups and a decimal comma. Rows without any value that set it off go with it. */
#ifndef TAB_FILES_TOTAL_H
#define TAB_FILES_TOTAL_H

#include "common/table/table.h"

/* Cuts that row off t, whose columns are col; true when there was one. */
bool tab_total_row_cut(tab_table *t, tab_column *col);

/* Totals of groups among the rows [from, to) of which drop says nothing yet: rows one of whose texts begins
 * or ends with such a word, and of which some column holds the sum of the rows since the one before, each
 * time, twice at least of two rows or more. The sum of all is one of them. They are marked in drop (rows of
 * t) and counted; where one of them does not add up, none is. 0 as well where the
 * arena is full. */
size_t tab_group_totals(tab_arena *a, const tab_table *t, size_t from, size_t to, uint8_t *drop);

#endif
