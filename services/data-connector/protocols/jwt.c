/* See jwt.h. */
#include "services/data-connector/protocols/jwt.h"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "common/security/crypto.h"

enum { DER_MOST = 16384, BITS_LEAST = 2048, BITS_MOST = 16384 };

static void free_key(void *key)
{
    EVP_PKEY_free(key);
}

static tab_status no_key(tab_error *err, const char *param, const char *why)
{
    return tab_fail(err, TAB_VALIDATION, param, "%s", why);
}

tab_status jwt_key_read(tab_arena *a, const char *pem, const char *param, jwt_key **ret, tab_error *err)
{
    static const char begin[] = "-----BEGIN ";
    uint8_t der[DER_MOST];
    size_t n = 0;
    if (strstr(pem, "BEGIN ENCRYPTED") != NULL || strstr(pem, "Proc-Type:") != NULL)
        return no_key(err, param, "The private key is encrypted; give it without a passphrase.");
    const char *from = strstr(pem, begin), *to;
    from = from == NULL ? NULL : strstr(from + sizeof begin - 1, "-----");
    if (from == NULL || (to = strstr(from += 5, "-----END ")) == NULL ||
        sodium_base642bin(der, sizeof der, from, (size_t)(to - from), " \r\n\t", &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return no_key(err, param, "This is not a private key in PEM form.");
    const uint8_t *p = der;
    EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &p, (long)n);
    sodium_memzero(der, sizeof der);
    if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < BITS_LEAST ||
        EVP_PKEY_get_bits(key) > BITS_MOST) {
        EVP_PKEY_free(key);
        return no_key(err, param, "The private key is not an RSA key of 2,048 bits or more.");
    }
    if (!tab_arena_defer(a, free_key, key)) {
        EVP_PKEY_free(key);
        return tab_no_memory(err);
    }
    *ret = key;
    return TAB_OK;
}

/* Base64 in the alphabet of URLs, without padding (RFC 7515). */
static const char *coded(tab_arena *a, const void *p, size_t n)
{
    size_t m = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *to = tab_arena_alloc(a, m, 1);
    return to == NULL ? NULL : sodium_bin2base64(to, m, p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool signed_by(EVP_PKEY *key, const char *text, uint8_t *ret, size_t *ret_n)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool good = c != NULL && EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(c, ret, ret_n, (const uint8_t *)text, strlen(text)) == 1;
    EVP_MD_CTX_free(c);
    return good;
}

tab_status jwt_sign(tab_arena *a, jwt_key *key, const char *kid, tab_str claims, const char **ret,
                    tab_error *err)
{
    uint8_t signature[BITS_MOST / 8];
    size_t n = sizeof signature;
    tab_out head = { 0 };
    tab_out_open(&head, '{');
    tab_out_key(&head, "alg");
    tab_out_cstr(&head, "RS256");
    tab_out_key(&head, "typ");
    tab_out_cstr(&head, "JWT");
    if (kid[0] != '\0') {
        tab_out_key(&head, "kid");
        tab_out_cstr(&head, kid);
    }
    tab_out_close(&head, '}');
    const char *first = head.failed ? NULL : coded(a, head.p, head.n), *second = coded(a, claims.p, claims.n);
    tab_out_free(&head);
    const char *text = first == NULL || second == NULL ? NULL : tab_arena_printf(a, "%s.%s", first, second);
    if (text == NULL)
        return tab_no_memory(err);
    if (!signed_by(key, text, signature, &n))
        return tab_fail(err, TAB_INTERNAL, "", "a token cannot be signed");
    const char *third = coded(a, signature, n);
    *ret = third == NULL ? NULL : tab_arena_printf(a, "%s.%s", text, third);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status jwt_fingerprint(tab_arena *a, jwt_key *key, const char **ret, tab_error *err)
{
    uint8_t *der = NULL, digest[TAB_SHA256];
    char text[sodium_base64_ENCODED_LEN(TAB_SHA256, sodium_base64_VARIANT_ORIGINAL)];
    int n = i2d_PUBKEY(key, &der);
    if (n <= 0)
        return tab_fail(err, TAB_INTERNAL, "", "a public key cannot be written");
    tab_sha256((tab_str){ (const char *)der, (size_t)n }, digest);
    OPENSSL_free(der);
    sodium_bin2base64(text, sizeof text, digest, sizeof digest, sodium_base64_VARIANT_ORIGINAL);
    *ret = tab_arena_printf(a, "SHA256:%s", text);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}
