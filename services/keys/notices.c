/* Notices: what the platform shows to an organization and mails to its addresses. A notice is frozen when
 * it fires, in the transaction of its cause, together with its deliveries (decision 0316); mail.c
 * sends them. */
#include <inttypes.h>

#include "common/base/proto.h"
#include "common/json/json.h"
#include "common/pg/tally.h"
#include "proto/events.pb-c.h"
#include "services/keys/keys.h"

enum { PAGE = 100 };

tab_status keys_notify(tab_tx *tx, tab_arena *a, const char *org, const keys_notice *n, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "ntf_");
    if (n->text == NULL || n->data.failed || tab_arena_full(a))
        return tab_no_memory(err);
    tab_str data = n->data.n == 0 ? TAB_S("{}") : (tab_str){ n->data.p, n->data.n };
    return tab_tx_query(
        tx, NULL, err,
        "WITH fired AS ("
        "INSERT INTO keys.notification (org, event_id, kind, subject, text, at, id, data) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
        "ON CONFLICT (org, event_id) DO NOTHING "
        "RETURNING id), "
        "hooked AS (INSERT INTO keys.webhook_delivery (org, id, webhook, notice, kind, subject) "
        "SELECT $1, 'dlv_' || replace(gen_random_uuid()::text, '-', ''), w.id, fired.id, $3, $4 "
        "FROM fired, keys.webhook w WHERE w.org = $1 AND w.disabled IS NULL "
        "AND (CASE WHEN $10::text <> '' THEN w.id = $10 ELSE w.types = '' "
        "OR strpos(' ' || w.types || ' ', ' ' || $3 || ' ') > 0 END)) "
        "INSERT INTO keys.delivery (org, notice, address) "
        "SELECT $1, fired.id, trim(address) "
        "FROM fired, keys.org o, unnest(string_to_array(o.email, ',')) address "
        "WHERE o.org = $1 AND (o.alerts & $9::int) <> 0 AND trim(address) <> '' "
        "ON CONFLICT DO NOTHING",
        TAB_P(tab_p_text(org), tab_p_text(n->event_id), tab_p_text(n->kind), tab_p_text(n->subject),
              tab_p_text(n->text), tab_p_time(n->at), tab_p_text(id), tab_p_str(data), tab_p_int(n->alert),
              tab_p_text(n->webhook != NULL ? n->webhook : "")));
}

/* ---- what fires them ------------------------------------------------------------------------- */

static void text_member(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

tab_status keys_on_job(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__JobEnded *m =
        tab_proto_read(event->arena, &tabella__job_ended__descriptor, event->payload);
    if (m == NULL)
        return TAB_OK; /* never readable */
    bool failing = strcmp(m->kind, "sync") == 0 && strcmp(m->status, "failed") == 0;
    keys_notice n = { .event_id = event->event_id,
                      .kind = failing ? "connection.failing" : "job.ended",
                      .subject = m->job_id,
                      .at = m->at_us,
                      .alert = failing ? KEYS_ALERT_CONNECTIONS : KEYS_ALERT_JOBS };
    /* Why it failed is in data: the text is mailed, and a reason may quote what was asked. */
    n.text = tab_arena_printf(event->arena, "Job %s (%s %s) is %s.", m->job_id, m->kind, m->label, m->status);
    tab_out_open(&n.data, '{');
    text_member(&n.data, "job_id", m->job_id);
    text_member(&n.data, "kind", m->kind);
    text_member(&n.data, "status", m->status);
    text_member(&n.data, "label", m->label);
    if (m->endpoint_id[0] != '\0')
        text_member(&n.data, "endpoint_id", m->endpoint_id);
    if (m->report_id[0] != '\0')
        text_member(&n.data, "report_id", m->report_id);
    if (m->error[0] != '\0')
        text_member(&n.data, "error", m->error);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, event->arena, event->org, &n, err);
    tab_out_free(&n.data);
    return s;
}

tab_status keys_on_alert(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__UsageAlert *m =
        tab_proto_read(event->arena, &tabella__usage_alert__descriptor, event->payload);
    if (m == NULL)
        return TAB_OK;
    keys_notice n = { .event_id = event->event_id,
                      .kind = "usage.alert",
                      .subject = m->window,
                      .at = m->at_us,
                      .alert = KEYS_ALERT_USAGE };
    n.text =
        tab_arena_printf(event->arena, "%u%% of the allowance is used: %" PRIu64 " of %" PRIu64 " cells, %s.",
                         m->percent, m->used_cells, m->allowance, m->window);
    tab_out_open(&n.data, '{');
    tab_out_key(&n.data, "percent");
    tab_out_uint(&n.data, m->percent);
    text_member(&n.data, "window", m->window);
    tab_out_key(&n.data, "used_cells");
    tab_out_uint(&n.data, m->used_cells);
    tab_out_key(&n.data, "allowance");
    tab_out_uint(&n.data, m->allowance);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, event->arena, event->org, &n, err);
    tab_out_free(&n.data);
    return s;
}

/* Names of columns, which callers chose. */
static void columns_member(tab_out *o, const ProtobufCBinaryData *name, size_t n)
{
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_str(o, (tab_str){ (const char *)name[i].data, name[i].len });
    tab_out_close(o, ']');
}

tab_status keys_on_quality(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__QualityAlert *m =
        tab_proto_read(event->arena, &tabella__quality_alert__descriptor, event->payload);
    if (m == NULL)
        return TAB_OK;
    keys_notice n = { .event_id = event->event_id,
                      .kind = "quality.alert",
                      .subject = m->endpoint_id,
                      .at = m->at_us,
                      .alert = KEYS_ALERT_QUALITY };
    /* Columns are in data: the text is mailed. */
    n.text = tab_arena_printf(event->arena,
                              "The confidences of endpoint %s no longer hold: %.1f%% of %" PRIu64
                              " outcomes are correct, while %.1f%% was stated.",
                              m->endpoint, 100 * m->was, m->rows, 100 * m->said);
    tab_out_open(&n.data, '{');
    text_member(&n.data, "endpoint_id", m->endpoint_id);
    text_member(&n.data, "endpoint", m->endpoint);
    text_member(&n.data, "measure", m->measure);
    tab_out_key(&n.data, "said");
    tab_out_fixed(&n.data, m->said);
    tab_out_key(&n.data, "was");
    tab_out_fixed(&n.data, m->was);
    tab_out_key(&n.data, "rows");
    tab_out_uint(&n.data, m->rows);
    columns_member(&n.data, m->columns, m->n_columns);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, event->arena, event->org, &n, err);
    tab_out_free(&n.data);
    return s;
}

tab_status keys_on_data(tab_tx *tx, const tab_event *event, tab_error *err)
{
    const Tabella__DataChanged *m =
        tab_proto_read(event->arena, &tabella__data_changed__descriptor, event->payload);
    if (m == NULL)
        return TAB_OK;
    keys_notice n = { .event_id = event->event_id,
                      .kind = "data.changed",
                      .subject = m->dataset,
                      .at = m->at_us,
                      .alert = KEYS_ALERT_CONNECTIONS };
    /* Columns are in data: the text is mailed. */
    n.text = tab_arena_printf(event->arena,
                              "The last sync of %s brought rows that differ from earlier ones beyond chance: "
                              "%u of %" PRIu64 " checks.",
                              m->name, m->changed, m->checks);
    tab_out_open(&n.data, '{');
    text_member(&n.data, "dataset", m->dataset);
    text_member(&n.data, "name", m->name);
    text_member(&n.data, "snapshot", m->snapshot);
    tab_out_key(&n.data, "checks");
    tab_out_uint(&n.data, m->checks);
    tab_out_key(&n.data, "changed");
    tab_out_uint(&n.data, m->changed);
    columns_member(&n.data, m->columns, m->n_columns);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, event->arena, event->org, &n, err);
    tab_out_free(&n.data);
    return s;
}

tab_status keys_notify_key(tab_tx *tx, const tab_call *call, bool created, const char *key_id,
                           const char *what, tab_error *err)
{
    char id[TAB_ID];
    tab_id_new(id, "evt_");
    keys_notice n = { .event_id = id,
                      .kind = created ? "key.created" : "key.revoked",
                      .subject = key_id,
                      .at = tab_now_us(),
                      .alert = KEYS_ALERT_KEYS };
    n.text = tab_arena_printf(call->arena, "Key %s was %s by %s%s%s.", key_id, what, call->actor,
                              call->address[0] != '\0' ? " from " : "", call->address);
    tab_out_open(&n.data, '{');
    text_member(&n.data, "key_id", key_id);
    text_member(&n.data, "change", what);
    text_member(&n.data, "actor", call->actor);
    tab_out_close(&n.data, '}');
    tab_status s = keys_notify(tx, call->arena, call->org, &n, err);
    tab_out_free(&n.data);
    return s;
}

/* ---- reading them ---------------------------------------------------------------------------- */

static tab_status fill(const tab_rows *r, tab_arena *a, Tabella__ListNoticesReply *ret, tab_error *err)
{
    size_t n = tab_rows_count(r);
    ret->notices = tab_arena_new_of(a, Tabella__Notice *, n);
    ret->position = tab_arena_new_of(a, int64_t, n);
    Tabella__Notice *notice = tab_arena_new_of(a, Tabella__Notice, n);
    if (ret->notices == NULL || ret->position == NULL || notice == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        Tabella__Notice *x = ret->notices[i] = &notice[i];
        tabella__notice__init(x);
        ret->position[i] = tab_rows_int(r, i, 0);
        x->id = tab_proto_text(a, tab_rows_text(r, i, 1));
        x->kind = tab_proto_text(a, tab_rows_text(r, i, 2));
        x->subject = tab_proto_text(a, tab_rows_text(r, i, 3));
        x->text = tab_proto_text(a, tab_rows_text(r, i, 4));
        x->data = tab_proto_text(a, tab_rows_text(r, i, 5));
        x->at = tab_rows_time(r, i, 6);
        x->read_at = tab_rows_time(r, i, 7);
    }
    ret->n_notices = ret->n_position = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status keys_list_notices(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListNoticesRequest *q = call->in;
    Tabella__ListNoticesReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    uint32_t limit = q->limit == 0 || q->limit > PAGE ? PAGE : q->limit;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tally_total(tx, "keys", call->org, "unread", &out->unread, err));
    TAB_TRY(tab_tally_total(tx, "keys", call->org, "notice", &out->total, err));
    TAB_TRY(tab_tx_query(
        tx, &r, err,
        "SELECT position, id, kind, subject, text, data, at, read_at "
        "FROM keys.notification "
        "WHERE org = $1 AND ($2::bigint = 0 OR position < $2::bigint) "
        "AND (NOT $3::bool OR read_at IS NULL) "
        "ORDER BY position DESC "
        "LIMIT $4",
        TAB_P(tab_p_text(call->org), tab_p_int(q->before), tab_p_bool(q->unread), tab_p_int(limit))));
    out->total = q->unread ? out->unread : out->total;
    TAB_TRY(fill(r, call->arena, out, err));
    return tab_tx_commit(&tx, err);
}

tab_status keys_read_notice(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ReadNoticeRequest *q = call->in;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "UPDATE keys.notification "
                         "SET read_at = coalesce(read_at, now()) "
                         "WHERE org = $1 AND id = $2 "
                         "RETURNING position, id, kind, subject, text, data, at, read_at",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->id))));
    if (tab_rows_count(r) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "There is no such notification.");
    Tabella__ListNoticesReply one = TABELLA__LIST_NOTICES_REPLY__INIT;
    TAB_TRY(fill(r, call->arena, &one, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    *(Tabella__Notice *)call->out = *one.notices[0];
    return TAB_OK;
}
