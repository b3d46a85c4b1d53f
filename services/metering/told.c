/* Usage as it is counted, told in the transaction that counts it, for organizations that send it on (decision
 * 0668). Whether one does say its settings, as keys said them last. */
#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "common/security/ids.h"
#include "services/metering/metering.h"

/* An event's lines, from `at` on; false: the arena is full. */
static bool lines_of(tab_arena *a, const metering_rates *r, const Tabella__WorkDone *e,
                     Tabella__UsageCounted *m)
{
    for (size_t i = 0; i < e->n_usage; i++) {
        Tabella__CountedUsage *u = tab_arena_new_of(a, Tabella__CountedUsage, 1);
        metering_op op;
        if (u == NULL || !metering_op_of(e->usage[i]->op, &op))
            return false;
        tabella__counted_usage__init(u);
        u->id = tab_arena_printf(a, "%s/%zu", e->event_id, i + 1);
        u->at_us = e->at_us;
        u->op = e->usage[i]->op;
        u->cells = e->usage[i]->cells;
        u->milli = (uint64_t)metering_milli(r, op, e->usage[i]->cells);
        u->surface = e->surface[0] != 0 ? e->surface : (char *)(uintptr_t) "api";
        u->key_id = e->key_id;
        u->endpoint_id = e->endpoint_id;
        u->endpoint = e->endpoint;
        u->base_model = e->base_model;
        m->usage[m->n_usage++] = u;
    }
    return !tab_arena_full(a);
}

tab_status metering_tell(tab_tx *tx, tab_arena *a, const metering_rates *r, const char *org,
                         const Tabella__WorkDone *const *e, const bool *fresh, size_t n, tab_error *err)
{
    Tabella__UsageCounted m = TABELLA__USAGE_COUNTED__INIT;
    size_t lines = 0;
    char id[TAB_ID];
    for (size_t i = 0; i < n; i++)
        lines += fresh[i] && strcmp(e[i]->org_id, org) == 0 ? e[i]->n_usage : 0;
    m.usage = tab_arena_new_of(a, Tabella__CountedUsage *, lines + 1);
    if (m.usage == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (fresh[i] && strcmp(e[i]->org_id, org) == 0 && !lines_of(a, r, e[i], &m))
            return tab_no_memory(err);
    if (m.n_usage == 0)
        return TAB_OK;
    tab_id_new(id, "use_");
    m.event_id = id;
    m.org_id = (char *)(uintptr_t)org;
    return tab_outbox_put(tx, "metering", id, "tabella.event.usage.counted", org, &m.base, err);
}
