/* See oidc.h. Of a key set only the public members of RSA and EC keys are handed to libcjose, one key at a
 * time: a symmetric key cannot get there, so no token is verified with one. */
#include "services/keys/people/oidc.h"

#include <cjose/cjose.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/json/json.h"
#include "common/security/crypto.h"

enum {
    DEPTH = 8,
    TEXT_MOST = 255,
    MODULUS_LEAST = 342,
    MODULUS_MOST = 1366 /* base64 of 2048 and 8192 bits */
};

static tab_status wrong(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_AUTH_MISSING, "", "the provider's answer does not hold: %s", what);
}

static tab_str text_of(const tab_json *of, const char *key)
{
    const tab_json *m = tab_json_get(of, key);
    return m != NULL && m->kind == TAB_JSON_STRING ? m->text : TAB_S("");
}

/* Visible text of one line, as an id or a name may be. */
static bool plain(tab_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return s.n <= TEXT_MOST;
}

static bool listed(const tab_json *list, const char *what)
{
    for (const tab_json *m = list != NULL && list->kind == TAB_JSON_ARRAY ? list->first : NULL; m != NULL;
         m = m->next)
        if (m->kind == TAB_JSON_STRING && tab_str_eq(m->text, tab_str_of(what)))
            return true;
    return false;
}

/* ---- the issuer's description ---------------------------------------------------------------- */

static bool url_good(tab_str url)
{
    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] <= ' ' || url.p[i] > '~' || url.p[i] == '#')
            return false;
    return url.n > 8 && url.n <= 512 &&
           (memcmp(url.p, "https://", 8) == 0 || memcmp(url.p, "http://", 7) == 0);
}

tab_status oidc_read_issuer(tab_arena *a, tab_str text, const char *issuer, oidc_issuer *ret, tab_error *err)
{
    const tab_json *root;
    tab_error why;
    if (tab_json_read(a, text, DEPTH, &root, &why) != TAB_OK)
        return tab_fail(err, TAB_VALIDATION, "issuer",
                        "The issuer's description (.well-known/openid-configuration) is no JSON object.");
    if (!tab_str_eq(text_of(root, "issuer"), tab_str_of(issuer)))
        return tab_fail(
            err, TAB_VALIDATION, "issuer",
            "The issuer's description names another issuer. Give it as it is there, to the letter.");
    *ret = (oidc_issuer){ text_of(root, "authorization_endpoint"), text_of(root, "token_endpoint"),
                          text_of(root, "jwks_uri"), false };
    const tab_json *methods = tab_json_get(root, "token_endpoint_auth_methods_supported");
    ret->post = listed(methods, "client_secret_post") && !listed(methods, "client_secret_basic");
    if (!url_good(ret->authorize) || !url_good(ret->token) || !url_good(ret->jwks))
        return tab_fail(err, TAB_VALIDATION, "issuer",
                        "The issuer's description lacks authorization_endpoint, token_endpoint or jwks_uri.");
    /* An issuer behind TLS sends nobody to a page without. */
    bool tls = strncmp(issuer, "https://", 8) == 0;
    if (tls && (memcmp(ret->authorize.p, "https://", 8) != 0 || memcmp(ret->token.p, "https://", 8) != 0 ||
                memcmp(ret->jwks.p, "https://", 8) != 0))
        return tab_fail(err, TAB_VALIDATION, "issuer",
                        "The issuer's description names addresses without https.");
    return TAB_OK;
}

tab_status oidc_read_answer(tab_arena *a, tab_str text, tab_str *ret_token, tab_error *err)
{
    const tab_json *root;
    tab_error why;
    if (tab_json_read(a, text, DEPTH, &root, &why) != TAB_OK)
        return wrong(err, "it is no JSON");
    *ret_token = text_of(root, "id_token");
    return ret_token->n > 0 && ret_token->n <= OIDC_TOKEN_MOST ? TAB_OK : wrong(err, "no ID token");
}

/* ---- the signature --------------------------------------------------------------------------- */

/* libcjose asserts what it decodes to be base64url without padding: it is looked at before. */
static bool base64url(tab_str s, size_t least, size_t most)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
              c == '_'))
            return false;
    }
    return s.n >= least && s.n <= most && s.n % 4 != 1;
}

/* Three such parts with a dot between. */
static bool compact(tab_str token)
{
    for (int part = 0; part < 3; part++) {
        const char *dot = token.n == 0 ? NULL : memchr(token.p, '.', token.n);
        size_t n = dot == NULL ? token.n : (size_t)(dot - token.p);
        if ((dot == NULL) != (part == 2) || !base64url((tab_str){ token.p, n }, 1, OIDC_TOKEN_MOST))
            return false;
        token.p += n + (dot != NULL);
        token.n -= n + (dot != NULL);
    }
    return true;
}

typedef struct {
    tab_str alg, kid;
    char kind; /* 'R' or 'E' */
} header;

static const struct {
    const char *alg, *curve;
    char kind;
} ALGORITHMS[] = {
    { "RS256", NULL, 'R' },    { "RS384", NULL, 'R' },    { "RS512", NULL, 'R' },
    { "PS256", NULL, 'R' },    { "PS384", NULL, 'R' },    { "PS512", NULL, 'R' },
    { "ES256", "P-256", 'E' }, { "ES384", "P-384", 'E' }, { "ES512", "P-521", 'E' },
};
enum { N_ALGORITHMS = sizeof ALGORITHMS / sizeof *ALGORITHMS };

static size_t algorithm_of(tab_str name)
{
    size_t i = 0;
    while (i < N_ALGORITHMS && !tab_str_eq(name, tab_str_of(ALGORITHMS[i].alg)))
        i++;
    return i;
}

/* The protected header, read strictly: no name twice, nothing critical. */
static tab_status read_header(tab_arena *a, tab_str token, header *ret, size_t *ret_algorithm, tab_error *err)
{
    const char *dot = token.n == 0 ? NULL : memchr(token.p, '.', token.n);
    size_t n = dot == NULL ? 0 : (size_t)(dot - token.p), length = 0;
    char *text = tab_arena_alloc(a, n + 1, 1);
    const tab_json *root;
    tab_error why;
    if (text == NULL)
        return tab_no_memory(err);
    if (n == 0 || sodium_base642bin((unsigned char *)text, n, token.p, n, NULL, &length, NULL,
                                    sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return wrong(err, "the token's header is not base64");
    text[length] = 0;
    if (tab_json_read(a, (tab_str){ text, length }, DEPTH, &root, &why) != TAB_OK)
        return wrong(err, "the token's header is no JSON");
    *ret = (header){ text_of(root, "alg"), text_of(root, "kid"), 0 };
    *ret_algorithm = algorithm_of(ret->alg);
    if (*ret_algorithm == N_ALGORITHMS)
        return wrong(err, "the token's algorithm is not taken");
    if (tab_json_get(root, "crit") != NULL || tab_json_get(root, "b64") != NULL)
        return wrong(err, "the token's header is critical");
    ret->kind = ALGORITHMS[*ret_algorithm].kind;
    return TAB_OK;
}

static void member(tab_out *o, const char *key, tab_str value)
{
    tab_out_key(o, key);
    tab_out_str(o, value);
}

/* The public key as libcjose reads it; "" where it is not one for this token. */
static void key_for(const tab_json *k, const header *h, size_t algorithm, tab_out *o)
{
    bool rsa = h->kind == 'R';
    tab_str use = text_of(k, "use"), alg = text_of(k, "alg"), kid = text_of(k, "kid");
    if (k->kind != TAB_JSON_OBJECT || !tab_str_eq(text_of(k, "kty"), rsa ? TAB_S("RSA") : TAB_S("EC")) ||
        (use.n > 0 && !tab_str_eq(use, TAB_S("sig"))) || (alg.n > 0 && !tab_str_eq(alg, h->alg)) ||
        (h->kid.n > 0 && !tab_str_eq(kid, h->kid)))
        return;
    if (rsa &&
        (!base64url(text_of(k, "n"), MODULUS_LEAST, MODULUS_MOST) || !base64url(text_of(k, "e"), 1, 8)))
        return;
    if (!rsa && (!tab_str_eq(text_of(k, "crv"), tab_str_of(ALGORITHMS[algorithm].curve)) ||
                 !base64url(text_of(k, "x"), 43, 88) || !base64url(text_of(k, "y"), 43, 88)))
        return;
    tab_out_open(o, '{');
    member(o, "kty", rsa ? TAB_S("RSA") : TAB_S("EC"));
    for (const char *const *name = rsa ? (const char *const[]){ "n", "e", NULL }
                                       : (const char *const[]){ "crv", "x", "y", NULL };
         *name != NULL; name++)
        member(o, *name, text_of(k, *name));
    tab_out_close(o, '}');
}

static bool signed_by(cjose_jws_t *jws, tab_str key)
{
    cjose_err why;
    cjose_jwk_t *jwk = cjose_jwk_import(key.p, key.n, &why);
    bool good = jwk != NULL && cjose_jws_verify(jws, jwk, &why);
    if (jwk != NULL)
        cjose_jwk_release(jwk);
    return good;
}

/* Whether one of the issuer's keys made the signature. */
static tab_status check(cjose_jws_t *jws, const tab_json *jwks, const header *h, size_t algorithm,
                        tab_error *err)
{
    const tab_json *keys = tab_json_get(jwks, "keys");
    size_t seen = 0, fit = 0;
    for (const tab_json *k = keys != NULL && keys->kind == TAB_JSON_ARRAY ? keys->first : NULL;
         k != NULL && seen < OIDC_KEYS_MOST; k = k->next, seen++) {
        tab_out o = { 0 };
        key_for(k, h, algorithm, &o);
        bool fits = o.n > 0 && !o.failed, good = fits && signed_by(jws, tab_out_text(&o));
        tab_out_free(&o);
        if (good)
            return TAB_OK;
        fit += fits;
    }
    return wrong(err, fit == 0 ? "no key of the issuer is for the token" : "the token's signature is wrong");
}

/* The claims of a token whose signature holds, in the arena. */
static tab_status payload(tab_arena *a, tab_str token, tab_str jwks, tab_str *ret, tab_error *err)
{
    header h = { .kind = 0 };
    size_t algorithm = 0, n = 0;
    uint8_t *bytes = NULL;
    const tab_json *set;
    tab_error why;
    cjose_err failed;
    if (!compact(token))
        return wrong(err, "the token is not one");
    TAB_TRY(read_header(a, token, &h, &algorithm, err));
    if (tab_json_read(a, jwks, DEPTH, &set, &why) != TAB_OK)
        return wrong(err, "the issuer's keys are no JSON");
    cjose_jws_t *jws = cjose_jws_import(token.p, token.n, &failed);
    if (jws == NULL)
        return wrong(err, "the token is not one");
    tab_status s = check(jws, set, &h, algorithm, err);
    if (s == TAB_OK && !cjose_jws_get_plaintext(jws, &bytes, &n, &failed))
        s = wrong(err, "the token is empty");
    if (s == TAB_OK) {
        char *copy = tab_arena_alloc(a, n + 1, 1);
        if (copy == NULL)
            s = tab_no_memory(err);
        else
            *ret = (tab_str){ memcpy(copy, bytes, n), n };
    }
    cjose_jws_release(jws); /* the plaintext is its own */
    return s;
}

/* ---- the claims ------------------------------------------------------------------------------ */

static bool audience_good(const tab_json *root, const char *client)
{
    const tab_json *aud = tab_json_get(root, "aud"), *azp = tab_json_get(root, "azp");
    tab_str who = tab_str_of(client);
    bool one = aud != NULL && aud->kind == TAB_JSON_STRING && tab_str_eq(aud->text, who);
    bool among = listed(aud, client);
    if (azp != NULL && !(azp->kind == TAB_JSON_STRING && tab_str_eq(azp->text, who)))
        return false;
    return one || (among && (aud->count == 1 || azp != NULL)); /* of several, the one it was made for */
}

static bool seconds(const tab_json *root, const char *key, double *ret)
{
    const tab_json *m = tab_json_get(root, key);
    *ret = m != NULL && m->kind == TAB_JSON_NUMBER ? m->num : 0;
    return m != NULL && m->kind == TAB_JSON_NUMBER && m->num > 0 && m->num < 1e11;
}

/* ends: it must have an end, which logout tokens of the drafts have not. */
static const char *times_wrong(const tab_json *root, int64_t now, bool ends)
{
    double exp, iat, nbf;
    bool has = seconds(root, "exp", &exp);
    if (!seconds(root, "iat", &iat) || (!has && (ends || tab_json_get(root, "exp") != NULL)))
        return "the token has no times";
    if (has && exp <= (double)(now - OIDC_SKEW_S))
        return "the token is expired";
    if (iat > (double)(now + OIDC_SKEW_S) || iat < (double)(now - OIDC_AGE_MOST_S - OIDC_SKEW_S))
        return "the token was not issued now";
    if (tab_json_get(root, "nbf") != NULL &&
        (!seconds(root, "nbf", &nbf) || nbf > (double)(now + OIDC_SKEW_S)))
        return "the token is not good yet";
    return NULL;
}

static void read_person(const tab_json *root, const char *claim, oidc_person *ret)
{
    const tab_json *verified = tab_json_get(root, "email_verified"), *groups = tab_json_get(root, claim);
    tab_str email = text_of(root, "email"), name = text_of(root, "name");
    if (name.n == 0 || !plain(name))
        name = text_of(root, "preferred_username");
    ret->email = plain(email) ? email : TAB_S("");
    ret->name = plain(name) ? name : TAB_S("");
    ret->email_verified = verified != NULL && verified->kind == TAB_JSON_BOOL && verified->yes;
    for (const tab_json *m = groups != NULL && groups->kind == TAB_JSON_ARRAY ? groups->first : NULL;
         m != NULL && ret->n_groups < OIDC_GROUPS_MOST; m = m->next)
        if (m->kind == TAB_JSON_STRING && m->text.n > 0 && plain(m->text))
            ret->group[ret->n_groups++] = m->text;
}

static const char *subject_of(const oidc_expected *want)
{
    return want->subject == NULL ? "sub" : want->subject;
}

/* The claims of a token of this issuer for this client. */
static tab_status claims(tab_arena *a, tab_str token, tab_str jwks, const oidc_expected *want,
                         const tab_json **ret, tab_error *err)
{
    tab_str text;
    tab_error why;
    if (token.n == 0 || token.n > OIDC_TOKEN_MOST || jwks.n > OIDC_ANSWER_MOST)
        return wrong(err, "the token is too long");
    TAB_TRY(payload(a, token, jwks, &text, err));
    if (tab_json_read(a, text, DEPTH, ret, &why) != TAB_OK || (*ret)->kind != TAB_JSON_OBJECT)
        return wrong(err, "the token's claims are no JSON");
    if (!tab_str_eq(text_of(*ret, "iss"), tab_str_of(want->issuer)))
        return wrong(err, "the token is another issuer's");
    return audience_good(*ret, want->client) ? TAB_OK : wrong(err, "the token is for another client");
}

tab_status oidc_verify(tab_arena *a, tab_str token, tab_str jwks, const oidc_expected *want, oidc_person *ret,
                       tab_error *err)
{
    const tab_json *root;
    *ret = (oidc_person){ 0 };
    TAB_TRY(claims(a, token, jwks, want, &root, err));
    tab_str nonce = text_of(root, "nonce");
    if (nonce.n == 0 || nonce.n != strlen(want->nonce) || !tab_equal_secret(nonce.p, want->nonce, nonce.n))
        return wrong(err, "the token is for another sign-in");
    const char *late = times_wrong(root, want->now_s, true);
    if (late != NULL)
        return wrong(err, late);
    ret->subject = text_of(root, subject_of(want));
    if (ret->subject.n == 0 || !plain(ret->subject))
        return wrong(err, "the token names nobody");
    ret->sid = plain(text_of(root, "sid")) ? text_of(root, "sid") : TAB_S("");
    read_person(root, want->groups, ret);
    return TAB_OK;
}

tab_status oidc_verify_logout(tab_arena *a, tab_str token, tab_str jwks, const oidc_expected *want,
                              oidc_logout *ret, tab_error *err)
{
    const tab_json *root;
    TAB_TRY(claims(a, token, jwks, want, &root, err));
    const tab_json *events = tab_json_get(root, "events"),
                   *event = tab_json_get(events, "http://schemas.openid.net/event/backchannel-logout");
    if (event == NULL || event->kind != TAB_JSON_OBJECT || tab_json_get(root, "nonce") != NULL)
        return wrong(err, "the token is none of a logout"); /* an ID token has a nonce and no events */
    const char *late = times_wrong(root, want->now_s, false);
    if (late != NULL)
        return wrong(err, late);
    *ret = (oidc_logout){ text_of(root, subject_of(want)), text_of(root, "sid"), text_of(root, "jti") };
    if (!plain(ret->subject) || !plain(ret->sid) || !plain(ret->jti) || ret->jti.n == 0 ||
        ret->subject.n + ret->sid.n == 0)
        return wrong(err, "the token names nobody");
    return TAB_OK;
}
