/* ClickHouse's RowBinaryWithNamesAndTypes as a table: what the server says of its columns, then values
 * one row behind the other, without lengths or marks. A stream that ends inside a row was cut off. */
#ifndef DATA_ROW_BINARY_H
#define DATA_ROW_BINARY_H

#include "common/table/table.h"

/* Errors: VALIDATION on source (not this format, cut off, a type that is not read, too many cells),
 * INTERNAL. */
tab_status row_binary_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret,
                           tab_error *err) TAB_CHECKED;

#endif
