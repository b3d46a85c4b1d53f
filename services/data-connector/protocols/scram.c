/* See scram.h. */
#include "services/data-connector/protocols/scram.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

#include "common/base/integer.h"
#include "common/json/json.h"

enum { SALT_MOST = 1024, ITERATIONS_LEAST = 4096, ITERATIONS_MOST = 1000000, LINE_MOST = 8192 };

static tab_status bad(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, "credentials", "The %s contains characters that are not allowed.",
                    what);
}

/* A name or password in the one form that both sides hash (RFC 4013): compatibility characters resolved,
 * control characters refused. */
static tab_status prepared(tab_arena *a, const char *text, const char *what, const char **ret, tab_error *err)
{
    utf8proc_uint8_t *out = NULL;
    bool ascii = true;
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return bad(err, what);
        ascii = ascii && (unsigned char)*p < 0x80;
    }
    *ret = text;
    if (ascii)
        return TAB_OK;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, 0, &out,
                                      UTF8PROC_NULLTERM | UTF8PROC_STABLE | UTF8PROC_COMPAT |
                                          UTF8PROC_COMPOSE | UTF8PROC_IGNORE);
    if (n >= 0)
        *ret = tab_arena_copy(a, (tab_str){ (const char *)out, (size_t)n }).p;
    free(out);
    if (n < 0)
        return bad(err, what);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status scram_first(scram *s, tab_arena *a, const char *user, const char *password, const char *nonce,
                       tab_str *ret, tab_error *err)
{
    const char *name, *out = "n=";
    *s = (scram){ .a = a, .nonce = nonce };
    TAB_TRY(prepared(a, user, "user's name", &name, err));
    TAB_TRY(prepared(a, password, "password", &s->password, err));
    for (; *name != '\0' && out != NULL; name++)
        out = *name == ','   ? tab_arena_printf(a, "%s=2C", out)
              : *name == '=' ? tab_arena_printf(a, "%s=3D", out)
                             : tab_arena_printf(a, "%s%c", out, *name);
    s->bare = out == NULL ? NULL : tab_arena_printf(a, "%s,r=%s", out, nonce);
    const char *first = s->bare == NULL ? NULL : tab_arena_printf(a, "n,,%s", s->bare);
    if (first == NULL)
        return tab_no_memory(err);
    *ret = tab_str_of(first);
    return TAB_OK;
}

/* "r=...,s=...,i=...": the value of the letter; false where the next part is another. */
static bool part(const char **p, char letter, tab_str *ret)
{
    if ((*p)[0] != letter || (*p)[1] != '=')
        return false;
    *ret = (tab_str){ *p + 2, strcspn(*p + 2, ",") };
    *p = ret->p + ret->n;
    *p += **p == ',';
    return true;
}

static tab_status not_scram(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source does not offer SCRAM-SHA-256 authentication.");
}

static const char *coded(tab_arena *a, const uint8_t bytes[TAB_SHA256])
{
    size_t m = sodium_base64_ENCODED_LEN(TAB_SHA256, sodium_base64_VARIANT_ORIGINAL);
    char *text = tab_arena_alloc(a, m, 1);
    return text == NULL ? NULL
                        : sodium_bin2base64(text, m, bytes, TAB_SHA256, sodium_base64_VARIANT_ORIGINAL);
}

/* ClientProof, and what the server's own proof must be. */
static tab_status prove(scram *s, const uint8_t *salt, size_t salt_n, int iterations, const char *signed_,
                        uint8_t proof[TAB_SHA256], tab_error *err)
{
    uint8_t salted[TAB_SHA256], client[TAB_SHA256], stored[TAB_SHA256], server[TAB_SHA256];
    const tab_str by = { (const char *)salted, sizeof salted };
    if (PKCS5_PBKDF2_HMAC(s->password, (int)strlen(s->password), salt, (int)salt_n, iterations, EVP_sha256(),
                          sizeof salted, salted) != 1)
        return tab_fail(err, TAB_INTERNAL, "", "a login cannot be computed");
    tab_hmac_sha256(by, TAB_S("Client Key"), client);
    tab_hmac_sha256(by, TAB_S("Server Key"), server);
    tab_sha256((tab_str){ (const char *)client, sizeof client }, stored);
    tab_hmac_sha256((tab_str){ (const char *)stored, sizeof stored }, tab_str_of(signed_), proof);
    for (size_t i = 0; i < TAB_SHA256; i++)
        proof[i] ^= client[i];
    tab_hmac_sha256((tab_str){ (const char *)server, sizeof server }, tab_str_of(signed_), s->expected);
    sodium_memzero(salted, sizeof salted);
    sodium_memzero(client, sizeof client);
    return TAB_OK;
}

tab_status scram_last(scram *s, tab_str server, tab_str *ret, tab_error *err)
{
    uint8_t salt[SALT_MOST], proof[TAB_SHA256];
    tab_str nonce, coded_salt, count;
    int64_t iterations;
    size_t salt_n = 0, own = strlen(s->nonce);
    const char *text = server.n > LINE_MOST ? NULL : tab_arena_copy(s->a, server).p, *p = text;
    if (server.n > LINE_MOST || memchr(server.p, 0, server.n) != NULL)
        return not_scram(err);
    if (text == NULL)
        return tab_no_memory(err);
    if (!part(&p, 'r', &nonce) || !part(&p, 's', &coded_salt) || !part(&p, 'i', &count) || nonce.n <= own ||
        memcmp(nonce.p, s->nonce, own) != 0 ||
        sodium_base642bin(salt, sizeof salt, coded_salt.p, coded_salt.n, NULL, &salt_n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        !tab_integer_read(count, ITERATIONS_LEAST, ITERATIONS_MOST, &iterations))
        return not_scram(err);
    const char *without = tab_arena_printf(s->a, "c=biws,r=%.*s", TAB_STR(nonce));
    const char *signed_ = without == NULL ? NULL : tab_arena_printf(s->a, "%s,%s,%s", s->bare, text, without);
    if (signed_ == NULL)
        return tab_no_memory(err);
    TAB_TRY(prove(s, salt, salt_n, (int)iterations, signed_, proof, err));
    const char *shown = coded(s->a, proof);
    const char *last = shown == NULL ? NULL : tab_arena_printf(s->a, "%s,p=%s", without, shown);
    if (last == NULL)
        return tab_no_memory(err);
    *ret = tab_str_of(last);
    return TAB_OK;
}

bool scram_proven(const scram *s, tab_str server)
{
    uint8_t is[TAB_SHA256];
    size_t n = 0;
    return server.n > 2 && server.p[0] == 'v' && server.p[1] == '=' &&
           sodium_base642bin(is, sizeof is, server.p + 2, server.n - 2, NULL, &n, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0 &&
           n == sizeof is && tab_equal_secret(is, s->expected, sizeof is);
}
