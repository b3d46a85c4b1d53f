/* See address.h: IANA's special-purpose registries as tables of networks. An IPv6 address that carries an
 * IPv4 one is judged by that. */
#include "common/security/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "common/base/integer.h"

static bool within(const uint8_t *address, const uint8_t *network, unsigned bits)
{
    if (memcmp(address, network, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || (address[bits / 8] ^ network[bits / 8]) >> (8 - bits % 8) == 0;
}

typedef struct {
    uint8_t bytes[16];
    unsigned bits;
} network;

/* What is not public is what IANA's special-purpose registries list (RFC 6890), with multicast and what is
 * reserved; also the few of their networks that can be reached from everywhere, for none holds a source. */
static bool denied4(const uint8_t a[4])
{
    static const network not_public[] = {
        { { 0 }, 8 },
        { { 10 }, 8 },
        { { 100, 64 }, 10 },
        { { 127 }, 8 },
        { { 169, 254 }, 16 },
        { { 172, 16 }, 12 },
        { { 192, 0, 0 }, 24 },
        { { 192, 0, 2 }, 24 },
        { { 192, 31, 196 }, 24 }, /* AS112 */
        { { 192, 52, 193 }, 24 }, /* relays: AMT */
        { { 192, 88, 99 }, 24 },
        { { 192, 168 }, 16 },
        { { 192, 175, 48 }, 24 }, /* AS112 */
        { { 198, 18 }, 15 },
        { { 198, 51, 100 }, 24 },
        { { 203, 0, 113 }, 24 },
        { { 224 }, 4 },
        { { 240 }, 4 },
    };
    for (size_t i = 0; i < sizeof not_public / sizeof *not_public; i++)
        if (within(a, not_public[i].bytes, not_public[i].bits))
            return true;
    return false;
}

static bool denied6(const uint8_t a[16])
{
    static const network carries4[] = {
        { { [10] = 0xff, [11] = 0xff }, 96 }, /* mapped */
        { { 0, 0x64, 0xff, 0x9b }, 96 },      /* NAT64: how public IPv4 is reached where there is none */
    };
    /* 2000::/3, the one block of which addresses have been given out (RFC 4291). Outside of it lie loopback,
     * compatible and translated addresses, local-use NAT64 (64:ff9b:1::/48), unique local, link-local,
     * site-local and multicast ones. */
    static const network given = { { 0x20 }, 3 };
    static const network not_public[] = {
        { { 0x20, 0x01, 0x00 }, 23 },             /* protocols: Teredo, benchmarks, ORCHID, AMT */
        { { 0x20, 0x01, 0x0d, 0xb8 }, 32 },       /* documentation */
        { { 0x20, 0x02 }, 16 },                   /* 6to4, which a relay turns into any IPv4 */
        { { 0x26, 0x20, 0x00, 0x4f, 0x80 }, 48 }, /* AS112 */
        { { 0x3f, 0xfe }, 16 },                   /* 6bone, given back */
        { { 0x3f, 0xff }, 20 },                   /* documentation */
    };
    for (size_t i = 0; i < sizeof carries4 / sizeof *carries4; i++)
        if (within(a, carries4[i].bytes, carries4[i].bits))
            return denied4(a + 12);
    for (size_t i = 0; i < sizeof not_public / sizeof *not_public; i++)
        if (within(a, not_public[i].bytes, not_public[i].bits))
            return true;
    return !within(a, given.bytes, given.bits);
}

bool tab_address_public(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET)
        return !denied4((const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr);
    if (sa->sa_family == AF_INET6)
        return !denied6(((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr);
    return false; /* AF_UNIX and whatever else */
}

bool tab_address_allowed(const struct sockaddr *sa, const char *allow)
{
    const uint8_t *is = NULL;
    int family = sa->sa_family;
    if (tab_address_public(sa))
        return true;
    if (family == AF_INET)
        is = (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr;
    else if (family == AF_INET6)
        is = ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr;
    while (is != NULL && *allow != '\0') {
        char item[64];
        uint8_t bytes[16];
        size_t n = strcspn(allow, ",");
        char *slash;
        int64_t bits = family == AF_INET ? 32 : 128;
        if (n < sizeof item) {
            memcpy(item, allow, n);
            item[n] = '\0';
            slash = strchr(item, '/');
            bool good = slash == NULL || tab_integer_read(tab_str_of(slash + 1), 0, bits, &bits);
            if (slash != NULL)
                *slash = '\0';
            if (good && inet_pton(family, item, bytes) == 1 && within(is, bytes, (unsigned)bits))
                return true;
        }
        allow += n + (allow[n] == ',');
    }
    return false;
}

tab_status tab_address_resolve(tab_arena *a, const char *host, uint16_t port, const char *allow,
                               const char **ret_address, bool *ret_public, tab_error *err)
{
    static const uint16_t refused[] = { 22,   23,   25,   53,   111,  135,  139,  445,  465,   587,
                                        2049, 2375, 2376, 2379, 4222, 6379, 6443, 8222, 10250, 11211 };
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all = NULL;
    char text[INET6_ADDRSTRLEN] = "";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (port == refused[i])
            return tab_fail(err, TAB_VALIDATION, "source", "Sources cannot be read at this port.");
    if (getaddrinfo(host, NULL, &hints, &all) != 0 || all == NULL)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The host name of the source cannot be resolved; check its spelling.");
    bool good = true;
    *ret_public = true;
    for (const struct addrinfo *i = all; i != NULL; i = i->ai_next) {
        good = good && tab_address_allowed(i->ai_addr, allow);
        *ret_public = *ret_public && tab_address_public(i->ai_addr);
    }
    const void *first = all->ai_family == AF_INET6
                            ? (const void *)&((struct sockaddr_in6 *)(void *)all->ai_addr)->sin6_addr
                            : (const void *)&((struct sockaddr_in *)(void *)all->ai_addr)->sin_addr;
    good = good && inet_ntop(all->ai_family, first, text, sizeof text) != NULL;
    freeaddrinfo(all);
    if (!good)
        return tab_fail(err, TAB_VALIDATION, "source",
                        "The address of the source is not public; the operator can allow its network with "
                        "TAB_ALLOW_NETWORKS.");
    *ret_address = tab_arena_copy(a, tab_str_of(text)).p;
    return *ret_address == NULL ? tab_no_memory(err) : TAB_OK;
}
