/* See rows.h. */
#include "services/jobs/outcomes/rows.h"

#include <stdlib.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "services/jobs/outcomes/given.h"
#include "services/jobs/outcomes/table.h"

enum { READ_AT_ONCE = 200, FORGOTTEN_AT_ONCE = 20 };

/* "table.column", or "" where it predicts none. */
static tab_str target_of(const Tabella__Endpoint *e)
{
    const Tabella__ColumnRef *t = e->held_out == NULL ? NULL : e->held_out->target;
    return t == NULL ? TAB_S("") : (tab_str){ (const char *)t->address.data, t->address.len };
}

size_t outcome_rows_dataset(const Tabella__Endpoint *e, tab_str *ret_column)
{
    tab_str target = target_of(e);
    for (size_t i = 0; i < e->n_datasets; i++) {
        tab_str id = { (const char *)e->datasets[i]->table_id.data, e->datasets[i]->table_id.len };
        if (target.n > id.n + 1 && memcmp(target.p, id.p, id.n) == 0 && target.p[id.n] == '.') {
            *ret_column = (tab_str){ target.p + id.n + 1, target.n - id.n - 1 };
            return i;
        }
    }
    return e->n_datasets;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static tab_status announce(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, const char *action,
                           const char *detail, tab_error *err)
{
    char id[TAB_ID];
    Tabella__AuditEvent a = TABELLA__AUDIT_EVENT__INIT;
    tab_id_new(id, "evt_");
    a.event_id = id;
    a.org_id = (char *)(uintptr_t)call->org;
    a.at_us = tab_now_us();
    a.actor = (char *)(uintptr_t)call->actor;
    a.action = (char *)(uintptr_t)action;
    a.subject = e->id;
    a.request_id = (char *)(uintptr_t)call->request_id;
    a.address = (char *)(uintptr_t)call->address;
    a.detail = (char *)(uintptr_t)detail;
    if (detail == NULL)
        return tab_no_memory(err);
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", call->org, &a.base, err);
}

/* Up to where rows and bytes were counted, and what is too old by that goes. */
static tab_status put(tab_tx *tx, const char *org, const Tabella__Endpoint *e, size_t n, tab_str content,
                      const char *ids, int64_t days, tab_error *err)
{
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "INSERT INTO jobs.outcome_rows "
        "(org, endpoint_id, last_row, last_byte, rows, target, content, expires_at, ids) "
        "SELECT $1, $2, coalesce(max(last_row), 0) + $3, coalesce(max(last_byte), 0) + $4, $3, $5, $6, "
        "now() + make_interval(days => $7::int), $8::uuid[] "
        "FROM (SELECT last_row, last_byte FROM jobs.outcome_rows WHERE org = $1 AND endpoint_id = $2 "
        "ORDER BY last_row DESC LIMIT 1) last",
        TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_int((int64_t)n), tab_p_int((int64_t)content.n),
              tab_p_str(target_of(e)), tab_p_bytes(content), tab_p_int(days), tab_p_text(ids))));
    return tab_tx_query(
        tx, NULL, err,
        "DELETE FROM jobs.outcome_rows k USING (SELECT last_row, last_byte FROM jobs.outcome_rows "
        "WHERE org = $1 AND endpoint_id = $2 ORDER BY last_row DESC LIMIT 1) last "
        "WHERE k.org = $1 AND k.endpoint_id = $2 AND k.last_row = ANY(ARRAY(SELECT o.last_row "
        "FROM jobs.outcome_rows o WHERE o.org = $1 AND o.endpoint_id = $2 ORDER BY o.last_row LIMIT 1000)) "
        "AND (k.last_row <= last.last_row - $3 OR k.last_byte <= last.last_byte - $4)",
        TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_int(OUTCOME_ROWS), tab_p_int(OUTCOME_ROWS_BYTES)));
}

bool outcome_rows_gather(tab_arena *a, const Tabella__Endpoint *e, const Tabella__OutcomesRequest *q,
                         const counted *const *of, size_t n, Tabella__KeptOutcomes *ret, const char **ret_ids)
{
    Tabella__OutcomeRow *row = tab_arena_new_of(a, Tabella__OutcomeRow, n + 1);
    outcome_ids ids;
    tabella__kept_outcomes__init(ret);
    ret->rows = tab_arena_new_of(a, Tabella__OutcomeRow *, n + 1);
    if (ret->rows == NULL || row == NULL || !outcome_ids_begin(a, n, &ids))
        return false;
    for (size_t i = 0; i < n; i++)
        if (outcome_is_kept(e, q->rows[of[i]->row], of[i])) {
            Tabella__OutcomeRow *o = &row[ret->n_rows];
            *o = *q->rows[of[i]->row];
            o->receipt = (char *)protobuf_c_empty_string;
            ret->rows[ret->n_rows++] = o;
            outcome_ids_add(&ids, of[i]->receipt.id);
        }
    *ret_ids = outcome_ids_end(&ids);
    return true;
}

tab_status outcome_rows_keep(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e,
                             const Tabella__OutcomesRequest *q, const counted *const *of, size_t n,
                             int64_t days, uint64_t *ret, tab_error *err)
{
    Tabella__KeptOutcomes kept;
    const char *ids;
    tab_str column;
    *ret = 0;
    if (days == 0 || outcome_rows_dataset(e, &column) == e->n_datasets)
        return TAB_OK;
    if (!outcome_rows_gather(call->arena, e, q, of, n, &kept, &ids))
        return tab_no_memory(err);
    if (kept.n_rows == 0)
        return TAB_OK;
    tab_str content = tab_proto_write(call->arena, &kept.base);
    if (content.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(put(tx, call->org, e, kept.n_rows, content, ids, days, err));
    *ret = kept.n_rows;
    return announce(tx, call, e, "endpoint.outcomes",
                    tab_arena_printf(call->arena, "%zu rows kept for a refresh", kept.n_rows), err);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

bool outcome_rows_without(Tabella__KeptOutcomes *k, const char *places)
{
    size_t n = 0, next = 0;
    for (const char *p = places; *p != 0 && *p != '}';) {
        char *end;
        unsigned long at = strtoul(p + 1, &end, 10); /* behind the brace, or the comma */
        if (end == p + 1 || at < next || at >= k->n_rows)
            return false;
        while (next < at)
            k->rows[n++] = k->rows[next++];
        next = at + 1;
        p = end;
    }
    while (next < k->n_rows)
        k->rows[n++] = k->rows[next++];
    k->n_rows = n;
    return true;
}

/* The kept rows of one call, which some of the ids belong to. */
static tab_status forget_some(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, int64_t last_row,
                              tab_str content, const char *places, const char *ids, uint64_t *ret,
                              tab_error *err)
{
    Tabella__KeptOutcomes *k = tab_proto_read(call->arena, &tabella__kept_outcomes__descriptor, content);
    size_t had = k == NULL ? 0 : k->n_rows;
    if (k == NULL || !outcome_rows_without(k, places))
        return tab_fail(err, TAB_INTERNAL, "", "kept outcomes cannot be read");
    *ret += had - k->n_rows;
    if (k->n_rows == 0)
        return tab_tx_query(
            tx, NULL, err,
            "DELETE FROM jobs.outcome_rows WHERE org = $1 AND endpoint_id = $2 AND last_row = $3",
            TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_int(last_row)));
    tab_str left = tab_proto_write(call->arena, &k->base);
    if (left.p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE jobs.outcome_rows SET rows = $4, content = $5, ids = ARRAY(SELECT id "
        "FROM unnest(ids) WITH ORDINALITY u(id, o) WHERE NOT id = ANY($6::uuid[]) ORDER BY o) "
        "WHERE org = $1 AND endpoint_id = $2 AND last_row = $3",
        TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_int(last_row), tab_p_int((int64_t)k->n_rows),
              tab_p_bytes(left), tab_p_text(ids)));
}

tab_status outcome_rows_forget(tab_tx *tx, tab_call *call, const Tabella__Endpoint *e, const char *ids,
                               uint64_t *ret, uint64_t *ret_unnamed, tab_error *err)
{
    int64_t after = 0;
    *ret = 0;
    for (bool more = true; more;) {
        TAB_AUTO(tab_rows) *rows = NULL;
        TAB_TRY(tab_tx_query(tx, &rows, err,
                             "SELECT last_row, content, ARRAY(SELECT o - 1 FROM unnest(ids) WITH ORDINALITY "
                             "u(id, o) WHERE id = ANY($4::uuid[]) ORDER BY o)::text FROM jobs.outcome_rows "
                             "WHERE org = $1 AND endpoint_id = $2 AND last_row > $3 AND ids && $4::uuid[] "
                             "ORDER BY last_row LIMIT $5",
                             TAB_P(tab_p_text(call->org), tab_p_text(e->id), tab_p_int(after),
                                   tab_p_text(ids), tab_p_int(FORGOTTEN_AT_ONCE))));
        more = tab_rows_count(rows) == FORGOTTEN_AT_ONCE;
        for (size_t i = 0; i < tab_rows_count(rows); i++) {
            after = tab_rows_int(rows, i, 0);
            TAB_TRY(forget_some(tx, call, e, after, tab_rows_bytes(rows, i, 1, call->arena),
                                tab_rows_text(rows, i, 2), ids, ret, err));
        }
    }
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT coalesce(sum(rows), 0)::bigint FROM jobs.outcome_rows "
                         "WHERE org = $1 AND endpoint_id = $2 AND ids IS NULL",
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id))));
    *ret_unnamed = (uint64_t)tab_rows_int(rows, 0, 0);
    return announce(tx, call, e, "endpoint.outcomes_forgotten",
                    tab_arena_printf(call->arena, "%llu kept rows forgotten", (unsigned long long)*ret), err);
}

/* ---- reading --------------------------------------------------------------------------------- */

tab_status outcome_rows_count(tab_tx *tx, const char *org, const Tabella__Endpoint *e, uint64_t *ret,
                              tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        "SELECT coalesce(sum(rows), 0)::bigint FROM (SELECT rows FROM jobs.outcome_rows "
        "WHERE org = $1 AND endpoint_id = $2 AND target = $3 LIMIT $4) k",
        TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_str(target_of(e)), tab_p_int(OUTCOME_ROWS))));
    *ret = (uint64_t)tab_rows_int(rows, 0, 0);
    return TAB_OK;
}

/* The next rows from the database; false in *ret_more: there are no others. */
static tab_status add_some(outcome_table *x, tab_arena *a, tab_tx *tx, const char *org,
                           const Tabella__Endpoint *e, int64_t *after, bool *ret_more, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(
        tab_tx_query(tx, &rows, err,
                     "SELECT last_row, content FROM jobs.outcome_rows WHERE org = $1 AND endpoint_id = $2 "
                     "AND last_row > $3 AND target = $4 ORDER BY last_row LIMIT $5",
                     TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_int(*after), tab_p_str(target_of(e)),
                           tab_p_int(READ_AT_ONCE))));
    *ret_more = tab_rows_count(rows) == READ_AT_ONCE;
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        const Tabella__KeptOutcomes *k =
            tab_proto_read(a, &tabella__kept_outcomes__descriptor, tab_rows_bytes(rows, i, 1, a));
        if (k == NULL)
            return tab_fail(err, TAB_INTERNAL, "", "kept outcomes cannot be read");
        for (size_t r = 0; r < k->n_rows; r++)
            TAB_TRY(outcome_table_add(x, k->rows[r], err));
        *after = tab_rows_int(rows, i, 0);
    }
    return TAB_OK;
}

static tab_status add_all(outcome_table *x, tab_arena *a, tab_pg *pg, const char *org,
                          const Tabella__Endpoint *e, tab_deadline deadline, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    int64_t after = 0;
    TAB_TRY(tab_tx_begin(pg, org, deadline, &tx, err));
    for (bool more = true; more;)
        TAB_TRY(add_some(x, a, tx, org, e, &after, &more, err));
    return tab_tx_commit(&tx, err);
}

tab_status outcome_rows_read(tab_pg *pg, tab_arena *a, const char *org, const Tabella__Endpoint *e,
                             tab_deadline deadline, const tab_table **ret, tab_error *err)
{
    outcome_table *x = outcome_table_new(a);
    *ret = NULL;
    if (x == NULL)
        return tab_no_memory(err);
    return outcome_table_end(x, add_all(x, a, pg, org, e, deadline, err), ret, err);
}
