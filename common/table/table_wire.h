/* Tables as bytes: the protobuf message TableSet of proto/table.proto, written and read without copying
 * the columns.
 *
 * Writing makes a list of segments, small heads between pointers to the tables' own arrays, so that any
 * part of the byte stream is gathered when it is asked for. Arrays of numbers and codes start at multiples
 * of 8 (a `pad` field in front sees to it), so that reading points into the buffer. */
#ifndef TAB_TABLE_WIRE_H
#define TAB_TABLE_WIRE_H

#include "common/table/table.h"

typedef struct tab_wire tab_wire; /* lives in the arena; the tables must outlive it */
tab_status tab_wire_new(tab_arena *a, const tab_table *const *tables, size_t n, tab_wire **ret,
                        tab_error *err) TAB_CHECKED;
size_t tab_wire_bytes(const tab_wire *w);
/* Bytes [at, at + n) of the stream; they must lie within it. */
void tab_wire_copy(const tab_wire *w, size_t at, size_t n, char *ret);

/* Reads n bytes from outside; every length, code, level and number is checked. The tables point into
 * `bytes` where that is aligned to 8, else to copies; both belong to the arena.
 * Errors: VALIDATION (not a legal set), INTERNAL (the arena is full). */
tab_status tab_wire_read(tab_arena *a, tab_str bytes, const tab_table *const **ret, size_t *ret_n,
                         tab_error *err) TAB_CHECKED;

#endif
