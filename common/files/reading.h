/* How a file became a table: what was decided on the way, and what its sender says beforehand. Both are JSON
 * objects outside: `reading` of a table, `options.reading` of a call (docs/formats.md). */
#ifndef TAB_FILES_READING_H
#define TAB_FILES_READING_H

#include "common/json/json.h"

/* No field is quoted: a byte that no UTF-8 holds. */
#define TAB_READING_UNQUOTED ((char)0xFF)

typedef struct {
    char delimiter, quote; /* 0: found out */
    const char *encoding;  /* NULL: found out; else a name of the list, as iconv has it */
    int header_rows;       /* -1: found out */
    int64_t skip_lines;    /* lines of a text, rows of a sheet, above the header; -1: found out */
    bool one_table;        /* what lies in it is one table, however it looks */
} tab_reading_asked;

#define TAB_READING_FOUND                   \
    {                                       \
        .header_rows = -1, .skip_lines = -1 \
    }

/* From one member of the object, or from the command line. Errors: VALIDATION, param options.reading.KEY. */
tab_status tab_reading_ask_text(tab_reading_asked *r, const char *key, tab_str value,
                                tab_error *err) TAB_CHECKED;
tab_status tab_reading_ask(const tab_json *o, tab_reading_asked *ret, tab_error *err) TAB_CHECKED;
/* The same of the object's text; "" asks nothing. */
tab_status tab_reading_ask_json(tab_arena *a, tab_str json, tab_reading_asked *ret,
                                tab_error *err) TAB_CHECKED;
/* The object again; nothing where nothing is asked. */
void tab_reading_asked_json(tab_out *o, const tab_reading_asked *r);

enum { TAB_READING_SKIPS = 8 };

typedef struct {
    const char *format, *encoding; /* encoding NULL: the format has its own */
    char delimiter, quote;         /* 0: it has none */
    int header_rows;               /* -1: names are the format's own */
    struct {
        const char *reason;
        size_t lines;
    } skip[TAB_READING_SKIPS]; /* (skips) lines that are no rows of the table */
    size_t skips;
    double confidence; /* that the delimiter is the file's; below 0: there is none */
} tab_file_reading;

void tab_reading_skipped(tab_file_reading *r, size_t lines, const char *reason); /* 0 lines: nothing */
/* In the arena; p NULL: out of memory. */
tab_str tab_reading_json(tab_arena *a, const tab_file_reading *r);

#endif
