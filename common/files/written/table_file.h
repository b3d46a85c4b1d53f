/* Tables as files: CSV (RFC 4180), an Arrow IPC stream ("Arrow Columnar Format", 1.5), Parquet (its format's
 * description, 2.11). Rows come batch by batch and leave as soon as they make a record batch or a row group,
 * so that a writer holds a few mebibytes, whatever the table's length (decision 0410).
 *
 *   tab_file_seen   every batch, once: which types the cells have      (not for CSV: text is text)
 *   tab_file_new -> tab_file_rows, for each batch -> tab_file_end
 *
 * A column's type is the narrowest that holds all its cells: whole numbers, numbers, booleans, dates, times,
 * else texts, which keep every cell as it is written. */
#ifndef TAB_FILES_TABLE_FILE_H
#define TAB_FILES_TABLE_FILE_H

#include "common/table/table.h"

typedef enum { TAB_FILE_CSV, TAB_FILE_ARROW, TAB_FILE_PARQUET, TAB_FILE_FORMATS } tab_file_format;

/* Names, media types and endings. */
typedef struct {
    const char *name, *media, *ending;
} tab_file_kind;
extern const tab_file_kind tab_file_kinds[TAB_FILE_FORMATS];

typedef enum {
    TAB_FILE_TEXT,
    TAB_FILE_BOOL,
    TAB_FILE_INT,  /* 64 bits */
    TAB_FILE_REAL, /* a double */
    TAB_FILE_DATE,
    TAB_FILE_TIME, /* of no zone, microseconds */
    TAB_FILE_UTC   /* a moment: cells that say their zone */
} tab_file_type;

/* Which cells a column has had: bits, by type. */
typedef unsigned tab_file_seen;
tab_file_seen tab_file_look(const tab_column *c, size_t rows);
tab_file_type tab_file_type_of(tab_file_seen all);

typedef struct {
    tab_str name;
    tab_file_type type;
} tab_file_column;

typedef tab_status tab_file_send(void *to, tab_str bytes, tab_error *err);

/* Names that are repeated or empty get a number behind them. NULL: out of memory. The
 * columns are copied. */
typedef struct tab_file tab_file;
tab_file *tab_file_new(tab_file_format format, const tab_file_column *column, size_t cols,
                       tab_file_send *send, void *to);
void tab_file_free(tab_file *f);
TAB_DEFINE_AUTO(tab_file)

/* A table of these columns, whose cells are of the types given (others are null). */
tab_status tab_file_rows(tab_file *f, const tab_table *t, tab_error *err) TAB_CHECKED;
tab_status tab_file_end(tab_file *f, tab_error *err) TAB_CHECKED;

/* A date (days since 1970), a time (microseconds since 1970), or neither; for tests. */
tab_file_type tab_file_time(tab_str s, int64_t *ret);

#endif
