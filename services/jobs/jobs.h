/* jobs: its RPC methods and the consumer of inline work. */
#ifndef TAB_JOBS_H
#define TAB_JOBS_H

#include "services/jobs/work.h"

extern const tab_rpc_method jobs_methods[];

/* edit.c: configuration edits, prompts, rename. */
tab_status jobs_edit_endpoint(void *self, tab_call *call, tab_error *err);

/* cost.c: what a refresh would bill now. */
tab_status jobs_refresh_cost(void *self, tab_call *call, tab_error *err);

/* exports.c: the members of an export, in the transaction that makes its job (CONFLICT: another one is open),
 * and what one that is done consists of. */
tab_status jobs_export_begin(tab_tx *tx, const tab_call *call, const Tabella__SubmitRequest *q,
                             tab_error *err) TAB_CHECKED;
tab_status jobs_export(void *self, tab_call *call, tab_error *err);

/* out/out_rows.c: rows that are written to options.out. */
tab_status jobs_out_rows(void *self, tab_call *call, tab_error *err);

/* retention.c */
tab_status jobs_delete_job(void *self, tab_call *call, tab_error *err);

/* tabella.event.work.>: a quick run's job row, the count of serve calls. */
tab_status jobs_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err);

#endif
