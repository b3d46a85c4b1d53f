/* A generation as a job: one call of inference under the job's id, which takes the tables in under
 * that id, so that a repeated attempt finds what an earlier one made; then the bill and the answer in
 * one transaction. */
#include "common/base/proto.h"
#include "common/bundle/generated_json.h"
#include "services/jobs/work.h"

enum { GENERATE_MS = 3600000 };

tab_status work_generate(work *w, tab_arena *a, tab_error *err)
{
    const jobs_claimed *c = w->c;
    const Tabella__SubmitRequest *q = tab_proto_read(a, &tabella__submit_request__descriptor, c->request);
    Tabella__GenerateRequest *ask =
        q == NULL ? NULL
                  : tab_proto_read(a, &tabella__generate_request__descriptor,
                                   (tab_str){ (const char *)q->request.data, q->request.len });
    if (ask == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    ask->ingest_id = (char *)c->job_id;
    ask->call_id = w->call_id;
    const void *msg = NULL;
    work_phase(w, "generating", 0.02, 0.95);
    TAB_TRY(work_call(w, "inference", "Generate", GENERATE_MS, &ask->base,
                      &tabella__generate_reply__descriptor, a, &msg, err));
    const Tabella__GenerateReply *y = msg;
    if (y->n_tables == 0)
        return tab_fail(err, TAB_INTERNAL, "", "a generation without a table");
    work_phase(w, "storing", 0.96, 0.99);

    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_generated_members(&o, ask, y);
    tab_out_close(&o, '}');
    tab_str json = tab_arena_copy(a, (tab_str){ o.p, o.n });
    bool written = !o.failed && json.p != NULL;
    tab_out_free(&o);
    if (!written)
        return tab_no_memory(err);
    Tabella__UsageLine all = TABELLA__USAGE_LINE__INIT, *lines[] = { &all };
    all.op = (char *)"generate";
    all.cells = y->cells;
    Tabella__WorkDone done = TABELLA__WORK_DONE__INIT;
    done.tables = (uint32_t)y->n_tables;
    done.usage = lines;
    done.n_usage = 1;
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    result.json = (ProtobufCBinaryData){ json.n, (uint8_t *)(uintptr_t)json.p };

    TAB_AUTO(tab_tx) *tx = NULL;
    jobs_end end = { .status = "done", .result = &result };
    tab_status s;
    if ((s = work_begin(w, 60000, &tx, err)) == TAB_OK && (s = jobs_finish(tx, c, &end, err)) == TAB_OK &&
        (s = jobs_bill(tx, c, &done, err)) == TAB_OK)
        s = tab_tx_commit(&tx, err);
    return work_ended(w, s);
}
