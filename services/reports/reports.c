/* See reports.h: each method is one transaction of store.c. */
#include "services/reports/reports.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/reports/store.h"

static reports_at at_of(void *self, tab_call *call)
{
    assert(((reports *)self)->pg != NULL && call->arena != NULL);
    return (reports_at){ ((reports *)self)->pg, call->org, call->deadline, call->arena };
}

static tab_status answer(tab_status s, tab_call *call, const Tabella__Report *r)
{
    assert(s != TAB_OK || r != NULL);
    if (s == TAB_OK)
        *(Tabella__Report *)call->out = *r;
    return s;
}

static tab_status mint(void *self, tab_call *call, tab_error *err)
{
    const Tabella__MintRequest *q = call->in;
    reports_at at = at_of(self, call);
    Tabella__Report *r = NULL;
    if (q->report == NULL)
        return tab_fail(err, TAB_VALIDATION, "report", "no report to mint");
    tab_status s = reports_mint(&at, q->report, &r, err);
    return answer(s, call, r);
}

static tab_status get(void *self, tab_call *call, tab_error *err)
{
    const Tabella__GetReportRequest *q = call->in;
    reports_at at = at_of(self, call);
    Tabella__Report *r = NULL;
    tab_status s = reports_get(&at, q->id, &r, err);
    return answer(s, call, r);
}

static tab_status list(void *self, tab_call *call, tab_error *err)
{
    reports_at at = at_of(self, call);
    Tabella__ListReportsReply *y = NULL;
    tab_status s = reports_list(&at, call->in, &y, err);
    if (s == TAB_OK)
        *(Tabella__ListReportsReply *)call->out = *y;
    return s;
}

static tab_status star(void *self, tab_call *call, tab_error *err)
{
    const Tabella__StarRequest *q = call->in;
    reports_at at = at_of(self, call);
    Tabella__Report *r = NULL;
    tab_status s = reports_star(&at, q->id, q->starred, &r, err);
    return answer(s, call, r);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method reports_methods[] = {
    METHOD("Mint", mint_request, report, mint),
    METHOD("Get", get_report_request, report, get),
    METHOD("List", list_reports_request, list_reports_reply, list),
    METHOD("Star", star_request, report, star),
    TAB_RPC_METHODS_END,
};

/* The runs' records go with their runs; the database has the one function that may (decision 0665). */
static tab_status on_gone(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__RunsGone *e =
        tab_proto_read(event->arena, &tabella__runs_gone__descriptor, event->payload);
    const char *ids = e == NULL ? NULL : tab_pg_array(event->arena, e->report_ids, e->n_report_ids);
    if (e == NULL)
        return TAB_OK; /* it can never be read */
    if (ids == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err, "SELECT reports.forget_runs($1::text[])", TAB_P(tab_p_text(ids)));
}

tab_status reports_on_work(void *self, tab_tx *tx, const tab_event *event, tab_error *err)
{
    (void)self;
    if (strcmp(event->subject, "tabella.event.runs.gone") == 0)
        return on_gone(tx, event, err);
    const Tabella__WorkDone *e =
        tab_proto_read(event->arena, &tabella__work_done__descriptor, event->payload);
    if (e == NULL) {
        tab_log_fields(TAB_ERROR, "an event that cannot be read", "event_id", event->event_id, NULL);
        return TAB_OK;
    }
    if (e->run == NULL || e->run->report_id[0] == 0)
        return TAB_OK;
    tab_status s = reports_record_run(tx, event->arena, e, err);
    if (s == TAB_VALIDATION) { /* it can never become a record: logged once and skipped */
        tab_log_fields(TAB_ERROR, "a run's event makes no record", "event_id", event->event_id, NULL);
        s = TAB_OK;
    }
    return s;
}
