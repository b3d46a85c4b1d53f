#include "common/outbox.h"

#include <nats/nats.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/metrics.h"

#define STREAM "TABELLA_EVENTS"
#define SUBJECTS "tabella.event.>"
#define H_ORG "Tab-Org"

/* PACE_MS: batches of a busy relay begin this far apart, so that it and all consumers take events in
 * groups. */
enum { BATCH = 200, FETCH = 100, IDLE_MS = 1000, AWAY_MS = 1000, ACK_MS = 2000, PACE_MS = 200 };
static const int64_t second = 1000000000; /* nanoseconds: JetStream's unit */

tab_status tab_outbox_put(tab_tx *tx, const char *schema, const char *event_id, const char *subject,
                          const char *org, const ProtobufCMessage *event, tab_error *err)
{
    char sql[256];
    size_t n = protobuf_c_message_get_packed_size(event);
    char *bytes = malloc(n + 1);
    if (bytes == NULL)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    protobuf_c_message_pack(event, (uint8_t *)bytes);
    snprintf(sql, sizeof sql,
             "INSERT INTO %s.outbox (event_id, subject, org, payload) "
             "VALUES ($1, $2, $3, $4) "
             "ON CONFLICT (event_id) DO NOTHING",
             schema);
    tab_status s = tab_tx_query(tx, NULL, err, sql,
                                TAB_P(tab_p_text(event_id), tab_p_text(subject), tab_p_text(org),
                                      tab_p_bytes((tab_str){ bytes, n })));
    free(bytes);
    return s;
}

/* ---- a thread that works while it is wanted -------------------------------------------------- */

typedef struct {
    pthread_t thread;
    bool started, stop, nudged;
    pthread_mutex_t lock;
    pthread_cond_t wake;
} turner;

static bool turner_start(turner *t, void *(*fn)(void *), void *arg)
{
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &mono);
    pthread_condattr_destroy(&mono);
    pthread_mutex_init(&t->lock, NULL);
    t->started = pthread_create(&t->thread, NULL, fn, arg) == 0;
    return t->started;
}

static void turner_end(turner *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    if (t->started)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
}

/* Waits so long or until nudged; true: stop. */
static bool turner_wait(turner *t, int64_t ms)
{
    tab_deadline d = tab_in_ms(ms);
    struct timespec at = { d / 1000, (d % 1000) * 1000000 };
    pthread_mutex_lock(&t->lock);
    while (!t->stop && !t->nudged && tab_left_ms(d, 1) > 0)
        pthread_cond_timedwait(&t->wake, &t->lock, &at);
    t->nudged = false;
    bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

static bool turner_stopped(turner *t)
{
    pthread_mutex_lock(&t->lock);
    bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Makes the stream where it is not there and says when it was made: the name of this very stream. */
static bool stream_made(jsCtx *js, char ret[32])
{
    jsStreamInfo *si = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetStreamInfo(&si, js, STREAM, NULL, &code);
    if (s == NATS_NOT_FOUND) {
        jsStreamConfig c;
        jsStreamConfig_Init(&c);
        const char *subjects[] = { SUBJECTS };
        c.Name = STREAM;
        c.Subjects = subjects;
        c.SubjectsLen = 1;
        c.Storage = js_FileStorage;
        c.Retention = js_LimitsPolicy;
        c.MaxAge = 7 * 24 * 3600 * second;
        c.Duplicates = 120 * second;
        s = js_AddStream(&si, js, &c, NULL, &code);
        if (s != NATS_OK) /* another daemon was quicker */
            s = js_GetStreamInfo(&si, js, STREAM, NULL, &code);
    }
    if (s == NATS_OK)
        snprintf(ret, 32, "%lld", (long long)si->Created);
    jsStreamInfo_Destroy(si);
    return s == NATS_OK;
}

static jsCtx *jetstream(tab_rpc *rpc)
{
    jsOptions o;
    jsCtx *js = NULL;
    natsConnection *nc = tab_rpc_nats(rpc);
    jsOptions_Init(&o);
    o.Wait = ACK_MS;
    if (nc == NULL || natsConnection_Status(nc) != NATS_CONN_STATUS_CONNECTED ||
        natsConnection_JetStream(&js, nc, &o) != NATS_OK)
        return NULL;
    return js;
}

/* ---- relay ----------------------------------------------------------------------------------- */

struct tab_relay {
    turner t;
    tab_pg *pg;
    tab_rpc *rpc;
    char schema[40];
    tab_metric *pending, *oldest, *published;
};

static tab_status run_sql(tab_tx *tx, const char *schema, tab_rows **ret, tab_error *err, const char *before,
                          const char *after, const tab_param *p, size_t n)
{
    char sql[512];
    snprintf(sql, sizeof sql, "%s%s%s", before, schema, after);
    return tab_tx_query(tx, ret, err, sql, p, n);
}

/* What is to be published again, since the stream is another than the one published to last: the rows up
 * to number *ret_again, from the newest down. A name of the stream that was not looked up just now may be
 * the old one's: *ret_stale, nothing is noted. */
static tab_status note_stream(tab_tx *tx, const char *schema, const char *made, bool fresh,
                              int64_t *ret_again, bool *ret_stale, tab_error *err)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    *ret_again = 0;
    *ret_stale = false;
    tab_status s =
        run_sql(tx, schema, &rows, err, "SELECT created, again FROM ", ".outbox_stream", TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    if (tab_rows_count(rows) == 0)
        return run_sql(tx, schema, NULL, err, "INSERT INTO ",
                       ".outbox_stream (created) VALUES ($1) ON CONFLICT (one) DO NOTHING",
                       TAB_P(tab_p_text(made)));
    if (strcmp(tab_rows_text(rows, 0, 0), made) == 0) {
        *ret_again = tab_rows_int(rows, 0, 1);
        return TAB_OK;
    }
    *ret_stale = !fresh;
    if (*ret_stale)
        return TAB_OK;
    tab_log(TAB_WARN, "the event stream is new: kept events of %s are published again", schema);
    s = run_sql(tx, schema, &rows, err, "SELECT coalesce(max(seq), 0) FROM ", ".outbox", TAB_P_NONE);
    if (s != TAB_OK)
        return s;
    *ret_again = tab_rows_int(rows, 0, 0);
    return run_sql(tx, schema, NULL, err, "UPDATE ", ".outbox_stream SET created = $1, again = $2",
                   TAB_P(tab_p_text(made), tab_p_int(*ret_again)));
}

static bool publish(jsCtx *js, const tab_rows *rows, size_t i, tab_arena *a)
{
    natsMsg *m = NULL;
    jsPubOptions o;
    jsPubAck *ack = NULL;
    jsErrCode code = 0;
    tab_str body = tab_rows_bytes(rows, i, 4, a);
    if (natsMsg_Create(&m, tab_rows_text(rows, i, 2), NULL, body.p, (int)body.n) != NATS_OK)
        return false;
    natsMsgHeader_Set(m, H_ORG, tab_rows_text(rows, i, 3));
    natsMsgHeader_Set(m, "Nats-Msg-Id", tab_rows_text(rows, i, 1));
    jsPubOptions_Init(&o);
    o.MaxWait = ACK_MS;
    natsStatus s = js_PublishMsg(&ack, js, m, &o, &code);
    jsPubAck_Destroy(ack);
    natsMsg_Destroy(m);
    return s == NATS_OK;
}

static size_t publish_all(jsCtx *js, const tab_rows *rows, tab_arena *a)
{
    size_t done = 0;
    while (done < tab_rows_count(rows) && publish(js, rows, done, a))
        done++;
    return done;
}

static bool mark_published(tab_tx *tx, const char *schema, const tab_rows *rows, size_t done)
{
    /* Just these rows: one with a number between theirs may have been committed since they were read
     * (numbers are drawn before commit), and it has not been published. */
    char seqs[BATCH * 21 + 3] = "{";
    size_t at = 1;
    for (size_t i = 0; i < done; i++)
        at += (size_t)snprintf(seqs + at, sizeof seqs - at, "%s%lld", i == 0 ? "" : ",",
                               (long long)tab_rows_int(rows, i, 0));
    snprintf(seqs + at, sizeof seqs - at, "}");
    return done == 0 || run_sql(tx, schema, NULL, NULL, "UPDATE ",
                                ".outbox SET published = now() WHERE seq = ANY($1::bigint[])",
                                TAB_P(tab_p_text(seqs))) == TAB_OK;
}

/* Rows that an earlier stream had, from *again down; moves *again on. They come after what is new, and the
 * newest of them first: what its consumers had not yet taken is among these, and must not wait behind
 * three days of the rest. */
static bool publish_again(tab_relay *r, jsCtx *js, tab_tx *tx, tab_arena *a, int64_t *again)
{
    TAB_AUTO(tab_rows) *rows = NULL;
    if (run_sql(tx, r->schema, &rows, NULL, "SELECT seq, event_id, subject, org, payload, created FROM ",
                ".outbox WHERE seq <= $1 AND published IS NOT NULL ORDER BY seq DESC LIMIT $2",
                TAB_P(tab_p_int(*again), tab_p_int(BATCH))) != TAB_OK)
        return false;
    size_t n = tab_rows_count(rows), done = publish_all(js, rows, a);
    *again = done < BATCH && done == n ? 0 : done == 0 ? *again : tab_rows_int(rows, done - 1, 0) - 1;
    tab_metric_add(r->published, (double)done);
    return run_sql(tx, r->schema, NULL, NULL, "UPDATE ", ".outbox_stream SET again = $1",
                   TAB_P(tab_p_int(*again))) == TAB_OK &&
           done == n;
}

/* One batch under the schema's lock. *ret_more: there may be more at once. */
static bool relay_batch(tab_relay *r, jsCtx *js, const char *made, bool fresh, bool *ret_more)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *lock = NULL, *rows = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    char key[64];
    int64_t again;
    bool stale;
    *ret_more = false;
    snprintf(key, sizeof key, "outbox.%s", r->schema);
    if (a == NULL || tab_tx_begin(r->pg, TAB_ORG_ALL, tab_in_ms(60000), &tx, NULL) != TAB_OK ||
        tab_tx_query(tx, &lock, NULL, "SELECT pg_try_advisory_xact_lock(hashtext($1))",
                     TAB_P(tab_p_text(key))) != TAB_OK)
        return false;
    if (!tab_rows_bool(lock, 0, 0))
        return true; /* another process relays */
    if (note_stream(tx, r->schema, made, fresh, &again, &stale, NULL) != TAB_OK || stale ||
        run_sql(tx, r->schema, &rows, NULL, "SELECT seq, event_id, subject, org, payload, created FROM ",
                ".outbox WHERE published IS NULL ORDER BY seq LIMIT $1", TAB_P(tab_p_int(BATCH))) != TAB_OK)
        return false;
    size_t n = tab_rows_count(rows), done = publish_all(js, rows, a);
    tab_metric_set(r->pending, (double)n);
    tab_metric_set(r->oldest, n == 0 ? 0 : (double)tab_rows_time(rows, 0, 5) * 1e-6);
    if (!mark_published(tx, r->schema, rows, done))
        return false;
    tab_metric_add(r->published, (double)done);
    bool all = done == n;
    if (all && again > 0)
        all = publish_again(r, js, tx, a, &again);
    *ret_more = done == BATCH || again > 0;
    return tab_tx_commit(&tx, NULL) == TAB_OK && all;
}

static void forget_old(tab_relay *r)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    if (tab_tx_begin(r->pg, TAB_ORG_ALL, tab_in_ms(30000), &tx, NULL) == TAB_OK &&
        run_sql(tx, r->schema, NULL, NULL, "DELETE FROM ",
                ".outbox WHERE published < now() - interval '3 days'", TAB_P_NONE) == TAB_OK &&
        run_sql(tx, r->schema, NULL, NULL, "DELETE FROM ", ".inbox WHERE at < now() - interval '30 days'",
                TAB_P_NONE) == TAB_OK &&
        tab_tx_commit(&tx, NULL) != TAB_OK)
        tab_log(TAB_WARN, "old events of %s were not deleted", r->schema);
}

static void *relay(void *arg)
{
    tab_relay *r = arg;
    int64_t cleaned = tab_mono_ms(), looked = 0, began = 0;
    char made[32] = "";
    jsCtx *js = NULL;
    bool ok = true;
    while (!turner_wait(&r->t, ok ? IDLE_MS : AWAY_MS)) {
        int64_t early = PACE_MS - (tab_mono_ms() - began);
        if (early > 0)
            poll(NULL, 0, (int)early);
        began = tab_mono_ms();
        if (js == NULL) {
            js = jetstream(r->rpc);
            looked = 0;
        }
        /* a wiped store shows as another time of creation: looked up now and then, and after a failure */
        if (js != NULL && (looked == 0 || tab_mono_ms() - looked > 10000)) {
            looked = stream_made(js, made) ? tab_mono_ms() : 0;
            if (looked == 0) {
                jsCtx_Destroy(js);
                js = NULL;
            }
        }
        bool more = js != NULL, fresh = js != NULL && looked >= began;
        ok = js != NULL;
        while (more && ok && !turner_stopped(&r->t)) {
            ok = relay_batch(r, js, made, fresh, &more);
            fresh = false;
        }
        if (!ok)
            looked = 0;
        if (tab_mono_ms() - cleaned > 3600000) {
            cleaned = tab_mono_ms();
            forget_old(r);
        }
    }
    jsCtx_Destroy(js);
    return NULL;
}

tab_relay *tab_relay_open(tab_pg *pg, tab_rpc *rpc, const char *schema)
{
    tab_relay *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->pg = pg;
    r->rpc = rpc;
    snprintf(r->schema, sizeof r->schema, "%s", schema);
    r->pending = tab_gauge("tabella_outbox_pending", "Events not yet published, of the last batch", NULL);
    r->oldest = tab_gauge("tabella_outbox_oldest_timestamp_seconds", "Oldest unpublished event", NULL);
    r->published = tab_counter("tabella_outbox_published_total", "Events published", NULL);
    r->t.nudged = true;
    if (turner_start(&r->t, relay, r))
        return r;
    free(r);
    return NULL;
}

void tab_relay_free(tab_relay *r)
{
    if (r == NULL)
        return;
    turner_end(&r->t);
    free(r);
}

void tab_relay_nudge(tab_relay *r)
{
    pthread_mutex_lock(&r->t.lock);
    r->t.nudged = true;
    pthread_cond_signal(&r->t.wake);
    pthread_mutex_unlock(&r->t.lock);
}

/* ---- consumer -------------------------------------------------------------------------------- */

struct tab_consumer {
    turner t;
    tab_pg *pg;
    tab_rpc *rpc;
    char schema[40], subject[128], durable[160];
    tab_event_fn *fn;
    tab_events_fn *all; /* one of the two */
    void *self;
    tab_metric *done, *again;
};

static tab_status act(tab_consumer *c, tab_tx *tx, const tab_event *e, size_t n, tab_error *err)
{
    if (c->all != NULL)
        return n == 0 ? TAB_OK : c->all(c->self, tx, e, n, err);
    tab_status s = TAB_OK;
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        s = c->fn(c->self, tx, &e[i], err);
    return s;
}

static tab_status consume(tab_consumer *c, tab_event *e, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    tab_status s = tab_tx_begin(c->pg, e->org, tab_in_ms(30000), &tx, err);
    if (s == TAB_OK)
        s = run_sql(tx, c->schema, &rows, err, "INSERT INTO ",
                    ".inbox (event_id, org) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                    TAB_P(tab_p_text(e->event_id), tab_p_text(e->org)));
    if (s != TAB_OK || tab_rows_affected(rows) == 0)
        return s;
    s = act(c, tx, e, 1, err);
    return s == TAB_OK ? tab_tx_commit(&tx, err) : s;
}

static const char *header(natsMsg *m, const char *name)
{
    const char *v = NULL;
    return natsMsgHeader_Get(m, name, &v) == NATS_OK && v != NULL ? v : "";
}

static bool take(tab_consumer *c, natsMsg *m)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    jsMsgMetaData *meta = NULL;
    int64_t delivered = natsMsg_GetMetaData(&meta, m) == NATS_OK ? (int64_t)meta->NumDelivered : 1;
    jsMsgMetaData_Destroy(meta);
    tab_event e = { header(m, "Nats-Msg-Id"),
                    natsMsg_GetSubject(m),
                    header(m, H_ORG),
                    delivered,
                    a,
                    { natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m) } };
    tab_error err = { 0 };
    tab_status s = a == NULL || e.event_id[0] == 0 ? TAB_INTERNAL : consume(c, &e, &err);
    if (e.event_id[0] == 0) { /* nobody of ours wrote that */
        natsMsg_Term(m, NULL);
        return true;
    }
    tab_metric_add(s == TAB_OK ? c->done : c->again, 1);
    if (s == TAB_OK) {
        natsMsg_Ack(m, NULL); /* lost: it comes again, and the inbox knows it */
        return true;
    }
    int64_t wait = (int64_t)1000 << (delivered > 6 ? 5 : delivered - 1); /* milliseconds here */
    tab_log_fields(s == TAB_UNAVAILABLE ? TAB_WARN : TAB_ERROR, "an event comes again later", "event_id",
                   e.event_id, "subject", e.subject, "why", err.message, NULL);
    natsMsg_NakWithDelay(m, wait, NULL);
    return s != TAB_UNAVAILABLE;
}

/* Those of the messages' ids that the inbox did not know; now it does. */
static tab_status note_group(tab_consumer *c, tab_tx *tx, tab_arena *a, natsMsg **m, size_t n, tab_rows **ret)
{
    char *id[FETCH];
    for (size_t i = 0; i < n; i++)
        id[i] = (char *)(uintptr_t)header(m[i], "Nats-Msg-Id");
    const char *ids = tab_pg_array(a, id, n);
    return ids == NULL ? TAB_INTERNAL
                       : run_sql(tx, c->schema, ret, NULL, "INSERT INTO ",
                                 ".inbox (event_id, org) SELECT DISTINCT unnest($1::text[]), "
                                 "$2 ON CONFLICT DO NOTHING RETURNING event_id",
                                 TAB_P(tab_p_text(ids), tab_p_text(header(m[0], H_ORG))));
}

/* 1 < n <= FETCH messages of one organization in one transaction. False: nothing was done, take them one
 * by one. */
static bool take_group(tab_consumer *c, natsMsg **m, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)256 << 20);
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *rows = NULL;
    const char *org = header(m[0], H_ORG);
    bool taken[FETCH] = { false };
    tab_event event[FETCH];
    size_t fresh = 0;
    if (a == NULL || tab_tx_begin(c->pg, org, tab_in_ms(30000), &tx, NULL) != TAB_OK ||
        note_group(c, tx, a, m, n, &rows) != TAB_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        tab_event e = { header(m[i], "Nats-Msg-Id"),
                        natsMsg_GetSubject(m[i]),
                        org,
                        1,
                        a,
                        { natsMsg_GetData(m[i]), (size_t)natsMsg_GetDataLength(m[i]) } };
        size_t k = 0;
        while (k < tab_rows_count(rows) && (taken[k] || strcmp(tab_rows_text(rows, k, 0), e.event_id) != 0))
            k++;
        if (e.event_id[0] == 0)
            return false;
        if (k == tab_rows_count(rows))
            continue;
        taken[k] = true;
        event[fresh++] = e;
    }
    tab_error err = { 0 };
    if (act(c, tx, event, fresh, &err) != TAB_OK || tab_tx_commit(&tx, NULL) != TAB_OK)
        return false;
    tab_metric_add(c->done, (double)n);
    for (size_t i = 0; i < n; i++)
        natsMsg_Ack(m[i], NULL);
    return true;
}

static bool take_all(tab_consumer *c, natsMsgList *list)
{
    bool ok = true;
    for (int i = 0, end; i < list->Count; i = end) {
        const char *org = header(list->Msgs[i], H_ORG);
        for (end = i + 1; end < list->Count && strcmp(header(list->Msgs[end], H_ORG), org) == 0;)
            end++;
        if (end - i > 1 && take_group(c, list->Msgs + i, (size_t)(end - i)))
            continue;
        for (; i < end; i++)
            ok = take(c, list->Msgs[i]) && ok;
    }
    return ok;
}

static natsSubscription *subscribe(tab_consumer *c, jsCtx *js)
{
    char made[32];
    jsSubOptions o;
    natsSubscription *sub = NULL;
    jsErrCode code = 0;
    jsSubOptions_Init(&o);
    o.Stream = STREAM;
    o.Config.AckPolicy = js_AckExplicit;
    o.Config.AckWait = 5 * second; /* of a killed consumer's events; a repetition too early is harmless */
    o.Config.MaxAckPending = 1000;
    o.Config.DeliverPolicy = js_DeliverAll;
    if (!stream_made(js, made))
        return NULL;
    natsStatus s = js_PullSubscribe(&sub, js, c->subject, c->durable, NULL, &o, &code);
    if (s == NATS_OK)
        return sub;
    tab_log(TAB_WARN, "cannot consume %s: %s (%d)", c->subject, natsStatus_GetText(s), (int)code);
    return NULL;
}

static void *consumer(void *arg)
{
    tab_consumer *c = arg;
    jsCtx *js = NULL;
    natsSubscription *sub = NULL;
    int64_t wait = 0;
    while (!turner_wait(&c->t, wait) && !tab_rpc_draining(c->rpc)) {
        if (js == NULL)
            js = jetstream(c->rpc);
        if (js != NULL && sub == NULL)
            sub = subscribe(c, js);
        natsMsgList list = { NULL, 0 };
        jsErrCode code = 0;
        natsStatus s = sub == NULL ? NATS_NOT_FOUND : natsSubscription_Fetch(&list, sub, FETCH, 2000, &code);
        bool ok = take_all(c, &list);
        natsMsgList_Destroy(&list);
        wait = ok ? 0 : AWAY_MS;
        if ((s == NATS_OK || s == NATS_TIMEOUT) &&
            natsConnection_Status(tab_rpc_nats(c->rpc)) == NATS_CONN_STATUS_CONNECTED) {
            jsConsumerInfo *ci = NULL; /* a quiet fetch may mean that the store was wiped */
            if (s == NATS_OK || js_GetConsumerInfo(&ci, js, STREAM, c->durable, NULL, &code) == NATS_OK) {
                jsConsumerInfo_Destroy(ci);
                continue;
            }
        }
        natsSubscription_Destroy(sub);
        jsCtx_Destroy(js);
        sub = NULL;
        js = NULL;
        wait = AWAY_MS;
    }
    natsSubscription_Destroy(sub);
    jsCtx_Destroy(js);
    return NULL;
}

tab_consumer *tab_consumer_open(tab_pg *pg, tab_rpc *rpc, const char *schema, const char *subject,
                                tab_event_fn *fn, tab_events_fn *all, void *self)
{
    tab_consumer *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->pg = pg;
    c->rpc = rpc;
    c->fn = fn;
    c->all = all;
    c->self = self;
    snprintf(c->schema, sizeof c->schema, "%s", schema);
    snprintf(c->subject, sizeof c->subject, "%s", subject);
    snprintf(c->durable, sizeof c->durable, "%s-%s", schema, subject);
    for (char *p = c->durable; *p != 0; p++) /* dots, stars and > are no part of a durable's name */
        if (*p == '.' || *p == '*' || *p == '>')
            *p = '_';
    c->done = tab_counter("tabella_events_consumed_total", "Events taken, repetitions too", NULL);
    c->again = tab_counter("tabella_events_failed_total", "Events that come again later", NULL);
    if (turner_start(&c->t, consumer, c))
        return c;
    free(c);
    return NULL;
}

void tab_consumer_free(tab_consumer *c)
{
    if (c == NULL)
        return;
    turner_end(&c->t);
    free(c);
}
