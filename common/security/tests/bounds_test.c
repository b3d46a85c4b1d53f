#include "common/security/bounds.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>

static tab_network address_of(const char *text)
{
    uint8_t bytes[16];
    bool six = strchr(text, ':') != NULL;
    cr_assert_eq(inet_pton(six ? AF_INET6 : AF_INET, text, bytes), 1, "%s", text);
    return tab_network_of(bytes, six ? 16 : 4);
}

Test(bounds, reads_networks_and_writes_them_shortest)
{
    static const struct {
        const char *text, *want; /* NULL: none */
    } cases[] = {
        { "10.0.0.0/8", "10.0.0.0/8" },
        { "0.0.0.0/0", "0.0.0.0/0" },
        { "203.0.113.7", "203.0.113.7" },
        { "203.0.113.7/32", "203.0.113.7" },
        { "203.0.113.128/25", "203.0.113.128/25" },
        { "2001:DB8:0:0::/32", "2001:db8::/32" },
        { "::/0", "::/0" },
        { "::1", "::1" },
        { "::1/128", "::1" },
        { "::ffff:10.0.0.0/104", "10.0.0.0/8" },
        { "::ffff:10.1.2.3", "10.1.2.3" },
        { "10.0.0.1/8", NULL },
        { "203.0.113.129/25", NULL },
        { "2001:db8::1/32", NULL },
        { "::ffff:0.0.0.0/80", NULL },
        { "10.0.0.0/33", NULL },
        { "::/129", NULL },
        { "10.0.0.0/08", NULL },
        { "10.0.0.0/", NULL },
        { "10.0.0.0/ 8", NULL },
        { "10.0.0.0/-1", NULL },
        { "10.0.0.0/8/8", NULL },
        { "10.0.0/8", NULL },
        { "010.0.0.0/8", NULL },
        { "fe80::1%lo", NULL },
        { "example.org", NULL },
        { "/8", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_network n;
        char text[TAB_NETWORK_TEXT] = "";
        bool read = tab_network_read(tab_str_of(cases[i].text), &n);
        cr_expect_eq(read, cases[i].want != NULL, "%s", cases[i].text);
        if (!read)
            continue;
        tab_network_write(&n, text);
        cr_expect_str_eq(text, cases[i].want);
    }
}

Test(bounds, a_network_holds_its_addresses_and_no_others)
{
    static const struct {
        const char *network, *in, *out;
    } cases[] = {
        { "10.0.0.0/8", "10.255.255.255", "11.0.0.0" },
        { "203.0.113.128/25", "203.0.113.128", "203.0.113.127" },
        { "203.0.113.4/31", "203.0.113.5", "203.0.113.6" },
        { "203.0.113.7", "203.0.113.7", "203.0.113.8" },
        { "0.0.0.0/0", "255.255.255.255", "::1" },
        { "::/0", "2001:db8::1", "10.0.0.1" },
        { "2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::" },
        { "2001:db8::/127", "2001:db8::1", "2001:db8::2" },
        { "10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tab_network n, in = address_of(cases[i].in), out = address_of(cases[i].out);
        cr_assert(tab_network_read(tab_str_of(cases[i].network), &n));
        cr_expect(tab_network_holds(&n, &in), "%s in %s", cases[i].in, cases[i].network);
        cr_expect_not(tab_network_holds(&n, &out), "%s in %s", cases[i].out, cases[i].network);
    }
}

Test(bounds, a_word_says_what_was_put_into_it)
{
    tab_bounds_writer w = { .n = 0 };
    tab_network net, from;
    tab_bounds b;
    tab_bounds_put(&w, 'e', TAB_S("one"));
    tab_bounds_put(&w, 'e', TAB_S("two"));
    tab_bounds_put(&w, 'x', TAB_S("1800000000"));
    cr_assert(tab_network_read(TAB_S("10.0.0.0/8"), &net));
    tab_bounds_put_network(&w, 'k', &net);
    cr_assert(tab_network_read(TAB_S("2001:db8::/32"), &net));
    tab_bounds_put_network(&w, 'k', &net);
    cr_assert(tab_network_read(TAB_S("10.1.0.0/16"), &net));
    tab_bounds_put_network(&w, 'o', &net);
    cr_assert_str_eq(w.text, "b:e=one,two;x=1800000000;k=0a00000008,20010db800000000000000000000000020;"
                             "o=0a01000010");
    cr_assert(tab_bounds_read((tab_str){ w.text, w.n }, &b));
    cr_expect_eq(b.until_s, 1800000000);
    cr_expect(tab_bounds_has_endpoint(&b, TAB_S("two")) && !tab_bounds_has_endpoint(&b, TAB_S("tw")));
    from = address_of("10.2.0.1");
    cr_expect(tab_bounds_has_address(b.key_networks, &from) &&
              !tab_bounds_has_address(b.org_networks, &from));
    from = address_of("2001:db8::7");
    cr_expect(tab_bounds_has_address(b.key_networks, &from) &&
              !tab_bounds_has_address(b.org_networks, &from));
    cr_expect(tab_str_eq(tab_bounds_public((tab_str){ w.text, w.n }), TAB_S("b:e=one,two")));
    cr_expect_eq(tab_bounds_public(TAB_S("b:x=1;k=0a00000008")).n, 0);
    cr_expect(tab_str_eq(tab_bounds_public(TAB_S("b:r=viewer")), TAB_S("b:r=viewer")));
    cr_expect(tab_str_eq(tab_bounds_public(TAB_S("b:r=viewer;e=a,b;x=1")), TAB_S("b:r=viewer;e=a,b")));
    cr_expect(tab_str_eq(tab_bounds_public(TAB_S("b:r=viewer;k=0a00000008")), TAB_S("b:r=viewer")));
}

Test(bounds, of_none_is_everything_and_what_is_not_understood_is_nothing)
{
    static const char *const bad[] = { "b:",
                                       "b:e=",
                                       "b:x=0",
                                       "b:x=a",
                                       "b:z=1",
                                       "b:e=a;e=b",
                                       "b:x=1;e=a",
                                       "b:e=a;",
                                       "b:k=0a000000",
                                       "b:k=0a00000021",
                                       "b:e=a,",
                                       "b:r=",
                                       "b:r=a,b",
                                       "b:e=a;r=viewer",
                                       "b:k=0A00000008",
                                       "x",
                                       "b:k=0a00000008;k=0a00000008",
                                       "b:k=0a00000008,0a0000000g" };
    tab_bounds b;
    cr_assert(tab_bounds_read(TAB_S(""), &b));
    cr_expect(tab_bounds_has_endpoint(&b, TAB_S("any")) && b.until_s == 0 && b.key_networks.p == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(tab_bounds_read(tab_str_of(bad[i]), &b), "%s", bad[i]);
}

Test(bounds, the_longest_word_fits_and_one_more_does_not)
{
    tab_bounds_writer w = { .n = 0 };
    tab_network net;
    tab_bounds b;
    cr_assert(tab_network_read(TAB_S("2001:db8::/32"), &net));
    for (int i = 0; i < TAB_BOUNDS_ENDPOINTS; i++)
        tab_bounds_put(&w, 'e', TAB_S("0123456789012345678901"));
    cr_expect_lt(w.n, TAB_BOUNDS_PUBLIC);
    tab_bounds_put(&w, 'x', TAB_S("253402300799"));
    for (int i = 0; i < 2 * TAB_BOUNDS_NETWORKS; i++)
        tab_bounds_put_network(&w, i < TAB_BOUNDS_NETWORKS ? 'k' : 'o', &net);
    cr_assert(!w.full && tab_bounds_read((tab_str){ w.text, w.n }, &b));
    tab_bounds_put_network(&w, 'o', &net);
    cr_expect(w.full || !tab_bounds_read((tab_str){ w.text, w.n }, &b), "one network too many");
}
