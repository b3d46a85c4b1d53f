/* Calls between daemons: protobuf over NATS request/reply, one queue group a service.
 *
 *   tabella.v1.SERVICE.METHOD               any worker of the service
 *   tabella.v1.SERVICE.at.WORKER.METHOD     that worker
 *   tabella.here.SERVICE                    a worker lives: once a second
 *
 * A call carries a message and, behind it, tables; so does the answer. Organization, request id, actor and
 * the time left travel in headers; errors come back as values (status, param, message). What outgrows
 * RPC_INLINE bytes is pulled by the receiver in chunks, with credit (rpc_stream.c): the holder only answers
 * "bytes a to b, to this inbox", so that neither side buffers more than a window beyond the data itself.
 *
 *        caller                       server
 *   call -----------> subject ------> queue -> worker thread: fn(self, call, err)
 *     ^   <- - - pull chunks - - ->    |  full: UNAVAILABLE at once
 *   answer <-------- inbox <-----------+  deadline passed or caller gone: *call->cancel
 *
 * Any thread may call; a blocking call must not be made on the event loop's thread or from a NATS
 * callback. */
#ifndef TAB_RPC_H
#define TAB_RPC_H

#include <protobuf-c/protobuf-c.h>
#include <stdatomic.h>

#include "common/base/access.h"
#include "common/base/time.h"
#include "common/table/table.h"

typedef struct tab_rpc tab_rpc;

/* Connects in the background and for ever; `service` names this process's queue group and log lines. Answers
 * come to inboxes below _INBOX.USER (without a user: _INBOX.SERVICE), so that the server can keep every user
 * out of the others' (decision 0248). */
tab_rpc *tab_rpc_open(const tab_access *nats, const char *service);
void tab_rpc_free(tab_rpc *rpc);
TAB_DEFINE_AUTO(tab_rpc)
bool tab_rpc_alive(void *rpc);
/* Whether this process reaches what its methods need. Where it does not, callers ask others first. */
void tab_rpc_able(tab_rpc *rpc, bool able);
/* Whether another process has said lately that it lives and reaches what it needs. */
bool tab_rpc_others_able(tab_rpc *rpc);
/* Whether a process of the service has said lately that it lives. */
bool tab_rpc_lives(tab_rpc *rpc, const char *service);
const _Atomic int64_t *tab_rpc_turned(const tab_rpc *rpc); /* when its thread that watches time turned last */
const char *tab_rpc_worker(const tab_rpc *rpc);      /* this process's random name, for addressed calls */
struct __natsConnection *tab_rpc_nats(tab_rpc *rpc); /* to publish to plain subjects; NULL: never connected */

/* A plain subject; `heard` destroys the message, on a thread of NATS', and runs no more once tab_rpc_free
 * has returned. */
struct __natsSubscription;
struct __natsMsg;
typedef void tab_rpc_heard(struct __natsConnection *nc, struct __natsSubscription *sub, struct __natsMsg *m,
                           void *arg);
bool tab_rpc_listen(tab_rpc *rpc, const char *subject, tab_rpc_heard *heard, void *arg);

/* ---- serving --------------------------------------------------------------------------------- */

/* One call while it is worked on. All of it lives in `arena`, which ends with the call. */
typedef struct {
    const char *method, *org, *request_id, *actor; /* texts, "" where the caller gave none */
    const char *address;                           /* of the client whose request led here; or "" */
    tab_deadline deadline;
    const atomic_bool *cancel; /* true once the deadline has passed or the caller has gone */
    tab_arena *arena;
    const void *in; /* the method's request message */
    const tab_table *const *tables;
    size_t n_tables;
    void *out; /* the reply message, initialised; fill it with memory of the arena */
    const tab_table *const *out_tables;
    size_t n_out_tables;
    tab_rpc *rpc; /* to make further calls */
} tab_call;

typedef struct {
    const char *name;
    const ProtobufCMessageDescriptor *in, *out;
    tab_status (*fn)(void *self, tab_call *call, tab_error *err);
} tab_rpc_method;
#define TAB_RPC_METHODS_END    \
    {                          \
        NULL, NULL, NULL, NULL \
    }

/* Serves the methods on `threads` workers (default: 8); a full queue (default: 64 a thread) answers
 * UNAVAILABLE. The arena of one call may grow to arena_most bytes (default: 2 GiB). Organizations take turns,
 * and one holds no more workers, and no more of the queue, than it leaves (common/rpc/fair_queue.h; decision
 * 0236). */
void tab_rpc_limits(tab_rpc *rpc, int64_t threads, int64_t queue, size_t arena_most);
/* The methods named (NULL behind the last) compute for long. At most so many of their calls run at once, on
 * workers of their own. Call it before tab_rpc_serve; the names are borrowed. */
void tab_rpc_heavy(tab_rpc *rpc, int64_t places, const char *const *methods);
bool tab_rpc_serve(tab_rpc *rpc, const tab_rpc_method *methods, void *self) TAB_CHECKED;

/* Before tab_rpc_serve: one further method with a self of its own, which tab_rpc_free frees. */
void tab_rpc_also(tab_rpc *rpc, const tab_rpc_method *method, void *self);

/* Takes no more calls, works off what came, waits at most so long. True: all was finished. What was not is
 * answered as stopped (tab_rpc_stopped), and its end is waited for: no method runs after this, and what they
 * use may be freed. Until tab_rpc_free this process still answers pings, so that nobody takes a call that it
 * works on for lost. */
bool tab_rpc_drain(tab_rpc *rpc, int64_t seconds);

/* ---- calling --------------------------------------------------------------------------------- */

typedef struct {
    const char *service, *method;
    const char *worker; /* NULL: any */
    const char *org, *request_id, *actor;
    const char *address; /* the client's, for the audit log; NULL: none */
    tab_deadline deadline;
    const ProtobufCMessage *in;
    const tab_table *const *tables; /* borrowed until the answer has come */
    size_t n_tables;
    const ProtobufCMessageDescriptor *reply;
    tab_arena *arena; /* the answer lives here; used by the caller's thread only, but see below */
    const atomic_bool *
        gone; /* turns true: nobody waits any more; the call ends CANCELLED and its work stops. NULL: never */
    /* The worker tells the caller before it begins. If it dies then, the caller knows that it died with this
     * call (tab_rpc_lost). Costs one message. */
    bool tell_begun;
    /* One word, or NULL. A worker holds at most `slots` calls of the word at once, queued ones among them; a
     * further one fails with RATE_LIMIT. A slot is free before its call's answer leaves, and soon after its
     * caller is gone. */
    const char *slot;
    uint32_t slots;
    /* How many calls of the word are in this one: it takes as many slots, all or none. 0: one. */
    uint32_t slot_calls;
    /* The call is made from within another call, by the service that answers it. It waits in no queue. */
    bool inner;
    /* A call that its worker gave back is for the caller to repeat (tab_rpc_stopped); else tab_rpc_call does,
     * where no worker is named. */
    bool returns;
    /* The call may be made twice: where its worker answers no ping it is asked of another (where none is
     * named), and where NATS is away it waits for it. So are methods that change nothing
     * (common/rpc_peers.c). */
    bool repeats;
} tab_ask;

typedef struct {
    const void *msg;
    const tab_table *const *tables;
    size_t n_tables;
} tab_answer;

/* Fills an ask's organization, request id, actor, address, deadline and gone from the call being served. */
void tab_ask_inherit(tab_ask *ask, const tab_call *call);

/* Errors: what the method said; UNAVAILABLE (nobody serves, NATS away), CANCELLED (deadline). What a worker
 * gives back because it stops, or cannot read because it is of another build, is asked of others first. */
tab_status tab_rpc_call(tab_rpc *rpc, const tab_ask *ask, tab_answer *ret, tab_error *err) TAB_CHECKED;

/* For a call that ended UNAVAILABLE. True: the worker that had begun it died or froze, perhaps because of
 * this call, which may do the same to the next worker. Works on a copy of the error with its param, too. */
bool tab_rpc_lost(tab_status s, const tab_error *err);

/* Of a call that ended UNAVAILABLE: its worker is stopping and gave it back. Nothing is wrong with it;
 * another worker may begin at once. */
bool tab_rpc_stopped(tab_status s, const tab_error *err);

/* Of a call that ended UNAVAILABLE and was to tell when it begins (tell_begun): no worker had begun it. It
 * may be made again. */
bool tab_rpc_untaken(tab_status s, const tab_error *err);

/* Whether the error's param is the RPC's own word, and no field of anybody's request. */
bool tab_rpc_own_param(tab_status s, const tab_error *err);

/* Waits until NATS is there. False: not in time, or nobody waits any more. */
bool tab_rpc_await(tab_rpc *rpc, const atomic_bool *gone, tab_deadline until);

/* For an event loop: `done` runs on the thread that calls tab_rpc_dispatch, exactly once for each started
 * call, also when ask.gone turned true (then with CANCELLED). Watch tab_rpc_fd for reading and dispatch when
 * it is ready. The arena is touched only inside dispatch. */
typedef void tab_rpc_done(void *arg, tab_status s, const tab_answer *answer, const tab_error *err);
/* False: not started. */
bool tab_rpc_start(tab_rpc *rpc, const tab_ask *ask, tab_rpc_done *done, void *arg,
                   tab_error *err) TAB_CHECKED;
int tab_rpc_fd(const tab_rpc *rpc);
void tab_rpc_dispatch(tab_rpc *rpc);

#endif
