/* The sweeper's turn, over all organizations: what a killed daemon, a lost message or a missed window left
 * behind is moved on from here. Sweepers of several processes share the work: each takes rows that no other
 * has locked. */
#include "services/jobs/store.h"

#include <stdatomic.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"

/* BATCH: rows of one transaction. SWEEP_MS: of one sweep in a turn, so that none keeps the others waiting. */
enum { BATCH = 200, BATCH_MS = 5000, SWEEP_MS = 2000 };

/* Ends what the statement moved (columns org, job_id, kind, endpoint_id, status) as every end is ended. */
static tab_status end_each(tab_tx *tx, const tab_rows *rows, size_t *count, tab_error *err)
{
    tab_status s = TAB_OK;
    for (size_t i = 0; i < tab_rows_count(rows) && s == TAB_OK; i++) {
        const char *org = tab_rows_text(rows, i, 0), *job = tab_rows_text(rows, i, 1);
        const char *kind = tab_rows_text(rows, i, 2), *endpoint = tab_rows_text(rows, i, 3);
        const char *status = tab_rows_text(rows, i, 4);
        jobs_count_end(kind, status);
        s = jobs_ended(tx, org, job, err);
        if (s == TAB_OK && endpoint[0] != 0)
            s = tab_tx_query(
                tx, NULL, err,
                "INSERT INTO jobs.endpoint_log (org, endpoint_id, event, job_id, actor, message) "
                "VALUES ($1, $2, $3 || '.' || $4, $5, 'system', 'job ' || $4)",
                TAB_P(tab_p_text(org), tab_p_text(endpoint), tab_p_text(kind), tab_p_text(status),
                      tab_p_text(job)));
        if (s == TAB_OK && endpoint[0] != 0)
            s = tab_tx_query(tx, NULL, err,
                             "INSERT INTO jobs.chore (org, kind, owner) VALUES ($1, 'pins', $2)",
                             TAB_P(tab_p_text(org), tab_p_text(endpoint)));
    }
    *count = tab_rows_count(rows);
    return s;
}

/* Jobs that were started too often. */
static tab_status give_up(tab_tx *tx, jobs_swept *ret, size_t *n, tab_error *err)
{
    TAB_AUTO(tab_rows) *failed = NULL;
    TAB_TRY(tab_tx_query(
        tx, &failed, err,
        "UPDATE jobs.job j "
        "SET status = 'failed', lease_until = NULL, phase = '', request = '', "
        "error = 'the job was started ' || tries || ' times and its worker was lost each time' "
        "FROM (SELECT org, job_id FROM jobs.job WHERE status = 'running' AND lease_until < clock_timestamp() "
        "AND tries >= $1 AND staged IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED) lost "
        "WHERE j.org = lost.org AND j.job_id = lost.job_id "
        "RETURNING j.org, j.job_id, kind, endpoint_id, status",
        TAB_P(tab_p_int(JOBS_TRIES), tab_p_int(BATCH))));
    TAB_TRY(end_each(tx, failed, n, err));
    ret->failed += *n;
    return TAB_OK;
}

/* Jobs whose worker is lost. */
static tab_status requeue(tab_tx *tx, jobs_swept *ret, size_t *n, tab_error *err)
{
    TAB_AUTO(tab_rows) *queued = NULL;
    TAB_TRY(tab_tx_query(
        tx, &queued, err,
        "WITH lost AS (UPDATE jobs.job j "
        "SET status = 'queued', lease_until = NULL, phase = '', "
        "ready_at = clock_timestamp() + (tries - 1) * interval '1 second' "
        "FROM (SELECT org, job_id FROM jobs.job WHERE status = 'running' AND lease_until < clock_timestamp() "
        "AND (tries < $1 OR staged IS NOT NULL) LIMIT $2 FOR UPDATE SKIP LOCKED) l "
        "WHERE j.org = l.org AND j.job_id = l.job_id "
        "RETURNING j.org, j.job_id) INSERT INTO jobs.log (org, job_id, line) "
        "SELECT org, job_id, 'queued again: its worker was lost' FROM lost RETURNING 1",
        TAB_P(tab_p_int(JOBS_TRIES), tab_p_int(BATCH))));
    ret->requeued += *n = tab_rows_count(queued);
    return TAB_OK;
}

static tab_status expire(tab_tx *tx, jobs_swept *ret, size_t *n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(
        tab_tx_query(tx, &rows, err,
                     "UPDATE jobs.job j "
                     "SET status = 'expired', lease_until = NULL, phase = '', request = '', "
                     "error = 'the completion window was missed' "
                     "FROM (SELECT org, job_id FROM jobs.job WHERE status IN ('queued', 'running') "
                     "AND due_at < clock_timestamp() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED) late "
                     "WHERE j.org = late.org AND j.job_id = late.job_id "
                     "RETURNING j.org, j.job_id, kind, endpoint_id, status",
                     TAB_P(tab_p_int(BATCH))));
    TAB_TRY(end_each(tx, rows, n, err));
    ret->expired += *n;
    return TAB_OK;
}

static tab_status forget(tab_tx *tx, jobs_swept *ret, size_t *n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    (void)ret;
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "DELETE FROM jobs.output WHERE ctid = ANY(ARRAY(SELECT ctid FROM jobs.output "
                         "WHERE expires_at < now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)) "
                         "RETURNING 1",
                         TAB_P(tab_p_int(BATCH))));
    *n = tab_rows_count(rows);
    return TAB_OK;
}

/* The sweeps, in the order of who waits for them. Each takes batches of BATCH rows in transactions of their
 * own, so that what was done stays done, and leaves what is locked to the next turn. */
static const struct {
    const char *name;
    tab_status (*batch)(tab_tx *tx, jobs_swept *ret, size_t *n, tab_error *err);
} sweeps[] = {
    { "lost leases", requeue },
    { "jobs started too often", give_up },
    { "missed windows", expire },
    { "expired outputs", forget },
};
enum { SWEEPS = sizeof sweeps / sizeof *sweeps };

static tab_status sweep_batch(tab_pg *pg, size_t k, jobs_swept *ret, size_t *n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(BATCH_MS), &tx, err));
    TAB_TRY(sweeps[k].batch(tx, ret, n, err));
    return tab_tx_commit(&tx, err);
}

/* One sweep's part of a turn: until a batch is not full, or its time is over. */
static void sweep_one(tab_pg *pg, size_t k, jobs_swept *ret)
{
    static _Atomic int64_t behind[SWEEPS]; /* tab_mono_ms since when it is not done; 0: it is */
    char labels[80];
    tab_deadline end = tab_in_ms(SWEEP_MS);
    tab_status s = TAB_OK;
    size_t n = BATCH;
    while (n == BATCH && s == TAB_OK && tab_left_ms(end, 1) > 0) {
        tab_error err = { 0 };
        n = 0;
        s = sweep_batch(pg, k, ret, &n, &err);
        if (s != TAB_OK && s != TAB_UNAVAILABLE)
            tab_log_fields(TAB_WARN, "a sweep did not end; tried again", "of", sweeps[k].name, "why",
                           err.message, NULL);
    }
    bool left = s != TAB_OK || n == BATCH;
    int64_t now = tab_mono_ms(), since = atomic_load(&behind[k]);
    since = !left ? 0 : since > 0 ? since : now;
    atomic_store(&behind[k], since);
    snprintf(labels, sizeof labels, "sweep=\"%s\"", sweeps[k].name);
    tab_metric_set(tab_gauge("tabella_sweep_behind_seconds",
                             "How long there has been more to sweep than one turn does", labels),
                   since > 0 ? (double)(now - since) / 1000 : 0);
}

/* Open jobs by kind. Jobs of a batch wait for their organization's cap, so the oldest is told by kind. */
static tab_status open_jobs(tab_tx *tx, jobs_swept *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "SELECT kind, count(*) FILTER (WHERE status = 'queued'), "
                                "count(*) FILTER (WHERE status = 'running'), "
                                "min(greatest(created_at, ready_at)) FILTER (WHERE status = 'queued') "
                                "FROM jobs.job WHERE status IN ('queued', 'running') GROUP BY kind",
                                TAB_P_NONE);
    for (size_t i = 0; s == TAB_OK && i < tab_rows_count(rows); i++)
        for (size_t k = 0; k < JOBS_KINDS; k++)
            if (strcmp(jobs_kinds[k], tab_rows_text(rows, i, 0)) == 0)
                ret->of[k] =
                    (jobs_open){ .queued = tab_rows_int(rows, i, 1),
                                 .running = tab_rows_int(rows, i, 2),
                                 .oldest_us = tab_rows_null(rows, i, 3) ? 0 : tab_rows_time(rows, i, 3) };
    return s;
}

/* What is told of all jobs: how many are open, how long the last ones took. */
static tab_status figures(tab_pg *pg, jobs_swept *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(BATCH_MS), &tx, err));
    TAB_TRY(open_jobs(tx, ret, err));
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "SELECT coalesce(avg(extract(epoch FROM updated_at - started_at)), 2)::float8 "
                         "FROM (SELECT updated_at, started_at FROM jobs.job "
                         "WHERE status = 'done' AND started_at IS NOT NULL ORDER BY seq DESC LIMIT 50) t",
                         TAB_P_NONE));
    for (size_t k = 0; k < JOBS_KINDS; k++) {
        ret->queued += ret->of[k].queued;
        ret->running += ret->of[k].running;
    }
    ret->mean_s = tab_rows_real(rows, 0, 0);
    return tab_tx_commit(&tx, err);
}

tab_status jobs_sweep(tab_pg *pg, jobs_swept *ret, tab_error *err)
{
    *ret = (jobs_swept){ 0 };
    for (size_t k = 0; k < SWEEPS; k++)
        sweep_one(pg, k, ret);
    return figures(pg, ret, err);
}
