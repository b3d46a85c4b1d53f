/* Rows that come as arrays of texts, [["1", "a", null], ...], as warehouses' APIs send them: straight into
 * columns, page by page, without a tree of them. What a text means is its column's type, of which the
 * provider knows the spelling. */
#ifndef DATA_ARRAY_ROWS_H
#define DATA_ARRAY_ROWS_H

#include "common/json/json_scan.h"
#include "common/table/table.h"

/* A value that is not null. Its text is a view: no zero behind. */
typedef void (*array_cell)(tab_builder *b, int type, tab_str text);

typedef struct {
    tab_arena *a;
    size_t cols, room;
    tab_builder **b; /* (cols) */
    int *type;
    uint64_t rows;
    array_cell cell;
} array_rows;

/* room: columns that may come, DATA_MOST_COLS at most. */
tab_status array_rows_new(tab_arena *a, size_t room, array_cell cell, array_rows *ret,
                          tab_error *err) TAB_CHECKED;
tab_status array_rows_column(array_rows *r, tab_str name, int type, tab_error *err) TAB_CHECKED;
/* Appends an array's rows; text.p[text.n] is readable. VALIDATION on source: no such array, another width,
 * too many cells. */
tab_status array_rows_read(array_rows *r, tab_str text, tab_error *err) TAB_CHECKED;
/* One more row would be too many. */
bool array_rows_full(const array_rows *r);
tab_status array_rows_finish(array_rows *r, tab_str id, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* ---- what several of them spell alike */
/* Decimal digits, also in scientific notation; NaN and infinities are null, any other text is one. */
void array_number(tab_builder *b, tab_str text);
/* Seconds since 1970 and a fraction of them, in UTC; without a zone the Z is left out. Years beyond 1..9999
 * are null. */
void array_instant(tab_builder *b, int64_t seconds, uint32_t nanos, bool zone);
/* The same as text; 0: beyond those years. */
size_t array_instant_text(char out[64], int64_t seconds, uint32_t nanos, bool zone);
void array_day(tab_builder *b, int64_t days); /* since 1970 */
/* Bytes that come in base64, or (hex) in two digits each: their number is told. */
void array_bytes(tab_builder *b, tab_str text, bool hex);
/* "1611871142.000000001" in two numbers; what is behind a space is passed over. false: it is none. */
bool array_seconds(tab_str text, int64_t *ret_seconds, uint32_t *ret_nanos);

#endif
