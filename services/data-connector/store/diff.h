/* What became of a table's rows: added, changed, removed, unchanged between two snapshots. Pure: no
 * SQL, no clock.
 *
 * Columns are matched by their address (name, or c{index} where it is empty or repeated), never by
 * position. A row is the set of its cells that are not null, so an added column changes a row only
 * where it holds something. Cells are compared after typing: numbers as doubles (digits where a
 * double holds them not), instants as instants, text by its bytes; a column whose type changed is
 * compared as text.
 *
 * Row identity: a declared key that is unique and complete in both; else of the columns, pairs and
 * triples that are (64 sets at most are tried) the one that matches the most rows across the two,
 * then the smaller, then the leftmost. A key that matches no row is none: rows are then paired as a
 * multiset and nothing is `changed`. Equality is that of 64-bit (cells, keys) and 128-bit (rows)
 * SipHash sums: a million distinct values meet by chance with a probability of 3e-8. */
#ifndef DATA_DIFF_H
#define DATA_DIFF_H

#include "common/table/table.h"

typedef struct {
    uint64_t added, changed, removed, unchanged;
    tab_str *columns_added, *columns_removed, *types_changed, *key; /* addresses */
    size_t n_added, n_removed, n_types, n_key;
} row_diff;

/* declared: addresses of a key's columns, n 0 for none. INTERNAL when the arena is full. */
tab_status diff_tables(tab_arena *a, const tab_table *before, const tab_table *after, const tab_str *declared,
                       size_t n, row_diff *ret, tab_error *err) TAB_CHECKED;

/* Rows that are not as before, by their numbers in the two tables: those that changed, then those that went,
 * then those that came, each in the order of their table. Of a row that has no partner both numbers are its
 * own. */
typedef enum { ROW_CHANGED, ROW_REMOVED, ROW_ADDED } row_change_kind;
typedef struct {
    row_change_kind kind;
    uint32_t before, after;
} row_change;
typedef struct {
    row_change *row;
    size_t n;
} row_changes;

/* The same, and the rows themselves; list may be NULL. */
tab_status diff_rows(tab_arena *a, const tab_table *before, const tab_table *after, const tab_str *declared,
                     size_t n, row_diff *ret, row_changes *list, tab_error *err) TAB_CHECKED;

/* 128 bits of what stands in a row. Rows of one table are alike where both are. */
typedef struct {
    uint64_t x, y;
} tab_row_hash;

/* (rows) of the columns that `by` marks; NULL: the arena is full. */
tab_row_hash *diff_row_hashes(tab_arena *a, const tab_table *t, const bool *by) TAB_CHECKED;

/* What the cells of a column are: "number", "text", "boolean", "empty". */
const char *diff_kind(const tab_column *c, size_t rows);

#endif
