/* What goes of jobs by its organization's own retention (decision 0665), and a run that its organization
 * deletes (0666). Of a run its row, its log and what is left of its output go here, the record of it in
 * reports by an event of the same transaction. */
#include <string.h>

#include "common/base/proto.h"
#include "common/pg/sweep.h"
#include "common/rpc/retention.h"
#include "services/jobs/jobs.h"

enum { RUNS_AT_ONCE = 200, LINES_AT_ONCE = 5000, ROWS_AT_ONCE = 50, NAMES = 4 << 20 };

#define POLICIES "WITH p AS (SELECT * FROM unnest($1::text[], $2::int[]) AS p(org, days)), "
#define AGE "now() - make_interval(days => p.days)"
#define ENDED "j.status IN ('done', 'failed', 'cancelled', 'expired')"
/* An endpoint shows the output of its jobs for as long as it is there. */
#define UNSHOWN                                                                                 \
    "NOT EXISTS (SELECT FROM jobs.endpoint e WHERE e.org = j.org AND e.deleted_at IS NULL AND " \
    "j.job_id IN (e.create_job, e.output_job))"
/* `old`: jobs, whose rows are locked. $3 counts jobs; a certificate counts rows of all five tables. */
#define OF_OLD " t USING old WHERE t.org = old.org AND t.job_id = old.job_id RETURNING t.org, t::text AS r"
#define WITH_ALL_OF_THEM                                                                                    \
    "lines AS (DELETE FROM jobs.log" OF_OLD "), outputs AS (DELETE FROM jobs.output" OF_OLD "), "           \
    "pieces AS (DELETE FROM jobs.piece" OF_OLD "), members AS (DELETE FROM jobs.export_member" OF_OLD "), " \
    "own AS (DELETE FROM jobs.job" OF_OLD ", t.report_id), gone AS (SELECT org, r FROM lines UNION ALL "    \
    "SELECT org, r FROM outputs UNION ALL SELECT org, r FROM pieces UNION ALL SELECT org, r FROM members "  \
    "UNION ALL SELECT org, r FROM own), certified AS (" TAB_CERTIFIED ") SELECT c.org, o.n, c.*, "          \
    "o.reports FROM (SELECT org, count(*) AS n, string_agg(report_id, ' ') FILTER (WHERE report_id <> '') " \
    "AS reports FROM own GROUP BY org) o JOIN certified c ON c.org = o.org"

/* Ids with a space between. */
static tab_status ids_of(tab_arena *a, const char *text, char ***ret, size_t *ret_n, tab_error *err)
{
    size_t most = strlen(text) / 2 + 1;
    *ret = tab_arena_new_of(a, char *, most);
    *ret_n = 0;
    for (size_t n; *ret != NULL && *text != '\0' && !tab_arena_full(a); text += n + (text[n] == ' ')) {
        n = strcspn(text, " ");
        (*ret)[(*ret_n)++] = (char *)(uintptr_t)tab_arena_copy(a, (tab_str){ text, n }).p;
    }
    return tab_arena_full(a) || *ret == NULL ? tab_no_memory(err) : TAB_OK;
}

/* What such a statement gave: certificates, and the event that takes the records of runs away. */
static tab_status forget(tab_tx *tx, const tab_rows *rows, const char *of, const char *object,
                         const tab_call *call, const char *actor, tab_error *err)
{
    enum { ORG, JOBS, OF_ORG, ROWS, ALL_ROWS, BYTES, SHA256, REPORTS };
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(NAMES);
        const char *org = tab_rows_text(rows, i, ORG);
        char id[TAB_ID];
        if (a == NULL)
            return tab_no_memory(err);
        tab_certificate c = { .of = of,
                              .object = object == NULL ? org : object,
                              .rows = tab_rows_int(rows, i, ROWS),
                              .bytes = tab_rows_int(rows, i, BYTES),
                              .sha256 = tab_rows_text(rows, i, SHA256) };
        TAB_TRY(tab_certificate_put(tx, "jobs", call, org, actor, &c, err));
        Tabella__RunsGone gone = TABELLA__RUNS_GONE__INIT;
        TAB_TRY(ids_of(a, tab_rows_text(rows, i, REPORTS), &gone.report_ids, &gone.n_report_ids, err));
        if (gone.n_report_ids == 0)
            continue;
        tab_id_new(id, "evt_");
        gone.event_id = id;
        gone.org_id = (char *)org;
        TAB_TRY(tab_outbox_put(tx, "jobs", id, "tabella.event.runs.gone", org, &gone.base, err));
    }
    return TAB_OK;
}

/* ---- by age ---------------------------------------------------------------------------------- */

static tab_status old_runs(tab_tx *tx, void *arg, const char *orgs, const char *days, int64_t most,
                           size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    (void)arg;
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        POLICIES "old AS MATERIALIZED (SELECT x.* FROM p CROSS JOIN LATERAL (SELECT j.org, j.job_id "
                 "FROM jobs.job j WHERE j.org = p.org AND " ENDED " AND j.updated_at < " AGE " AND " UNSHOWN
                 " ORDER BY j.updated_at LIMIT $3 FOR UPDATE SKIP LOCKED) x LIMIT $3), " WITH_ALL_OF_THEM,
        TAB_P(tab_p_text(orgs), tab_p_text(days), tab_p_int(most))));
    for (size_t i = 0; i < tab_rows_count(rows); i++)
        *ret_n += (size_t)tab_rows_int(rows, i, 1);
    return forget(tx, rows, "runs", NULL, NULL, "", err);
}

/* Rows o of a table, the oldest first. */
#define OLD(table, old, order)                                                                              \
    POLICIES "gone AS (DELETE FROM " table " t WHERE t.ctid = ANY(ARRAY(SELECT x.c FROM p CROSS JOIN "      \
             "LATERAL (SELECT o.ctid AS c FROM " table " o WHERE o.org = p.org AND " old " ORDER BY " order \
             " LIMIT $3 FOR UPDATE SKIP LOCKED) x LIMIT $3)) RETURNING t.org, "                             \
             "t::text AS r) " TAB_CERTIFIED

static tab_status old_outcome_rows(tab_tx *tx, void *arg, const char *orgs, const char *days, int64_t most,
                                   size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    const jobs *self = arg;
    TAB_TRY(tab_tx_query(
        tx, &rows, err,
        OLD("jobs.outcome_rows", "o.expires_at < now() + make_interval(days => $4::int - p.days)",
            "o.expires_at"),
        TAB_P(tab_p_text(orgs), tab_p_text(days), tab_p_int(most), tab_p_int(self->outcome_row_days))));
    for (size_t i = 0; i < tab_rows_count(rows); i++) {
        const char *org = tab_rows_text(rows, i, 0);
        tab_certificate c = { "outcomes", org, tab_rows_int(rows, i, 2), tab_rows_int(rows, i, 3),
                              tab_rows_text(rows, i, 4) };
        TAB_TRY(tab_certificate_put(tx, "jobs", NULL, org, "", &c, err));
        *ret_n += (size_t)tab_rows_int(rows, i, 1);
    }
    return TAB_OK;
}

static tab_retention kept[] = {
    { .what = "runs", .batch = old_runs },
    { .what = "logs", .sql = OLD("jobs.log", "o.at < " AGE, "o.at") },
    { .what = "logs", .sql = OLD("jobs.endpoint_log", "o.at < " AGE, "o.at") },
    { .what = "outcomes", .batch = old_outcome_rows },
    { .what = "outcomes",
      .sql = OLD("jobs.outcome_day", "o.day < floor(extract(epoch FROM now()) / 86400)::int - p.days",
                 "o.day") },
};

/* Something went in this turn, of which events tell; one thread sweeps. */
static bool went;

#define BATCH(name, i)                                                                               \
    static tab_status name(tab_tx *tx, void *arg, int64_t most, size_t *ret_n, tab_error *err)       \
    {                                                                                                \
        jobs *self = arg;                                                                            \
        tab_status s = tab_retention_batch(&kept[i], self->rpc, tx, "jobs", self, most, ret_n, err); \
        went = went || *ret_n > 0;                                                                   \
        return s;                                                                                    \
    }
BATCH(runs, 0)
BATCH(logs_of_jobs, 1)
BATCH(logs_of_endpoints, 2)
BATCH(outcome_rows, 3)
BATCH(outcome_days, 4)

#define EACH .every_ms = TAB_RETENTION_MS
static tab_sweep sweeps[] = {
    { .name = "runs past their retention", .batch = runs, .most = RUNS_AT_ONCE, EACH },
    { .name = "logs of jobs past their retention", .batch = logs_of_jobs, .most = LINES_AT_ONCE, EACH },
    { .name = "logs of endpoints past their retention",
      .batch = logs_of_endpoints,
      .most = LINES_AT_ONCE,
      EACH },
    { .name = "rows of outcomes past their retention", .batch = outcome_rows, .most = ROWS_AT_ONCE, EACH },
    { .name = "figures of outcomes past their retention",
      .batch = outcome_days,
      .most = LINES_AT_ONCE,
      EACH },
};

void jobs_retain(jobs *self)
{
    went = false;
    tab_sweep_turns(self->pg, sweeps, sizeof sweeps / sizeof *sweeps, self, &self->stop);
    if (went)
        tab_relay_nudge(self->relay);
}

/* ---- one run --------------------------------------------------------------------------------- */

tab_status jobs_delete_job(void *arg, tab_call *call, tab_error *err)
{
    jobs *self = arg;
    const Tabella__DeleteJobRequest *q = call->in;
    Tabella__DeleteJobReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *there = NULL, *rows = NULL;
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &there, err,
                         "SELECT " ENDED ", " UNSHOWN " FROM jobs.job j WHERE j.org = $1 AND j.job_id = $2 "
                         "FOR UPDATE",
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id))));
    if (tab_rows_count(there) == 0)
        return tab_fail(err, TAB_NOT_FOUND, "id", "no such job");
    if (!tab_rows_bool(there, 0, 0))
        return tab_fail(err, TAB_CONFLICT, "id", "the job has not ended; cancel it first");
    if (!tab_rows_bool(there, 0, 1))
        return tab_fail(err, TAB_CONFLICT, "id", "the job's endpoint shows its output; delete the endpoint");
    TAB_TRY(tab_tx_query(tx, &rows, err,
                         "WITH old AS MATERIALIZED (SELECT j.org, j.job_id FROM jobs.job j WHERE j.org = $1 "
                         "AND j.job_id = $2), " WITH_ALL_OF_THEM,
                         TAB_P(tab_p_text(call->org), tab_p_text(q->job_id))));
    TAB_TRY(forget(tx, rows, "run", q->job_id, call, q->actor, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    tab_relay_nudge(self->relay);
    out->id = tab_proto_text(call->arena, q->job_id);
    out->deleted_us = tab_now_us();
    return TAB_OK;
}
