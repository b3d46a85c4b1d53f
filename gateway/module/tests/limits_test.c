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
