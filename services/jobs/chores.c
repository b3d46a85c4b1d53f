/* Calls to data-connector that must happen in the end: written in the transaction that makes them due,
 * done by the sweeper until they have succeeded or there is nothing left to do them to, with growing pauses.
 * Each says how things are to be, so that doing it twice is doing it once. */
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/proto.h"
#include "proto/data.pb-c.h"
#include "services/jobs/work.h"

static tab_status call(jobs *self, const char *org, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, tab_arena *a, tab_error *err)
{
    tab_ask ask = { .service = "data-connector",
                    .method = method,
                    .org = org,
                    .actor = "jobs",
                    .deadline = tab_in_ms(10000),
                    .in = in,
                    .reply = reply,
                    .arena = a,
                    .gone = &self->stop }; /* a stop waits for no chore: the row stays */
    tab_answer answer;
    return tab_rpc_call(self->rpc, &ask, &answer, err);
}

/* The transaction ends here: none stays open while another service is called. */
static tab_status read_endpoint(jobs *self, tab_arena *a, const char *org, const char *endpoint_id,
                                Tabella__Endpoint **ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, org, tab_in_ms(5000), &tx, err));
    return endpoint_get(tx, a, org, endpoint_id, false, ret, err);
}

/* The endpoint's pins are made to be what its row says. */
static tab_status pins(jobs *self, tab_arena *a, const char *org, const char *endpoint_id, tab_error *err)
{
    Tabella__Endpoint *e = NULL;
    tab_status s = read_endpoint(self, a, org, endpoint_id, &e, err);
    if (s != TAB_OK && s != TAB_NOT_FOUND)
        return s;
    if (s == TAB_OK && (strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0))
        return TAB_OK; /* the job under way sets them when it ends, by a chore of its own */
    if (s == TAB_NOT_FOUND || strcmp(e->status, "live") != 0) {
        Tabella__ReleaseRequest q = TABELLA__RELEASE_REQUEST__INIT;
        q.endpoint_id = (char *)endpoint_id;
        return call(self, org, "Release", &q.base, &tabella__empty__descriptor, a, err);
    }
    Tabella__AcquireRequest q = TABELLA__ACQUIRE_REQUEST__INIT;
    q.endpoint_id = e->id;
    q.endpoint = e->name;
    q.snapshots = tab_arena_new_of(a, char *, e->n_datasets + 1);
    for (size_t i = 0; q.snapshots != NULL && i < e->n_datasets; i++)
        q.snapshots[q.n_snapshots++] = e->datasets[i]->snapshot;
    return call(self, org, "Acquire", &q.base, &tabella__acquire_reply__descriptor, a, err);
}

void chores_pins(jobs *self, tab_arena *a, const char *org, const char *endpoint_id)
{
    tab_error later;
    if (pins(self, a, org, endpoint_id, &later) != TAB_OK)
        tab_log_fields(TAB_INFO, "an endpoint's pins are set a little later", "why", later.message, NULL);
}

static tab_status drop(jobs *self, tab_arena *a, const char *org, const char *job_id, tab_error *err)
{
    Tabella__DropRequest q = TABELLA__DROP_REQUEST__INIT;
    q.owner = (char *)job_id;
    return call(self, org, "Drop", &q.base, &tabella__empty__descriptor, a, err);
}

static void chore_done(jobs *self, const char *org, int64_t n)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    tab_error err = { 0 };
    if (tab_tx_begin(self->pg, org, tab_in_ms(5000), &tx, &err) == TAB_OK &&
        tab_tx_query(tx, NULL, &err, "DELETE FROM jobs.chore WHERE org = $1 AND n = $2",
                     TAB_P(tab_p_text(org), tab_p_int(n))) == TAB_OK)
        (void)!tab_tx_commit(&tx, &err);
}

static void chore_failed(const char *kind, const char *owner, int64_t tries, const tab_error *why)
{
    char label[32], times[24];
    snprintf(label, sizeof label, "kind=\"%s\"", kind);
    snprintf(times, sizeof times, "%lld", (long long)tries);
    tab_metric_add(tab_counter("tabella_jobs_chores_failed_total", "Chores that are tried again", label), 1);
    tab_log_fields(TAB_WARN, "a chore is tried again later", "kind", kind, "owner", owner, "tries", times,
                   "why", why->message, NULL);
}

/* A chore that is taken is out of others' way for half a minute, after each try for twice as long, an hour at
 * most, then due again. */
static tab_status take_chores(jobs *self, tab_rows **ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    TAB_TRY(tab_tx_query(tx, ret, err,
                         "WITH taken AS (UPDATE jobs.chore "
                         "SET tries = tries + 1, after = now() + least(30 * 2 ^ least(tries, 10), 3600) * "
                         "interval '1 second' "
                         "WHERE n IN (SELECT n "
                         "FROM jobs.chore "
                         "WHERE after <= now() "
                         "ORDER BY n "
                         "LIMIT 50 "
                         "FOR UPDATE SKIP LOCKED) "
                         "RETURNING org, n, kind, owner, tries) "
                         "SELECT org, n, kind, owner, tries, many "
                         "FROM (SELECT count(*) AS many FROM jobs.chore) all_of_them "
                         "LEFT JOIN taken ON true "
                         "ORDER BY n",
                         TAB_P_NONE));
    tab_metric_set(tab_gauge("tabella_jobs_chores", "Chores that are to be done", NULL),
                   (double)tab_rows_int(*ret, 0, 5));
    return tab_tx_commit(&tx, err);
}

void chores_do(jobs *self)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_error err = { 0 };
    if (take_chores(self, &rows, &err) != TAB_OK)
        return;
    for (size_t i = 0; i < tab_rows_count(rows) && !atomic_load(&self->stop); i++) {
        if (tab_rows_null(rows, i, 0))
            continue; /* none was due */
        const char *org = tab_rows_text(rows, i, 0), *kind = tab_rows_text(rows, i, 2),
                   *owner = tab_rows_text(rows, i, 3);
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        tab_status s = a == NULL                   ? tab_no_memory(&err)
                       : strcmp(kind, "pins") == 0 ? pins(self, a, org, owner, &err)
                                                   : drop(self, a, org, owner, &err);
        if (s == TAB_OK || s == TAB_NOT_FOUND)
            chore_done(self, org, tab_rows_int(rows, i, 1));
        else
            chore_failed(kind, owner, tab_rows_int(rows, i, 4), &err);
    }
}
