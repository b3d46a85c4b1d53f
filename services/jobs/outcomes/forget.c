/* RPC ForgetOutcomes: a person asks that rows which were kept with their cells are deleted (decision 0880).
 * Who asks has the receipts; they say which rows, and that they are this endpoint's, however old they are. */
#include "services/jobs/endpoint.h"
#include "services/jobs/outcomes/given.h"
#include "services/jobs/outcomes/outcomes.h"
#include "services/jobs/outcomes/rows.h"

tab_status outcomes_forget(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__ForgetOutcomesRequest *q = call->in;
    Tabella__ForgetOutcomesReply *y = call->out;
    Tabella__Endpoint *e = NULL;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *ids;
    if (q->n_receipts == 0 || q->n_receipts > OUTCOMES_MOST)
        return tab_fail(err, TAB_VALIDATION, "receipts", "a call can have 1 to %d receipts", OUTCOMES_MOST);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(endpoint_get(tx, call->arena, call->org, q->id_or_name, true, &e, err));
    if (e->receipt_key.len != TAB_RECEIPT_KEY)
        return tab_fail(err, TAB_INTERNAL, "", "an endpoint without its key");
    TAB_TRY(given_to_forget(call->arena, e, q, &ids, err));
    TAB_TRY(outcome_rows_forget(tx, call, e, ids, &y->forgotten, &y->unnamed, err));
    TAB_TRY(outcome_rows_count(tx, call->org, e, &y->kept, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(self->relay);
    return TAB_OK;
}
