/* See sender.h. Some threads, three steps a delivery, each in a transaction of its own or in none:
 *
 *   claim   the delivery that is due longest, of a receiver that nobody sends to; that is busy for LEASE_S
 *   send    to the receiver, by libcurl; nothing is open in PostgreSQL
 *   settle  taken, or given up after three days, or due again later; the receiver is free
 *
 * Of deliveries with one subject the next one waits until the one before is taken or given up. A process
 * that dies between send and settle leaves a delivery that is due again: receivers tell by webhook-id. A
 * receiver has one call at a time, so one that is slow holds one thread; an organization has calls of half of
 * the threads; and a receiver that did not take one rests for as long as it held its thread, twice as long
 * after each further one in a row (decision 0546). */
#include "services/keys/sender.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/security/address.h"
#include "services/keys/usage_forms.h"
#include "services/keys/webhook.h"

enum {
    THREADS = 8,
    LEASE_S = 25, /* longer than one sending takes, its look-up with it */
    SEND_S = 10,
    CONNECT_S = 5,
    FIRST_S = 5, /* until the second try; then twice as long each, at most */
    LATE_MOST_S = 3 * 3600,
    GIVE_UP_S = 3 * 86400,
    LOOK_MS = 1000,
    REST_MOST_MS = 300000,
    RESTS_MOST = 1000,   /* deliveries that are put off at once, so that claims need not pass them */
    ANSWER_MOST = 16384, /* bytes of a receiver's answer that are waited for */
    ANSWER_KEPT = 1024,  /* of these the first ones, for usage_known */
    GONE = 410           /* a receiver's word that it wants no more */
};
_Static_assert(LEASE_S > SEND_S + CONNECT_S, "nobody else sends what is being sent");
_Static_assert(FIRST_S < LATE_MOST_S && LATE_MOST_S < GIVE_UP_S, "later tries come, and end");

struct sender {
    keys *keys;
    pthread_t thread[THREADS];
    size_t threads;
    atomic_bool stop;
    atomic_uint found;      /* deliveries that were claimed: idle threads look when it has grown, */
    _Atomic int64_t looked; /* or none has looked since */
};

typedef struct {
    char org[TAB_ID], webhook[TAB_ID], notice[TAB_ID];
    int64_t position, tries, since_us;
    const char *url;
    bool usage; /* its body has a form of usage_forms.h */
    usage_form form;
    bool has_token;
    tab_str secret, old, token, body; /* old: "" where none signs beside it; body.p NULL: there is none */
} claimed;

/* What a receiver made of it. */
typedef struct {
    long status;
    const char *why; /* "": it was taken */
    int64_t took_ms;
} outcome;

/* ---- claim ----------------------------------------------------------------------------------- */

/* A receiver w that may be sent to, and a delivery d that is the first of its subject. */
#define FREE                                                                                            \
    "w.disabled IS NULL AND w.busy < now() AND w.rests < now() AND (SELECT count(*) FROM keys.webhook " \
    "b WHERE b.org = w.org AND b.busy >= now()) < $2"
#define FIRST                                                                                        \
    "NOT EXISTS (SELECT FROM keys.webhook_delivery o WHERE o.org = d.org AND o.webhook = d.webhook " \
    "AND o.subject = d.subject AND o.open AND o.position < d.position)"
#define TAKEN                                                                                         \
    ", mine AS (UPDATE keys.webhook w SET busy = now() + $1 * interval '1 second' FROM turn WHERE "   \
    "w.org = turn.org AND w.id = turn.webhook RETURNING w.org, w.id, w.url, w.secret, CASE WHEN "     \
    "w.old_until > now() THEN w.old_secret END AS old, w.token, w.usage_format, w.customer, "         \
    "w.meter), taken AS (UPDATE keys.webhook_delivery d SET "                                         \
    "tries = d.tries + 1, due = now() + $1 * interval '1 second' FROM turn WHERE d.org = turn.org "   \
    "AND d.position = turn.position AND d.open RETURNING d.*) SELECT t.org, t.webhook, t.notice, "    \
    "t.position, t.tries, t.since, m.url, m.secret, m.old, t.kind, t.subject, coalesce(n.text, ''), " \
    "coalesce(n.data, '{}'), coalesce(n.at, t.created), t.from_seq, t.to_seq, u.events, "             \
    "m.token, m.usage_format = 'stripe', m.customer, m.meter FROM taken t "                           \
    "LEFT JOIN keys.usage_batch u ON u.org = t.org AND u.id = t.notice JOIN mine m "                  \
    "ON m.org = t.org AND m.id = t.webhook LEFT JOIN keys.notification n ON n.org = t.org AND "       \
    "n.id = t.notice"

/* Nearly always one of those that are due longest can go. Where all of them wait for receivers that are busy
 * or rest, each other receiver is asked for what is due to it: what a claim reads grows with the receivers
 * that have something open, never with how much it is. */
static const char *const claims[] = {
    "WITH turn AS (SELECT d.org, d.position, d.webhook FROM (SELECT * FROM keys.webhook_delivery WHERE "
    "open AND due <= now() ORDER BY due LIMIT 200) d JOIN keys.webhook w ON w.org = d.org AND w.id = "
    "d.webhook WHERE " FREE " AND " FIRST " ORDER BY d.due LIMIT 1 FOR NO KEY UPDATE OF w SKIP LOCKED)" TAKEN,
    "WITH RECURSIVE waits AS ((SELECT org, webhook FROM keys.webhook_delivery WHERE open ORDER BY org, "
    "webhook LIMIT 1) UNION ALL SELECT n.org, n.webhook FROM waits x CROSS JOIN LATERAL (SELECT org, "
    "webhook FROM keys.webhook_delivery WHERE open AND (org, webhook) > (x.org, x.webhook) ORDER BY org, "
    "webhook LIMIT 1) n), turn AS (SELECT d.org, d.position, d.webhook FROM waits JOIN keys.webhook w ON "
    "w.org = waits.org AND w.id = waits.webhook CROSS JOIN LATERAL (SELECT * FROM (SELECT * FROM "
    "keys.webhook_delivery WHERE org = waits.org AND webhook = waits.webhook AND open AND due <= now() "
    "ORDER BY due LIMIT 1000) d WHERE " FIRST " ORDER BY d.due LIMIT 1) d WHERE " FREE
    " ORDER BY d.due LIMIT 1 FOR NO KEY UPDATE OF w SKIP LOCKED)" TAKEN,
};

/* Entries of the audit log, as GET /platform/v1/audit has them, with what links them. */
static tab_status write_entries(tab_tx *tx, const tab_rows *r, tab_out *o, tab_error *err)
{
    static const char *const name[] = { "id",     "actor",      "action",  "object",
                                        "detail", "request_id", "address", "hash" };
    enum { NAMES = sizeof name / sizeof *name };
    TAB_AUTO(tab_rows) *e = NULL;
    TAB_TRY(tab_tx_query(tx, &e, err,
                         "SELECT event_id, actor, action, object, detail, request_id, address, "
                         "encode(hash, 'hex'), at, seq FROM keys.audit WHERE org = $1 "
                         "AND seq BETWEEN $2 AND $3 ORDER BY seq LIMIT 1000",
                         TAB_P(tab_p_text(tab_rows_text(r, 0, 0)), tab_p_int(tab_rows_int(r, 0, 14)),
                               tab_p_int(tab_rows_int(r, 0, 15)))));
    tab_out_open(o, '{');
    tab_out_key(o, "entries");
    tab_out_open(o, '[');
    for (size_t i = 0; i < tab_rows_count(e); i++) {
        char at[TAB_TIME_TEXT];
        tab_time_text(tab_rows_time(e, i, NAMES), at);
        tab_out_open(o, '{');
        tab_out_key(o, "seq");
        tab_out_int(o, tab_rows_int(e, i, NAMES + 1));
        tab_out_key(o, "at");
        tab_out_cstr(o, at);
        for (size_t k = 0; k < NAMES; k++) {
            tab_out_key(o, name[k]);
            tab_out_str(o, tab_rows_str(e, i, k));
        }
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    return TAB_OK;
}

/* The same bytes at each try. */
static tab_status write_body(tab_tx *tx, tab_arena *a, const tab_rows *r, tab_str *ret, tab_error *err)
{
    char at[TAB_TIME_TEXT];
    bool log = !tab_rows_null(r, 0, 14);
    const char *text = log ? tab_arena_printf(a, "Entries %s to %s of the audit log.",
                                              tab_rows_text(r, 0, 14), tab_rows_text(r, 0, 15))
                           : tab_rows_text(r, 0, 11);
    const char *const member[] = { "organization", tab_rows_text(r, 0, 0),  "id",   tab_rows_text(r, 0, 2),
                                   "subject",      tab_rows_text(r, 0, 10), "text", text };
    tab_out o = { 0 };
    tab_status s = TAB_OK;
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
    if (log)
        s = write_entries(tx, r, &o, err);
    else
        tab_out_raw(&o, tab_rows_str(r, 0, 12));
    tab_out_close(&o, '}');
    *ret = tab_arena_copy(a, tab_out_text(&o));
    bool failed = o.failed || ret->p == NULL;
    tab_out_free(&o);
    return s == TAB_OK && failed ? tab_no_memory(err) : s;
}

/* "" where there is none, or where it cannot be opened: one such receiver keeps no other one waiting. */
static tab_str opened(const keys *k, tab_arena *a, tab_str context, const tab_rows *r, size_t col)
{
    tab_str secret;
    tab_error err;
    if (k->kek == NULL || tab_rows_null(r, 0, col) ||
        tab_unseal(k->kek, a, tab_rows_bytes(r, 0, col, a), context, &secret, &err) != TAB_OK)
        return TAB_S("");
    return secret;
}

static void read_secrets(const keys *k, tab_arena *a, const tab_rows *r, claimed *c)
{
    tab_str context = webhook_context(a, c->org, c->webhook);
    c->secret = opened(k, a, context, r, 7);
    c->old = opened(k, a, context, r, 8);
    c->has_token = !tab_rows_null(r, 0, 17);
    c->token = opened(k, a, webhook_token_context(a, c->org, c->webhook), r, 17);
}

/* *ret_any false: nothing is due. */
static tab_status claim(const keys *k, tab_arena *a, claimed *ret, bool *ret_any, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    *ret_any = false;
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    /* one after the other: of claims at once none would see the others' leases */
    TAB_TRY(
        tab_tx_query(tx, NULL, err, "SELECT pg_advisory_xact_lock(hashtext('keys.webhook'))", TAB_P_NONE));
    for (size_t i = 0; i < sizeof claims / sizeof *claims && (r == NULL || tab_rows_count(r) == 0); i++) {
        tab_rows_free(r);
        r = NULL;
        TAB_TRY(tab_tx_query(tx, &r, err, claims[i], TAB_P(tab_p_int(LEASE_S), tab_p_int(THREADS / 2))));
    }
    if (tab_rows_count(r) == 0)
        return tab_tx_commit(&tx, err);
    snprintf(ret->org, sizeof ret->org, "%s", tab_rows_text(r, 0, 0));
    snprintf(ret->webhook, sizeof ret->webhook, "%s", tab_rows_text(r, 0, 1));
    snprintf(ret->notice, sizeof ret->notice, "%s", tab_rows_text(r, 0, 2));
    ret->position = tab_rows_int(r, 0, 3);
    ret->tries = tab_rows_int(r, 0, 4);
    ret->since_us = tab_rows_time(r, 0, 5);
    ret->url = tab_arena_copy(a, tab_rows_str(r, 0, 6)).p;
    read_secrets(k, a, r, ret);
    ret->usage = strcmp(tab_rows_text(r, 0, 9), "usage.events") == 0;
    ret->form = (usage_form){ tab_rows_bool(r, 0, 18), tab_arena_copy(a, tab_rows_str(r, 0, 19)).p,
                              tab_arena_copy(a, tab_rows_str(r, 0, 20)).p };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    if (ret->usage)
        ret->body = usage_body(a, &ret->form, ret->org, ret->notice, tab_rows_str(r, 0, 16));
    else
        TAB_TRY(write_body(tx, a, r, &ret->body, err));
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

/* What a receiver answers beside its status: so much is waited for, and its beginning kept. */
typedef struct {
    size_t seen, kept;
    char head[ANSWER_KEPT];
} answer;

static size_t answered(char *p, size_t size, size_t n, void *arg)
{
    answer *a = arg;
    size_t keeps = size * n < sizeof a->head - a->kept ? size * n : sizeof a->head - a->kept;
    memcpy(a->head + a->kept, p, keeps);
    a->kept += keeps;
    a->seen += size * n;
    return a->seen > ANSWER_MOST ? 0 : size * n;
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
    char id[WEBHOOK_HEADER], at[WEBHOOK_HEADER], signature[WEBHOOK_HEADER], token[WEBHOOK_TOKEN + 32];
    char one[WEBHOOK_SECRET], two[WEBHOOK_SECRET] = "";
    int64_t now = tab_now_us() / 1000000;
    if (!webhook_sign(c->secret, c->notice, now, c->body, one) ||
        (c->old.n > 0 && !webhook_sign(c->old, c->notice, now, c->body, two)))
        return NULL;
    snprintf(id, sizeof id, "webhook-id: %s", c->notice);
    snprintf(at, sizeof at, "webhook-timestamp: %lld", (long long)now);
    snprintf(signature, sizeof signature, "webhook-signature: %s%s%s", one, two[0] != 0 ? " " : "", two);
    snprintf(token, sizeof token, "Authorization: Bearer %.*s", TAB_STR(c->token));
    struct curl_slist *list = NULL;
    const char *const all[] = { c->usage ? usage_content_type(&c->form) : "Content-Type: application/json",
                                "Expect:",
                                id,
                                at,
                                signature,
                                token };
    const size_t n = sizeof all / sizeof *all - !c->has_token;
    for (size_t i = 0; i < n; i++) {
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
                    const struct curl_slist *resolve, answer *said)
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
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, answered);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, said);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)SEND_S);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stopped);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, s);
}

/* The receiver's status counts once it has said it, whatever it goes on to say. */
static outcome judged(CURLcode code, long status, const answer *a, const claimed *c)
{
    bool said = code == CURLE_OK || (code == CURLE_WRITE_ERROR && a->seen > ANSWER_MOST);
    if (!said)
        return (outcome){ .status = status,
                          .why = code == CURLE_COULDNT_CONNECT            ? "no connection"
                                 : code == CURLE_OPERATION_TIMEDOUT       ? "no answer in time"
                                 : code == CURLE_PEER_FAILED_VERIFICATION ? "its certificate does not hold"
                                                                          : "the connection failed" };
    if ((status >= 200 && status < 300) ||
        (c->usage && usage_known(&c->form, status, (tab_str){ a->head, a->kept })))
        return (outcome){ .status = status, .why = "" };
    bool moved = status >= 300 && status < 400;
    return (outcome){ .status = status, .why = moved ? "a redirect, which is not followed" : "not taken" };
}

static outcome send_one(sender *s, tab_arena *a, const claimed *c)
{
    webhook_target to;
    tab_error err;
    answer said = { 0 };
    outcome o = { .why = "the connection failed" };
    if (c->secret.n == 0)
        return (outcome){ .why = "its secret cannot be opened: see TAB_KEK" };
    if (c->has_token && c->token.n == 0)
        return (outcome){ .why = "its token cannot be opened: see TAB_KEK" };
    if (c->body.p == NULL)
        return (outcome){ .why = "what it is to get is no longer stored" };
    if (webhook_resolve(a, c->url, s->keys->allow, &to, &err) != TAB_OK)
        return (outcome){ .why = "its address is not allowed, or there is none" };
    const char *pin = tab_arena_printf(a, strchr(to.address, ':') != NULL ? "%s:%u:[%s]" : "%s:%u:%s",
                                       to.host, (unsigned)to.port, to.address);
    struct curl_slist *headers = headers_of(c), *resolve = pin == NULL ? NULL : curl_slist_append(NULL, pin);
    CURL *curl = curl_easy_init();
    if (curl != NULL && headers != NULL && resolve != NULL) {
        long status = 0;
        options(curl, s, c, headers, resolve, &said);
        CURLcode code = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        o = judged(code, status, &said, c);
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    curl_slist_free_all(resolve);
    return o;
}

/* ---- settle ---------------------------------------------------------------------------------- */

/* The receiver is free, or rests; then what is due before waits with it. */
static tab_status release(tab_tx *tx, const claimed *c, const outcome *o, tab_error *err)
{
    if (o->why[0] == 0)
        return tab_tx_query(tx, NULL, err,
                            "UPDATE keys.webhook SET busy = '-infinity', rests = '-infinity', fails = 0 "
                            "WHERE org = $1 AND id = $2",
                            TAB_P(tab_p_text(c->org), tab_p_text(c->webhook)));
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.webhook SET busy = '-infinity', fails = fails + 1, rests = now() + "
        "least($3, $4 * power(2, least(fails, 20))) * interval '1 millisecond' WHERE org = $1 AND id = $2",
        TAB_P(tab_p_text(c->org), tab_p_text(c->webhook), tab_p_int(REST_MOST_MS), tab_p_int(o->took_ms))));
    return tab_tx_query(
        tx, NULL, err,
        "UPDATE keys.webhook_delivery d SET due = w.rests FROM keys.webhook w WHERE w.org = $1 AND w.id = $2 "
        "AND d.org = $1 AND d.position = ANY(ARRAY(SELECT n.position FROM keys.webhook_delivery n WHERE "
        "n.org = $1 AND n.webhook = $2 AND n.open AND n.due < w.rests ORDER BY n.due LIMIT $3))",
        TAB_P(tab_p_text(c->org), tab_p_text(c->webhook), tab_p_int(RESTS_MOST)));
}

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
    TAB_TRY(release(tx, c, o, err));
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
    int64_t began = tab_mono_ms();
    outcome o = send_one(s, a, &c);
    o.took_ms = tab_mono_ms() - began;
    if (o.why[0] != 0 && atomic_load(&s->stop))
        return false; /* not the receiver's fault: due again after the lease */
    return settle(s->keys, &c, &o, &err) == TAB_OK;
}

/* Whether an idle thread is to look: others have found some, or none has looked for a while. Whichever comes
 * first does, for any of them may be at a receiver that hangs. */
static bool looks(sender *s, unsigned seen)
{
    int64_t at = atomic_load(&s->looked), now = tab_mono_ms();
    return seen != atomic_load(&s->found) ||
           (now - at >= LOOK_MS && atomic_compare_exchange_strong(&s->looked, &at, now));
}

static void *run(void *arg)
{
    sender *s = arg;
    while (!atomic_load(&s->stop)) {
        while (one(s) && !atomic_load(&s->stop))
            ;
        unsigned seen = atomic_load(&s->found);
        while (!atomic_load(&s->stop) && !looks(s, seen))
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
    for (; s->threads < THREADS; s->threads++)
        if (pthread_create(&s->thread[s->threads], NULL, run, s) != 0) {
            sender_close(s);
            return NULL;
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
