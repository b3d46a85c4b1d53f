/* See store.h. Each change of a key takes the next number of the sequence keys.version, which tells the
 * gateway's cache which of two entries is newer. */
#include "services/keys/store.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/http/routes.h"
#include "services/keys/bounds.h"

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

static tab_param hash_param(const uint8_t hash[TAB_SECRET_HASH])
{
    return tab_p_bytes((tab_str){ (const char *)hash, TAB_SECRET_HASH });
}

/* The bytes of a stored SHA-256. */
static tab_status hash_of(const tab_rows *rows, size_t row, size_t col, tab_arena *a,
                          uint8_t ret[TAB_SECRET_HASH], tab_error *err)
{
    tab_str h = tab_rows_bytes(rows, row, col, a);
    if (h.n != TAB_SECRET_HASH)
        return tab_fail(err, TAB_INTERNAL, "", "a stored hash of another length");
    memcpy(ret, h.p, TAB_SECRET_HASH);
    return TAB_OK;
}

/* An organization o's limits, its own ones before those of its plan p. */
#define OWN(name) "coalesce(o.own_" name ", p." name ")"
#define LIMITS                                                                          \
    OWN("key_rpm")                                                                      \
    ", " OWN("org_rpm") ", " OWN("endpoint_rpm") ", " OWN("cells_per_minute") ", " OWN( \
        "endpoint_concurrency") ", " OWN("batch_concurrency")

/* What of bounds the gateway gets. */
static bool write_bounds(tab_bounds_writer *w, const char *role, const char *endpoints, int64_t until_us,
                         const char *networks, const char *org_networks)
{
    const struct {
        char field;
        const char *list;
    } lists[] = { { 'k', networks }, { 'o', org_networks } };
    char until[24];
    *w = (tab_bounds_writer){ .n = 0 };
    if (*role != 0)
        tab_bounds_put(w, 'r', tab_str_of(role));
    for (size_t n; *endpoints != 0; endpoints += n + (endpoints[n] == ' ')) {
        n = strcspn(endpoints, " ");
        tab_bounds_put(w, 'e', (tab_str){ endpoints, n });
    }
    snprintf(until, sizeof until, "%" PRId64, until_us / 1000000);
    if (until_us > 0)
        tab_bounds_put(w, 'x', tab_str_of(until));
    for (size_t i = 0; i < 2; i++) {
        const char *list = lists[i].list;
        for (size_t n; *list != 0; list += n + (list[n] == ' ')) {
            tab_network network;
            n = strcspn(list, " ");
            if (!tab_network_read((tab_str){ list, n }, &network))
                return false;
            tab_bounds_put_network(w, lists[i].field, &network);
        }
    }
    return !w->full;
}

/* A key of a person has its owner's role, at most its scopes, and lives no longer. */
#define GRANT                                                                                          \
    "SELECT k.org, k.id, k.scopes & coalesce(w.scopes | 32, k.scopes), o.plan, " LIMITS                \
    ", k.version, o.epoch, k.ends, k.endpoints, "                                                      \
    "k.networks, o.networks, k.until, coalesce(w.role, k.role) "                                       \
    "FROM (SELECT org, id, scopes, version, NULL::timestamptz AS ends, expires AS until, "             \
    "endpoints, networks, owner, role "                                                                \
    "FROM keys.api_key WHERE hash = $1 AND deleted IS NULL "                                           \
    "UNION ALL "                                                                                       \
    "SELECT a.org, a.id, a.scopes, greatest(a.version, s.version), NULL, least(a.expires, s.ends), "   \
    "a.endpoints, a.networks, a.owner, a.role "                                                        \
    "FROM keys.old_secret s JOIN keys.api_key a ON a.org = s.org AND a.id = s.key_id "                 \
    "WHERE s.hash = $1 AND a.deleted IS NULL "                                                         \
    "UNION ALL "                                                                                       \
    "SELECT a.org, a.id, a.scopes | 32, greatest(a.version, s.version), least(a.expires, s.expires), " \
    "a.expires, a.endpoints, a.networks, a.owner, a.role "                                             \
    "FROM keys.session s JOIN keys.api_key a ON a.org = s.org AND a.id = s.key_id "                    \
    "WHERE s.hash = $1 AND " KEYS_SESSION_LIVES " AND a.deleted IS NULL) k "                           \
    "JOIN keys.org o ON o.org = k.org "                                                                \
    "JOIN keys.plan p ON p.name = o.plan "                                                             \
    "LEFT JOIN keys.api_key w ON w.org = k.org AND w.id = k.owner AND w.person "                       \
    "AND w.deleted IS NULL WHERE o.suspended IS NULL AND (k.owner = '' OR w.id IS NOT NULL) "          \
    "AND (k.until IS NULL OR k.until > clock_timestamp() - interval '7 days')"

tab_status keys_store_grant(tab_tx *tx, const uint8_t hash[TAB_SECRET_HASH], bool *ret_known,
                            keys_granted *ret, tab_error *err)
{
    enum { VERSION = 10, EPOCH, ENDS, ENDPOINTS, NETWORKS, ORG_NETWORKS, UNTIL, ROLE };
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, GRANT, TAB_P(hash_param(hash))));
    *ret_known = tab_rows_count(r) == 1; /* an unknown key is an answer, not an error */
    if (!*ret_known)
        return TAB_OK;
    tab_grant *g = &ret->grant;
    *g = (tab_grant){ .scopes = (unsigned)tab_rows_int(r, 0, 2),
                      .key_rpm = (uint32_t)tab_rows_int(r, 0, 4),
                      .org_rpm = (uint32_t)tab_rows_int(r, 0, 5),
                      .endpoint_rpm = (uint32_t)tab_rows_int(r, 0, 6),
                      .cells_per_minute = (uint64_t)tab_rows_int(r, 0, 7),
                      .endpoint_concurrency = (uint32_t)tab_rows_int(r, 0, 8),
                      .batch_concurrency = (uint32_t)tab_rows_int(r, 0, 9),
                      .version = (uint64_t)tab_rows_int(r, 0, VERSION) };
    copy(g->org, sizeof g->org, tab_rows_text(r, 0, 0));
    copy(g->key, sizeof g->key, tab_rows_text(r, 0, 1));
    copy(g->plan, sizeof g->plan, tab_rows_text(r, 0, 3));
    ret->epoch = (uint64_t)tab_rows_int(r, 0, EPOCH);
    ret->ends_us = tab_rows_null(r, 0, ENDS) ? 0 : tab_rows_time(r, 0, ENDS);
    if (!write_bounds(&ret->bounds, tab_rows_text(r, 0, ROLE), tab_rows_text(r, 0, ENDPOINTS),
                      tab_rows_time(r, 0, UNTIL), tab_rows_text(r, 0, NETWORKS),
                      tab_rows_text(r, 0, ORG_NETWORKS)))
        return tab_fail(err, TAB_INTERNAL, "", "stored bounds that cannot be read");
    g->bounds = (tab_str){ ret->bounds.text, ret->bounds.n };
    return TAB_OK;
}

/* The secrets of a key that are still good beside its newest. */
static tab_status old_secrets(tab_tx *tx, tab_arena *a, const char *org, Tabella__ApiKey *const *keys,
                              size_t n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT key_id, preview, ends FROM keys.old_secret "
                         "WHERE org = $1 AND ends > now() ORDER BY ends DESC LIMIT $2",
                         TAB_P(tab_p_text(org), tab_p_int(KEYS_MOST * KEYS_OLD_SECRETS))));
    for (size_t i = 0; i < tab_rows_count(r); i++)
        for (size_t k = 0; k < n; k++) {
            Tabella__ApiKey *key = keys[k];
            if (strcmp(key->id, tab_rows_text(r, i, 0)) != 0 || key->n_old_secrets == KEYS_OLD_SECRETS)
                continue;
            if (key->old_secrets == NULL)
                key->old_secrets = tab_arena_new_of(a, Tabella__OldSecret *, KEYS_OLD_SECRETS);
            Tabella__OldSecret *old = tab_arena_new_of(a, Tabella__OldSecret, 1);
            if (old == NULL || key->old_secrets == NULL)
                return tab_no_memory(err);
            tabella__old_secret__init(old);
            old->key_preview = tab_proto_text(a, tab_rows_text(r, i, 1));
            old->ends_at = tab_rows_time(r, i, 2);
            key->old_secrets[key->n_old_secrets++] = old;
        }
    return TAB_OK;
}

static tab_status read_key(const tab_rows *r, size_t i, tab_arena *a, Tabella__ApiKey *k, tab_error *err)
{
    char **scopes = tab_arena_new_of(a, char *, 5); /* one a bit of TAB_SCOPE_ALL */
    if (scopes == NULL)
        return tab_no_memory(err);
    tabella__api_key__init(k);
    k->id = tab_proto_text(a, tab_rows_text(r, i, 0));
    k->name = tab_proto_text(a, tab_rows_text(r, i, 1));
    k->key_preview = tab_proto_text(a, tab_rows_text(r, i, 2));
    unsigned bits = (unsigned)tab_rows_int(r, i, 3);
    for (unsigned bit = 1; bit <= TAB_SCOPE_ALL; bit <<= 1)
        if (bits & bit)
            scopes[k->n_scopes++] = tab_proto_text(a, tab_scope_name(bit));
    k->scopes = scopes;
    k->rate_limit = (uint32_t)tab_rows_int(r, i, 4);
    k->requests = (uint64_t)tab_rows_int(r, i, 5);
    k->created_at = tab_rows_time(r, i, 6);
    k->last_used = tab_rows_time(r, i, 7);
    k->expires_at = tab_rows_time(r, i, 8);
    k->last_address = tab_proto_text(a, tab_rows_text(r, i, 9));
    k->last_agent = tab_proto_text(a, tab_rows_text(r, i, 10));
    k->owner = tab_proto_text(a, tab_rows_text(r, i, 13));
    k->directory = tab_proto_text(a, tab_rows_text(r, i, 14));
    TAB_TRY(keys_items(a, tab_rows_text(r, i, 11), &k->networks, &k->n_networks, err));
    return keys_items(a, tab_rows_text(r, i, 12), &k->endpoints, &k->n_endpoints, err);
}

tab_status keys_store_list(tab_tx *tx, tab_arena *a, const char *org, const char *id, const char *own_of,
                           Tabella__ApiKey ***ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT k.id, k.name, k.preview, k.scopes, coalesce(o.own_key_rpm, p.key_rpm), k.requests, "
        "k.created, k.last_used, k.expires, k.last_address, k.last_agent, k.networks, k.endpoints, k.owner, "
        "k.directory "
        "FROM keys.api_key k "
        "JOIN keys.org o ON o.org = k.org "
        "JOIN keys.plan p ON p.name = o.plan "
        "WHERE k.org = $1 AND k.deleted IS NULL AND NOT k.person AND ($2::text IS NULL OR k.id = $2) "
        "AND ($3 = '' OR k.owner = " KEYS_OWNER("$3") ") "
                                                      "ORDER BY k.created DESC, k.id",
        TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(own_of))));
    size_t n = tab_rows_count(r);
    Tabella__ApiKey **keys = tab_arena_new_of(a, Tabella__ApiKey *, n + 1);
    for (size_t i = 0; i < n && keys != NULL; i++) {
        keys[i] = tab_arena_new_of(a, Tabella__ApiKey, 1);
        if (keys[i] == NULL)
            break;
        TAB_TRY(read_key(r, i, a, keys[i], err));
    }
    if (keys == NULL || tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "the list of keys does not fit in memory");
    TAB_TRY(old_secrets(tx, a, org, keys, n, err));
    *ret = keys;
    *ret_n = n;
    return TAB_OK;
}

/* How near the end of a key is that is told of only later: of one that is made, nothing. */
#define TOLD(expires)                                                        \
    "CASE WHEN " expires " <= now() + interval '1 day' THEN 2 WHEN " expires \
    " <= now() + interval '7 days' THEN 1 ELSE 0 END"

/* A key that is bound to endpoints does nothing else. */
static tab_status endpoints_good(const char *endpoints, unsigned scopes, tab_error *err)
{
    if (endpoints[0] == 0 || scopes == TAB_SCOPE_SERVE)
        return TAB_OK;
    return tab_fail(err, TAB_VALIDATION, "endpoints",
                    "A key that is bound to endpoints can have only the scope serve.");
}

tab_status keys_store_create(tab_tx *tx, const char *org, const keys_new *k, const char *secret,
                             tab_error *err)
{
    uint8_t hash[TAB_SECRET_HASH];
    char preview[TAB_SECRET_PREVIEW + 1];
    tab_secret_hash(tab_str_of(secret), hash);
    tab_secret_preview(tab_str_of(secret), preview);
    TAB_TRY(endpoints_good(k->endpoints, k->scopes, err));
    TAB_TRY(tab_tx_room(tx, org,
                        "SELECT count(*) FROM keys.api_key WHERE org = $1 AND deleted IS NULL AND NOT person",
                        KEYS_MOST, "API keys", err));
    return tab_tx_query(
        tx, NULL, err,
        "INSERT INTO keys.api_key (org, id, name, hash, preview, scopes, version, expires, networks, "
        "endpoints, owner, directory, role, warned) VALUES ($1, $2, $3, $4, $5, $6, nextval('keys.version'), "
        "$7, $8, $9, CASE WHEN $10 = '' THEN '' ELSE " KEYS_OWNER(
            "$10") " END, $11, "
                   "CASE WHEN $11 = '' THEN '' ELSE 'directory' END, " TOLD("$7::timestamptz") ")",
        TAB_P(tab_p_text(org), tab_p_text(k->id), tab_p_text(k->name), hash_param(hash), tab_p_text(preview),
              tab_p_int(k->scopes), k->expires_us == 0 ? tab_p_null() : tab_p_time(k->expires_us),
              tab_p_text(k->networks), tab_p_text(k->endpoints), tab_p_text(k->owner != NULL ? k->owner : ""),
              tab_p_text(k->directory != NULL ? k->directory : "")));
}

tab_status keys_store_own(tab_tx *tx, const char *org, const char *id, const char *own_of, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT FROM keys.api_key k WHERE k.org = $1 AND k.id = $2 AND NOT k.person "
                         "AND ($3 = '' OR k.owner = " KEYS_OWNER("$3") ")",
                         TAB_P(tab_p_text(org), tab_p_text(id), tab_p_text(own_of))));
    return tab_rows_count(r) == 1 ? TAB_OK : tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
}

tab_status keys_store_set(tab_tx *tx, const char *org, const Tabella__SetKeyRequest *q, const char *networks,
                          const char *endpoints, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "UPDATE keys.api_key SET name = coalesce(nullif($3, ''), name), "
        "expires = CASE WHEN $4::bool THEN $5::timestamptz ELSE expires END, "
        "warned = CASE WHEN $4::bool THEN " TOLD(
            "$5::timestamptz") " ELSE warned END, "
                               "networks = coalesce($6, networks), endpoints = coalesce($7, endpoints), "
                               "version = nextval('keys.version') "
                               "WHERE org = $1 AND id = $2 AND deleted IS NULL "
                               "RETURNING version, scopes, endpoints",
        TAB_P(tab_p_text(org), tab_p_text(q->id), tab_p_text(q->name), tab_p_bool(q->set_expires),
              q->expires_at == 0 ? tab_p_null() : tab_p_time(q->expires_at),
              q->set_networks ? tab_p_text(networks) : tab_p_null(),
              q->set_endpoints ? tab_p_text(endpoints) : tab_p_null())));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
    TAB_TRY(endpoints_good(tab_rows_text(r, 0, 2), (unsigned)tab_rows_int(r, 0, 1), err));
    return keys_store_raise_epoch(tx, org, tab_rows_int(r, 0, 0), err);
}

tab_status keys_store_raise_epoch(tab_tx *tx, const char *org, int64_t version, tab_error *err)
{
    return tab_tx_query(tx, NULL, err, "UPDATE keys.org SET epoch = greatest(epoch, $2) WHERE org = $1",
                        TAB_P(tab_p_text(org), tab_p_int(version)));
}

/* The locked row of a live key into a tombstone with a fresh version. */
static tab_status take_old(tab_tx *tx, const char *org, const char *id, keys_tombstone *t, bool *ret_found,
                           tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    TAB_AUTO(tab_rows) *r = NULL;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT hash, nextval('keys.version') "
                         "FROM keys.api_key "
                         "WHERE org = $1 AND id = $2 AND deleted IS NULL "
                         "FOR UPDATE",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    *ret_found = tab_rows_count(r) == 1;
    if (!*ret_found)
        return TAB_OK;
    TAB_TRY(hash_of(r, 0, 0, a, t->hash, err));
    t->version = tab_rows_int(r, 0, 1);
    copy(t->org, sizeof t->org, org);
    copy(t->key_id, sizeof t->key_id, id);
    TAB_TRY(keys_store_raise_epoch(tx, org, t->version, err));
    return tab_tx_query(
        tx, NULL, err,
        "WITH gone AS (DELETE FROM keys.old_secret WHERE org = $1 AND key_id = $2 RETURNING hash) "
        "INSERT INTO keys.tombstone (org, key_id, hash, version) "
        "SELECT $1::text, $2::text, $3::bytea, $4::bigint "
        "UNION ALL SELECT $1, $2, hash, $4 FROM gone",
        TAB_P(tab_p_text(org), tab_p_text(id), hash_param(t->hash), tab_p_int(t->version)));
}

tab_status keys_store_rotate(tab_tx *tx, const char *org, const char *id, const char *secret,
                             keys_tombstone *ret, tab_error *err)
{
    uint8_t hash[TAB_SECRET_HASH];
    char preview[TAB_SECRET_PREVIEW + 1];
    bool found;
    TAB_TRY(take_old(tx, org, id, ret, &found, err));
    if (!found)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
    tab_secret_hash(tab_str_of(secret), hash);
    tab_secret_preview(tab_str_of(secret), preview);
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.api_key SET hash = $3, preview = $4, version = $5 WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(org), tab_p_text(id), hash_param(hash), tab_p_text(preview),
              tab_p_int(ret->version)));
}

tab_status keys_store_rotate_softly(tab_tx *tx, const char *org, const char *id, const char *secret,
                                    uint32_t overlap_s, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    uint8_t hash[TAB_SECRET_HASH];
    char preview[TAB_SECRET_PREVIEW + 1];
    tab_secret_hash(tab_str_of(secret), hash);
    tab_secret_preview(tab_str_of(secret), preview);
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "WITH old AS (SELECT hash, preview, nextval('keys.version') AS version FROM keys.api_key "
        "WHERE org = $1 AND id = $2 AND deleted IS NULL FOR UPDATE), "
        "kept AS (INSERT INTO keys.old_secret (org, key_id, hash, preview, version, ends) "
        "SELECT $1, $2, hash, preview, version, clock_timestamp() + make_interval(secs => $5::int) FROM old "
        "RETURNING version) "
        "UPDATE keys.api_key k SET hash = $3, preview = $4, version = kept.version FROM kept "
        "WHERE k.org = $1 AND k.id = $2 RETURNING k.version",
        TAB_P(tab_p_text(org), tab_p_text(id), hash_param(hash), tab_p_text(preview), tab_p_int(overlap_s))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
    TAB_TRY(keys_store_raise_epoch(tx, org, tab_rows_int(r, 0, 0), err));
    tab_rows_free(r);
    r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT count(*) FROM keys.old_secret WHERE org = $1 AND key_id = $2",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    if (tab_rows_int(r, 0, 0) > KEYS_OLD_SECRETS)
        return tab_fail(
            err, TAB_CONFLICT, "overlap_s",
            "%d old secrets of this key are still good. Wait until one ends, or rotate without an "
            "overlap, which ends all of them.",
            KEYS_OLD_SECRETS);
    return TAB_OK;
}

tab_status keys_store_end(tab_tx *tx, const char *org, const char *id, keys_tombstone *ret, bool *ret_again,
                          tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    TAB_AUTO(tab_rows) *r = NULL;
    bool found;
    *ret_again = false;
    TAB_TRY(take_old(tx, org, id, ret, &found, err));
    if (found)
        return tab_tx_query(
            tx, NULL, err, "UPDATE keys.api_key SET deleted = now(), version = $3 WHERE org = $1 AND id = $2",
            TAB_P(tab_p_text(org), tab_p_text(id), tab_p_int(ret->version)));

    /* Deleted before, and its tombstone is not yet in Redis: a retry of the call confirms the same one. */
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT t.hash, t.version "
                         "FROM keys.tombstone t "
                         "JOIN keys.api_key k ON k.org = t.org AND k.hash = t.hash "
                         "WHERE t.org = $1 AND t.key_id = $2 AND k.deleted IS NOT NULL",
                         TAB_P(tab_p_text(org), tab_p_text(id))));
    if (tab_rows_count(r) != 1 || a == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such key.");
    *ret_again = true;
    ret->version = tab_rows_int(r, 0, 1);
    copy(ret->org, sizeof ret->org, org);
    copy(ret->key_id, sizeof ret->key_id, id);
    return hash_of(r, 0, 0, a, ret->hash, err);
}

tab_status keys_store_pending(tab_tx *tx, tab_arena *a, size_t most, keys_tombstone **ret, size_t *ret_n,
                              tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT org, key_id, hash, version FROM keys.tombstone ORDER BY version LIMIT $1",
                         TAB_P(tab_p_int((int64_t)most))));
    size_t n = tab_rows_count(r);
    keys_tombstone *t = tab_arena_new_of(a, keys_tombstone, n);
    if (t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        copy(t[i].org, sizeof t[i].org, tab_rows_text(r, i, 0));
        copy(t[i].key_id, sizeof t[i].key_id, tab_rows_text(r, i, 1));
        TAB_TRY(hash_of(r, i, 2, a, t[i].hash, err));
        t[i].version = tab_rows_int(r, i, 3);
    }
    *ret = t;
    *ret_n = n;
    return TAB_OK;
}

tab_status keys_store_confirmed(tab_tx *tx, const keys_tombstone *t, tab_error *err)
{
    return tab_tx_query(tx, NULL, err, "DELETE FROM keys.tombstone WHERE org = $1 AND hash = $2",
                        TAB_P(tab_p_text(t->org), hash_param(t->hash)));
}

/* ---- organizations --------------------------------------------------------------------------- */

static tab_status plan_exists(tab_tx *tx, const char *plan, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT 1 FROM keys.plan WHERE name = $1", TAB_P(tab_p_text(plan))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_VALIDATION, "plan", "There is no such plan.");
    return TAB_OK;
}

tab_status keys_store_org_create(tab_tx *tx, const char *org, const Tabella__CreateOrgRequest *q,
                                 tab_error *err)
{
    TAB_TRY(plan_exists(tx, q->plan, err));
    return tab_tx_query(
        tx, NULL, err, "INSERT INTO keys.org (org, name, plan, email) VALUES ($1, $2, $3, $4)",
        TAB_P(tab_p_text(org), tab_p_text(q->name), tab_p_text(q->plan), tab_p_text(q->email)));
}

tab_status keys_store_org_set(tab_tx *tx, const char *org, const Tabella__SetOrgRequest *q, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    tab_param alerts =
        q->set_alerts == TABELLA__SET_ORG_REQUEST__SWITCH__ON ? tab_p_int(q->alerts) : tab_p_null();
    if (q->plan[0] != '\0')
        TAB_TRY(plan_exists(tx, q->plan, err));
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "UPDATE keys.org "
                     "SET name = coalesce(nullif($2, ''), name), plan = coalesce(nullif($3, ''), plan), "
                     "email = CASE WHEN $8::bool THEN $4 ELSE coalesce(nullif($4, ''), email) END, "
                     "alerts = coalesce($9::int, alerts), add_usage = CASE $5::int WHEN 1 THEN true "
                     "WHEN 2 THEN false ELSE add_usage END, spend_cap_usd = CASE $6::int WHEN 1 THEN "
                     "$7::double precision WHEN 2 THEN NULL ELSE spend_cap_usd END, "
                     "epoch = nextval('keys.version') "
                     "WHERE org = $1 "
                     "RETURNING org",
                     TAB_P(tab_p_text(org), tab_p_text(q->name), tab_p_text(q->plan), tab_p_text(q->email),
                           tab_p_int(q->add_usage), tab_p_int(q->spend_cap), tab_p_real(q->spend_cap_usd),
                           tab_p_bool(q->set_email == TABELLA__SET_ORG_REQUEST__SWITCH__ON), alerts)));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "org", "There is no such organization.");
    /* What its keys may do has changed: a cache fill that read the old plan has an older version, and
     * loses. */
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.api_key "
                        "SET version = nextval('keys.version') "
                        "WHERE org = $1 AND deleted IS NULL",
                        TAB_P(tab_p_text(org)));
}

tab_status keys_store_org_find(tab_tx *tx, tab_arena *a, const char *name, const char **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT org "
                         "FROM keys.org "
                         "WHERE name = $1 "
                         "LIMIT 2",
                         TAB_P(tab_p_text(name))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "org", "There is no such organization.");
    if (tab_rows_count(r) > 1)
        return tab_fail(err, TAB_VALIDATION, "org",
                        "Several organizations have this name; give the id instead.");
    *ret = tab_proto_text(a, tab_rows_text(r, 0, 0));
    return TAB_OK;
}

/* Names of limits, each a column of keys.plan; and that of an organization's own. */
#define LIMIT(name)                                                  \
    {                                                                \
        name, "UPDATE keys.org SET own_" name " = $2 WHERE org = $1" \
    }
static const struct {
    const char *name, *set;
} limits[] = {
    LIMIT("allowance"),         LIMIT("key_rpm"),          LIMIT("org_rpm"),
    LIMIT("endpoint_rpm"),      LIMIT("cells_per_minute"), LIMIT("endpoint_concurrency"),
    LIMIT("batch_concurrency"), LIMIT("upload_mib"),
};
enum { LIMITS_MOST = sizeof limits / sizeof *limits };

tab_status keys_store_org_limit(tab_tx *tx, const char *org, const Tabella__OwnLimit *l, tab_error *err)
{
    size_t i = 0;
    while (i < LIMITS_MOST && strcmp(limits[i].name, l->name) != 0)
        i++;
    if (i == LIMITS_MOST)
        return tab_fail(err, TAB_VALIDATION, "limits",
                        "There is no such limit. The limits are allowance, key_rpm, org_rpm, endpoint_rpm, "
                        "cells_per_minute, endpoint_concurrency, batch_concurrency and upload_mib.");
    uint64_t least = i == 0 ? 0 : 1;
    if (!l->plan && (l->value < least || l->value > INT32_MAX * (i == 0 || i == 4 ? INT64_C(1000000) : 1)))
        return tab_fail(err, TAB_VALIDATION, "limits",
                        "%s must be a whole number of at least %d, or \"plan\".", l->name, (int)least);
    return tab_tx_query(tx, NULL, err, limits[i].set,
                        TAB_P(tab_p_text(org), l->plan ? tab_p_null() : tab_p_int((int64_t)l->value)));
}

tab_status keys_store_org_networks(tab_tx *tx, const char *org, const char *networks, tab_error *err)
{
    return tab_tx_query(tx, NULL, err, "UPDATE keys.org SET networks = $2 WHERE org = $1",
                        TAB_P(tab_p_text(org), tab_p_text(networks)));
}

tab_status keys_store_org_suspend(tab_tx *tx, tab_arena *a, const char *org, bool on, keys_tombstone **ret,
                                  size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_n = 0;
    TAB_TRY(
        tab_tx_query(tx, NULL, err,
                     "UPDATE keys.org SET suspended = CASE WHEN $2::bool THEN coalesce(suspended, now()) END "
                     "WHERE org = $1",
                     TAB_P(tab_p_text(org), tab_p_bool(on))));
    if (!on)
        return TAB_OK;
    /* as if each secret had been replaced, but that its key stays: later versions bring it back */
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "INSERT INTO keys.tombstone AS t (org, key_id, hash, version) "
                         "SELECT org, id, hash, nextval('keys.version') FROM keys.api_key "
                         "WHERE org = $1 AND deleted IS NULL UNION ALL "
                         "SELECT org, key_id, hash, nextval('keys.version') FROM keys.old_secret "
                         "WHERE org = $1 UNION ALL "
                         "SELECT org, key_id, hash, nextval('keys.version') FROM keys.session WHERE org = $1 "
                         "ON CONFLICT (org, hash) DO UPDATE SET version = excluded.version "
                         "RETURNING key_id, hash, version",
                         TAB_P(tab_p_text(org))));
    size_t n = tab_rows_count(r);
    keys_tombstone *t = tab_arena_new_of(a, keys_tombstone, n + 1);
    int64_t newest = 0;
    if (t == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        copy(t[i].org, sizeof t[i].org, org);
        copy(t[i].key_id, sizeof t[i].key_id, tab_rows_text(r, i, 0));
        TAB_TRY(hash_of(r, i, 1, a, t[i].hash, err));
        t[i].version = tab_rows_int(r, i, 2);
        newest = t[i].version > newest ? t[i].version : newest;
    }
    *ret = t;
    *ret_n = n;
    return keys_store_raise_epoch(tx, org, newest, err);
}

#define ORGS                                                                                                \
    "SELECT o.name, o.plan, o.email, o.add_usage, o.spend_cap_usd, o.created, " LIMITS ", " OWN(            \
        "allowance") ", p.lifetime, o.alerts, o.suspended, o.own_allowance, o.own_key_rpm, o.own_org_rpm, " \
                     "o.own_endpoint_rpm, o.own_cells_per_minute, o.own_endpoint_concurrency, "             \
                     "o.own_batch_concurrency, o.own_upload_mib, o.org, o.networks, " OWN(                  \
                         "upload_mib") ", " KEYS_KEEPS ", " KEYS_TELLS " "                                  \
                                       "FROM keys.org o "                                                   \
                                       "JOIN keys.plan p ON p.name = o.plan "

static tab_status read_org(const tab_rows *r, size_t row, tab_arena *a, Tabella__Org *ret, tab_error *err)
{
    enum { SUSPENDED = 15, OWN_LIMITS = 16, ID = OWN_LIMITS + LIMITS_MOST, NETWORKS, UPLOAD_MIB, KEEPS };
    Tabella__Grant *g = tab_arena_new_of(a, Tabella__Grant, 1);
    char **own = tab_arena_new_of(a, char *, LIMITS_MOST);
    if (g == NULL || own == NULL)
        return tab_no_memory(err);
    tabella__grant__init(g);
    ret->org = tab_proto_text(a, tab_rows_text(r, row, ID));
    ret->name = tab_proto_text(a, tab_rows_text(r, row, 0));
    ret->plan = tab_proto_text(a, tab_rows_text(r, row, 1));
    ret->email = tab_proto_text(a, tab_rows_text(r, row, 2));
    ret->add_usage_enabled = tab_rows_bool(r, row, 3);
    ret->spend_cap_set = !tab_rows_null(r, row, 4);
    ret->spend_cap_usd = tab_rows_real(r, row, 4);
    ret->created_at = tab_rows_time(r, row, 5);
    g->org = ret->org;
    g->plan = ret->plan;
    g->key_rpm = (uint32_t)tab_rows_int(r, row, 6);
    g->org_rpm = (uint32_t)tab_rows_int(r, row, 7);
    g->endpoint_rpm = (uint32_t)tab_rows_int(r, row, 8);
    g->cells_per_minute = (uint64_t)tab_rows_int(r, row, 9);
    g->endpoint_concurrency = (uint32_t)tab_rows_int(r, row, 10);
    g->batch_concurrency = (uint32_t)tab_rows_int(r, row, 11);
    ret->limits = g;
    ret->upload_mib = (uint64_t)tab_rows_int(r, row, UPLOAD_MIB);
    ret->allowance_cells = (uint64_t)tab_rows_int(r, row, 12);
    ret->lifetime = tab_rows_bool(r, row, 13);
    ret->alerts = (uint32_t)tab_rows_int(r, row, 14);
    ret->suspended_at = tab_rows_null(r, row, SUSPENDED) ? 0 : tab_rows_time(r, row, SUSPENDED);
    TAB_TRY(keys_items(a, tab_rows_text(r, row, NETWORKS), &ret->networks, &ret->n_networks, err));
    TAB_TRY(keys_keeps_read(r, row, KEEPS, a, ret, err));
    ret->usage_events = tab_rows_bool(r, row, KEEPS + KEYS_KEPT);
    ret->own_limits = own;
    for (size_t i = 0; i < LIMITS_MOST; i++)
        if (!tab_rows_null(r, row, OWN_LIMITS + i))
            own[ret->n_own_limits++] = tab_proto_text(a, limits[i].name);
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status keys_store_org(tab_tx **tx, bool last, tab_arena *a, const char *org, Tabella__Org *ret,
                          tab_error *err)
{
    static const char text[] = ORGS "WHERE o.org = $1";
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(last ? tab_tx_finish(tx, &r, err, text, TAB_P(tab_p_text(org)))
                 : tab_tx_query(*tx, &r, err, text, TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "org", "There is no such organization.");
    return read_org(r, 0, a, ret, err);
}

tab_status keys_store_orgs(tab_tx **tx, tab_arena *a, const char *after, int64_t most,
                           Tabella__ListOrgsReply *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_finish(tx, &r, err, ORGS "WHERE o.org > $1 ORDER BY o.org LIMIT $2",
                          TAB_P(tab_p_text(after), tab_p_int(most))));
    size_t n = tab_rows_count(r);
    ret->orgs = tab_arena_new_of(a, Tabella__Org *, n + 1);
    for (size_t i = 0; ret->orgs != NULL && i < n; i++) {
        Tabella__Org *o = ret->orgs[i] = tab_arena_new_of(a, Tabella__Org, 1);
        if (o == NULL)
            break;
        tabella__org__init(o);
        TAB_TRY(read_org(r, i, a, o, err));
        ret->n_orgs++;
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status keys_store_hashes(tab_tx *tx, tab_arena *a, const char *org, const char *key,
                             uint8_t (**ret)[TAB_SECRET_HASH], size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(
        tab_tx_query(tx, &r, err,
                     "SELECT hash FROM (SELECT hash, id FROM keys.api_key "
                     "WHERE org = $1 AND deleted IS NULL "
                     "UNION ALL SELECT hash, key_id FROM keys.old_secret WHERE org = $1 AND ends > now() "
                     "UNION ALL SELECT hash, key_id FROM keys.session WHERE org = $1 AND expires > now()) h "
                     "WHERE $2::text IS NULL OR id = $2",
                     TAB_P(tab_p_text(org), tab_p_text(key))));
    size_t n = tab_rows_count(r);
    uint8_t(*hashes)[TAB_SECRET_HASH] = tab_arena_alloc(a, n, TAB_SECRET_HASH);
    if (hashes == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++)
        TAB_TRY(hash_of(r, i, 0, a, hashes[i], err));
    *ret = hashes;
    *ret_n = n;
    return TAB_OK;
}

tab_status keys_store_batch(tab_tx *tx, const char *batch, bool *ret_fresh, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    static const char add[] = "INSERT INTO keys.use_batch VALUES ($1) ON CONFLICT DO NOTHING RETURNING 1";
    if (batch[0] != '\0')
        TAB_TRY(tab_tx_query(tx, &r, err, add, TAB_P(tab_p_text(batch))));
    *ret_fresh = r == NULL || tab_rows_count(r) > 0;
    return TAB_OK;
}

tab_status keys_store_uses(tab_tx *tx, const char *ids, const char *counts, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "UPDATE keys.api_key k "
                        "SET requests = k.requests + u.n, last_used = clock_timestamp() "
                        "FROM unnest($1::text[], $2::bigint[]) u(id, n) "
                        "WHERE k.id = u.id",
                        TAB_P(tab_p_text(ids), tab_p_text(counts)));
}
