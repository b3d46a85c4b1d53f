/* A large sync, and the reading of a large uploaded file, as a job: one call of data-connector under the
 * job's id, so that a repeated attempt finds what an earlier one minted. Not metered. */
#include "common/base/proto.h"
#include "proto/data.pb-c.h"
#include "services/jobs/work.h"

enum { SYNC_MS = 3600000 };

static tab_status end_job(work *w, Tabella__JobResult *result, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    jobs_end end = { .status = "done", .result = result };
    tab_status s;
    if ((s = work_begin(w, 60000, &tx, err)) == TAB_OK && (s = jobs_finish(tx, w->c, &end, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return work_ended(w, s);
}

static tab_status load_file(work *w, tab_arena *a, tab_str request, tab_error *err)
{
    Tabella__LoadRequest *ask = tab_proto_read(a, &tabella__load_request__descriptor, request);
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    const void *msg = NULL;
    if (ask == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    work_phase(w, "reading", 0.02, 0.98);
    TAB_TRY(work_call(w, "data-connector", "Load", SYNC_MS, &ask->base, &tabella__load_reply__descriptor, a,
                      &msg, err));
    tab_str bytes = tab_proto_write(a, msg);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    result.load = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    return end_job(w, &result, err);
}

static tab_status sync_source(work *w, tab_arena *a, tab_str request, tab_error *err)
{
    Tabella__SyncRequest *ask = tab_proto_read(a, &tabella__sync_request__descriptor, request);
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    const void *msg = NULL;
    if (ask == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    ask->sync_id = (char *)w->c->job_id;
    work_phase(w, "syncing", 0.02, 0.98);
    TAB_TRY(work_call(w, "data-connector", "Sync", SYNC_MS, &ask->base, &tabella__sync_reply__descriptor, a,
                      &msg, err));
    const Tabella__SyncReply *y = msg;
    tab_str bytes = tab_proto_write(a, &y->base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    result.sync = (ProtobufCBinaryData){ bytes.n, (uint8_t *)(uintptr_t)bytes.p };
    result.snapshot = y->snapshot;
    result.previous_snapshot = y->previous_snapshot;
    return end_job(w, &result, err);
}

tab_status work_sync(work *w, tab_arena *a, tab_error *err)
{
    const Tabella__SubmitRequest *q = tab_proto_read(a, &tabella__submit_request__descriptor, w->c->request);
    if (q == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    return q->load.len > 0
               ? load_file(w, a, (tab_str){ (const char *)q->load.data, q->load.len }, err)
               : sync_source(w, a, (tab_str){ (const char *)q->request.data, q->request.len }, err);
}
