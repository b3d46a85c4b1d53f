/* What a run has left: its job, its bundle or the head of a large one, and pieces of that.
 *
 *   results.c           finds them, wherever they lie; GET /v2/jobs/:id
 *   download.c          GET /v2/jobs/:id/result/...: the parts of a result as files
 *   download_parts.c    each part as a table, batch by batch; download_filled.c: whole tables, with what was
 *                       filled */
#ifndef TAB_API_RESULTS_H
#define TAB_API_RESULTS_H

#include "common/bundle/bundle_json.h"
#include "common/bundle/bundle_pieces.h"
#include "common/files/written/table_file.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"
#include "services/api/runs/outputs.h"

typedef struct {
    const char *id;
    const Tabella__Job *job;
    bool run;    /* its result is a bundle */
    output kept; /* bundle NULL: none is kept */
} run_result;

/* The job, without its bundle but for one that is kept here. */
tab_status result_job(request *r, const char *id, run_result *ret, tab_error *err) TAB_CHECKED;
/* Its bundle, where it has one: whole, or the head. */
tab_status result_first(request *r, run_result *x, tab_error *err) TAB_CHECKED;
/* What holds element `from` of an array, in the arena; sound. NOT_FOUND: none is kept (any more). */
tab_status result_piece(request *r, const run_result *x, tab_arena *a, tab_paged array, size_t from,
                        const Tabella__Bundle **ret, tab_error *err) TAB_CHECKED;

/* ---- a part of a result as a table ------------------------------------------------------------ */

/* Where one is in a paged array: the piece that holds element `at`, in an arena of its own. */
typedef struct {
    tab_paged array;
    size_t at, total;
    tab_arena *arena;
    const Tabella__Bundle *piece;
    size_t first, held; /* of the piece */
} part_cursor;

typedef struct part part;
typedef struct {
    const char *name;
    /* Says its columns. NOT_FOUND: the result has no such part. */
    tab_status (*open)(part *p, tab_error *err);
    /* The next rows, in the arena; NULL: there are none. */
    tab_status (*next)(part *p, tab_arena *a, const tab_table **ret, tab_error *err);
} part_kind;

enum { PART_ROWS = 8192 }; /* of a batch that is made of a head */

struct part {
    request *r;
    const run_result *x;
    const Tabella__Bundle *b; /* of x */
    const part_kind *kind;
    tab_str table; /* filled/{table}; empty: the only one */
    tab_file_column *column;
    size_t cols;
    bool shares;     /* results: the probability of every class, where there are few */
    bool *open_type; /* (cols) its type is that of its cells, which are to be looked at */
    /* where it is */
    part_cursor cursor[2];
    size_t at;
    struct part_filled *filled;
};

extern const part_kind part_kinds[]; /* behind the last one without a name */
extern const part_kind part_filled_kind;
bool part_column(part *p, tab_str name, tab_file_type type); /* one more; false: the arena is full */
bool part_open_column(part *p, tab_str name);
tab_status part_absent(tab_error *err, const char *what);
/* The piece that holds element at of the cursor's array; at < total. */
tab_status part_seek(part *p, part_cursor *c, tab_error *err) TAB_CHECKED;
void part_rewind(part *p);
void part_close(part *p);

#endif
