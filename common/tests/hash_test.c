#include "common/hash.h"

#include <criterion/criterion.h>

/* The values that its authors publish (isthe.com/chongo, "FNV test vectors"). */
Test(hash, is_fnv_1a)
{
    static const struct {
        const char *text;
        uint64_t want;
    } cases[] = {
        { "", 0xcbf29ce484222325 },
        { "a", 0xaf63dc4c8601ec8c },
        { "foobar", 0x85944171f73967e8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tab_fnv1a(TAB_FNV1A, cases[i].text, strlen(cases[i].text)), cases[i].want, "%s",
                     cases[i].text);
}

Test(hash, goes_on_where_it_stopped)
{
    uint64_t h = tab_fnv1a(TAB_FNV1A, "foo", 3);
    cr_expect_eq(tab_fnv1a(h, "bar", 3), tab_fnv1a(TAB_FNV1A, "foobar", 6));
}
