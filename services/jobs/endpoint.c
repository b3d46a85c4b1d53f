/* See endpoint.h: the SQL of endpoints, in the transactions of their jobs. */
#include "services/jobs/endpoint.h"
#include "common/json/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/pg/tally.h"
#include "common/rpc/outbox.h"
#include "common/rpc/retention.h"
#include "services/jobs/outcomes/calibration.h"

/* The `job` member: the endpoint's open job, else the one that created it. */
#define COLUMNS                                                                         \
    "e.body, e.name, e.status, e.base, e.calls, e.config_revision, e.data_revision, "   \
    "e.state_version, e.created_at, e.updated_at, e.seq, j.job_id, j.status, j.error, " \
    "e.endpoint_id, e.receipt_key, "                                                    \
    "(SELECT k.served FROM jobs.calibration k WHERE k.org = e.org AND k.endpoint_id = e.endpoint_id)"
/* Two look-ups, each by its own index: joined by OR they would read all of an organization's jobs,
 * backwards. */
#define FROM                                                                                   \
    " FROM jobs.endpoint e LEFT JOIN LATERAL (SELECT job_id, status, error FROM ("             \
    "SELECT k.job_id, k.status, k.error, k.seq FROM jobs.job k WHERE k.org = e.org "           \
    "AND k.endpoint_id = e.endpoint_id AND k.endpoint_id <> '' "                               \
    "AND k.status IN ('queued', 'running') "                                                   \
    "UNION ALL SELECT k.job_id, k.status, k.error, k.seq FROM jobs.job k WHERE k.org = e.org " \
    "AND k.job_id = e.create_job AND e.status = 'creating') k ORDER BY k.seq DESC LIMIT 1) j ON true "

static tab_status endpoint_of(const tab_rows *r, size_t i, tab_arena *a, Tabella__Endpoint **ret,
                              tab_error *err)
{
    Tabella__Endpoint *e = tab_proto_read(a, &tabella__endpoint__descriptor, tab_rows_bytes(r, i, 0, a));
    if (e == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "a stored endpoint cannot be read");
    e->name = tab_proto_text(a, tab_rows_text(r, i, 1));
    e->status = tab_proto_text(a, tab_rows_text(r, i, 2));
    e->base_model = tab_proto_text(a, tab_rows_text(r, i, 3));
    e->calls = (uint64_t)tab_rows_int(r, i, 4);
    e->config_revision = (uint64_t)tab_rows_int(r, i, 5);
    e->data_revision = (uint64_t)tab_rows_int(r, i, 6);
    e->state_version = (uint64_t)tab_rows_int(r, i, 7);
    e->created_us = tab_rows_time(r, i, 8);
    e->updated_us = tab_rows_time(r, i, 9);
    e->job_id = tab_proto_text(a, tab_rows_text(r, i, 11));
    e->job_status = tab_proto_text(a, tab_rows_text(r, i, 12));
    e->job_error = tab_proto_text(a, tab_rows_text(r, i, 13));
    e->id = tab_proto_text(a, tab_rows_text(r, i, 14));
    tab_str key = tab_rows_bytes(r, i, 15, a);
    e->receipt_key = (ProtobufCBinaryData){ key.n, (uint8_t *)(uintptr_t)key.p };
    e->calibration = NULL;
    if (e->adapt && !tab_rows_null(r, i, 16))
        TAB_TRY(calibration_served(a, e, tab_rows_bytes(r, i, 16, a), err));
    *ret = e;
    return TAB_OK;
}

tab_status endpoint_get(tab_tx *tx, tab_arena *a, const char *org, const char *id_or_name, bool lock,
                        Tabella__Endpoint **ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
#define ONE                                                                              \
    "SELECT " COLUMNS FROM                                                               \
    "WHERE e.org = $1 AND (e.endpoint_id = $2 OR e.name = $2) AND e.deleted_at IS NULL " \
    "ORDER BY e.endpoint_id = $2 DESC LIMIT 1"
    tab_status s = tab_tx_query(tx, &rows, err, lock ? ONE " FOR UPDATE OF e" : ONE,
                                TAB_P(tab_p_text(org), tab_p_text(id_or_name)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such endpoint");
    return endpoint_of(rows, 0, a, ret, err);
}

tab_status endpoint_list(tab_tx *tx, tab_arena *a, const char *org, const Tabella__ListEndpointsRequest *q,
                         Tabella__ListEndpointsReply *y, tab_error *err)
{
    jobs_page p;
    tab_status s = jobs_page_of(q->after, q->limit, &p, err);
    if (s != TAB_OK)
        return s;
    TAB_AUTO(tab_rows) *rows = NULL, *count = NULL;
    s = tab_tx_query(tx, &rows, err,
                     "SELECT " COLUMNS FROM "WHERE e.org = $1 AND e.deleted_at IS NULL AND e.seq < $2 ORDER "
                     "BY e.seq DESC LIMIT $3",
                     TAB_P(tab_p_text(org), tab_p_int(p.before), tab_p_int(p.limit + 1)));
    if (s == TAB_OK)
        s = tab_tx_query(tx, &count, err,
                         "SELECT count(*) FROM jobs.endpoint WHERE org = $1 AND deleted_at IS NULL",
                         TAB_P(tab_p_text(org)));
    if (s != TAB_OK)
        return s;
    size_t n = jobs_page_rows(&p, rows);
    y->endpoints = tab_arena_new_of(a, Tabella__Endpoint *, n + 1);
    if (y->endpoints == NULL)
        return tab_no_memory(err);
    y->total = (uint64_t)tab_rows_int(count, 0, 0);
    for (size_t i = 0; i < n && s == TAB_OK; i++)
        if ((s = endpoint_of(rows, i, a, &y->endpoints[i], err)) == TAB_OK)
            y->n_endpoints = i + 1;
    if (s == TAB_OK && p.more)
        y->next = jobs_page_next(a, tab_rows_int(rows, n - 1, 10));
    return s;
}

/* ---- moving it ------------------------------------------------------------------------------- */

/* What columns hold is not kept in the body as well, except what is read from the body alone. */
static tab_str body_of(tab_arena *a, const Tabella__Endpoint *e)
{
    Tabella__Endpoint b = *e;
    char *const empty = (char *)protobuf_c_empty_string;
    b.job_id = b.job_status = b.job_error = empty;
    b.calls = 0;
    b.receipt_key = (ProtobufCBinaryData){ 0 };
    b.calibration = NULL;
    return tab_proto_write(a, &b.base);
}

/* Takes the name: it is free, or held by a creation that failed or was cancelled, which is removed.
 * *ret_again: this same call has been made before. */
static tab_status free_name(tab_tx *tx, const char *org, const Tabella__CreateEndpointRequest *q,
                            bool *ret_again, tab_error *err)
{
    TAB_AUTO(tab_rows) *have = NULL;
    *ret_again = false;
    TAB_TRY(tab_tx_query(tx, &have, err,
                         "SELECT e.endpoint_id, e.status, j.status "
                         "FROM jobs.endpoint e "
                         "JOIN jobs.job j ON j.org = e.org AND j.job_id = e.create_job "
                         "WHERE e.org = $1 AND e.deleted_at IS NULL AND (e.name = $2 OR e.endpoint_id = $3) "
                         "ORDER BY e.endpoint_id = $3 DESC "
                         "LIMIT 1 "
                         "FOR UPDATE OF e",
                         TAB_P(tab_p_text(org), tab_p_text(q->name), tab_p_text(q->endpoint_id))));
    if (tab_rows_count(have) == 0)
        return TAB_OK;
    const char *id = tab_rows_text(have, 0, 0), *job = tab_rows_text(have, 0, 2);
    *ret_again = strcmp(id, q->endpoint_id) == 0;
    if (*ret_again)
        return TAB_OK;
    bool remains = strcmp(tab_rows_text(have, 0, 1), "creating") == 0 &&
                   (strcmp(job, "failed") == 0 || strcmp(job, "cancelled") == 0);
    if (!remains)
        return tab_fail(err, TAB_CONFLICT, "name", "an endpoint with this name already exists");
    return tab_tx_query(tx, NULL, err,
                        "UPDATE jobs.endpoint "
                        "SET deleted_at = now(), state_version = state_version + 1 "
                        "WHERE org = $1 AND endpoint_id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(id)));
}

/* The endpoint as its creation asks for it, with one system prompt to begin with. */
static tab_status first_state(tab_tx *tx, tab_arena *a, const char *org,
                              const Tabella__CreateEndpointRequest *q, Tabella__Endpoint *ret, tab_error *err)
{
    Tabella__Endpoint e = TABELLA__ENDPOINT__INIT;
    e.id = q->endpoint_id;
    e.name = q->name;
    e.feed = (char *)(q->n_sources > 1 ? "multi_table" : "single_table");
    e.options = q->options;
    e.adapt = q->adapt;
    e.datasets = tab_arena_new_of(a, Tabella__PinnedDataset *, q->n_sources + 1);
    Tabella__PinnedDataset *d = tab_arena_new_of(a, Tabella__PinnedDataset, q->n_sources + 1);
    if (e.datasets == NULL || d == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < q->n_sources; i++) {
        tabella__pinned_dataset__init(&d[i]);
        d[i].dataset = q->sources[i]->dataset;
        d[i].snapshot = q->sources[i]->snapshot;
        d[i].table_id = q->sources[i]->id;
        tab_str name =
            tab_arena_copy(a, (tab_str){ (const char *)q->sources[i]->id.data, q->sources[i]->id.len });
        d[i].name = name.p == NULL ? d[i].name : (char *)name.p;
        e.datasets[e.n_datasets++] = &d[i];
    }
    e.snapshot = e.data_snapshot = q->n_sources > 0 ? q->sources[0]->snapshot : e.snapshot;

    /* The first system prompt: how a language model should read what the endpoint answers. */
    Tabella__SystemPrompt first = TABELLA__SYSTEM_PROMPT__INIT, *list[] = { &first };
    first.name = (char *)"default";
    first.active = true;
    first.body = (char *)"Answer from this endpoint's output alone. "
                         "Give each statement the confidence that stands beside it, "
                         "say when a value was imputed or predicted rather than supplied, "
                         "and never present a low-confidence result as a fact.";
    TAB_TRY(endpoint_prompts(tx, a, org, &e, list, 1, err));
    *ret = e;
    return TAB_OK;
}

tab_status endpoint_create(tab_tx *tx, tab_arena *a, const char *org, const Tabella__CreateEndpointRequest *q,
                           const char *request_id, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    Tabella__Endpoint e;
    bool again;
    TAB_TRY(free_name(tx, org, q, &again, err));
    if (again)
        return TAB_OK;
    TAB_TRY(tab_tx_room(tx, org, "SELECT count(*) FROM jobs.endpoint WHERE org = $1 AND deleted_at IS NULL",
                        ENDPOINTS_MOST, "endpoints", err));
    TAB_TRY(first_state(tx, a, org, q, &e, err));
    tab_str body = body_of(a, &e), request = tab_proto_write(a, &q->base);
    if (body.p == NULL || request.p == NULL)
        return tab_no_memory(err);
    const char *base = q->options == NULL ? "" : q->options->base_model;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "INSERT INTO jobs.endpoint (org, endpoint_id, name, base, body, create_job) "
                         "VALUES ($1, $2, $3, $4, $5, $6) "
                         "ON CONFLICT DO NOTHING "
                         "RETURNING 1",
                         TAB_P(tab_p_text(org), tab_p_text(q->endpoint_id), tab_p_text(q->name),
                               tab_p_text(base), tab_p_bytes(body), tab_p_text(q->job_id))));
    if (tab_rows_count(rows) == 0) /* of two calls at once the other was first */
        return tab_fail(err, TAB_CONFLICT, "name", "an endpoint with this name already exists");
    char report[TAB_ID];
    tab_id_hex(report, "r_");
    jobs_new job = { .job_id = q->job_id,
                     .kind = "create",
                     .work = "create",
                     .label = q->name,
                     .endpoint_id = q->endpoint_id,
                     .endpoint = q->name,
                     .report_id = report,
                     .key_id = q->key_id,
                     .surface = q->surface,
                     .request_id = request_id,
                     .request = request };
    TAB_TRY(jobs_insert(tx, org, &job, err));
    return endpoint_log(tx, org, q->endpoint_id, "create.submitted", q->job_id, q->key_id, err,
                        "creation submitted");
}

tab_status endpoint_mutate(tab_tx *tx, const char *org, const Tabella__Endpoint *e, const jobs_new *j,
                           const char *base, tab_error *err)
{
    if (strcmp(e->status, "live") != 0) {
        char param[TAB_ID + 24] = "";
        if (strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0)
            snprintf(param, sizeof param, "running_job_id:%s", e->job_id);
        return tab_fail(err, TAB_CONFLICT, param, "the endpoint is not live yet");
    }
    if (base != NULL && strcmp(base, e->base_model) == 0)
        return tab_fail(err, TAB_CONFLICT, "base", "the endpoint already serves %s", base);
    tab_status s = jobs_insert(tx, org, j, err);
    if (s == TAB_OK)
        s = endpoint_log(tx, org, e->id, base == NULL ? "refresh.submitted" : "upgrade.submitted", j->job_id,
                         j->key_id, err, base == NULL ? "refresh submitted" : "upgrade to %s submitted",
                         base);
    return s;
}

tab_status endpoint_put(tab_tx *tx, tab_arena *a, const char *org, const Tabella__Endpoint *e,
                        const char *output_job, tab_error *err)
{
    tab_str body = body_of(a, e);
    if (body.p == NULL)
        return tab_no_memory(err);
    if (output_job != NULL)
        TAB_TRY(jobs_output_expire(tx, org, e->id, output_job, JOBS_OUTPUT_HOURS, err));
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s =
        tab_tx_query(tx, &rows, err,
                     "UPDATE jobs.endpoint "
                     "SET name = $3, status = $4, base = $5, config_revision = $6, data_revision = $7, "
                     "body = $8, output_job = coalesce($9, output_job), state_version = state_version + 1, "
                     "updated_at = now() "
                     "WHERE org = $1 AND endpoint_id = $2 AND deleted_at IS NULL "
                     "RETURNING 1",
                     TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_text(e->name), tab_p_text(e->status),
                           tab_p_text(e->base_model), tab_p_int((int64_t)e->config_revision),
                           tab_p_int((int64_t)e->data_revision), tab_p_bytes(body), tab_p_text(output_job)));
    if (s == TAB_CONFLICT)
        return tab_fail(err, TAB_CONFLICT, "name", "an endpoint with this name already exists");
    if (s == TAB_OK && tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "the endpoint was deleted");
    return s;
}

tab_status endpoint_stale(tab_tx *tx, tab_arena *a, const char *org, const char *endpoint_id,
                          const char *job_id, const char *reason, tab_error *err)
{
    Tabella__Endpoint *e = NULL;
    tab_status s = endpoint_get(tx, a, org, endpoint_id, true, &e, err);
    if (s != TAB_OK)
        return s == TAB_NOT_FOUND ? TAB_OK : s;
    e->stale_job = (char *)(uintptr_t)job_id;
    e->stale_reason = (char *)(uintptr_t)reason;
    tab_str body = body_of(a, e);
    if (body.p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "UPDATE jobs.endpoint SET body = $3 WHERE org = $1 AND endpoint_id = $2",
                        TAB_P(tab_p_text(org), tab_p_text(endpoint_id), tab_p_bytes(body)));
}

tab_status endpoints_gone(tab_tx *tx, tab_arena *a, const char *org, const char *ids, char ***ret,
                          size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT id FROM unnest($2::text[]) id WHERE NOT EXISTS (SELECT 1 "
                                "FROM jobs.endpoint e "
                                "WHERE e.org = $1 AND e.endpoint_id = id AND e.deleted_at IS NULL)",
                                TAB_P(tab_p_text(org), tab_p_text(ids)));
    if (s != TAB_OK)
        return s;
    *ret = tab_arena_new_of(a, char *, tab_rows_count(rows) + 1);
    for (size_t i = 0; *ret != NULL && i < tab_rows_count(rows); i++)
        (*ret)[(*ret_n)++] = tab_proto_text(a, tab_rows_text(rows, i, 0));
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

tab_status endpoints_gone_of_all(tab_tx **tx, tab_arena *a, const char *orgs, const char *ids,
                                 bool with_calls, Tabella__GoneReply *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_finish(
        tx, &rows, err,
        "SELECT n - 1, e.calls FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(org, id, n) "
        "LEFT JOIN jobs.endpoint e ON e.org = asked.org AND e.endpoint_id = asked.id "
        "AND e.deleted_at IS NULL WHERE $3::bool OR e.org IS NULL ORDER BY n",
        TAB_P(tab_p_text(orgs), tab_p_text(ids), tab_p_bool(with_calls))));
    size_t n = tab_rows_count(rows);
    ret->places = tab_arena_new_of(a, uint32_t, n + 1);
    ret->calls = tab_arena_new_of(a, uint64_t, n + 1);
    for (size_t i = 0; !tab_arena_full(a) && i < n; i++) {
        bool gone = tab_rows_null(rows, i, 1);
        if (gone)
            ret->places[ret->n_places++] = (uint32_t)tab_rows_int(rows, i, 0);
        if (with_calls)
            ret->calls[ret->n_calls++] = gone ? 0 : (uint64_t)tab_rows_int(rows, i, 1);
    }
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* What outcomes and serving have left, with its certificate, which counts the endpoint's own row and its
 * prompts as well (decision 0666). */
static tab_status delete_learnt(tab_tx *tx, const tab_call *call, const Tabella__Endpoint *e,
                                const char *actor, tab_error *err)
{
#define GONE(table)                      \
    table " AS (DELETE FROM jobs." table \
          " t WHERE t.org = $1 AND t.endpoint_id = $2 RETURNING t.org, t::text AS r)"
#define ALL(table) "SELECT org, r FROM " table " UNION ALL "
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH " GONE("drift") ", " GONE("outcome_day") ", " GONE("outcome_rows") ", " GONE(
                             "calibration") ", " GONE("watch") ", " GONE("prompt") ", gone AS (" ALL("drift")
                             ALL("outcome_day") ALL("outcome_rows") ALL("calibration") ALL("watch")
                                 ALL("prompt") "SELECT t.org, t::text AS r FROM jobs.endpoint t "
                                               "WHERE t.org = $1 AND t.endpoint_id = $2) " TAB_CERTIFIED,
                         TAB_P(tab_p_text(call->org), tab_p_text(e->id))));
    tab_certificate c = { .of = "endpoint",
                          .object = e->id,
                          .rows = tab_rows_int(rows, 0, 2),
                          .bytes = tab_rows_int(rows, 0, 3),
                          .sha256 = tab_rows_text(rows, 0, 4) };
    return tab_certificate_put(tx, "jobs", call, call->org, actor, &c, err);
}

tab_status endpoint_delete(tab_tx *tx, const tab_call *call, const Tabella__Endpoint *e, const char *actor,
                           int64_t *ret_deleted_us, int64_t *ret_attempt, bool *ret_busy, tab_error *err)
{
    const char *org = call->org;
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret_attempt = 0;
    *ret_busy = false;
    tab_status s = TAB_OK;
    if (strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0) {
        s = jobs_cancel(tx, org, e->job_id, actor, ret_busy, ret_attempt, err);
        if (s == TAB_CONFLICT)
            s = TAB_OK; /* it ended by itself */
        if (s != TAB_OK || *ret_busy)
            return s;
    }
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err,
                         "UPDATE jobs.endpoint "
                         "SET deleted_at = now(), state_version = state_version + 1 "
                         "WHERE org = $1 AND endpoint_id = $2 AND deleted_at IS NULL "
                         "RETURNING deleted_at",
                         TAB_P(tab_p_text(org), tab_p_text(e->id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such endpoint");
    *ret_deleted_us = tab_rows_time(rows, 0, 0);
    s = jobs_output_expire(tx, org, e->id, "", 0, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, NULL, err, "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'pins', $2)",
                         TAB_P(tab_p_text(org), tab_p_text(e->id)));
    if (s == TAB_OK)
        s = delete_learnt(tx, call, e, actor, err);
    if (s == TAB_OK)
        s = endpoint_log(tx, org, e->id, "deleted", "", actor, err, "endpoint deleted");
    if (s != TAB_OK)
        return s;
    Tabella__AuditEvent audit = TABELLA__AUDIT_EVENT__INIT;
    char id[TAB_ID + 24];
    snprintf(id, sizeof id, "endpoint.delete/%s", e->id);
    audit.event_id = id;
    audit.org_id = (char *)org;
    audit.at_us = *ret_deleted_us;
    audit.actor = (char *)actor;
    audit.action = (char *)"endpoint.delete";
    audit.subject = e->id;
    audit.detail = e->name;
    audit.request_id = (char *)call->request_id;
    audit.address = (char *)call->address;
    return tab_outbox_put(tx, "jobs", id, "tabella.event.audit", org, &audit.base, err);
}

/* ---- log, output, prompts, calls ------------------------------------------------------------- */

tab_status endpoint_log(tab_tx *tx, const char *org, const char *endpoint_id, const char *event,
                        const char *job_id, const char *actor, tab_error *err, const char *fmt, ...)
{
    char line[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO jobs.endpoint_log (org, endpoint_id, event, job_id, actor, message) "
                        "VALUES ($1, $2, $3, $4, $5, $6)",
                        TAB_P(tab_p_text(org), tab_p_text(endpoint_id), tab_p_text(event),
                              tab_p_text(job_id == NULL ? "" : job_id),
                              tab_p_text(actor == NULL ? "" : actor), tab_p_text(line)));
}

tab_status endpoint_logs(tab_tx *tx, tab_arena *a, const char *org, const Tabella__EndpointLogsRequest *q,
                         Tabella__EndpointLogsReply *y, tab_error *err)
{
    Tabella__Endpoint *e = NULL;
    tab_status s = endpoint_get(tx, a, org, q->id_or_name, false, &e, err);
    if (s != TAB_OK)
        return s;
    jobs_page p;
    s = jobs_page_of(q->after, q->limit, &p, err);
    if (s != TAB_OK)
        return s;
    TAB_AUTO(tab_rows) *rows = NULL;
    s = tab_tx_query(tx, &rows, err,
                     "SELECT at, event, job_id, actor, message, n "
                     "FROM jobs.endpoint_log "
                     "WHERE org = $1 AND endpoint_id = $2 AND n < $3 "
                     "ORDER BY n DESC "
                     "LIMIT $4",
                     TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_int(p.before), tab_p_int(p.limit + 1)));
    char list[TAB_ID + 8];
    snprintf(list, sizeof list, "log/%s", e->id);
    if (s == TAB_OK)
        s = tab_tally_total(tx, "jobs", org, list, &y->total, err);
    if (s != TAB_OK)
        return s;
    size_t n = jobs_page_rows(&p, rows);
    y->logs = tab_arena_new_of(a, Tabella__EndpointLog *, n + 1);
    Tabella__EndpointLog *l = tab_arena_new_of(a, Tabella__EndpointLog, n + 1);
    if (y->logs == NULL || l == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        tabella__endpoint_log__init(&l[i]);
        l[i].at_us = tab_rows_time(rows, i, 0);
        l[i].event = tab_proto_text(a, tab_rows_text(rows, i, 1));
        l[i].job_id = tab_proto_text(a, tab_rows_text(rows, i, 2));
        l[i].actor = tab_proto_text(a, tab_rows_text(rows, i, 3));
        l[i].message = tab_proto_text(a, tab_rows_text(rows, i, 4));
        y->logs[y->n_logs++] = &l[i];
    }
    if (p.more)
        y->next = jobs_page_next(a, tab_rows_int(rows, n - 1, 5));
    return TAB_OK;
}

tab_status endpoint_output_job(tab_tx *tx, const char *org, const char *endpoint_id, char ret[TAB_ID],
                               tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT output_job FROM jobs.endpoint WHERE org = $1 AND endpoint_id = $2",
                                TAB_P(tab_p_text(org), tab_p_text(endpoint_id)));
    if (s == TAB_OK)
        snprintf(ret, TAB_ID, "%s", tab_rows_count(rows) == 0 ? "" : tab_rows_text(rows, 0, 0));
    return s;
}

tab_status endpoint_prompts(tab_tx *tx, tab_arena *a, const char *org, Tabella__Endpoint *e,
                            Tabella__SystemPrompt *const *prompts, size_t n, tab_error *err)
{
    enum { MOST = 50, BODY = 20000 };
    if (n > MOST)
        return tab_fail(err, TAB_VALIDATION, "system_prompts", "an endpoint can have at most %d fragments",
                        MOST);
    Tabella__SystemPrompt **list = tab_arena_new_of(a, Tabella__SystemPrompt *, n + 1);
    Tabella__SystemPrompt *own = tab_arena_new_of(a, Tabella__SystemPrompt, n + 1);
    if (list == NULL || own == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        char param[40], id[TAB_ID];
        snprintf(param, sizeof param, "system_prompts[%zu]", i);
        own[i] = *prompts[i];
        list[i] = &own[i];
        if (tab_utf8_count(tab_str_of(own[i].body)) > BODY || tab_utf8_count(tab_str_of(own[i].name)) > 128)
            return tab_fail(err, TAB_VALIDATION, param,
                            "the body of a fragment can have at most %d characters and its name at most 128",
                            BODY);
        const Tabella__SystemPrompt *old = NULL;
        for (size_t k = 0; k < e->n_system_prompts; k++)
            if (strcmp(e->system_prompts[k]->id, own[i].id) == 0)
                old = e->system_prompts[k];
        if (own[i].id[0] != 0 && old == NULL)
            return tab_fail(err, TAB_VALIDATION, param, "this endpoint has no fragment with this id");
        for (size_t k = 0; k < i; k++)
            if (own[i].id[0] != 0 && strcmp(own[k].id, own[i].id) == 0)
                return tab_fail(err, TAB_VALIDATION, param, "this fragment is given twice");
        if (old == NULL) {
            tab_id_new(id, "sp_");
            own[i].id = tab_proto_text(a, id);
        }
        own[i].version = old == NULL ? 1 : old->version + (strcmp(old->body, own[i].body) != 0);
        own[i].order = (int32_t)i;
        if (old == NULL || old->version != own[i].version) {
            tab_status s = tab_tx_query(
                tx, NULL, err,
                "INSERT INTO jobs.prompt (org, endpoint_id, prompt_id, version, name, body) "
                "VALUES ($1, $2, $3, $4, $5, $6)",
                TAB_P(tab_p_text(org), tab_p_text(e->id), tab_p_text(own[i].id), tab_p_int(own[i].version),
                      tab_p_text(own[i].name), tab_p_text(own[i].body)));
            if (s != TAB_OK)
                return s;
        }
    }
    e->system_prompts = list;
    e->n_system_prompts = n;
    return TAB_OK;
}

tab_status endpoints_called(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *const *e, const int64_t *calls,
                            size_t n, tab_error *err)
{
    char **of[3];
    const char *column[3];
    for (int k = 0; k < 3; k++)
        if ((of[k] = tab_arena_new_of(a, char *, n + 1)) == NULL)
            return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        of[0][i] = e[i]->org_id;
        of[1][i] = e[i]->endpoint_id;
        if ((of[2][i] = tab_arena_printf(a, "%" PRId64, calls[i])) == NULL)
            return tab_no_memory(err);
    }
    for (int k = 0; k < 3; k++)
        if ((column[k] = tab_pg_array(a, of[k], n)) == NULL)
            return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "UPDATE jobs.endpoint e SET calls = e.calls + c.calls "
                        "FROM unnest($1::text[], $2::text[], $3::bigint[]) c(org, id, calls) "
                        "WHERE e.org = c.org AND e.endpoint_id = c.id",
                        TAB_P(tab_p_text(column[0]), tab_p_text(column[1]), tab_p_text(column[2])));
}

tab_status endpoint_sources(tab_arena *a, const Tabella__Endpoint *e, Tabella__TableSource ***ret,
                            size_t *ret_n, tab_error *err)
{
    Tabella__TableSource **list = tab_arena_new_of(a, Tabella__TableSource *, e->n_datasets + 1);
    Tabella__TableSource *own = tab_arena_new_of(a, Tabella__TableSource, e->n_datasets + 1);
    if (list == NULL || own == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < e->n_datasets; i++) {
        tabella__table_source__init(&own[i]);
        own[i].id = e->datasets[i]->table_id;
        own[i].snapshot = e->datasets[i]->snapshot;
        own[i].dataset = e->datasets[i]->dataset;
        list[i] = &own[i];
    }
    *ret = list;
    *ret_n = e->n_datasets;
    return TAB_OK;
}
