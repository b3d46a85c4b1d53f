/* See google.h. */
#include "services/data-connector/providers/google.h"

#include <time.h>

#include "common/json/json.h"
#include "services/data-connector/protocols/jwt.h"

enum { TOKEN_S = 3600 };
#define ACCOUNT "credentials.service_account"

static const char *text_of(tab_arena *a, const tab_json *account, const char *name)
{
    const tab_json *m = tab_json_get(account, name);
    bool good = m != NULL && m->kind == TAB_JSON_STRING && memchr(m->text.p, 0, m->text.n) == NULL;
    return good ? tab_arena_copy(a, m->text).p : "";
}

/* The assertion: who asks whom, for what, until when. */
static tab_status assertion(tab_arena *a, const tab_json *account, const char *scope, const char *audience,
                            const char **ret, tab_error *err)
{
    jwt_key *key;
    tab_out claims = { 0 };
    time_t now = time(NULL);
    TAB_TRY(jwt_key_read(a, text_of(a, account, "private_key"), ACCOUNT, &key, err));
    tab_out_open(&claims, '{');
    tab_out_key(&claims, "iss");
    tab_out_cstr(&claims, text_of(a, account, "client_email"));
    tab_out_key(&claims, "scope");
    tab_out_cstr(&claims, scope);
    tab_out_key(&claims, "aud");
    tab_out_cstr(&claims, audience);
    tab_out_key(&claims, "iat");
    tab_out_int(&claims, now);
    tab_out_key(&claims, "exp");
    tab_out_int(&claims, now + TOKEN_S);
    tab_out_close(&claims, '}');
    tab_status st = claims.failed ? tab_no_memory(err)
                                  : jwt_sign(a, key, text_of(a, account, "private_key_id"),
                                             tab_out_text(&claims), ret, err);
    tab_out_free(&claims);
    return st;
}

static tab_status token(const source *s, tab_arena *a, const http_request *at, const char *signed_,
                        const char **ret, tab_error *err)
{
    const http_pair form = { "Content-Type", "application/x-www-form-urlencoded" };
    const char *body = tab_arena_printf(
        a, "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s", signed_);
    http_request q = *at;
    http_answer x;
    if (body == NULL)
        return tab_no_memory(err);
    q.method = "POST";
    q.header = &form;
    q.n_header = 1;
    q.body = tab_str_of(body);
    TAB_TRY(http_call(s, a, &q, &x, err));
    if (x.status == 400) /* invalid_grant: another key, an account that is gone, a clock that is wrong */
        return source_refuses_login(err);
    TAB_TRY(http_good(&x, err));
    TAB_TRY(api_text(a, x.body, "/access_token", ret, err));
    return (*ret)[0] != '\0' && api_token(*ret) ? TAB_OK : api_other_format(err);
}

tab_status google_login(json_api *api, tab_arena *a, const char *scope, tab_error *err)
{
    tab_str text = tab_arena_copy(a, tab_str_of(credential(api->s, "service_account")));
    const tab_json *account;
    const char *signed_, *bearer, *uri;
    http_request at = { .query = "" };
    tab_error why = { 0 };
    if (text.n == 0)
        return tab_fail(err, TAB_VALIDATION, ACCOUNT, "Give the JSON key of a service account.");
    if (text.p == NULL)
        return tab_no_memory(err);
    if (tab_json_read(a, text, 4, &account, &why) != TAB_OK ||
        strcmp(text_of(a, account, "type"), "service_account") != 0 ||
        text_of(a, account, "client_email")[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, ACCOUNT, "This is not the JSON key of a service account.");
    uri = text_of(a, account, "token_uri");
    uri = uri[0] != '\0' ? uri : "https://oauth2.googleapis.com/token";
    if (!api_link(a, uri, &at))
        return tab_fail(err, TAB_VALIDATION, ACCOUNT,
                        "The token_uri of the account is not an https address.");
    TAB_TRY(assertion(a, account, scope, uri, &signed_, err));
    TAB_TRY(token(api->s, a, &at, signed_, &bearer, err));
    const char *value = tab_arena_printf(a, "Bearer %s", bearer);
    api->secret[api->n_secret++] = (http_pair){ "Authorization", value };
    return value == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status google_good(const http_answer *x, tab_error *err)
{
    static const char *const busy[] = { "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded" };
    for (size_t i = 0; i < sizeof busy / sizeof *busy && x->status == 403; i++) /* error.errors[].reason */
        if (memmem(x->body.p, x->body.n < 4096 ? x->body.n : 4096, busy[i], strlen(busy[i])) != NULL)
            return tab_fail(err, TAB_UNAVAILABLE, "",
                            "The source is limiting the rate of requests (%s); try again later.", busy[i]);
    return http_good(x, err);
}
