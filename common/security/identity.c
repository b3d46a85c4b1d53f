/* See identity.h: writes and reads the words of a grant, and signs the line with keyed BLAKE2b. */
#include "common/security/identity.h"

enum { SIGNATURE_HEX = 2 * crypto_generichash_BYTES };

/* A field is one word: visible ASCII, at least one character. */
static bool word(tab_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0;
}

/* The next word of *text, which moves behind it; false at the end. */
static bool next_word(tab_str *text, tab_str *ret)
{
    const char *space = text->n == 0 ? NULL : memchr(text->p, ' ', text->n);
    size_t n = space == NULL ? text->n : (size_t)(space - text->p);
    *ret = (tab_str){ text->p, n };
    size_t skip = n + (space != NULL);
    text->p += skip;
    text->n -= skip;
    return word(*ret);
}

static bool next_number(tab_str *text, uint64_t most, uint64_t *ret)
{
    tab_str w;
    uint64_t x = 0;
    if (!next_word(text, &w) || w.n > 20)
        return false;
    for (size_t i = 0; i < w.n; i++) {
        if (w.p[i] < '0' || w.p[i] > '9' || __builtin_mul_overflow(x, 10, &x) ||
            __builtin_add_overflow(x, (uint64_t)(w.p[i] - '0'), &x))
            return false;
    }
    *ret = x;
    return x <= most;
}

static bool next_u32(tab_str *text, uint32_t *ret)
{
    uint64_t x;
    if (!next_number(text, UINT32_MAX, &x))
        return false;
    *ret = (uint32_t)x;
    return true;
}

static bool next_copy(tab_str *text, char *buf, size_t size)
{
    tab_str w;
    if (!next_word(text, &w) || w.n >= size)
        return false;
    memcpy(buf, w.p, w.n);
    buf[w.n] = '\0';
    return true;
}

/* Text while it is written, and whether it still fits. Every request passes here, and snprintf was a third
 * of its cost. */
typedef struct {
    char *p, *end;
    bool full;
} writer;

/* Each field is followed by a space. */
static void put(writer *w, tab_str field)
{
    if ((size_t)(w->end - w->p) <= field.n || !word(field)) {
        w->full = true;
        return;
    }
    memcpy(w->p, field.p, field.n);
    w->p[field.n] = ' ';
    w->p += field.n + 1;
}

static void put_number(writer *w, uint64_t x)
{
    char digits[20], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + x % 10);
    while ((x /= 10) > 0);
    put(w, (tab_str){ p, (size_t)(digits + sizeof digits - p) });
}

static void put_grant(writer *w, const tab_grant *g)
{
    put(w, tab_str_of(g->org));
    put(w, tab_str_of(g->key));
    put_number(w, g->scopes);
    put(w, tab_str_of(g->plan));
    put_number(w, g->key_rpm);
    put_number(w, g->org_rpm);
    put_number(w, g->endpoint_rpm);
    put_number(w, g->cells_per_minute);
    put_number(w, g->endpoint_concurrency);
    put_number(w, g->batch_concurrency);
    put_number(w, g->version);
    if (g->bounds.n > 0)
        put(w, g->bounds);
}

size_t tab_grant_write(const tab_grant *g, char *buf, size_t size)
{
    writer w = { buf, buf + size, false };
    put_grant(&w, g);
    if (w.full)
        return 0;
    *--w.p = '\0'; /* in place of the last space */
    return (size_t)(w.p - buf);
}

/* A last word, where there is one. */
static bool next_bounds(tab_str *text, tab_str *ret)
{
    tab_bounds b;
    *ret = TAB_S("");
    return text->n == 0 || (next_word(text, ret) && tab_bounds_read(*ret, &b));
}

static bool grant_words(tab_str *text, tab_grant *g)
{
    return next_copy(text, g->org, sizeof g->org) && next_copy(text, g->key, sizeof g->key) &&
           next_u32(text, &g->scopes) && next_copy(text, g->plan, sizeof g->plan) &&
           next_u32(text, &g->key_rpm) && next_u32(text, &g->org_rpm) && next_u32(text, &g->endpoint_rpm) &&
           next_number(text, UINT64_MAX, &g->cells_per_minute) && next_u32(text, &g->endpoint_concurrency) &&
           next_u32(text, &g->batch_concurrency) && next_number(text, UINT64_MAX, &g->version) &&
           next_bounds(text, &g->bounds);
}

bool tab_grant_read(tab_str text, tab_grant *ret)
{
    tab_grant g;
    bool ends_in_space = text.n > 0 && text.p[text.n - 1] == ' ';
    if (ends_in_space || !grant_words(&text, &g) || text.n != 0)
        return false;
    *ret = g;
    return true;
}

bool tab_identity_key_set(tab_identity_key *k, tab_str secret)
{
    if (secret.n < 32)
        return false;
    return crypto_generichash(k->key, sizeof k->key, (const unsigned char *)secret.p, secret.n, NULL, 0) == 0;
}

size_t tab_identity_secrets(tab_str text, tab_str ret[TAB_IDENTITY_SECRETS])
{
    size_t n = 0;
    for (size_t at = 0, end; at < text.n; at = end + 1) {
        for (end = at; end < text.n && text.p[end] != '\n' && text.p[end] != '\r'; end++)
            ;
        if (end > at && n == TAB_IDENTITY_SECRETS)
            return 0;
        if (end > at)
            ret[n++] = (tab_str){ text.p + at, end - at };
    }
    return n;
}

static void signature(const tab_identity_key *k, const char *p, size_t n, char hex[SIGNATURE_HEX + 1])
{
    unsigned char mac[crypto_generichash_BYTES];
    (void)crypto_generichash(mac, sizeof mac, (const unsigned char *)p, n, k->key, sizeof k->key);
    sodium_bin2hex(hex, SIGNATURE_HEX + 1, mac, sizeof mac);
}

size_t tab_identity_sign(const tab_identity_key *k, const tab_identity *id, char *buf, size_t size)
{
    if (size <= SIGNATURE_HEX || id->time_ms < 0)
        return 0;
    writer w = { buf, buf + size - SIGNATURE_HEX, false };
    put(&w, TAB_S("v1"));
    put_number(&w, (uint64_t)id->time_ms);
    put(&w, id->request_id);
    put(&w, id->route);
    put(&w, id->path);
    put(&w, id->state);
    put_grant(&w, &id->grant);
    if (w.full)
        return 0;
    signature(k, buf, (size_t)(w.p - buf), w.p);
    return (size_t)(w.p - buf) + SIGNATURE_HEX;
}

void tab_csrf_token(const tab_identity_key *k, tab_str session_hash, char ret[TAB_CSRF_LENGTH + 1])
{
    char text[128] = "csrf1 "; /* no identity begins so */
    size_t n = session_hash.n < 100 ? session_hash.n : 100;
    memcpy(text + 6, session_hash.p, n);
    signature(k, text, 6 + n, ret);
}

bool tab_identity_verify(const tab_identity_key *k, tab_str header, tab_identity *ret)
{
    char want[SIGNATURE_HEX + 1];
    if (header.n <= SIGNATURE_HEX || header.n >= TAB_IDENTITY_TEXT)
        return false;
    tab_str text = { header.p, header.n - SIGNATURE_HEX };
    signature(k, text.p, text.n, want);
    if (sodium_memcmp(want, header.p + text.n, SIGNATURE_HEX) != 0)
        return false;

    tab_identity id;
    tab_str version;
    uint64_t time_ms;
    if (!next_word(&text, &version) || !tab_str_eq(version, TAB_S("v1")) ||
        !next_number(&text, INT64_MAX, &time_ms) || !next_word(&text, &id.request_id) ||
        !next_word(&text, &id.route) || !next_word(&text, &id.path) || !next_word(&text, &id.state) ||
        !grant_words(&text, &id.grant) || text.n != 0)
        return false;
    id.time_ms = (int64_t)time_ms;
    *ret = id;
    return true;
}

bool tab_identity_timely(const tab_identity *id, int64_t now_ms)
{
    int64_t age;
    return !__builtin_sub_overflow(now_ms, id->time_ms, &age) && age <= TAB_IDENTITY_SKEW_MS &&
           age >= -TAB_IDENTITY_SKEW_MS;
}
