/* `tabella run` of a table that does not fit in the memory allowed: read in passes (decision 0570).
 *
 *   first pass   every row counts in the sketches; a sample is kept
 *   the engine   learns from the sample, and is judged by rows of it that it did not see
 *   last pass    every row is answered, into files (only where a folder for them is named) */
#ifndef TABELLA_LARGE_H
#define TABELLA_LARGE_H

#include "common/files/pieces/pieces.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/sketch/sample.h"
#include "services/inference/engine/sketch/sketch.h"
#include "tools/tabella/tabella.h"

typedef struct {
    const char *path;
    const tab_reading_asked *reading;
    tab_run_options o;
    size_t memory; /* bytes allowed */
    size_t threads;
    bool json;
    const char *out;          /* folder, or NULL */
    const char *const *words; /* of the command, NULL behind: what makes a run the same */
} large_run;

/* Whether the file or folder needs more than so many bytes to be held; false where nothing can be said. */
bool large_is(const char *path, const tab_reading_asked *reading, size_t memory);
int cmd_large(const large_run *r); /* the exit code */

/* ---- its parts ------------------------------------------------------------------------------ */

enum { LARGE_SLICE = 16384, LARGE_BATCH = TAB_SAMPLE_PIECES };

typedef struct {
    size_t column;
    tab_fitted *fitted;
} large_fill;

typedef struct {
    const large_run *run;
    tab_engine e;
    tab_pieces *pieces;
    tab_pieces_size size;
    size_t batch; /* pieces that are held at once */
    /* of the first pass */
    tab_sketch **sketch; /* (columns) */
    tab_sample *sample;
    uint64_t rows, wide;
    /* of the sample */
    const tab_table *seen, *unseen;
    uint64_t *seen_row, *unseen_row;
    tab_pass_parts parts;
    tab_profile *profile;
    Tabella__Bundle *b;
    large_fill *fill; /* (fills) models of columns with missing cells */
    size_t fills;
    double began;
    const char *phase;
    double shown;  /* when progress was shown last */
    uint64_t skip; /* pieces that the next pass goes over without reading them */
    uint64_t past; /* pieces that are behind it */
    uint64_t key;  /* resume.c, which has something to go on with where there is a folder */
    double kept;   /* when that was told of the last pass */
} large;

/* Turns true at SIGINT and SIGTERM; a pass ends soon after. */
extern atomic_bool large_stopped;
void large_stop(int signal);
double large_now(void); /* seconds */

/* Pieces of the files in batches, each read on any thread; fn gets n of them, tables whose memory is gone
 * when it has returned. */
typedef tab_status (*large_fn)(large *l, const tab_table *const *piece, size_t n, void *arg, tab_error *err);
tab_status large_pass(large *l, const char *phase, large_fn fn, void *arg, tab_error *err) TAB_CHECKED;

/* resume.c. Where the last pass is: pieces and rows that are answered, wide records among them, and how long
 * the files of answers were then. */
typedef struct {
    uint64_t pieces, rows, wide, bytes[2];
} large_done;
bool large_resume_key(large *l) TAB_CHECKED;  /* false: out of memory */
bool large_resume_load(large *l) TAB_CHECKED; /* what the first pass left; false: it is to be done */
void large_resume_save(const large *l);
bool large_done_load(large *l, large_done *ret) TAB_CHECKED;
void large_done_save(large *l, const large_done *d); /* every few seconds, however often it is called */
void large_resume_end(const large *l);

/* What is exact in place of what the sample says; the rows' own numbers. */
tab_status large_tell(large *l, tab_error *err) TAB_CHECKED;
/* Fits what fills. */
tab_status large_fit_fills(large *l, tab_error *err) TAB_CHECKED;
/* The cells of t, row by row, those that are missing filled where they can be. answers: of the rows of t;
 * NULL: there is no target. ret (rows x columns). */
tab_status large_fill_rows(const large *l, const tab_engine *e, const tab_table *t,
                           const Tabella__Prediction *answers, tab_cell *ret, tab_error *err) TAB_CHECKED;
/* predictions.csv and filled-TABLE.csv, of every row. */
tab_status large_answer(large *l, tab_error *err) TAB_CHECKED;

#endif
