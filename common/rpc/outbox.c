/* See outbox.h. The producer's half of events: the rows, the threads that hand them over, and why no event is
 * lost and none takes effect twice. inbox.c is the consumer's half.
 *
 * A service that changes something and tells another of it has two writes to make, and may die between them.
 * So it makes one: the event is a row of its own outbox, in the transaction of the change. After the commit
 * the event exists as surely as the change does; after a rollback there is neither.
 *
 *   X.outbox      seq, event_id (unique), subject, org, payload     written by the change
 *   X.outbox_due  service, seq, tries, retry_at                     written by the sorter: one row a reader
 *   Y.inbox       event_id, org                                     written by the reader, with its effect
 *
 * Two kinds of threads work here, in any number of processes of X:
 *
 *   sorter      one look turns new rows into due ones, by the routes of this build. A subject without a route
 *               stays unsorted, until a release that knows it comes: nothing is dropped for being unknown.
 *   deliverer   one for each reader (a lane): the oldest due rows, BATCH of them, are one call of the
 *               reader's method Events, whose answer names those that are committed there. These are deleted;
 *               the rest is due again after 1 s, then 2 s, up to 32 s, without end. A reader that is away
 *               holds up its own lane and no other.
 *
 * An advisory lock a lane lets one process deliver at a time. It is there for the sake of order and of work,
 * not of correctness: two that delivered the same row at once would meet in the reader's inbox.
 *
 * What holds, whatever dies when:
 *
 *   - An event whose change was committed is delivered: its row stays until a reader has said that it
 *     committed, and who dies in between leaves the row as it was.
 *   - It takes effect once: the id goes into Y.inbox in the transaction of the effect. An answer that was
 *     lost brings the event again, and the inbox knows it.
 *   - A step that is retried writes its event again under the same id, and the outbox ignores it. So ids are
 *     derived from what happened (a bill's id, a job's id and state), never drawn for the event.
 *   - Ages are ordered: an outbox row is kept for 3 days, and until it is delivered; an inbox row for 30,
 *     longer than anything is sent again. What must hold for ever (billing) has a unique id in its own table
 *     as well.
 *   - Events of one subject may arrive in another order than they were committed in: sequences are drawn
 *     before commits. A reader that needs an order compares versions in the payload.
 *
 * The relay's own transactions do not wait for the disk (synchronous_commit off): losing one repeats a
 * delivery. Costs: where nothing happens a look each 1 to 8 s a thread; under load three statements a batch
 * of 100 for each reader. */
#include "common/rpc/outbox.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/point.h"
#include "common/base/proto.h"
#include "common/security/crypto.h"
#include "proto/events.pb-c.h"

/* PACE_MS: how long a busy relay waits between two looks for new rows, so that it and its consumers take
 * events in groups. Who puts a row nudges; a look without a nudge is for rows of a process that died, and for
 * those that are tried again. Each that finds nothing makes the next wait twice as long, from IDLE_MS up to
 * IDLE_MOST_MS: what nobody uses asks next to nothing of the database. */
enum { SORT = 500, BATCH = 100, IDLE_MS = 1000, IDLE_MOST_MS = 8000, CALL_MS = 20000, PACE_MS = 200 };
enum { FORGET_ROWS = 1000, FORGET_MS = 5000, FORGET_SOON_MS = 1000, FORGET_EVERY_MS = 3600000 };
enum { LAG_MS = 5000, LAG_MOST = 100000 }; /* what waits is counted so often, and so far */

/* A statement for one schema: each @ is its name. */
static const char *sql_for(const char *schema, const char *text, char ret[1024])
{
    size_t n = 0, k = strlen(schema);
    for (; *text != 0 && n + k < 1023; text++) {
        if (*text != '@') {
            ret[n++] = *text;
            continue;
        }
        memcpy(ret + n, schema, k);
        n += k;
    }
    assert(*text == 0); /* a statement cut short would be another statement */
    ret[n] = 0;
    return ret;
}

static tab_status run_sql(tab_tx *tx, const char *schema, tab_rows **ret, tab_error *err, const char *text,
                          const tab_param *p, size_t n)
{
    char sql[1024];
    return tab_tx_query(tx, ret, err, sql_for(schema, text, sql), p, n);
}

tab_status tab_outbox_put(tab_tx *tx, const char *schema, const char *event_id, const char *subject,
                          const char *org, const ProtobufCMessage *event, tab_error *err)
{
    assert(event_id[0] != 0 && subject[0] != 0); /* what is delivered once is told apart by its id */
    size_t n = protobuf_c_message_get_packed_size(event);
    char *bytes = malloc(n + 1);
    if (bytes == NULL)
        return tab_no_memory(err);
    protobuf_c_message_pack(event, (uint8_t *)bytes);
    tab_status s = run_sql(tx, schema, NULL, err,
                           "INSERT INTO @.outbox (event_id, subject, org, payload) "
                           "VALUES ($1, $2, $3, $4) "
                           "ON CONFLICT (event_id) DO NOTHING",
                           TAB_P(tab_p_text(event_id), tab_p_text(subject), tab_p_text(org),
                                 tab_p_bytes((tab_str){ bytes, n })));
    free(bytes);
    return s;
}

tab_status tab_outbox_put_all(tab_tx *tx, tab_arena *a, const char *schema, const char *subject,
                              const tab_outbox_event *e, size_t n, tab_error *err)
{
    char **of[3];
    const char *column[3];
    for (int k = 0; k < 3; k++)
        if ((of[k] = tab_arena_new_of(a, char *, n)) == NULL)
            return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        assert(e[i].event_id[0] != 0);
        tab_str bytes = tab_proto_write(a, e[i].event);
        char *hex = bytes.p == NULL ? NULL : tab_arena_new_of(a, char, 2 * bytes.n + 3);
        if (hex == NULL)
            return tab_no_memory(err);
        memcpy(hex, "\\x", 2); /* as PostgreSQL reads a bytea */
        tab_hex((const uint8_t *)bytes.p, bytes.n, hex + 2);
        of[0][i] = (char *)(uintptr_t)e[i].event_id;
        of[1][i] = (char *)(uintptr_t)e[i].org;
        of[2][i] = hex;
    }
    for (int k = 0; k < 3; k++)
        if ((column[k] = tab_pg_array(a, of[k], n)) == NULL)
            return tab_no_memory(err);
    return run_sql(
        tx, schema, NULL, err,
        "INSERT INTO @.outbox (event_id, subject, org, payload) "
        "SELECT id, $1, org, payload FROM unnest($2::text[], $3::text[], $4::bytea[]) "
        "e(id, org, payload) ON CONFLICT (event_id) DO NOTHING",
        TAB_P(tab_p_text(subject), tab_p_text(column[0]), tab_p_text(column[1]), tab_p_text(column[2])));
}

tab_status tab_outbox_waiting(tab_pg *pg, const char *schema, const char *org, const char *service,
                              int64_t up_to, tab_deadline d, int64_t *ret, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_TRY(tab_tx_begin(pg, org, d, &tx, err));
    TAB_TRY(run_sql(tx, schema, &rows, err,
                    "SELECT greatest("
                    "(SELECT max(seq) FROM @.outbox WHERE published IS NULL AND org = $1 AND seq <= $3), "
                    "(SELECT max(o.seq) FROM @.outbox_due d JOIN @.outbox o USING (seq) "
                    "WHERE d.service = $2 AND o.org = $1 AND o.seq <= $3), 0)",
                    TAB_P(tab_p_text(org), tab_p_text(service), tab_p_int(up_to == 0 ? INT64_MAX : up_to))));
    *ret = tab_rows_int(rows, 0, 0);
    return TAB_OK;
}

/* ---- a thread that works while it is wanted -------------------------------------------------- */

typedef struct {
    pthread_t thread;
    bool started, nudged;
    int64_t idle; /* ms that it waits without a nudge */
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} worker;

static void worker_init(worker *t)
{
    pthread_cond_init(&t->wake, NULL);
    pthread_mutex_init(&t->lock, NULL);
    t->nudged = true;
}

static bool worker_start(worker *t, void *(*fn)(void *), void *arg)
{
    t->started = pthread_create(&t->thread, NULL, fn, arg) == 0;
    return t->started;
}

static void worker_nudge(worker *t)
{
    pthread_mutex_lock(&t->lock);
    t->nudged = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

static void worker_end(worker *t)
{
    atomic_store(&t->stop, true);
    worker_nudge(t);
    if (t->started)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
}

/* Waits until nudged, or for its while: shortest where the last look found something. True: stop. */
static bool worker_wait(worker *t, bool found)
{
    pthread_mutex_lock(&t->lock);
    t->idle = found || t->idle == 0 ? IDLE_MS : 2 * t->idle < IDLE_MOST_MS ? 2 * t->idle : IDLE_MOST_MS;
    tab_deadline d = tab_in_ms(t->idle);
    while (!atomic_load(&t->stop) && !t->nudged && tab_left_ms(d, 1) > 0)
        tab_cond_wait(&t->wake, &t->lock, d);
    if (t->nudged)
        t->idle = 0; /* another process may have held the lock just then: once more soon */
    t->nudged = false;
    pthread_mutex_unlock(&t->lock);
    return atomic_load(&t->stop);
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef struct {
    worker t;
    tab_relay *relay;
    const char *service;
    tab_metric *pending, *oldest;
} lane;

struct tab_relay {
    worker t; /* sorts */
    tab_pg *pg;
    tab_rpc *rpc;
    char schema[40];
    char subjects[1024], services[1024]; /* the routes as two arrays of PostgreSQL */
    lane lane[TAB_LANES_MOST];
    size_t n_lanes;
    tab_metric *delivered, *unsorted, *oldest_unsorted;
};

/* A relay's transaction, which alone does `what` where *ret_mine, and its settings. If the database server
 * crashes, losing it only repeats work, so its commit need not wait for the disk. Its tables are empty most
 * of the time, so the statistics say nothing of a backlog: without bitmap scans a batch is read in the index'
 * order, however many rows wait behind it. */
static tab_status begin_lazy(tab_relay *r, const char *what, tab_tx **ret, bool *ret_mine)
{
    enum { MS = CALL_MS + 10000 }; /* so long others wait for one that stands still in it */
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    char key[100];
    snprintf(key, sizeof key, "outbox.%s.%s", r->schema, what);
    TAB_TRY(tab_tx_begin(r->pg, TAB_ORG_ALL, tab_in_ms(MS), &tx, NULL));
    TAB_TRY(tab_tx_query(tx, &rows, NULL,
                         "SELECT pg_try_advisory_xact_lock(hashtext($1)), "
                         "set_config('synchronous_commit', 'off', true), "
                         "set_config('enable_bitmapscan', 'off', true)",
                         TAB_P(tab_p_text(key))));
    *ret_mine = tab_rows_bool(rows, 0, 0);
    *ret = tab_take(&tx);
    return TAB_OK;
}

#define SORT_ROWS(which)                                                                       \
    "WITH e AS (UPDATE @.outbox SET sent = now(), published = coalesce(published, now()) "     \
    "WHERE seq IN (SELECT seq FROM @.outbox WHERE sent IS NULL AND subject = ANY($1::text[]) " \
    "AND " which " LIMIT $3) RETURNING seq, subject), "                                        \
    "d AS (INSERT INTO @.outbox_due (service, seq) SELECT r.service, e.seq FROM e "            \
    "JOIN unnest($1::text[], $2::text[]) AS r(subject, service) ON r.subject = e.subject "     \
    "ON CONFLICT DO NOTHING) SELECT count(*) FROM e"

/* Writes a row for each pair of a new event and a service that reads it. It sets `published`, for daemons of
 * versions that published to JetStream and would else do so. Events that such a daemon has published are
 * given out once more, newest first, while nothing else waits: it is not known whether their consumers had
 * them all. */
static bool sort_batch(tab_relay *r, size_t *ret_n)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL, *kept = NULL;
    bool mine;
    *ret_n = 0;
    if (begin_lazy(r, "sort", &tx, &mine) != TAB_OK)
        return false;
    if (!mine)
        return true; /* another process does */
    if (run_sql(tx, r->schema, &rows, NULL, SORT_ROWS("published IS NULL ORDER BY seq"),
                TAB_P(tab_p_text(r->subjects), tab_p_text(r->services), tab_p_int(SORT))) != TAB_OK)
        return false;
    *ret_n = (size_t)tab_rows_int(rows, 0, 0);
    if (*ret_n == 0) {
        if (run_sql(tx, r->schema, &kept, NULL,
                    SORT_ROWS("published IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @.outbox_due) "
                              "ORDER BY seq DESC"),
                    TAB_P(tab_p_text(r->subjects), tab_p_text(r->services), tab_p_int(BATCH))) != TAB_OK)
            return false;
        *ret_n = (size_t)tab_rows_int(kept, 0, 0);
    }
    return tab_tx_commit(&tx, NULL) == TAB_OK;
}

/* Deletes one batch of what is old. *ret_n: how many rows. */
static tab_status forget_batch(tab_relay *r, const char *sql, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *gone = NULL;
    TAB_TRY(tab_tx_begin(r->pg, TAB_ORG_ALL, tab_in_ms(FORGET_MS), &tx, err));
    TAB_TRY(run_sql(tx, r->schema, &gone, err, sql, TAB_P(tab_p_int(FORGET_ROWS))));
    *ret_n = tab_rows_count(gone);
    return tab_tx_commit(&tx, err);
}

/* Old events go a batch at a time, so that the largest backlog is deleted in the end and events wait for one
 * batch at most. True: something may be left. */
static bool forget_old(tab_relay *r)
{
    static const char *const old[] = {
        "DELETE FROM @.outbox o WHERE seq = ANY(ARRAY(SELECT seq FROM @.outbox WHERE "
        "published < now() - interval '3 days' AND sent IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM @.outbox_due d WHERE d.seq = outbox.seq) "
        "ORDER BY published LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1",
        "DELETE FROM @.inbox WHERE event_id = ANY(ARRAY(SELECT event_id FROM @.inbox WHERE "
        "at < now() - interval '30 days' ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1",
    };
    bool left = false;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        tab_error err = { 0 };
        size_t n = 0;
        tab_status s = forget_batch(r, old[i], &n, &err);
        if (s != TAB_OK)
            tab_log_fields(TAB_WARN, "old events were not deleted; tried again", "schema", r->schema, "why",
                           err.message, NULL);
        left |= s != TAB_OK || n == FORGET_ROWS;
    }
    return left;
}

/* What waits in the tables, whoever delivers it: every process of the service tells the same figures, also
 * one that never delivers, and also while the readers are away. Counted up to LAG_MOST, so that a backlog
 * does not make its own measurement slow. */
static void measure_lag(tab_relay *r)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    if (tab_tx_begin(r->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, NULL) != TAB_OK)
        return;
    for (size_t i = 0; i <= r->n_lanes; i++) {
        bool sorted = i < r->n_lanes;
        TAB_AUTO(tab_rows) *rows = NULL;
        tab_status s = run_sql(
            tx, r->schema, &rows, NULL,
            sorted
                ? "SELECT (SELECT count(*) FROM (SELECT 1 FROM @.outbox_due WHERE service = $1 LIMIT $2) n), "
                  "(SELECT created FROM @.outbox WHERE seq = "
                  "(SELECT min(seq) FROM @.outbox_due WHERE service = $1))"
                : "SELECT count(*), min(created) FROM (SELECT created FROM @.outbox WHERE published IS NULL "
                  "AND $1 = '' LIMIT $2) n",
            TAB_P(tab_p_text(sorted ? r->lane[i].service : ""), tab_p_int(LAG_MOST)));
        if (s != TAB_OK)
            return;
        tab_metric_set(sorted ? r->lane[i].pending : r->unsorted, (double)tab_rows_int(rows, 0, 0));
        tab_metric_set(sorted ? r->lane[i].oldest : r->oldest_unsorted,
                       tab_rows_null(rows, 0, 1) ? 0 : (double)tab_rows_time(rows, 0, 1) * 1e-6);
    }
}

static void *sorter(void *arg)
{
    tab_relay *r = arg;
    int64_t clean = tab_mono_ms() + FORGET_SOON_MS, measured = 0, began = 0;
    bool found = true;
    while (!worker_wait(&r->t, found)) {
        int64_t early = PACE_MS - (tab_mono_ms() - began);
        if (early > 0)
            poll(NULL, 0, (int)early);
        began = tab_mono_ms();
        size_t n = 1;
        found = false;
        while (n > 0 && !atomic_load(&r->t.stop)) {
            if (!sort_batch(r, &n)) {
                found = true; /* the database is away */
                n = 0;
            }
            found = found || n > 0;
            for (size_t i = 0; i < r->n_lanes && n > 0; i++)
                worker_nudge(&r->lane[i].t);
        }
        if (tab_mono_ms() - measured > LAG_MS) {
            measured = tab_mono_ms();
            measure_lag(r);
        }
        if (tab_mono_ms() >= clean) {
            bool left = forget_old(r);
            clean = tab_mono_ms() + (left ? FORGET_SOON_MS : FORGET_EVERY_MS);
            found = found || left;
        }
    }
    return NULL;
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* Calls the service. NULL: it was not reached, or its answer cannot be read. */
static const Tabella__EventsTaken *hand_over(lane *l, const tab_rows *rows, tab_arena *a)
{
    size_t n = tab_rows_count(rows);
    Tabella__EventBatch in = TABELLA__EVENT_BATCH__INIT;
    Tabella__Event *event = tab_arena_alloc(a, n, sizeof *event);
    in.event = tab_arena_alloc(a, n, sizeof *in.event);
    if (event == NULL || in.event == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        tab_str body = tab_rows_bytes(rows, i, 4, a);
        tabella__event__init(&event[i]);
        event[i].event_id = (char *)(uintptr_t)tab_rows_text(rows, i, 1);
        event[i].subject = (char *)(uintptr_t)tab_rows_text(rows, i, 2);
        event[i].org_id = (char *)(uintptr_t)tab_rows_text(rows, i, 3);
        event[i].payload = (ProtobufCBinaryData){ body.n, (uint8_t *)(uintptr_t)body.p };
        event[i].delivered = (uint32_t)tab_rows_int(rows, i, 6) + 1;
        in.event[i] = &event[i];
    }
    in.n_event = n;
    tab_answer out = { 0 };
    tab_ask ask = { .service = l->service,
                    .method = "Events",
                    .deadline = tab_in_ms(CALL_MS),
                    .in = &in.base,
                    .reply = &tabella__events_taken__descriptor,
                    .arena = a,
                    .gone = &l->t.stop };
    if (tab_arena_full(a) || tab_rpc_call(l->relay->rpc, &ask, &out, NULL) != TAB_OK)
        return NULL;
    const Tabella__EventsTaken *t = out.msg;
    return t->n_taken == n ? t : NULL;
}

/* Deletes what was taken. The rest is due again in 1 s, then 2 s, and so on to 32 s. */
static bool note_taken(tab_relay *r, tab_tx *tx, const char *service, const tab_rows *rows,
                       const Tabella__EventsTaken *t, size_t *ret_taken)
{
    char seqs[2][BATCH * 21 + 3] = { "{", "{" };
    size_t at[2] = { 1, 1 }, count[2] = { 0, 0 };
    for (size_t i = 0; i < t->n_taken; i++) {
        int k = t->taken[i] != 0;
        at[k] += (size_t)snprintf(seqs[k] + at[k], sizeof seqs[k] - at[k], "%s%lld", count[k] == 0 ? "" : ",",
                                  (long long)tab_rows_int(rows, i, 0));
        count[k]++;
    }
    for (int k = 0; k < 2; k++)
        snprintf(seqs[k] + at[k], sizeof seqs[k] - at[k], "}");
    assert(at[0] < sizeof seqs[0] && at[1] < sizeof seqs[1] && count[0] + count[1] == t->n_taken);
    *ret_taken = count[1];
    return (count[1] == 0 ||
            run_sql(tx, r->schema, NULL, NULL,
                    "DELETE FROM @.outbox_due WHERE service = $1 AND seq = ANY($2::bigint[])",
                    TAB_P(tab_p_text(service), tab_p_text(seqs[1]))) == TAB_OK) &&
           (count[0] == 0 || run_sql(tx, r->schema, NULL, NULL,
                                     "UPDATE @.outbox_due SET tries = tries + 1, "
                                     "retry_at = now() + make_interval(secs => 2 ^ least(tries, 5)) "
                                     "WHERE service = $1 AND seq = ANY($2::bigint[])",
                                     TAB_P(tab_p_text(service), tab_p_text(seqs[0]))) == TAB_OK);
}

/* One batch under the lane's lock. *ret_more: there may be more at once; *ret_found: there was one. */
static bool deliver_batch(lane *l, bool *ret_more, bool *ret_found)
{
    tab_relay *r = l->relay;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    bool mine;
    *ret_more = false;
    if (a == NULL || begin_lazy(r, l->service, &tx, &mine) != TAB_OK)
        return false;
    if (!mine)
        return true; /* another process does */
    if (run_sql(tx, r->schema, &rows, NULL,
                "SELECT o.seq, o.event_id, o.subject, o.org, o.payload, o.created, d.tries "
                "FROM (SELECT seq, tries FROM @.outbox_due WHERE service = $1 AND retry_at <= now() "
                "ORDER BY seq LIMIT $2) d JOIN @.outbox o ON o.seq = d.seq ORDER BY d.seq",
                TAB_P(tab_p_text(l->service), tab_p_int(BATCH))) != TAB_OK)
        return false;
    size_t n = tab_rows_count(rows), taken;
    if (n == 0)
        return true;
    *ret_found = true;
    TAB_POINT("outbox.hand-over");
    const Tabella__EventsTaken *t = hand_over(l, rows, a);
    TAB_POINT("outbox.taken");
    if (t == NULL || !note_taken(r, tx, l->service, rows, t, &taken) || tab_tx_commit(&tx, NULL) != TAB_OK)
        return false;
    tab_metric_add(r->delivered, (double)taken);
    *ret_more = n == BATCH;
    return true;
}

static void *deliverer(void *arg)
{
    lane *l = arg;
    bool found = true;
    while (!worker_wait(&l->t, found)) {
        bool more = true;
        found = false;
        while (more && !atomic_load(&l->t.stop))
            if (!deliver_batch(l, &more, &found))
                found = true; /* what was not taken, or asked, is soon again */
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static bool add_route(tab_relay *r, const tab_event_route *route, size_t i)
{
    size_t at = strlen(r->subjects), bt = strlen(r->services), k = 0;
    snprintf(r->subjects + at, sizeof r->subjects - at, "%s%s", i == 0 ? "{" : ",", route->subject);
    snprintf(r->services + bt, sizeof r->services - bt, "%s%s", i == 0 ? "{" : ",", route->service);
    while (k < r->n_lanes && strcmp(r->lane[k].service, route->service) != 0)
        k++;
    if (k < r->n_lanes)
        return true;
    if (k == TAB_LANES_MOST)
        return false;
    lane *l = &r->lane[r->n_lanes++];
    char label[64];
    snprintf(label, sizeof label, "service=\"%s\"", route->service);
    l->relay = r;
    l->service = route->service;
    l->pending = tab_gauge("tabella_outbox_pending", "Events not yet taken, 100000 at most", label);
    l->oldest = tab_gauge("tabella_outbox_oldest_timestamp_seconds", "Oldest event not yet taken", label);
    worker_init(&l->t);
    return true;
}

tab_relay *tab_relay_open(tab_pg *pg, tab_rpc *rpc, const char *schema, const tab_event_route *routes)
{
    tab_relay *r = calloc(1, sizeof *r);
    bool ok = r != NULL;
    if (r == NULL)
        return NULL;
    r->pg = pg;
    r->rpc = rpc;
    snprintf(r->schema, sizeof r->schema, "%s", schema);
    worker_init(&r->t);
    r->unsorted =
        tab_gauge("tabella_outbox_pending", "Events not yet taken, 100000 at most", "service=\"unsorted\"");
    r->oldest_unsorted = tab_gauge("tabella_outbox_oldest_timestamp_seconds", "Oldest event not yet taken",
                                   "service=\"unsorted\"");
    r->delivered = tab_counter("tabella_outbox_delivered_total", "Events taken by their readers", NULL);
    for (size_t i = 0; routes[i].subject != NULL && ok; i++)
        ok = i < TAB_EVENT_ROUTES_MOST && add_route(r, &routes[i], i);
    strcat(r->subjects, "}");
    strcat(r->services, "}");
    for (size_t i = 0; i < r->n_lanes && ok; i++)
        ok = worker_start(&r->lane[i].t, deliverer, &r->lane[i]);
    if (ok && worker_start(&r->t, sorter, r))
        return r;
    tab_relay_free(r);
    return NULL;
}

void tab_relay_free(tab_relay *r)
{
    if (r == NULL)
        return;
    worker_end(&r->t); /* first: it nudges the others */
    for (size_t i = 0; i < r->n_lanes; i++)
        worker_end(&r->lane[i].t);
    free(r);
}

void tab_relay_nudge(tab_relay *r)
{
    worker_nudge(&r->t);
}
