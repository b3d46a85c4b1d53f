/* Sign-in by OpenID Connect's authorization code flow with PKCE (RFC 7636, S256):
 *
 *   begin     a row: hashes of state and of the browser's cookie, nonce, verifier  --> the provider's page
 *   complete  the row is taken, whatever comes of it: state and code count once, in the browser that began
 *             code --token endpoint--> ID token --signature, issuer, audience, nonce, times--> a person
 *             --> a session, whose token is new
 *
 * The provider sends people back to the console, at the one address that the operator set; nothing in a
 * request says where to. Codes, verifiers, secrets and tokens are in no log, no error and no answer. */
#include <sodium.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "services/keys/people/fetch.h"
#include "services/keys/people/people.h"

enum { BEGUN_S = 600, BEGUN_MOST = 100000, RANDOM = 32, WORD = 48, CODE_MOST = 4096 };

static void base64url(const void *bytes, size_t n, char ret[WORD])
{
    sodium_bin2base64(ret, WORD, bytes, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static void new_word(char ret[WORD])
{
    uint8_t bytes[RANDOM];
    randombytes_buf(bytes, sizeof bytes);
    base64url(bytes, sizeof bytes, ret);
    sodium_memzero(bytes, sizeof bytes);
}

static tab_param hash_param(const uint8_t hash[TAB_SHA256])
{
    return tab_p_bytes((tab_str){ (const char *)hash, TAB_SHA256 });
}

/* ---- begin ----------------------------------------------------------------------------------- */

static tab_status look_again(keys *self, tab_call *call, provider *p, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    oidc_issuer found;
    TAB_TRY(provider_look(self, call, p->issuer, &found, err));
    TAB_TRY(tab_tx_begin(self->pg, p->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.provider SET authorize = $3, token = $4, jwks = $5, post = $6::bool, "
                         "looked = now() WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_str(found.authorize),
                               tab_p_str(found.token), tab_p_str(found.jwks), tab_p_bool(found.post))));
    p->authorize = tab_arena_copy(call->arena, found.authorize).p;
    return p->authorize == NULL ? tab_no_memory(err) : tab_tx_commit(&tx, err);
}

static tab_status page_of(keys *self, tab_call *call, const provider *p, const char *state, const char *nonce,
                          const char *challenge, char **ret, tab_error *err)
{
    tab_arena *a = call->arena;
    const char *client = fetch_escaped(a, tab_str_of(p->client)),
               *scopes = fetch_escaped(a, tab_str_of(p->scopes)),
               *back = fetch_escaped(a, tab_str_of(self->console));
    if (client == NULL || scopes == NULL || back == NULL)
        return tab_no_memory(err);
    *ret = tab_arena_printf(a,
                            "%s%cresponse_type=code&client_id=%s&redirect_uri=%s&scope=%s&state=%s&nonce=%s"
                            "&code_challenge=%s&code_challenge_method=S256",
                            p->authorize, strchr(p->authorize, '?') != NULL ? '&' : '?', client, back, scopes,
                            state, nonce, challenge);
    return *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

tab_status keys_begin_signin(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__BeginSigninRequest *q = call->in;
    Tabella__BeginSigninReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    char state[WORD], nonce[WORD], verifier[WORD], challenge[WORD];
    uint8_t hash[TAB_SHA256];
    if (q->browser_sha256.len != TAB_SHA256)
        return tab_fail(err, TAB_VALIDATION, "browser_sha256", "not a SHA-256");
    if (self->console[0] == 0 || !tab_id_valid(tab_str_of(q->org), "org_"))
        return tab_fail(err, TAB_NOT_FOUND, "provider", "There is no such provider.");
    TAB_TRY(provider_read(self, call, q->org, q->provider, &p, err));
    if (p.old)
        TAB_TRY(look_again(self, call, &p, err));
    new_word(state);
    new_word(nonce);
    new_word(verifier);
    tab_sha256(tab_str_of(verifier), hash);
    base64url(hash, sizeof hash, challenge);
    tab_sha256(tab_str_of(state), hash);
    TAB_TRY(tab_tx_begin(self->pg, p.org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_room(tx, p.org, "SELECT count(*) FROM keys.signin WHERE org = $1", BEGUN_MOST, "sign-ins",
                        err));
    TAB_TRY(
        tab_tx_query(tx, NULL, err,
                     "INSERT INTO keys.signin (org, state, browser, provider, nonce, verifier, expires) "
                     "VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7::int))",
                     TAB_P(tab_p_text(p.org), hash_param(hash), hash_param(q->browser_sha256.data),
                           tab_p_text(p.id), tab_p_text(nonce), tab_p_text(verifier), tab_p_int(BEGUN_S))));
    TAB_TRY(tab_tx_commit(&tx, err));
    return page_of(self, call, &p, state, nonce, challenge, &out->url, err);
}

/* ---- complete -------------------------------------------------------------------------------- */

typedef struct {
    const char *org, *provider, *nonce, *verifier;
} begun;

static tab_status again(tab_error *err)
{
    return tab_fail(err, TAB_AUTH_MISSING, "", "This sign-in does not hold or has ended. Begin it again.");
}

/* Takes the row, whoever asks; it counts for the browser that began alone. */
static tab_status take(keys *self, tab_call *call, begun *ret, tab_error *err)
{
    const Tabella__CompleteSigninRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t hash[TAB_SHA256];
    tab_sha256(tab_str_of(q->state), hash);
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "DELETE FROM keys.signin WHERE state = $1 AND expires > now() "
                         "RETURNING org, provider, nonce, verifier, browser",
                         TAB_P(hash_param(hash))));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (tab_rows_count(r) != 1)
        return again(err);
    const char **text[] = { &ret->org, &ret->provider, &ret->nonce, &ret->verifier };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = tab_arena_copy(call->arena, tab_rows_str(r, 0, i)).p;
    tab_str browser = tab_rows_bytes(r, 0, 4, call->arena);
    if (tab_arena_full(call->arena))
        return tab_no_memory(err);
    return browser.n == TAB_SHA256 && tab_equal_secret(browser.p, q->browser_sha256.data, TAB_SHA256)
               ? TAB_OK
               : again(err);
}

/* The code against an ID token, and the issuer's keys of now. */
static tab_status exchange(keys *self, tab_call *call, const provider *p, const begun *b, tab_str *ret_token,
                           tab_str *ret_jwks, tab_error *err)
{
    const Tabella__CompleteSigninRequest *q = call->in;
    tab_arena *a = call->arena;
    const char *code = fetch_escaped(a, tab_str_of(q->code)),
               *back = fetch_escaped(a, tab_str_of(self->console)),
               *client = fetch_escaped(a, tab_str_of(p->client)), *secret = fetch_escaped(a, p->secret);
    if (code == NULL || back == NULL || client == NULL || secret == NULL)
        return tab_no_memory(err);
    bool basic = p->secret.n > 0 && !p->post;
    const char *form = tab_arena_printf(
        a, "grant_type=authorization_code&code=%s&redirect_uri=%s&code_verifier=%s%s%s%s%s", code, back,
        b->verifier, basic ? "" : "&client_id=", basic ? "" : client,
        p->secret.n > 0 && p->post ? "&client_secret=" : "", p->secret.n > 0 && p->post ? secret : "");
    tab_str answer;
    fetch_call c = { .url = p->token, .form = form, .allow = self->allow, .deadline = call->deadline };
    if (form == NULL)
        return tab_no_memory(err);
    if (basic) {
        c.user = client;
        c.password = secret;
    }
    TAB_TRY(fetch(a, &c, &answer, err));
    TAB_TRY(oidc_read_answer(a, answer, ret_token, err));
    return fetch(a, &(fetch_call){ .url = p->jwks, .allow = self->allow, .deadline = call->deadline },
                 ret_jwks, err);
}

static tab_status described(keys *self, tab_call *call, const provider *p, const begun *b, oidc_person *ret,
                            tab_error *err)
{
    tab_str token, jwks;
    TAB_TRY(fetch_begin(&self->fetching, err));
    tab_status s = exchange(self, call, p, b, &token, &jwks, err);
    fetch_end(&self->fetching);
    TAB_TRY(s);
    oidc_expected want = { p->issuer, p->client, b->nonce, p->claim, tab_now_us() / 1000000, p->subject };
    return oidc_verify(call->arena, token, jwks, &want, ret, err);
}

static tab_status let_in(keys *self, tab_call *call, const provider *p, const oidc_person *who,
                         tab_error *err)
{
    const Tabella__CompleteSigninRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    char person[TAB_ID], id[TAB_ID];
    bool changed;
    tab_id_new(id, "ses_");
    TAB_TRY(tab_tx_begin(self->pg, p->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(person_seen(tx, call, p, who, person, &changed, err));
    TAB_TRY(keys_session_insert(
        self, tx, call,
        &(keys_session){ .org = p->org, .id = id, .key = person, .token = q->token_sha256, .sid = who->sid },
        err));
    TAB_TRY(keys_session_show(tx, call, q->token_sha256, err));
    if (((Tabella__Session *)call->out)->known)
        TAB_TRY(keys_audit(tx, call, p->org, person, "session.create", id, p->id, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    return changed ? keys_refill(self, call, p->org, NULL, err) : TAB_OK;
}

static void count(const char *result)
{
    tab_metric_add(
        tab_counter("tabella_signins_total", "Sign-ins by identity providers, by what came of them", result),
        1);
}

tab_status keys_complete_signin(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__CompleteSigninRequest *q = call->in;
    begun b;
    provider p;
    oidc_person *who = tab_arena_new_of(call->arena, oidc_person, 1);
    size_t code = strlen(q->code);
    if (q->browser_sha256.len != TAB_SHA256 || q->token_sha256.len != TAB_SHA256 || code == 0 ||
        code > CODE_MOST)
        return again(err);
    if (who == NULL)
        return tab_no_memory(err);
    TAB_TRY(take(self, call, &b, err));
    TAB_TRY(provider_read(self, call, b.org, b.provider, &p, err));
    tab_status s = described(self, call, &p, &b, who, err);
    if (s == TAB_OK)
        s = let_in(self, call, &p, who, err);
    count(s == TAB_OK ? "result=\"in\"" : "result=\"refused\"");
    if (s == TAB_OK)
        return TAB_OK;
    tab_log_fields(TAB_WARN, "a sign-in was refused", "provider", p.id, "why", err->message, NULL);
    return s == TAB_AUTH_MISSING || s == TAB_VALIDATION ? again(err) : s;
}
