/* The columns of an Arrow table while its batches come: buffers of a batch become cells of a column. */
#ifndef TAB_FILES_ARROW_CELLS_H
#define TAB_FILES_ARROW_CELLS_H

#include "common/table/table.h"

/* The numbers of Schema.fbs, union Type. */
typedef enum {
    ARROW_NULL = 1,
    ARROW_INT = 2,
    ARROW_FLOAT = 3,
    ARROW_BINARY = 4,
    ARROW_UTF8 = 5,
    ARROW_BOOL = 6,
    ARROW_DECIMAL = 7,
    ARROW_DATE = 8,
    ARROW_TIME = 9,
    ARROW_TIMESTAMP = 10,
    ARROW_STRUCT = 13,
    ARROW_DURATION = 18,
    ARROW_LARGE_UTF8 = 20,
    ARROW_UTF8_VIEW = 24
} arrow_kind;

typedef struct {
    arrow_kind kind;
    int bits;       /* of an integer, a float, a decimal, a time or a date */
    bool is_signed; /* of an integer */
    int unit;       /* of a time: 10^(-3 unit) s */
    int scale;      /* of a decimal: digits behind its point */
    bool zone;      /* of a timestamp: it is UTC */
} arrow_type;

/* A column under way. */
typedef struct {
    arrow_type type;
    tab_builder *b;
    int64_t *stamp; /* (stamps) timestamps wait until all are known; the column's own, malloc */
    size_t stamps, stamps_cap;
} arrow_column;

/* One array of a batch. Texts of views may lie in further buffers. */
typedef struct {
    size_t rows;
    const uint8_t *valid; /* a bit a row; NULL: all are */
    const uint8_t *alive; /* a byte a row, of the structs around it; NULL: all are */
    tab_str values, text; /* its second buffer, and its third */
    const tab_str *more;  /* (n_more) */
    size_t n_more;
} arrow_array;

static inline bool arrow_bit(const uint8_t *bits, size_t i)
{
    return (bits[i / 8] >> (i % 8) & 1) != 0;
}

static inline bool arrow_known(const arrow_array *x, size_t i)
{
    return (x->valid == NULL || arrow_bit(x->valid, i)) && (x->alive == NULL || x->alive[i] != 0);
}

/* x->valid holds a bit for each row. Errors: VALIDATION (a buffer too short, offsets beyond it, no UTF-8),
 * INTERNAL (memory). */
tab_status arrow_cells_add(arrow_column *c, const arrow_array *x, tab_error *err) TAB_CHECKED;

/* One cell: value i of x, whose buffers are known to hold it; or none. Errors as above. */
tab_status arrow_cell_add(arrow_column *c, const arrow_array *x, size_t i, tab_error *err) TAB_CHECKED;
tab_status arrow_null_add(arrow_column *c, tab_error *err) TAB_CHECKED;

/* Writes what waited, and ends the column's builder; c->stamp is freed. */
tab_status arrow_cells_end(arrow_column *c, tab_column *ret, tab_error *err) TAB_CHECKED;

#endif
