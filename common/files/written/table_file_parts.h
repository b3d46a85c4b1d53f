/* What table_file.c, arrow_file.c, arrow_arrays.c and parquet_file.c share; not for anybody else. */
#ifndef TAB_FILES_TABLE_FILE_PARTS_H
#define TAB_FILES_TABLE_FILE_PARTS_H

#include "common/files/written/table_arrays.h"
#include "common/json/json.h"

/* A column's cells of the batch that is being made, one a row. */
typedef struct {
    tab_str name;
    tab_file_type type;
    tab_out valid;  /* a byte a row: 1, or 0 for null */
    tab_out values; /* int64_t, double or a byte (BOOL) a row, 0 where null; TEXT: the texts, end to end */
    tab_out length; /* TEXT: uint32_t a row */
    size_t nulls;
} tab_file_cells;

/* How a form of columns is written; CSV is one of rows, and has none. A file has its own, so that a program
 * has those in it that it uses. */
typedef struct {
    tab_status (*begin)(tab_file *f, tab_error *err), (*batch)(tab_file *f, tab_error *err),
        (*end)(tab_file *f, tab_error *err);
} tab_file_writer;

struct tab_file {
    const tab_file_writer *writer; /* NULL: CSV */
    tab_file_send *send;
    tab_file_take *take; /* of arrays, in place of send */
    void *to;
    size_t cols, rows; /* rows: of the batch */
    tab_file_cells *c; /* (cols) */
    tab_arena *names;
    tab_out out;    /* what is to be sent */
    uint64_t sent;  /* bytes that were */
    tab_out groups; /* Parquet: metadata of the row groups so far */
    size_t n_groups;
    uint64_t all_rows;
    bool begun;
};

tab_status arrow_file_begin(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status arrow_file_batch(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status arrow_file_end(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status parquet_file_begin(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status parquet_file_batch(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status arrow_arrays_batch(tab_file *f, tab_error *err) TAB_CHECKED;
tab_status arrow_arrays_edge(tab_file *f, tab_error *err) TAB_CHECKED; /* nothing stands around them */
tab_status parquet_file_end(tab_file *f, tab_error *err) TAB_CHECKED;

/* Sends `out`, empties it. */
static inline tab_status tab_file_flush(tab_file *f, tab_error *err)
{
    if (f->out.failed)
        return tab_no_memory(err);
    if (f->out.n > 0)
        TAB_TRY(f->send(f->to, tab_out_text(&f->out), err));
    f->sent += f->out.n;
    f->out.n = 0;
    return TAB_OK;
}

/* Little-endian, as every machine that this runs on has it. */
static inline void tab_file_put(tab_out *o, uint64_t x, size_t bytes)
{
    tab_out_bytes(o, &x, bytes);
}

static inline void tab_file_pad(tab_out *o, size_t to)
{
    static const char zeros[64];
    if (o->n % to != 0)
        tab_out_bytes(o, zeros, to - o->n % to);
}

#endif
