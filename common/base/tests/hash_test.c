#include "common/base/hash.h"

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

/* Keys as an attacker would choose them, who knows every constant: equal in all bits that a mask keeps. With
 * slots for twice as many, no run of taken ones is long, whatever the secret. */
Test(hash, chosen_keys_do_not_crowd)
{
    enum { KEYS = 1 << 14, SLOTS = 2 * KEYS, RUN_MOST = 256 };
    static uint8_t taken[3][SLOTS];
    for (uint64_t i = 0; i < KEYS; i++) {
        char text[16];
        uint64_t high = i << 40;
        memcpy(text, &high, 8);
        memset(text + 8, 0, 8);
        const uint64_t at[3] = { tab_place(high), tab_place(i * SLOTS),
                                 tab_place_text((tab_str){ text, 16 }) };
        for (int k = 0; k < 3; k++) {
            size_t s = at[k] & (SLOTS - 1), run = 0;
            for (; taken[k][s]; s = (s + 1) & (SLOTS - 1))
                run++;
            taken[k][s] = 1;
            cr_assert_lt(run, RUN_MOST, "key %llu of kind %d", (unsigned long long)i, k);
        }
    }
}

Test(hash, a_text_has_one_place)
{
    char a[] = "abc", b[] = "xabc";
    cr_expect_eq(tab_place_text(TAB_S("abc")), tab_place_text((tab_str){ a, 3 }));
    cr_expect_eq(tab_place_text(TAB_S("abc")), tab_place_text((tab_str){ b + 1, 3 }));
    cr_expect_eq(tab_place_text((tab_str){ NULL, 0 }), tab_place_text(TAB_S("")));
    cr_expect_neq(tab_place_text(TAB_S("abc")), tab_place_text(TAB_S("abd")));
}
