/* The sweeper's turn. It reads all organizations in one transaction, one sweeper at a time (advisory lock):
 * what a killed daemon, a lost message or a missed window left behind is moved on from here. */
#include "services/jobs/store.h"

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

static tab_status leases(tab_tx *tx, jobs_swept *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *failed = NULL, *queued = NULL;
    tab_status s = tab_tx_query(
        tx, &failed, err,
        "UPDATE jobs.job "
        "SET status = 'failed', lease_until = NULL, phase = '', request = '', "
        "error = 'the job was started ' || tries || ' times and its worker was lost each time' "
        "WHERE status = 'running' AND lease_until < clock_timestamp() AND tries >= $1 AND staged IS NULL "
        "RETURNING org, job_id, kind, endpoint_id, status",
        TAB_P(tab_p_int(JOBS_TRIES)));
    if (s == TAB_OK)
        s = end_each(tx, failed, &ret->failed, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &queued, err,
                         "WITH lost AS (UPDATE jobs.job "
                         "SET status = 'queued', lease_until = NULL, phase = '', "
                         "ready_at = clock_timestamp() + (tries - 1) * interval '1 second' "
                         "WHERE status = 'running' AND lease_until < clock_timestamp() "
                         "RETURNING org, job_id) INSERT INTO jobs.log (org, job_id, line) "
                         "SELECT org, job_id, 'queued again: its worker was lost' "
                         "FROM lost "
                         "RETURNING 1",
                         TAB_P_NONE);
    if (s == TAB_OK)
        ret->requeued = tab_rows_count(queued);
    return s;
}

static tab_status windows(tab_tx *tx, jobs_swept *ret, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_query(tx, &rows, err,
                                "UPDATE jobs.job "
                                "SET status = 'expired', lease_until = NULL, phase = '', request = '', "
                                "error = 'the completion window was missed' "
                                "WHERE status IN ('queued', 'running') AND due_at < clock_timestamp() "
                                "RETURNING org, job_id, kind, endpoint_id, status",
                                TAB_P_NONE);
    return s == TAB_OK ? end_each(tx, rows, &ret->expired, err) : s;
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

tab_status jobs_sweep(tab_pg *pg, jobs_swept *ret, tab_error *err)
{
    *ret = (jobs_swept){ 0 };
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *lock = NULL, *figures = NULL;
    tab_status s = tab_tx_begin(pg, TAB_ORG_ALL, tab_in_ms(10000), &tx, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &lock, err, "SELECT pg_try_advisory_xact_lock(hashtext('jobs.sweep'))",
                         TAB_P_NONE);
    if (s == TAB_OK && tab_rows_bool(lock, 0, 0)) {
        if ((s = leases(tx, ret, err)) == TAB_OK && (s = windows(tx, ret, err)) == TAB_OK)
            s = tab_tx_query(tx, NULL, err, "DELETE FROM jobs.output WHERE expires_at < now()", TAB_P_NONE);
    }
    if (s == TAB_OK)
        s = open_jobs(tx, ret, err);
    if (s == TAB_OK)
        s = tab_tx_query(tx, &figures, err,
                         "SELECT count(*) FILTER (WHERE status = 'queued'), "
                         "count(*) FILTER (WHERE status = 'running'), coalesce((SELECT avg(extract(epoch "
                         "FROM updated_at - started_at)) "
                         "FROM (SELECT updated_at, started_at "
                         "FROM jobs.job "
                         "WHERE status = 'done' AND started_at IS NOT NULL "
                         "ORDER BY seq DESC "
                         "LIMIT 50) t), 2)::float8 "
                         "FROM jobs.job "
                         "WHERE status IN ('queued', 'running')",
                         TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    ret->queued = tab_rows_int(figures, 0, 0);
    ret->running = tab_rows_int(figures, 0, 1);
    ret->mean_s = tab_rows_real(figures, 0, 2);
    return tab_tx_commit(&tx, err);
}
