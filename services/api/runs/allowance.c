/* See allowance.h: questions to metering (Reserve) and a breaker on them. When metering does not answer,
 * calls go on without asking until a probe is answered (decision 0238). */
#include "services/api/runs/allowance.h"
#include "services/api/counts.h"

#include "common/base/log.h"
#include "common/base/point.h"
#include "proto/events.pb-c.h"
#include "proto/metering.pb-c.h"
#include "services/api/service_calls.h"

enum { WAIT_MS = 2000, PROBE_MS = 1000 };

static atomic_bool away; /* the breaker is open */

static bool silent(tab_status s)
{
    return s == TAB_UNAVAILABLE || s == TAB_CANCELLED;
}

void cost_add(cost *c, const char *op, uint64_t cells)
{
    Tabella__UsageLine *l = &c->line[c->n++];
    tabella__usage_line__init(l);
    l->op = STR(op);
    l->cells = cells;
}

Tabella__UsageLine **cost_lines(cost *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->usage[i] = &c->line[i];
    return c->usage;
}

tab_status allowance_ask(request *r, cost *c, const Tabella__ReserveRequest *with, int64_t wait_ms,
                         const Tabella__ReserveReply **ret, tab_error *err)
{
    Tabella__ReserveRequest q = *with;
    tab_answer answer;
    *ret = NULL;
    if (atomic_load(&away)) {
        TAB_POINT("allowance.unasked");
        return TAB_OK;
    }
    q.op = c->line[0].op; /* all that a meter of a version before this one reads */
    q.cells = c->line[0].cells;
    q.usage = cost_lines(c);
    q.n_usage = c->n;
    tab_ask ask = { .service = "metering",
                    .method = "Reserve",
                    .in = &q.base,
                    .deadline = tab_in_ms(wait_ms > 0 ? wait_ms : WAIT_MS),
                    .reply = &tabella__reserve_reply__descriptor };
    tab_status s = call_with(r, &ask, &answer, err);
    if (silent(s)) {
        TAB_POINT("allowance.unanswered");
        if (!atomic_exchange(&away, true))
            tab_log(TAB_WARN, "metering is away; the ledger fills from events later");
        return TAB_OK;
    }
    if (s != TAB_OK)
        return s;
    const Tabella__ReserveReply *y = answer.msg;
    *ret = y;
    if (y->allowed || q.dry)
        return TAB_OK;
    r->retry_after = y->retry_after_s > 0 ? y->retry_after_s : 1;
    count_limited(LIMIT_ALLOWANCE);
    return tab_fail(err, TAB_RATE_LIMIT, "", "%s", y->message);
}

tab_status allowance_reserve(request *r, cost *c, const char *id, const char *instead_of, uint32_t lease_s,
                             tab_error *err)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    const Tabella__ReserveReply *y;
    q.id = STR(id);
    q.instead_of = STR(instead_of);
    q.lease_s = lease_s;
    return allowance_ask(r, c, &q, 0, &y, err);
}

/* Any answer closes the breaker, a refusal too. */
static void note(tab_status s)
{
    if (!silent(s) && atomic_exchange(&away, false))
        tab_log(TAB_INFO, "metering is there");
}

static tab_status ask_alone(api *a, const char *org, const char *method, const ProtobufCMessage *q,
                            int64_t ms)
{
    tab_answer answer;
    tab_error err;
    TAB_AUTO(tab_arena) *arena = tab_arena_new(1 << 20);
    if (arena == NULL)
        return TAB_UNAVAILABLE;
    tab_ask ask = { .service = "metering",
                    .method = method,
                    .org = org,
                    .request_id = "",
                    .actor = "",
                    .deadline = tab_in_ms(ms),
                    .in = q,
                    .reply = &tabella__reserve_reply__descriptor,
                    .arena = arena };
    return tab_rpc_call(a->rpc, &ask, &answer, &err);
}

void allowance_give_back(api *a, const char *org, const char *id, uint64_t milli)
{
    Tabella__UnreserveRequest q = TABELLA__UNRESERVE_REQUEST__INIT;
    if (id == NULL || *id == 0 || atomic_load(&away))
        return;
    q.id = STR(id);
    q.milli = milli;
    (void)!ask_alone(a, org, "Release", &q.base, WAIT_MS);
}

void allowance_probe(api *a)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    if (!atomic_load(&away))
        return;
    q.op = STR("run");
    note(ask_alone(a, "", "Reserve", &q.base, PROBE_MS));
}
