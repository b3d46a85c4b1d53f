/* The schema of a Parquet file. Its leaves hold the values; a leaf that no list is around is a column, and so
 * is the outermost list or map around others. */
#ifndef TAB_FILES_PARQUET_SCHEMA_H
#define TAB_FILES_PARQUET_SCHEMA_H

#include "common/files/parquet/parquet_pages.h"
#include "common/files/parquet/thrift.h"

/* A leaf. Those inside a list keep an entry for each value, and for each list without any. */
typedef struct {
    tab_str name; /* with those of what is around it */
    parquet_type type;
    int levels;  /* optional and repeated fields from the root to it: a value of that level is there */
    int repeats; /* repeated ones; 0: one entry a row */
    arrow_column column;
    uint8_t *level,
        *repeat; /* (entries) of one with repeats: which fields are there, which one goes on; malloc */
    size_t entries, cap;
} parquet_column;

typedef enum { PARQUET_VALUE, PARQUET_STRUCT, PARQUET_LIST, PARQUET_MAP } parquet_shape;

/* A field. A list's child is its element; a map's are its key and its value. */
typedef struct parquet_field {
    tab_str name, path;
    parquet_shape shape;
    int levels, repeats; /* of itself: a list's as one that has elements */
    int present;         /* the level from which on it is not null */
    size_t leaf, leaves; /* columns [leaf, leaf + leaves) */
    struct parquet_field *child, *next;
} parquet_field;

typedef struct {
    parquet_column *leaf; /* (leaves) */
    size_t leaves;
    const parquet_field **column; /* (cols) of values and lists */
    size_t cols;
} parquet_schema;

enum { PARQUET_DEPTH = 32 }; /* of fields in fields */

/* FileMetaData's list of SchemaElement: at most `most` leaves. All is the arena's. Errors: VALIDATION
 * (damaged, a type that is no cell, too many, too deep), INTERNAL (memory). */
tab_status parquet_schema_read(tab_arena *a, tab_thrift *t, int type, size_t most, parquet_schema *ret,
                               tab_error *err) TAB_CHECKED;

#endif
