/* A refresh with use_outcomes: rows whose outcomes are known become rows of the data (decision 0515). */
#include "common/base/proto.h"
#include "proto/data.pb-c.h"
#include "services/jobs/outcomes/rows.h"
#include "services/jobs/work.h"

enum { READ_MS = 60000, LABEL_MS = 900000 };

tab_status work_outcomes(work *w, tab_arena *a, const Tabella__Endpoint *e, Tabella__PinnedDataset *const *d,
                         Tabella__OutcomesUsed **ret, tab_error *err)
{
    Tabella__LabelRequest q = TABELLA__LABEL_REQUEST__INIT;
    const Tabella__RefreshRequest *asked =
        tab_proto_read(a, &tabella__refresh_request__descriptor, w->c->request);
    const tab_table *rows = NULL;
    const void *msg = NULL;
    tab_str column;
    *ret = NULL;
    if (asked == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "the job's request cannot be read");
    size_t at = outcome_rows_dataset(e, &column);
    if (!asked->use_outcomes || at == e->n_datasets)
        return TAB_OK;
    *ret = tab_arena_new_of(a, Tabella__OutcomesUsed, 1);
    q.once =
        tab_arena_printf(a, "%s:outcomes", w->c->job_id); /* a step that is repeated labels no second time */
    if (*ret == NULL || q.once == NULL)
        return tab_no_memory(err);
    tabella__outcomes_used__init(*ret);
    TAB_TRY(outcome_rows_read(w->self->pg, a, w->c->org, e, tab_in_ms(READ_MS), &rows, err));
    if (rows == NULL)
        return TAB_OK;
    q.snapshot = d[at]->snapshot;
    q.target = (ProtobufCBinaryData){ column.n, (uint8_t *)(uintptr_t)column.p };
    tab_status s = work_call_with(w, "data-connector", "Label", LABEL_MS, &q.base, &rows, 1,
                                  &tabella__label_reply__descriptor, a, &msg, err);
    if (s == TAB_NOT_FOUND && strcmp(err->param, "target") == 0)
        return TAB_OK; /* the column is gone: the look at columns says so */
    if (s != TAB_OK)
        return s;
    const Tabella__LabelReply *y = msg;
    d[at]->snapshot = y->snapshot;
    (*ret)->added = y->added;
    (*ret)->labelled = y->labelled;
    (*ret)->known = y->known;
    return TAB_OK;
}

tab_status outcomes_dry(jobs *self, tab_call *call, const Tabella__Endpoint *e, size_t dataset, char *owner,
                        char **snapshot, tab_error *err)
{
    Tabella__LabelRequest q = TABELLA__LABEL_REQUEST__INIT;
    const tab_table *rows = NULL;
    tab_str column;
    if (outcome_rows_dataset(e, &column) != dataset)
        return TAB_OK;
    TAB_TRY(outcome_rows_read(self->pg, call->arena, call->org, e, tab_within_ms(call->deadline, READ_MS),
                              &rows, err));
    if (rows == NULL)
        return TAB_OK;
    q.snapshot = *snapshot;
    q.target = (ProtobufCBinaryData){ column.n, (uint8_t *)(uintptr_t)column.p };
    q.owner = owner;
    tab_ask ask = { .service = "data-connector",
                    .method = "Label",
                    .org = call->org,
                    .request_id = call->request_id,
                    .actor = call->actor,
                    .deadline = tab_within_ms(call->deadline, READ_MS),
                    .in = &q.base,
                    .tables = &rows,
                    .n_tables = 1,
                    .reply = &tabella__label_reply__descriptor,
                    .arena = call->arena,
                    .gone = call->cancel };
    tab_answer answer = { 0 };
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, err);
    if (s == TAB_NOT_FOUND && strcmp(err->param, "target") == 0)
        return TAB_OK;
    if (s == TAB_OK)
        *snapshot = ((const Tabella__LabelReply *)answer.msg)->snapshot;
    return s;
}
