/* A table in columns: the one form that tables have in memory and on the wire (proto/table.proto).
 *
 * A column is laid out in one of two ways:
 *
 *   TAB_NUMBERS  num[rows]   every cell is a JSON number whose digits a double holds (tab_number_read:
 *                            EXACT), or null; null is NaN (NaN is no legal input)
 *   TAB_CODED    code[rows]  index into the column's dictionary of distinct cells, TAB_NULL for null
 *                level i     its bytes are text[end[i-1] .. end[i]) (end[-1] = 0), its kind kind[i]: a text,
 *                            a boolean ("true" or "false") or a number kept by its digits
 *
 * A mixed column, a column with one number that a double cannot hold, and a column of booleans are
 * coded. Levels are distinct as pairs (kind, bytes), in order of first appearance. Text is UTF-8.
 * Tables are read-only once built; all memory belongs to the arena they were built in. */
#ifndef TAB_TABLE_H
#define TAB_TABLE_H

#include "common/base/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAB_NULL UINT32_MAX

typedef enum { TAB_NUMBERS, TAB_CODED } tab_layout;
typedef enum { TAB_CELL_NULL, TAB_CELL_NUMBER, TAB_CELL_TEXT, TAB_CELL_BOOL } tab_cell_kind;

typedef struct {
    tab_str name; /* as supplied; may be empty or repeated */
    tab_layout layout;
    const double *num;    /* (rows) TAB_NUMBERS only */
    const uint32_t *code; /* (rows) TAB_CODED only */
    const char *text;     /* the levels' bytes, end to end */
    const uint32_t *end;  /* (levels) */
    const uint8_t *kind;  /* (levels) a tab_cell_kind, never TAB_CELL_NULL */
    size_t levels;
} tab_column;

typedef struct {
    tab_str id;
    size_t rows, cols;
    const tab_column *col; /* (cols) */
} tab_table;

static inline tab_str tab_level(const tab_column *c, size_t i)
{
    uint32_t from = i == 0 ? 0 : c->end[i - 1];
    return (tab_str){ c->text + from, c->end[i] - from };
}

/* One cell, for the places that read few of them. */
typedef struct {
    tab_cell_kind kind;
    double num;   /* TAB_NUMBERS cells, and coded numbers as parsed by strtod */
    tab_str text; /* coded cells: the level's bytes; TAB_NUMBERS: empty */
} tab_cell;

tab_cell tab_cell_at(const tab_column *c, size_t row);

/* How a column is addressed: its name, or "c{index}" when the name is empty or repeated in the
 * table. The text lives in the arena (or is the name itself). */
tab_str tab_column_address(tab_arena *a, const tab_table *t, size_t col);

/* The column that "table.column", or "column" where one table alone holds it, names among n tables.
 * VALIDATION on `target.column`: there is none, or several. */
tab_status tab_column_find(tab_arena *a, const tab_table *const *t, size_t n, tab_str name, size_t *ret_table,
                           size_t *ret_column, tab_error *err) TAB_CHECKED;

/* The column that entry i of `options.columns` names; table may be empty where there is one. VALIDATION on
 * `options.columns[i].table` or `.column`, listing what there is. */
tab_status tab_column_given(tab_arena *a, const tab_table *const *t, size_t n, tab_str table, tab_str column,
                            size_t i, size_t *ret_table, size_t *ret_column, tab_error *err) TAB_CHECKED;

/* The shortest decimal text that reads back as x ("1", "0.1", "1e+300"), whole numbers below 1e15 in digits
 * ("900000"); returns its length.
 * buf holds at least 32 bytes. x is finite. */
size_t tab_number_text(double x, char *buf);

/* Reads a JSON number (RFC 8259) at p; *ret_n is its length, *ret its nearest double.
 *   EXACT   the double, printed to as many digits (at most 17), has these digits again
 *   DIGITS  it does not, or the text is an integer beyond 2^53: keep the digits
 *   RANGE   beyond a double's range
 *   NONE    no number here; nothing is written */
typedef enum { TAB_NUMBER_NONE, TAB_NUMBER_EXACT, TAB_NUMBER_DIGITS, TAB_NUMBER_RANGE } tab_number_kind;
tab_number_kind tab_number_read(const char *p, const char *end, size_t *ret_n, double *ret);

bool tab_table_equal(const tab_table *a, const tab_table *b); /* same ids, names, cells */

/* Builds one column cell by cell in row order; grows as cells come, and turns from numbers to codes
 * by itself. Not thread-safe. After the arena is full every call is harmless and finish returns
 * false. */
typedef struct tab_builder tab_builder;
tab_builder *tab_builder_new(tab_arena *a, tab_str name);
void tab_builder_reserve(tab_builder *b, size_t rows); /* a hint: room for so many rows in all */
void tab_builder_null(tab_builder *b);
void tab_builder_number(tab_builder *b, double x);            /* finite */
void tab_builder_number_text(tab_builder *b, tab_str digits); /* kept by its digits: coded */
void tab_builder_text(tab_builder *b, tab_str s);
void tab_builder_bool(tab_builder *b, bool x);
/* n texts, p NULL where one is missing; faster than one by one, up to so many at once. */
enum { TAB_BUILDER_AT_ONCE = 16 };
void tab_builder_texts(tab_builder *b, const tab_str *s, size_t n);
void tab_builder_cell(tab_builder *b, tab_cell x); /* as tab_cell_at gave it, of any column */
/* The cell of c at row; a level is looked up once. known: (c->levels) of this builder and this column,
 * zeroed before the first call. */
void tab_builder_copy(tab_builder *b, const tab_column *c, size_t row, uint32_t *known);
size_t tab_builder_rows(const tab_builder *b);
void tab_builder_pad(tab_builder *b, size_t rows);                    /* nulls until it has so many */
bool tab_builder_finish(tab_builder *b, tab_column *ret) TAB_CHECKED; /* frees b's scratch */
void tab_builder_drop(tab_builder *b);                                /* in place of finish */

#ifdef __cplusplus
}
#endif
#endif
