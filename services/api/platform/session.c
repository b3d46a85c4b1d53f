/* /platform/v1/session: a key given once becomes a session in a cookie (decision 0337).
 *
 * The token is made here, goes into the cookie and is forgotten; keys stores its hash. Later requests are the
 * gateway's matter: it finds the grant by the cookie as by a key, and says which session it was in
 * X-Tabella-Session. What a change must carry besides, the CSRF token, both compute from that hash. */
#include <stdio.h>

#include "common/security/secret.h"
#include "proto/keys.pb-c.h"
#include "services/api/api.h"
#include "services/api/handlers.h"
#include "services/api/render/members.h"
#include "services/api/render/render.h"
#include "services/api/runs/body.h"
#include "services/api/service_calls.h"

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
    time_member(o, "created_at", s->created_at);
    time_member(o, "expires_at", s->expires_at);
    text_member(o, "csrf_token", csrf);
    tab_out_close(o, '}');
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
    /* The gateway adds `Secure` where the client came over TLS. */
    int64_t seconds = (s->expires_at - s->created_at + 500000) / 1000000;
    r->cookie = tab_arena_printf(r->arena, "%s=%s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict",
                                 TAB_SESSION_COOKIE, token, (long long)seconds);
    sodium_memzero(token, sizeof token);
    if (r->cookie == NULL)
        return tab_no_memory(err);
    session_json(r, s, hex);
    r->status = 201;
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
