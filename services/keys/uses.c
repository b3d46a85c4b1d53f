/* Where keys are used from, as the apis tell it, and keys whose end is near or has come. Both are told to the
 * organization: a network that a key was not used from before, and its end a week and a day before it comes.
 * */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/security/bounds.h"
#include "services/keys/keys.h"

enum { USES_MOST = 1000, AGENT_MOST = 200, NETWORKS_MOST = 64 };

static void member(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* What is told apart: a /24 of IPv4, a /48 of IPv6; "" for what is no address. */
static void network_of(const char *address, char ret[TAB_NETWORK_TEXT])
{
    tab_network n;
    ret[0] = 0;
    if (!tab_network_read(tab_str_of(address), &n))
        return;
    n.bits = n.size == 4 ? 24 : 48;
    memset(n.address + n.bits / 8, 0, sizeof n.address - n.bits / 8);
    tab_network_write(&n, ret);
}

/* What a client calls itself, as plain text. */
static void agent_member(tab_out *o, const char *agent)
{
    char text[AGENT_MOST + 1];
    size_t n = 0;
    for (; n < AGENT_MOST && agent[n] != 0; n++)
        text[n] = agent[n] >= ' ' && agent[n] <= '~' ? agent[n] : '?';
    text[n] = 0;
    member(o, "agent", text);
}

/* The uses as rows for jsonb_to_recordset. */
static void rows_of(const Tabella__NoteUsesRequest *q, tab_out *o)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < q->n_uses && i < USES_MOST; i++) {
        const Tabella__Use *u = q->uses[i];
        char network[TAB_NETWORK_TEXT];
        network_of(u->address, network);
        tab_out_open(o, '{');
        member(o, "org", u->org);
        member(o, "id", u->key_id);
        member(o, "address", network[0] != 0 ? u->address : "");
        member(o, "network", network);
        agent_member(o, u->agent);
        tab_out_key(o, "at");
        tab_out_int(o, u->at);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

#define USES \
    "jsonb_to_recordset($1::jsonb) AS u(org text, id text, address text, network text, agent text, at int8) "

static tab_status tell_network(tab_tx *tx, tab_arena *a, const char *org, const char *key,
                               const char *network, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "evt_");
    keys_notice n = {
        .event_id = id, .kind = "key.network", .subject = key, .at = tab_now_us(), .alert = KEYS_ALERT_KEYS
    };
    n.text = tab_arena_printf(a, "Key %s was used from %s, a network that it was not used from before.", key,
                              network);
    tab_out_open(&n.data, '{');
    member(&n.data, "key_id", key);
    member(&n.data, "network", network);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, a, org, &n, err);
    tab_out_free(&n.data);
    return s;
}

/* Further networks of keys that have one, up to NETWORKS_MOST: a key that is used from everywhere is not told
 * of for ever. */
static tab_status note_networks(tab_tx *tx, tab_arena *a, tab_str uses, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "WITH told AS (SELECT * FROM " USES "), "
        "had AS (SELECT n.org, n.key_id, count(*) AS n FROM keys.key_network n JOIN "
        "(SELECT DISTINCT org, id FROM told) k ON k.org = n.org AND k.id = n.key_id GROUP BY 1, 2), "
        "put AS (INSERT INTO keys.key_network (org, key_id, network) "
        "SELECT DISTINCT u.org, u.id, u.network FROM told u "
        "JOIN keys.api_key k ON k.org = u.org AND k.id = u.id AND k.deleted IS NULL AND NOT k.person "
        "LEFT JOIN had h ON h.org = u.org AND h.key_id = u.id "
        "WHERE u.network <> '' AND coalesce(h.n, 0) < $2 "
        "ON CONFLICT (org, key_id, network) DO UPDATE SET seen = now() "
        "WHERE key_network.seen < now() - interval '1 day' "
        "RETURNING org, key_id, network, xmax = 0 AS fresh) "
        "SELECT p.org, p.key_id, p.network FROM put p JOIN had h USING (org, key_id) WHERE p.fresh "
        "ORDER BY p.org, p.key_id, p.network",
        TAB_P(tab_p_str(uses), tab_p_int(NETWORKS_MOST))));
    for (size_t i = 0; i < tab_rows_count(r); i++)
        TAB_TRY(
            tell_network(tx, a, tab_rows_text(r, i, 0), tab_rows_text(r, i, 1), tab_rows_text(r, i, 2), err));
    return TAB_OK;
}

tab_status keys_note_uses(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_out rows = { 0 };
    rows_of(call->in, &rows);
    tab_status s = rows.failed ? tab_no_memory(err)
                               : tab_tx_begin(self->pg, TAB_ORG_ALL,
                                              tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, err,
                         "UPDATE keys.api_key k SET last_address = u.address, last_agent = u.agent "
                         "FROM (SELECT DISTINCT ON (org, id) * FROM " USES "ORDER BY org, id, at DESC) u "
                         "WHERE k.org = u.org AND k.id = u.id AND k.deleted IS NULL",
                         TAB_P(tab_p_str(tab_out_text(&rows))));
    if (s == TAB_OK)
        s = note_networks(tx, call->arena, tab_out_text(&rows), err);
    tab_out_free(&rows);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* ---- ends ------------------------------------------------------------------------------------ */

enum { ENDED = 3 };

static tab_status tell_end(tab_tx *tx, tab_arena *a, const tab_rows *r, size_t i, tab_error *err)
{
    static const tab_call system = { .request_id = "", .address = "", .actor = "system" };
    const char *org = tab_rows_text(r, i, 0), *key = tab_rows_text(r, i, 1), *name = tab_rows_text(r, i, 2);
    int64_t stage = tab_rows_int(r, i, 4);
    char until[TAB_TIME_TEXT], id[128];
    tab_time_text_s(tab_rows_time(r, i, 3), until);
    snprintf(id, sizeof id, "end-%s-%" PRId64 "-%s", key, stage, until); /* once for an end */
    keys_notice n = { .event_id = id,
                      .kind = stage == ENDED ? "key.expired" : "key.expiring",
                      .subject = key,
                      .at = tab_now_us(),
                      .alert = KEYS_ALERT_KEYS };
    n.text = tab_arena_printf(a, stage == ENDED ? "Key %s ended at %s." : "Key %s ends at %s.", key, until);
    tab_out_open(&n.data, '{');
    member(&n.data, "key_id", key);
    member(&n.data, "name", name);
    member(&n.data, "expires_at", until);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, a, org, &n, err);
    tab_out_free(&n.data);
    if (s == TAB_OK && stage == ENDED)
        s = keys_audit(tx, &system, org, "system", "key.expire", key, until, err);
    return s;
}

tab_status keys_ends(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(4 << 20);
    TAB_AUTO(tab_rows) *r = NULL;
    (void)arg;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "WITH due AS (SELECT org, id, CASE WHEN expires <= now() THEN 3 "
        "WHEN expires <= now() + interval '1 day' THEN 2 ELSE 1 END AS stage FROM keys.api_key "
        "WHERE deleted IS NULL AND warned < 3 "
        "AND expires <= CASE warned WHEN 0 THEN now() + interval '7 days' "
        "WHEN 1 THEN now() + interval '1 day' ELSE now() END AND expires <= now() + interval '7 days' "
        "ORDER BY expires LIMIT $1 FOR UPDATE SKIP LOCKED) "
        "UPDATE keys.api_key k SET warned = due.stage FROM due WHERE k.org = due.org AND k.id = due.id "
        "RETURNING k.org, k.id, k.name, k.expires, due.stage",
        TAB_P(tab_p_int(most))));
    *ret_n = tab_rows_count(r);
    for (size_t i = 0; i < *ret_n; i++)
        TAB_TRY(tell_end(tx, a, r, i, err));
    return TAB_OK;
}
