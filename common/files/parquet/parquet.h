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

/* A file of which no more is held than a group of rows. tail: its last bytes, `size` in all. */
enum { TAB_PARQUET_TAIL = 8 };
typedef struct {
    uint64_t at, bytes; /* of the file: its pages */
    size_t rows;
} tab_parquet_group;

/* How many bytes stand before the tail that say what the file holds. Errors: VALIDATION. */
tab_status tab_parquet_footer(const char tail[TAB_PARQUET_TAIL], uint64_t size, size_t *ret,
                              tab_error *err) TAB_CHECKED;
/* Those bytes' groups, and a table of no rows with the columns. Errors as above. */
tab_status tab_parquet_groups(tab_arena *a, tab_str footer, uint64_t size, tab_str id, size_t cols,
                              const tab_table **ret, tab_parquet_group **ret_group, size_t *ret_n,
                              tab_error *err) TAB_CHECKED;
/* Group i, which g says of; pages: its bytes. */
tab_status tab_parquet_group_read(tab_arena *a, tab_str footer, size_t i, const tab_parquet_group *g,
                                  tab_str pages, tab_str id, size_t cols, uint64_t cells, uint64_t unpacked,
                                  const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
