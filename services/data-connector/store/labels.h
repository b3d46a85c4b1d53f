/* A table and what became true of rows like its own: labels for rows that have none, and new rows. Pure: no
 * SQL, no clock.
 *
 * A row that is told is held against the table's by the columns that are told, the target aside; cells are
 * compared as those columns have them (a file's "3" is the number 3). Of rows that are alike
 *
 *   one stands in the table, with a label      it is that row, and the table's label stands: its source may
 *                                              have mended it
 *   one or several stand there without one     the first of them gets the label
 *   one of several has this very label         it is that row
 *   none is left                               the row is added; cells that are not told are null
 *
 * and each row of the table is one told row at most. So what the source has learnt meanwhile is not counted
 * twice, neither in fitting nor beside the rows that are held out. */
#ifndef DATA_LABELS_H
#define DATA_LABELS_H

#include "common/table/table.h"

typedef struct {
    const tab_table *table; /* the rows of t in their order, then those that were added */
    uint64_t added, labelled, known;
} labels;

/* target: the column of t that is told by column `outcome` of told, whose other columns are found in t by
 * their addresses; those that t does not have are left out. INTERNAL when the arena is full. */
tab_status labels_put(tab_arena *a, const tab_table *t, size_t target, const tab_table *told, size_t outcome,
                      labels *ret, tab_error *err) TAB_CHECKED;

#endif
