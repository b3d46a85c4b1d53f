/* /platform/v1/session: a key given once becomes a session in a cookie (decision 0337);
 * /platform/v1/signin: so does what an identity provider says of a person.
 *
 * The token is made here, goes into the cookie and is forgotten; keys stores its hash. Later requests are the
 * gateway's matter: it finds the grant by the cookie as by a key, and says which session it was in
 * X-Tabella-Session. What a change must carry besides, the CSRF token, both compute from that hash. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "common/security/secret.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/http/params.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

#define SIGNIN_PATH "/platform/v1/signin"
enum { CODE_MOST = 4096, BODY_MOST = 16384 };

static tab_status stranger(tab_error *err)
{
    return tab_fail(err, TAB_AUTH_MISSING, "", "The API key is missing or invalid.");
}

static void hash_text(tab_str secret, uint8_t hash[TAB_SECRET_HASH], char hex[2 * TAB_SECRET_HASH + 1])
{
    tab_secret_hash(secret, hash);
    sodium_bin2hex(hex, 2 * TAB_SECRET_HASH + 1, hash, TAB_SECRET_HASH);
}

/* The hash of the session that calls; false where a key itself does. */
static bool session_hash(const request *r, uint8_t hash[TAB_SECRET_HASH])
{
    size_t n = 0;
    return (r->who.scopes & TAB_GRANT_SESSION) != 0 && r->session != NULL &&
           sodium_hex2bin(hash, TAB_SECRET_HASH, r->session, strlen(r->session), NULL, &n, NULL) == 0 &&
           n == TAB_SECRET_HASH;
}

static void session_json(request *r, const Tabella__Session *s, const char *hash_hex)
{
    tab_out *o = &r->out;
    char csrf[TAB_CSRF_LENGTH + 1];
    tab_csrf_token(&r->api->secret[r->secret].identity, tab_str_of(hash_hex), csrf);
    tab_out_open(o, '{');
    text_member(o, "id", s->id);
    open_member(o, "organization", '{');
    text_member(o, "id", s->org);
    text_member(o, "name", s->org_name);
    text_member(o, "plan", s->plan);
    tab_out_close(o, '}');
    open_member(o, "key", '{');
    text_member(o, "id", s->key_id);
    text_member(o, "name", s->key_name);
    open_member(o, "scopes", '[');
    for (unsigned bit = 1; bit <= TAB_SCOPE_ALL; bit <<= 1)
        if (s->scopes & bit)
            tab_out_cstr(o, tab_scope_name(bit));
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    if (s->role[0] != 0) {
        open_member(o, "person", '{');
        text_member(o, "id", s->key_id);
        text_member(o, "name", s->key_name);
        text_member(o, "email", s->email[0] != 0 ? s->email : NULL);
        text_member(o, "role", s->role);
        tab_out_close(o, '}');
    } else {
        text_member(o, "person", NULL);
    }
    time_member(o, "created_at", s->created_at);
    time_member(o, "expires_at", s->expires_at);
    text_member(o, "csrf_token", csrf);
    tab_out_close(o, '}');
}

/* The session's token goes into the cookie and is forgotten. The gateway adds `Secure` where the client came
 * over TLS. */
static tab_status give(request *r, const Tabella__Session *s, char token[TAB_SESSION_LENGTH + 1],
                       const char *hex, tab_error *err)
{
    int64_t seconds = (s->expires_at - s->created_at + 500000) / 1000000;
    r->cookie = tab_arena_printf(r->arena, "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict",
                                 TAB_SESSION_COOKIE, token, (long long)seconds);
    sodium_memzero(token, TAB_SESSION_LENGTH + 1);
    if (r->cookie == NULL)
        return tab_no_memory(err);
    session_json(r, s, hex);
    r->status = 201;
    return TAB_OK;
}

tab_status post_session(request *r, tab_error *err)
{
    Tabella__StartSessionRequest q = TABELLA__START_SESSION_REQUEST__INIT;
    const Tabella__Session *s = NULL;
    tab_body b;
    tab_str key;
    uint8_t key_hash[TAB_SECRET_HASH], hash[TAB_SECRET_HASH];
    char hex[2 * TAB_SECRET_HASH + 1], token[TAB_SESSION_LENGTH + 1];
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "key", true, 128, &key, err));
    if (!tab_secret_valid(key))
        return stranger(err);
    r->who.org[0] = r->who.key[0] = 0; /* nobody, until keys says who */
    hash_text(key, key_hash, hex);
    tab_session_new(token);
    hash_text(tab_str_of(token), hash, hex);
    q.key_sha256 = (ProtobufCBinaryData){ sizeof key_hash, key_hash };
    q.token_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    TAB_TRY(call(r, "keys", "StartSession", &q.base, &tabella__session__descriptor, &s, err));
    if (!s->known)
        return stranger(err);
    return give(r, s, token, hex, err);
}

/* ---- by an identity provider (decision 0576) ---------------------------------------------------- */

tab_status get_signin(request *r, tab_error *err)
{
    Tabella__ListProvidersRequest q = TABELLA__LIST_PROVIDERS_REQUEST__INIT;
    const Tabella__ListProvidersReply *y = NULL;
    tab_str org;
    TAB_TRY(query_param(r, "organization", &org, err));
    r->who.org[0] = r->who.key[0] = 0;
    if (org.n == 0 || org.n > 64 || memchr(org.p, 0, org.n) != NULL)
        return tab_fail(err, TAB_VALIDATION, "organization", "`organization` must be an organization's id");
    q.org = STR(tab_arena_copy(r->arena, org).p);
    if (q.org == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "ListProviders", &q.base, &tabella__list_providers_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    open_member(&r->out, "providers", '[');
    for (size_t i = 0; i < y->n_providers; i++) {
        tab_out_open(&r->out, '{');
        text_member(&r->out, "id", y->providers[i]->id);
        text_member(&r->out, "name", y->providers[i]->name);
        tab_out_close(&r->out, '}');
    }
    tab_out_close(&r->out, ']');
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status post_signin(request *r, tab_error *err)
{
    Tabella__BeginSigninRequest q = TABELLA__BEGIN_SIGNIN_REQUEST__INIT;
    const Tabella__BeginSigninReply *y = NULL;
    tab_body b;
    tab_str org, provider;
    uint8_t hash[TAB_SECRET_HASH];
    char hex[2 * TAB_SECRET_HASH + 1], token[TAB_SESSION_LENGTH + 1];
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "organization", true, 64, &org, err));
    TAB_TRY(body_text(b.root, "provider", true, 64, &provider, err));
    r->who.org[0] = r->who.key[0] = 0;
    tab_session_new(token);
    hash_text(tab_str_of(token), hash, hex);
    q.org = STR(tab_arena_copy(r->arena, org).p);
    q.provider = STR(tab_arena_copy(r->arena, provider).p);
    q.browser_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    if (q.org == NULL || q.provider == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "BeginSignin", &q.base, &tabella__begin_signin_reply__descriptor, &y, err));
    /* Strict: it comes back from the console's page, which is of this origin, and not from the provider's. */
    r->cookie =
        tab_arena_printf(r->arena, "%s=%s; Path=" SIGNIN_PATH "; Max-Age=600; HttpOnly; SameSite=Strict",
                         TAB_SIGNIN_COOKIE, token);
    sodium_memzero(token, sizeof token);
    if (r->cookie == NULL)
        return tab_no_memory(err);
    tab_out_open(&r->out, '{');
    text_member(&r->out, "url", y->url);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status post_signin_complete(request *r, tab_error *err)
{
    Tabella__CompleteSigninRequest q = TABELLA__COMPLETE_SIGNIN_REQUEST__INIT;
    const Tabella__Session *s = NULL;
    tab_body b;
    tab_str state, code;
    uint8_t browser[TAB_SECRET_HASH], hash[TAB_SECRET_HASH];
    char hex[2 * TAB_SECRET_HASH + 1], token[TAB_SESSION_LENGTH + 1];
    TAB_TRY(body_read(r, &b, err));
    TAB_TRY(body_text(b.root, "state", true, 128, &state, err));
    TAB_TRY(body_text(b.root, "code", true, CODE_MOST, &code, err));
    r->who.org[0] = r->who.key[0] = 0;
    if (r->signin == NULL || !tab_session_valid(tab_str_of(r->signin)))
        return tab_fail(err, TAB_AUTH_MISSING, "",
                        "This sign-in does not hold or has ended. Begin it again.");
    hash_text(tab_str_of(r->signin), browser, hex);
    tab_session_new(token);
    hash_text(tab_str_of(token), hash, hex);
    q.browser_sha256 = (ProtobufCBinaryData){ sizeof browser, browser };
    q.token_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    q.state = STR(tab_arena_copy(r->arena, state).p);
    q.code = STR(tab_arena_copy(r->arena, code).p);
    if (q.state == NULL || q.code == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "CompleteSignin", &q.base, &tabella__session__descriptor, &s, err));
    return s->known ? give(r, s, token, hex, err)
                    : tab_fail(err, TAB_AUTH_MISSING, "",
                               "This sign-in does not hold or has ended. Begin it again.");
}

/* The token of a form `logout_token=...` (application/x-www-form-urlencoded). */
static tab_status logout_token(request *r, tab_str *ret, tab_error *err)
{
    static const char form[] = "application/x-www-form-urlencoded", name[] = "logout_token=";
    const char *t = r->content_type;
    tab_str found = { NULL, 0 };
    bool good = t != NULL && strncasecmp(t, form, sizeof form - 1) == 0 &&
                strchr("; \t", t[sizeof form - 1]) != NULL && r->body_n < BODY_MOST;
    for (size_t at = 0, n; good && at < r->body_n; at += n + 1) {
        const char *end = memchr(r->body + at, '&', r->body_n - at);
        n = end == NULL ? r->body_n - at : (size_t)(end - (r->body + at));
        if (n > sizeof name - 1 && memcmp(r->body + at, name, sizeof name - 1) == 0) {
            good = found.p == NULL;
            found = (tab_str){ r->body + at + sizeof name - 1, n - (sizeof name - 1) };
        }
    }
    for (size_t i = 0; i < found.n && good; i++) /* nothing that a form escapes is in a token */
        good = isalnum((unsigned char)found.p[i]) || strchr("-_.", found.p[i]) != NULL;
    if (!good || found.p == NULL)
        return tab_fail(err, TAB_VALIDATION, "logout_token", "the body must be a form with `logout_token`");
    *ret = found;
    return TAB_OK;
}

tab_status post_provider_logout(request *r, tab_error *err)
{
    Tabella__LogoutRequest q = TABELLA__LOGOUT_REQUEST__INIT;
    const Tabella__LogoutReply *y = NULL;
    tab_str token;
    r->who.org[0] = r->who.key[0] = 0;
    TAB_TRY(logout_token(r, &token, err));
    q.org = STR(tab_arena_copy(r->arena, r->param[0]).p);
    q.provider = STR(tab_arena_copy(r->arena, r->param[1]).p);
    q.token = STR(tab_arena_copy(r->arena, token).p);
    if (q.org == NULL || q.provider == NULL || q.token == NULL)
        return tab_no_memory(err);
    TAB_TRY(call(r, "keys", "Logout", &q.base, &tabella__logout_reply__descriptor, &y, err));
    tab_out_open(&r->out, '{');
    uint_member(&r->out, "ended", y->ended);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}

tab_status get_session(request *r, tab_error *err)
{
    Tabella__GetSessionRequest q = TABELLA__GET_SESSION_REQUEST__INIT;
    const Tabella__Session *s = NULL;
    uint8_t hash[TAB_SECRET_HASH];
    if (!session_hash(r, hash))
        return tab_fail(err, TAB_NOT_FOUND, "",
                        "This route needs a signed-in session; the request carried an API key.");
    q.token_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    TAB_TRY(call(r, "keys", "GetSession", &q.base, &tabella__session__descriptor, &s, err));
    if (!s->known)
        return stranger(err);
    session_json(r, s, r->session);
    return TAB_OK;
}

tab_status delete_session(request *r, tab_error *err)
{
    Tabella__EndSessionRequest q = TABELLA__END_SESSION_REQUEST__INIT;
    const Tabella__EndSessionReply *y = NULL;
    uint8_t hash[TAB_SECRET_HASH];
    if (!session_hash(r, hash))
        return tab_fail(err, TAB_NOT_FOUND, "",
                        "This route needs a signed-in session; the request carried an API key.");
    q.token_sha256 = (ProtobufCBinaryData){ sizeof hash, hash };
    TAB_TRY(call(r, "keys", "EndSession", &q.base, &tabella__end_session_reply__descriptor, &y, err));
    r->cookie = STR(TAB_SESSION_COOKIE "=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    tab_out_open(&r->out, '{');
    bool_member(&r->out, "deleted", true);
    tab_out_close(&r->out, '}');
    return TAB_OK;
}
