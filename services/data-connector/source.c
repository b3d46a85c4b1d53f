#include "services/data-connector/source.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/integer.h"

static const provider *const providers[] = { &provider_postgres };

const provider *provider_of(const char *scheme)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i]->scheme, scheme) == 0)
            return providers[i];
    return NULL;
}

const char *credential(const source *s, const char *name)
{
    for (size_t i = 0; i < s->n_credentials; i++)
        if (strcmp(s->credentials[i]->name, name) == 0)
            return s->credentials[i]->value;
    return "";
}

/* ---- the ref --------------------------------------------------------------------------------- */

static tab_status bad_ref(tab_error *err, const char *why)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source is no valid ref: %s.", why);
}

bool looks_secret(const char *text)
{
    const char *at = strchr(text, '@');
    if (strstr(text, "sk_live_") != NULL)
        return true;
    for (const char *key = text; (key = strstr(key, "AKIA")) != NULL; key++)
        if (strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") >= 20)
            return true;
    if (at == NULL)
        return false;
    for (const char *p = at; p > text && p[-1] != '/' && p[-1] != ' ';)
        if (*--p == ':')
            return true;
    return false;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : -1;
}

/* Decodes one segment in place; false for a wrong escape, a control byte or a slash hidden in one.
 */
static bool decode(char *s)
{
    char *to = s;
    for (; *s != '\0'; s++) {
        char c = *s;
        if (c == '%') {
            int hi = hex_digit(s[1]), lo = hi < 0 ? -1 : hex_digit(s[2]);
            if (lo < 0)
                return false;
            c = (char)(hi * 16 + lo);
            s += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || c == '/')
            return false;
        *to++ = c;
    }
    *to = '\0';
    return true;
}

/* A name, a dotted quad as inet_pton reads it, or an IPv6 address in brackets. What getaddrinfo
 * would also take for an address (127.1, 0x7f.1, 2130706433) is no name: its last label is a
 * number. */
static bool good_host(const char *host)
{
    unsigned char quad[4];
    const char *last = strrchr(host, '.');
    last = last == NULL ? host : last + 1;
    if (host[0] == '\0' || strlen(host) > 253)
        return false;
    if (inet_pton(AF_INET, host, quad) == 1)
        return true;
    if (isdigit((unsigned char)last[0]) || last[0] == '\0')
        return false;
    for (const char *p = host; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.' && *p != '_')
            return false;
    return true;
}

static bool take_host(char *text, source_ref *r)
{
    char *colon = strrchr(text, ':'), *close = NULL;
    if (text[0] == '[') {
        unsigned char v6[16];
        close = strchr(text, ']');
        if (close == NULL)
            return false;
        *close = '\0';
        r->host = text + 1;
        colon = close[1] == ':' ? close + 1 : NULL;
        if (inet_pton(AF_INET6, r->host, v6) != 1 || (close[1] != '\0' && colon == NULL))
            return false;
    } else {
        r->host = text;
    }
    if (colon != NULL) {
        int64_t port;
        if (!tab_integer_read(tab_str_of(colon + 1), 1, 65535, &port))
            return false;
        r->port = (uint16_t)port;
        *colon = '\0';
    }
    for (char *p = text; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    return close != NULL || good_host(r->host);
}

static bool unreserved(char c)
{
    return isalnum((unsigned char)c) || strchr("-._~ ", c) != NULL;
}

tab_status ref_parse(tab_arena *a, const char *text, source_ref *ret, tab_error *err)
{
    source_ref r = { 0 };
    const char *sep = strstr(text, "://");
    if (strlen(text) > REF_LENGTH)
        return bad_ref(err, "it is longer than 2,048 bytes");
    if (looks_secret(text) || strchr(text, '@') != NULL)
        return bad_ref(err, "it must not hold credentials; they go into `credentials`");
    for (const char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '?' || *p == '#' || *p == '\\')
            return bad_ref(err, "it holds a query, a fragment or a control character");
    if (sep == NULL || sep == text)
        return bad_ref(err, "it must begin with a scheme and ://");
    char *copy = (char *)tab_arena_copy(a, tab_str_of(text)).p;
    if (copy == NULL)
        return tab_no_memory(err);
    copy[sep - text] = '\0';
    r.scheme = copy;
    for (const char *p = copy; *p != '\0'; p++)
        if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '+' && *p != '-')
            return bad_ref(err, "its scheme is not one");
    const provider *p = provider_of(r.scheme);
    if (p == NULL)
        return tab_fail(err, TAB_VALIDATION, "source", "This installation has no provider of that scheme.");

    char *rest = copy + (sep - text) + 3, *slash = strchr(rest, '/');
    if (slash == NULL)
        return bad_ref(err, "it names no table or location");
    *slash = '\0';
    if (!take_host(rest, &r))
        return bad_ref(err, "its host or port is not one");
    for (char *at = slash + 1; at != NULL;) {
        char *end = strchr(at, '/');
        if (end != NULL)
            *end = '\0';
        if (r.segments == REF_SEGMENTS || at[0] == '\0' || !decode(at) || at[0] == '\0')
            return bad_ref(err, "its path is not one");
        r.segment[r.segments++] = at;
        at = end == NULL ? NULL : end + 1;
    }
    if (r.segments != p->segments)
        return bad_ref(err, "its path has too few or too many parts");
    if (r.port == p->port)
        r.port = 0;

    char out[3 * REF_LENGTH + 64];
    bool v6 = strchr(r.host, ':') != NULL;
    size_t n =
        (size_t)snprintf(out, sizeof out, "%s://%s%s%s", r.scheme, v6 ? "[" : "", r.host, v6 ? "]" : "");
    if (r.port != 0)
        n += (size_t)snprintf(out + n, sizeof out - n, ":%u", r.port);
    for (size_t i = 0; i < r.segments; i++) {
        out[n++] = '/';
        for (const char *c = r.segment[i]; *c != '\0'; c++)
            if (unreserved(*c) || (unsigned char)*c >= 0x80)
                out[n++] = *c;
            else
                n += (size_t)snprintf(out + n, sizeof out - n, "%%%02X", (unsigned char)*c);
    }
    if (n > REF_LENGTH)
        return bad_ref(err, "written with its escapes it is longer than 2,048 bytes");
    r.text = tab_arena_copy(a, (tab_str){ out, n }).p;
    if (r.text == NULL)
        return tab_no_memory(err);
    bool secret = looks_secret(r.text);     /* once its host is of one case */
    for (size_t i = 0; i < r.segments; i++) /* and its escapes are undone */
        secret = secret || looks_secret(r.segment[i]);
    if (secret)
        return bad_ref(err, "it must not hold credentials; they go into `credentials`");
    if (r.port == 0)
        r.port = p->port;
    *ret = r;
    return TAB_OK;
}

/* ---- addresses ------------------------------------------------------------------------------- */

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
    /* The one block that addresses have been given from (RFC 4291). Outside are loopback, what is compatible
     * or translated, local-use NAT64 (64:ff9b:1::/48), unique local, link-local, site-local, multicast. */
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

bool address_public(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET)
        return !denied4((const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr);
    if (sa->sa_family == AF_INET6)
        return !denied6(((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr);
    return false; /* AF_UNIX and whatever else */
}

bool address_allowed(const struct sockaddr *sa, const char *allow)
{
    const uint8_t *is = NULL;
    int family = sa->sa_family;
    if (address_public(sa))
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

tab_status address_resolve(tab_arena *a, const char *host, uint16_t port, const char *allow,
                           const char **ret_address, bool *ret_public, tab_error *err)
{
    static const uint16_t refused[] = { 22,   23,   25,   53,   111,  135,  139,  445,  465,   587,
                                        2049, 2375, 2376, 2379, 4222, 6379, 6443, 8222, 10250, 11211 };
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all = NULL;
    char text[INET6_ADDRSTRLEN] = "";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (port == refused[i])
            return tab_fail(err, TAB_VALIDATION, "source", "The port is not allowed.");
    if (getaddrinfo(host, NULL, &hints, &all) != 0 || all == NULL)
        return tab_fail(err, TAB_VALIDATION, "source", "The source's host has no address.");
    bool good = true;
    *ret_public = true;
    for (const struct addrinfo *i = all; i != NULL; i = i->ai_next) {
        good = good && address_allowed(i->ai_addr, allow);
        *ret_public = *ret_public && address_public(i->ai_addr);
    }
    const void *first = all->ai_family == AF_INET6
                            ? (const void *)&((struct sockaddr_in6 *)(void *)all->ai_addr)->sin6_addr
                            : (const void *)&((struct sockaddr_in *)(void *)all->ai_addr)->sin_addr;
    good = good && inet_ntop(all->ai_family, first, text, sizeof text) != NULL;
    freeaddrinfo(all);
    if (!good)
        return tab_fail(err, TAB_VALIDATION, "source", "The source's address is not allowed.");
    *ret_address = tab_arena_copy(a, tab_str_of(text)).p;
    return *ret_address == NULL ? tab_no_memory(err) : TAB_OK;
}

/* ---- the wall behind every library ----------------------------------------------------------- */

static _Thread_local const char *guarded; /* NULL: this thread may connect where it likes */
static _Thread_local int64_t receivable;  /* bytes, of a guarded thread */
static _Thread_local int64_t keyings;     /* left to a guarded thread */

void guard_begin(const char *allow, int64_t most)
{
    guarded = allow;
    receivable = most;
    keyings = GUARD_KEYINGS;
}

bool guard_spent(void)
{
    return guarded != NULL && receivable <= 0;
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    typedef ssize_t recv_fn(int, void *, size_t, int);
    static _Atomic(recv_fn *) known; /* many a row is many a call */
    recv_fn *next = atomic_load(&known);
    if (next == NULL)
        atomic_store(&known, next = (recv_fn *)dlsym(RTLD_NEXT, "recv"));
    if (guard_spent() || next == NULL) {
        errno = next == NULL ? ENOSYS : ECONNRESET;
        return -1;
    }
    ssize_t got = next(fd, buf, n, flags);
    if (guarded != NULL && got > 0)
        receivable -= got;
    return got;
}

bool guard_laboured(void)
{
    return guarded != NULL && keyings <= 0;
}

/* OpenSSL's, by its plain types: libpq calls it once an iteration of SCRAM (RFC 5802), in a loop whose
 * length the server names and that nothing else ends. 0: failed. */
int HMAC_Init_ex(void *ctx, const void *key, int n, const void *md, void *engine);
int HMAC_Init_ex(void *ctx, const void *key, int n, const void *md, void *engine)
{
    typedef int init_fn(void *, const void *, int, const void *, void *);
    static _Atomic(init_fn *) known;
    init_fn *next = atomic_load(&known);
    if (next == NULL)
        atomic_store(&known, next = (init_fn *)dlsym(RTLD_NEXT, "HMAC_Init_ex"));
    if (guard_laboured() || next == NULL)
        return 0;
    if (guarded != NULL)
        keyings--;
    return next(ctx, key, n, md, engine);
}

void guard_end(void)
{
    guarded = NULL;
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
    typedef int connect_fn(int, const struct sockaddr *, socklen_t);
    connect_fn *next = (connect_fn *)dlsym(RTLD_NEXT, "connect");
    if (guarded != NULL && !address_allowed(sa, guarded)) {
        errno = EACCES;
        return -1;
    }
    if (next == NULL) {
        errno = ENOSYS;
        return -1;
    }
    return next(fd, sa, len);
}
