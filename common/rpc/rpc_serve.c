/* The serving side of common/rpc/rpc.h: calls wait by organization (common/rpc/fair_queue.h) between NATS'
 * thread and the workers.
 *
 *   NATS' thread: job into its organization's queue, or UNAVAILABLE when it is full
 *   worker:       pulls the body where it is streamed, unpacks, fn, answers
 *   timer:        cancels what is past its deadline, tells waiting callers each second that work goes on */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/config.h"
#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/rpc/rpc_internal.h"
#include "common/run/trace.h"

enum { TIME_BEFORE = 30000 }; /* milliseconds, for a caller that names none */
enum { INNER = 2 };           /* threads that inner calls always find, though all others wait on such */

enum { LIGHT, HEAVY }; /* lanes */

struct rpc_job {
    tab_turn turn; /* first: a turn is its job */
    rpc_job *next;
    bool runs;
    natsMsg *msg;
    uint64_t id;
    tab_deadline deadline;
    int64_t beat, came_us;
    const char *slot; /* the word of its slots, in msg; NULL: it holds none */
    unsigned long slot_calls;
    atomic_bool cancel;
    bool gone;           /* the caller: nobody is answered */
    atomic_bool stopped; /* cancelled because this process ends, not by its caller */
    rpc_pull pull;
    int pulled; /* 0 under way, 1 here, -1 lost */
    tab_rpc *rpc;
};

void tab_rpc_limits(tab_rpc *rpc, int64_t threads, int64_t queue, size_t arena_most)
{
    rpc->threads = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    rpc->queue_most = queue < 1 ? 64 * rpc->threads : queue;
    rpc->arena_most = arena_most == 0 ? rpc->arena_most : arena_most;
}

void tab_rpc_heavy(tab_rpc *rpc, int64_t places, const char *const *methods)
{
    rpc->heavy_places = places < 1 ? 1 : places;
    rpc->heavy = methods;
}

/* ---- answering ------------------------------------------------------------------------------- */

static void answer(tab_rpc *rpc, const char *to, const char *body, size_t n, tab_status s,
                   const tab_error *err, int64_t packed, const char *stream, size_t stream_bytes)
{
    natsMsg *m = NULL;
    char number[32];
    if (to == NULL || natsMsg_Create(&m, to, NULL, body, (int)n) != NATS_OK)
        return;
    if (s != TAB_OK) {
        snprintf(number, sizeof number, "%d", (int)s);
        natsMsgHeader_Set(m, H_STATUS, number);
        if (err->param[0] != 0)
            natsMsgHeader_Set(m, H_PARAM, err->param);
        natsMsgHeader_Set(m, H_MESSAGE, err->message[0] == 0 ? "an internal error" : err->message);
    }
    if (packed >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)packed);
        natsMsgHeader_Set(m, H_TABLES, number);
    }
    if (stream != NULL) {
        natsMsgHeader_Set(m, H_STREAM, stream);
        snprintf(number, sizeof number, "%zu", stream_bytes);
        natsMsgHeader_Set(m, H_BYTES, number);
    }
    rpc_publish(rpc, m);
}

/* A header is one line of printable text: what a message quotes from a caller may not be. */
static void one_line(char *s)
{
    for (; *s != 0; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            *s = ' ';
}

static tab_status stops(tab_error *err)
{
    return tab_fail(err, TAB_UNAVAILABLE, RPC_STOPPED, "the service is shutting down; try again");
}

/* Versions stand side by side during an update: the message is nobody's fault, and another worker may read
 * it. */
static tab_status unread(natsMsg *m, tab_error *err)
{
    tab_log_fields(TAB_WARN, "a message of another build cannot be read", "subject", natsMsg_GetSubject(m),
                   "sender", rpc_header(m, H_BUILD), "own", TAB_VERSION, NULL);
    return tab_fail(err, TAB_UNAVAILABLE, RPC_UNREAD, "an upgrade is in progress; try again");
}

static void refuse(tab_rpc *rpc, natsMsg *m, tab_status s, const char *why)
{
    tab_error err;
    tab_fail(&err, s, NULL, "%s", why);
    answer(rpc, natsMsg_GetReply(m), NULL, 0, s, &err, -1, NULL, 0);
}

/* Takes the call's arena when it gives true: the body is then held for its receiver. */
static bool answer_ok(tab_rpc *rpc, rpc_job *j, tab_call *call, tab_error *err, tab_status *ret)
{
    const char *to = natsMsg_GetReply(j->msg);
    rpc_body body;
    *ret = rpc_body_make(call->arena, call->out, call->out_tables, call->n_out_tables, &body, err);
    if (*ret != TAB_OK)
        return false;
    if (body.bytes <= RPC_INLINE) {
        char *bytes = tab_arena_alloc(call->arena, body.bytes + 1, 1);
        if (bytes == NULL) {
            *ret = tab_no_memory(err);
        } else {
            rpc_body_copy(&body, 0, body.bytes, bytes);
            answer(rpc, to, bytes, body.bytes, TAB_OK, NULL, body.packed, NULL, 0);
        }
        free(body.head);
        return false;
    }
    rpc_kept_body *h = rpc_kept_body_new(rpc, &body, call->arena, call->deadline);
    if (h == NULL) {
        free(body.head);
        *ret = tab_no_memory(err);
        return false;
    }
    char subject[128];
    rpc_kept_body_subject(rpc, h, subject);
    /* h may end at once: its receiver is quick; body is a copy of its sizes */
    answer(rpc, to, NULL, 0, TAB_OK, NULL, body.packed, subject, body.bytes);
    return true;
}

/* ---- working --------------------------------------------------------------------------------- */

static void pull_ended(void *owner, bool ok)
{
    rpc_job *j = owner;
    j->pulled = ok ? 1 : -1;
    pthread_cond_broadcast(&j->rpc->changed);
}

static tab_status fetch(tab_rpc *rpc, rpc_job *j, tab_arena *a, tab_str *ret, tab_error *err)
{
    const char *holder = rpc_header(j->msg, H_STREAM);
    size_t n = holder[0] == 0 ? (size_t)natsMsg_GetDataLength(j->msg)
                              : (size_t)rpc_header_int(j->msg, H_BYTES, RPC_BODY_MOST, 0);
    if (holder[0] != 0 && n == 0)
        return tab_fail(err, TAB_VALIDATION, NULL, "a message is damaged");
    char *buf = n > rpc->arena_most ? NULL : tab_arena_alloc(a, n + 1, 1);
    if (buf == NULL)
        return tab_fail(err, TAB_VALIDATION, "body", "the request is too large");
    *ret = (tab_str){ buf, n };
    if (holder[0] == 0) {
        memcpy(buf, natsMsg_GetData(j->msg), n);
        return TAB_OK;
    }
    j->pull = (rpc_pull){ .buf = buf, .bytes = n, .ended = pull_ended, .owner = j };
    snprintf(j->pull.holder, sizeof j->pull.holder, "%s", holder);
    pthread_mutex_lock(&rpc->lock);
    rpc_pull_start(rpc, &j->pull);
    while (j->pulled == 0 && !atomic_load(&j->cancel))
        pthread_cond_wait(&rpc->changed, &rpc->lock);
    rpc_pull_stop(rpc, &j->pull);
    int pulled = j->pulled;
    pthread_mutex_unlock(&rpc->lock);
    return pulled == 1   ? TAB_OK
           : pulled == 0 ? tab_fail(err, TAB_CANCELLED, NULL, "the deadline has passed")
                         : tab_fail(err, TAB_UNAVAILABLE, NULL, "a request was lost on the way; try again");
}

static const tab_rpc_method *method_of(const tab_rpc *rpc, const char *subject)
{
    const char *dot = strrchr(subject, '.');
    const char *name = dot == NULL ? subject : dot + 1;
    const tab_rpc_method *m = rpc->methods;
    while (m->name != NULL && strcmp(m->name, name) != 0)
        m++;
    if (m->name != NULL)
        return m;
    return rpc->also != NULL && strcmp(rpc->also->name, name) == 0 ? rpc->also : NULL;
}

struct rpc_method_metrics {
    tab_metric *ok, *seconds;
};

static tab_metric *counter(const char *method, tab_status s)
{
    char labels[128];
    snprintf(labels, sizeof labels, "method=\"%s\",status=\"%s\"", method, tab_status_name(s));
    return tab_counter("tabella_rpc_requests_total", "Calls served", labels);
}

static void count(tab_rpc *rpc, const tab_rpc_method *m, tab_status s, int64_t from_us)
{
    rpc_method_metrics *x = &rpc->metrics[m == rpc->also ? rpc->n_methods : m - rpc->methods];
    tab_metric_add(s == TAB_OK ? x->ok : counter(m->name, s), 1);
    tab_metric_observe(x->seconds, (double)(tab_mono_us() - from_us) * 1e-6);
}

static bool prepare_metrics(tab_rpc *rpc)
{
    ptrdiff_t n = 0;
    while (rpc->methods[n].name != NULL)
        n++;
    rpc->n_methods = n;
    rpc->metrics = calloc((size_t)n + 1, sizeof *rpc->metrics);
    rpc->waiting = tab_gauge("tabella_rpc_waiting", "Calls that wait for a worker", NULL);
    rpc->waited = tab_histogram("tabella_rpc_queue_wait_seconds", "From a call's arrival to a worker", NULL);
    rpc->full = tab_counter("tabella_rpc_refused_total", "Calls refused: too many wait, or hold slots", NULL);
    for (ptrdiff_t i = 0; i < n + (rpc->also != NULL) && rpc->metrics != NULL; i++) {
        const char *name = i == n ? rpc->also->name : rpc->methods[i].name;
        char labels[128];
        snprintf(labels, sizeof labels, "method=\"%s\"", name);
        rpc->metrics[i].ok = counter(name, TAB_OK);
        rpc->metrics[i].seconds =
            tab_histogram("tabella_rpc_duration_seconds", "Duration of calls served", labels);
    }
    return rpc->metrics != NULL;
}

static void beat(tab_rpc *rpc, rpc_job *j, int64_t now);

/* A value that is no number of milliseconds, or more than a day, counts as none. */
static int64_t time_left(natsMsg *m)
{
    return rpc_header_int(m, H_TIME, RPC_TIME_MOST, TIME_BEFORE);
}

/* Tells the caller that this worker has begun, so that a death of the worker is not taken for its absence. */
static void say_begun(tab_rpc *rpc, rpc_job *j)
{
    if (rpc_header(j->msg, H_BEGUN)[0] == 0)
        return;
    pthread_mutex_lock(&rpc->lock);
    beat(rpc, j, tab_mono_ms());
    pthread_mutex_unlock(&rpc->lock);
    (void)natsConnection_FlushTimeout(rpc->nc, 200);
}

/* Before the answer leaves: its caller may call again at once. */
static void leave_slot(tab_rpc *rpc, rpc_job *j)
{
    if (j->slot == NULL)
        return;
    pthread_mutex_lock(&rpc->lock);
    j->slot = NULL;
    pthread_mutex_unlock(&rpc->lock);
}

static void work_off(tab_rpc *rpc, rpc_job *j)
{
    int64_t from = tab_mono_us();
    say_begun(rpc, j);
    const tab_rpc_method *m = method_of(rpc, natsMsg_GetSubject(j->msg));
    tab_error err = { 0 };
    if (m == NULL) {
        answer(rpc, natsMsg_GetReply(j->msg), NULL, 0, unread(j->msg, &err), &err, -1, NULL, 0);
        return;
    }
    tab_status s;
    tab_arena *a = tab_arena_new(rpc->arena_most);
    tab_call call = { .method = m->name,
                      .org = rpc_header(j->msg, H_ORG),
                      .request_id = rpc_header(j->msg, H_REQUEST),
                      .actor = rpc_header(j->msg, H_ACTOR),
                      .address = rpc_header(j->msg, H_ADDRESS),
                      .deadline = j->deadline,
                      .cancel = &j->cancel,
                      .arena = a,
                      .rpc = rpc };
    tab_log_context(call.request_id, call.org);
    tab_span span = tab_span_begin(rpc_header(j->msg, H_TRACE));
    tab_str bytes;
    if (a == NULL || (call.out = tab_arena_alloc(a, 1, m->out->sizeof_message)) == NULL)
        s = tab_no_memory(&err);
    else if (atomic_load(&j->stopped))
        s = stops(&err);
    else if (tab_left_ms(j->deadline, 1) == 0)
        s = tab_fail(&err, TAB_CANCELLED, NULL, "the deadline has passed");
    else if ((s = fetch(rpc, j, a, &bytes, &err)) == TAB_OK) {
        m->out->message_init(call.out);
        s = rpc_body_read(a, bytes, rpc_header_int(j->msg, H_TABLES, RPC_BODY_MOST, -1), m->in, &call.in,
                          &call.tables, &call.n_tables, &err);
        if (s == TAB_VALIDATION)
            s = unread(j->msg, &err);
        if (s == TAB_OK)
            s = m->fn(m == rpc->also ? rpc->also_self : rpc->self, &call, &err);
    }
    if (s == TAB_CANCELLED && atomic_load(&j->stopped))
        s = stops(&err);
    leave_slot(rpc, j);
    bool held = s == TAB_OK && answer_ok(rpc, j, &call, &err, &s);
    if (s != TAB_OK) {
        one_line(err.param);
        one_line(err.message);
        answer(rpc, natsMsg_GetReply(j->msg), NULL, 0, s, &err, -1, NULL, 0);
    }
    count(rpc, m, s, from);
    if (span.context[0] != 0) {
        char waited[24];
        snprintf(waited, sizeof waited, "%.1f", (double)(from - j->came_us) / 1e3);
        tab_span_end(&span, m->name, tab_status_http(s) >= 500, "tabella.request_id", call.request_id,
                     "tabella.org", call.org, "tabella.status", tab_status_name(s), "tabella.waited_ms",
                     waited, NULL);
        tab_span_leave();
    }
    tab_log_context(NULL, NULL);
    if (!held)
        tab_arena_free(a);
}

static void unlist(tab_rpc *rpc, rpc_job *j)
{
    for (rpc_job **at = &rpc->jobs; *at != NULL; at = &(*at)->next)
        if (*at == j) {
            *at = j->next;
            break;
        }
    tab_fair_queue_end(rpc->turns, &j->turn);
    pthread_cond_broadcast(&rpc->changed);
}

static void *worker(void *arg)
{
    tab_rpc *rpc = arg;
    pthread_mutex_lock(&rpc->lock);
    for (;;) {
        tab_turn *turn = NULL;
        while ((turn = tab_fair_queue_take(rpc->turns)) == NULL && !rpc->over)
            pthread_cond_wait(&rpc->work, &rpc->lock);
        if (turn == NULL)
            break;
        rpc_job *j = (rpc_job *)(void *)turn;
        j->runs = true;
        rpc->n_waiting--;
        tab_metric_set(rpc->waiting, (double)rpc->n_waiting);
        tab_metric_observe(rpc->waited, (double)(tab_mono_us() - j->came_us) * 1e-6);
        if (tab_fair_queue_any(rpc->turns)) /* an end may let more than one start */
            pthread_cond_signal(&rpc->work);
        pthread_mutex_unlock(&rpc->lock);
        work_off(rpc, j);
        pthread_mutex_lock(&rpc->lock);
        unlist(rpc, j);
        rpc_msg_end(rpc, j->msg);
        free(j);
    }
    pthread_mutex_unlock(&rpc->lock);
    return NULL;
}

/* ---- what comes in --------------------------------------------------------------------------- */

/* Whether the call's word has free slots; takes them. The lock is held. */
static bool take_slot(tab_rpc *rpc, rpc_job *j)
{
    const char *most_at = rpc_header(j->msg, H_SLOT), *n_at = strchr(most_at, ' '),
               *word = n_at == NULL ? NULL : strchr(n_at + 1, ' ');
    int64_t most, calls;
    if (word == NULL ||
        !tab_integer_read((tab_str){ most_at, (size_t)(n_at - most_at) }, 1, UINT32_MAX, &most) ||
        !tab_integer_read((tab_str){ n_at + 1, (size_t)(word - n_at - 1) }, 0, UINT32_MAX, &calls))
        return true;
    word++;
    j->slot_calls = (unsigned long)calls;
    uint64_t n = j->slot_calls;
    for (const rpc_job *o = rpc->jobs; o != NULL; o = o->next)
        n += o->slot != NULL && strcmp(o->slot, word) == 0 ? o->slot_calls : 0;
    if (n <= (uint64_t)most)
        j->slot = word;
    return n <= (uint64_t)most;
}

static bool wait_for_turn(tab_rpc *rpc, rpc_job *j)
{
    const char *org = rpc_header(j->msg, H_ORG), *dot = strrchr(natsMsg_GetSubject(j->msg), '.');
    size_t lane = LIGHT;
    for (const char *const *m = rpc->heavy; m != NULL && *m != NULL; m++)
        if (dot != NULL && strcmp(*m, dot + 1) == 0)
            lane = HEAVY;
    bool fits = rpc_header(j->msg, H_INNER)[0] != 0
                    ? tab_fair_queue_put_unbound(rpc->turns, lane, org, &j->turn)
                    : tab_fair_queue_put(rpc->turns, lane, org, &j->turn);
    if (fits) {
        j->next = rpc->jobs;
        rpc->jobs = j;
        rpc->n_waiting++;
        tab_metric_set(rpc->waiting, (double)rpc->n_waiting);
    }
    return fits;
}

/* Ends waiting calls that nobody wants any more: they only need an answer. The lock is held. */
static void cancel(tab_rpc *rpc, rpc_job *j)
{
    if (atomic_exchange(&j->cancel, true))
        return;
    if (!j->runs) {
        tab_fair_queue_hurry(rpc->turns, &j->turn);
        pthread_cond_signal(&rpc->work);
    }
    pthread_cond_broadcast(&rpc->changed);
}

static void asked(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    rpc_job *j = calloc(1, sizeof *j);
    bool room = true, over = false;
    if (j != NULL) {
        j->rpc = rpc;
        j->msg = m;
        j->beat = tab_mono_ms();
        j->came_us = tab_mono_us();
        j->deadline = tab_in_ms(time_left(m));
        pthread_mutex_lock(&rpc->lock);
        j->id = rpc_new_id(rpc);
        over = rpc->over;
        room = over || take_slot(rpc, j);
        if (room && !over && wait_for_turn(rpc, j)) {
            rpc_watch(rpc, j->deadline);
            m = NULL;
        }
        pthread_mutex_unlock(&rpc->lock);
        if (m == NULL) {
            pthread_cond_signal(&rpc->work); /* outside the lock, which it would run into */
            return;
        }
    }
    tab_error err;
    if (!over)
        tab_metric_add(rpc->full, 1);
    if (over)
        answer(rpc, natsMsg_GetReply(m), NULL, 0, stops(&err), &err, -1, NULL, 0);
    else if (room)
        refuse(rpc, m, TAB_UNAVAILABLE, "the service is busy; try again");
    else
        refuse(rpc, m, TAB_RATE_LIMIT, "the maximum number of concurrent calls is reached");
    rpc_msg_end(rpc, m);
    free(j);
}

/* Whether the call that a ping asks about waits or runs here. The subjects of their answers differ in one
 * letter (tab_rpc.inbox). */
static bool at_work(tab_rpc *rpc, const char *ping)
{
    const char *dot = strrchr(ping, '.');
    size_t at = dot == NULL ? 0 : (size_t)(dot - ping);
    bool here = at == 0 || ping[at - 1] != 'b';
    pthread_mutex_lock(&rpc->lock);
    for (rpc_job *j = rpc->jobs; j != NULL && !here; j = j->next) {
        const char *call = natsMsg_GetReply(j->msg);
        here = call != NULL && strlen(call) == strlen(ping) && memcmp(call, ping, at - 1) == 0 &&
               strcmp(call + at, dot) == 0;
    }
    pthread_mutex_unlock(&rpc->lock);
    return here;
}

/* Calls of this very worker; and pings, which it answers to its end. */
static void asked_here(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    tab_rpc *rpc = arg;
    tab_error err;
    const char *method = strrchr(natsMsg_GetSubject(m), '.');
    bool ping = method != NULL && strcmp(method + 1, RPC_PING) == 0;
    if (!ping && !atomic_load(&rpc->draining)) {
        asked(nc, sub, m, arg);
        return;
    }
    if (!ping)
        answer(rpc, natsMsg_GetReply(m), NULL, 0, stops(&err), &err, -1, NULL, 0);
    else if (natsMsg_GetReply(m) != NULL)
        natsConnection_PublishString(rpc->nc, natsMsg_GetReply(m),
                                     at_work(rpc, natsMsg_GetReply(m)) ? "" : RPC_NOT_HERE);
    rpc_msg_end(rpc, m);
}

/* A caller went away: its reply's subject is the message. */
static void caller_gone(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    const char *who = natsMsg_GetData(m);
    size_t n = (size_t)natsMsg_GetDataLength(m);
    pthread_mutex_lock(&rpc->lock);
    for (rpc_job *j = rpc->jobs; j != NULL; j = j->next) {
        const char *reply = natsMsg_GetReply(j->msg);
        if (reply != NULL && strlen(reply) == n && memcmp(reply, who, n) == 0) {
            j->gone = true;
            cancel(rpc, j);
        }
    }
    pthread_mutex_unlock(&rpc->lock);
    rpc_msg_end(rpc, m);
}

/* Nobody listens to the caller's inbox any more: it died, or it lost its connection and gave up its calls. */
void rpc_beat_unheard(tab_rpc *rpc, uint64_t id)
{
    for (rpc_job *j = rpc->jobs; j != NULL; j = j->next)
        if (j->id == id) {
            j->gone = true;
            cancel(rpc, j);
        }
}

static void beat(tab_rpc *rpc, rpc_job *j, int64_t now)
{
    natsMsg *m = NULL;
    const char *to = natsMsg_GetReply(j->msg);
    char unheard[128];
    j->beat = now;
    snprintf(unheard, sizeof unheard, "%s.b.%llx", rpc->inbox, (unsigned long long)j->id);
    if (to == NULL || j->gone || natsMsg_Create(&m, to, unheard, NULL, 0) != NATS_OK)
        return;
    natsMsgHeader_Set(m, H_BEAT, "1");
    natsConnection_PublishMsg(rpc->nc, m);
    rpc_msg_end(rpc, m);
}

void rpc_serve_tick(tab_rpc *rpc, int64_t now, int64_t *next)
{
    for (rpc_job *j = rpc->jobs; j != NULL; j = j->next) {
        if (now >= j->deadline)
            cancel(rpc, j);
        else if (j->deadline < *next)
            *next = j->deadline;
        if (now - j->beat >= RPC_BEAT_MS && rpc_connected(rpc))
            beat(rpc, j, now);
    }
}

/* ---- start and stop -------------------------------------------------------------------------- */

void tab_rpc_also(tab_rpc *rpc, const tab_rpc_method *method, void *self)
{
    rpc->also = method;
    rpc->also_self = self;
}

bool tab_rpc_serve(tab_rpc *rpc, const tab_rpc_method *methods, void *self)
{
    rpc->methods = methods;
    rpc->self = self;
    const size_t places[] = { (size_t)rpc->threads, (size_t)rpc->heavy_places };
    int64_t threads = rpc->threads + rpc->heavy_places + INNER;
    rpc->workers = calloc((size_t)threads, sizeof *rpc->workers);
    rpc->turns = tab_fair_queue_new(2, places, (size_t)rpc->queue_most);
    if (rpc->workers == NULL || rpc->turns == NULL || !prepare_metrics(rpc))
        return false;
    for (int64_t i = 0; i < threads; i++, rpc->n_workers++)
        if (pthread_create(&rpc->workers[i], NULL, worker, rpc) != 0)
            return false;
    char all[128], here[160], gone[128];
    snprintf(all, sizeof all, "tabella.v1.%s.*", rpc->service);
    snprintf(here, sizeof here, "tabella.v1.%s.at.%s.*", rpc->service, rpc->worker);
    snprintf(gone, sizeof gone, "tabella.v1.%s-gone", rpc->service);
    if (rpc_subscribe(rpc, gone, NULL, caller_gone, rpc) && rpc_subscribe(rpc, here, NULL, asked_here, rpc) &&
        rpc_subscribe(rpc, all, rpc->service, asked, rpc)) {
        pthread_mutex_lock(&rpc->lock);
        rpc->serves = true; /* from now on it says so (rpc_peers.c) */
        pthread_cond_signal(&rpc->tick);
        pthread_mutex_unlock(&rpc->lock);
        return true;
    }
    rpc_serve_stop(rpc);
    return false;
}

/* The end of what still waits or runs: it is given back. The lock is held. */
static void give_back(tab_rpc *rpc)
{
    for (rpc_job *j = rpc->jobs; j != NULL; j = j->next)
        if (!atomic_load(&j->cancel)) {
            atomic_store(&j->stopped, true);
            cancel(rpc, j);
        }
}

/* The timer and NATS' threads go on, and may look at what is under way: the calls that handlers make still
 * end by their deadlines. Fine more than once. */
void rpc_serve_stop(tab_rpc *rpc)
{
    pthread_mutex_lock(&rpc->lock);
    rpc->over = true;
    give_back(rpc);
    pthread_cond_broadcast(&rpc->work);
    pthread_mutex_unlock(&rpc->lock);
    for (int64_t i = 0; i < rpc->n_workers; i++)
        pthread_join(rpc->workers[i], NULL);
    pthread_mutex_lock(&rpc->lock);
    rpc_job *left = rpc->jobs;
    tab_fair_queue *turns = rpc->turns;
    rpc->jobs = NULL;
    rpc->turns = NULL;
    pthread_mutex_unlock(&rpc->lock);
    for (rpc_job *j = left, *next; j != NULL; j = next) {
        next = j->next;
        rpc_msg_end(rpc, j->msg);
        free(j);
    }
    tab_fair_queue_free(turns);
    free(rpc->workers);
    free(rpc->metrics);
    rpc->metrics = NULL;
    rpc->workers = NULL;
    rpc->n_workers = 0;
}
