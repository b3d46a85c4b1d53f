#include "gateway/module/tab_limits.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const unsigned char seed[16] = "a seed for tests";
static const int64_t second = 1000000;

static tab_limits *table(size_t sets)
{
    tab_limits *t = malloc(tab_limits_size(sets));
    cr_assert_not_null(t);
    tab_limits_init(t, sets, seed);
    return t;
}

static tab_limit key(const char *name, uint32_t per_minute)
{
    return (tab_limit){ 'k', tab_str_of(name), { NULL, 0 }, per_minute };
}

Test(limits, let_a_minutes_worth_in_and_then_one_at_a_time)
{
    tab_limits *t = table(16);
    tab_limit l = key("a", 60);
    for (uint32_t i = 0; i < 60; i++) {
        tab_limit_answer a = tab_limits_take(t, &l, 1, second, false);
        cr_assert(a.let_in, "request %u", i);
        cr_assert_eq(a.remaining, 59 - i);
        cr_assert_eq(a.limit, 60);
    }
    tab_limit_answer a = tab_limits_take(t, &l, 1, second, false);
    cr_expect_not(a.let_in);
    cr_expect_eq(a.remaining, 0);
    cr_expect(a.retry_ms > 900 && a.retry_ms <= 1001, "%lld", (long long)a.retry_ms);
    cr_expect(tab_limits_take(t, &l, 1, 2 * second, false).let_in, "a second later there is one");
    cr_expect_not(tab_limits_take(t, &l, 1, 2 * second, false).let_in);
    cr_expect(tab_limits_take(t, &l, 1, 200 * second, false).remaining == 59, "full again");
    free(t);
}

Test(limits, debit_all_buckets_or_none)
{
    tab_limits *t = table(16);
    tab_limit both[2] = { key("a", 100), { 'o', TAB_S("org"), { NULL, 0 }, 2 } };
    cr_expect(tab_limits_take(t, both, 2, second, false).let_in);
    cr_expect(tab_limits_take(t, both, 2, second, false).let_in);
    tab_limit_answer a = tab_limits_take(t, both, 2, second, false);
    cr_expect_not(a.let_in);
    cr_expect_eq(a.limit, 2, "the tighter one speaks");
    cr_expect_eq(tab_limits_take(t, both, 1, second, true).remaining, 97, "the key lost only two");
    free(t);
}

Test(limits, look_without_taking)
{
    tab_limits *t = table(16);
    tab_limit l = key("a", 1);
    for (int i = 0; i < 5; i++)
        cr_expect(tab_limits_take(t, &l, 1, second, true).let_in);
    cr_expect(tab_limits_take(t, &l, 1, second, false).let_in);
    cr_expect_not(tab_limits_take(t, &l, 1, second, true).let_in);
    free(t);
}

Test(limits, keep_names_apart_by_kind_and_part)
{
    tab_limits *t = table(64);
    tab_limit l[] = { key("ab", 1),
                      { 'o', TAB_S("ab"), { NULL, 0 }, 1 },
                      { 'e', TAB_S("a"), TAB_S("b"), 1 },
                      { 'e', TAB_S("ab"), TAB_S(""), 1 } };
    for (size_t i = 0; i < sizeof l / sizeof *l; i++) {
        cr_expect(tab_limits_take(t, &l[i], 1, second, false).let_in, "%zu", i);
        cr_expect_not(tab_limits_take(t, &l[i], 1, second, false).let_in, "%zu", i);
    }
    free(t);
}

Test(limits, forget_the_most_idle_when_full)
{
    tab_limits *t = table(1);
    tab_limit busy = key("busy", 1);
    cr_assert(tab_limits_take(t, &busy, 1, 10 * second, false).let_in);
    for (int i = 0; i < 100; i++) {
        char name[2] = { (char)('A' + i % 50), 0 };
        tab_limit other = key(name, 6000);
        cr_assert(tab_limits_take(t, &other, 1, 10 * second, false).let_in);
    }
    cr_expect_not(tab_limits_take(t, &busy, 1, 10 * second, false).let_in,
                  "an exhausted bucket outlives idle ones");
    free(t);
}

Test(limits, keep_the_highest_number_of_a_name)
{
    tab_limits *t = table(1);
    cr_expect_eq(tab_limits_highest(t, TAB_S("a"), 0), 0);
    cr_expect_eq(tab_limits_highest(t, TAB_S("a"), 7), 7);
    cr_expect_eq(tab_limits_highest(t, TAB_S("a"), 5), 7);
    cr_expect_eq(tab_limits_highest(t, TAB_S("b"), 0), 0);
    for (int i = 0; i < TAB_LIMIT_WAYS; i++)
        (void)tab_limits_highest(t, (tab_str){ "pqrs" + i, 1 }, 10 + i);
    cr_expect_eq(tab_limits_highest(t, TAB_S("a"), 0), 0, "the lowest is forgotten first");
    cr_expect_eq(tab_limits_highest(t, TAB_S("s"), 0), 13);
    free(t);
}

/* Every figure of the answers by hand: two a second, so a token is 500 ms; a bucket holds 120. */
Test(limits, say_when_a_bucket_is_full_and_when_to_come_again)
{
    tab_limits *t = table(16);
    tab_limit l = key("a", 120);
    tab_limit_answer a = tab_limits_take(t, &l, 1, 7 * second, false);
    cr_expect(a.let_in && a.remaining == 119 && a.limit == 120 && a.reset_ms == 500 && a.retry_ms == 0);
    for (int i = 0; i < 119; i++)
        a = tab_limits_take(t, &l, 1, 7 * second, false);
    cr_expect(a.let_in && a.remaining == 0 && a.reset_ms == 60000 && a.retry_ms == 0, "the last one");
    a = tab_limits_take(t, &l, 1, 7 * second, false);
    cr_expect(!a.let_in && a.remaining == 0 && a.reset_ms == 60500 && a.retry_ms == 501);
    a = tab_limits_take(t, &l, 1, 7 * second + 499999, false);
    cr_expect(!a.let_in && a.retry_ms == 1, "a microsecond too early");
    cr_expect(tab_limits_take(t, &l, 1, 7 * second + 500000, false).let_in);
    tab_limit none = key("none", 0); /* no number of requests: one */
    cr_expect(tab_limits_take(t, &none, 1, second, false).let_in);
    cr_expect_not(tab_limits_take(t, &none, 1, 60 * second, false).let_in);
    tab_limit five[] = { key("p", 9), key("q", 9), key("r", 9), key("s", 9), key("t", 1) };
    for (int i = 0; i < 2; i++)
        cr_expect(tab_limits_take(t, five, 5, second, false).let_in, "the fifth is not looked at");
    tab_limit two[] = { key("u", 30), key("v", 20) };
    for (int i = 0; i < 20; i++)
        (void)tab_limits_take(t, two, 2, second, false);
    for (int i = 0; i < 10; i++)
        (void)tab_limits_take(t, two, 1, second, false);
    cr_expect_eq(tab_limits_take(t, two, 2, second, true).retry_ms, 3001, "the longer wait counts");
    tab_limit turned[] = { two[1], two[0] };
    cr_expect_eq(tab_limits_take(t, turned, 2, second, true).retry_ms, 3001, "whichever is asked for first");
    free(t);
}

Test(limits, tell_long_names_apart_up_to_512_bytes)
{
    static char a[600], b[600];
    tab_limits *t = table(16);
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    b[511] = 'y';
    tab_limit l[] = { { 'k', { a, 512 }, { NULL, 0 }, 1 }, { 'k', { b, 512 }, { NULL, 0 }, 1 } };
    cr_expect(tab_limits_take(t, &l[0], 1, second, false).let_in);
    cr_expect(tab_limits_take(t, &l[1], 1, second, false).let_in, "the last byte counts");
    b[511] = 'x', b[512] = 'y';
    l[0].a.n = l[1].a.n = 600;
    l[0].per_minute = l[1].per_minute = 1;
    cr_expect_not(tab_limits_take(t, &l[0], 1, second, false).let_in, "what is behind does not");
    free(t);
}
