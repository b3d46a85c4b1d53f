#include "gateway/module/tab_trace.h"

#include <criterion/criterion.h>
#include <string.h>

static bool valid(const char *text)
{
    return tab_traceparent_valid((const unsigned char *)text, strlen(text));
}

#define IDS "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

Test(trace, takes_this_version_and_what_a_later_one_begins_with)
{
    cr_assert(valid("00-" IDS "-01"));
    cr_assert(valid("00-" IDS "-00"));
    cr_assert(valid("00-" IDS "-ff"));
    cr_assert(valid("01-" IDS "-01"));
    cr_assert(valid("cc-" IDS "-01-what.comes-later"));
}

Test(trace, takes_nothing_else)
{
    static const char *const wrong[] = {
        "",
        "00",
        "00-" IDS "-0",
        "00-" IDS "-01-",  /* this version ends here */
        "01-" IDS "-01.x", /* a later one goes on behind a - */
        "ff-" IDS "-01",
        "0g-" IDS "-01",
        "00-" IDS "-0G",
        "00_" IDS "-01",
        "00-" IDS "_01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert(!valid(wrong[i]), "%s", wrong[i]);
}

Test(trace, is_recorded_by_its_last_bit)
{
    cr_assert(tab_traceparent_sampled((const unsigned char *)"00-" IDS "-01"));
    cr_assert(!tab_traceparent_sampled((const unsigned char *)"00-" IDS "-00"));
    cr_assert(tab_traceparent_sampled((const unsigned char *)"00-" IDS "-0f"));
    cr_assert(!tab_traceparent_sampled((const unsigned char *)"00-" IDS "-fe"));
}
