/* What the programs of the RPC share: a service's methods, calls of them, and how their ends are waited for.
 * */
#ifndef TAB_TEST_METHODS_H
#define TAB_TEST_METHODS_H

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

#include "common/rpc/rpc.h"
#include "proto/events.pb-c.h"
#include "tests/infra/check.h"

/* ---- methods --------------------------------------------------------------------------------- */

MAYBE atomic_int saw_cancel, running, holding;
MAYBE atomic_bool let_go;

static tab_status echo(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    const Tabella__UsageLine *in = call->in;
    Tabella__UsageLine *out = call->out;
    out->op = tab_arena_printf(call->arena, "%s %s %s", in->op, call->org, call->request_id);
    out->cells = in->cells + 1;
    call->out_tables = call->tables;
    call->n_out_tables = call->n_tables;
    return TAB_OK;
}

static tab_status refuse(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)call;
    return tab_fail(err, TAB_CONFLICT, "name", "the name\nis taken");
}

static tab_status slow(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    const Tabella__UsageLine *in = call->in;
    atomic_fetch_add(&running, 1);
    for (uint64_t i = 0; i < in->cells / 10 && !atomic_load(call->cancel); i++)
        poll(NULL, 0, 10);
    atomic_fetch_sub(&running, 1);
    if (!atomic_load(call->cancel))
        return TAB_OK;
    atomic_fetch_add(&saw_cancel, 1);
    return tab_fail(err, TAB_CANCELLED, NULL, "stopped");
}

/* Until it is let go or cancelled. */
static tab_status hold(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    atomic_fetch_add(&holding, 1);
    while (!atomic_load(&let_go) && !atomic_load(call->cancel))
        poll(NULL, 0, 5);
    atomic_fetch_sub(&holding, 1);
    return atomic_load(call->cancel) ? tab_fail(err, TAB_CANCELLED, NULL, "stopped") : TAB_OK;
}

static tab_status big(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)err;
    const Tabella__UsageLine *in = call->in;
    Tabella__UsageLine *out = call->out;
    out->op = tab_arena_alloc(call->arena, in->cells + 1, 1);
    if (out->op == NULL)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    for (size_t i = 0; i < in->cells; i++)
        out->op[i] = (char)('a' + i % 23);
    return TAB_OK;
}

/* Ends its process as a crash does, once a call of Slow is under way in it. */
static tab_status die(void *self, tab_call *call, tab_error *err)
{
    (void)self;
    (void)call;
    (void)err;
    while (atomic_load(&running) == 0)
        poll(NULL, 0, 5);
    raise(SIGKILL);
    return TAB_OK;
}

#define LINE &tabella__usage_line__descriptor
MAYBE const tab_rpc_method methods[] = { { "Echo", LINE, LINE, echo }, { "Refuse", LINE, LINE, refuse },
                                         { "Slow", LINE, LINE, slow }, { "Hold", LINE, LINE, hold },
                                         { "Big", LINE, LINE, big },   { "Die", LINE, LINE, die },
                                         TAB_RPC_METHODS_END };

/* ---- calls ----------------------------------------------------------------------------------- */

static tab_ask ask_of(tab_arena *a, const char *method, Tabella__UsageLine *in, int64_t ms)
{
    return (tab_ask){ .service = "test",
                      .method = method,
                      .org = "org_a",
                      .request_id = "req_b",
                      .deadline = tab_in_ms(ms),
                      .in = &in->base,
                      .reply = LINE,
                      .arena = a };
}

typedef struct {
    atomic_int done;
    tab_status s;
    size_t n_tables;
    bool equal, lost;
    const tab_table *sent;
} async_result;

MAYBE bool reaches(const atomic_int *n, int want)
{
    for (int i = 0; i < PATIENCE_MS / 10 && atomic_load(n) < want; i++)
        poll(NULL, 0, 10);
    return atomic_load(n) >= want;
}

/* A service that has just begun to serve: nobody knows it before a call of it is answered. */
MAYBE bool served(tab_rpc *c, const char *service)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__UsageLine in = TABELLA__USAGE_LINE__INIT;
    tab_answer ans;
    tab_error err;
    tab_ask q = ask_of(a, "Echo", &in, 60000);
    q.service = service;
    for (int i = 0; i < PATIENCE_MS / 50; i++, poll(NULL, 0, 50))
        if (tab_rpc_call(c, &q, &ans, &err) == TAB_OK)
            return true;
    return false;
}

MAYBE void async_done(void *arg, tab_status s, const tab_answer *ans, const tab_error *err)
{
    async_result *r = arg;
    r->s = s;
    r->lost = err != NULL && tab_rpc_lost(s, err);
    r->n_tables = ans == NULL ? 0 : ans->n_tables;
    r->equal = ans != NULL && ans->n_tables == 1 && tab_table_equal(ans->tables[0], r->sent);
    atomic_fetch_add(&r->done, 1);
}

MAYBE void turn_loop(tab_rpc *c, atomic_int *done, int want, int64_t ms)
{
    tab_deadline d = tab_in_ms(ms);
    while (atomic_load(done) < want && tab_left_ms(d, 1) > 0) {
        struct pollfd p = { tab_rpc_fd(c), POLLIN, 0 };
        if (poll(&p, 1, 100) > 0)
            tab_rpc_dispatch(c);
    }
}

#endif
