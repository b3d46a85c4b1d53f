/* An Arrow IPC stream, or an Arrow file (Feather 2), as a table: "Arrow Columnar Format", version 1.5,
 * sections "Serialization and Interprocess Communication". Decision 0340 says why it is read here.
 *
 * Cells are what the JSON of the same frame would hold: numbers (beyond 2^53 by their digits, floats of 32
 * bits by their own shortest ones), texts, booleans; dates and times as ISO 8601 texts, a column of midnights
 * without a zone as dates; durations in seconds. NaN and infinities are null. Fields of a struct are columns
 * "a.b"; dictionaries are looked up. Lists, maps, unions and bytes are refused. */
#ifndef TAB_FILES_ARROW_H
#define TAB_FILES_ARROW_H

#include "common/table/table.h"

bool tab_arrow_is(tab_str bytes); /* by its first bytes */

/* Buffers unpacked to more than `unpacked` bytes in all are refused. Errors: VALIDATION (damaged, cut off, a
 * type that is not read, more than `cols` columns or `cells` cells), INTERNAL (memory). */
tab_status tab_arrow_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                          uint64_t unpacked, const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
