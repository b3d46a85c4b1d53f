#include "services/api/api.h"
#include "services/api/serve/cells.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* Redis is away (nothing listens there): each process counts by itself. */
static tab_status take(tab_redis *redis, const char *org, uint64_t cells, bool ahead, unsigned *retry)
{
    static api a;
    static request r;
    tab_error err = { 0 };
    a.redis = redis;
    r.api = &a;
    r.retry_after = 0;
    r.who.cells_per_minute = 60;
    snprintf(r.who.org, sizeof r.who.org, "%s", org);
    tab_status s = cells_debit(&r, cells, ahead, &err);
    *retry = r.retry_after;
    return s;
}

Test(cells, hold_in_each_process_while_redis_is_away)
{
    TAB_AUTO(tab_redis) *redis = tab_redis_open(TAB_AT("127.0.0.1:1"));
    unsigned retry;
    cr_expect_eq(take(redis, "org_a", 0, false, &retry), TAB_OK, "nothing is free");
    cr_expect_eq(take(redis, "org_a", 6000, false, &retry), TAB_OK,
                 "more than a minute's when the bucket is full");
    cr_expect_eq(take(redis, "org_a", 1, false, &retry), TAB_RATE_LIMIT, "and is paid off afterwards");
    cr_expect(retry > 5000 && retry <= 5942, "%u", retry);
    cr_expect_eq(take(redis, "org_a", 1, true, &retry), TAB_RATE_LIMIT);
    cr_expect_eq(take(redis, "org_b", 1, true, &retry), TAB_OK, "another organization");
}

/* What the loop's thread may take is what was debited ahead, and no more. */
Test(cells, taken_without_asking_are_those_debited_ahead)
{
    request r = { .who = { .cells_per_minute = 0, .org = "org_c" } };
    cr_expect(cells_take(&r, 1000) && r.debited == 0, "nothing limits them");
    cells_untake(&r, 1000);
    cr_expect_eq(r.debited, 0);
    r.who.cells_per_minute = 6400;
    cr_expect(cells_take(&r, 0), "nothing is free");
    cr_expect_not(cells_take(&r, 1), "nothing was debited ahead");
    cr_expect_eq(r.debited, 0);
}

/* A minute's worth each, 60 cells: one a second. Redis is away throughout. */
Test(cells, what_was_debited_comes_back_where_the_work_failed)
{
    TAB_AUTO(tab_redis) *redis = tab_redis_open(TAB_AT("127.0.0.1:1"));
    static const struct {
        tab_status s;
        bool back;
    } cases[] = { { TAB_OK, false },         { TAB_VALIDATION, false }, { TAB_CANCELLED, false },
                  { TAB_UNAVAILABLE, true }, { TAB_INTERNAL, true },    { TAB_RATE_LIMIT, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        api a = { .redis = redis };
        request r = { .api = &a, .who = { .cells_per_minute = 60 } };
        tab_error err = { 0 };
        snprintf(r.who.org, sizeof r.who.org, "org_back_%zu", i);
        cr_assert_eq(cells_debit(&r, 60, false, &err), TAB_OK);
        cr_expect_eq(r.debited, 60);
        cells_give_back(&r, cases[i].s);
        cr_expect_eq(r.debited, cases[i].back ? 0 : 60, "%zu", i);
        cr_expect_eq(cells_debit(&r, 60, false, &err), cases[i].back ? TAB_OK : TAB_RATE_LIMIT, "%zu", i);
        if (!cases[i].back)
            cr_expect(r.retry_after >= 59 && r.retry_after <= 61, "%u", r.retry_after);
    }
}

Test(cells, a_minute_holds_as_many_as_the_limit)
{
    TAB_AUTO(tab_redis) *redis = tab_redis_open(TAB_AT("127.0.0.1:1"));
    unsigned retry;
    for (int i = 0; i < 6; i++)
        cr_expect_eq(take(redis, "org_ten", 10, i % 2 == 1, &retry), TAB_OK, "%d", i);
    cr_expect_eq(take(redis, "org_ten", 10, false, &retry), TAB_RATE_LIMIT);
    cr_expect(retry >= 9 && retry <= 11, "%u", retry);
    cr_expect_eq(take(redis, "org_ten", 3, false, &retry), TAB_RATE_LIMIT);
    cr_expect(retry >= 2 && retry <= 4, "%u", retry);
    cr_expect_eq(take(redis, "org_ten", 61, false, &retry), TAB_RATE_LIMIT);
    cr_expect(retry >= 59 && retry <= 61, "one larger than a minute waits for a full bucket: %u", retry);
}

/* 60 cells a minute, so each is a second of the bucket. */
Test(cells, a_bucket_holds_a_minute_and_refills_by_the_second)
{
    double tat = 0;
    cr_expect_eq(cells_bucket(&tat, 5000, 20, 60), 0);
    cr_expect_float_eq(tat, 25000, 1e-9);
    cr_expect_eq(cells_bucket(&tat, 5000, 40, 60), 0, "to the last one");
    cr_expect_float_eq(tat, 65000, 1e-9);
    cr_expect_eq(cells_bucket(&tat, 5000, 1, 60), 1001, "and then one a second");
    cr_expect_eq(cells_bucket(&tat, 5500, 3, 60), 2501);
    cr_expect_float_eq(tat, 65000, 1e-9, "what is refused is not debited");
    cr_expect_eq(cells_bucket(&tat, 6000, 1, 60), 0);
    cr_expect_eq(cells_bucket(&tat, 6000, 61, 60), 60001, "more than a minute's waits for a full bucket");
    cr_expect_eq(cells_bucket(&tat, 66000, 61, 60), 0);
    cr_expect_float_eq(tat, 127000, 1e-9);
    cr_expect_eq(cells_bucket(&tat, 66000, -2, 60), 0, "what comes back");
    cr_expect_float_eq(tat, 125000, 1e-9);
    tat = 10;
    cr_expect_eq(cells_bucket(&tat, 1000, 0, 60), 0);
    cr_expect_float_eq(tat, 1000, 1e-9, "never fuller than full");
    cr_expect_eq(cells_bucket(&tat, 1000, 60000000, 60), 0, "the whole of a full one, however much");
}

Test(cells, small_calls_debit_a_share_of_the_minute)
{
    cr_expect_eq(cells_ahead(10, 6400), 90u);
    cr_expect_eq(cells_ahead(99, 6400), 1u);
    cr_expect_eq(cells_ahead(100, 6400), 0u);
    cr_expect_eq(cells_ahead(101, 6400), 0u);
    cr_expect_eq(cells_ahead(1, 63), 0u, "a small plan has no shares");
}

/* Two organizations whose calls meet in a slot, in an order that is drawn: neither takes what the other one
 * debited, and what was debited is taken, there, or given back, to the cell. */
Test(cells, debited_ahead_are_taken_once_and_by_who_debited_them)
{
    cells_slot p = { 0 };
    static const char *const org[] = { "org_a", "org_b" };
    uint64_t r = 88172645463325252, debited[2] = { 0 }, taken[2] = { 0 }, back[2] = { 0 };
    cr_expect_not(cells_slot_take(&p, "org_a", 0), "an empty slot is nobody's");
    for (size_t i = 0; i < 4000; i++) {
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        size_t who = r % 2;
        uint64_t cells = (r >> 8) % 50, there = strcmp(p.org, org[who]) == 0 ? p.cells : 0;
        if ((r >> 20) % 4 == 0) {
            cells_slot old = cells_slot_turn(&p, org[who]);
            cr_assert_str_eq(p.org, org[who]);
            if (old.cells > 0)
                back[strcmp(old.org, org[1]) == 0] += old.cells;
            cr_assert_eq(p.cells, there, "the slot is as its organization left it, or empty");
            p.cells += cells;
            debited[who] += cells;
        } else if ((r >> 20) % 4 == 1) {
            cells_slot_return(&p, org[who], cells);
            debited[who] += strcmp(p.org, org[who]) == 0 ? cells : 0;
        } else {
            bool yes = cells_slot_take(&p, org[who], cells);
            cr_assert_eq(yes, strcmp(p.org, org[who]) == 0 && there >= cells);
            taken[who] += yes ? cells : 0;
        }
    }
    for (size_t who = 0; who < 2; who++) {
        uint64_t there = strcmp(p.org, org[who]) == 0 ? p.cells : 0;
        cr_expect(taken[who] > 1000 && back[who] > 1000);
        cr_expect_eq(debited[who], taken[who] + back[who] + there, "%zu", who);
    }
}

/* Calls, limits and times that are drawn, from a cell a minute to a million a millisecond: what is let in
 * never makes the bucket fuller than a minute's worth, unless it was empty; what is refused changes
 * nothing, and may be asked for again after the time that is said and not a millisecond before. */
Test(cells, a_bucket_is_never_passed_and_never_refuses_for_longer_than_it_must)
{
    uint64_t r = 521288629521288629;
    size_t in = 0, out = 0;
    for (size_t i = 0; i < 200; i++) {
        double tat = 0, now = 1e6;
        r ^= r << 13, r ^= r >> 7, r ^= r << 17;
        uint64_t limit = 1 + (r >> 4) % (uint64_t[]){ 10, 60000, 1000000, 60000000000 }[r % 4];
        for (size_t k = 0; k < 300; k++) {
            r ^= r << 13, r ^= r >> 7, r ^= r << 17;
            int64_t cells = 1 + (int64_t)((r >> 5) % (k % 50 == 0 ? 2 * limit : limit / 8 + 1));
            double was = tat, cost = (double)cells * 60000 / (double)limit;
            now += (double)((r >> 40) % 6000);
            int64_t retry = cells_bucket(&tat, now, cells, limit);
            if (retry == 0) {
                in++;
                cr_assert(tat <= now + 60000 + 1e-6 || was <= now, "%zu: the minute is passed", i);
                cr_assert_float_eq(tat, fmax(was, now) + cost, 1e-6, "each cell is debited once");
            } else {
                double later = was, sooner = was;
                out++;
                cr_assert_eq(tat, was, "what is refused is not debited");
                cr_assert_eq(cells_bucket(&later, now + (double)retry, cells, limit), 0, "%zu, %zu", i, k);
                cr_assert(retry == 1 || cells_bucket(&sooner, now + (double)retry - 1.5, cells, limit) > 0);
            }
        }
    }
    cr_expect(in > 1000 && out > 1000);
}
