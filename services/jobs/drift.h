/* What endpoints served beside what they pin (decision 0322). */
#ifndef TAB_JOBS_DRIFT_H
#define TAB_JOBS_DRIFT_H

#include "services/jobs/work.h"

/* RPC Drift: adds counts to the endpoint's. Those of another state than the current one are dropped. */
tab_status drift_add(void *jobs, tab_call *call, tab_error *err);
/* Fills e->drift, NULL where nothing was served since the current state came. */
tab_status drift_read(tab_tx *tx, tab_arena *a, const char *org, Tabella__Endpoint *e,
                      tab_error *err) TAB_CHECKED;
#endif
