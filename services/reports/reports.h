/* reports: its RPC methods (proto/reports.proto) and the consumer that makes run records. */
#ifndef TAB_REPORTS_H
#define TAB_REPORTS_H

#include "common/rpc/outbox.h"
#include "common/rpc/rpc.h"

typedef struct {
    tab_pg *pg;
} reports;

extern const tab_rpc_method reports_methods[];

/* tabella.event.work.done: a run leaves a run record. */
tab_status reports_on_work(void *self, tab_tx *tx, const tab_event *event, tab_error *err);

#endif
