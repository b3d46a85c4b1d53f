/* Sessions of the console (decision 0337).
 *
 *   a key's secret --StartSession--> session (hash of a token) --Authenticate--> the key's grant, with
 *                                        |                                       TAB_GRANT_SESSION
 *                                        +-- signed out, or the key ended --> tombstone, as of a key
 *
 * To the gateway a session's token is one more secret: looked up, cached and revoked as keys are. So a
 * session ends as fast as a key does, and cannot outlive it. */
#include <stdio.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/http/routes.h"
#include "services/keys/keys.h"

enum { SESSIONS_MOST = 1000 }; /* of an organization */

static tab_param bytes_param(ProtobufCBinaryData b)
{
    return tab_p_bytes((tab_str){ (const char *)b.data, b.len });
}

tab_status keys_session_show(tab_tx *tx, tab_call *call, ProtobufCBinaryData token, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    Tabella__Session *out = call->out;
    tab_arena *a = call->arena;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT s.id, s.org, o.name, s.key_id, k.name, o.plan, k.scopes, s.created, "
                         "least(s.expires, k.expires), k.role, coalesce(p.email, '') "
                         "FROM keys.session s "
                         "JOIN keys.api_key k ON k.org = s.org AND k.id = s.key_id "
                         "JOIN keys.org o ON o.org = s.org "
                         "LEFT JOIN keys.person p ON p.org = s.org AND p.id = s.key_id "
                         "WHERE s.hash = $1 AND " KEYS_SESSION_LIVES " AND k.deleted IS NULL "
                         "AND (k.expires IS NULL OR k.expires > clock_timestamp()) AND o.suspended IS NULL",
                         TAB_P(bytes_param(token))));
    if (tab_rows_count(r) != 1)
        return TAB_OK;
    out->known = true;
    out->id = tab_proto_text(a, tab_rows_text(r, 0, 0));
    out->org = tab_proto_text(a, tab_rows_text(r, 0, 1));
    out->org_name = tab_proto_text(a, tab_rows_text(r, 0, 2));
    out->key_id = tab_proto_text(a, tab_rows_text(r, 0, 3));
    out->key_name = tab_proto_text(a, tab_rows_text(r, 0, 4));
    out->plan = tab_proto_text(a, tab_rows_text(r, 0, 5));
    out->scopes = (uint32_t)tab_rows_int(r, 0, 6);
    out->created_at = tab_rows_time(r, 0, 7);
    out->expires_at = tab_rows_time(r, 0, 8);
    out->role = tab_proto_text(a, tab_rows_text(r, 0, 9));
    out->email = tab_proto_text(a, tab_rows_text(r, 0, 10));
    return TAB_OK;
}

tab_status keys_session_used(tab_tx *tx, ProtobufCBinaryData token, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.session SET used = clock_timestamp() WHERE hash = $1 "
                        "AND idle IS NOT NULL AND used < clock_timestamp() - interval '1 minute'",
                        TAB_P(bytes_param(token)));
}

tab_status keys_session_insert(const keys *self, tab_tx *tx, const tab_call *call, const keys_session *s,
                               tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, NULL, err, "DELETE FROM keys.session WHERE org = $1 AND expires <= now()",
                         TAB_P(tab_p_text(s->org))));
    TAB_TRY(tab_tx_room(tx, s->org, "SELECT count(*) FROM keys.session WHERE org = $1", SESSIONS_MOST,
                        "sessions", err));
    /* The key's row is locked: one that ends meanwhile takes this session with it. */
    return tab_tx_query(
        tx, NULL, err,
        "INSERT INTO keys.session (org, id, key_id, hash, version, expires, address, idle, sid) "
        "SELECT org, $2, id, $4, nextval('keys.version'), "
        "clock_timestamp() + make_interval(secs => $5::int), $6, "
        "CASE WHEN person THEN make_interval(secs => $7::int) END, $8 "
        "FROM keys.api_key WHERE org = $1 AND id = $3 AND deleted IS NULL FOR SHARE",
        TAB_P(tab_p_text(s->org), tab_p_text(s->id), tab_p_text(s->key), bytes_param(s->token),
              tab_p_int(self->session_s), tab_p_text(call->address),
              tab_p_int(self->idle_s + KEYS_CACHE_ENTRY_S), tab_p_str(s->sid)));
}

static tab_status hash_good(ProtobufCBinaryData hash, const char *param, tab_error *err)
{
    return hash.len == TAB_SECRET_HASH ? TAB_OK : tab_fail(err, TAB_VALIDATION, param, "not a SHA-256");
}

/* A session would be refused wherever its key is: not begun, and why. *ret_known: false once the key has
 * ended. */
static tab_status within(const tab_bounds_writer *w, const char *address, bool *ret_known, tab_error *err)
{
    tab_bounds b;
    tab_network from;
    if (!tab_bounds_read((tab_str){ w->text, w->n }, &b))
        return tab_fail(err, TAB_INTERNAL, "", "bounds that cannot be read");
    if (tab_role_named(b.role) == TAB_PERSON_DIRECTORY)
        return tab_fail(err, TAB_AUTH_SCOPE, "key", "A key of a directory cannot sign in.");
    *ret_known = b.until_s == 0 || tab_now_us() / 1000000 <= b.until_s;
    if (*ret_known && b.endpoints.p != NULL)
        return tab_fail(err, TAB_AUTH_SCOPE, "key", "A key that is bound to endpoints cannot sign in.");
    if (!*ret_known || (b.key_networks.p == NULL && b.org_networks.p == NULL))
        return TAB_OK;
    if (tab_network_read(tab_str_of(address), &from) &&
        (b.key_networks.p == NULL || tab_bounds_has_address(b.key_networks, &from)) &&
        (b.org_networks.p == NULL || tab_bounds_has_address(b.org_networks, &from)))
        return TAB_OK;
    return tab_fail(err, TAB_AUTH_SCOPE, "networks",
                    "This key cannot be used from %s; its networks do not include that address.",
                    address[0] != 0 ? address : "the address");
}

/* Whose key signs in; nothing where no live key has this secret. A session's token signs nobody in. */
static tab_status whose(keys *self, tab_call *call, ProtobufCBinaryData secret, bool *ret_known,
                        tab_grant *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_granted found;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_store_grant(tx, secret.data, ret_known, &found, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (!*ret_known)
        return TAB_OK;
    *ret = found.grant;
    ret->bounds = TAB_S("");
    *ret_known = (ret->scopes & TAB_GRANT_SESSION) == 0;
    return *ret_known ? within(&found.bounds, call->address, ret_known, err) : TAB_OK;
}

tab_status keys_start_session(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__StartSessionRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_grant g;
    bool known;
    char id[TAB_ID];
    TAB_TRY(hash_good(q->key_sha256, "key_sha256", err));
    TAB_TRY(hash_good(q->token_sha256, "token_sha256", err));
    TAB_TRY(whose(self, call, q->key_sha256, &known, &g, err));
    if (!known)
        return TAB_OK;
    tab_id_new(id, "ses_");
    TAB_TRY(tab_tx_begin(self->pg, g.org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_session_insert(
        self, tx, call,
        &(keys_session){ .org = g.org, .id = id, .key = g.key, .token = q->token_sha256, .sid = TAB_S("") },
        err));
    TAB_TRY(keys_session_show(tx, call, q->token_sha256, err));
    if (((Tabella__Session *)call->out)->known)
        TAB_TRY(keys_audit(tx, call, g.org, g.key, "session.create", id, "", err));
    return tab_tx_commit(&tx, err);
}

tab_status keys_get_session(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__GetSessionRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(hash_good(q->token_sha256, "token_sha256", err));
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_session_show(tx, call, q->token_sha256, err));
    return tab_tx_commit(&tx, err);
}

tab_status keys_session_bury(tab_tx *tx, const char *org, const char *key_id, tab_str hash, keys_tombstone *t,
                             tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    if (hash.n != TAB_SECRET_HASH)
        return tab_fail(err, TAB_INTERNAL, "", "a stored hash of another length");
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "INSERT INTO keys.tombstone (org, key_id, hash, version) "
                         "VALUES ($1, $2, $3, nextval('keys.version')) RETURNING version",
                         TAB_P(tab_p_text(org), tab_p_text(key_id), tab_p_bytes(hash))));
    t->version = tab_rows_int(r, 0, 0);
    memcpy(t->hash, hash.p, sizeof t->hash);
    snprintf(t->org, sizeof t->org, "%s", org);
    snprintf(t->key_id, sizeof t->key_id, "%s", key_id);
    return keys_store_raise_epoch(tx, org, t->version, err);
}

tab_status keys_end_session(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__EndSessionRequest *q = call->in;
    Tabella__EndSessionReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    keys_tombstone t;
    if (q->id[0] == 0)
        TAB_TRY(hash_good(q->token_sha256, "token_sha256", err));
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "DELETE FROM keys.session WHERE org = $1 "
                         "AND CASE WHEN $3 = '' THEN hash = $2 ELSE id = $3 END RETURNING id, key_id, hash",
                         TAB_P(tab_p_text(call->org), bytes_param(q->token_sha256), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0) { /* ended before, perhaps by a try that could not tell the gateways */
        keys_tombstone *left;
        size_t n;
        TAB_TRY(keys_store_pending(tx, call->arena, SESSIONS_MOST, &left, &n, err));
        TAB_TRY(tab_tx_commit(&tx, err));
        return keys_revoke(self, left, n, call->deadline, err);
    }
    tab_str hash = tab_rows_bytes(r, 0, 2, call->arena);
    TAB_TRY(keys_session_bury(tx, call->org, tab_rows_text(r, 0, 1), hash, &t, err));
    TAB_TRY(keys_audit(tx, call, call->org, "", "session.delete", tab_rows_text(r, 0, 0), "", err));
    TAB_TRY(tab_tx_commit(&tx, err));
    out->known = true;
    return keys_revoke(self, &t, 1, call->deadline, err);
}

tab_status keys_list_sessions(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    Tabella__ListSessionsReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT s.id, s.key_id, k.name, s.address, s.created, s.used, s.expires "
                         "FROM keys.session s JOIN keys.api_key k ON k.org = s.org AND k.id = s.key_id "
                         "WHERE s.org = $1 AND " KEYS_SESSION_LIVES " ORDER BY s.created DESC, s.id LIMIT $2",
                         TAB_P(tab_p_text(call->org), tab_p_int(SESSIONS_MOST))));
    size_t n = tab_rows_count(r);
    Tabella__OpenSession *s = tab_arena_new_of(call->arena, Tabella__OpenSession, n + 1);
    out->sessions = tab_arena_new_of(call->arena, Tabella__OpenSession *, n + 1);
    if (s == NULL || out->sessions == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tabella__open_session__init(&s[i]);
        s[i].id = tab_proto_text(call->arena, tab_rows_text(r, i, 0));
        s[i].key_id = tab_proto_text(call->arena, tab_rows_text(r, i, 1));
        s[i].name = tab_proto_text(call->arena, tab_rows_text(r, i, 2));
        s[i].address = tab_proto_text(call->arena, tab_rows_text(r, i, 3));
        s[i].created_at = tab_rows_time(r, i, 4);
        s[i].used_at = tab_rows_time(r, i, 5);
        s[i].expires_at = tab_rows_time(r, i, 6);
        out->sessions[i] = &s[i];
    }
    out->n_sessions = n;
    return tab_tx_commit(&tx, err);
}

tab_status keys_session_end_all(tab_tx *tx, tab_arena *a, const keys_tombstone *key, keys_tombstone **ret,
                                size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "WITH gone AS (DELETE FROM keys.session WHERE org = $1 AND key_id = $2 RETURNING hash) "
        "INSERT INTO keys.tombstone (org, key_id, hash, version) SELECT $1, $2, hash, $3 FROM gone",
        TAB_P(tab_p_text(key->org), tab_p_text(key->key_id), tab_p_int(key->version))));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT hash, version FROM keys.tombstone WHERE org = $1 AND key_id = $2",
                         TAB_P(tab_p_text(key->org), tab_p_text(key->key_id))));
    size_t n = tab_rows_count(r);
    keys_tombstone *t = tab_arena_new_of(a, keys_tombstone, n);
    if (t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tab_str hash = tab_rows_bytes(r, i, 0, a);
        if (hash.n != TAB_SECRET_HASH)
            return tab_fail(err, TAB_INTERNAL, "", "a stored hash of another length");
        t[i] = *key;
        memcpy(t[i].hash, hash.p, TAB_SECRET_HASH);
        t[i].version = tab_rows_int(r, i, 1);
    }
    *ret = t;
    *ret_n = n;
    return TAB_OK;
}

tab_status keys_revoke(keys *self, const keys_tombstone *t, size_t n, tab_deadline deadline, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    if (n == 0)
        return TAB_OK;
    atomic_store(&self->unconfirmed, true); /* until the chores have looked once more */
    for (size_t i = 0; i < n; i++)
        TAB_TRY(keys_cache_revoke(&self->cache, &t[i], err));
    /* From here on every gateway refuses the secrets. If the clean-up fails, the chores repeat it. */
    tab_error ignored;
    tab_status s = tab_tx_begin(self->pg, t->org, deadline, &tx, &ignored);
    for (size_t i = 0; i < n && s == TAB_OK; i++)
        s = keys_store_confirmed(tx, &t[i], &ignored);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, &ignored);
    return TAB_OK;
}
