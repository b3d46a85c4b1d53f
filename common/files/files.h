/* A file as people have it, as tables (decision 0310): CSV and its kin, JSON and NDJSON, xlsx, ods,
 * Arrow, Parquet, SAS, SPSS, Stata, each also packed (gz, or several in a zip). What it is, its first bytes
 * say; where those are text, its name's ending, else its first character. One reader for the command line,
 * for uploads and for connections.
 *
 * A table's id is the file's name without folder and endings, dots turned to _; of several sheets, that
 * name, _ and the sheet's; in an archive, each file's own. */
#ifndef TAB_FILES_FILES_H
#define TAB_FILES_FILES_H

#include "common/files/reading.h"

typedef struct {
    uint64_t bytes, cells; /* of the file, and unpacked; of all its tables */
    size_t cols, tables;
    bool shared; /* the process has others to lose: what a library that is not ours would read is refused */
    bool lists_stay; /* lists of objects in JSON stay texts; else they are tables of their own (lists.h) */
} tab_file_limits;

#define TAB_FILE_LIMITS                                     \
    {                                                       \
        (uint64_t)2 << 30, 50000000, 2000, 64, false, false \
    }

typedef struct {
    const tab_table **table; /* (n) */
    const tab_str *sheet;    /* (n) its name; "" where it is none */
    const tab_str *reading;  /* (n) how it was read, a JSON object (reading.h) */
    size_t n;
    tab_str notes; /* what was done to it that is not plain, a line each; "" */
} tab_file;

/* bytes.p[bytes.n] is readable and 0. Errors: VALIDATION, whose message begins with the file's name and says
 * what to do; INTERNAL (memory). err is needed. */
tab_status tab_file_read(tab_arena *a, tab_str name, tab_str bytes, const tab_file_limits *most,
                         tab_file *ret, tab_error *err) TAB_CHECKED;
/* The same, read as its sender says. Errors besides: VALIDATION, param options.reading.KEY. */
tab_status tab_file_read_as(tab_arena *a, tab_str name, tab_str bytes, const tab_file_limits *most,
                            const tab_reading_asked *asked, tab_file *ret, tab_error *err) TAB_CHECKED;

#endif
