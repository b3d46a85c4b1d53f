/* CSV (RFC 4180, and what people call CSV) straight into columns.
 *
 * The delimiter is the one of , ; tab | that cuts the first records most evenly; the encoding
 * UTF-8, UTF-16 with its byte order mark, else Windows-1252. The first record is the header. An
 * empty field is null. A column in which every present field is a JSON number whose digits a double
 * holds becomes numbers, any other text: a code such as 007 keeps its zeros. Records of another
 * width lose nothing: short ones are padded with null, long ones widen the table by columns without
 * a name. A line without any character is no record; one whose fields are all empty is a row. */
#ifndef TAB_CSV_H
#define TAB_CSV_H

#include "common/table.h"

typedef struct {
    char delimiter;
    const char *encoding;          /* "utf-8", "utf-16le", "utf-16be", "windows-1252" */
    size_t padded, widened, empty; /* records; lines without any character */
} tab_csv_notes;

/* The bytes need no terminator. Errors: VALIDATION (message names the line: an unclosed quote, no
 * header, NUL bytes), INTERNAL (memory). notes may be NULL. */
tab_status tab_csv_read(tab_arena *a, tab_str bytes, tab_str id, const tab_table **ret, tab_csv_notes *notes,
                        tab_error *err) TAB_CHECKED;

#endif
