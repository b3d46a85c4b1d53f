/* What pieces.c and survey.c of this folder share. */
#ifndef TAB_FILES_PIECES_INTERNAL_H
#define TAB_FILES_PIECES_INTERNAL_H

#include "common/files/csv/csv.h"
#include "common/files/parquet/parquet.h"
#include "common/files/pieces/pieces.h"

typedef struct {
    char *path;
    uint64_t size;
    tab_table top;
    size_t *from; /* (cols) the file's column of each of the first file's; NULL: their own order */
    bool parquet;
    /* CSV */
    tab_csv_dialect dialect;
    const char *encoding;
    const char *other; /* in which it is where some byte is no UTF-8; NULL: not asked */
    const bool *text;  /* (cols) survey.h; NULL: not looked at */
    uint64_t begin;    /* of the first row */
    double rows;
    size_t piece_rows;
    /* Parquet */
    tab_str footer;
    tab_parquet_group *group;
    size_t groups;
} file;

struct tab_pieces {
    tab_arena *a;
    const tab_reading_asked *asked;
    size_t size;
    file *file;
    size_t files;
    tab_str reading;
    uint64_t bytes;
    /* where the next piece begins */
    int fd;
    size_t at_file, at_group;
    uint64_t at, before; /* before: bytes of the files that were read */
};

tab_status pieces_failed(const char *path, const char *why, tab_error *err) TAB_CHECKED;
/* A reader's failure, with the file's name. */
tab_status pieces_of_file(const file *f, tab_status s, tab_error *err) TAB_CHECKED;
tab_status pieces_open_file(const file *f, int *ret, tab_error *err) TAB_CHECKED;
/* From p->at on: whole records, as many as there is room for; a record that is longer is given more. */
tab_status pieces_next_records(tab_pieces *p, const file *f, tab_piece *ret, tab_error *err) TAB_CHECKED;
/* The columns of f become `cols`, of which those behind its own have no name. */
tab_status pieces_widen(tab_pieces *p, file *f, size_t cols, tab_error *err) TAB_CHECKED;
/* Named files of text get as many columns as the widest has; then all are held against the first. */
tab_status pieces_even_out(tab_pieces *p, tab_error *err) TAB_CHECKED;

#endif
