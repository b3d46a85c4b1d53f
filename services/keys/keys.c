/* See keys.h. A change is committed first, then told to Redis, then answered; only a revocation waits for
 * Redis. */
#include "services/keys/keys.h"
#include "common/json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "common/http/routes.h"
#include "common/redis/limits.h"
#include "services/keys/bounds.h"
#include "services/keys/cache.h"
#include "services/keys/mail.h"
#include "services/keys/people/people.h"

enum { LOAD_MS = 500, ADDRESSES_MOST = 10 };

/* Bits of the scopes named, each once, at least one; else VALIDATION with param "scopes". */
static tab_status scopes_of(char **names, size_t n, unsigned *ret, tab_error *err)
{
    unsigned bits = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned bit = tab_scope_named(tab_str_of(names[i]));
        if (bit == 0 || (bits & bit) != 0)
            return tab_fail(err, TAB_VALIDATION, "scopes",
                            "Scopes must be one or more of read, run, serve, manage and delete, each once.");
        bits |= bit;
    }
    if (bits == 0)
        return tab_fail(err, TAB_VALIDATION, "scopes", "Name at least one scope.");
    assert((bits & ~TAB_SCOPE_ALL) == 0); /* no caller names its way to a session's or a directory's rights */
    *ret = bits;
    return TAB_OK;
}

/* ---- the gateway's question ------------------------------------------------------------------ */

static void count_use(keys *self, const char *key_id)
{
    pthread_mutex_lock(&self->lock);
    size_t i = 0;
    while (i < self->counted && strcmp(self->count[i].key_id, key_id) != 0)
        i++;
    if (i < KEYS_COUNTED) {
        if (i == self->counted) {
            snprintf(self->count[i].key_id, sizeof self->count[i].key_id, "%s", key_id);
            self->count[i].n = 0;
            self->counted++;
        }
        self->count[i].n++;
    }
    assert(self->counted <= KEYS_COUNTED);
    pthread_mutex_unlock(&self->lock);
}

static tab_status authenticate(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__AuthenticateRequest *q = call->in;
    Tabella__AuthenticateReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_granted found;
    bool known;
    if (q->secret_sha256.len != TAB_SECRET_HASH)
        return tab_fail(err, TAB_VALIDATION, "secret_sha256", "not a SHA-256");
    tab_status s =
        tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = keys_store_grant(tx, q->secret_sha256.data, &known, &found, err);
    if (s == TAB_OK && known && (found.grant.scopes & TAB_GRANT_SESSION) != 0)
        s = keys_session_used(tx, q->secret_sha256, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s != TAB_OK || !known)
        return s;
    if (found.bounds.n > 0 && !q->bounds)
        return tab_fail(err, TAB_UNAVAILABLE, "", "a key with bounds, and the caller knows none");

    tab_grant g = found.grant;
    Tabella__Grant *grant = tab_arena_new_of(call->arena, Tabella__Grant, 1);
    if (grant == NULL)
        return tab_no_memory(err);
    tabella__grant__init(grant);
    grant->org = tab_proto_text(call->arena, g.org);
    grant->key_id = tab_proto_text(call->arena, g.key);
    grant->plan = tab_proto_text(call->arena, g.plan);
    grant->scopes = g.scopes;
    grant->key_rpm = g.key_rpm;
    grant->org_rpm = g.org_rpm;
    grant->endpoint_rpm = g.endpoint_rpm;
    grant->cells_per_minute = g.cells_per_minute;
    grant->endpoint_concurrency = g.endpoint_concurrency;
    grant->batch_concurrency = g.batch_concurrency;
    grant->version = g.version;
    grant->bounds = tab_proto_text(call->arena, found.bounds.text);
    out->known = true;
    out->grant = grant;
    (void)keys_cache_fill(&self->cache, q->secret_sha256.data, &found, NULL);
    if (!q->uncounted)
        count_use(self, g.key);
    return TAB_OK;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static tab_status list_keys(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListKeysRequest *q = call->in;
    Tabella__ListKeysReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_status s =
        tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = keys_store_list(tx, call->arena, call->org, NULL, q->own_of, &out->keys, &out->n_keys, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* "scopes read,run", and what bounds it. */
static const char *created(tab_arena *a, const keys_new *k)
{
    char scopes[64] = "", until[TAB_TIME_TEXT] = "";
    for (unsigned bit = 1; bit <= TAB_SCOPE_ALL; bit <<= 1)
        if (k->scopes & bit)
            snprintf(scopes + strlen(scopes), sizeof scopes - strlen(scopes), "%s%s",
                     scopes[0] != 0 ? "," : "", tab_scope_name(bit));
    if (k->expires_us != 0)
        tab_time_text_s(k->expires_us, until);
    return tab_arena_printf(a, "scopes %s%s%s%s%s%s%s%s%s", scopes, until[0] != 0 ? ", expires " : "", until,
                            k->networks[0] != 0 ? ", networks " : "", k->networks,
                            k->endpoints[0] != 0 ? ", endpoints " : "", k->endpoints,
                            k->directory[0] != 0 ? ", directory of " : "", k->directory);
}

static tab_status create_key(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__CreateKeyRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    char id[TAB_ID], secret[TAB_SECRET_LENGTH + 1];
    keys_new k = { .id = id,
                   .name = q->name,
                   .expires_us = q->expires_at,
                   .owner = q->personal ? q->actor : NULL,
                   .directory = q->directory,
                   .scopes = TAB_DIRECTORY_SCOPES };
    bool writes = q->directory[0] != 0;
    if (writes && (q->personal || q->n_scopes > 0 || q->n_endpoints > 0))
        return tab_fail(err, TAB_VALIDATION, "directory",
                        "A key of a directory has no scopes, no endpoints and no owner.");
    TAB_TRY(keys_name_good(q->name, err));
    if (!writes)
        TAB_TRY(scopes_of(q->scopes, q->n_scopes, &k.scopes, err));
    TAB_TRY(keys_expiry_good(q->expires_at, err));
    TAB_TRY(keys_networks_read(call->arena, q->networks, q->n_networks, &k.networks, err));
    TAB_TRY(keys_endpoints_read(call->arena, q->endpoints, q->n_endpoints, &k.endpoints, err));
    const char *detail = created(call->arena, &k);
    if (detail == NULL)
        return tab_no_memory(err);
    tab_id_new(id, "key_");
    tab_secret_new(secret);
    assert(k.scopes != 0 && (writes ? k.scopes == TAB_DIRECTORY_SCOPES : (k.scopes & ~TAB_SCOPE_ALL) == 0));
    tab_status s =
        tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK && writes)
        s = provider_there(tx, call->org, q->directory, err);
    if (s == TAB_OK)
        s = keys_store_create(tx, call->org, &k, secret, err);
    if (s == TAB_OK)
        s = keys_audit(tx, call, call->org, q->actor, "key.create", id, detail, err);
    if (s == TAB_OK)
        s = keys_notify_key(tx, call, true, id, "created", err);
    if (s == TAB_OK)
        s = keys_show(tx, call, id, secret, err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    sodium_memzero(secret, sizeof secret);
    return s;
}

/* A rotation's commit failed. Where the old secret still stands it is let in again; where nobody can say, the
 * fences end by themselves, and the keys are asked about anew. */
static void lift(keys *self, const keys_tombstone *old, const keys_tombstone *ended, size_t n)
{
    enum { LOOK_MS = 1000 };
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_granted found;
    bool known = false;
    tab_error err;
    if (tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(LOOK_MS), &tx, &err) == TAB_OK &&
        keys_store_grant(tx, old->hash, &known, &found, &err) == TAB_OK && known)
        for (size_t i = 0; i < n; i++)
            keys_cache_lift(&self->cache, &ended[i]);
}

enum { OVERLAP_MOST_S = 30 * 24 * 3600 };

/* Old and new secret side by side. What the gateway knows of the old one has no end yet, so it is
 * written anew. */
static tab_status rotate_softly(keys *self, tab_call *call, const char *secret, tab_error *err)
{
    const Tabella__RotateKeyRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error late = { 0 };
    const char *detail = tab_arena_printf(call->arena, "overlap %u s", q->overlap_s);
    if (detail == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_store_own(tx, call->org, q->id, q->own_of, err));
    TAB_TRY(keys_store_rotate_softly(tx, call->org, q->id, secret, q->overlap_s, err));
    TAB_TRY(keys_audit(tx, call, call->org, q->actor, "key.rotate", q->id, detail, err));
    TAB_TRY(keys_notify_key(tx, call, false, q->id, "rotated", err));
    TAB_TRY(keys_show(tx, call, q->id, secret, err));
    TAB_TRY(keys_cache_writable(&self->cache, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    if (keys_refill(self, call, call->org, q->id, &late) != TAB_OK)
        tab_log_fields(TAB_WARN, "a rotated key's old secret may be taken for minutes past its end", "key",
                       q->id, NULL);
    return TAB_OK;
}

static tab_status rotate_key(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__RotateKeyRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_tombstone old, *ended = NULL;
    size_t n = 0;
    char secret[TAB_SECRET_LENGTH + 1];
    if (q->overlap_s > OVERLAP_MOST_S)
        return tab_fail(err, TAB_VALIDATION, "overlap_s", "`overlap_s` must be from 0 to %d.",
                        OVERLAP_MOST_S);
    tab_secret_new(secret);
    if (q->overlap_s > 0) {
        tab_status soft = rotate_softly(self, call, secret, err);
        sodium_memzero(secret, sizeof secret);
        return soft;
    }
    tab_status s =
        tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = keys_store_own(tx, call->org, q->id, q->own_of, err);
    if (s == TAB_OK)
        s = keys_store_rotate(tx, call->org, q->id, secret, &old, err);
    if (s == TAB_OK)
        s = keys_session_end_all(tx, call->arena, &old, &ended, &n, err);
    if (s == TAB_OK)
        s = keys_audit(tx, call, call->org, q->actor, "key.rotate", q->id, "", err);
    if (s == TAB_OK)
        s = keys_notify_key(tx, call, false, q->id, "rotated", err);
    if (s == TAB_OK)
        s = keys_show(tx, call, q->id, secret, err);
    assert(s != TAB_OK || strlen(secret) == TAB_SECRET_LENGTH);
    /* The new secret is told once, in this answer: so the old one ends before it is replaced. */
    for (size_t i = 0; i < n && s == TAB_OK; i++)
        s = keys_cache_fence(&self->cache, &ended[i], err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    tab_tx_free(tab_take(&tx)); /* what failed is undone before it is looked up */
    tab_error late = { 0 };
    if (s != TAB_OK && n > 0)
        lift(self, &old, ended, n);
    else if (s == TAB_OK && keys_revoke(self, ended, n, call->deadline, &late) != TAB_OK)
        /* Redis went between the two: the chores repeat it, and the fences hold meanwhile. */
        tab_log_fields(TAB_WARN, "a rotated key's lasting tombstone is written once Redis is back", "key",
                       q->id, NULL);
    sodium_memzero(secret, sizeof secret);
    return s;
}

static tab_status delete_key(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__DeleteKeyRequest *q = call->in;
    Tabella__DeleteKeyReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_tombstone old, *ended = NULL;
    size_t n = 0;
    bool again = false;
    tab_status s =
        tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = keys_store_own(tx, call->org, q->id, q->own_of, err);
    if (s == TAB_OK)
        s = keys_store_end(tx, call->org, q->id, &old, &again, err);
    if (s == TAB_OK)
        s = keys_session_end_all(tx, call->arena, &old, &ended, &n, err);
    if (s == TAB_OK && !again)
        s = keys_audit(tx, call, call->org, q->actor, "key.delete", q->id, "", err);
    if (s == TAB_OK && !again)
        s = keys_notify_key(tx, call, false, q->id, "deleted", err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK)
        s = keys_revoke(self, ended, n, call->deadline, err);
    if (s == TAB_OK)
        out->id = tab_proto_text(call->arena, q->id);
    return s;
}

/* ---- the operator's calls -------------------------------------------------------------------- */

/* Up to ADDRESSES_MOST mail addresses with a comma between, or none. */
static tab_status addresses_good(const char *email, tab_error *err)
{
    size_t count = 0;
    for (const char *p = email; *email != '\0'; p++) {
        size_t n = strcspn(p, ",");
        if (!mail_address_good((tab_str){ p, n }) || ++count > ADDRESSES_MOST)
            return tab_fail(
                err, TAB_VALIDATION, "email",
                "`email` must be at most %d addresses such as ann@example.org, separated by commas.",
                ADDRESSES_MOST);
        p += n;
        if (*p == '\0')
            break;
    }
    return TAB_OK;
}

static tab_status create_org(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__CreateOrgRequest *q = call->in;
    Tabella__CreateOrgReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    char org[TAB_ID], id[TAB_ID], secret[TAB_SECRET_LENGTH + 1];
    tab_status s = keys_name_good(q->name, err);
    if (s == TAB_OK)
        s = addresses_good(q->email, err);
    if (s != TAB_OK)
        return s;
    tab_id_new(org, "org_");
    tab_id_new(id, "key_");
    tab_secret_new(secret);
    s = tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = keys_store_org_create(tx, org, q, err);
    if (s == TAB_OK)
        s = keys_store_create(
            tx, org,
            &(keys_new){
                .id = id, .name = "first key", .networks = "", .endpoints = "", .scopes = TAB_SCOPE_ALL },
            secret, err);
    if (s == TAB_OK)
        s = keys_audit(tx, call, org, "operator", "org.create", org, q->plan, err);
    if (s == TAB_OK)
        s = keys_audit(tx, call, org, "operator", "key.create", id, "scopes read,run,serve,manage,delete",
                       err);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK) {
        out->org = tab_proto_text(call->arena, org);
        out->key_id = tab_proto_text(call->arena, id);
        out->key = tab_proto_text(call->arena, secret);
    }
    sodium_memzero(secret, sizeof secret);
    return s;
}

static const char *org_change(tab_arena *a, const Tabella__SetOrgRequest *q)
{
    static const char *const alerts[] = { "", ", alerts" };
    static const char *const email[] = { "", ", email" };
    static const char *const networks[] = { "", ", networks" };
    static const char *const suspended[] = { "", ", suspended", ", resumed" };
    const char *own = "";
    for (size_t i = 0; i < q->n_limits && own != NULL; i++)
        own = q->limits[i]->plan
                  ? tab_arena_printf(a, "%s, %s plan", own, q->limits[i]->name)
                  : tab_arena_printf(a, "%s, %s %" PRIu64, own, q->limits[i]->name, q->limits[i]->value);
    for (size_t i = 0; i < q->n_keep && own != NULL; i++)
        own = q->keep[i]->days == 0
                  ? tab_arena_printf(a, "%s, keep %s as the plan", own, q->keep[i]->what)
                  : tab_arena_printf(a, "%s, keep %s %u days", own, q->keep[i]->what, q->keep[i]->days);
    if (own == NULL)
        return NULL;
    return tab_arena_printf(
        a, "plan %s, add_usage %d, spend_cap %d%s%s%s%s%s", q->plan[0] ? q->plan : "-", (int)q->add_usage,
        (int)q->spend_cap, email[q->email[0] != '\0' || q->set_email == TABELLA__SET_ORG_REQUEST__SWITCH__ON],
        alerts[q->set_alerts == TABELLA__SET_ORG_REQUEST__SWITCH__ON],
        networks[q->set_networks == TABELLA__SET_ORG_REQUEST__SWITCH__ON],
        suspended[q->suspended <= TABELLA__SET_ORG_REQUEST__SWITCH__OFF ? q->suspended : 0], own);
}

/* The id of an organization that the operator names by its id or its name. */
static tab_status org_named(keys *self, tab_call *call, const char *name, const char **ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    *ret = name;
    if (tab_id_valid(tab_str_of(name), "org_"))
        return TAB_OK;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(keys_store_org_find(tx, call->arena, name, ret, err));
    return tab_tx_commit(&tx, err);
}

/* As they are stored; *ret NULL: they stay as they are. Whoever sets them from outside would shut itself out.
 * */
static tab_status org_networks(tab_call *call, const Tabella__SetOrgRequest *q, const char **ret,
                               tab_error *err)
{
    *ret = NULL;
    if (q->set_networks != TABELLA__SET_ORG_REQUEST__SWITCH__ON)
        return TAB_OK;
    TAB_TRY(keys_networks_read(call->arena, q->networks, q->n_networks, ret, err));
    if (q->actor[0] == 0 || keys_networks_hold(*ret, call->address))
        return TAB_OK;
    return tab_fail(err, TAB_VALIDATION, "networks",
                    "These networks do not include %s, from which this call comes; it would lock itself out.",
                    call->address);
}

static tab_status set_org(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__SetOrgRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_tombstone *ended = NULL;
    size_t n = 0;
    const char *networks, *org = NULL, *actor = q->actor[0] != '\0' ? q->actor : "operator",
                          *change = org_change(call->arena, q);
    if (q->spend_cap == TABELLA__SET_ORG_REQUEST__SWITCH__ON && !(q->spend_cap_usd >= 0))
        return tab_fail(err, TAB_VALIDATION, "spend_cap_usd", "A spend cap must be 0 or more.");
    if (q->alerts > KEYS_ALERT_ALL)
        return tab_fail(err, TAB_VALIDATION, "alerts", "There is no such alert.");
    if (change == NULL)
        return tab_no_memory(err);
    TAB_TRY(addresses_good(q->email, err));
    TAB_TRY(org_networks(call, q, &networks, err));
    TAB_TRY(org_named(self, call, q->org, &org, err));
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    Tabella__Org before = TABELLA__ORG__INIT;
    const Tabella__Org *now = call->out;
    TAB_TRY(keys_store_org(&tx, false, call->arena, org, &before, err));
    TAB_TRY(keys_store_org_set(tx, org, q, err));
    if (networks != NULL)
        TAB_TRY(keys_store_org_networks(tx, org, networks, err));
    for (size_t i = 0; i < q->n_limits; i++)
        TAB_TRY(keys_store_org_limit(tx, org, q->limits[i], err));
    for (size_t i = 0; i < q->n_keep; i++)
        TAB_TRY(keys_keep_set(tx, org, q->keep[i], err));
    if (q->suspended != TABELLA__SET_ORG_REQUEST__SWITCH__KEEP)
        TAB_TRY(keys_store_org_suspend(
            tx, call->arena, org, q->suspended == TABELLA__SET_ORG_REQUEST__SWITCH__ON, &ended, &n, err));
    TAB_TRY(keys_audit(tx, call, org, actor, "org.set", org, change, err));
    TAB_TRY(keys_store_org(&tx, false, call->arena, org, call->out, err));
    if (strcmp(before.plan, now->plan) != 0) {
        change = tab_arena_printf(call->arena, "%s -> %s", before.plan, now->plan);
        if (change == NULL)
            return tab_no_memory(err);
        TAB_TRY(keys_audit(tx, call, org, actor, "plan.change", org, change, err));
    }
    TAB_TRY(tab_tx_commit(&tx, err));
    if (n > 0)
        return keys_revoke(self, ended, n, call->deadline, err);
    tab_status s = keys_refill(self, call, org, NULL, err);
    return networks != NULL ? s : TAB_OK; /* the plan's numbers may follow within KEYS_CACHE_ENTRY_S */
}

static tab_status get_org(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__GetOrgRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *org = call->org;
    if (q->org[0] != '\0')
        TAB_TRY(org_named(self, call, q->org, &org, err));
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    return keys_store_org(&tx, true, call->arena, org, call->out, err);
}

static tab_status list_orgs(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListOrgsRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    if (q->limit < 1 || q->limit > 1000)
        return tab_fail(err, TAB_VALIDATION, "limit", "`limit` must be from 1 to 1000.");
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    return keys_store_orgs(&tx, call->arena, q->after, q->limit, call->out, err);
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }
const tab_rpc_method keys_methods[] = {
    METHOD("Authenticate", authenticate_request, authenticate_reply, authenticate),
    METHOD("ListKeys", list_keys_request, list_keys_reply, list_keys),
    METHOD("CreateKey", create_key_request, api_key, create_key),
    METHOD("SetKey", set_key_request, api_key, keys_set_key),
    METHOD("NoteUses", note_uses_request, note_uses_reply, keys_note_uses),
    METHOD("RotateKey", rotate_key_request, api_key, rotate_key),
    METHOD("DeleteKey", delete_key_request, delete_key_reply, delete_key),
    METHOD("StartSession", start_session_request, session, keys_start_session),
    METHOD("GetSession", get_session_request, session, keys_get_session),
    METHOD("EndSession", end_session_request, end_session_reply, keys_end_session),
    METHOD("ListSessions", list_sessions_request, list_sessions_reply, keys_list_sessions),
    METHOD("ListProviders", list_providers_request, list_providers_reply, keys_list_providers),
    METHOD("SetProvider", set_provider_request, provider, keys_set_provider),
    METHOD("DeleteProvider", delete_provider_request, delete_provider_reply, keys_delete_provider),
    METHOD("BeginSignin", begin_signin_request, begin_signin_reply, keys_begin_signin),
    METHOD("CompleteSignin", complete_signin_request, session, keys_complete_signin),
    METHOD("Logout", logout_request, logout_reply, keys_logout),
    METHOD("ListPeople", list_people_request, list_people_reply, keys_list_people),
    METHOD("SetPerson", set_person_request, person, keys_set_person),
    METHOD("ListDirectoryUsers", list_directory_users_request, list_directory_users_reply,
           keys_list_directory_users),
    METHOD("SetDirectoryUser", set_directory_user_request, directory_user, keys_set_directory_user),
    METHOD("DeleteDirectoryUser", delete_directory_request, delete_directory_reply,
           keys_delete_directory_user),
    METHOD("ListDirectoryGroups", list_directory_groups_request, list_directory_groups_reply,
           keys_list_directory_groups),
    METHOD("SetDirectoryGroup", set_directory_group_request, directory_group, keys_set_directory_group),
    METHOD("DeleteDirectoryGroup", delete_directory_request, delete_directory_reply,
           keys_delete_directory_group),
    METHOD("Audit", audit_entry, audit_reply, keys_audit_entry),
    METHOD("ListAudit", list_audit_request, list_audit_reply, keys_list_audit),
    METHOD("ListNotices", list_notices_request, list_notices_reply, keys_list_notices),
    METHOD("ReadNotice", read_notice_request, notice, keys_read_notice),
    METHOD("ListWebhooks", list_webhooks_request, list_webhooks_reply, keys_list_webhooks),
    METHOD("SetWebhook", set_webhook_request, webhook, keys_set_webhook),
    METHOD("DeleteWebhook", delete_webhook_request, delete_webhook_reply, keys_delete_webhook),
    METHOD("ListDeliveries", list_deliveries_request, list_deliveries_reply, keys_list_deliveries),
    METHOD("ReplayDelivery", replay_delivery_request, delivery, keys_replay_delivery),
    METHOD("ServiceLevel", service_level_request, service_level_reply, keys_service_level),
    METHOD("ListServiceLevels", list_service_levels_request, service_level_reply, keys_list_service_levels),
    METHOD("ListKeep", list_keep_request, list_keep_reply, keys_list_keep),
    METHOD("CreateOrg", create_org_request, create_org_reply, create_org),
    METHOD("SetOrg", set_org_request, org, set_org),
    METHOD("GetOrg", get_org_request, org, get_org),
    METHOD("ListOrgs", list_orgs_request, list_orgs_reply, list_orgs),
    TAB_RPC_METHODS_END,
};

/* ---- events ---------------------------------------------------------------------------------- */

tab_status keys_on_event(void *self, tab_tx *tx, const tab_event *event, tab_error *err)
{
    static const struct {
        const char *subject;
        tab_status (*fn)(tab_tx *tx, const tab_event *event, tab_error *err);
    } kinds[] = {
        { "tabella.event.audit", keys_on_audit },       { "tabella.event.job.ended", keys_on_job },
        { "tabella.event.usage.alert", keys_on_alert }, { "tabella.event.quality.alert", keys_on_quality },
        { "tabella.event.data.changed", keys_on_data }, { "tabella.event.usage.counted", keys_on_usage },
    };
    (void)self;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(event->subject, kinds[i].subject) == 0)
            return kinds[i].fn(tx, event, err);
    return TAB_OK;
}

/* ---- chores ---------------------------------------------------------------------------------- */

/* In a second again while this process has one that waits; those of a process that died are looked for from
 * time to time. */
static void confirm_tombstones(keys *self)
{
    enum { LEFT_MS = 8000 };
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    keys_tombstone *t;
    size_t n;
    tab_error err;
    bool own = atomic_exchange(&self->unconfirmed, false);
    if (!own && tab_mono_ms() < self->left_due)
        return;
    self->left_due = 0; /* what fails below is tried again at once */
    if (a == NULL || tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, &err) != TAB_OK ||
        keys_store_pending(tx, a, 100, &t, &n, &err) != TAB_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if (keys_cache_revoke(&self->cache, &t[i], &err) != TAB_OK ||
            keys_store_confirmed(tx, &t[i], &err) != TAB_OK)
            return;
    if (tab_tx_commit(&tx, &err) != TAB_OK)
        return; /* they are revoked again, which changes nothing */
    if (n == 0)
        self->left_due = tab_mono_ms() + LEFT_MS;
}

static tab_status add_uses(keys *self, tab_arena *a, const keys_uses *u, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    size_t room = u->n * (TAB_ID + 24) + 8, at_id = 1, at_n = 1;
    char *ids = tab_arena_alloc(a, room, 1), *counts = tab_arena_alloc(a, room, 1);
    if (ids == NULL || counts == NULL)
        return tab_no_memory(err);
    bool fresh = false; /* else the batch was added before */
    ids[0] = counts[0] = '{';
    for (size_t i = 0; i < u->n; i++) {
        if (!tab_id_valid(tab_str_of(u->key_id[i]), "key_") &&
            !tab_id_valid(tab_str_of(u->key_id[i]), "usr_"))
            continue; /* a service level, or of no key: only gateways write there */
        at_id += (size_t)sprintf(ids + at_id, "%s%s", at_id > 1 ? "," : "", u->key_id[i]);
        at_n += (size_t)sprintf(counts + at_n, "%s%" PRId64, at_n > 1 ? "," : "", u->count[i]);
    }
    assert(at_id < room && at_n < room);
    ids[at_id] = counts[at_n] = '}';
    tab_status s = tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err);
    if (s == TAB_OK)
        s = keys_store_batch(tx, u->batch, &fresh, err);
    if (s == TAB_OK && fresh)
        s = keys_store_uses(tx, ids, counts, err);
    if (s == TAB_OK && fresh)
        s = keys_levels_store(tx, u, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

static void count_gateways(keys *self)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(64 << 20);
    keys_uses u;
    tab_error err;
    if (a == NULL || keys_cache_take(self->cache.redis, a, &u, &err) != TAB_OK || u.n == 0)
        return;
    if (add_uses(self, a, &u, &err) == TAB_OK)
        keys_cache_taken(self->cache.redis, u.batch);
}

static void count_own(keys *self)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    tab_error err;
    pthread_mutex_lock(&self->lock);
    size_t n = self->counted;
    keys_uses u = { "", n, a == NULL ? NULL : tab_arena_new_of(a, const char *, n),
                    a == NULL ? NULL : tab_arena_new_of(a, int64_t, n), NULL };
    bool taken = u.key_id != NULL && u.count != NULL;
    for (size_t i = 0; i < n && taken; i++) {
        u.key_id[i] = tab_arena_copy(a, tab_str_of(self->count[i].key_id)).p;
        u.count[i] = self->count[i].n;
    }
    taken = taken && !tab_arena_full(a);
    if (taken)
        self->counted = 0;
    pthread_mutex_unlock(&self->lock);
    if (!taken || n == 0 || add_uses(self, a, &u, &err) == TAB_OK)
        return;
    for (size_t i = 0; i < n; i++) /* not stored: left for the next round */
        for (int64_t k = 0; k < u.count[i]; k++)
            count_use(self, u.key_id[i]);
}

void *keys_chores(void *arg)
{
    keys *self = arg;
    bool last, loaded = false;
    do {
        last = atomic_load(&self->stop);
        /* This build's functions, once: gateways may have no right to load them. */
        loaded = loaded || tab_limits_load(self->cache.redis, LOAD_MS, NULL) == TAB_OK;
        confirm_tombstones(self);
        count_gateways(self);
        count_own(self);
        if (last || tab_mono_ms() >= self->heads_due) {
            self->heads_due = tab_mono_ms() + KEYS_HEADS_MS;
            keys_log_heads(self);
        }
        for (int ms = 0; ms < KEYS_CHORES_MS && !last && !atomic_load(&self->stop); ms += 50)
            nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000000 }, NULL);
    } while (!last);
    return NULL;
}
