/* See store.h: the statements that move a job's row. store_read.c reads, sweeps/store_sweep.c looks after
 * what was left. */
#include "services/jobs/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/rpc/outbox.h"
#include "common/run/trace.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

static const char *or_empty(const char *s)
{
    return s == NULL ? "" : s;
}

static tab_status __attribute__((format(printf, 5, 6)))
write_log(tab_tx *tx, const char *org, const char *job_id, tab_error *err, const char *fmt, ...)
{
    char line[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    return tab_tx_query(tx, NULL, err, "INSERT INTO jobs.log (org, job_id, line) VALUES ($1, $2, $3)",
                        TAB_P(tab_p_text(org), tab_p_text(job_id), tab_p_text(line)));
}

/* ---- submitting ------------------------------------------------------------------------------ */

tab_status jobs_insert(tab_tx *tx, const char *org, const jobs_new *j, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(
        tx, &rows, err,
        "INSERT INTO jobs.job (org, job_id, kind, work, processing, label, endpoint_id, endpoint, "
        "report_id, run_id, key_id, surface, request_id, request, cells, batch_cap, due_at, suspect, "
        "about, trace, serves) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, "
        "CASE WHEN $17::bigint > 0 THEN now() + $17::bigint * interval '1 second' END, $18, $19, $20, $21) "
        "ON CONFLICT DO NOTHING "
        "RETURNING 1",
        TAB_P(tab_p_text(org), tab_p_text(j->job_id), tab_p_text(j->kind), tab_p_text(j->work),
              tab_p_text(j->processing == NULL ? "realtime" : j->processing), tab_p_text(or_empty(j->label)),
              tab_p_text(or_empty(j->endpoint_id)), tab_p_text(or_empty(j->endpoint)),
              tab_p_text(or_empty(j->report_id)), tab_p_text(or_empty(j->run_id)),
              tab_p_text(or_empty(j->key_id)),
              tab_p_text(j->surface == NULL || !*j->surface ? "api" : j->surface),
              tab_p_text(or_empty(j->request_id)), tab_p_bytes(j->request), tab_p_int((int64_t)j->cells),
              tab_p_int(j->batch_cap == 0 ? 1 : j->batch_cap), tab_p_int(j->window_s), tab_p_bool(j->suspect),
              tab_p_text(or_empty(j->about)), tab_p_text(tab_trace_here()), tab_p_text(or_empty(j->serves))));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 1)
        return write_log(tx, org, j->job_id, err, "%s submitted", j->kind);

    /* Why nothing was inserted: the job is there already, or the endpoint has another open job. */
    TAB_AUTO(tab_rows) *have = NULL;
    s = tab_tx_query(
        tx, &have, err,
        "SELECT job_id "
        "FROM jobs.job "
        "WHERE org = $1 AND (job_id = $2 OR (endpoint_id = $3 AND $3 <> '' AND status IN ('queued', "
        "'running'))) "
        "ORDER BY job_id = $2 DESC "
        "LIMIT 1",
        TAB_P(tab_p_text(org), tab_p_text(j->job_id), tab_p_text(or_empty(j->endpoint_id))));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(have) == 0) /* it ended between the two statements */
        return tab_fail(err, TAB_UNAVAILABLE, "", "another job of this endpoint has just ended; try again");
    if (strcmp(tab_rows_text(have, 0, 0), j->job_id) == 0)
        return TAB_OK;
    char param[TAB_ID + 24];
    snprintf(param, sizeof param, "running_job_id:%s", tab_rows_text(have, 0, 0));
    return tab_fail(err, TAB_CONFLICT, param,
                    "another job is changing this endpoint; wait for it or cancel it");
}

tab_status jobs_queue_room(tab_tx *tx, const char *org, uint32_t batch_cap, tab_error *err)
{
    TAB_AUTO(tab_rows) *over = NULL;
    int64_t most = (int64_t)JOBS_QUEUED_MOST * (batch_cap == 0 ? 1 : batch_cap);
    TAB_TRY(tab_tx_query(tx, &over, err,
                         "SELECT 1 FROM jobs.job WHERE org = $1 AND status = 'queued' "
                         "ORDER BY processing, seq OFFSET $2 LIMIT 1",
                         TAB_P(tab_p_text(org), tab_p_int(most))));
    return tab_rows_count(over) == 0
               ? TAB_OK
               : tab_fail(
                     err, TAB_RATE_LIMIT, "",
                     "%lld jobs of this organization are waiting, the most its plan allows; submit again "
                     "when some have finished",
                     (long long)most);
}

/* ---- leases ---------------------------------------------------------------------------------- */

void jobs_claimed_free(jobs_claimed *c)
{
    if (c != NULL)
        tab_arena_free(c->arena); /* c itself lies in it */
}

static const char *keep(tab_arena *a, const tab_rows *rows, size_t col)
{
    tab_str s = tab_arena_copy(a, tab_rows_str(rows, 0, col));
    return s.p == NULL ? "" : s.p;
}

tab_status jobs_claim(tab_pg *pg, const char *full, jobs_claimed **ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, &rows, err,
            "SELECT org, job_id, kind, work, processing, label, endpoint_id, endpoint, report_id, run_id, "
            "key_id, surface, request_id, request, staged, attempt, tries, extract(epoch "
            "FROM now() - created_at)::bigint, suspect, killed, "
            "extract(epoch FROM now() - greatest(created_at, ready_at))::float8, trace "
            "FROM jobs.claim($1::interval, $2)",
            TAB_P(tab_p_text(STRING(JOBS_LEASE_S) " seconds"), tab_p_text(full)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0) {
        *ret = NULL;
        return tab_tx_commit(&tx, err);
    }
    tab_arena *a = tab_arena_new(256u << 20);
    jobs_claimed *c = a == NULL ? NULL : tab_arena_new_of(a, jobs_claimed, 1);
    if (c == NULL) {
        tab_arena_free(a);
        return tab_no_memory(err);
    }
    c->arena = a;
    snprintf(c->org, sizeof c->org, "%s", tab_rows_text(rows, 0, 0));
    snprintf(c->job_id, sizeof c->job_id, "%s", tab_rows_text(rows, 0, 1));
    const char **const texts[] = { &c->kind,        &c->work,     &c->processing, &c->label,
                                   &c->endpoint_id, &c->endpoint, &c->report_id,  &c->run_id,
                                   &c->key_id,      &c->surface,  &c->request_id };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = keep(a, rows, i + 2);
    c->request = tab_arena_copy(a, tab_rows_bytes(rows, 0, 13, a));
    c->staged = tab_arena_copy(a, tab_rows_bytes(rows, 0, 14, a));
    c->attempt = tab_rows_int(rows, 0, 15);
    c->tries = tab_rows_int(rows, 0, 16);
    c->age_s = tab_rows_int(rows, 0, 17);
    c->suspect = tab_rows_bool(rows, 0, 18);
    c->killed = tab_rows_int(rows, 0, 19);
    c->waited_s = tab_rows_real(rows, 0, 20);
    c->trace = keep(a, rows, 21);
    s = tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
    if (s == TAB_OK)
        s = write_log(tx, c->org, c->job_id, err, "started, attempt %lld", (long long)c->attempt);
    if (s == TAB_OK)
        s = tab_tx_commit(&tx, err);
    if (s == TAB_OK)
        *ret = c;
    else
        jobs_claimed_free(
            c); /* where the commit's fate is unknown, the lease runs out and the sweeper acts */
    return s;
}

tab_status jobs_renew(tab_pg *pg, const jobs_claimed *c, int progress, const char *phase, bool *ret_held,
                      tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    assert(progress >= 0 && progress < 100); /* 100 is said by the transaction that ends it */
    assert(c->attempt > 0 && c->job_id[0] != 0);
    tab_status s = tab_tx_begin(pg, c->org, tab_in_ms(2500), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(
            tx, &rows, err,
            "UPDATE jobs.job "
            "SET lease_until = clock_timestamp() + $4::interval, progress = greatest(progress, $5), "
            "phase = $6 "
            "WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' "
            "RETURNING 1",
            TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt),
                  tab_p_text(STRING(JOBS_LEASE_S) " seconds"), tab_p_int(progress), tab_p_text(phase)));
    if (s == TAB_OK) {
        bool held = tab_rows_count(rows) == 1;
        s = tab_tx_commit(&tx, err);
        if (s == TAB_OK)
            *ret_held = held;
    }
    return s;
}

tab_status jobs_requeue(tab_pg *pg, const jobs_claimed *c, int64_t delay_ms, jobs_blame blame,
                        const char *why, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    assert(delay_ms >= 0 && c->attempt > 0);
    tab_status s = tab_tx_begin(pg, c->org, tab_in_ms(5000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &rows, err,
                         "UPDATE jobs.job "
                         "SET status = 'queued', lease_until = NULL, phase = '', tries = tries - $4::int, "
                         "suspect = suspect OR $6, killed = killed + $7::int, "
                         "ready_at = clock_timestamp() + $5::bigint * interval '1 millisecond' "
                         "WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' "
                         "RETURNING 1",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt),
                               tab_p_int(blame == JOBS_TRIED ? 0 : 1), tab_p_int(delay_ms),
                               tab_p_bool(blame == JOBS_SUSPECTED), tab_p_int(blame == JOBS_KILLER ? 1 : 0)));
    if (s == TAB_OK && tab_rows_count(rows) == 1)
        s = write_log(tx, c->org, c->job_id, err, "queued again: %s", why);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

/* ---- ends ------------------------------------------------------------------------------------ */

tab_status jobs_ended(tab_tx *tx, const char *org, const char *job_id, bool keeps, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(
        tx, &rows, err,
        "SELECT kind, status, label, coalesce(nullif(serves, ''), endpoint_id), report_id, error, updated_at "
        "FROM jobs.job "
        "WHERE org = $1 AND job_id = $2",
        TAB_P(tab_p_text(org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    Tabella__JobEnded e = TABELLA__JOB_ENDED__INIT;
    char id[TAB_ID + 8];
    snprintf(id, sizeof id, "ended/%s", job_id);
    e.event_id = id;
    e.org_id = (char *)org;
    e.job_id = (char *)job_id;
    e.kind = (char *)tab_rows_text(rows, 0, 0);
    e.status = (char *)tab_rows_text(rows, 0, 1);
    e.label = (char *)tab_rows_text(rows, 0, 2);
    e.endpoint_id = (char *)tab_rows_text(rows, 0, 3);
    e.report_id = (char *)tab_rows_text(rows, 0, 4);
    e.error = (char *)tab_rows_text(rows, 0, 5);
    e.at_us = tab_rows_time(rows, 0, 6);
    s = tab_outbox_put(tx, "jobs", id, "tabella.event.job.ended", org, &e.base, err);
    if (s == TAB_OK)
        s = write_log(tx, org, job_id, err, "%s%s%s", e.status, e.error[0] != 0 ? ": " : "", e.error);
    if (s == TAB_OK && !keeps)
        s = tab_tx_query(tx, NULL, err, "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'drop', $2)",
                         TAB_P(tab_p_text(org), tab_p_text(job_id)));
    return s;
}

tab_status jobs_finish(tab_tx *tx, const jobs_claimed *c, const jobs_end *e, tab_error *err)
{
    tab_str result = { NULL, 0 };
    assert(strcmp(e->status, "done") == 0 || strcmp(e->status, "failed") == 0 ||
           strcmp(e->status, "cancelled") == 0); /* an end is for ever */
    assert(c->attempt > 0);
    if (e->result != NULL) {
        result = tab_proto_write(c->arena, &e->result->base);
        if (result.p == NULL)
            return tab_no_memory(err);
    }
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s =
        tab_tx_query(tx, &rows, err,
                     "UPDATE jobs.job "
                     "SET status = $4, error = $5, result = $6, lease_until = NULL, staged = NULL, "
                     "request = '', report_id = coalesce($7, report_id), "
                     "progress = CASE WHEN $4 = 'done' THEN 100 ELSE progress END, phase = '' "
                     "WHERE org = $1 AND job_id = $2 AND attempt = $3 AND status = 'running' "
                     "RETURNING 1",
                     TAB_P(tab_p_text(c->org), tab_p_text(c->job_id), tab_p_int(c->attempt),
                           tab_p_text(e->status), tab_p_text(or_empty(e->error)),
                           e->result == NULL ? tab_p_null() : tab_p_bytes(result), tab_p_text(e->report_id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return tab_fail(err, TAB_CANCELLED, "", "the lease of this attempt is gone");
    return jobs_ended(tx, c->org, c->job_id, e->keeps, err);
}

tab_status jobs_bill(tab_tx *tx, const jobs_claimed *c, const Tabella__WorkDone *e, tab_error *err)
{
    Tabella__WorkDone full = *e;
    char id[TAB_ID + 8];
    assert(c->org[0] != 0 && c->job_id[0] != 0); /* a bill has an organization, and one id for ever */
    snprintf(id, sizeof id, "job/%s", c->job_id);
    full.event_id = id;
    full.org_id = (char *)c->org;
    full.kind = (char *)c->kind;
    full.surface = (char *)c->surface;
    full.key_id = (char *)c->key_id;
    full.endpoint_id = (char *)c->endpoint_id;
    full.endpoint = (char *)c->endpoint;
    full.request_id = (char *)c->request_id;
    TAB_AUTO(tab_rows) *now = NULL;
    tab_status s = tab_tx_query(tx, &now, err, "SELECT now()", TAB_P_NONE); /* one clock decides the week */
    if (s != TAB_OK)
        return s;
    full.at_us = tab_rows_time(now, 0, 0);
    return tab_outbox_put(tx, "jobs", id, "tabella.event.work.done", c->org, &full.base, err);
}

tab_status jobs_cancel(tab_tx *tx, const char *org, const char *job_id, const char *actor, bool *ret_busy,
                       int64_t *ret_attempt, tab_error *err)
{
    *ret_busy = false;
    *ret_attempt = 0;
    TAB_AUTO(tab_rows) *rows = NULL, *have = NULL;
    tab_status s =
        tab_tx_query(tx, &rows, err,
                     "UPDATE jobs.job "
                     "SET status = 'cancelled', lease_until = NULL, request = '', phase = '' "
                     "WHERE org = $1 AND job_id = $2 AND status IN ('queued', 'running') AND staged IS NULL "
                     "RETURNING kind, endpoint_id, attempt",
                     TAB_P(tab_p_text(org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 1) {
        const char *kind = tab_rows_text(rows, 0, 0), *endpoint_id = tab_rows_text(rows, 0, 1);
        *ret_attempt = tab_rows_int(rows, 0, 2);
        jobs_count_end(kind, "cancelled");
        s = jobs_ended(tx, org, job_id, false, err);
        if (s == TAB_OK && endpoint_id[0] != 0)
            s = tab_tx_query(
                tx, NULL, err,
                "INSERT INTO jobs.endpoint_log (org, endpoint_id, event, job_id, actor, message) "
                "VALUES ($1, $2, $3 || '.cancelled', $4, $5, 'job cancelled')",
                TAB_P(tab_p_text(org), tab_p_text(endpoint_id), tab_p_text(kind), tab_p_text(job_id),
                      tab_p_text(or_empty(actor))));
        if (s == TAB_OK && endpoint_id[0] != 0)
            s = tab_tx_query(tx, NULL, err,
                             "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'pins', $2)",
                             TAB_P(tab_p_text(org), tab_p_text(endpoint_id)));
        return s;
    }
    s = tab_tx_query(tx, &have, err, "SELECT status FROM jobs.job WHERE org = $1 AND job_id = $2",
                     TAB_P(tab_p_text(org), tab_p_text(job_id)));
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(have) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such job");
    const char *status = tab_rows_text(have, 0, 0);
    if (strcmp(status, "cancelled") == 0)
        return TAB_OK;
    if (strcmp(status, "queued") == 0 || strcmp(status, "running") == 0) {
        *ret_busy = true;
        return TAB_OK;
    }
    return tab_fail(err, TAB_CONFLICT, "", "the job is %s and cannot be cancelled", status);
}

/* ---- runs that the api answered itself ------------------------------------------------------- */

tab_status jobs_record_run(tab_tx *tx, tab_arena *a, const Tabella__WorkDone *e, tab_error *err)
{
    const Tabella__InlineRun *r = e->run;
    Tabella__JobResult result = TABELLA__JOB_RESULT__INIT;
    result.run_id = r->run_id;
    result.base_model = e->base_model;
    result.feed = r->feed;
    result.report_id = r->report_id;
    tab_str bytes = tab_proto_write(a, &result.base);
    if (bytes.p == NULL)
        return tab_no_memory(err);
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO jobs.job (org, job_id, kind, work, status, progress, label, "
                        "report_id, run_id, key_id, surface, request_id, result, output_at_api, "
                        "created_at, updated_at, about) "
                        "VALUES ($1, $2, 'run', 'run', 'done', 100, $3, $3, $4, $5, $6, $7, $8, true, $9, "
                        "$9, $10) "
                        "ON CONFLICT DO NOTHING",
                        TAB_P(tab_p_text(e->org_id), tab_p_text(r->job_id), tab_p_text(r->report_id),
                              tab_p_text(r->run_id), tab_p_text(e->key_id),
                              tab_p_text(e->surface[0] != 0 ? e->surface : "api"), tab_p_text(e->request_id),
                              tab_p_bytes(bytes), tab_p_time(e->at_us), tab_p_text(r->about)));
}
