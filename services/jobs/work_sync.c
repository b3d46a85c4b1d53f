/* A large sync as a job: one call of data-connector under the job's id, so that a repeated attempt finds
 * what an earlier one minted. Not metered. */
#include "common/proto.h"
#include "proto/data.pb-c.h"
#include "services/jobs/work.h"

enum { SYNC_MS = 3600000 };

tab_status work_sync(work *w, tab_arena *a, tab_error *err)
{
    const jobs_claimed *c = w->c;
    const Tabella__SubmitRequest *q = tab_proto_read(a, &tabella__submit_request__descriptor, c->request);
    Tabella__SyncRequest *ask =
        q == NULL ? NULL
                  : tab_proto_read(a, &tabella__sync_request__descriptor,
                                   (tab_str){ (const char *)q->request.data, q->request.len });
    if (ask == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    ask->sync_id = (char *)c->job_id;
    const void *msg = NULL;
    work_phase(w, "syncing", 0.02, 0.98);
    tab_status s = work_call(w, "data-connector", "Sync", SYNC_MS, &ask->base,
                             &tabella__sync_reply__descriptor, a, &msg, err);
    if (s != TAB_OK)
        return s;
    const Tabella__SyncReply *y = msg;
    tab_str bytes = tab_proto_write(a, &y->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    result.sync = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    result.snapshot = y->snapshot;
    result.previous_snapshot = y->previous_snapshot;
    TAB_AUTO(tab_tx) *tx = NULL;
    jobs_end end = { .status = "done", .result = &result };
    if ((s = tab_tx_begin(w->self->pg, c->org, tab_in_ms(60000), &tx, err)) == TAB_OK &&
        (s = jobs_finish(tx, c, &end, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK || s == TAB_CANCELLED) {
        jobs_wake(w->self);
        return TAB_OK; /* cancelled or taken over meanwhile: nothing was written */
    }
    return s;
}
