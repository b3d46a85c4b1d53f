/* What serve calls draw on, each figure worked by hand: an organization's hold at a given moment. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/api/serve/holds.h"

/* Lines of a call: `serve` at 1000 thousandths a cell, `cached` at 50. */
static cost call_of(uint64_t cells, uint64_t cached)
{
    cost c = { .n = 0 };
    cost_add(&c, "serve", cells);
    if (cached > 0)
        cost_add(&c, "cached", cached);
    return c;
}

typedef struct {
    Tabella__ReserveReply y;
    Tabella__OpCells op[2], *by_op[2];
} reply;

static const Tabella__ReserveReply *granted(reply *r, uint64_t milli, uint64_t left)
{
    tabella__reserve_reply__init(&r->y);
    for (size_t i = 0; i < 2; i++) {
        tabella__op_cells__init(&r->op[i]);
        r->op[i].multiplier = i == 0 ? 1 : 0.05;
        r->by_op[i] = &r->op[i];
    }
    r->y.by_op = r->by_op;
    r->y.n_by_op = 2;
    r->y.limited = true;
    r->y.granted_milli = milli;
    r->y.left_milli = left;
    return &r->y;
}

/* A hold of org_a at the moment 1000: the asking call's 10 cells and 20 cached ones, 11 cells, are drawn. */
static hold held(uint64_t milli, uint64_t left)
{
    reply r;
    hold h = { .asking = true };
    cost c = call_of(10, 20);
    drawn mine = { "hold_1", 11000 };
    (void)hold_keep(&h, "org_a", "hold_1", &c, &mine, granted(&r, milli, left), 1000);
    return h;
}

Test(holds, what_was_granted_is_left_less_what_the_asking_call_drew)
{
    hold h = held(100000, 200000);
    cr_expect(strcmp(h.org, "org_a") == 0 && strcmp(h.id, "hold_1") == 0);
    cr_expect(h.granted == 100000 && h.milli == 89000 && h.left == 200000 && h.over == 0);
    cr_expect(h.lines == 2 && h.rate[0] == 1000 && h.rate[1] == 50 && !h.unlimited);
    cr_expect(h.asking, "who asks still does");
    h = held(11000, 0);
    cr_expect(h.granted == 11000 && h.milli == 0);
    h = held(4000, 0); /* metering granted less than it billed: none is left, and what was drawn may return */
    cr_expect(h.milli == 0 && h.granted == 11000);
    cr_expect(hold_return(&h, &(drawn){ "hold_1", 11000 }) && h.milli == 11000);
}

/* The lines of a call and those that metering prices: a rate for each line that both name, and a call that
 * has more is not served by it. */
Test(holds, have_a_rate_for_what_was_priced_and_no_more)
{
    for (size_t asked = 1; asked <= 3; asked++)
        for (size_t priced = 0; priced <= 2; priced++) {
            static Tabella__OpCells stranger = TABELLA__OP_CELLS__INIT;
            reply r;
            hold h = { 0 };
            drawn mine = { "hold_1", 0 }, d = { 0 };
            cost c = { .n = 0 };
            for (size_t i = 0; i < asked; i++)
                cost_add(&c, "serve", 1);
            Tabella__ReserveReply y = *granted(&r, 100000, 200000);
            Tabella__OpCells *by_op[] = { r.by_op[0], r.by_op[1], &stranger };
            y.by_op = by_op;
            y.n_by_op = priced;
            size_t both = asked < priced ? asked : priced;
            (void)hold_keep(&h, "org_a", "hold_1", &c, &mine, &y, 1000);
            cr_expect_eq(h.lines, both, "%zu, %zu", asked, priced);
            cr_expect_eq(hold_take(&h, "org_a", &c, 1500, &d), asked <= priced, "%zu, %zu", asked, priced);
        }
}

Test(holds, one_far_from_its_limit_is_kept_longer)
{
    cr_expect_eq(held(1000, 64000).until, 5000);
    cr_expect(held(1000, 64000).far);
    cr_expect_eq(held(1000, 63999).until, 2000);
    cr_expect_not(held(1000, 63999).far);
    cr_expect_eq(held(0, 0).until, 5000, "nothing is granted, nothing is missed");
}

Test(holds, without_a_limit_nothing_is_drawn)
{
    reply r;
    hold h = { 0 };
    drawn d = { 0 };
    cost c = call_of(10, 0);
    Tabella__ReserveReply y = *granted(&r, 0, 0);
    y.limited = false;
    (void)hold_keep(&h, "org_a", "hold_1", &c, &d, &y, 1000);
    cr_expect(h.unlimited && h.far && h.until == 2000 && h.id[0] == 0 && h.milli == 0);
    cr_expect(hold_take(&h, "org_a", &c, 1999, &d) && d.hold[0] == 0 && d.milli == 0);
    cr_expect_not(hold_take(&h, "org_a", &c, 2000, &d), "a plan may change");
    cr_expect_not(hold_take(&h, "org_b", &c, 1500, &d));
    cr_expect(hold_overdraw(&h, "org_a", &c) && h.over == 0);
}

Test(holds, the_next_one_takes_the_place_and_the_rest_goes_back)
{
    reply r;
    hold h = held(100000, 200000);
    cost c = call_of(1, 0);
    hold old = hold_keep(&h, "org_b", "hold_2", &c, &(drawn){ "hold_2", 1000 }, granted(&r, 2000, 5), 7000);
    cr_expect(strcmp(old.org, "org_a") == 0 && strcmp(old.id, "hold_1") == 0 && old.milli == 89000);
    cr_expect(strcmp(h.org, "org_b") == 0 && h.milli == 1000 && h.until == 8000 && h.left == 5);
    cr_expect_eq(h.lines, 1, "as many rates as the call had lines");
    cr_expect_not(hold_return(&h, &(drawn){ "hold_1", 500 }), "what was drawn from the old one is not its");
    cr_expect_eq(h.milli, 1000);
}

Test(holds, a_call_draws_its_price_while_the_hold_lasts)
{
    hold h = held(100000, 200000);
    drawn d = { 0 };
    cost c = call_of(44, 20), small = call_of(1, 0);
    cr_expect_not(hold_take(&h, "org_b", &c, 1500, &d), "it is another organization's");
    cr_expect_not(hold_take(&h, "org_a", &c, 2000, &d), "its time is over");
    cr_expect_not(hold_take(&h, "org_a", &c, 2001, &d));
    cr_expect_eq(h.milli, 89000);
    cr_expect(hold_take(&h, "org_a", &c, 1999, &d));
    cr_expect(strcmp(d.hold, "hold_1") == 0 && d.milli == 45000 && h.milli == 44000);
    c = call_of(44, 1);
    cr_expect_not(hold_take(&h, "org_a", &c, 1999, &d), "50 thousandths too many");
    c = call_of(44, 0);
    cr_expect(hold_take(&h, "org_a", &c, 1999, &d) && h.milli == 0 && d.milli == 44000);
    cr_expect_not(hold_take(&h, "org_a", &small, 1999, &d), "nothing is left");
    cr_expect(hold_return(&h, &d) && h.milli == 44000);
    cr_expect(hold_take(&h, "org_a", &small, 1999, &d) && h.milli == 43000);
}

Test(holds, a_call_that_cannot_be_priced_is_not_served)
{
    hold h = held(100000, 200000);
    drawn d = { 0 };
    cost c = call_of(1, 1);
    cr_expect_eq(hold_price(&h, &c), 1050);
    c.n = 1;
    cr_expect_eq(hold_price(&h, &c), 1000, "what stands behind its lines is none of it");
    c.n = 2;
    cost_add(&c, "other", 0);
    cr_expect_eq(hold_price(&h, &c), UINT64_MAX, "a third line, whose rate metering has not said");
    cr_expect_not(hold_take(&h, "org_a", &c, 1500, &d));
    c = call_of(UINT64_MAX, 0);
    cr_expect_eq(hold_price(&h, &c), UINT64_MAX);
    c = call_of(UINT64_MAX / 1000, 20);
    cr_expect_eq(hold_price(&h, &c), UINT64_MAX, "the sum is too large");
    c = call_of(UINT64_MAX / 1000, 0);
    cr_expect_eq(hold_price(&h, &c), UINT64_MAX / 1000 * 1000);
}

/* 64 calls like this one; where a hold did not last its time, four times as much as it had. */
Test(holds, are_asked_for_as_large_as_the_calls_that_come)
{
    hold none = { 0 }, h = held(100000, 200000);
    cost c = call_of(3, 0), large = call_of(3000, 0), free_of_charge = call_of(0, 0);
    cr_expect_eq(hold_ahead(&none, "org_a", &c, 1500), 64000, "of an unknown price: a cell a call");
    cr_expect_eq(hold_ahead(&h, "org_b", &c, 1500), 64000, "another organization's says nothing");
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 2000), 64 * 3000, "it lasted its time");
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 1999), 400000, "it did not");
    cr_expect_eq(hold_ahead(&h, "org_a", &large, 1999), 64 * 3000000);
    cr_expect_eq(hold_ahead(&h, "org_a", &free_of_charge, 2000), 1);
    h.granted = 48000;
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 1999), 192000);
    h.granted = 48001;
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 1999), 192004);
    h.unlimited = true;
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 1999), 192000, "one without a limit has no size");
    h.unlimited = false;
    h.rate[0] = UINT64_MAX / 64 / 3;
    h.granted = UINT64_MAX / 2;
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 1999), UINT64_MAX, "as much as there is");
    h.rate[0] = UINT64_MAX / 64 / 3 + 1;
    cr_expect_eq(hold_ahead(&h, "org_a", &c, 2000), 64000, "too dear for a hold");
}

Test(holds, while_metering_is_away_no_more_is_drawn_than_was_left)
{
    hold h = held(100000, 20000), unknown = { 0 };
    cost c = call_of(7, 0), rest = call_of(6, 0), more = call_of(0, 1), other = call_of(15, 0);
    cr_expect(hold_overdraw(&h, "org_a", &c) && hold_overdraw(&h, "org_a", &c) && h.over == 14000);
    cr_expect_not(hold_overdraw(&h, "org_a", &c));
    cr_expect_eq(h.over, 14000, "what is refused is not drawn");
    cr_expect(hold_overdraw(&h, "org_a", &rest) && h.over == 20000, "to the last one");
    cr_expect_not(hold_overdraw(&h, "org_a", &more));
    cr_expect_eq(h.milli, 89000, "the hold itself is left to who has one");
    cr_expect(hold_overdraw(&h, "org_b", &c) && h.over == 20000, "nobody knows another's limit here");
    cr_expect(hold_overdraw(&unknown, "org_a", &c) && unknown.over == 0);
    h.over = 0;
    cost_add(&other, "cached", 3);
    cost_add(&other, "other", 3);
    cr_expect_not(hold_overdraw(&h, "org_a", &other), "of unknown rates each cell is a whole one");
    other.line[2].cells = 2;
    cr_expect(hold_overdraw(&h, "org_a", &other) && h.over == 20000);
    h.left = h.over = 0;
    cr_expect(hold_overdraw(&h, "org_a", &c), "none was left or none was said: what is owed limits it");
}

Test(holds, whose_time_is_over_go_back_once)
{
    hold h = held(100000, 200000);
    cr_expect_eq(hold_lapse(&h, 1999).milli, 0);
    cr_expect(h.milli == 89000 && h.id[0] != 0);
    hold old = hold_lapse(&h, 2000);
    cr_expect(old.milli == 89000 && strcmp(old.id, "hold_1") == 0 && strcmp(old.org, "org_a") == 0);
    cr_expect(h.milli == 0 && h.id[0] == 0);
    cr_expect_not(hold_return(&h, &(drawn){ "hold_1", 5 }), "a late call's part goes back by itself");
    cr_expect_eq(hold_lapse(&h, 3000).milli, 0, "once");
    h = held(11001, 0);
    h.until = 1000;
    cr_expect_eq(hold_lapse(&h, 1000).milli, 1);
}

/* Where nobody has a hold nothing is served without asking, and a sweep over all of them ends. */
Test(holds, of_nobody_serve_nothing)
{
    static api self;
    request r = { .api = &self };
    cost c = call_of(1, 0);
    drawn d = { "stale", 7 };
    snprintf(r.who.org, sizeof r.who.org, "org_a");
    cr_expect_not(reservation_take(&r, &c, &d));
    cr_expect(d.hold[0] == 0 && d.milli == 0, "what was drawn before is not drawn again");
    reservation_return(&self, "org_a", &d);
    reservation_return(&self, "org_a", &(drawn){ "hold_1", 0 });
    reservations_sweep(&self);
}
