/* CSV (RFC 4180, and what people call CSV) straight into columns.
 *
 * The encoding is found as text.h says, delimiter, quotes and comments as dialect.h says. Titles above the
 * table are skipped; the first record behind them is the header, unless it holds values where the columns
 * below hold values. A last record that sums up the others is left out (total.h). An empty field is null. A
 * column in which every present field is a JSON number whose digits a double holds becomes numbers, any other
 * text: a code such as 007 keeps its zeros. Records of another width lose nothing: short ones are padded with
 * null, long ones widen the table by columns without a name. A line without any character is no record; one
 * whose fields are all empty is a row. What is read is one table: layout.h says whether several lie in it,
 * and names columns by all rows of the header. */
#ifndef TAB_FILES_CSV_H
#define TAB_FILES_CSV_H

#include "common/files/csv/dialect.h"
#include "common/files/csv/layout.h"
#include "common/files/reading.h"

/* Fields of a record: what has more is a file of commas, not of columns. */
enum { TAB_CSV_FIELDS_MOST = 1 << 16 };

typedef struct {
    tab_csv_dialect dialect;
    tab_csv_scores scores;
    const char *encoding;          /* "utf-8", "utf-16le", "utf-16be", or of charset.h */
    size_t padded, widened, empty; /* records; lines without any character below the first record */
    size_t skipped, comments;      /* records above the header; lines */
    size_t zeros;                  /* zero bytes, which became U+FFFD */
    bool header, total;            /* there is one; a record of totals was left out */
    bool told;                     /* its delimiter is, by the file or its sender */
    bool row_names;                /* the first column has none, as R writes names of rows */
    bool drawn;                    /* with characters (drawn.h): its text was cut anew */
    size_t ruled, below;           /* lines that rule; lines below the drawn table */
    size_t above;                  /* lines that end above the first row */
    tab_layout_seen seen;          /* for layout.h; its parts are in the arena */
} tab_csv_notes;

/* The bytes need no terminator. Errors: VALIDATION (message names the line: an unclosed quote, a quoted field
 * beyond TAB_CSV_FIELD_MOST; nothing in it, more than a hundredth NUL bytes), INTERNAL (memory). notes may
 * be NULL. */
tab_status tab_csv_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_csv_notes *notes,
                        tab_error *err) TAB_CHECKED;
/* The same, read as its sender says. Errors besides: VALIDATION, param options.reading.KEY. */
tab_status tab_csv_read_as(tab_arena *a, tab_str bytes, tab_str id, const tab_reading_asked *asked,
                           const tab_table **ret, tab_csv_notes *notes, tab_error *err) TAB_CHECKED;

/* Is it a JSON number whose digits a double holds? */
bool tab_csv_number(tab_str s, double *ret);

/* Columns of a text of which pieces are read: text: which hold a field that is no number, in whatever piece;
 * NULL: a piece tells by itself. */
typedef struct {
    const tab_str *name;
    const bool *text;
    size_t n;
} tab_csv_cols;

/* Rows alone, of a text whose top was read before: its dialect, its columns. encoding NULL: found. Fields
 * beyond the columns are left out; notes->widened counts the records that lost one. notes are needed. */
tab_status tab_csv_rows_read(tab_arena *a, tab_str bytes, const tab_csv_dialect *d, const char *encoding,
                             const tab_csv_cols *cols, tab_str id, const tab_table **ret,
                             tab_csv_notes *notes, tab_error *err) TAB_CHECKED;

#endif
