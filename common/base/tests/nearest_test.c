#include "common/base/nearest.h"

#include <criterion/criterion.h>

Test(nearest, finds_what_was_meant)
{
    static const tab_str known[] = { TAB_S("tables"), TAB_S("data"), TAB_S("target"), TAB_S("task") };
    cr_expect_eq(tab_nearest(TAB_S("targt"), known, 4), 2);
    cr_expect_eq(tab_nearest(TAB_S("Traget"), known, 4), 2, "two neighbours swapped, another case");
    cr_expect_eq(tab_nearest(TAB_S("table"), known, 4), 0);
    cr_expect_eq(tab_nearest(TAB_S("colour"), known, 4), 4);
    cr_expect_eq(tab_nearest(TAB_S(""), known, 4), 4);
    cr_expect_eq(tab_nearest(TAB_S("x"), known, 0), 0);
}

Test(nearest, finds_the_only_name_that_begins_so)
{
    static const tab_str known[] = { TAB_S("spend_cap_usd"), TAB_S("add_usage"), TAB_S("add_members") };
    cr_expect_eq(tab_nearest(TAB_S("spend_cap"), known, 3), 0);
    cr_expect_eq(tab_nearest(TAB_S("add_"), known, 3), 3, "two of them");
    cr_expect_eq(tab_nearest(TAB_S("spe"), known, 3), 3, "three letters say little");
}

Test(nearest, long_names_are_near_nothing)
{
    char text[300];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = 'a';
    tab_str word = { text, sizeof text }, known[] = { { text, sizeof text - 1 }, { text, 64 } };
    cr_expect_eq(tab_nearest(word, known, 2), 2);
    cr_expect_eq(tab_nearest(known[1], known, 2), 1, "64 bytes are read");
}
