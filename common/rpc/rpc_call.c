/* Calls that this process makes: asked, answered, streamed, given up. rpc.c connects, and counts the time. */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/wait_time.h"
#include "common/rpc/rpc_internal.h"
#include "common/run/trace.h"

/* TRIES_ELSEWHERE: of a call that a worker gave back, before its caller hears of it. */
enum { TRIES_ELSEWHERE = 10, CUT_MS = 20 };

/* A call of ours. What NATS' threads and the timer bring makes it `ready`; its owner (the thread that waits,
 * or the one that dispatches) then takes the next step:
 *
 *   asked --answer--> ready --(small)--> read, done
 *                       |---(streamed)--> pulling --all here--> ready --> read, done
 *   any ----failed (deadline, silence, nobody there, abandoned)--> ready --> done with the error
 *
 * A worker that is known (the call names it, or a beat has come) is pinged: NATS answers for one that has
 * died that nobody listens there, seconds before its silence would tell; and it says whether it still works
 * on the call: one that was answered, and whose answer does not come, was lost on its way. */
struct rpc_pending {
    tab_rpc *rpc;
    uint64_t id;
    rpc_pending *next, *ready_next;
    tab_ask ask; /* reply, arena, deadline are of use; its texts are the caller's and may be gone */
    char service[40];
    tab_rpc_done *done; /* NULL: a thread waits on `wake` */
    void *arg;
    pthread_cond_t wake;
    bool ready, failed, listed, begun; /* begun: a worker has said that it works on it */
    bool sending;                      /* the thread that starts it holds it still: not listed before */
    bool forgotten;                    /* its worker says that it has no such call */
    bool mute, answers;                /* no process of the service has spoken lately; pings are answered */
    bool reads, repeats;               /* it changes nothing (rpc_peers.c); it may be made twice */
    char peer[256];                    /* where that worker is pinged; "": it is not known */
    char worker[40];                   /* whom it was sent to; "": whoever takes it */
    int64_t pinged, patience;
    tab_error err;
    rpc_kept_body *kept; /* our body, where it is streamed */
    natsMsg *msg;        /* the answer, or its head */
    bool pulled;
    rpc_pull pull;
    int64_t packed, asked, heard;
    int64_t unheard; /* tab_mono_ms since when nobody listens at peer; 0: somebody did */
};

/* ---- a call's turns -------------------------------------------------------------------------- */

/* Wakes the thread that waits, or lists p for tab_rpc_dispatch. Lock held, as in all of this part. */
static void make_ready(tab_rpc *rpc, rpc_pending *p)
{
    if (p->ready)
        return;
    assert(p->done != NULL || !p->listed);
    p->ready = true;
    if (p->done == NULL) {
        pthread_cond_signal(&p->wake);
    } else if (!p->listed && !p->sending) {
        bool first = rpc->ready == NULL;
        p->listed = true;
        p->ready_next = NULL;
        *rpc->ready_end = p;
        rpc->ready_end = &p->ready_next;
        if (first && eventfd_write(rpc->fd, 1) != 0)
            tab_log(TAB_ERROR, "eventfd");
    }
}

/* The first failure counts. word: of RPC_..., or NULL. */
static void fail_pending(tab_rpc *rpc, rpc_pending *p, tab_status s, const char *word, const char *why)
{
    assert(s != TAB_OK && why[0] != 0);
    if (p->failed)
        return;
    p->failed = true;
    tab_fail(&p->err, s, word, "%s", why);
    rpc_pull_stop(rpc, &p->pull);
    make_ready(rpc, p);
}

/* Nobody waits for p any more: the server is told to stop working on it. */
static void abandon(tab_rpc *rpc, rpc_pending *p)
{
    char subject[128], reply[128];
    snprintf(subject, sizeof subject, "tabella.v1.%s-gone", p->service);
    snprintf(reply, sizeof reply, "%s.a.%llx", rpc->inbox, (unsigned long long)p->id);
    fail_pending(rpc, p, TAB_CANCELLED, NULL, "the caller has gone");
    natsConnection_PublishString(rpc->nc, subject, reply);
}

bool tab_rpc_lost(tab_status s, const tab_error *err)
{
    return s == TAB_UNAVAILABLE && strcmp(err->param, RPC_LOST) == 0;
}

bool tab_rpc_stopped(tab_status s, const tab_error *err)
{
    return s == TAB_UNAVAILABLE && strcmp(err->param, RPC_STOPPED) == 0;
}

static bool elsewhere(tab_status s, const tab_error *err)
{
    return s == TAB_UNAVAILABLE &&
           (strcmp(err->param, RPC_STOPPED) == 0 || strcmp(err->param, RPC_UNREAD) == 0);
}

static bool failed_by(tab_status s, const tab_error *err, const char *word)
{
    return s == TAB_UNAVAILABLE && strcmp(err->param, word) == 0;
}

bool tab_rpc_untaken(tab_status s, const tab_error *err)
{
    return failed_by(s, err, RPC_NOBODY) || failed_by(s, err, RPC_SILENT) || failed_by(s, err, RPC_MUTE) ||
           failed_by(s, err, RPC_CUT);
}

bool tab_rpc_own_param(tab_status s, const tab_error *err)
{
    return tab_rpc_lost(s, err) || elsewhere(s, err) || tab_rpc_untaken(s, err);
}

/* The worker had begun the call and is gone. The error says so, for tab_rpc_lost. */
static void lose(tab_rpc *rpc, rpc_pending *p)
{
    fail_pending(rpc, p, TAB_UNAVAILABLE, RPC_LOST, "the process working on this is gone; try again");
}

/* The worker answers no ping, or nobody that we know has taken the call. It may have begun. */
static void leave(tab_rpc *rpc, rpc_pending *p)
{
    if (p->worker[0] != 0)
        rpc_peer_silent(rpc, p->worker);
    fail_pending(rpc, p, TAB_UNAVAILABLE, p->mute ? RPC_MUTE : RPC_SILENT,
                 "a service is not responding; try again");
}

static void ping(tab_rpc *rpc, rpc_pending *p, int64_t now)
{
    char reply[128];
    snprintf(reply, sizeof reply, "%s.b.%llx", rpc->inbox, (unsigned long long)p->id);
    p->pinged = now;
    natsConnection_PublishRequestString(rpc->nc, p->peer, reply, "");
}

static void pull_ended(void *owner, bool ok)
{
    rpc_pending *p = owner;
    p->pulled = ok;
    if (ok)
        make_ready(p->rpc, p);
    else
        fail_pending(p->rpc, p, TAB_UNAVAILABLE, NULL, "an answer was lost on the way; try again");
}

static rpc_pending *find(tab_rpc *rpc, uint64_t id)
{
    rpc_pending *p = rpc->pending[id % BUCKETS];
    while (p != NULL && p->id != id)
        p = p->next;
    return p;
}

/* A worker's answer to a ping of ours, or NATS found no listener for it or for a beat. Both have ids of one
 * count, so one subject serves both. Answers come on a thread of their own: one that was given before its
 * worker left may be a little later than this. */
void rpc_unheard(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    uint64_t id = rpc_id_of(natsMsg_GetSubject(m));
    bool nobody = natsMsg_IsNoResponders(m), forgotten = !nobody && natsMsg_GetDataLength(m) > 0;
    pthread_mutex_lock(&rpc->lock);
    rpc_pending *p = id == 0 ? NULL : find(rpc, id);
    if (p != NULL && !nobody) {
        p->heard = tab_mono_ms();
        if (forgotten != p->forgotten)
            p->unheard = forgotten ? p->heard : 0;
        p->forgotten = forgotten;
    } else if (p != NULL && p->msg == NULL && p->unheard == 0)
        p->unheard = tab_mono_ms();
    if (nobody && id != 0)
        rpc_beat_unheard(rpc, id);
    pthread_mutex_unlock(&rpc->lock);
    rpc_msg_end(rpc, m);
}

void rpc_answered(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *arg)
{
    (void)nc;
    (void)sub;
    tab_rpc *rpc = arg;
    uint64_t id = rpc_id_of(natsMsg_GetSubject(m));
    bool nobody = natsMsg_IsNoResponders(m), beat = !nobody && rpc_header(m, H_BEAT)[0] != 0;
    pthread_mutex_lock(&rpc->lock);
    rpc_pending *p = find(rpc, id);
    if (p != NULL && !p->failed && p->msg == NULL) {
        p->heard = tab_mono_ms();
        p->unheard = 0;
        p->begun |= beat;
        if (beat && natsMsg_GetReply(m) != NULL)
            snprintf(p->peer, sizeof p->peer, "%s", natsMsg_GetReply(m));
        if (nobody) {
            bool chosen = p->worker[0] != 0;
            if (chosen)
                rpc_peer_silent(rpc, p->worker);
            fail_pending(rpc, p, TAB_UNAVAILABLE,
                         chosen    ? RPC_NOBODY
                         : p->mute ? RPC_MUTE
                                   : NULL,
                         "a service is not responding; try again");
        } else if (!beat) {
            p->msg = m;
            m = NULL;
            make_ready(rpc, p);
        }
    }
    pthread_mutex_unlock(&rpc->lock);
    rpc_msg_end(rpc, m);
}

/* ---- asking ---------------------------------------------------------------------------------- */

void tab_ask_inherit(tab_ask *ask, const tab_call *call)
{
    ask->org = call->org;
    ask->request_id = call->request_id;
    ask->actor = call->actor;
    ask->address = call->address;
    ask->deadline = call->deadline;
    ask->gone = call->cancel;
}

static void set_header(natsMsg *m, const char *name, const char *value)
{
    if (value != NULL && value[0] != 0)
        natsMsgHeader_Set(m, name, value);
}

/* Out of the list: nothing that comes finds p any more. The lock is held. */
static void unlist(tab_rpc *rpc, rpc_pending *p)
{
    for (rpc_pending **at = &rpc->pending[p->id % BUCKETS]; *at != NULL; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            rpc->n_pending--;
            break;
        }
    rpc_pull_stop(rpc, &p->pull);
}

static void free_pending(tab_rpc *rpc, rpc_pending *p)
{
    rpc_kept_body_release(rpc, p->kept);
    rpc_msg_end(rpc, p->msg);
    pthread_cond_destroy(&p->wake);
    free(p);
}

/* The end of a call. */
static void drop(tab_rpc *rpc, rpc_pending *p)
{
    pthread_mutex_lock(&rpc->lock);
    unlist(rpc, p);
    pthread_mutex_unlock(&rpc->lock);
    free_pending(rpc, p);
}

/* The message of a call: what is known of the caller in headers; the body inside, or a hold to pull it from.
 * NULL: out of memory. Frees body->head unless a hold has it. */
static natsMsg *compose(tab_rpc *rpc, const tab_ask *ask, rpc_pending *p, rpc_body *body)
{
    char subject[256], reply[128], number[32];
    natsMsg *m = NULL;
    if (p->worker[0] == 0)
        snprintf(subject, sizeof subject, "tabella.v1.%s.%s", ask->service, ask->method);
    else
        snprintf(subject, sizeof subject, "tabella.v1.%s.at.%s.%s", ask->service, p->worker, ask->method);
    snprintf(reply, sizeof reply, "%s.a.%llx", rpc->inbox, (unsigned long long)p->id);
    bool small = body->bytes <= RPC_INLINE;
    char *bytes = small ? malloc(body->bytes + 1) : NULL;
    if (small && bytes != NULL)
        rpc_body_copy(body, 0, body->bytes, bytes);
    if ((small && bytes == NULL) ||
        natsMsg_Create(&m, subject, reply, bytes, small ? (int)body->bytes : 0) != NATS_OK) {
        free(bytes);
        free(body->head);
        return NULL;
    }
    free(bytes);
    int64_t left = tab_left_ms(ask->deadline, RPC_TIME_MOST);
    snprintf(number, sizeof number, "%lld", (long long)left);
    set_header(m, H_TIME, number);
    set_header(m, H_ORG, ask->org);
    set_header(m, H_REQUEST, ask->request_id);
    set_header(m, H_ACTOR, ask->actor);
    set_header(m, H_ADDRESS, ask->address);
    set_header(m, H_TRACE, tab_trace_here());
    set_header(m, H_BUILD, TAB_VERSION);
    set_header(m, H_INNER, ask->inner ? "1" : "");
    set_header(m, H_BEGUN, ask->tell_begun ? "1" : NULL);
    if (ask->slot != NULL && ask->slots > 0) {
        char slot[128];
        snprintf(slot, sizeof slot, "%u %u %s", ask->slots, ask->slot_calls > 0 ? ask->slot_calls : 1,
                 ask->slot);
        set_header(m, H_SLOT, slot);
    }
    if (body->packed >= 0) {
        snprintf(number, sizeof number, "%lld", (long long)body->packed);
        set_header(m, H_TABLES, number);
    }
    if (small) {
        free(body->head);
        return m;
    }
    p->kept = rpc_kept_body_new(rpc, body, NULL, TAB_NO_DEADLINE);
    if (p->kept == NULL) {
        free(body->head);
        rpc_msg_end(rpc, m);
        return NULL;
    }
    rpc_kept_body_subject(rpc, p->kept, subject);
    assert(body->bytes > RPC_INLINE);
    set_header(m, H_STREAM, subject);
    snprintf(number, sizeof number, "%zu", body->bytes);
    set_header(m, H_BYTES, number);
    return m;
}

/* Whom p is sent to: a process that lives, where the call names none and some are known. The lock is held. */
static void address(tab_rpc *rpc, rpc_pending *p, const tab_ask *ask)
{
    if (ask->worker != NULL)
        snprintf(p->worker, sizeof p->worker, "%s", ask->worker);
    else if (!rpc_peer_pick(rpc, ask->service, p->worker))
        p->mute = rpc_peers_mute(rpc, ask->service);
    if (p->worker[0] != 0)
        snprintf(p->peer, sizeof p->peer, "tabella.v1.%s.at.%s." RPC_PING, ask->service, p->worker);
    p->answers = p->mute || rpc_peer_known(rpc, p->worker);
    p->reads = rpc_repeatable(ask->service, ask->method);
    p->repeats = ask->repeats || p->reads;
}

/* How long its worker may be silent. One that we know answers pings, whatever it works on. */
static int64_t silence_of(const rpc_pending *p)
{
    if (!p->answers)
        return RPC_SILENCE_MS;
    if (p->repeats)
        return p->patience;
    return p->ask.tell_begun && !p->begun ? RPC_UNTAKEN_MS : RPC_FROZEN_MS;
}

/* NULL: not asked. With a `done` the call may be over, and freed, when this returns. patience: how long its
 * worker may be silent, where the call may then be made again. */
static rpc_pending *ask_now(tab_rpc *rpc, const tab_ask *ask, int64_t patience, tab_rpc_done *done, void *arg,
                            tab_error *err)
{
    if (!rpc_connected(rpc)) {
        tab_fail(err, TAB_UNAVAILABLE, RPC_CUT, "a server is not responding; try again");
        return NULL;
    }
    if (tab_left_ms(ask->deadline, 1) == 0) {
        tab_fail(err, TAB_CANCELLED, NULL, "the deadline has passed");
        return NULL;
    }
    rpc_body body;
    if (rpc_body_make(ask->arena, ask->in, ask->tables, ask->n_tables, &body, err) != TAB_OK)
        return NULL;
    rpc_pending *p = calloc(1, sizeof *p);
    if (p == NULL) {
        free(body.head);
        tab_no_memory(err);
        return NULL;
    }
    p->rpc = rpc;
    p->ask = *ask;
    p->done = done;
    p->arg = arg;
    p->sending = true;
    p->asked = p->heard = tab_mono_ms();
    snprintf(p->service, sizeof p->service, "%s", ask->service);
    pthread_cond_init(&p->wake, NULL);
    pthread_mutex_lock(&rpc->lock);
    address(rpc, p, ask);
    p->patience = patience;
    p->id = rpc_new_id(rpc);
    p->next = rpc->pending[p->id % BUCKETS];
    rpc->pending[p->id % BUCKETS] = p;
    rpc->n_pending++;
    rpc_watch(rpc, ask->deadline);
    pthread_mutex_unlock(&rpc->lock);

    natsMsg *m = compose(rpc, ask, p, &body);
    natsStatus s = m == NULL ? NATS_NO_MEMORY : natsConnection_PublishMsg(rpc->nc, m);
    rpc_msg_end(rpc, m);
    pthread_mutex_lock(&rpc->lock);
    p->sending = false;
    bool ready = p->ready; /* answered, cut off or too late meanwhile */
    p->ready = false;
    if (s != NATS_OK)
        unlist(rpc, p);
    else if (ready)
        make_ready(rpc, p);
    pthread_mutex_unlock(&rpc->lock);
    if (s == NATS_OK)
        return p;
    tab_fail(err, s == NATS_NO_MEMORY ? TAB_INTERNAL : TAB_UNAVAILABLE, RPC_CUT,
             "a server is not responding; try again");
    free_pending(rpc, p);
    return NULL;
}

static bool has_failed(tab_rpc *rpc, rpc_pending *p, tab_status *ret, tab_error *err)
{
    pthread_mutex_lock(&rpc->lock);
    bool failed = p->failed;
    pthread_mutex_unlock(&rpc->lock);
    if (failed) {
        *err = p->err; /* not written again once failed */
        *ret = p->err.status;
    }
    return failed;
}

/* The head of the answer has come, or the whole of it: true when the call is over. */
static bool step(tab_rpc *rpc, rpc_pending *p, tab_status *ret, tab_answer *answer, tab_error *err)
{
    tab_arena *a = p->ask.arena;
    tab_str bytes;
    if (has_failed(rpc, p, ret, err))
        return true;
    if (p->pulled) {
        bytes = (tab_str){ p->pull.buf, p->pull.bytes };
    } else {
        int64_t status = rpc_header(p->msg, H_STATUS)[0] == 0
                             ? TAB_OK
                             : rpc_header_int(p->msg, H_STATUS, TAB_STATUS_COUNT - 1, TAB_INTERNAL);
        if (status != TAB_OK) {
            *ret = tab_fail(err, (tab_status)status, rpc_header(p->msg, H_PARAM), "%s",
                            rpc_header(p->msg, H_MESSAGE));
            return true;
        }
        p->packed = rpc_header_int(p->msg, H_TABLES, RPC_BODY_MOST, -1);
        const char *holder = rpc_header(p->msg, H_STREAM);
        size_t n = (size_t)natsMsg_GetDataLength(p->msg);
        if (holder[0] != 0)
            n = (size_t)rpc_header_int(p->msg, H_BYTES, RPC_BODY_MOST, 0);
        if (holder[0] != 0 && n == 0) {
            *ret = tab_fail(err, TAB_INTERNAL, NULL, "an answer is damaged");
            return true;
        }
        char *buf = tab_arena_alloc(a, n + 1, 1);
        if (buf == NULL) {
            *ret = tab_no_memory(err);
            return true;
        }
        if (holder[0] != 0) {
            snprintf(p->pull.holder, sizeof p->pull.holder, "%s", holder);
            p->pull.buf = buf;
            p->pull.bytes = n;
            p->pull.ended = pull_ended;
            p->pull.owner = p;
            pthread_mutex_lock(&rpc->lock);
            bool go = !p->failed;
            if (go) {
                p->ready = false;
                rpc_pull_start(rpc, &p->pull);
            }
            pthread_mutex_unlock(&rpc->lock);
            return !go && has_failed(rpc, p, ret, err);
        }
        memcpy(buf, natsMsg_GetData(p->msg), n);
        bytes = (tab_str){ buf, n };
    }
    *ret = rpc_body_read(a, bytes, p->packed, p->ask.reply, &answer->msg, &answer->tables, &answer->n_tables,
                         err);
    if (*ret == TAB_VALIDATION)
        *ret = tab_fail(err, TAB_INTERNAL, NULL, "an answer is damaged");
    return true;
}

/* One try. *own is filled unless the answer is. *others: it was answered that a server is away, by one of
 * several. */
static tab_status call_once(tab_rpc *rpc, const tab_ask *ask, int64_t patience, tab_answer *answer,
                            bool *others, tab_error *own)
{
    tab_status s = TAB_OK;
    rpc_pending *p = ask_now(rpc, ask, patience, NULL, NULL, own);
    if (p == NULL)
        return own->status;
    do {
        pthread_mutex_lock(&rpc->lock);
        while (!p->ready)
            pthread_cond_wait(&p->wake, &rpc->lock);
        pthread_mutex_unlock(&rpc->lock);
    } while (!step(rpc, p, &s, answer, own));
    pthread_mutex_lock(&rpc->lock);
    *others = s == TAB_UNAVAILABLE && own->param[0] == 0 && p->msg != NULL && rpc_peer_unable(rpc, p->worker);
    pthread_mutex_unlock(&rpc->lock);
    drop(rpc, p);
    return s;
}

bool tab_rpc_await(tab_rpc *rpc, const atomic_bool *gone, tab_deadline until)
{
    while (!rpc_connected(rpc)) {
        if (tab_left_ms(until, 1) == 0 || (gone != NULL && atomic_load(gone)))
            return false;
        poll(NULL, 0, 20);
    }
    return tab_left_ms(until, 1) > 0;
}

tab_status tab_rpc_call(tab_rpc *rpc, const tab_ask *ask, tab_answer *ret, tab_error *err)
{
    tab_error own = { 0 };
    tab_answer answer = { NULL, NULL, 0 };
    int64_t from = tab_mono_us(), patience = RPC_PATIENCE_MS;
    tab_deadline nats = tab_within_ms(ask->deadline, RPC_NATS_MS);
    bool any = ask->worker == NULL, repeats = ask->repeats || rpc_repeatable(ask->service, ask->method);
    bool others = false;
    tab_status s = call_once(rpc, ask, patience, &answer, &others, &own);
    for (int i = 0, silent = 0; s == TAB_UNAVAILABLE && i < TRIES_ELSEWHERE; i++) {
        bool mute = (repeats || ask->tell_begun) && failed_by(s, &own, RPC_SILENT);
        bool again = any && ((!ask->returns && elsewhere(s, &own)) || failed_by(s, &own, RPC_NOBODY) ||
                             (mute && ++silent <= RPC_PATIENCE_MOST) || (repeats && others));
        if (any && repeats && failed_by(s, &own, RPC_MUTE) && rpc_peers_just_fell(rpc, ask->service)) {
            poll(NULL, 0, CUT_MS); /* NATS may have cut all of them off at once */
            again = true;
            i -= tab_left_ms(nats, 1) > 0;
        }
        if (repeats && failed_by(s, &own, RPC_CUT)) { /* however often, in its time */
            poll(NULL, 0, CUT_MS);
            again = tab_rpc_await(rpc, ask->gone, nats);
            i -= again;
        }
        if (!again)
            break;
        patience = mute ? 2 * patience : patience;
        s = call_once(rpc, ask, patience, &answer, &others, &own);
    }
    tab_wait_time_of_thread.services_us += tab_mono_us() - from;
    if (s == TAB_OK)
        *ret = answer;
    else if (err != NULL)
        *err = own;
    return s;
}

bool tab_rpc_start(tab_rpc *rpc, const tab_ask *ask, tab_rpc_done *done, void *arg, tab_error *err)
{
    return ask_now(rpc, ask, RPC_PATIENCE_MS, done, arg, err) != NULL;
}

int tab_rpc_fd(const tab_rpc *rpc)
{
    return rpc->fd;
}

void tab_rpc_dispatch(tab_rpc *rpc)
{
    eventfd_t n;
    (void)!eventfd_read(rpc->fd, &n);
    pthread_mutex_lock(&rpc->lock);
    rpc_pending *list = rpc->ready;
    rpc->ready = NULL;
    rpc->ready_end = &rpc->ready;
    for (rpc_pending *p = list; p != NULL; p = p->ready_next)
        p->listed = false;
    pthread_mutex_unlock(&rpc->lock);
    for (rpc_pending *p = list, *next; p != NULL; p = next) {
        tab_status s = TAB_OK;
        tab_answer answer = { NULL, NULL, 0 };
        tab_error err = { 0 };
        next = p->ready_next;
        if (!step(rpc, p, &s, &answer, &err))
            continue;
        tab_rpc_done *done = p->done;
        void *arg = p->arg;
        drop(rpc, p);
        if (done != NULL)
            done(arg, s, s == TAB_OK ? &answer : NULL, s == TAB_OK ? NULL : &err);
    }
}

/* ---- what rpc.c asks of all calls ------------------------------------------------------------ */

void rpc_calls_cut(tab_rpc *rpc)
{
    for (size_t b = 0; b < BUCKETS && rpc->n_pending > 0; b++)
        for (rpc_pending *p = rpc->pending[b]; p != NULL; p = p->next)
            if (p->msg == NULL)
                fail_pending(rpc, p, TAB_UNAVAILABLE, RPC_CUT, "a server is not responding; try again");
}

void rpc_calls_tick(tab_rpc *rpc, int64_t now, int64_t *next)
{
    for (size_t b = 0; b < BUCKETS && rpc->n_pending > 0; b++)
        for (rpc_pending *p = rpc->pending[b]; p != NULL; p = p->next) {
            if (p->ask.gone != NULL && atomic_load(p->ask.gone) && !p->failed)
                abandon(rpc, p);
            else if (now >= p->ask.deadline)
                fail_pending(rpc, p, TAB_CANCELLED, NULL, "the deadline has passed");
            else if (p->ask.deadline < *next)
                *next = p->ask.deadline;
            if (p->msg != NULL || p->failed)
                continue;
            bool silent = now - p->heard > silence_of(p);
            bool gone = p->unheard > 0 && now - p->unheard >= RPC_LAST_WORD_MS;
            bool untaken = p->ask.tell_begun && !p->begun;
            if (gone && p->forgotten)
                fail_pending(rpc, p, TAB_UNAVAILABLE, RPC_CUT, "an answer was lost on the way; try again");
            else if ((gone && !p->reads && !untaken) || (silent && p->begun && !p->repeats))
                lose(rpc, p);
            else if (gone || silent)
                leave(rpc, p);
            else if (p->peer[0] != 0 && now - (p->pinged > 0 ? p->pinged : p->asked) >= RPC_PING_MS)
                ping(rpc, p, now);
        }
}

void rpc_calls_drop(tab_rpc *rpc)
{
    for (size_t b = 0; b < BUCKETS; b++)
        while (rpc->pending[b] != NULL)
            drop(rpc, rpc->pending[b]);
}
