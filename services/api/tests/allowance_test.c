/* What calls may spend while nobody answers where metering is: they go on, nothing is held, and nothing is
 * given back that was not held. Nothing listens where NATS is. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/api/runs/allowance.h"
#include "services/api/serve/reservations.h"

static api self;

static request call_of(tab_arena *a, const char *org)
{
    request r = { .api = &self, .arena = a, .deadline = tab_in_ms(5000) };
    snprintf(r.who.org, sizeof r.who.org, "%s", org);
    return r;
}

Test(allowance, a_cost_is_its_lines_in_order)
{
    cost c = { .n = 0 };
    cost_add(&c, "serve", 10);
    cost_add(&c, "cached", 0);
    cost_add(&c, "explain", UINT64_MAX);
    Tabella__UsageLine **l = cost_lines(&c);
    static const uint64_t cells[] = { 10, 0, UINT64_MAX };
    static const char *const op[] = { "serve", "cached", "explain" };
    cr_assert_eq(c.n, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(l[i]->op, op[i]);
        cr_expect_eq(l[i]->cells, cells[i]);
    }
}

Test(allowance, while_nobody_answers_calls_go_on_and_hold_nothing, .timeout = 120)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    TAB_AUTO(tab_rpc) *rpc = tab_rpc_open(TAB_AT("nats://127.0.0.1:1"), "api");
    tab_error err = { 0 };
    self.rpc = rpc;
    cr_assert_not_null(rpc);
    for (size_t i = 0; i < 40; i++) {
        request r = call_of(a, i % 2 == 0 ? "org_a" : "org_b");
        cost c = { .n = 0 };
        drawn d = { "stale", 7 };
        cost_add(&c, "serve", 10);
        cr_expect_eq(reservation_draw(&r, &c, &d, &err), TAB_OK, "%zu: %s", i, err.message);
        cr_expect(d.hold[0] == 0 && d.milli == 0, "nothing was held");
        cr_expect_not(reservation_take(&r, &c, &d), "and there is nothing to draw on");
        cr_expect_eq(allowance_reserve(&r, &c, "run_1", "", 60, &err), TAB_OK);
        cr_expect_eq(r.retry_after, 0u, "nobody is told to come again");
        reservation_return(&self, r.who.org, &d);
        allowance_give_back(&self, r.who.org, "run_1", 5);
    }
    allowance_probe(&self);
    request r = call_of(a, "org_a");
    cost c = { .n = 0 };
    cost_add(&c, "run", 1);
    const Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    const Tabella__ReserveReply *y = (const void *)&r;
    cr_expect(allowance_ask(&r, &c, &q, 0, &y, &err) == TAB_OK && y == NULL, "a probe that is not answered");
    reservations_sweep(&self);
}
