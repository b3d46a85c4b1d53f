/* See sender.h. Some threads, three steps a delivery, each in a transaction of its own or in none:
 *
 *   claim   the delivery that is due longest, of a receiver that nobody sends to; that is busy for LEASE_S
 *   send    to the receiver, by libcurl; nothing is open in PostgreSQL
 *   settle  taken, or given up after three days, or due again later; the receiver is free
 *
 * Of deliveries with one subject the next one waits until the one before is taken or given up. A process
 * that dies between send and settle leaves a delivery that is due again: receivers tell by webhook-id. A
 * receiver has one call at a time, so one that is slow holds one thread, and the longer it fails the seldomer
 * it does. */
#include "services/keys/sender.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/security/address.h"
#include "services/keys/webhook.h"

enum {
    THREADS = 8,
    LEASE_S = 25, /* longer than one sending takes, its look-up with it */
    SEND_S = 10,
    CONNECT_S = 5,
    FIRST_S = 5, /* until the second try; then twice as long each, at most */
    LATE_MOST_S = 3 * 3600,
    GIVE_UP_S = 3 * 86400,
    ANSWER_MOST = 16384, /* bytes of a receiver's answer that are taken, and dropped */
    GONE = 410           /* a receiver's word that it wants no more */
};

struct sender {
    keys *keys;
    pthread_t thread[THREADS];
    size_t threads;
    atomic_bool stop;
    atomic_uint found; /* deliveries that were claimed: idle threads look when it has grown */
};

typedef struct {
    char org[TAB_ID], webhook[TAB_ID], notice[TAB_ID];
    int64_t position, tries, since_us;
    const char *url;
    tab_str secret, old, body; /* old: "" where none signs beside it */
} claimed;

/* What a receiver made of it. */
typedef struct {
    long status;
    const char *why; /* "": it was taken */
} outcome;

/* ---- claim ----------------------------------------------------------------------------------- */

static const char claim_one[] =
    "WITH turn AS (SELECT d.org, d.position, d.webhook FROM keys.webhook_delivery d JOIN keys.webhook w "
    "ON w.org = d.org AND w.id = d.webhook WHERE d.open AND d.due <= now() AND w.disabled IS NULL AND "
    "w.busy < now() AND NOT EXISTS (SELECT FROM keys.webhook_delivery o WHERE o.org = d.org AND o.webhook "
    "= d.webhook AND o.subject = d.subject AND o.open AND o.position < d.position) ORDER BY d.due LIMIT 1 "
    "FOR UPDATE OF w SKIP LOCKED), mine AS (UPDATE keys.webhook w SET busy = now() + $1 * interval '1 "
    "second' FROM turn WHERE w.org = turn.org AND w.id = turn.webhook RETURNING w.org, w.id, w.url, "
    "w.secret, CASE WHEN w.old_until > now() THEN w.old_secret END AS old), taken AS (UPDATE "
    "keys.webhook_delivery d SET tries = d.tries + 1, due = now() + $1 * interval '1 second' FROM turn "
    "WHERE d.org = turn.org AND d.position = turn.position AND d.open RETURNING d.*) SELECT t.org, "
    "t.webhook, t.notice, t.position, t.tries, t.since, m.url, m.secret, m.old, n.kind, n.subject, "
    "n.text, n.data, n.at FROM taken t JOIN mine m ON m.org = t.org AND m.id = t.webhook JOIN "
    "keys.notification n ON n.org = t.org AND n.id = t.notice";

/* The same bytes at each try. */
static tab_status write_body(tab_arena *a, const tab_rows *r, tab_str *ret, tab_error *err)
{
    char at[TAB_TIME_TEXT];
    const char *const member[] = { "organization", tab_rows_text(r, 0, 0),  "id",   tab_rows_text(r, 0, 2),
                                   "subject",      tab_rows_text(r, 0, 10), "text", tab_rows_text(r, 0, 11) };
    tab_out o = { 0 };
    tab_time_text(tab_rows_time(r, 0, 13), at);
    tab_out_open(&o, '{');
    tab_out_key(&o, "type");
    tab_out_cstr(&o, tab_rows_text(r, 0, 9));
    tab_out_key(&o, "timestamp");
    tab_out_cstr(&o, at);
    for (size_t i = 0; i < sizeof member / sizeof *member; i += 2) {
        tab_out_key(&o, member[i]);
        tab_out_cstr(&o, member[i + 1]);
    }
    tab_out_key(&o, "data");
    tab_out_raw(&o, tab_rows_str(r, 0, 12));
    tab_out_close(&o, '}');
    *ret = tab_arena_copy(a, tab_out_text(&o));
    bool failed = o.failed || ret->p == NULL;
    tab_out_free(&o);
    return failed ? tab_no_memory(err) : TAB_OK;
}

/* "" where there is none, or where it cannot be opened: one such receiver keeps no other one waiting. */
static tab_str opened(const keys *k, tab_arena *a, const claimed *c, const tab_rows *r, size_t col)
{
    tab_str secret;
    tab_error err;
    if (k->kek == NULL || tab_rows_null(r, 0, col) ||
        tab_unseal(k->kek, a, tab_rows_bytes(r, 0, col, a), webhook_context(a, c->org, c->webhook), &secret,
                   &err) != TAB_OK)
        return TAB_S("");
    return secret;
}

/* *ret_any false: nothing is due. */
static tab_status claim(const keys *k, tab_arena *a, claimed *ret, bool *ret_any, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_any = false;
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    TAB_TRY(tab_tx_query(tx, &r, err, claim_one, TAB_P(tab_p_int(LEASE_S))));
    if (tab_rows_count(r) == 0)
        return tab_tx_commit(&tx, err);
    snprintf(ret->org, sizeof ret->org, "%s", tab_rows_text(r, 0, 0));
    snprintf(ret->webhook, sizeof ret->webhook, "%s", tab_rows_text(r, 0, 1));
    snprintf(ret->notice, sizeof ret->notice, "%s", tab_rows_text(r, 0, 2));
    ret->position = tab_rows_int(r, 0, 3);
    ret->tries = tab_rows_int(r, 0, 4);
    ret->since_us = tab_rows_time(r, 0, 5);
    ret->url = tab_arena_copy(a, tab_rows_str(r, 0, 6)).p;
    ret->secret = opened(k, a, ret, r, 7);
    ret->old = opened(k, a, ret, r, 8);
    TAB_TRY(write_body(a, r, &ret->body, err));
    TAB_TRY(tab_tx_commit(&tx, err));
    *ret_any = ret->url != NULL;
    return TAB_OK;
}

/* ---- send ------------------------------------------------------------------------------------ */

static int stopped(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const sender *s = arg;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&s->stop);
}

/* What a receiver answers beside its status is of no use; so much of it is waited for. */
static size_t dropped(char *p, size_t size, size_t n, void *arg)
{
    size_t *seen = arg;
    (void)p;
    *seen += size * n;
    return *seen > ANSWER_MOST ? 0 : size * n;
}

/* The last gate: whatever curl makes of the URL, it connects to an address that is allowed. */
static curl_socket_t connected(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    const keys *k = arg;
    if (purpose != CURLSOCKTYPE_IPCXN || !tab_address_allowed(&to->addr, k->allow))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype, to->protocol);
}

static struct curl_slist *headers_of(const claimed *c)
{
    char id[WEBHOOK_HEADER], at[WEBHOOK_HEADER], signature[WEBHOOK_HEADER];
    char one[WEBHOOK_SECRET], two[WEBHOOK_SECRET] = "";
    int64_t now = tab_now_us() / 1000000;
    if (!webhook_sign(c->secret, c->notice, now, c->body, one) ||
        (c->old.n > 0 && !webhook_sign(c->old, c->notice, now, c->body, two)))
        return NULL;
    snprintf(id, sizeof id, "webhook-id: %s", c->notice);
    snprintf(at, sizeof at, "webhook-timestamp: %lld", (long long)now);
    snprintf(signature, sizeof signature, "webhook-signature: %s%s%s", one, two[0] != 0 ? " " : "", two);
    struct curl_slist *list = NULL;
    const char *const all[] = { "Content-Type: application/json", "Expect:", id, at, signature };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct curl_slist *more = curl_slist_append(list, all[i]);
        if (more == NULL) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = more;
    }
    return list;
}

static void options(CURL *c, sender *s, const claimed *what, const struct curl_slist *headers,
                    const struct curl_slist *resolve, size_t *seen)
{
    curl_easy_setopt(c, CURLOPT_URL, what->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_RESOLVE, resolve);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, connected);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, s->keys);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)what->body.n);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, what->body.p);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "tabella-webhooks/1");
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, dropped);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, seen);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)SEND_S);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stopped);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, s);
}

/* The receiver's status counts once it has said it, whatever it goes on to say. */
static outcome judged(CURLcode code, long status, size_t seen)
{
    bool said = code == CURLE_OK || (code == CURLE_WRITE_ERROR && seen > ANSWER_MOST);
    if (!said)
        return (outcome){ status, code == CURLE_COULDNT_CONNECT            ? "no connection"
                                  : code == CURLE_OPERATION_TIMEDOUT       ? "no answer in time"
                                  : code == CURLE_PEER_FAILED_VERIFICATION ? "its certificate does not hold"
                                                                           : "the connection failed" };
    if (status >= 200 && status < 300)
        return (outcome){ status, "" };
    return (outcome){ status,
                      status >= 300 && status < 400 ? "a redirect, which is not followed" : "not taken" };
}

static outcome send_one(sender *s, tab_arena *a, const claimed *c)
{
    webhook_target to;
    tab_error err;
    size_t seen = 0;
    outcome o = { 0, "the connection failed" };
    if (c->secret.n == 0)
        return (outcome){ 0, "its secret cannot be opened: see TAB_KEK" };
    if (webhook_resolve(a, c->url, s->keys->allow, &to, &err) != TAB_OK)
        return (outcome){ 0, "its address is not allowed, or there is none" };
    const char *pin = tab_arena_printf(a, strchr(to.address, ':') != NULL ? "%s:%u:[%s]" : "%s:%u:%s",
                                       to.host, (unsigned)to.port, to.address);
    struct curl_slist *headers = headers_of(c), *resolve = pin == NULL ? NULL : curl_slist_append(NULL, pin);
    CURL *curl = curl_easy_init();
    if (curl != NULL && headers != NULL && resolve != NULL) {
        long status = 0;
        options(curl, s, c, headers, resolve, &seen);
        CURLcode code = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        o = judged(code, status, seen);
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    curl_slist_free_all(resolve);
    return o;
}

/* ---- settle ---------------------------------------------------------------------------------- */

static tab_status settle(const keys *k, const claimed *c, const outcome *o, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    int64_t late = FIRST_S;
    for (int64_t i = 1; i < c->tries && late < LATE_MOST_S; i++)
        late *= 2;
    late = late < LATE_MOST_S ? late : LATE_MOST_S;
    bool taken = o->why[0] == 0;
    bool over = !taken && tab_now_us() - c->since_us > GIVE_UP_S * INT64_C(1000000);
    TAB_TRY(tab_tx_begin(k->pg, c->org, tab_in_ms(5000), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.webhook_delivery SET open = NOT $3::bool, "
                         "ended = CASE WHEN $3::bool THEN now() END, status = $4, error = $5, "
                         "due = now() + $6 * interval '1 second' WHERE org = $1 AND position = $2 AND open",
                         TAB_P(tab_p_text(c->org), tab_p_int(c->position), tab_p_bool(taken || over),
                               tab_p_int(o->status), tab_p_text(o->why), tab_p_int(late))));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.webhook SET busy = '-infinity' WHERE org = $1 AND id = $2",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->webhook))));
    if (o->status == GONE) {
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "UPDATE keys.webhook SET disabled = now(), why = 'the receiver answered 410' "
                             "WHERE org = $1 AND id = $2 AND disabled IS NULL",
                             TAB_P(tab_p_text(c->org), tab_p_text(c->webhook))));
        TAB_TRY(tab_tx_query(tx, NULL, err,
                             "UPDATE keys.webhook_delivery SET due = 'infinity' "
                             "WHERE org = $1 AND webhook = $2 AND open",
                             TAB_P(tab_p_text(c->org), tab_p_text(c->webhook))));
    }
    TAB_TRY(tab_tx_commit(&tx, err));
    const char *end = taken ? "result=\"delivered\"" : over ? "result=\"failed\"" : "result=\"later\"";
    tab_metric_add(tab_counter("tabella_webhooks_total", "Tries of webhooks, by what came of them", end), 1);
    return TAB_OK;
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* True: there may be more. */
static bool one(sender *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    claimed c = { 0 };
    bool any = false;
    tab_error err = { 0 };
    if (a == NULL)
        return false;
    if (claim(s->keys, a, &c, &any, &err) != TAB_OK)
        tab_log_fields(TAB_DEBUG, "webhooks wait", "why", err.message, NULL);
    if (!any)
        return false;
    atomic_fetch_add(&s->found, 1);
    outcome o = send_one(s, a, &c);
    if (o.why[0] != 0 && atomic_load(&s->stop))
        return false; /* not the receiver's fault: due again after the lease */
    return settle(s->keys, &c, &o, &err) == TAB_OK;
}

typedef struct {
    sender *s;
    bool looks; /* without being told */
} worker;

static void *run(void *arg)
{
    worker w = *(worker *)arg;
    free(arg);
    unsigned seen = 0;
    while (!atomic_load(&w.s->stop)) {
        while (one(w.s) && !atomic_load(&w.s->stop))
            ;
        seen = atomic_load(&w.s->found);
        for (int ms = 0; !atomic_load(&w.s->stop) && (w.looks ? ms < 1000 : seen == atomic_load(&w.s->found));
             ms += 50)
            nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000000 }, NULL);
    }
    return NULL;
}

sender *sender_open(keys *k)
{
    static const char *const ends[] = { "result=\"delivered\"", "result=\"failed\"", "result=\"later\"" };
    sender *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)tab_counter("tabella_webhooks_total", "Tries of webhooks, by what came of them", ends[i]);
    s->keys = k;
    for (; s->threads < THREADS; s->threads++) {
        worker *w = malloc(sizeof *w);
        if (w != NULL)
            *w = (worker){ s, s->threads == 0 };
        if (w == NULL || pthread_create(&s->thread[s->threads], NULL, run, w) != 0) {
            free(w);
            sender_close(s);
            return NULL;
        }
    }
    return s;
}

void sender_close(sender *s)
{
    if (s == NULL)
        return;
    atomic_store(&s->stop, true);
    for (size_t i = 0; i < s->threads; i++)
        pthread_join(s->thread[i], NULL);
    free(s);
}
