/* See bounds.h. */
#include "common/security/bounds.h"

#include <arpa/inet.h>
#include <stdio.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

/* ---- networks -------------------------------------------------------------------------------- */

/* The bits of byte i that belong to the network. */
static uint8_t mask_of(const tab_network *n, size_t i)
{
    size_t bits = n->bits > 8 * i ? n->bits - 8 * i : 0;
    return bits >= 8 ? 0xff : (uint8_t)(0xff00 >> bits);
}

tab_network tab_network_of(const uint8_t *bytes, size_t size)
{
    tab_network n = { .size = 4, .bits = 32 };
    if (size == 4) {
        memcpy(n.address, bytes, 4);
    } else if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        memcpy(n.address, bytes + sizeof mapped, 4);
    } else {
        memcpy(n.address, bytes, 16);
        n.size = 16;
        n.bits = 128;
    }
    return n;
}

static bool read_bits(tab_str text, unsigned most, unsigned *ret)
{
    unsigned x = 0;
    if (text.n == 0 || text.n > 3 || (text.n > 1 && text.p[0] == '0'))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        x = 10 * x + (unsigned)(text.p[i] - '0');
    }
    *ret = x;
    return x <= most;
}

bool tab_network_read(tab_str text, tab_network *ret)
{
    char address[TAB_NETWORK_TEXT];
    uint8_t bytes[16];
    const char *slash = text.n == 0 ? NULL : memchr(text.p, '/', text.n);
    size_t length = slash == NULL ? text.n : (size_t)(slash - text.p);
    if (length == 0 || length >= sizeof address || memchr(text.p, 0, length) != NULL)
        return false;
    memcpy(address, text.p, length);
    address[length] = 0;
    bool four = memchr(address, ':', length) == NULL;
    size_t size = four ? 4 : 16;
    if (inet_pton(four ? AF_INET : AF_INET6, address, bytes) != 1)
        return false;
    unsigned bits = four ? 32 : 128;
    if (slash != NULL && !read_bits((tab_str){ slash + 1, text.n - length - 1 }, bits, &bits))
        return false;
    tab_network n = tab_network_of(bytes, size);
    if (!four && n.size == 4) { /* IPv4 in IPv6: its length counts from there */
        if (bits < 96)
            return false;
        bits -= 96;
    }
    n.bits = (uint8_t)bits;
    for (size_t i = 0; i < n.size; i++)
        if ((n.address[i] & ~mask_of(&n, i)) != 0)
            return false;
    *ret = n;
    return true;
}

void tab_network_write(const tab_network *n, char buf[TAB_NETWORK_TEXT])
{
    char address[INET6_ADDRSTRLEN] = "";
    (void)inet_ntop(n->size == 4 ? AF_INET : AF_INET6, n->address, address, sizeof address);
    if (n->bits == 8 * n->size)
        snprintf(buf, TAB_NETWORK_TEXT, "%s", address);
    else
        snprintf(buf, TAB_NETWORK_TEXT, "%s/%u", address, (unsigned)n->bits % 1000);
}

bool tab_network_holds(const tab_network *n, const tab_network *address)
{
    if (n->size != address->size)
        return false;
    for (size_t i = 0; i < n->size; i++)
        if (((n->address[i] ^ address->address[i]) & mask_of(n, i)) != 0)
            return false;
    return true;
}

/* ---- the word -------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A network in hex. */
static bool network_of_hex(tab_str hex, tab_network *ret)
{
    tab_network n = { .size = hex.n == 10 ? 4 : 16 };
    uint8_t bytes[17];
    if (hex.n != 10 && hex.n != 34)
        return false;
    for (size_t i = 0; i < hex.n / 2; i++) {
        int high = digit_of(hex.p[2 * i]), low = digit_of(hex.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(16 * high + low);
    }
    memcpy(n.address, bytes, n.size);
    n.bits = bytes[n.size];
    *ret = n;
    return n.bits <= 8 * n.size;
}

/* The next item of *list up to `end`, which moves behind it; false behind the last. */
static bool next_item(tab_str *list, char end, tab_str *ret)
{
    if (list->p == NULL)
        return false;
    const char *at = list->n == 0 ? NULL : memchr(list->p, end, list->n);
    *ret = (tab_str){ list->p, at == NULL ? list->n : (size_t)(at - list->p) };
    size_t skip = ret->n + (at != NULL);
    list->p = at == NULL ? NULL : list->p + skip;
    list->n -= skip;
    return true;
}

static bool items_good(tab_str list, size_t most, bool networks)
{
    tab_str item;
    tab_network n;
    size_t count = 0;
    while (next_item(&list, ',', &item)) {
        if (++count > most || (networks && !network_of_hex(item, &n)))
            return false;
        for (size_t i = 0; i < item.n; i++)
            if (item.p[i] <= ' ' || item.p[i] > '~')
                return false;
        if (item.n == 0 || item.n > 40)
            return false;
    }
    return count > 0;
}

static bool read_until(tab_str digits, int64_t *ret)
{
    int64_t x = 0;
    if (digits.n == 0 || digits.n > 15)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
        x = 10 * x + (digits.p[i] - '0');
    }
    *ret = x;
    return x > 0;
}

static size_t most_of(char field)
{
    return field == 'r' ? 1 : field == 'e' ? TAB_BOUNDS_ENDPOINTS : TAB_BOUNDS_NETWORKS;
}

static const char order[] = "rexko";

bool tab_bounds_read(tab_str word, tab_bounds *ret)
{
    tab_bounds b = { 0 };
    tab_str field;
    const char *least = order;
    if (word.n == 0) {
        *ret = b;
        return true;
    }
    if (word.n < 5 || word.n >= TAB_BOUNDS_TEXT || memcmp(word.p, "b:", 2) != 0)
        return false;
    tab_str rest = { word.p + 2, word.n - 2 };
    while (next_item(&rest, ';', &field)) {
        const char *at = field.n < 3 || field.p[1] != '=' ? NULL : strchr(least, field.p[0]);
        if (at == NULL || *at == 0)
            return false;
        tab_str items = { field.p + 2, field.n - 2 };
        least = at + 1;
        tab_str *list = *at == 'r'   ? &b.role
                        : *at == 'e' ? &b.endpoints
                        : *at == 'k' ? &b.key_networks
                                     : &b.org_networks;
        if (*at == 'x' ? !read_until(items, &b.until_s)
                       : !items_good(items, most_of(*at), *at == 'k' || *at == 'o'))
            return false;
        if (*at != 'x')
            *list = items;
    }
    *ret = b;
    return true;
}

tab_str tab_bounds_public(tab_str word)
{
    size_t n = 0;
    for (size_t at = 2;
         at + 2 < word.n && (word.p[at] == 'r' || word.p[at] == 'e') && word.p[at + 1] == '=';) {
        const char *end = memchr(word.p + at, ';', word.n - at);
        n = end == NULL ? word.n : (size_t)(end - word.p);
        at = n + 1;
    }
    return n == 0 ? TAB_S("") : (tab_str){ word.p, n };
}

bool tab_bounds_has_endpoint(const tab_bounds *b, tab_str id)
{
    tab_str list = b->endpoints, item;
    while (next_item(&list, ',', &item))
        if (tab_str_eq(item, id))
            return true;
    return b->endpoints.p == NULL;
}

bool tab_bounds_has_address(tab_str networks, const tab_network *address)
{
    tab_str item;
    tab_network n;
    while (next_item(&networks, ',', &item))
        if (network_of_hex(item, &n) && tab_network_holds(&n, address))
            return true;
    return false;
}

void tab_bounds_put(tab_bounds_writer *w, char field, tab_str item)
{
    char before[3] = { ';', field, '=' };
    const char *last = w->n == 0 ? NULL : memrchr(w->text, '=', w->n);
    bool more = last != NULL && last[-1] == field; /* no item has a '=' */
    size_t skip = more ? 1 : w->n == 0 ? 2 : 3;
    if (w->n == 0) {
        memcpy(w->text, "b:", 2);
        w->n = 2;
    }
    if (w->full || w->n + skip + item.n >= sizeof w->text) {
        w->full = true;
        return;
    }
    memcpy(w->text + w->n, more ? "," : before + 3 - skip, skip);
    memcpy(w->text + w->n + skip, item.p, item.n);
    w->n += skip + item.n;
}

void tab_bounds_put_network(tab_bounds_writer *w, char field, const tab_network *n)
{
    char hex[35];
    size_t at = 0;
    for (size_t i = 0; i <= n->size; i++)
        at += (size_t)snprintf(hex + at, sizeof hex - at, "%02x", i < n->size ? n->address[i] : n->bits);
    tab_bounds_put(w, field, (tab_str){ hex, at });
}
