#include "gateway/module/tab_level.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint64_t calls_of(const tab_level_entry *e)
{
    return e->count[0] + e->count[1] + e->count[2] + e->count[3];
}

Test(level, counts_by_organization_day_and_kind)
{
    tab_level *l = tab_level_new(8);
    tab_level_entry e[8];
    cr_assert(tab_level_add(l, "org_a", 20000, tab_level_kind_of(200), 3));
    cr_assert(tab_level_add(l, "org_a", 20000, tab_level_kind_of(202), 4));
    cr_assert(tab_level_add(l, "org_a", 20000, tab_level_kind_of(504), 60000));
    cr_assert(tab_level_add(l, "org_a", 20000, tab_level_kind_of(429), 0));
    cr_assert(tab_level_add(l, "org_a", 20000, tab_level_kind_of(499), 0));
    cr_assert(tab_level_add(l, "org_a", 20001, tab_level_kind_of(200), 40000));
    cr_assert_eq(tab_level_take(l, e, 8), 2);
    const tab_level_entry *first = e[0].day == 20000 ? &e[0] : &e[1],
                          *second = first == &e[0] ? &e[1] : &e[0];
    cr_assert_str_eq(first->org, "org_a");
    cr_assert_eq(first->count[TAB_LEVEL_ANSWERED], 2);
    cr_assert_eq(first->count[TAB_LEVEL_FAILED], 1);
    cr_assert_eq(first->count[TAB_LEVEL_REFUSED], 1);
    cr_assert_eq(first->count[TAB_LEVEL_ABANDONED], 1);
    cr_assert_eq(first->count[TAB_LEVEL_KINDS + 2], 1, "3 ms are in the bucket that ends with 3");
    cr_assert_eq(first->count[TAB_LEVEL_KINDS + 3], 1);
    cr_assert_eq(second->count[TAB_LEVEL_COUNTS - 1], 1, "beyond the last bound");
    cr_assert_eq(tab_level_take(l, e, 8), 0);
    tab_level_free(l);
}

Test(level, is_bounded_and_what_did_not_arrive_is_not_lost)
{
    tab_level *l = tab_level_new(4);
    tab_level_entry e[4], again[4];
    char org[16];
    for (int i = 0; i < 4; i++) {
        snprintf(org, sizeof org, "org_%d", i);
        cr_assert(tab_level_add(l, org, 1, TAB_LEVEL_FAILED, 0));
    }
    cr_assert(!tab_level_add(l, "org_4", 1, TAB_LEVEL_FAILED, 0));
    cr_assert(!tab_level_add(l, "an organization whose name is longer than any name that is made", 1,
                             TAB_LEVEL_FAILED, 0));
    cr_assert(tab_level_add(l, "org_2", 1, TAB_LEVEL_FAILED, 0), "one that is there has its room");
    cr_assert_eq(tab_level_take(l, e, 3), 3);
    cr_assert(tab_level_add(l, "org_2", 1, TAB_LEVEL_REFUSED, 0));
    cr_assert(tab_level_add(l, "org_9", 1, TAB_LEVEL_FAILED, 0));
    cr_assert_eq(tab_level_put_back(l, e, 3), 1, "org_1 has no room any more");
    cr_assert_eq(tab_level_take(l, again, 4), 4);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(calls_of(&again[i]), strcmp(again[i].org, "org_2") == 0 ? 3 : 1);
    tab_level_free(l);
}

/* Many organizations, taken out in pieces while more come: every call is somewhere, once. */
Test(level, loses_nothing_while_it_is_emptied)
{
    enum { ORGS = 300, ROUNDS = 20000 };
    tab_level *l = tab_level_new(512);
    uint64_t seen = 0;
    tab_level_entry e[32];
    unsigned draw = 1;
    char org[16];
    for (int i = 0; i < ROUNDS; i++) {
        draw = draw * 1664525u + 1013904223u;
        snprintf(org, sizeof org, "org_%u", (draw >> 8) % ORGS);
        cr_assert(tab_level_add(l, org, 1, TAB_LEVEL_ANSWERED, draw >> 20));
        if (draw >> 26 == 0)
            for (uint32_t n = tab_level_take(l, e, 32); n > 0; n--)
                seen += calls_of(&e[n - 1]);
    }
    for (uint32_t n; (n = tab_level_take(l, e, 32)) > 0;)
        while (n > 0)
            seen += calls_of(&e[--n]);
    cr_assert_eq(seen, ROUNDS);
    tab_level_free(l);
}
