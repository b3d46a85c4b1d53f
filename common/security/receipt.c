/* See receipt.h. The bytes are written and read by one walk each, in the order of the struct. */
#include "common/security/receipt.h"

#include <assert.h>
#include <math.h>
#include <sodium.h>

#include "common/base/hash.h"

/* Versions: PLAIN, FOLLOWED, and either with slices behind it. */
enum { PLAIN = 1, FOLLOWED = 2, SLICED = 4, SIGNATURE = 16, BYTES = 1397, PREFIX = 4 };
static const char prefix[PREFIX + 1] = "rct_";

_Static_assert(sizeof(double) == 8 && sizeof(float) == 4, "IEEE 754");

typedef struct {
    uint8_t *p;
    size_t n, most;
    bool bad; /* read: too few bytes */
} walk;

static void put(walk *w, uint64_t x, size_t bytes)
{
    assert(w->n + bytes <= w->most);
    for (size_t i = 0; i < bytes; i++)
        w->p[w->n++] = (uint8_t)(x >> (8 * i));
}

static void put_double(walk *w, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put(w, bits, 8);
}

static void put_float(walk *w, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put(w, bits, 4);
}

static uint64_t get(walk *w, size_t bytes)
{
    uint64_t x = 0;
    w->bad |= w->most - w->n < bytes;
    for (size_t i = 0; !w->bad && i < bytes; i++)
        x |= (uint64_t)w->p[w->n++] << (8 * i);
    return x;
}

static double get_double(walk *w)
{
    uint64_t bits = get(w, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float get_float(walk *w)
{
    uint32_t bits = (uint32_t)get(w, 4);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool share(double x)
{
    return x >= 0 && x <= 1.000001;
}

/* One that ends, without control characters: it goes into files and pages. */
static bool name_sound(const char name[TAB_RECEIPT_SLICE])
{
    size_t n = strnlen(name, TAB_RECEIPT_SLICE);
    bool ok = n > 0 && n < TAB_RECEIPT_SLICE;
    for (size_t i = 0; ok && i < n; i++)
        ok = (unsigned char)name[i] >= ' ' && name[i] != 127;
    return ok;
}

bool tab_receipt_sound(const tab_receipt *r)
{
    bool ok = r->at_us > 0 && r->regime < 4 && r->slices <= TAB_RECEIPT_SLICES;
    for (size_t i = 0; ok && i < r->slices; i++)
        ok = name_sound(r->slice[i]);
    switch (r->task) {
    case TAB_RECEIPT_NUMBER:
        for (size_t i = 0; i < TAB_RECEIPT_EXPERTS && r->followed; i++)
            ok = ok && isfinite(r->expert[i]);
        ok = ok &&
             (!r->followed || (isfinite(r->own_low) && isfinite(r->own_median) && isfinite(r->own_high)));
        return ok && isfinite(r->value) && isfinite(r->low) && isfinite(r->median) && isfinite(r->high);
    case TAB_RECEIPT_ANOMALY:
        return ok && isfinite(r->score);
    case TAB_RECEIPT_CLASS:
        ok = ok && r->classes > 0 && r->classes <= TAB_RECEIPT_CLASSES && share(r->rest);
        for (size_t k = 0; ok && k < r->classes; k++)
            ok = share((double)r->of[k].share) && (!r->followed || share((double)r->of[k].own));
        return ok;
    }
    return false;
}

uint64_t tab_receipt_class(tab_str text)
{
    return tab_fnv1a(TAB_FNV1A, text.p, text.n);
}

/* What a receipt of version 2 has besides. */
static void write_followed(walk *w, const tab_receipt *r)
{
    put(w, r->state, 8);
    for (size_t k = 0; r->task == TAB_RECEIPT_CLASS && k < r->classes; k++)
        put_float(w, r->of[k].own);
    if (r->task != TAB_RECEIPT_NUMBER)
        return;
    put_double(w, r->own_low);
    put_double(w, r->own_median);
    put_double(w, r->own_high);
    for (size_t i = 0; i < TAB_RECEIPT_EXPERTS; i++)
        put_float(w, r->expert[i]);
}

static void read_followed(walk *w, tab_receipt *r)
{
    r->state = get(w, 8);
    for (size_t k = 0; r->task == TAB_RECEIPT_CLASS && k < r->classes; k++)
        r->of[k].own = get_float(w);
    if (r->task != TAB_RECEIPT_NUMBER)
        return;
    r->own_low = get_double(w);
    r->own_median = get_double(w);
    r->own_high = get_double(w);
    for (size_t i = 0; i < TAB_RECEIPT_EXPERTS; i++)
        r->expert[i] = get_float(w);
}

static void write_body(walk *w, const tab_receipt *r)
{
    put(w, (r->followed ? FOLLOWED : PLAIN) + (r->slices > 0 ? SLICED : 0u), 1);
    put(w, r->task, 1);
    put(w, r->regime, 1);
    for (size_t i = 0; i < TAB_RECEIPT_ID; i++)
        put(w, r->id[i], 1);
    put(w, (uint64_t)r->at_us, 8);
    put(w, r->config_revision, 4);
    put(w, r->data_revision, 4);
    if (r->task == TAB_RECEIPT_NUMBER) {
        put_double(w, r->value);
        put_double(w, r->low);
        put_double(w, r->median);
        put_double(w, r->high);
    } else if (r->task == TAB_RECEIPT_ANOMALY) {
        put_double(w, r->score);
        put(w, r->flagged, 1);
    } else {
        put(w, r->classes, 1);
        put(w, r->others, 4);
        put_double(w, r->rest);
        for (size_t k = 0; k < r->classes; k++) {
            put(w, r->of[k].hash, 8);
            put_float(w, r->of[k].share);
        }
    }
    if (r->followed)
        write_followed(w, r);
}

static void write_slices(walk *w, const tab_receipt *r)
{
    put(w, r->slices, 1);
    for (size_t i = 0; i < r->slices; i++) {
        size_t n = strlen(r->slice[i]);
        put(w, n, 1);
        for (size_t k = 0; k < n; k++)
            put(w, (unsigned char)r->slice[i][k], 1);
    }
}

static bool read_slices(walk *w, tab_receipt *r)
{
    size_t n = (size_t)get(w, 1);
    if (n == 0 || n > TAB_RECEIPT_SLICES)
        return false;
    for (r->slices = 0; !w->bad && r->slices < n; r->slices++) {
        size_t bytes = (size_t)get(w, 1);
        if (bytes >= TAB_RECEIPT_SLICE)
            return false;
        for (size_t k = 0; k < bytes; k++)
            r->slice[r->slices][k] = (char)get(w, 1);
    }
    return !w->bad;
}

/* All before the slices; *ret_sliced: there are some. */
static bool read_body(walk *w, tab_receipt *r, bool *ret_sliced)
{
    *r = (tab_receipt){ 0 };
    uint64_t version = get(w, 1), plain = version & ~(uint64_t)SLICED;
    bool ok = plain == PLAIN || plain == FOLLOWED;
    r->followed = plain == FOLLOWED;
    *ret_sliced = version != plain;
    r->task = (tab_receipt_task)get(w, 1);
    r->regime = (uint8_t)get(w, 1);
    for (size_t i = 0; i < TAB_RECEIPT_ID; i++)
        r->id[i] = (uint8_t)get(w, 1);
    r->at_us = (int64_t)get(w, 8);
    r->config_revision = (uint32_t)get(w, 4);
    r->data_revision = (uint32_t)get(w, 4);
    if (r->task == TAB_RECEIPT_NUMBER) {
        r->value = get_double(w);
        r->low = get_double(w);
        r->median = get_double(w);
        r->high = get_double(w);
    } else if (r->task == TAB_RECEIPT_ANOMALY) {
        r->score = get_double(w);
        r->flagged = get(w, 1) != 0;
    } else {
        r->classes = (size_t)get(w, 1);
        r->others = (uint32_t)get(w, 4);
        r->rest = get_double(w);
        ok = ok && r->classes <= TAB_RECEIPT_CLASSES;
        for (size_t k = 0; ok && k < r->classes; k++) {
            r->of[k].hash = get(w, 8);
            r->of[k].share = get_float(w);
        }
    }
    if (ok && r->followed)
        read_followed(w, r);
    return ok && !w->bad;
}

static void signature(const uint8_t *key, tab_str endpoint, const uint8_t *p, size_t n,
                      uint8_t ret[SIGNATURE])
{
    crypto_generichash_state s;
    (void)crypto_generichash_init(&s, key, TAB_RECEIPT_KEY, SIGNATURE);
    (void)crypto_generichash_update(&s, p, n);
    (void)crypto_generichash_update(&s, (const uint8_t *)endpoint.p, endpoint.n);
    (void)crypto_generichash_final(&s, ret, SIGNATURE);
}

/* Seals n bytes, or opens them: a stream under a key of its own, begun by the signature over what they say,
 * so that no two texts share one. */
static void seal(const uint8_t *key, const uint8_t sign[SIGNATURE], uint8_t *p, size_t n)
{
    static const uint8_t what[] = "receipt slices";
    uint8_t own[crypto_stream_xchacha20_KEYBYTES], nonce[crypto_stream_xchacha20_NONCEBYTES] = { 0 };
    (void)crypto_generichash(own, sizeof own, what, sizeof what, key, TAB_RECEIPT_KEY);
    memcpy(nonce, sign, SIGNATURE);
    (void)crypto_stream_xchacha20_xor(p, p, n, nonce, own);
    sodium_memzero(own, sizeof own);
}

size_t tab_receipt_sign(const uint8_t key[TAB_RECEIPT_KEY], tab_str endpoint, const tab_receipt *r,
                        char ret[TAB_RECEIPT_TEXT])
{
    uint8_t bytes[BYTES];
    walk w = { bytes, 0, BYTES - SIGNATURE, false };
    assert(tab_receipt_sound(r));
    write_body(&w, r);
    size_t plain = w.n;
    if (r->slices > 0)
        write_slices(&w, r);
    signature(key, endpoint, bytes, w.n, bytes + w.n);
    seal(key, bytes + w.n, bytes + plain, w.n - plain);
    memcpy(ret, prefix, PREFIX);
    (void)sodium_bin2base64(ret + PREFIX, TAB_RECEIPT_TEXT - PREFIX, bytes, w.n + SIGNATURE,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return PREFIX + strlen(ret + PREFIX);
}

bool tab_receipt_read(const uint8_t key[TAB_RECEIPT_KEY], tab_str endpoint, tab_str text, tab_receipt *ret)
{
    uint8_t bytes[BYTES], want[SIGNATURE];
    size_t n;
    if (text.n <= PREFIX || text.n >= TAB_RECEIPT_TEXT || memcmp(text.p, prefix, PREFIX) != 0 ||
        sodium_base642bin(bytes, sizeof bytes, text.p + PREFIX, text.n - PREFIX, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        n <= SIGNATURE)
        return false;
    walk w = { bytes, 0, n - SIGNATURE, false };
    tab_receipt r;
    bool sliced;
    if (!read_body(&w, &r, &sliced)) /* which says where the sealed part begins */
        return false;
    seal(key, bytes + w.most, bytes + w.n, w.most - w.n);
    signature(key, endpoint, bytes, w.most, want);
    if (sodium_memcmp(want, bytes + w.most, SIGNATURE) != 0 || (sliced && !read_slices(&w, &r)) ||
        w.n != w.most || !tab_receipt_sound(&r))
        return false;
    *ret = r;
    return true;
}
