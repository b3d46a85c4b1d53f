/* See sigv4.h. */
#include "services/data-connector/protocols/sigv4.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/security/crypto.h"

const char *http_encode(tab_arena *a, const char *text, bool slash)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = tab_arena_alloc(a, 3 * strlen(text) + 1, 1), *to = out;
    for (const char *p = text; out != NULL && *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if ((isalnum(c) && c < 0x80) || strchr("-._~", c) != NULL || (slash && c == '/')) {
            *to++ = (char)c;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    return out;
}

static int by_name_then_value(const void *a, const void *b)
{
    const http_pair *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names != 0 ? names : strcmp(x->value, y->value);
}

const char *http_query(tab_arena *a, const http_pair *pair, size_t n)
{
    http_pair *sorted = tab_arena_new_of(a, http_pair, n + 1);
    const char *out = "";
    for (size_t i = 0; i < n && sorted != NULL; i++) {
        sorted[i] = (http_pair){ http_encode(a, pair[i].name, false), http_encode(a, pair[i].value, false) };
        if (sorted[i].name == NULL || sorted[i].value == NULL)
            return NULL;
    }
    if (sorted == NULL)
        return NULL;
    qsort(sorted, n, sizeof *sorted, by_name_then_value);
    for (size_t i = 0; i < n && out != NULL; i++)
        out = tab_arena_printf(a, "%s%s%s=%s", out, i > 0 ? "&" : "", sorted[i].name, sorted[i].value);
    return out;
}

static void hmac(const uint8_t *key, size_t n, const char *text, uint8_t ret[TAB_SHA256])
{
    tab_hmac_sha256((tab_str){ (const char *)key, n }, tab_str_of(text), ret);
}

const char *sigv4_authorization(tab_arena *a, const sigv4_key *k, const sigv4_request *q)
{
    const char *headers = "", *names = "";
    char day[9], hash[TAB_SHA256_HEX], signature[2 * TAB_SHA256 + 1];
    uint8_t key[TAB_SHA256];
    for (size_t i = 0; i < q->n && headers != NULL && names != NULL; i++) {
        headers = tab_arena_printf(a, "%s%s:%s\n", headers, q->header[i].name, q->header[i].value);
        names = tab_arena_printf(a, "%s%s%s", names, i > 0 ? ";" : "", q->header[i].name);
    }
    const char *request = headers == NULL || names == NULL
                              ? NULL
                              : tab_arena_printf(a, "%s\n%s\n%s\n%s\n%s\n%s", q->method, q->path, q->query,
                                                 headers, names, q->payload);
    if (request == NULL)
        return NULL;
    tab_sha256_hex(tab_str_of(request), hash);
    snprintf(day, sizeof day, "%.8s", q->date);
    const char *scope = tab_arena_printf(a, "%s/%s/%s/aws4_request", day, k->region, k->service);
    const char *what =
        scope == NULL ? NULL : tab_arena_printf(a, "AWS4-HMAC-SHA256\n%s\n%s\n%s", q->date, scope, hash);
    char *first = tab_arena_printf(a, "AWS4%s", k->secret_key);
    if (what == NULL || first == NULL)
        return NULL;
    hmac((const uint8_t *)first, strlen(first), day, key);
    hmac(key, sizeof key, k->region, key);
    hmac(key, sizeof key, k->service, key);
    hmac(key, sizeof key, "aws4_request", key);
    hmac(key, sizeof key, what, key);
    tab_hex(key, sizeof key, signature);
    return tab_arena_printf(a, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                            k->access_key, scope, names, signature);
}
