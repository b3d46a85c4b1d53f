#include "services/data-connector/source/source.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* This program's own resolver, so that names lead where an attacker would lead them: the n-th asking of a
 * name gives the n-th group of addresses, the last one ever after. */
static const struct {
    const char *name, *answers[2];
} names[] = {
    { "one.test", { "93.184.216.34", NULL } },
    { "two.test", { "93.184.216.34 10.0.0.1", NULL } },
    { "six.test", { "2606:2800:220:1::1 ::ffff:10.0.0.1", NULL } },
    { "inside.test", { "169.254.169.254", NULL } },
    { "rebind.test", { "93.184.216.34", "127.0.0.1" } },
};
static int asked;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
    char text[128] = "";
    (void)service;
    (void)hints;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            snprintf(text, sizeof text, "%s", names[i].answers[asked > 0 && names[i].answers[1] != NULL]);
    if (text[0] == '\0')
        snprintf(text, sizeof text, "%s", name); /* an address, as a ref may have it */
    asked++;
    *ret = NULL;
    char *state;
    for (char *t = strtok_r(text, " ", &state); t != NULL; t = strtok_r(NULL, " ", &state)) {
        struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6)), **at = ret;
        struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)(a + 1);
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)(a + 1);
        a->ai_addr = (struct sockaddr *)(a + 1);
        a->ai_family = strchr(t, ':') != NULL ? AF_INET6 : AF_INET;
        a->ai_addr->sa_family = (sa_family_t)a->ai_family;
        if (inet_pton(a->ai_family, t,
                      a->ai_family == AF_INET6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) != 1) {
            free(a);
            return EAI_NONAME;
        }
        while (*at != NULL)
            at = &(*at)->ai_next;
        *at = a;
    }
    return *ret == NULL ? EAI_NONAME : 0;
}

void freeaddrinfo(struct addrinfo *a)
{
    while (a != NULL) {
        struct addrinfo *next = a->ai_next;
        free(a);
        a = next;
    }
}

static tab_status reach(tab_arena *a, const char *ref, const char *allow, const char **address)
{
    source_ref r;
    tab_error err = { 0 };
    bool is_public;
    tab_status s = ref_parse(a, ref, &r, &err);
    if (s == TAB_OK)
        s = tab_address_resolve(a, r.host, r.port, allow, address, &is_public, &err);
    if (s != TAB_OK)
        cr_assert_str_eq(err.param, "source");
    return s;
}

/* "10.0.0.0/x" was read as "10.0.0.0/0", which is every address. */
Test(source, a_network_that_is_misspelt_allows_nothing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const char *const allow[] = { "10.0.0.0/",    "10.0.0.0/x",  "10.0.0.0/33",         "10.0.0.0/-1",
                                         "10.0.0.0/8x",  "10.0.0.0/ 8", "10.0.0.0/4294967304", "::/129",
                                         "10.0.0.0/8/8", "/0" };
    const char *address;
    for (size_t i = 0; i < sizeof allow / sizeof *allow; i++) {
        cr_expect_neq(reach(a, "postgres://192.168.1.1/a/b/c", allow[i], &address), TAB_OK, "%s", allow[i]);
        cr_expect_neq(reach(a, "postgres://10.1.2.3/a/b/c", allow[i], &address), TAB_OK, "%s", allow[i]);
    }
    cr_expect_eq(reach(a, "postgres://10.1.2.3/a/b/c", "::1,10.0.0.0/8", &address), TAB_OK);
}

Test(source, A113_A114_no_spelling_of_an_inner_address_is_reached)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const char *const hosts[] = { "127.0.0.1",
                                         "[::1]",
                                         "0.0.0.0",
                                         "[::]",
                                         "169.254.169.254",
                                         "10.1.2.3",
                                         "172.16.0.1",
                                         "172.31.255.255",
                                         "192.168.1.1",
                                         "100.64.0.1",
                                         "100.127.255.255",
                                         "[fd00::1]",
                                         "[fc00::1]",
                                         "[fe80::1]",
                                         "[ff02::1]",
                                         "[::ffff:127.0.0.1]",
                                         "[::ffff:7f00:1]",
                                         "[::127.0.0.1]",
                                         "[64:ff9b::a00:1]",
                                         "[2002:a00:1::]",
                                         "[2002:7f00:1::]",
                                         "2130706433",
                                         "0177.1",
                                         "0177.0.0.1",
                                         "127.1",
                                         "127.0.1",
                                         "0x7f.1",
                                         "0x7f000001",
                                         "127.0.0.1.",
                                         "localhost.",
                                         "inside.test",
                                         "one.test@169.254.169.254",
                                         "169.254.169.254#one.test",
                                         "169.254.169.254\\one.test",
                                         "169.254.169.254%2fone.test",
                                         "xn--n3h",
                                         "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1",
                                         "127\xe3\x80\x82"
                                         "0.0.1" };
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const char *address = NULL;
        cr_assert_eq(reach(a, tab_arena_printf(a, "postgres://%s/a/b/c", hosts[i]), "", &address),
                     TAB_VALIDATION, "%s", hosts[i]);
        cr_assert_null(address);
    }
    const char *address = NULL;
    cr_assert_eq(reach(a, "postgres://one.test/a/b/c", "", &address), TAB_OK);
    cr_assert_str_eq(address, "93.184.216.34");
    cr_assert_eq(reach(a, "postgres://10.1.2.3/a/b/c", "10.0.0.0/8", &address), TAB_OK);
    cr_assert_eq(reach(a, "postgres://172.16.0.1/a/b/c", "10.0.0.0/8", &address), TAB_VALIDATION);
}

/* First and last address of each network of IANA's special-purpose registries (of 2026), and the public
 * neighbours before and behind it where there are such. */
Test(source, A114_the_networks_of_the_registries_are_not_public)
{
    static const struct {
        const char *address;
        bool is_public;
    } cases[] = {
        { "0.0.0.0", false },
        { "0.255.255.255", false },
        { "1.0.0.0", true },
        { "9.255.255.255", true },
        { "10.0.0.0", false },
        { "10.255.255.255", false },
        { "11.0.0.0", true },
        { "100.63.255.255", true },
        { "100.64.0.0", false },
        { "100.127.255.255", false },
        { "100.128.0.0", true },
        { "126.255.255.255", true },
        { "127.0.0.0", false },
        { "127.255.255.255", false },
        { "128.0.0.0", true },
        { "169.253.255.255", true },
        { "169.254.0.0", false },
        { "169.254.255.255", false },
        { "169.255.0.0", true },
        { "172.15.255.255", true },
        { "172.16.0.0", false },
        { "172.31.255.255", false },
        { "172.32.0.0", true },
        { "191.255.255.255", true },
        { "192.0.0.0", false },
        { "192.0.0.255", false },
        { "192.0.1.0", true },
        { "192.0.2.0", false },
        { "192.0.2.255", false },
        { "192.31.195.255", true },
        { "192.31.196.0", false },
        { "192.52.193.255", false },
        { "192.52.194.0", true },
        { "192.88.99.1", false },
        { "192.167.255.255", true },
        { "192.168.0.0", false },
        { "192.168.255.255", false },
        { "192.169.0.0", true },
        { "192.175.48.1", false },
        { "198.17.255.255", true },
        { "198.18.0.0", false },
        { "198.19.255.255", false },
        { "198.20.0.0", true },
        { "198.51.100.1", false },
        { "203.0.113.255", false },
        { "223.255.255.255", true },
        { "224.0.0.0", false },
        { "239.255.255.255", false },
        { "240.0.0.0", false },
        { "255.255.255.254", false },
        { "255.255.255.255", false },
        { "::", false },
        { "::1", false },
        { "::10.0.0.1", false },
        { "::8.8.8.8", false }, /* compatible: long given up */
        { "::ffff:8.8.8.8", true },
        { "::ffff:10.0.0.1", false },
        { "::ffff:169.254.169.254", false },
        { "::ffff:0:10.0.0.1", false }, /* translated, RFC 2765 */
        { "::ffff:0:8.8.8.8", false },
        { "64:ff9b::8.8.8.8", true },
        { "64:ff9b::10.0.0.1", false },
        { "64:ff9b::127.0.0.1", false },
        { "64:ff9b::169.254.169.254", false },
        { "64:ff9b:0:0:0:1::", false },
        { "64:ff9b:1::", false },
        { "64:ff9b:1:a00:0:100::", false },
        { "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", false },
        { "100::", false },
        { "100::ffff:ffff:ffff:ffff", false },
        { "100:0:0:1::", false },
        { "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "2001::", false },
        { "2001:0:a00:1::", false }, /* Teredo */
        { "2001:0:4136:e378:8000:63bf:f5ff:fffe", false },
        { "2001:1::1", false },
        { "2001:2::", false },
        { "2001:3::1", false },
        { "2001:4:112::1", false },
        { "2001:10::1", false },
        { "2001:20::1", false },
        { "2001:30::1", false },
        { "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "2001:200::", true },
        { "2001:4860:4860::8888", true },
        { "2001:db8::", false },
        { "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "2001:db9::", true },
        { "2002:a00:1::1", false },
        { "2002:7f00:1::", false },
        { "2002:c0a8:101::1", false },
        { "2002:808:808::1", false },
        { "2003::", true },
        { "2606:2800:220:1::1", true },
        { "2620:4f:8000::1", false },
        { "2620:4f:8001::1", true },
        { "3ffd:ffff::", true },
        { "3ffe::1", false },
        { "3fff::", false },
        { "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "3fff:1000::", true },
        { "4000::", false },
        { "5f00::1", false },
        { "fc00::", false },
        { "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "fe80::1", false },
        { "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "fec0::1", false },
        { "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
        { "ff02::1", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_in v4 = { .sin_family = AF_INET };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
        bool six = strchr(cases[i].address, ':') != NULL;
        cr_assert_eq(inet_pton(six ? AF_INET6 : AF_INET, cases[i].address,
                               six ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr),
                     1, "%s", cases[i].address);
        const struct sockaddr *sa = six ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
        cr_expect_eq(tab_address_public(sa), cases[i].is_public, "%s", cases[i].address);
        cr_expect_eq(tab_address_allowed(sa, ""), cases[i].is_public, "%s", cases[i].address);
    }
}

Test(source, A115_every_answer_counts_and_the_one_that_was_checked_is_used)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    const char *address = NULL;
    cr_assert_eq(reach(a, "postgres://two.test/a/b/c", "", &address), TAB_VALIDATION);
    cr_assert_eq(reach(a, "postgres://six.test/a/b/c", "", &address), TAB_VALIDATION);
    asked = 0;
    cr_assert_eq(reach(a, "postgres://rebind.test/a/b/c", "", &address), TAB_OK);
    cr_assert_eq(asked, 1); /* a second asking would lead inside */
    cr_assert_str_eq(address, "93.184.216.34");
    cr_assert_eq(reach(a, "postgres://rebind.test/a/b/c", "", &address), TAB_VALIDATION);

    /* and if some library asked again, its connect() would not be let through */
    int fd = socket(AF_INET, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9) };
    struct sockaddr_storage un = { .ss_family = AF_UNIX };
    inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
    guard_begin("10.0.0.0/8", 1000);
    cr_assert_eq(connect(fd, (struct sockaddr *)&in, sizeof in), -1);
    cr_assert_eq(errno, EACCES);
    cr_assert_eq(connect(local, (struct sockaddr *)&un, sizeof un), -1);
    cr_assert_eq(errno, EACCES);
    guard_end();
    cr_assert_eq(connect(fd, (struct sockaddr *)&in, sizeof in), -1);
    cr_assert_neq(errno, EACCES);
    close(fd);
    close(local);
}

Test(source, A118_ports_of_the_deployment_are_refused)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    static const int ports[] = { 22, 25, 4222, 6379, 8222, 2379, 10250, 0, 65536, -1 };
    const char *address = NULL;
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
        cr_assert_eq(reach(a, tab_arena_printf(a, "postgres://one.test:%d/a/b/c", ports[i]), "", &address),
                     TAB_VALIDATION, "%d", ports[i]);
    cr_assert_eq(reach(a, "postgres://one.test:5433/a/b/c", "", &address), TAB_OK);
}

/* Through libcrypto's own header-less name: the one that libpq calls. */
int HMAC_Init_ex(void *ctx, const void *key, int n, const void *md, void *engine);
void *HMAC_CTX_new(void);
void HMAC_CTX_free(void *ctx);
const void *EVP_sha256(void);

Test(source, A119_no_more_is_computed_than_a_login_needs)
{
    void *ctx = HMAC_CTX_new();
    guard_begin("", 10);
    for (int i = 0; i < GUARD_KEYINGS; i++)
        cr_assert_eq(HMAC_Init_ex(ctx, "key", 3, EVP_sha256(), NULL), 1, "%d", i);
    cr_assert(guard_laboured());
    cr_assert_eq(HMAC_Init_ex(ctx, "key", 3, EVP_sha256(), NULL), 0);
    guard_end();
    cr_assert(!guard_laboured());
    cr_assert_eq(HMAC_Init_ex(ctx, "key", 3, EVP_sha256(), NULL), 1);
    HMAC_CTX_free(ctx);
}

Test(source, A119_no_more_is_received_than_was_asked_for)
{
    int pair[2];
    char buf[64] = { 0 };
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cr_assert_eq(write(pair[1], buf, sizeof buf), (ssize_t)sizeof buf);
    guard_begin("", 10);
    cr_assert(!guard_spent());
    cr_assert_eq(recv(pair[0], buf, 16, 0), 16);
    cr_assert(guard_spent());
    cr_assert_eq(recv(pair[0], buf, 16, 0), -1);
    guard_end();
    cr_assert(!guard_spent());
    cr_assert_eq(recv(pair[0], buf, 16, 0), 16); /* other threads and times are free */
    close(pair[0]);
    close(pair[1]);
}
