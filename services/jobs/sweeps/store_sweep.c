/* The sweeper's turn, over all organizations: what a killed daemon, a lost message or a missed window left
 * behind is moved on from here. Sweepers of several processes share the work: each takes rows that no other
 * has locked. */
#include "services/jobs/store.h"

#include <assert.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/pg/sweep.h"
#include "common/pg/tally.h"

enum { FIGURES_MS = 5000 };

/* Ends what the statement moved (columns org, job_id, kind, endpoint_id, status) as every end is ended. */
static tab_status end_each(tab_tx *tx, const tab_rows *rows, size_t *count, tab_error *err)
{
    tab_status s = TAB_OK;
    for (size_t i = 0; i < tab_rows_count(rows) && s == TAB_OK; i++) {
        const char *org = tab_rows_text(rows, i, 0), *job = tab_rows_text(rows, i, 1);
        const char *kind = tab_rows_text(rows, i, 2), *endpoint = tab_rows_text(rows, i, 3);
        const char *status = tab_rows_text(rows, i, 4);
        jobs_count_end(kind, status);
        s = jobs_ended(tx, org, job, false, err);
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
static tab_status give_up(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    jobs_swept *ret = arg;
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
        TAB_P(tab_p_int(JOBS_TRIES), tab_p_int(most))));
    TAB_TRY(end_each(tx, failed, n, err));
    ret->failed += *n;
    return TAB_OK;
}

/* Jobs whose worker is lost. */
static tab_status requeue(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    jobs_swept *ret = arg;
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
        TAB_P(tab_p_int(JOBS_TRIES), tab_p_int(most))));
    ret->requeued += *n = tab_rows_count(queued);
    return TAB_OK;
}

static tab_status expire(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    jobs_swept *ret = arg;
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
                     TAB_P(tab_p_int(most))));
    TAB_TRY(end_each(tx, rows, n, err));
    ret->expired += *n;
    return TAB_OK;
}

static tab_status fold(tab_tx *tx, void *arg, int64_t most, size_t *n, tab_error *err)
{
    (void)arg;
    return tab_tally_fold(tx, "jobs", most, n, err);
}

/* In the order of who waits for them; DUE tells in the same order whether there is anything to take. */
static tab_sweep sweeps[] = {
    { .name = "lost leases", .batch = requeue },
    { .name = "jobs started too often", .batch = give_up },
    { .name = "missed windows", .batch = expire },
    { .name = "expired outputs", .sql = TAB_SWEEP_DELETE("jobs.output", "expires_at", "now()") },
    { .name = "expired pieces", .sql = TAB_SWEEP_DELETE("jobs.piece", "expires_at", "now()"), .most = 50 },
    { .name = "expired exports",
      .sql = TAB_SWEEP_DELETE("jobs.export_member", "expires_at", "now()"),
      .most = 200 },
    { .name = "outcomes of receipts too old to be taken",
      .sql = TAB_SWEEP_DELETE("jobs.outcome", "expires_at", "now()"),
      .most = 5000 },
    { .name = "rows of outcomes",
      .sql = TAB_SWEEP_DELETE("jobs.outcome_rows", "expires_at", "now()"),
      .most = 50 },
    { .name = "counts of jobs", .batch = fold, .most = 1000 },
};
enum { SWEEPS = sizeof sweeps / sizeof *sweeps };
#define LOST "EXISTS (SELECT FROM jobs.job WHERE status = 'running' AND lease_until < clock_timestamp())"
#define PAST(table) "EXISTS (SELECT FROM jobs." table " WHERE expires_at < now())"
static const char *const DUE[] = {
    LOST,
    LOST,
    "EXISTS (SELECT FROM jobs.job WHERE status IN ('queued', 'running') AND due_at < clock_timestamp())",
    PAST("output"),
    PAST("piece"),
    PAST("export_member"),
    PAST("outcome"),
    PAST("outcome_rows"),
    "EXISTS (SELECT FROM jobs.tally WHERE NOT folded)",
};
_Static_assert(sizeof DUE / sizeof *DUE == SWEEPS, "each sweep says when there is anything to take");

/* DUE as the columns of a statement, in buf. */
static const char *all_due(char *buf, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < SWEEPS; i++)
        n += (size_t)snprintf(buf + n, size - n, ", %s", DUE[i]);
    assert(n < size);
    return buf;
}

/* One statement, so that a quiet installation asks once a second: what there is to sweep, how long the last
 * jobs took, and the open ones by kind. Jobs of a batch wait for their organization's cap, so the oldest is
 * told by kind. */
static tab_status look(tab_pg *pg, jobs_swept *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    char due[2048], sql[4096];
    for (size_t i = 0; i < SWEEPS; i++)
        sweeps[i].rests = false; /* where this look fails each looks for itself */
    TAB_TRY(tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(FIGURES_MS), &tx, err));
    snprintf(sql, sizeof sql,
             "SELECT a.*, o.* FROM (SELECT "
             "coalesce(avg(extract(epoch FROM updated_at - started_at)), 2)::float8%s "
             "FROM (SELECT updated_at, started_at FROM jobs.job "
             "WHERE status = 'done' AND started_at IS NOT NULL ORDER BY seq DESC LIMIT 50) t) a "
             "LEFT JOIN (SELECT kind, count(*) FILTER (WHERE status = 'queued'), "
             "count(*) FILTER (WHERE status = 'running'), "
             "min(greatest(created_at, ready_at)) FILTER (WHERE status = 'queued') "
             "FROM jobs.job WHERE status IN ('queued', 'running') GROUP BY kind) o ON true",
             all_due(due, sizeof due));
    TAB_TRY(tab_tx_finish(&tx, &rows, err, sql, TAB_P_NONE));
    enum { KIND = 1 + SWEEPS };
    for (size_t i = 0; i < tab_rows_count(rows); i++)
        for (size_t k = 0; k < JOBS_KINDS && !tab_rows_null(rows, i, KIND); k++)
            if (strcmp(jobs_kinds[k], tab_rows_text(rows, i, KIND)) == 0)
                ret->of[k] = (jobs_open){ .queued = tab_rows_int(rows, i, KIND + 1),
                                          .running = tab_rows_int(rows, i, KIND + 2),
                                          .oldest_us = tab_rows_null(rows, i, KIND + 3)
                                                           ? 0
                                                           : tab_rows_time(rows, i, KIND + 3) };
    for (size_t k = 0; k < JOBS_KINDS; k++) {
        ret->queued += ret->of[k].queued;
        ret->running += ret->of[k].running;
    }
    ret->mean_s = tab_rows_real(rows, 0, 0);
    for (size_t i = 0; i < SWEEPS; i++)
        sweeps[i].rests = !tab_rows_bool(rows, 0, 1 + i);
    return TAB_OK;
}

tab_status jobs_sweep(tab_pg *pg, jobs_swept *ret, tab_error *err)
{
    *ret = (jobs_swept){ 0 };
    tab_status s = look(pg, ret, err);
    tab_sweep_turns(pg, sweeps, SWEEPS, ret, NULL);
    return s;
}
