/* See crypto.h. Digests are OpenSSL's. Sealing is XChaCha20-Poly1305 of libsodium with a random nonce:
 *
 *   sealed = [ length of key id, 1 byte ][ key id ][ nonce, 24 bytes ][ ciphertext and tag ]
 *
 * The newest key seals; the id in front finds the one that opens, so that keys can be rotated. Of a key that
 * is elsewhere [ length, 1 byte ][ the value's own key, wrapped ] stands before the nonce. */
#include "common/security/crypto.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/log.h"

enum {
    KEYS = 8,
    KEY_ID = 32,
    NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    KEY = crypto_aead_xchacha20poly1305_ietf_KEYBYTES
};

struct tab_keyring {
    size_t n;
    struct {
        char id[KEY_ID + 1];
        size_t id_n;
        uint8_t key[KEY];
        char name[TAB_WRAP_NAME + 1]; /* of a key that is elsewhere; "": key is it */
    } at[KEYS];
    const tab_wrapper *wrapper;
};

void tab_sha256(tab_str bytes, uint8_t ret[TAB_SHA256])
{
    unsigned n = TAB_SHA256;
    if (EVP_Digest(bytes.p, bytes.n, ret, &n, EVP_sha256(), NULL) != 1)
        abort(); /* libcrypto without SHA-256: nothing here may go on */
}

void tab_sha256_hex(tab_str bytes, char ret[TAB_SHA256_HEX])
{
    uint8_t d[TAB_SHA256];
    tab_sha256(bytes, d);
    tab_hex(d, sizeof d, ret);
}

void tab_hmac_sha256(tab_str key, tab_str bytes, uint8_t ret[TAB_SHA256])
{
    unsigned n = TAB_SHA256;
    if (HMAC(EVP_sha256(), key.p, (int)key.n, (const uint8_t *)bytes.p, bytes.n, ret, &n) == NULL)
        abort();
}

bool tab_equal_secret(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}

void tab_hex(const uint8_t *bytes, size_t n, char *ret)
{
    sodium_bin2hex(ret, 2 * n + 1, bytes, n);
}

/* What stands after "ID:": 64 hex digits, or the wrapper's scheme, a colon and a name. */
static bool read_key(tab_keyring *k, const char *p, size_t n)
{
    size_t scheme = k->wrapper == NULL ? 0 : strlen(k->wrapper->scheme), got = 0;
    if (scheme > 0 && n > scheme && memcmp(p, k->wrapper->scheme, scheme) == 0 && p[scheme] == ':') {
        size_t name = n - scheme - 1;
        if (name == 0 || name > TAB_WRAP_NAME)
            return false;
        memcpy(k->at[k->n].name, p + scheme + 1, name);
        return true;
    }
    return n == 2 * KEY && sodium_hex2bin(k->at[k->n].key, KEY, p, n, NULL, &got, NULL) == 0 && got == KEY;
}

tab_keyring *tab_keyring_new(const char *text)
{
    return tab_keyring_with(text, NULL);
}

/* text: "ID:KEY,ID:KEY...", the newest first. */
tab_keyring *tab_keyring_with(const char *text, const tab_wrapper *w)
{
    tab_keyring *k = sodium_init() < 0 ? NULL : calloc(1, sizeof *k);
    if (k == NULL)
        return NULL;
    k->wrapper = w;
    for (const char *p = text; *p != 0;) {
        const char *colon = strchr(p, ':'), *end = strchr(p, ',');
        if (end == NULL)
            end = p + strlen(p);
        size_t id_n = colon == NULL || colon > end ? 0 : (size_t)(colon - p);
        if (id_n == 0 || id_n > KEY_ID || k->n == KEYS || !read_key(k, colon + 1, (size_t)(end - colon - 1)))
            goto bad;
        memcpy(k->at[k->n].id, p, id_n);
        k->at[k->n++].id_n = id_n;
        p = *end == ',' ? end + 1 : end;
    }
    if (k->n > 0)
        return k;
bad:
    tab_keyring_free(k);
    return NULL;
}

tab_keyring *tab_keyring_of(const char *id, const uint8_t key[KEY])
{
    tab_keyring *k = calloc(1, sizeof *k);
    size_t n = strlen(id);
    assert(n > 0 && n <= KEY_ID);
    if (k == NULL)
        return NULL;
    memcpy(k->at[0].id, id, n);
    memcpy(k->at[0].key, key, KEY);
    k->at[0].id_n = n;
    k->n = 1;
    return k;
}

void tab_keyring_free(tab_keyring *k)
{
    if (k != NULL)
        sodium_memzero(k, sizeof *k);
    free(k);
}

const char *tab_keyring_newest(const tab_keyring *k)
{
    return k->at[0].id;
}

bool tab_sealed_newest(const tab_keyring *k, tab_str sealed)
{
    size_t n = k->at[0].id_n;
    return sealed.n > n && (uint8_t)sealed.p[0] == n && memcmp(sealed.p + 1, k->at[0].id, n) == 0;
}

/* The key of a new value, and what stands for it between the id and the nonce. */
static tab_status value_key(const tab_keyring *k, uint8_t ret_key[KEY], uint8_t ret[1 + TAB_WRAPPED_MOST],
                            size_t *ret_n, tab_error *err)
{
    size_t n = 0;
    *ret_n = 0;
    if (k->at[0].name[0] == 0) {
        memcpy(ret_key, k->at[0].key, KEY);
        return TAB_OK;
    }
    randombytes_buf(ret_key, KEY);
    TAB_TRY(k->wrapper->wrap(k->wrapper->self, k->at[0].name, ret_key, ret + 1, &n, err));
    ret[0] = (uint8_t)n;
    *ret_n = 1 + n;
    return TAB_OK;
}

tab_status tab_seal(const tab_keyring *k, tab_arena *a, tab_str plain, tab_str context, tab_str *ret,
                    tab_error *err)
{
    uint8_t key[KEY], wrapped[1 + TAB_WRAPPED_MOST];
    size_t wrapped_n;
    TAB_TRY(value_key(k, key, wrapped, &wrapped_n, err));
    size_t id_n = k->at[0].id_n, n = 1 + id_n + wrapped_n + NONCE + plain.n + TAG;
    uint8_t *out = tab_arena_alloc(a, n, 1);
    if (out != NULL) {
        out[0] = (uint8_t)id_n;
        memcpy(out + 1, k->at[0].id, id_n);
        memcpy(out + 1 + id_n, wrapped, wrapped_n);
        uint8_t *nonce = out + 1 + id_n + wrapped_n;
        randombytes_buf(nonce, NONCE);
        crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE, NULL, (const uint8_t *)plain.p, plain.n,
                                                   (const uint8_t *)context.p, context.n, NULL, nonce, key);
        *ret = (tab_str){ (const char *)out, n };
    }
    sodium_memzero(key, sizeof key);
    return out == NULL ? tab_no_memory(err) : TAB_OK;
}

/* The key that opens it, by the id in front; *ret_head: where the nonce begins. */
static tab_status key_of(const tab_keyring *k, tab_str sealed, uint8_t ret[KEY], size_t *ret_head,
                         tab_error *err)
{
    size_t id_n = sealed.n == 0 ? 0 : (uint8_t)sealed.p[0], i = 0;
    bool is = id_n > 0 && sealed.n >= 1 + id_n + NONCE + TAG; /* long enough to be sealed */
    while (is && i < k->n && (k->at[i].id_n != id_n || memcmp(k->at[i].id, sealed.p + 1, id_n) != 0))
        i++;
    if (!is || i == k->n)
        return tab_fail(err, TAB_INTERNAL, NULL, "sealed under a key that is not in the keyring");
    *ret_head = 1 + id_n;
    memcpy(ret, k->at[i].key, KEY);
    if (k->at[i].name[0] == 0)
        return TAB_OK;
    tab_str wrapped = { sealed.p + 2 + id_n, (uint8_t)sealed.p[1 + id_n] };
    *ret_head += 1 + wrapped.n;
    if (sealed.n < *ret_head + NONCE + TAG)
        return tab_fail(err, TAB_INTERNAL, NULL, "a sealed value is cut off");
    return k->wrapper->unwrap(k->wrapper->self, k->at[i].name, wrapped, ret, err);
}

tab_status tab_unseal(const tab_keyring *k, tab_arena *a, tab_str sealed, tab_str context, tab_str *ret,
                      tab_error *err)
{
    if (tab_arena_full(a)) /* what is to be opened may be missing for it */
        return tab_no_memory(err);
    size_t head = 0;
    uint8_t key[KEY];
    TAB_TRY(key_of(k, sealed, key, &head, err));
    const uint8_t *nonce = (const uint8_t *)sealed.p + head;
    size_t n = sealed.n - head - NONCE;
    uint8_t *out = tab_arena_alloc(a, n, 1);
    bool opens = out != NULL && crypto_aead_xchacha20poly1305_ietf_decrypt(out, NULL, NULL, nonce + NONCE, n,
                                                                           (const uint8_t *)context.p,
                                                                           context.n, nonce, key) == 0;
    sodium_memzero(key, sizeof key);
    if (out == NULL)
        return tab_no_memory(err);
    if (!opens)
        return tab_fail(err, TAB_INTERNAL, NULL, "a sealed value does not open: damaged, or moved");
    *ret = (tab_str){ (const char *)out, n - TAG };
    return TAB_OK;
}

tab_status tab_keyring_works(const tab_keyring *k, tab_error *err)
{
    uint8_t key[KEY] = { 1 }, again[KEY], wrapped[TAB_WRAPPED_MOST];
    for (size_t i = 0; i < k->n; i++) {
        size_t n = 0;
        if (k->at[i].name[0] == 0)
            continue;
        TAB_TRY(k->wrapper->wrap(k->wrapper->self, k->at[i].name, key, wrapped, &n, err));
        TAB_TRY(
            k->wrapper->unwrap(k->wrapper->self, k->at[i].name, (tab_str){ (char *)wrapped, n }, again, err));
    }
    return TAB_OK;
}

bool tab_run_keys_read(const char *text, bool seals, tab_run_keys *ret)
{
    *ret = (tab_run_keys){ text[0] == 0 ? NULL : tab_keyring_new(text), seals };
    if (text[0] == 0)
        tab_log(TAB_WARN, "TAB_RUN_KEY is empty: what runs leave for a while is not sealed");
    if (text[0] == 0 || ret->ring != NULL)
        return true;
    tab_log(TAB_ERROR, "TAB_RUN_KEY is not a valid keyring");
    return false;
}

tab_status tab_run_seal(const tab_run_keys *k, tab_arena *a, tab_str plain, tab_str context, tab_str *ret,
                        tab_error *err)
{
    *ret = plain;
    return k->ring == NULL || !k->seals || plain.n == 0 ? TAB_OK
                                                        : tab_seal(k->ring, a, plain, context, ret, err);
}

tab_status tab_run_open(const tab_run_keys *k, tab_arena *a, tab_str stored, tab_str context, tab_str *ret,
                        tab_error *err)
{
    if (tab_arena_full(a)) /* none of it was read, perhaps: that is not an empty text */
        return tab_no_memory(err);
    *ret = stored;
    if (stored.n == 0 || (uint8_t)stored.p[0] > KEY_ID) /* no length of an id: not sealed */
        return TAB_OK;
    if (k->ring == NULL)
        return tab_fail(err, TAB_INTERNAL, NULL, "sealed, and TAB_RUN_KEY is empty");
    return tab_unseal(k->ring, a, stored, context, ret, err);
}
