/* A Parquet file as a table: the format's description and parquet.thrift, version 2.11. Decision 0343
 * says why it is read here.
 *
 * Cells are those of the same table as an Arrow stream (arrow.h): numbers, texts, booleans; dates and times
 * as ISO 8601 texts, a column of midnights without a zone as dates. Fields of a struct are columns "a.b"; a
 * list, a map or what is more than eight deep is a JSON text.
 * Bytes that nothing describes are texts where they are UTF-8; INT96 is a time to the microsecond. Other
 * bytes and encrypted files are refused. */
#ifndef TAB_FILES_PARQUET_H
#define TAB_FILES_PARQUET_H

#include "common/table/table.h"

bool tab_parquet_is(tab_str bytes); /* by its first bytes */

/* Pages unpacked to more than `unpacked` bytes in all are refused. Errors: VALIDATION (damaged, cut off, a
 * type that is not read, more than `cols` columns or `cells` cells), INTERNAL (memory). err is needed. */
tab_status tab_parquet_read(tab_arena *a, tab_str bytes, tab_str id, size_t cols, uint64_t cells,
                            uint64_t unpacked, const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
