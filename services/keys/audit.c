/* The audit log: one entry for each thing that was done, in the transaction that did it or from another
 * service's event, and linked to the entry before (decision 0315). The table numbers and hashes its
 * rows itself (schema/0004-audit-chain.sql). */
#include <sodium.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "common/pg/tally.h"
#include "proto/events.pb-c.h"
#include "services/keys/keys.h"

enum { PAGE = 100, HEADS = 1000, HASH = crypto_hash_sha256_BYTES };

/* Receivers that want the log (decision 0627) get it in its order: an entry joins the delivery that ends with
 * the one before it and was not tried yet, else it begins one. */
#define ENTRIES_MOST "200"
static tab_status insert(tab_tx *tx, const Tabella__AuditEntry *e, tab_error *err)
{
    return tab_tx_query(
        tx, NULL, err,
        "WITH e AS (INSERT INTO keys.audit "
        "(org, event_id, actor, action, object, detail, request_id, at, address) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (org, event_id) DO NOTHING RETURNING seq), "
        "w AS (SELECT id FROM keys.webhook WHERE org = $1 AND disabled IS NULL "
        "AND strpos(' ' || types || ' ', ' audit.entries ') > 0), "
        "joined AS (UPDATE keys.webhook_delivery d SET to_seq = e.seq FROM e, w WHERE d.org = $1 "
        "AND d.webhook = w.id AND d.subject = 'audit' AND d.open AND d.tries = 0 AND d.to_seq = e.seq - 1 "
        "AND e.seq - d.from_seq < " ENTRIES_MOST " RETURNING d.webhook) "
        "INSERT INTO keys.webhook_delivery (org, id, webhook, notice, kind, subject, from_seq, to_seq) "
        "SELECT $1, 'dlv_' || replace(gen_random_uuid()::text, '-', ''), w.id, "
        "'ntf_' || replace(gen_random_uuid()::text, '-', ''), 'audit.entries', 'audit', e.seq, e.seq "
        "FROM e, w WHERE w.id NOT IN (SELECT webhook FROM joined)",
        TAB_P(tab_p_text(e->org), tab_p_text(e->id), tab_p_text(e->actor), tab_p_text(e->action),
              tab_p_text(e->object), tab_p_text(e->detail), tab_p_text(e->request_id), tab_p_time(e->at),
              tab_p_text(e->address)));
}

tab_status keys_audit(tab_tx *tx, const tab_call *call, const char *org, const char *actor,
                      const char *action, const char *object, const char *detail, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "aud_");
    Tabella__AuditEntry e = TABELLA__AUDIT_ENTRY__INIT;
    e.id = id;
    e.org = (char *)org;
    e.actor = (char *)(actor[0] != '\0' ? actor : call->actor[0] != '\0' ? call->actor : "operator");
    e.action = (char *)action;
    e.object = (char *)object;
    e.detail = (char *)detail;
    e.at = tab_now_us();
    e.request_id = (char *)call->request_id;
    e.address = (char *)call->address;
    return insert(tx, &e, err);
}

tab_status keys_on_audit(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__AuditEvent *m =
        tab_proto_read(event->arena, &tabella__audit_event__descriptor, event->payload);
    if (m == NULL)
        return TAB_OK; /* never readable */
    Tabella__AuditEntry e = TABELLA__AUDIT_ENTRY__INIT;
    e.id = (char *)event->event_id;
    e.org = (char *)event->org;
    e.actor = m->actor;
    e.action = m->action;
    e.object = m->subject;
    e.detail = m->detail;
    e.at = m->at_us;
    e.request_id = m->request_id;
    e.address = m->address;
    return insert(tx, &e, err);
}

tab_status keys_audit_entry(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__AuditEntry *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *org = q->org[0] != '\0' ? q->org : call->org;
    Tabella__AuditEntry e = *q;
    e.org = (char *)org;
    if (e.id[0] == '\0' || org[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "id", "an audit entry needs an id and an organization");
    if (e.at == 0)
        e.at = tab_now_us();
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(insert(tx, &e, err));
    return tab_tx_commit(&tx, err);
}

/* ---- reading it ------------------------------------------------------------------------------ */

#define MATCHES                                  \
    "org = $1 "                                  \
    "AND ($2 = '' OR action = $2) "              \
    "AND ($3 = '' OR actor = $3) "               \
    "AND ($4::timestamptz IS NULL OR at >= $4) " \
    "AND ($5::timestamptz IS NULL OR at < $5) "
#define ENTRY \
    "SELECT seq, event_id, actor, action, object, detail, at, request_id, address, hash FROM keys.audit "

static tab_param time_or_null(int64_t us)
{
    return us == 0 ? tab_p_null() : tab_p_time(us);
}

static tab_status fill(const tab_rows *r, tab_arena *a, const char *org, Tabella__ListAuditReply *ret,
                       tab_error *err)
{
    size_t n = tab_rows_count(r);
    ret->entries = tab_arena_new_of(a, Tabella__AuditEntry *, n);
    ret->position = tab_arena_new_of(a, int64_t, n);
    Tabella__AuditEntry *entry = tab_arena_new_of(a, Tabella__AuditEntry, n);
    if (ret->entries == NULL || ret->position == NULL || entry == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        Tabella__AuditEntry *e = ret->entries[i] = &entry[i];
        tabella__audit_entry__init(e);
        ret->position[i] = tab_rows_int(r, i, 0);
        e->seq = (uint64_t)ret->position[i];
        e->org = tab_proto_text(a, org);
        e->id = tab_proto_text(a, tab_rows_text(r, i, 1));
        e->actor = tab_proto_text(a, tab_rows_text(r, i, 2));
        e->action = tab_proto_text(a, tab_rows_text(r, i, 3));
        e->object = tab_proto_text(a, tab_rows_text(r, i, 4));
        e->detail = tab_proto_text(a, tab_rows_text(r, i, 5));
        e->at = tab_rows_time(r, i, 6);
        e->request_id = tab_proto_text(a, tab_rows_text(r, i, 7));
        e->address = tab_proto_text(a, tab_rows_text(r, i, 8));
        e->hash = tab_proto_bytes(a, tab_rows_bytes(r, i, 9, a));
    }
    ret->n_entries = ret->n_position = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* Up to where the log was cut (decision 0352). */
static tab_status checkpoint(tab_tx *tx, tab_arena *a, const char *org, Tabella__Checkpoint **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT signed, key, signature FROM keys.audit_checkpoint WHERE org = $1 "
                         "ORDER BY n DESC LIMIT 1",
                         TAB_P(tab_p_text(org))));
    if (tab_rows_count(r) == 0)
        return TAB_OK;
    Tabella__Checkpoint *c = tab_arena_new_of(a, Tabella__Checkpoint, 1);
    if (c == NULL)
        return tab_no_memory(err);
    tabella__checkpoint__init(c);
    c->text = tab_proto_text(a, tab_rows_text(r, 0, 0));
    c->key = tab_proto_bytes(a, tab_rows_bytes(r, 0, 1, a));
    c->signature = tab_proto_bytes(a, tab_rows_bytes(r, 0, 2, a));
    *ret = c;
    return TAB_OK;
}

/* How many entries match: of all, of an action or of an actor without counting them. */
static tab_status total_of(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListAuditRequest *q,
                           uint64_t *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    bool timed = q->since != 0 || q->until != 0, action = q->action[0] != 0, actor = q->actor[0] != 0;
    if (!timed && action != actor) {
        const char *list =
            tab_arena_printf(a, action ? "action/%s" : "actor/%s", action ? q->action : q->actor);
        return list == NULL ? tab_no_memory(err) : tab_tally_total(tx, "keys", org, list, ret, err);
    }
    if (timed || action)
        TAB_TRY(tab_tx_query(tx, &r, err, "SELECT count(*) FROM keys.audit WHERE " MATCHES,
                             TAB_P(tab_p_text(org), tab_p_text(q->action), tab_p_text(q->actor),
                                   time_or_null(q->since), time_or_null(q->until))));
    else /* the chain has no gaps */
        TAB_TRY(tab_tx_query(tx, &r, err,
                             "SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM keys.audit WHERE org = $1",
                             TAB_P(tab_p_text(org))));
    *ret = (uint64_t)tab_rows_int(r, 0, 0);
    return TAB_OK;
}

static tab_status list(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListAuditRequest *q,
                       Tabella__ListAuditReply *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_rows) *head = NULL;
    uint32_t limit = q->limit == 0 || q->limit > PAGE ? PAGE : q->limit;
    tab_param since = time_or_null(q->since), until = time_or_null(q->until);
    TAB_TRY(tab_tx_query(tx, &head, err,
                         "SELECT seq, hash FROM keys.audit WHERE org = $1 ORDER BY seq DESC LIMIT 1",
                         TAB_P(tab_p_text(org))));
    TAB_TRY(total_of(tx, a, org, q, &ret->total, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         q->ascending ? ENTRY "WHERE " MATCHES "AND seq > $6::bigint ORDER BY seq LIMIT $7"
                                      : ENTRY "WHERE " MATCHES "AND ($6::bigint = 0 OR seq < $6::bigint) "
                                              "ORDER BY seq DESC LIMIT $7",
                         TAB_P(tab_p_text(org), tab_p_text(q->action), tab_p_text(q->actor), since, until,
                               tab_p_int(q->ascending ? q->after : q->before), tab_p_int(limit))));
    if (tab_rows_count(head) == 1) {
        ret->head_seq = (uint64_t)tab_rows_int(head, 0, 0);
        ret->head_hash = tab_proto_bytes(a, tab_rows_bytes(head, 0, 1, a));
    }
    TAB_TRY(checkpoint(tx, a, org, &ret->checkpoint, err));
    return fill(r, a, org, ret, err);
}

tab_status keys_list_audit(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListAuditRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    const char *org = call->org[0] != '\0' ? call->org : q->org; /* only the operator calls without one */
    if (org[0] == '\0')
        return tab_fail(err, TAB_VALIDATION, "org", "name an organization: org_...");
    TAB_TRY(tab_tx_begin(self->pg, org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(list(tx, call->arena, org, q, call->out, err));
    return tab_tx_commit(&tx, err);
}

/* ---- the operator's log ---------------------------------------------------------------------- */

/* Where this process begins: what is older was logged by those who wrote it. */
static tab_status newest(tab_tx *tx, int64_t *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, "SELECT coalesce(max(position), 0) FROM keys.audit", TAB_P_NONE));
    *ret = tab_rows_int(r, 0, 0);
    return TAB_OK;
}

static tab_status log_heads(tab_tx *tx, tab_arena *a, int64_t *position, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT DISTINCT ON (org) org, seq, hash, max(position) OVER () "
                         "FROM (SELECT * FROM keys.audit WHERE position > $1 ORDER BY position LIMIT $2) new "
                         "ORDER BY org, seq DESC",
                         TAB_P(tab_p_int(*position), tab_p_int(HEADS))));
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        char hex[2 * HASH + 1];
        tab_str hash = tab_rows_bytes(r, i, 2, a);
        if (hash.n != HASH)
            return tab_fail(err, TAB_INTERNAL, "", "a hash of the audit log of another length");
        sodium_bin2hex(hex, sizeof hex, (const uint8_t *)hash.p, hash.n);
        tab_log_context("", tab_rows_text(r, i, 0));
        tab_log_fields(TAB_INFO, "head of the audit log", "seq", tab_rows_text(r, i, 1), "hash", hex, NULL);
        *position = tab_rows_int(r, i, 3);
    }
    tab_log_context(NULL, NULL);
    return TAB_OK;
}

void keys_log_heads(keys *self)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err;
    if (a == NULL || tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, &err) != TAB_OK)
        return; /* in a second again */
    if (!self->heads_begun)
        self->heads_begun = newest(tx, &self->heads, &err) == TAB_OK;
    else if (log_heads(tx, a, &self->heads, &err) != TAB_OK)
        tab_log(TAB_WARN, "the audit log's heads: %s", err.message);
}
