/* Who computed more than a fair share lately. */
#include <criterion/criterion.h>

#include "services/inference/shares.h"

Test(shares, alone_nobody_is_over)
{
    TAB_AUTO(tab_shares) *s = tab_shares_new();
    cr_expect_not(tab_shares_over(s, "a", 1000));
    tab_shares_add(s, "a", 60000, 1000);
    cr_expect_not(tab_shares_over(s, "a", 1000));
}

Test(shares, who_used_more_is_over_and_who_used_less_is_not)
{
    TAB_AUTO(tab_shares) *s = tab_shares_new();
    tab_shares_add(s, "busy", 9000, 1000);
    tab_shares_add(s, "quiet", 300, 1000);
    cr_expect(tab_shares_over(s, "busy", 1000));
    cr_expect_not(tab_shares_over(s, "quiet", 1000));
    cr_expect_not(tab_shares_over(s, "new", 1000));
}

Test(shares, equals_are_not_over)
{
    TAB_AUTO(tab_shares) *s = tab_shares_new();
    static const char *const orgs[] = { "a", "b", "c" };
    for (size_t i = 0; i < 3; i++)
        tab_shares_add(s, orgs[i], 2000 + 100 * (int64_t)i, 1000);
    for (size_t i = 0; i < 3; i++)
        cr_expect_not(tab_shares_over(s, orgs[i], 1000));
}

Test(shares, what_was_used_long_ago_does_not_count)
{
    TAB_AUTO(tab_shares) *s = tab_shares_new();
    tab_shares_add(s, "was", 20000, 0);
    tab_shares_add(s, "is", 1000, 100000); /* ten half-lives later: 20 ms are left */
    cr_expect_not(tab_shares_over(s, "was", 100000));
    cr_expect(tab_shares_over(s, "is", 100000));
    tab_shares_add(s, "is", 1, 300000); /* and now nothing of it */
    cr_expect_not(tab_shares_over(s, "is", 300000));
}
