/* The schema of a Parquet file: its leaves are the columns. */
#ifndef TAB_FILES_PARQUET_SCHEMA_H
#define TAB_FILES_PARQUET_SCHEMA_H

#include "common/files/parquet_pages.h"
#include "common/files/thrift.h"

typedef struct {
    tab_str name; /* with those of the structs around it */
    parquet_type type;
    int levels; /* optional fields from the root to it: a cell of that level is there */
    arrow_column column;
} parquet_column;

/* FileMetaData's list of SchemaElement: at most `most` columns, which *ret holds then (arena). Errors:
 * VALIDATION (damaged, repeated, a type that is no cell, too many), INTERNAL (memory). */
tab_status parquet_schema_read(tab_arena *a, tab_thrift *t, int type, size_t most, parquet_column **ret,
                               size_t *ret_n, tab_error *err) TAB_CHECKED;

#endif
