/* See allowance.h: the question to metering (Reserve) and a breaker on it. When metering does not answer,
 * calls go on without asking until a probe is answered (decision 0238). */
#include "services/api/allowance.h"
#include "services/api/counts.h"

#include "common/log.h"
#include "proto/metering.pb-c.h"

enum { WAIT_MS = 2000, PROBE_MS = 1000 };

static atomic_bool away; /* the breaker is open */

static bool silent(tab_status s)
{
    return s == TAB_UNAVAILABLE || s == TAB_CANCELLED;
}

tab_status allowance_ask(request *r, const char *op, uint64_t cells, const char *endpoint_id,
                         uint64_t *ret_left, tab_error *err)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    tab_answer answer;
    if (ret_left != NULL)
        *ret_left = 0;
    if (atomic_load(&away))
        return TAB_OK;
    q.op = STR(op);
    q.cells = cells;
    q.endpoint_id = STR(endpoint_id);
    tab_ask ask = { .service = "metering",
                    .method = "Reserve",
                    .in = &q.base,
                    .deadline = tab_in_ms(WAIT_MS),
                    .reply = &tabella__reserve_reply__descriptor };
    tab_status s = call_with(r, &ask, &answer, err);
    if (silent(s)) {
        if (!atomic_exchange(&away, true))
            tab_log(TAB_WARN, "metering is away; the ledger fills from events later");
        return TAB_OK;
    }
    if (s != TAB_OK)
        return s;
    const Tabella__ReserveReply *y = answer.msg;
    if (ret_left != NULL)
        *ret_left = y->remaining;
    if (y->allowed)
        return TAB_OK;
    r->retry_after = y->retry_after_s > 0 ? y->retry_after_s : 1;
    count_limited(LIMIT_ALLOWANCE);
    return tab_fail(err, TAB_RATE_LIMIT, "", "%s", y->message);
}

/* Any answer closes the breaker, a refusal too. */
void allowance_probe(api *a)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    tab_answer answer;
    tab_error err;
    TAB_AUTO(tab_arena) *arena = atomic_load(&away) ? tab_arena_new(1 << 20) : NULL;
    if (arena == NULL)
        return;
    q.op = STR("run");
    tab_ask ask = { .service = "metering",
                    .method = "Reserve",
                    .org = "",
                    .request_id = "",
                    .actor = "",
                    .deadline = tab_in_ms(PROBE_MS),
                    .in = &q.base,
                    .reply = &tabella__reserve_reply__descriptor,
                    .arena = arena };
    if (silent(tab_rpc_call(a->rpc, &ask, &answer, &err)))
        return;
    atomic_store(&away, false);
    tab_log(TAB_INFO, "metering is there");
}
