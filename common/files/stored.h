/* A table as it is stored, in a file: every cell as it is, which no format of others' keeps (a number by its
 * digits, a text that looks like one, null beside the empty text). What an organization's export has of its
 * snapshots (decision 0667).
 *
 *   "tabella table 1\n"   16 bytes
 *   flags                 u64, little-endian as all here: 1: its cells are of a file, which knows no null
 *   n, n bytes            u64, a zstd frame of a TableSet (common/table/table_wire.h) of one table: its next
 *                         rows; again and again
 *   0, rows               u64 twice: the end, and how many rows there were */
#ifndef TAB_FILES_STORED_H
#define TAB_FILES_STORED_H

#include "common/files/files.h"

enum { TAB_STORED_HEAD = 24, TAB_STORED_END = 16 };

/* How many rows a range has that begins with row `first` of a table of so many columns: a file is the same
 * bytes whoever makes it. */
uint64_t tab_stored_step(uint64_t cols, uint64_t first);
void tab_stored_head(bool file, char ret[TAB_STORED_HEAD]);
/* The next rows, in the arena. */
tab_status tab_stored_rows(tab_arena *a, const tab_table *t, tab_str *ret, tab_error *err) TAB_CHECKED;
void tab_stored_end(uint64_t rows, char ret[TAB_STORED_END]);

bool tab_stored_is(tab_str bytes);
/* Errors: VALIDATION; INTERNAL (memory). */
tab_status tab_stored_read(tab_arena *a, tab_str bytes, tab_str id, const tab_file_limits *most,
                           const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
