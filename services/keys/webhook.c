/* See webhook.h. */
#include "services/keys/webhook.h"

#include <assert.h>
#include <curl/curl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/json/json.h"
#include "common/security/address.h"

static tab_status bad_url(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "url",
                    "`url` must be https://HOST[:PORT]/PATH of at most %d bytes, without user and fragment.",
                    WEBHOOK_URL);
}

/* A part of the URL in the arena; "" where it has none. */
static bool part_of(tab_arena *a, CURLU *u, CURLUPart what, unsigned flags, const char **ret)
{
    char *text = NULL;
    CURLUcode code = curl_url_get(u, what, &text, flags);
    *ret = code == CURLUE_OK ? tab_arena_copy(a, tab_str_of(text)).p : "";
    curl_free(text);
    return *ret != NULL && (code == CURLUE_OK || what == CURLUPART_USER || what == CURLUPART_FRAGMENT);
}

static tab_status resolve(tab_arena *a, CURLU *u, const char *allow, webhook_target *ret, tab_error *err)
{
    const char *scheme, *host, *port, *user, *fragment;
    tab_error why = { 0 };
    int64_t number;
    bool is_public;
    if (!part_of(a, u, CURLUPART_SCHEME, 0, &scheme) || !part_of(a, u, CURLUPART_HOST, 0, &host) ||
        !part_of(a, u, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port) ||
        !part_of(a, u, CURLUPART_USER, 0, &user) || !part_of(a, u, CURLUPART_FRAGMENT, 0, &fragment) ||
        *user != 0 || *fragment != 0 || !tab_integer_read(tab_str_of(port), 1, 65535, &number))
        return bad_url(err);
    bool plain = strcmp(scheme, "http") == 0;
    if (!plain && strcmp(scheme, "https") != 0)
        return bad_url(err);
    size_t n = strlen(host);
    ret->host = host;
    ret->port = (uint16_t)number;
    if (n > 2 && host[0] == '[')
        host = tab_arena_copy(a, (tab_str){ host + 1, n - 2 }).p;
    if (host == NULL)
        return tab_no_memory(err);
    if (tab_address_resolve(a, host, ret->port, allow, &ret->address, &is_public, &why) != TAB_OK)
        return tab_fail(err, TAB_VALIDATION, "url",
                        "The receiver is not allowed; its host must have public addresses only.");
    if (plain && is_public)
        return tab_fail(err, TAB_VALIDATION, "url", "A receiver at a public address must use https.");
    return TAB_OK;
}

tab_status webhook_resolve(tab_arena *a, const char *url, const char *allow, webhook_target *ret,
                           tab_error *err)
{
    size_t n = strlen(url);
    for (size_t i = 0; i < n; i++)
        if (url[i] <= ' ' || url[i] > '~')
            return bad_url(err);
    CURLU *u = n > WEBHOOK_URL ? NULL : curl_url();
    if (u == NULL || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK) {
        curl_url_cleanup(u);
        return bad_url(err);
    }
    tab_status s = resolve(a, u, allow, ret, err);
    curl_url_cleanup(u);
    return s;
}

static const char prefix[] = "whsec_";
_Static_assert(sizeof prefix - 1 + (WEBHOOK_KEY + 2) / 3 * 4 < WEBHOOK_SECRET, "a secret's text has room");
_Static_assert(3 + (TAB_SHA256 + 2) / 3 * 4 < WEBHOOK_SECRET, "and so has a signature");

void webhook_secret_new(char ret[WEBHOOK_SECRET])
{
    uint8_t key[WEBHOOK_KEY];
    randombytes_buf(key, sizeof key);
    memcpy(ret, prefix, sizeof prefix - 1);
    sodium_bin2base64(ret + sizeof prefix - 1, WEBHOOK_SECRET - sizeof prefix + 1, key, sizeof key,
                      sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(key, sizeof key);
    assert(strlen(ret) < WEBHOOK_SECRET && memcmp(ret, prefix, sizeof prefix - 1) == 0);
}

bool webhook_sign(tab_str secret, const char *id, int64_t time_s, tab_str body, char ret[WEBHOOK_SECRET])
{
    uint8_t key[WEBHOOK_KEY], mac[TAB_SHA256];
    size_t n = 0, skip = sizeof prefix - 1;
    tab_out text = { 0 };
    if (secret.n <= skip || memcmp(secret.p, prefix, skip) != 0 ||
        sodium_base642bin(key, sizeof key, secret.p + skip, secret.n - skip, NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    char head[WEBHOOK_HEADER];
    int length = snprintf(head, sizeof head, "%s.%lld.", id, (long long)time_s);
    tab_out_bytes(&text, head, length < 0 || length >= (int)sizeof head ? 0 : (size_t)length);
    tab_out_bytes(&text, body.p, body.n);
    bool good = !text.failed;
    if (good)
        tab_hmac_sha256((tab_str){ (const char *)key, n }, tab_out_text(&text), mac);
    tab_out_free(&text);
    sodium_memzero(key, sizeof key);
    memcpy(ret, "v1,", 3);
    if (good)
        sodium_bin2base64(ret + 3, WEBHOOK_SECRET - 3, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    return good;
}

tab_str webhook_context(tab_arena *a, const char *org, const char *id)
{
    const char *text = tab_arena_printf(a, "keys.webhook %s %s", org, id);
    return text == NULL ? TAB_S("") : tab_str_of(text);
}

tab_str webhook_token_context(tab_arena *a, const char *org, const char *id)
{
    const char *text = tab_arena_printf(a, "keys.webhook.token %s %s", org, id);
    return text == NULL ? TAB_S("") : tab_str_of(text);
}
