/* See entry.h: words of text divided by spaces, the last one a keyed hash over all before it. */
#include "common/security/entry.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAC_HEX = 2 * crypto_generichash_BYTES };

static const char grant_kind[] = "grant1 ", epoch_kind[] = "epoch1 ";

static void mac_of(const tab_identity_key *k, const char *kind, tab_str about, tab_str text,
                   char hex[MAC_HEX + 1])
{
    unsigned char mac[crypto_generichash_BYTES];
    crypto_generichash_state s;
    (void)crypto_generichash_init(&s, k->key, sizeof k->key, sizeof mac);
    (void)crypto_generichash_update(&s, (const unsigned char *)kind, strlen(kind));
    (void)crypto_generichash_update(&s, (const unsigned char *)about.p, about.n);
    (void)crypto_generichash_update(&s, (const unsigned char *)" ", 1);
    (void)crypto_generichash_update(&s, (const unsigned char *)text.p, text.n);
    (void)crypto_generichash_final(&s, mac, sizeof mac);
    sodium_bin2hex(hex, MAC_HEX + 1, mac, sizeof mac);
}

/* Appends a space and the signature of what is there; 0: no room. */
static size_t sign(const tab_identity_key *k, const char *kind, tab_str about, char *buf, size_t n,
                   size_t size)
{
    if (n == 0 || n + 1 + MAC_HEX + 1 > size)
        return 0;
    buf[n] = ' ';
    mac_of(k, kind, about, (tab_str){ buf, n }, buf + n + 1);
    return n + 1 + MAC_HEX;
}

/* Removes the signature. False: there is none, or it is of another key or text. */
static bool verified(const tab_identity_key *k, const char *kind, tab_str about, tab_str *text)
{
    char want[MAC_HEX + 1];
    if (text->n < MAC_HEX + 2 || text->p[text->n - MAC_HEX - 1] != ' ')
        return false;
    tab_str rest = { text->p, text->n - MAC_HEX - 1 };
    mac_of(k, kind, about, rest, want);
    if (sodium_memcmp(want, text->p + rest.n + 1, MAC_HEX) != 0)
        return false;
    *text = rest;
    return true;
}

/* Removes the last word, a whole number. */
static bool last_number(tab_str *text, uint64_t *ret)
{
    const char *space = text->n == 0 ? NULL : memrchr(text->p, ' ', text->n);
    uint64_t x = 0;
    if (space == NULL || space + 1 == text->p + text->n || text->p + text->n - space > 20)
        return false;
    for (const char *p = space + 1; p < text->p + text->n; p++) {
        if (*p < '0' || *p > '9')
            return false;
        x = 10 * x + (uint64_t)(*p - '0'); /* 19 digits at most: no overflow */
    }
    text->n = (size_t)(space - text->p);
    *ret = x;
    return x <= INT64_MAX;
}

size_t tab_entry_write(const tab_identity_key *k, tab_str hash, const tab_entry *e, char *buf, size_t size)
{
    size_t n = tab_grant_write(&e->grant, buf, size);
    if (k == NULL || n == 0)
        return n;
    int tail = snprintf(buf + n, size - n, " %" PRIu64 " %" PRId64, e->epoch, e->until_s);
    return tail < 0 || (size_t)tail >= size - n ? 0 : sign(k, grant_kind, hash, buf, n + (size_t)tail, size);
}

bool tab_entry_read(const tab_identity_key *k, tab_str hash, tab_str text, tab_entry *ret)
{
    tab_entry e = { .is_signed = false };
    uint64_t until = 0;
    if (k == NULL && tab_grant_read(text, &e.grant)) {
        *ret = e;
        return true;
    }
    if (k != NULL && !verified(k, grant_kind, hash, &text))
        return false;
    if (k == NULL) { /* signed, and we cannot tell by whom */
        const char *space = text.n == 0 ? NULL : memrchr(text.p, ' ', text.n);
        text.n = space == NULL ? 0 : (size_t)(space - text.p);
    }
    if (!last_number(&text, &until) || !last_number(&text, &e.epoch) || !tab_grant_read(text, &e.grant))
        return false;
    e.until_s = (int64_t)until;
    e.is_signed = true;
    *ret = e;
    return true;
}

size_t tab_epoch_write(const tab_identity_key *k, tab_str org, uint64_t epoch, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%" PRIu64, epoch);
    return n < 0 || (size_t)n >= size ? 0 : sign(k, epoch_kind, org, buf, (size_t)n, size);
}

bool tab_epoch_read(const tab_identity_key *k, tab_str org, tab_str text, uint64_t *ret)
{
    uint64_t x = 0;
    if (!verified(k, epoch_kind, org, &text) || text.n > 19)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        x = 10 * x + (uint64_t)(text.p[i] - '0');
    }
    *ret = x;
    return x <= INT64_MAX;
}
