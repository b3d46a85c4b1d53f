/* See fetch.h. */
#include "services/keys/people/fetch.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "common/security/address.h"
#include "services/keys/people/oidc.h"
#include "services/keys/webhook.h"

tab_status fetch_begin(atomic_int *places, tab_error *err)
{
    if (atomic_fetch_add(places, 1) < FETCHING_MOST)
        return TAB_OK;
    fetch_end(places);
    return tab_fail(err, TAB_UNAVAILABLE, "", "Many are signing in at the moment. Try again.");
}

void fetch_end(atomic_int *places)
{
    atomic_fetch_sub(places, 1);
}

static size_t taken(char *p, size_t size, size_t n, void *arg)
{
    tab_out *o = arg;
    if (o->n + size * n > OIDC_ANSWER_MOST)
        return 0;
    tab_out_bytes(o, p, size * n);
    return o->failed ? 0 : size * n;
}

/* The last gate: whatever curl makes of the URL, it connects to an address that is allowed. */
static curl_socket_t connected(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    const fetch_call *c = arg;
    if (purpose != CURLSOCKTYPE_IPCXN || !tab_address_allowed(&to->addr, c->allow))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype, to->protocol);
}

static void options(CURL *curl, const fetch_call *c, const struct curl_slist *headers,
                    const struct curl_slist *resolve, tab_out *answer)
{
    curl_easy_setopt(curl, CURLOPT_URL, c->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_RESOLVE, resolve);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, connected);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, c);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (c->form != NULL)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, c->form);
    if (c->user != NULL) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_USERNAME, c->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, c->password);
    }
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "tabella-signin/1");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, taken);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    int64_t left = tab_left_ms(c->deadline, FETCH_S * 1000);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1)); /* 0 were none */
}

static tab_status perform(tab_arena *a, const fetch_call *c, const webhook_target *to, tab_out *answer,
                          long *ret_status, tab_error *err)
{
    const char *pin = tab_arena_printf(a, strchr(to->address, ':') != NULL ? "%s:%u:[%s]" : "%s:%u:%s",
                                       to->host, (unsigned)to->port, to->address);
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: application/json"),
                      *resolve = pin == NULL ? NULL : curl_slist_append(NULL, pin);
    CURL *curl = curl_easy_init();
    tab_status s = tab_fail(err, TAB_UNAVAILABLE, "", "The identity provider does not answer. Try again.");
    if (curl != NULL && headers != NULL && resolve != NULL) {
        options(curl, c, headers, resolve, answer);
        if (curl_easy_perform(curl) == CURLE_OK && !answer->failed)
            s = TAB_OK;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    curl_slist_free_all(resolve);
    return s;
}

tab_status fetch(tab_arena *a, const fetch_call *c, tab_str *ret, tab_error *err)
{
    webhook_target to;
    tab_error why;
    tab_out answer = { 0 };
    long status = 0;
    if (webhook_resolve(a, c->url, c->allow, &to, &why) != TAB_OK)
        return tab_fail(err, TAB_VALIDATION, "issuer",
                        "The provider is not allowed; it must be https at public addresses only.");
    tab_status s = perform(a, c, &to, &answer, &status, err);
    if (s == TAB_OK && status >= 400 && status < 500)
        s = tab_fail(err, TAB_AUTH_MISSING, "", "the provider refused");
    else if (s == TAB_OK && (status < 200 || status >= 300))
        s = tab_fail(err, TAB_UNAVAILABLE, "", "The identity provider does not answer. Try again.");
    if (s == TAB_OK) {
        char *copy = tab_arena_alloc(a, answer.n + 1, 1);
        if (copy == NULL)
            s = tab_no_memory(err);
        else if (answer.n > 0)
            memcpy(copy, answer.p, answer.n);
        *ret = (tab_str){ copy, answer.n };
    }
    tab_out_free(&answer);
    return s;
}

const char *fetch_escaped(tab_arena *a, tab_str value)
{
    if (value.n == 0)
        return "";
    char *text = curl_easy_escape(NULL, value.p, (int)value.n);
    const char *copy = text == NULL ? NULL : tab_arena_copy(a, tab_str_of(text)).p;
    curl_free(text);
    return copy;
}
