/* Who calls, as the gateway decided it: the grant of an API key, and the signed line in which the
 * gateway hands it to the api. Used by the gateway's module, by keys and by the api.
 *
 * A grant as text, fields divided by one space (so it lies in Redis and travels in a header):
 *
 *   org key scopes plan key_rpm org_rpm endpoint_rpm cells_per_minute endpoint_concurrency
 * batch_concurrency version [bounds]
 *
 *   bounds     where the key has any (common/security/bounds.h); the identity tells of its endpoints alone
 *
 * The header X-Tabella-Identity of every request that the gateway lets through:
 *
 *   v1 time_ms request_id route path state grant... signature
 *
 *   route      a name of common/http/routes.h, which implies the method (HEAD is its GET)
 *   path       the raw path that was matched, without its query
 *   state      state version of the endpoint that :id names (TAB_ROUTE_ENDPOINT routes), or "-"
 *   signature  keyed BLAKE2b (RFC 7693), 32 bytes in hex, over everything before it; the key is BLAKE2b of
 *              the shared secret (decision 0131)
 *
 *   time_ms    milliseconds since 1970 by the clock of Redis where the gateway knows it, else by its own
 *
 * The api accepts a request only if the signature holds, the time is within 60 s of its own clock or of
 * Redis's (decision 0233), and its own tab_route_find of its own method and path gives the same
 * route and path. Nothing else that a client sends says who it is.
 *
 * Where the gateway needs a key looked up (no entry in Redis, or Redis away) it asks the api:
 *
 *   GET /internal/authenticate     with route AUTHENTICATE, org "-", key = SHA-256 of the secret in
 * hex
 *
 *   204 with the grant's text in X-Tabella-Grant; 401 where the key is unknown; 503 where nobody
 * knows. "X-Tabella-Uncounted: 1" means that the request is counted in Redis
 * (AuthenticateRequest.uncounted). */
#ifndef TAB_IDENTITY_H
#define TAB_IDENTITY_H

#include <sodium.h>

#include "common/base/base.h"
#include "common/security/bounds.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAB_IDENTITY_HEADER "X-Tabella-Identity"
#define TAB_GRANT_HEADER "X-Tabella-Grant"
#define TAB_AUTHENTICATE_ROUTE "AUTHENTICATE"
#define TAB_AUTHENTICATE_PATH "/internal/authenticate"
#define TAB_LIVE_PATH "/internal/live" /* no identity: 204 as soon as the api's event loop turns */

enum {
    TAB_IDENTITY_SKEW_MS = 60000,           /* an identity is good for so long */
    TAB_GRANT_TEXT = 320 + TAB_BOUNDS_TEXT, /* bytes that hold any grant's text */
    TAB_GRANT_SESSION = 32, /* bit of a grant's scopes: a session of the key calls, not the key itself */
    TAB_IDENTITY_TEXT = 1024 + TAB_BOUNDS_PUBLIC /* and any identity's, with a path of up to 400 bytes */
};

typedef struct {
    char org[48], key[72], plan[16];
    unsigned scopes; /* bits of tab_scope, and TAB_GRANT_SESSION */
    uint32_t key_rpm, org_rpm, endpoint_rpm;
    uint64_t cells_per_minute;
    uint32_t endpoint_concurrency, batch_concurrency;
    uint64_t version;
    tab_str bounds; /* "": none; read: a view into the text, well formed */
} tab_grant;

/* Writes the text and a NUL; gives its length, 0 when it does not fit or a field is not one word.
 */
size_t tab_grant_write(const tab_grant *g, char *buf, size_t size);
bool tab_grant_read(tab_str text, tab_grant *ret);

typedef struct {
    int64_t time_ms;
    tab_str request_id, route, path, state; /* read: views into the header */
    tab_grant grant;
} tab_identity;

/* Of the shared secret, made once. */
typedef struct {
    unsigned char key[crypto_generichash_KEYBYTES];
} tab_identity_key;

/* secret: 32 bytes or more. False when it is shorter. */
bool tab_identity_key_set(tab_identity_key *k, tab_str secret) TAB_CHECKED;

/* A secret, and on a second line, while it is replaced, the one before it or the one to come: who signs takes
 * the first, who verifies takes both. How many; 0: none, or more. */
enum { TAB_IDENTITY_SECRETS = 2 };
size_t tab_identity_secrets(tab_str text, tab_str ret[TAB_IDENTITY_SECRETS]) TAB_CHECKED;

/* Writes header value and NUL; gives its length, 0 when it does not fit or a field is not one word.
 */
size_t tab_identity_sign(const tab_identity_key *k, const tab_identity *id, char *buf, size_t size);

/* What a change that a session asks for must carry in X-CSRF-Token: a keyed hash of the hash of the session's
 * token, so that gateway and api know it without a look-up, and no script of another origin does. */
enum { TAB_CSRF_LENGTH = 2 * crypto_generichash_BYTES };
void tab_csrf_token(const tab_identity_key *k, tab_str session_hash, char ret[TAB_CSRF_LENGTH + 1]);

/* False for a wrong signature or another form. That it is also timely is another question: whoever fails
 * the first is a stranger, and whoever fails only the second has done nothing wrong. */
bool tab_identity_verify(const tab_identity_key *k, tab_str header, tab_identity *ret) TAB_CHECKED;
/* Is its time within TAB_IDENTITY_SKEW_MS of now? */
bool tab_identity_timely(const tab_identity *id, int64_t now_ms) TAB_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
