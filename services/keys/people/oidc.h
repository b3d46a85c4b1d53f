/* What of OpenID Connect needs no network: the issuer's description, the answer of its token endpoint, and ID
 * tokens, whose signatures libcjose verifies (decision 0576). All of it are bytes from outside.
 *
 * A token counts if its algorithm is one of RS, PS and ES with 256, 384 or 512 bits, signed by a key of the
 * issuer that is of that algorithm's kind, and if issuer, audience, nonce and times hold. */
#ifndef KEYS_OIDC_H
#define KEYS_OIDC_H

#include "common/base/arena.h"

enum {
    OIDC_TOKEN_MOST = 16384,
    OIDC_ANSWER_MOST = 256 << 10, /* bytes of an answer that are read */
    OIDC_KEYS_MOST = 64,
    OIDC_GROUPS_MOST = 256,
    OIDC_SKEW_S = 60,
    OIDC_AGE_MOST_S = 600 /* since a token was issued; a sign-in has that long */
};

typedef struct {
    tab_str authorize, token, jwks;
    bool post; /* client_secret_post alone is offered */
} oidc_issuer;
/* text.p[text.n] must be readable and 0, here and below. VALIDATION on `issuer`. */
tab_status oidc_read_issuer(tab_arena *a, tab_str text, const char *issuer, oidc_issuer *ret,
                            tab_error *err) TAB_CHECKED;
/* AUTH_MISSING: it holds no ID token. */
tab_status oidc_read_answer(tab_arena *a, tab_str text, tab_str *ret_token, tab_error *err) TAB_CHECKED;

typedef struct {
    const char *issuer, *client, *nonce, *groups; /* the claim that lists groups */
    int64_t now_s;
    const char *subject; /* the claim that names somebody; NULL: sub */
} oidc_expected;
typedef struct {
    tab_str subject, email, name; /* "" where the token has none */
    tab_str sid;                  /* the provider's name of its session */
    bool email_verified;
    tab_str group[OIDC_GROUPS_MOST];
    size_t n_groups;
} oidc_person;
/* AUTH_MISSING: it does not hold; err says what for the log, never a part of the token. */
tab_status oidc_verify(tab_arena *a, tab_str token, tab_str jwks, const oidc_expected *want, oidc_person *ret,
                       tab_error *err) TAB_CHECKED;

/* A logout token (OpenID Connect Back-Channel Logout 1.0), of which no nonce and no groups are wanted; it has
 * one of subject and sid, and "" for what it has not. */
typedef struct {
    tab_str subject, sid, jti;
} oidc_logout;
tab_status oidc_verify_logout(tab_arena *a, tab_str token, tab_str jwks, const oidc_expected *want,
                              oidc_logout *ret, tab_error *err) TAB_CHECKED;

#endif
