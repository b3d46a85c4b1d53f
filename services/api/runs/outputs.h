/* What inline runs leave for 24 hours. */
#ifndef TAB_API_OUTPUTS_H
#define TAB_API_OUTPUTS_H

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

typedef struct {
    const Tabella__Bundle *bundle;
    const char *run_id, *report_id, *base, *feed;
    int64_t created_us;
    /* where cells were filled: the run's inline tables, and the sources of the others; else 0 and NULL */
    const tab_table *const *tables;
    size_t n_tables;
    const Tabella__JobResult *sources;
} output;
tab_status output_put(request *r, tab_tx *tx, const char *job_id, const output *o,
                      tab_error *err) TAB_CHECKED;
tab_status output_get(request *r, const char *job_id, output *ret, tab_error *err) TAB_CHECKED;
/* What filled tables are made of, into an output that output_get gave. */
tab_status output_tables(request *r, const char *job_id, output *o, tab_error *err) TAB_CHECKED;
/* It goes, with its certificate (decision 0666). *ret_there false: there was none. */
tab_status output_delete(request *r, const char *job_id, bool *ret_there, tab_error *err) TAB_CHECKED;

#endif
