/* What a run has left: its job, its bundle or the head of a large one, and pieces of that.
 *
 *   results.c           finds them, wherever they lie; GET /v2/jobs/:id
 *   download.c          GET /v2/jobs/:id/result/...: the parts of a result as files
 *   download_rows.c     the rows that it read, for tables with what was filled */
#ifndef TAB_API_RESULTS_H
#define TAB_API_RESULTS_H

#include "common/bundle/bundle_json.h"
#include "common/bundle/bundle_pieces.h"
#include "common/parts/parts.h"
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

/* ---- the rows that a run read (download_rows.c) ------------------------------------------------ */

/* Of the table of this number, range by range: from a snapshot, or, of an inline run, what is kept with its
 * output. */
typedef struct {
    request *r;
    const run_result *x;
    const char *snapshot; /* NULL: the rows are `kept` */
    const tab_table *kept;
} run_rows;
/* NOT_FOUND: they were not stored, or are no longer. */
tab_status run_rows_read(run_rows *rows, tab_arena *a, size_t table, size_t from, size_t n,
                         const tab_table **ret, tab_error *err) TAB_CHECKED;

#endif
