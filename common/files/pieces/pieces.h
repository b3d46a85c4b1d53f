/* Files too large to be held, a piece at a time: CSV cut between two records, Parquet by its groups of rows.
 * A folder is the files of these formats in it, by name, which have the same columns.
 *
 *   open ──> survey ──> next ──> read      what `next` takes off the files `read` makes a table of, on any
 *                                          thread
 *
 * The delimiter, quotes and the header are found in the first bytes of a file (csv.h), as where it is read
 * whole; the columns, their kinds and the encoding in all of it. Where the pieces end depends on the files
 * and the size alone. Three things differ from a file read whole, since they take all rows at once: records
 * of totals at the end stay, a file holds one table, and a byte order mark within a text is left out where a
 * piece begins with it (decision 0812). */
#ifndef TAB_FILES_PIECES_H
#define TAB_FILES_PIECES_H

#include <stdatomic.h>

#include "common/files/reading.h"
#include "common/table/table.h"

typedef struct tab_pieces tab_pieces;

/* One piece: what lies in memory of its own (tab_piece_free), and where it is from. */
typedef struct {
    size_t file, group; /* group: of a Parquet file */
    char *bytes;
    size_t n;
} tab_piece;

typedef struct {
    uint64_t bytes;    /* of all files */
    double rows;       /* of Parquet exact; of CSV by the first records */
    size_t piece_rows; /* of the largest piece, about */
    size_t files, cols;
    bool parquet; /* some are */
} tab_pieces_size;

/* size: bytes of a piece of CSV. Errors: VALIDATION, whose message begins with the file's name (not there, a
 * format that is not read in pieces, damaged, unlike columns), INTERNAL (memory). err is needed. */
tab_status tab_pieces_open(const char *path, const tab_reading_asked *asked, size_t size, tab_pieces **ret,
                           tab_error *err) TAB_CHECKED;
void tab_pieces_free(tab_pieces *p); /* NULL is fine */
TAB_DEFINE_AUTO(tab_pieces)

/* Looks through all text first, so that the columns, their kinds and the encoding are those that the files
 * have when they are read whole: a column without a name that holds something far below, a text among
 * numbers, a letter of an old encoding. Without it each piece is read by itself, and what lies beyond the
 * columns of the first bytes is left out. Errors as above; CANCELLED. */
tab_status tab_pieces_survey(tab_pieces *p, const atomic_bool *cancel, tab_error *err) TAB_CHECKED;

tab_pieces_size tab_pieces_measure(const tab_pieces *p);
/* As a table of no rows, with the id that the file or the folder gives. */
const tab_table *tab_pieces_top(const tab_pieces *p);
tab_str tab_pieces_reading(const tab_pieces *p); /* of the first file (reading.h) */

/* The next piece; at the end ret->bytes is NULL. *ret_done: bytes that lie behind it. Errors as above. */
tab_status tab_pieces_next(tab_pieces *p, tab_piece *ret, uint64_t *ret_done, tab_error *err) TAB_CHECKED;
void tab_pieces_rewind(tab_pieces *p);
void tab_piece_free(tab_piece *x);

/* The piece's rows, with the columns of the top in their order. *ret_wide: records with more fields than
 * there are columns, which lost them. p is only read. Errors as above. */
tab_status tab_piece_read(const tab_pieces *p, const tab_piece *x, tab_arena *a, const tab_table **ret,
                          size_t *ret_wide, tab_error *err) TAB_CHECKED;

#endif
