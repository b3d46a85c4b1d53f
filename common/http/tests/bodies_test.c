#include "common/http/bodies.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { HOLDS = 64 };
static const unsigned char seed[16] = { 7 };
static const tab_bodies_limits most = { 100, 250 };

static tab_bodies *made(void)
{
    return tab_bodies_init(malloc(tab_bodies_size(HOLDS)), HOLDS, seed);
}

Test(bodies, an_organization_and_all_have_a_limit_each)
{
    tab_bodies *t = made();
    uint32_t a, b, c, d, e;
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 60, most, &a), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 41, most, &b), TAB_BODIES_ORG);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 2, 40, most, &b), TAB_BODIES_GOOD, "exactly as many");
    cr_expect_eq(tab_bodies_take(t, TAB_S("b"), 1, 100, most, &c), TAB_BODIES_GOOD, "another's are its own");
    cr_expect_eq(tab_bodies_take(t, TAB_S("c"), 1, 51, most, &d), TAB_BODIES_ALL);
    cr_expect_eq(tab_bodies_take(t, TAB_S("c"), 1, 50, most, &d), TAB_BODIES_GOOD);
    cr_expect_eq(t->all, 250);
    tab_bodies_give(t, a);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 60, most, &e), TAB_BODIES_GOOD, "room again");
    free(t);
}

Test(bodies, huge_numbers_are_refused_and_do_not_wrap)
{
    tab_bodies *t = made();
    uint32_t a, b;
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 60, most, &a), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, UINT64_MAX, most, &b), TAB_BODIES_ORG);
    cr_expect_eq(tab_bodies_take(t, TAB_S("b"), 1, UINT64_MAX, (tab_bodies_limits){ 0, 250 }, &b),
                 TAB_BODIES_ALL);
    cr_expect_eq(tab_bodies_resize(t, a, UINT64_MAX, most), TAB_BODIES_ORG);
    cr_expect_eq(t->all, 60);
    free(t);
}

Test(bodies, a_hold_grows_within_the_limits_and_always_shrinks)
{
    tab_bodies *t = made();
    uint32_t a, b;
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 10, most, &a), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 10, most, &b), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_resize(t, a, 90, most), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_resize(t, a, 91, most), TAB_BODIES_ORG);
    cr_expect_eq(tab_bodies_resize(t, b, 1000, (tab_bodies_limits){ 0, 0 }), TAB_BODIES_GOOD,
                 "no limit asked");
    cr_expect_eq(tab_bodies_resize(t, a, 5, most), TAB_BODIES_GOOD, "less is never refused");
    cr_expect_eq(t->all, 1005);
    free(t);
}

Test(bodies, a_dead_process_gives_back_all_it_had)
{
    tab_bodies *t = made();
    uint32_t x;
    for (int i = 0; i < 10; i++)
        cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1 + (uint32_t)i % 2, 10, most, &x), TAB_BODIES_GOOD);
    tab_bodies_forget(t, 2);
    cr_expect_eq(t->all, 50);
    for (int i = 0; i < 5; i++)
        cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 3, 10, most, &x), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 3, 1, most, &x), TAB_BODIES_ORG);
    free(t);
}

Test(bodies, a_full_table_is_a_limit_too)
{
    tab_bodies *t = made();
    uint32_t x;
    for (int i = 0; i < HOLDS; i++)
        cr_expect_eq(tab_bodies_take(t, TAB_S("a"), 1, 1, most, &x), TAB_BODIES_GOOD);
    cr_expect_eq(tab_bodies_take(t, TAB_S("b"), 1, 1, most, &x), TAB_BODIES_ALL);
    free(t);
}

/* Against sums that are kept the plain way, through many turns of taking, growing, giving back and dying. */
Test(bodies, sums_are_those_of_the_holds)
{
    tab_bodies *t = made();
    struct {
        uint32_t number, process;
        unsigned org;
        uint64_t bytes;
    } is[HOLDS] = { 0 };
    size_t n = 0;
    unsigned rng = 1;
    for (int turn = 0; turn < 200000; turn++) {
        rng = rng * 1664525 + 1013904223;
        unsigned r = rng >> 8, org = r % 40;
        uint64_t sum[40] = { 0 }, all = 0;
        for (size_t i = 0; i < n; i++) {
            sum[is[i].org] += is[i].bytes;
            all += is[i].bytes;
        }
        cr_assert_eq(t->all, all);
        char name[8] = { 'o', (char)('a' + org / 8), (char)('a' + org % 8) };
        uint64_t bytes = r / 64 % 60;
        if (r % 5 < 2) {
            uint32_t x = 0;
            tab_bodies_verdict want = sum[org] + bytes > 100            ? TAB_BODIES_ORG
                                      : all + bytes > 250 || n == HOLDS ? TAB_BODIES_ALL
                                                                        : TAB_BODIES_GOOD;
            cr_assert_eq(tab_bodies_take(t, tab_str_of(name), 1 + r % 3, bytes, most, &x), want);
            if (want == TAB_BODIES_GOOD) {
                is[n].number = x;
                is[n].process = 1 + r % 3;
                is[n].org = org;
                is[n++].bytes = bytes;
            }
        } else if (n > 0 && r % 5 == 2) {
            size_t i = r / 5 % n;
            bool good = bytes <= is[i].bytes ||
                        (sum[is[i].org] + bytes - is[i].bytes <= 100 && all + bytes - is[i].bytes <= 250);
            cr_assert_eq(tab_bodies_resize(t, is[i].number, bytes, most) == TAB_BODIES_GOOD, good);
            is[i].bytes = good ? bytes : is[i].bytes;
        } else if (n > 0 && turn % 1000 != 0) {
            size_t i = r / 5 % n;
            tab_bodies_give(t, is[i].number);
            is[i] = is[--n];
        } else {
            uint32_t dies = 1 + r % 3;
            tab_bodies_forget(t, dies);
            for (size_t i = 0; i < n;)
                if (is[i].process == dies)
                    is[i] = is[--n];
                else
                    i++;
        }
    }
    free(t);
}
