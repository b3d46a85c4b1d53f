/* See metering.h: slots in memory of what organizations may use and have used, and the ledger behind
 * them. */
#include "services/metering/metering.h"

#include <stdio.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/metrics.h"
#include "common/proto.h"

/* ---- who may use how much -------------------------------------------------------------------- */

bool metering_allows(const metering_slot *o, double usd_per_million, int64_t cost_milli, char *why,
                     size_t size, uint32_t *ret_retry_s)
{
    double used = (double)o->used_milli / 1000.0, cost = (double)cost_milli / 1000.0;
    double allowance = (double)o->allowance;
    char resets[16];
    metering_resets_in(o->resets_us, resets, sizeof resets);
    *ret_retry_s = o->lifetime || o->resets_us <= 0 ? 86400 : (uint32_t)(o->resets_us / 1000000 + 1);
    bool pay_as_you_go = o->allowance == 0;
    if (!pay_as_you_go && used + cost <= allowance)
        return true;
    if (!pay_as_you_go && !o->add_usage) {
        double left = allowance > used ? allowance - used : 0;
        if (o->lifetime)
            snprintf(why, size, "the lifetime allowance of %.0f cells has %.0f left and this call needs %.0f",
                     allowance, left, cost);
        else
            snprintf(why, size,
                     "the weekly allowance of %.0f cells has %.0f left and this call needs %.0f; "
                     "it resets in %s",
                     allowance, left, cost, resets);
        return false;
    }
    if (o->cap_set) {
        double over = used + cost - allowance;
        if (over * usd_per_million / 1e6 > o->cap_usd) {
            snprintf(why, size, "the spend cap of %.2f USD is reached; it starts anew in %s", o->cap_usd,
                     resets);
            return false;
        }
    }
    return true;
}

static metering_slot *slot_of(metering *m, const char *org)
{
    return &m->slot[tab_text_slot(org, METERING_SLOTS)];
}

/* What the organization may use, from keys, else as it was last known. NULL: it was never known. */
static tab_status org_read(metering *m, tab_tx *tx, tab_arena *a, const char *org, Tabella__Org **ret,
                           tab_error *err)
{
    Tabella__GetOrgRequest q = TABELLA__GET_ORG_REQUEST__INIT;
    q.org = (char *)org;
    tab_answer answer = { 0 };
    tab_error away = { 0 };
    tab_ask ask = { .service = "keys",
                    .method = "GetOrg",
                    .org = org,
                    .deadline = tab_in_ms(500),
                    .in = &q.base,
                    .reply = &tabella__org__descriptor,
                    .arena = a };
    if (tab_rpc_call(m->rpc, &ask, &answer, &away) != TAB_OK)
        return metering_account_get(tx, a, org, ret, err);
    *ret = (Tabella__Org *)answer.msg;
    return metering_account_put(tx, *ret, err);
}

static void slot_fill(metering_slot *s, const Tabella__Org *o)
{
    s->lifetime = o->lifetime;
    s->add_usage = o->add_usage_enabled;
    s->cap_set = o->spend_cap_set;
    s->cap_usd = o->spend_cap_usd;
    s->allowance = o->allowance_cells;
    s->cells_per_minute = o->limits == NULL ? 0 : o->limits->cells_per_minute;
    s->org_at = tab_mono_ms();
}

/* A fresh copy of the organization's slot. *ret_known false: what it may use is not known. */
static tab_status look(metering *m, tab_call *call, metering_slot *ret, bool *ret_known, tab_error *err)
{
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&m->lock);
    *ret = *slot_of(m, call->org);
    pthread_mutex_unlock(&m->lock);
    bool same = strcmp(ret->org, call->org) == 0;
    bool fresh_org = same && ret->org_at != 0 && now - ret->org_at < METERING_ORG_FRESH_MS;
    bool fresh_used = same && ret->used_at != 0 && now - ret->used_at < METERING_USED_FRESH_MS;
    *ret_known = true;
    if (fresh_org && fresh_used)
        return TAB_OK;
    if (!same) {
        *ret = (metering_slot){ 0 };
        snprintf(ret->org, sizeof ret->org, "%s", call->org);
    }
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s = tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK && !fresh_org) {
        Tabella__Org *org = NULL;
        s = org_read(m, tx, call->arena, call->org, &org, err);
        if (s == TAB_OK && org == NULL)
            *ret_known = false;
        else if (s == TAB_OK)
            slot_fill(ret, org);
    }
    metering_window w = { 0 };
    if (s == TAB_OK && *ret_known)
        s = metering_window_read(tx, call->org, ret->lifetime, &w, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s != TAB_OK || !*ret_known)
        return s;
    ret->used_milli = w.used_milli;
    ret->resets_us = w.end_us == 0 ? 0 : w.end_us - w.now_us;
    ret->used_at = tab_mono_ms();
    pthread_mutex_lock(&m->lock);
    *slot_of(m, call->org) = *ret;
    pthread_mutex_unlock(&m->lock);
    return TAB_OK;
}

static tab_status reserve(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    const Tabella__ReserveRequest *q = call->in;
    Tabella__ReserveReply *y = call->out;
    metering_op op;
    if (!metering_op_of(q->op, &op))
        return tab_fail(err, TAB_VALIDATION, "op", "no such operation");
    metering_slot o;
    bool known;
    tab_status s = look(m, call, &o, &known, err);
    if (s != TAB_OK)
        return s;
    int64_t cost = metering_milli(&m->rates, op, q->cells);
    char why[200] = "";
    y->allowed = !known || metering_allows(&o, m->usd_per_million, cost, why, sizeof why, &y->retry_after_s);
    y->limit = known ? o.cells_per_minute : 0;
    double left = (double)o.allowance - (double)o.used_milli / 1000.0;
    y->remaining = left > 0 ? (uint64_t)left : 0;
    if (!y->allowed) {
        y->message = tab_proto_text(call->arena, why);
        return TAB_OK;
    }
    y->retry_after_s = 0;
    pthread_mutex_lock(&m->lock); /* so that a burst does not all see the same sum */
    metering_slot *slot = slot_of(m, call->org);
    if (strcmp(slot->org, call->org) == 0)
        __builtin_add_overflow(slot->used_milli, cost, &slot->used_milli);
    pthread_mutex_unlock(&m->lock);
    return TAB_OK;
}

/* ---- usage ----------------------------------------------------------------------------------- */

static tab_status usage(void *self, tab_call *call, tab_error *err)
{
    metering *m = self;
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Org *org = NULL;
    tab_status s = tab_tx_begin(m->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = org_read(m, tx, call->arena, call->org, &org, err);
    if (s == TAB_OK && org == NULL)
        s = tab_fail(err, TAB_UNAVAILABLE, "", "the organization's plan cannot be read now");
    if (s == TAB_OK)
        s = metering_usage(tx, call->arena, org, &m->rates, call->out, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* By the settings as last known: a call to keys would hold the transaction. */
static tab_status look_at_alerts(tab_tx *tx, tab_arena *a, const char *org, tab_error *err)
{
    Tabella__Org *account = NULL;
    tab_status s = metering_account_get(tx, a, org, &account, err);
    return s != TAB_OK || account == NULL ? s : metering_alerts(tx, account, err);
}

/* n events of one organization. *ret: how many were not counted before. */
static tab_status count(metering *m, tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *e, size_t n,
                        size_t *ret, tab_error *err)
{
    *ret = 0;
    bool *fresh = tab_arena_new_of(a, bool, n + 1);
    if (fresh == NULL)
        return tab_no_memory(err);
    tab_status s = n == 0 ? TAB_OK : metering_count(tx, a, &m->rates, e, n, fresh, err);
    for (size_t i = 0; s == TAB_OK && i < n; i++) {
        *ret += fresh[i];
        for (size_t k = 0; fresh[i] && k < e[i]->n_usage; k++) {
            char label[48];
            snprintf(label, sizeof label, "op=\"%s\"", e[i]->usage[k]->op);
            tab_metric_add(tab_counter("tabella_metered_cells_total", "Cells counted in the ledger", label),
                           (double)e[i]->usage[k]->cells);
        }
    }
    return s == TAB_OK && *ret > 0 ? look_at_alerts(tx, a, e[0]->org_id, err) : s;
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

tab_status metering_on_work(void *self, tab_tx *tx, const tab_event *event, size_t n, tab_error *err)
{
    size_t m = 0, counted;
    const Tabella__WorkDone **e = tab_arena_new_of(event->arena, const Tabella__WorkDone *, n);
    if (e == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if ((e[m] = readable(&event[i])) != NULL)
            m++;
    return count(self, tx, event->arena, e, m, &counted, err);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method metering_methods[] = {
    METHOD("Reserve", reserve_request, reserve_reply, reserve),
    METHOD("Charge", charge_request, charge_reply, charge),
    METHOD("Usage", usage_request, usage_reply, usage),
    TAB_RPC_METHODS_END,
};
