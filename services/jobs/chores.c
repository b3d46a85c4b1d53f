/* Calls to data-connector that must happen in the end: written in the transaction that makes them due,
 * done by the sweeper until they have succeeded. Each says how things are to be, so that doing it twice is
 * doing it once. */
#include "common/log.h"
#include "common/proto.h"
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
                    .arena = a };
    tab_answer answer;
    return tab_rpc_call(self->rpc, &ask, &answer, err);
}

/* The endpoint's pins are made to be what its row says. */
static tab_status pins(jobs *self, tab_arena *a, const char *org, const char *endpoint_id, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    Tabella__Endpoint *e = NULL;
    tab_status s = tab_tx_begin(self->pg, org, tab_in_ms(5000), &tx, err);
    if (s != TAB_OK)
        return s;
    s = endpoint_get(tx, a, org, endpoint_id, false, &e, err);
    if (s != TAB_OK && s != TAB_NOT_FOUND)
        return s;
    if (s == TAB_OK && (strcmp(e->job_status, "queued") == 0 || strcmp(e->job_status, "running") == 0))
        return TAB_OK; /* that job's end sets them, with a chore of its own */
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

static tab_status drop(jobs *self, tab_arena *a, const char *org, const char *job_id, tab_error *err)
{
    Tabella__DropRequest q = TABELLA__DROP_REQUEST__INIT;
    q.owner = (char *)job_id;
    return call(self, org, "Drop", &q.base, &tabella__empty__descriptor, a, err);
}

void chores_do(jobs *self)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_error err = { 0 };
    /* A chore that is taken is out of others' way for half a minute, then due again. */
    if (tab_tx_begin(self->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, &err) != TAB_OK ||
        tab_tx_query(tx, &rows, &err,
                     "UPDATE jobs.chore "
                     "SET after = now() + interval '30 seconds' "
                     "WHERE n IN (SELECT n "
                     "FROM jobs.chore "
                     "WHERE after <= now() "
                     "ORDER BY n "
                     "LIMIT 50 "
                     "FOR UPDATE SKIP LOCKED) "
                     "RETURNING org, n, kind, owner",
                     TAB_P_NONE) != TAB_OK ||
        tab_tx_commit(&tx, &err) != TAB_OK)
        return;
    for (size_t i = 0; i < tab_rows_count(rows) && !atomic_load(&self->stop); i++) {
        const char *org = tab_rows_text(rows, i, 0), *kind = tab_rows_text(rows, i, 2),
                   *owner = tab_rows_text(rows, i, 3);
        TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
        TAB_AUTO(tab_tx) *done = NULL;
        tab_status s = a == NULL                   ? TAB_INTERNAL
                       : strcmp(kind, "pins") == 0 ? pins(self, a, org, owner, &err)
                                                   : drop(self, a, org, owner, &err);
        if (s == TAB_UNAVAILABLE || s == TAB_CANCELLED)
            continue; /* later */
        if (s != TAB_OK && s != TAB_NOT_FOUND)
            tab_log_fields(TAB_WARN, "a chore was refused", "kind", kind, "owner", owner, "why", err.message,
                           NULL);
        if (tab_tx_begin(self->pg, org, tab_in_ms(5000), &done, &err) == TAB_OK &&
            tab_tx_query(done, NULL, &err, "DELETE FROM jobs.chore WHERE org = $1 AND n = $2",
                         TAB_P(tab_p_text(org), tab_p_int(tab_rows_int(rows, i, 1)))) == TAB_OK)
            (void)!tab_tx_commit(&done, &err);
    }
}
