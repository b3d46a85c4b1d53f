/* A provider ends sessions (OpenID Connect Back-Channel Logout 1.0; decision 0626): it posts a token that it
 * signed, and the sessions that this names are tombstones in Redis before it is answered.
 *
 * Whoever posts is a stranger until the signature holds. So that strangers make no traffic to the provider,
 * its keys are kept, and read again once a minute at most. */
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/security/crypto.h"
#include "services/keys/people/fetch.h"
#include "services/keys/people/people.h"

enum { KEYS_GOOD_S = 600, AGAIN_S = 60 };

/* The provider's keys; again: those that are kept may be too old for this token. */
static tab_status keys_of(keys *self, tab_call *call, const provider *p, bool again, tab_str *ret,
                          tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    *ret = TAB_S("");
    TAB_TRY(tab_tx_begin(self->pg, p->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "UPDATE keys.provider SET keys_read = now() WHERE org = $1 AND id = $2 "
                     "AND keys_read < now() - make_interval(secs => $3::int) RETURNING 1",
                     TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_int(again ? AGAIN_S : KEYS_GOOD_S))));
    bool ours = tab_rows_count(r) == 1; /* to read them; others that come meanwhile do not */
    tab_rows_free(tab_take(&r));
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT keys FROM keys.provider WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id))));
    if (tab_rows_count(r) == 1)
        *ret = tab_arena_copy(call->arena, tab_rows_str(r, 0, 0));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (!ours)
        return TAB_OK;
    TAB_TRY(fetch_begin(&self->fetching, err));
    tab_status s =
        fetch(call->arena, &(fetch_call){ .url = p->jwks, .allow = self->allow, .deadline = call->deadline },
              ret, err);
    fetch_end(&self->fetching);
    TAB_TRY(s);
    TAB_TRY(tab_tx_begin(self->pg, p->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err, "UPDATE keys.provider SET keys = $3 WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_str(*ret))));
    return tab_tx_commit(&tx, err);
}

static tab_status verified(keys *self, tab_call *call, const provider *p, oidc_logout *ret, tab_error *err)
{
    const Tabella__LogoutRequest *q = call->in;
    const oidc_expected want = { p->issuer, p->client, "", "", tab_now_us() / 1000000, p->subject };
    tab_str jwks, token = tab_str_of(q->token);
    TAB_TRY(keys_of(self, call, p, false, &jwks, err));
    tab_status s = oidc_verify_logout(call->arena, token, jwks, &want, ret, err);
    if (s != TAB_AUTH_MISSING)
        return s;
    TAB_TRY(keys_of(self, call, p, true, &jwks, err));
    return oidc_verify_logout(call->arena, token, jwks, &want, ret, err);
}

/* CONFLICT: the token came before. */
static tab_status once(tab_tx *tx, const provider *p, tab_str jti, tab_error *err)
{
    uint8_t hash[TAB_SHA256];
    tab_sha256(jti, hash);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO keys.logout (org, provider, token, expires) "
                        "VALUES ($1, $2, $3, now() + make_interval(secs => $4::int))",
                        TAB_P(tab_p_text(p->org), tab_p_text(p->id),
                              tab_p_bytes((tab_str){ (const char *)hash, sizeof hash }),
                              tab_p_int(2 * (OIDC_AGE_MOST_S + OIDC_SKEW_S))));
}

/* The sessions that the token names, and those of which it is not known in which of the provider's sessions
 * they began. */
static tab_status end_all(tab_tx *tx, tab_call *call, const provider *p, const oidc_logout *l,
                          keys_tombstone **ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "DELETE FROM keys.session s USING keys.person p WHERE s.org = $1 AND p.org = s.org "
        "AND p.id = s.key_id AND p.provider = $2 AND ($3 = '' OR p.subject = $3) "
        "AND ($4 = '' OR s.sid = $4 OR ($3 <> '' AND s.sid = '')) RETURNING s.id, s.key_id, s.hash",
        TAB_P(tab_p_text(p->org), tab_p_text(p->id), tab_p_str(l->subject), tab_p_str(l->sid))));
    size_t n = tab_rows_count(r);
    keys_tombstone *t = tab_arena_new_of(call->arena, keys_tombstone, n + 1);
    if (t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tab_str hash = tab_rows_bytes(r, i, 2, call->arena);
        TAB_TRY(keys_session_bury(tx, p->org, tab_rows_text(r, i, 1), hash, &t[i], err));
        TAB_TRY(keys_audit(tx, call, p->org, tab_rows_text(r, i, 1), "session.delete", tab_rows_text(r, i, 0),
                           "by its provider", err));
    }
    *ret = t;
    *ret_n = n;
    return TAB_OK;
}

tab_status keys_logout(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__LogoutRequest *q = call->in;
    Tabella__LogoutReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    provider p;
    oidc_logout l;
    keys_tombstone *t = NULL;
    size_t n = 0;
    if (self->console[0] == 0 || !tab_id_valid(tab_str_of(q->org), "org_"))
        return tab_fail(err, TAB_NOT_FOUND, "provider", "There is no such provider.");
    TAB_TRY(provider_read(self, call, q->org, q->provider, &p, err));
    tab_status s = verified(self, call, &p, &l, err);
    if (s == TAB_AUTH_MISSING) {
        tab_log_fields(TAB_WARN, "a logout was refused", "provider", p.id, "why", err->message, NULL);
        return tab_fail(err, TAB_VALIDATION, "logout_token", "The logout token does not hold.");
    }
    TAB_TRY(s);
    TAB_TRY(tab_tx_begin(self->pg, p.org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    s = once(tx, &p, l.jti, err);
    if (s == TAB_CONFLICT)
        return tab_fail(err, TAB_VALIDATION, "logout_token", "The logout token came before.");
    TAB_TRY(s);
    TAB_TRY(end_all(tx, call, &p, &l, &t, &n, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->ended = (uint32_t)n;
    return keys_revoke(self, t, n, call->deadline, err);
}
