/* See metering.h: what was used. */
#include "services/metering/metering.h"

#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"

/* ---- usage ----------------------------------------------------------------------------------- */

static tab_status usage(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Org *org = NULL;
    TAB_TRY(metering_org(m, call, &org, err));
    if (org == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "the plan of the organization cannot be read at the moment; try again");
    TAB_TRY(tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(metering_usage(tx, call->arena, org, &m->rates, call->in, call->out, err));
    Tabella__UsageReply *y = call->out;
    metering_terms t = metering_terms_of(org);
    y->usd_per_million = m->usd_per_million;
    y->amount_usd = metering_usd(&t, m->usd_per_million, 0, (int64_t)(1000 * y->total_cells));
    return tab_tx_commit(&tx, err);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Of n events those of work that nobody has counted under another id, in e. */
static tab_status drop_known(tab_tx *tx, tab_arena *a, const Tabella__WorkDone **e, size_t *n, tab_error *err)
{
    size_t left = 0;
    bool *known = tab_arena_new_of(a, bool, *n + 1);
    if (known == NULL)
        return tab_no_memory(err);
    TAB_TRY(metering_known(tx, a, e, *n, known, err));
    for (size_t i = 0; i < *n; i++)
        if (!known[i])
            e[left++] = e[i];
    *n = left;
    return TAB_OK;
}

/* n events, of one organization or of several. *ret: how many were not counted before. */
static tab_status count(metering *m, tab_tx *tx, tab_arena *a, const Tabella__WorkDone **e, size_t n,
                        size_t *ret, tab_error *err)
{
    *ret = 0;
    TAB_TRY(drop_known(tx, a, e, &n, err));
    bool *fresh = tab_arena_new_of(a, bool, n + 1);
    char **org = tab_arena_new_of(a, char *, n + 1);
    size_t orgs = 0;
    if (fresh == NULL || org == NULL)
        return tab_no_memory(err);
    tab_status s = n == 0 ? TAB_OK : metering_count(tx, a, &m->rates, e, n, fresh, err);
    for (size_t i = 0; s == TAB_OK && i < n; i++) {
        *ret += fresh[i];
        size_t known = 0;
        while (known < orgs && strcmp(org[known], e[i]->org_id) != 0)
            known++;
        if (fresh[i] && known == orgs)
            org[orgs++] = e[i]->org_id;
        for (size_t k = 0; fresh[i] && k < e[i]->n_usage; k++) {
            char label[48];
            snprintf(label, sizeof label, "op=\"%s\"", e[i]->usage[k]->op);
            tab_metric_add(tab_counter("tabella_metered_cells_total", "Cells counted in the ledger", label),
                           (double)e[i]->usage[k]->cells);
        }
    }
    size_t tells = 0;
    const char **told = tab_arena_new_of(a, const char *, orgs + 1);
    if (told == NULL)
        return tab_no_memory(err);
    if (s == TAB_OK && orgs > 0)
        s = metering_alerts_of(tx, a, org, orgs, told, &tells, err);
    for (size_t i = 0; s == TAB_OK && i < tells; i++)
        s = metering_tell(tx, a, &m->rates, told[i], e, fresh, n, err);
    return s;
}

void metering_figures_start(void)
{
#define X(e, name, ratio) \
    (void)tab_counter("tabella_metered_cells_total", "Cells counted in the ledger", "op=\"" name "\"");
    METERING_OPS(X)
#undef X
    (void)tab_counter("tabella_usage_refused_events_total", "Events that cannot be counted", NULL);
}

static tab_status charge(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__ChargeRequest *q = call->in;
    Tabella__ChargeReply *y = call->out;
    if (q->event == NULL || strcmp(q->event->org_id, call->org) != 0)
        return tab_fail(err, TAB_VALIDATION, "event", "no event, or another organization's");
    TAB_AUTO(tab_tx) *tx = NULL;
    const Tabella__WorkDone *e = q->event;
    size_t counted = 0;
    tab_status s = metering_countable(e, err);
    if (s == TAB_OK)
        s = tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = count(m, tx, call->arena, &e, 1, &counted, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    y->counted = counted > 0;
    return s;
}

/* NULL: an event that can never be counted. It is logged as an error and does not stop others. */
static const Tabella__WorkDone *readable(const tab_event *event)
{
    const Tabella__WorkDone *e =
        tab_proto_read(event->arena, &tabella__work_done__descriptor, event->payload);
    if (e != NULL && strcmp(e->org_id, event->org) == 0 && metering_countable(e, NULL) == TAB_OK)
        return e;
    tab_log_fields(TAB_ERROR, "an event that cannot be counted", "event_id", event->event_id, NULL);
    tab_metric_add(tab_counter("tabella_usage_refused_events_total", "Events that cannot be counted", NULL),
                   1);
    return NULL;
}

/* Jobs that were done are billed, which settles what they held. */
static tab_status job_ended(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__JobEnded *e =
        tab_proto_read(event->arena, &tabella__job_ended__descriptor, event->payload);
    return e == NULL || strcmp(e->org_id, event->org) != 0 ? TAB_OK : metering_job_ended(tx, e, err);
}

tab_status metering_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err)
{
    size_t m = 0, counted;
    const Tabella__WorkDone **e = tab_arena_new_of(event->arena, const Tabella__WorkDone *, n);
    if (e == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(event[i].subject, "tabella.event.job.ended") == 0)
            TAB_TRY(job_ended(tx, &event[i], err));
        else if ((e[m] = readable(&event[i])) != NULL)
            m++;
    }
    return count(self, tx, event->arena, e, m, &counted, err);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method metering_methods[] = {
    METHOD("Reserve", reserve_request, reserve_reply, metering_reserve),
    METHOD("Release", unreserve_request, reserve_reply, metering_release),
    METHOD("ListHolds", list_holds_request, list_holds_reply, metering_holds),
    METHOD("Charge", charge_request, charge_reply, charge),
    METHOD("Usage", usage_request, usage_reply, usage),
    METHOD("Verify", verify_request, verify_reply, metering_verify),
    TAB_RPC_METHODS_END,
};
