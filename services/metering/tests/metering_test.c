#include <criterion/criterion.h>
#include <stdio.h>

#include "common/security/crypto.h"
#include "services/metering/metering.h"
#include "services/metering/whole_cells.h"

#define HOUR 3600000000
#define DAY (24 * HOUR)

Test(metering, resets_in_the_largest_unit_that_is_left)
{
    static const struct {
        int64_t left;
        const char *want;
    } cases[] = { { 3 * DAY, "3d" },
                  { 3 * DAY + 1, "4d" },
                  { DAY, "1d" },
                  { DAY - 1000000, "24h" },
                  { 4 * HOUR, "4h" },
                  { HOUR + 1, "2h" },
                  { HOUR - 1000000, "60m" },
                  { 59000000, "59s" },
                  { 1, "1s" },
                  { 0, "1s" },
                  { -5, "1s" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buf[32];
        metering_resets_in(cases[i].left, buf, sizeof buf);
        cr_expect_str_eq(buf, cases[i].want, "%lld: %s", (long long)cases[i].left, buf);
    }
}

Test(metering, limits_are_whole_thousandths)
{
    metering_terms t = { .allowance = 1000 };
    cr_expect_eq(metering_limit(&t, 0.1), 1000000, "an allowance, and nothing beyond");
    t.add_usage = true;
    cr_expect_eq(metering_limit(&t, 0.1), INT64_MAX, "no cap was set");
    t.cap_set = true;
    cr_expect_eq(metering_limit(&t, 0.1), 1000000, "a cap of nothing");
    t.cap_usd = 1; /* ten million cells at 0.1 USD a million */
    cr_expect_eq(metering_limit(&t, 0.1), 1000000 + 10000000000);
    t.cap_usd = 1e300;
    cr_expect(metering_limit(&t, 0.1) > 0 && metering_limit(&t, 0.1) < INT64_MAX / 2, "saturates");
    t.allowance = UINT64_MAX;
    cr_expect(metering_limit(&t, 0.1) > 0 && metering_limit(&t, 0.1) < INT64_MAX / 2 + 2000, "saturates");
}

Test(metering, what_lies_beyond_the_allowance_is_paid_for)
{
    metering_terms t = { .allowance = 1000, .add_usage = true };
    cr_expect_float_eq(metering_usd(&t, 0.1, 0, 1000000), 0, 1e-12, "within it");
    cr_expect_float_eq(metering_usd(&t, 0.1, 500000, 1500000), 1000 * 0.1e-6, 1e-12, "half within");
    cr_expect_float_eq(metering_usd(&t, 0.1, 2000000, 1000000), 1000 * 0.1e-6, 1e-12, "beyond it");
    cr_expect_float_eq(metering_usd(&t, 0, 2000000, 1000000), 0, 1e-12, "no price");
    t.add_usage = false;
    cr_expect_float_eq(metering_usd(&t, 0.1, 500000, 1500000), 0, 1e-12, "calls end with it");
    t.allowance = 0;
    cr_expect_float_eq(metering_usd(&t, 0.1, 0, 1000000000), 0.1, 1e-12, "pay as you go");
}

Test(metering, pay_as_you_go_has_no_allowance)
{
    metering_terms t = { 0 };
    cr_expect_eq(metering_limit(&t, 0.1), INT64_MAX);
    t.cap_set = true;
    cr_expect_eq(metering_limit(&t, 0.1), 0, "a cap of nothing");
    t.cap_usd = 0.001; /* no double holds it */
    cr_expect_eq(metering_limit(&t, 0.1), 10000000);
    t.cap_usd = 0.0123;
    cr_expect_eq(metering_limit(&t, 0.1), 123000000);
}

Test(metering, refusals_say_what_is_left_and_when_to_ask_again)
{
    char why[200];
    uint32_t retry = 0;
    metering_terms t = { .allowance = 1000 };
    metering_refusal(&t, 900500, 100000, HOUR, why, sizeof why, &retry);
    cr_expect_str_eq(
        why, "the weekly allowance of 1000 cells has 99 left and this call needs 100; it resets in 1h");
    cr_expect_eq(retry, 3601u);
    t.lifetime = true;
    metering_refusal(&t, 900500, 100000, HOUR, why, sizeof why, &retry);
    cr_expect(strncmp(why, "the lifetime", 12) == 0 && retry == 86400);
    t = (metering_terms){ .cap_set = true, .cap_usd = 0.001 };
    metering_refusal(&t, 0, 1, HOUR, why, sizeof why, &retry);
    cr_expect_str_eq(why, "the spend cap of 0.001 USD is reached; it resets in 1h");
}

Test(metering, equivalents_are_exact_and_saturate)
{
    metering_rates r = { .milli = { [METERING_RUN] = 1000, [METERING_CACHED] = 50 } };
    cr_expect_eq(metering_milli(&r, METERING_CACHED, 3), 150);
    cr_expect_eq(metering_milli(&r, METERING_RUN, UINT64_MAX), INT64_MAX);
    metering_op op;
    cr_expect(metering_op_of("batch", &op) && op == METERING_BATCH);
    cr_expect_not(metering_op_of("Batch", &op));
}

Test(metering, whole_cells_sum_to_the_rounded_total)
{
    /* 0.05 + 0.5 + 1.95 + 7.7: 10.2, the floors give 8, and what is over goes to 1.95 and 7.7 */
    static const int64_t milli[] = { 50, 500, 1950, 0, 7700 };
    uint64_t whole[5], sum = 0;
    whole_cells(milli, 5, whole);
    for (size_t i = 0; i < 5; i++)
        sum += whole[i];
    cr_expect_eq(sum, 10);
    cr_expect_eq(whole_total(milli, 5), 10);
    cr_expect_eq(whole[0] + whole[1] + whole[3], 0);
    cr_expect_eq(whole[2], 2);
    cr_expect_eq(whole[4], 8);
    static const int64_t half[] = { 250, 250 }, less[] = { 250, 249 };
    whole_cells(half, 2, whole);
    cr_expect(whole[0] == 1 && whole[1] == 0);
    cr_expect_eq(whole_total(less, 2), 0);
    whole_cells(less, 2, whole);
    cr_expect(whole[0] == 0 && whole[1] == 0);
}

/* What a call would bill is priced before anybody is asked: here up to where the organization is missing. */
static tab_status priced(const Tabella__ReserveRequest *q, tab_arena *a, Tabella__ReserveReply *y,
                         tab_error *err)
{
    metering m = { .rates = { .milli = { [METERING_RUN] = 1000, [METERING_CACHED] = 50 } } };
    tab_call call = { .org = "", .arena = a, .in = q, .out = y };
    tabella__reserve_reply__init(y);
    return metering_reserve(&m, &call, err);
}

Test(reserve, a_call_is_priced_by_line_and_its_lines_sum_to_its_cost)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    Tabella__UsageLine line[2] = { TABELLA__USAGE_LINE__INIT, TABELLA__USAGE_LINE__INIT },
                       *lines[] = { &line[0], &line[1] };
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    Tabella__ReserveReply y;
    tab_error err = { 0 };
    line[0].op = (char *)"run";
    line[0].cells = 10;
    line[1].op = (char *)"cached";
    line[1].cells = 30;
    q.usage = lines;
    q.n_usage = 2;
    cr_assert_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "org");
    cr_expect_eq(y.cost_milli, 10 * 1000 + 30 * 50);
    cr_assert_eq(y.n_by_op, 2);
    cr_expect_eq(y.by_op[0]->raw, 10);
    cr_expect_float_eq(y.by_op[0]->multiplier, 1, 1e-12);
    cr_expect_float_eq(y.by_op[1]->multiplier, 0.05, 1e-12);
    cr_expect_float_eq(y.by_op[0]->cells + y.by_op[1]->cells, 12, 1e-12, "11.5, rounded once");
}

Test(reserve, one_operation_may_stand_without_lines)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    Tabella__ReserveReply y;
    tab_error err = { 0 };
    q.op = (char *)"cached";
    q.cells = 40;
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_eq(y.cost_milli, 2000);
    q.op = (char *)"nothing";
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "op");
    q.op = (char *)"run";
    q.cells = UINT64_MAX;
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "cells", "more than any ledger holds");
    q.cells = INT64_MAX / 16000; /* the most that one line may cost */
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "org");
}

/* Whatever room there is, a call is priced whole or not at all. */
Test(reserve, a_price_needs_room_for_all_its_lines)
{
    Tabella__UsageLine line = TABELLA__USAGE_LINE__INIT, *lines[] = { &line, &line, &line };
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    size_t whole = 0, refused = 0;
    line.op = (char *)"run";
    line.cells = 5;
    q.usage = lines;
    q.n_usage = 3;
    for (size_t room = 8; room < 1024; room += 8) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(room);
        Tabella__ReserveReply y;
        tab_error err = { 0 };
        cr_assert_neq(priced(&q, a, &y, &err), TAB_OK);
        bool all = strcmp(err.param, "org") == 0; /* what is looked at next */
        cr_assert_eq(y.cost_milli, all ? 15000 : 0);
        cr_assert_eq(y.n_by_op, all ? 3 : 0);
        whole += all;
        refused += !all;
    }
    cr_expect(whole > 0 && refused > 0);
}

Test(reserve, lines_are_no_more_than_operations)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    Tabella__UsageLine line = TABELLA__USAGE_LINE__INIT, *lines[METERING_OP_COUNT + 1];
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    Tabella__ReserveReply y;
    tab_error err = { 0 };
    line.op = (char *)"run";
    line.cells = 1;
    for (size_t i = 0; i < METERING_OP_COUNT + 1; i++)
        lines[i] = &line;
    q.usage = lines;
    q.n_usage = METERING_OP_COUNT;
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "org");
    q.n_usage = METERING_OP_COUNT + 1;
    cr_expect_eq(priced(&q, a, &y, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "usage");
}

Test(ledger, what_can_never_be_counted_is_said)
{
    Tabella__UsageLine line = TABELLA__USAGE_LINE__INIT, *lines[METERING_OP_COUNT + 1];
    Tabella__WorkDone e = TABELLA__WORK_DONE__INIT;
    tab_error err = { 0 };
    for (size_t i = 0; i < METERING_OP_COUNT + 1; i++)
        lines[i] = &line;
    line.op = (char *)"serve";
    line.cells = INT64_MAX / 1000;
    e.usage = lines;
    e.n_usage = METERING_OP_COUNT;
    cr_expect_eq(metering_countable(&e, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "event_id");
    e.event_id = (char *)"serve_1";
    cr_expect_eq(metering_countable(&e, &err), TAB_OK);
    line.cells++;
    cr_expect_eq(metering_countable(&e, &err), TAB_VALIDATION, "its thousandths would not fit");
    line.cells = 1;
    e.n_usage++;
    cr_expect_eq(metering_countable(&e, &err), TAB_VALIDATION, "more lines than operations");
    e.n_usage = 1;
    line.op = (char *)"other";
    cr_expect_eq(metering_countable(&e, &err), TAB_VALIDATION);
}

Test(metering, a_refusal_counts_in_whole_cells_and_seconds)
{
    char why[200];
    uint32_t retry = 0;
    metering_terms t = { .allowance = 1000 };
    metering_refusal(&t, 999001, 1, 1, why, sizeof why, &retry);
    cr_expect_str_eq(why,
                     "the weekly allowance of 1000 cells has 0 left and this call needs 1; it resets in 1s");
    cr_expect_eq(retry, 1u);
    metering_refusal(&t, 5000000, 2000, 0, why, sizeof why, &retry);
    cr_expect_str_eq(why,
                     "the weekly allowance of 1000 cells has 0 left and this call needs 2; it resets in 1s");
    cr_expect_eq(retry, 86400u, "a window that is over says nothing of the next");
    metering_refusal(&t, 1000, 2001, 1000000, why, sizeof why, &retry);
    cr_expect_str_eq(
        why, "the weekly allowance of 1000 cells has 999 left and this call needs 3; it resets in 1s");
    cr_expect_eq(retry, 2u);
    t.lifetime = true;
    metering_refusal(&t, 400000, 700000, HOUR, why, sizeof why, &retry);
    cr_expect_str_eq(why, "the lifetime allowance of 1000 cells has 600 left and this call needs 700");
    t.add_usage = t.cap_set = true;
    t.cap_usd = 2.5;
    metering_refusal(&t, 400000, 700000, HOUR, why, sizeof why, &retry);
    cr_expect_str_eq(why, "the spend cap of 2.5 USD is reached; it resets in 1h");
}

Test(metering, a_cap_is_in_thousandths_of_a_cell)
{
    metering_terms t = { .add_usage = true, .cap_set = true, .cap_usd = 3 };
    cr_expect_eq(metering_limit(&t, 0.5), 6000000000);
    cr_expect_eq(metering_limit(&t, 0), INT64_MAX, "without a price there is no cap");
    cr_expect_eq(metering_limit(&t, -1), INT64_MAX);
    t.allowance = 7;
    cr_expect_eq(metering_limit(&t, 0.5), 6000007000);
    t.allowance = INT64_MAX / 4000;
    cr_expect_eq(metering_limit(&t, 0.5), INT64_MAX / 4000 * 1000 + 6000000000);
    t.allowance++;
    cr_expect_eq(metering_limit(&t, 0.5), INT64_MAX / 4000 * 1000 + 6000000000, "the most there is");
    t = (metering_terms){ .allowance = 1, .cap_set = true, .cap_usd = 3 };
    cr_expect_eq(metering_limit(&t, 0.5), 1000, "calls end with the allowance");
}

/* Prices, allowances and caps that are drawn: what the limit lets in costs no more than the cap, and one
 * thousandth of a cell more would cost more. */
Test(metering, a_cap_is_reached_and_never_passed)
{
    uint64_t r = 88172645463325252;
    for (size_t i = 0; i < 5000; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        double price = (double)(1 + (r >> 8) % 1000) / 1000, milli = price / 1e9;
        metering_terms t = { .allowance = i % 3 == 0 ? 0 : (r >> 20) % 1000000,
                             .add_usage = true,
                             .cap_set = true,
                             .cap_usd = (double)((r >> 30) % 100000) / 10000 };
        int64_t limit = metering_limit(&t, price);
        cr_assert_geq(limit, (int64_t)t.allowance * 1000, "what the plan allows is not capped");
        cr_assert_leq(metering_usd(&t, price, 0, limit), t.cap_usd + milli / 100, "%zu", i);
        cr_assert_gt(metering_usd(&t, price, 0, limit + 1), t.cap_usd - milli / 100, "%zu", i);
        t.add_usage = i % 2 == 0;
        int64_t used = (int64_t)((r >> 11) % 2000000000), first = (int64_t)((r >> 7) % 3000000),
                second = (int64_t)((r >> 9) % 3000000);
        cr_assert_float_eq(metering_usd(&t, price, used, first) +
                               metering_usd(&t, price, used + first, second),
                           metering_usd(&t, price, used, first + second), milli / 100,
                           "two calls cost what one of both would");
    }
}

/* An answer of any plan at any time: what is allowed leaves no more than the limit, what is refused would
 * have passed it, and nobody is told of more than is left. */
Test(reserve, an_answer_agrees_with_the_limit)
{
    uint64_t r = 362436069362436069;
    size_t allowed = 0;
    for (size_t i = 0; i < 5000; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        metering_terms t = { .allowance = (r >> 5) % 2000,
                             .lifetime = i % 7 == 0,
                             .add_usage = r % 2 == 0,
                             .cap_set = r % 4 < 3,
                             .cap_usd = (double)((r >> 40) % 30) / 100000 };
        metering_room o = { .used = (int64_t)((r >> 13) % 2500000), .held = (int64_t)((r >> 24) % 500000) };
        Tabella__ReserveReply y = TABELLA__RESERVE_REPLY__INIT;
        char why[200] = "";
        int64_t cost = (int64_t)((r >> 33) % 900000), limit = metering_limit(&t, 0.1);
        o.granted = metering_fits(cost, limit, o.used, o.held);
        metering_answer(&t, 0.1, cost, &o, &y, why, sizeof why);
        allowed += y.allowed;
        cr_assert_eq(y.limited, limit != INT64_MAX);
        cr_assert_eq(y.allowed, limit == INT64_MAX || o.used + o.held + cost <= limit, "%zu", i);
        cr_assert_eq(y.granted_milli, y.allowed ? (uint64_t)cost : 0);
        cr_assert_eq(why[0] == 0, y.allowed);
        cr_assert_eq(y.retry_after_s > 0, !y.allowed);
        cr_assert(!y.limited || o.used + o.held + (int64_t)y.left_milli <=
                                    (limit > o.used + o.held ? limit : o.used + o.held));
        cr_assert(y.remaining * 1000 + (uint64_t)(o.used + o.held) <= t.allowance * 1000 || y.remaining == 0);
        cr_assert_float_eq(y.amount_usd, metering_usd(&t, 0.1, o.used + o.held, cost), 1e-15);
    }
    cr_expect(allowed > 500 && allowed < 4500);
}

Test(metering, terms_are_those_of_the_organization)
{
    Tabella__Grant l = TABELLA__GRANT__INIT;
    Tabella__Org o = TABELLA__ORG__INIT;
    o.lifetime = o.spend_cap_set = true;
    o.spend_cap_usd = 4.5;
    o.allowance_cells = 9;
    cr_expect_eq(metering_terms_of(&o).cells_per_minute, 0);
    l.cells_per_minute = 77;
    o.limits = &l;
    metering_terms t = metering_terms_of(&o);
    cr_expect(t.lifetime && !t.add_usage && t.cap_set && t.cap_usd == 4.5 && t.allowance == 9);
    cr_expect_eq(t.cells_per_minute, 77);
}

/* Half a thousandth and what is negative: the total is rounded once, and no line gets what it did not ask. */
Test(metering, whole_cells_of_credits_and_remainders)
{
    uint64_t whole[4];
    static const int64_t equal[] = { 1500, 1500, 2500, 500 }, credit[] = { -3000, 4500, 600 };
    whole_cells(equal, 4, whole);
    cr_expect(whole[0] == 2 && whole[1] == 2 && whole[2] == 2 && whole[3] == 0);
    cr_expect_eq(whole_total(equal, 4), 6);
    cr_expect_eq(whole_total(credit, 3), 2);
    static const int64_t many[] = { 1999, 1998, 3 };
    whole_cells(many, 3, whole);
    cr_expect(whole[0] == 2 && whole[1] == 2 && whole[2] == 0);
    static const int64_t none[] = { -5, -6 };
    whole_cells(none, 2, whole);
    cr_expect(whole[0] == 0 && whole[1] == 0 && whole_total(none, 2) == 0);
    cr_expect_eq(whole_total((const int64_t[]){ 499 }, 1), 0);
    cr_expect_eq(whole_total((const int64_t[]){ 500 }, 1), 1);
    cr_expect_eq(whole_total((const int64_t[]){ 1499 }, 1), 1);
}

/* ---- what Reserve says ------------------------------------------------------------------------ */

Test(reserve, leases_and_pages_are_bounded)
{
    cr_expect_eq(metering_lease_s(0), 300);
    cr_expect_eq(metering_lease_s(1), 1);
    cr_expect_eq(metering_lease_s(604800), 604800);
    cr_expect_eq(metering_lease_s(UINT32_MAX), 604800, "a week at most");
    cr_expect_eq(metering_holds_listed(0), 100u);
    cr_expect_eq(metering_holds_listed(1), 1u);
    cr_expect_eq(metering_holds_listed(1001), 1000u);
    cr_expect_eq(metering_bounded(7), 7);
    cr_expect_eq(metering_bounded(UINT64_MAX), INT64_MAX / 16);
    cr_expect_eq(metering_bounded((uint64_t)INT64_MAX / 16 + 1), INT64_MAX / 16);
}

Test(reserve, a_cost_fits_where_used_and_reserved_leave_room)
{
    cr_expect_eq(metering_fits(0, 0, 0, 0), 0, "a new organization asks for nothing");
    cr_expect_eq(metering_fits(40, 100, 50, 10), 40, "to the last thousandth");
    cr_expect_eq(metering_fits(41, 100, 50, 10), -1);
    cr_expect_eq(metering_fits(0, 100, 90, 10), 0);
    cr_expect_eq(metering_fits(0, 100, 90, 11), -1, "a lower cap came meanwhile");
    cr_expect_eq(metering_fits(1000000, INT64_MAX, 5, 5), 1000000);
}

Test(reserve, an_answer_counts_what_is_held_as_used)
{
    metering_terms t = { .allowance = 1000 };
    metering_room o = { .granted = 2500, .used = 600999, .held = 100000, .resets_us = HOUR };
    Tabella__ReserveReply y = TABELLA__RESERVE_REPLY__INIT;
    char why[200] = "";
    metering_answer(&t, 0.1, 2000, &o, &y, why, sizeof why);
    cr_expect(y.allowed && y.limited && y.granted_milli == 2500 && why[0] == 0 && y.retry_after_s == 0);
    cr_expect_eq(y.left_milli, 299001);
    cr_expect_eq(y.remaining, 299u, "whole cells");
    cr_expect_float_eq(y.amount_usd, 0, 1e-12);
    o.granted = -1;
    metering_answer(&t, 0.1, 400000, &o, &y, why, sizeof why);
    cr_expect(!y.allowed && y.granted_milli == 0 && y.retry_after_s == 3601);
    cr_expect_str_eq(
        why, "the weekly allowance of 1000 cells has 299 left and this call needs 400; it resets in 1h");
    o.granted = 0;
    metering_answer(&t, 0.1, 0, &o, &y, why, sizeof why);
    cr_expect(y.allowed && y.granted_milli == 0, "nothing is always granted");
    o.used = 900000;
    metering_answer(&t, 0.1, 0, &o, &y, why, sizeof why);
    cr_expect(y.left_milli == 0 && y.remaining == 0);
    o.held = 100001; /* a smaller plan came meanwhile */
    metering_answer(&t, 0.1, 0, &o, &y, why, sizeof why);
    cr_expect(y.left_milli == 0 && y.remaining == 0);
    t.add_usage = true;
    metering_answer(&t, 0.1, 1000000000, &o, &y, why, sizeof why);
    cr_expect(!y.limited && y.left_milli == 0, "no cap was set");
    cr_expect_float_eq(y.amount_usd, 0.1, 1e-9, "beyond the allowance a million cells are 0.1 USD");
    t.cap_set = true;
    t.cap_usd = 0.0001; /* 1000 cells */
    metering_answer(&t, 0.1, 1, &o, &y, why, sizeof why);
    cr_expect(y.limited && y.left_milli == 2000000 - 1000001 && y.remaining == 0);
}

/* ---- checkpoints ------------------------------------------------------------------------------ */

/* The next checkpoint of a chain, as it is signed. */
static const char *next(metering_chain *c, const char *org, size_t n, const char *previous, const char *sums)
{
    static const char secret[] = "1717171717171717171717171717171717171717171717171717171717171717";
    char key[2 * TAB_CHECKPOINT_KEY + 1], signature[2 * TAB_CHECKPOINT_SIGNATURE + 1];
    tab_checkpoint s = { 0 };
    snprintf(s.text, sizeof s.text, "tabella-checkpoint kind=ledger org=%s n=%zu sums=%s previous=%s", org, n,
             sums, previous);
    cr_assert(tab_checkpoint_sign(secret, &s));
    tab_hex(s.key, sizeof s.key, key);
    tab_hex(s.signature, sizeof s.signature, signature);
    return metering_chain_next(c, tab_str_of(s.text), tab_str_of(key), tab_str_of(signature));
}

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

Test(checkpoints, a_chain_holds_where_each_names_the_one_before_it)
{
    metering_chain c = { .org = "org_1", .keys = "" };
    char digest[TAB_SHA256_HEX];
    cr_expect_null(metering_chain_end(&c, false, "s"), "nothing was cut");
    cr_expect_not_null(metering_chain_end(&c, true, "s"), "sums of what nobody signed");
    cr_expect_null(next(&c, "org_1", 1, zeros, "s1"));
    tab_sha256_hex(tab_str_of(c.now.text), digest);
    cr_expect_null(next(&c, "org_1", 2, digest, "s2"));
    cr_expect_eq(c.n, 2);
    cr_expect_null(metering_chain_end(&c, true, "s2"));
    cr_expect_null(metering_chain_end(&c, false, "s2"), "the signed sums may be of nothing");
    cr_expect_not_null(metering_chain_end(&c, true, "s1"));
    cr_expect_str_eq(next(&c, "org_1", 3, digest, "s3"), "a checkpoint is missing", "a stale predecessor");
}

Test(checkpoints, one_left_out_of_another_organization_or_unsigned_is_said)
{
    metering_chain fresh = { .org = "org_1", .keys = "" }, c = fresh;
    cr_expect_str_eq(next(&c, "org_1", 2, zeros, "s"), "a checkpoint is missing", "the first was left out");
    c = fresh;
    cr_expect_str_eq(next(&c, "org_2", 1, zeros, "s"), "a checkpoint is of something else");
    c = (metering_chain){ .org = "org_1", .keys = "00" };
    cr_expect_not_null(next(&c, "org_1", 1, zeros, "s"), "a key that nobody knows");
    c = fresh;
    cr_expect_str_eq(metering_chain_next(&c, TAB_S("x"), TAB_S("17"), TAB_S("17")),
                     "a checkpoint cannot be read");
}

/* ---- the nightly check ------------------------------------------------------------------------ */

/* Nothing listens where PostgreSQL is: the check waits for it, and ends when it is asked to. */
Test(verify, waits_for_the_database_and_ends_when_it_is_asked_to, .timeout = 60)
{
    metering m = { .pg = tab_pg_open("host=127.0.0.1 port=1 connect_timeout=1", NULL, 1) };
    cr_assert_not_null(m.pg);
    for (size_t i = 0; i < 3; i++) {
        struct metering_nightly *n = metering_nightly_start(&m);
        cr_assert_not_null(n);
        metering_nightly_stop(n);
    }
    metering_nightly_stop(NULL);
    tab_pg_free(m.pg);
}
