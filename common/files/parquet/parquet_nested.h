/* Lists, maps and what is in them as cells: JSON texts, put together from the entries of their leaves (the
 * levels of Melnik et al., "Dremel: Interactive Analysis of Web-Scale Datasets", VLDB 2010). */
#ifndef TAB_FILES_PARQUET_NESTED_H
#define TAB_FILES_PARQUET_NESTED_H

#include "common/files/parquet/parquet_schema.h"

/* The entries that follow: n levels each, at most 255; repeat NULL: each is a row. Errors: INTERNAL. */
tab_status parquet_entries_add(parquet_column *c, const uint32_t *level, const uint32_t *repeat, size_t n,
                               tab_error *err) TAB_CHECKED;

/* Field f of `rows` rows, whose leaves leaf[f->leaf ..] have the cells value[f->leaf ..]. A list is an array,
 * a struct an object, a map an object by its keys' texts; numbers keep their digits. The texts' bytes are
 * taken from *room. Errors: VALIDATION (leaves that do not fit each other, too large), INTERNAL (memory). */
tab_status parquet_nested_cells(tab_arena *a, const parquet_field *f, const parquet_column *leaf,
                                const tab_column *value, size_t rows, uint64_t *room, tab_column *ret,
                                tab_error *err) TAB_CHECKED;

#endif
