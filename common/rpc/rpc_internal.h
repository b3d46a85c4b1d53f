/* What the parts of the RPC share; not for anybody else. Calls go one way, down:
 *
 *   rpc.c          opens and closes; the thread that watches deadlines and silences
 *      |
 *   rpc_nats.c     the connection: made, and replaced by a newer one
 *      |
 *   rpc_call.c     calls of ours: asked, answered, given up
 *      |
 *   rpc_serve.c    calls of others: the queue, the workers, the answers
 *      |
 *   rpc_stream.c   bodies that outgrow a message: held by the sender, pulled by the receiver
 *      |
 *   rpc_peers.c    which processes of a service live
 *      |
 *   rpc_link.c     subscriptions, headers, numbers of calls and streams
 *
 * What comes back up are NATS' callbacks and rpc_pull.ended. One lock, rpc->lock, is for all of them. */
#ifndef TAB_RPC_INTERNAL_H
#define TAB_RPC_INTERNAL_H

#include <nats/nats.h>
#include <pthread.h>

#include "common/base/config.h"
#include "common/rpc/fair_queue.h"
#include "common/rpc/rpc.h"
#include "common/table/table_wire.h"

enum {
    RPC_INLINE = 256 * 1024, /* a larger body is streamed */
    RPC_CHUNK = 256 * 1024,  /* bytes of the body in one message */
    RPC_WINDOW = 32,         /* chunks that may be under way: 8 MiB of credit */
    RPC_STALL_MS = 2000,     /* a silent stream is asked again */
    RPC_BEAT_MS = 1000,      /* a server at work says so */
    RPC_SILENCE_MS = 5000,   /* a server that does not is given up */
    RPC_PING_MS = 200,       /* a worker that is known is asked for so often; NATS says when it is gone */
    RPC_PATIENCE_MS = 600,   /* and one that answers no ping for so long is left for another, */
    RPC_UNTAKEN_MS = 1500,   /* the same before it has begun, of a call that would cost much twice; */
    RPC_FROZEN_MS = 2500,    /* or, where it cannot be asked of another, is given up */
    RPC_PATIENCE_MOST = 3,   /* so many times; each time we wait twice as long */
    RPC_NATS_MS = 8000,      /* so long a call that may be repeated waits for NATS to be back */
    RPC_LAST_WORD_MS = 500,  /* an answer may come so long after its worker is found gone */
    RPC_TICK_MS = 100,
    RPC_IDLE_MS = 1000, /* the timer turns so often though there is nothing to watch: it is looked at */
    RPC_TIME_MOST = 24 * 3600 * 1000, /* milliseconds that a call may take */
    RPC_INBOXES = 4,
    RPC_PLAIN = 4,               /* subscriptions of tab_rpc_listen */
    RPC_SPENT = 16,              /* messages that are freed together, */
    RPC_SPENT_BYTES = 64 * 1024, /* the large ones at once */
    RPC_UNSENT = 1024,           /* answers that wait for NATS */
    RPC_RETIRED = 8,             /* connections that were replaced */
    RPC_PEERS = 128,
    BUCKETS = 1024
};

#define RPC_BODY_MOST ((int64_t)1 << 40) /* bytes that a header may name; memory ends long before */
#define RPC_NOT_HERE "?"                 /* the answer to a ping: that call neither waits nor runs here */
#define RPC_PING "Ping"                  /* no method: a message that only has to find its listener */

#define H_STATUS "Tab-Status"
#define H_PARAM "Tab-Param"
#define H_MESSAGE "Tab-Message"
#define H_TIME "Tab-Time-Left" /* milliseconds */
#define H_ORG "Tab-Org"
#define H_REQUEST "Tab-Request-Id"
#define H_ACTOR "Tab-Actor"
#define H_ADDRESS "Tab-Address"
#define H_TRACE "Tab-Trace"   /* common/run/trace.h */
#define H_BUILD "Tab-Build"   /* the caller's version, for the log of whoever cannot read it */
#define H_TABLES "Tab-Tables" /* bytes of the message; tables start at the next multiple of 8 */
#define H_STREAM "Tab-Stream" /* subject to pull the body from */
#define H_BYTES "Tab-Bytes"   /* of the streamed body */
#define H_BEAT "Tab-Beat"
#define H_BEGUN "Tab-Tell-Begun" /* the caller wants a beat before the work begins */
#define H_INNER "Tab-Inner"      /* made within another call, which waits for it */
#define H_SLOT "Tab-Slot"        /* "MOST CALLS WORD": calls of the word at once, and in this one */

/* Params of errors: tab_rpc_lost, tab_rpc_stopped, and that this build cannot read what another wrote; */
#define RPC_LOST "worker"
#define RPC_STOPPED "stopping"
#define RPC_UNREAD "build"
/* and of those that tab_rpc_call keeps to itself: nobody took the call; its worker answers no ping; NATS is
 * away. */
#define RPC_NOBODY "nobody"
#define RPC_SILENT "silent"
#define RPC_MUTE "mute" /* so do all processes of its service */
#define RPC_CUT "cut"

/* A body: a packed message, then, from a multiple of 8 on, tables. */
typedef struct {
    char *head; /* malloc'ed: message and zeros */
    size_t head_n, bytes;
    int64_t packed; /* bytes of the message where tables follow, else -1 */
    const tab_wire *wire;
} rpc_body;

tab_status rpc_body_make(tab_arena *wire_arena, const ProtobufCMessage *m, const tab_table *const *tables,
                         size_t n, rpc_body *ret, tab_error *err) TAB_CHECKED;
void rpc_body_copy(const rpc_body *b, size_t at, size_t n, char *ret);

/* Reads a body that lies in the arena. */
tab_status rpc_body_read(tab_arena *a, tab_str bytes, int64_t packed, const ProtobufCMessageDescriptor *type,
                         const void **ret_msg, const tab_table *const **ret_tables, size_t *ret_n,
                         tab_error *err) TAB_CHECKED;

/* A body that is held for its receiver, in rpc->kept until released. */
typedef struct rpc_kept_body {
    uint64_t id;
    struct rpc_kept_body *next;
    rpc_body body;
    tab_arena *owned;      /* ends with the hold; NULL: the owner releases it */
    tab_deadline deadline; /* of an owned one */
    int readers;
} rpc_kept_body;

/* A body that is being pulled into buf, in rpc->pulls until it ended or was stopped. */
typedef struct rpc_pull {
    uint64_t id;
    struct rpc_pull *next;
    char holder[128];
    char *buf;
    size_t bytes, got, asked;
    int64_t moved;                       /* tab_mono_ms of the last progress */
    void (*ended)(void *owner, bool ok); /* once, under rpc->lock, when out of rpc->pulls */
    void *owner;
} rpc_pull;

/* A process of a service; under rpc->lock. */
typedef struct {
    char service[40], worker[40];
    int64_t heard, silent; /* tab_mono_ms when it spoke last, and when it was found not to answer */
    int64_t unable;        /* when it said last that a server of its own is away */
} rpc_peer;

typedef struct rpc_pending rpc_pending; /* a call of ours; rpc_call.c */
typedef struct rpc_method_metrics rpc_method_metrics;
typedef struct rpc_job rpc_job; /* a call of others; rpc_serve.c */

/* What a subscription was made of. */
typedef struct {
    char subject[160], group[48];
    natsMsgHandler fn;
    void *arg;
} rpc_sub;

struct tab_rpc {
    _Atomic(natsConnection *) nc;
    tab_access given, used; /* as it was opened, and what it is connected with now */
    tab_config_listener told;
    char service[40], worker[40],
        inbox[80]; /* inbox.a.ID answers, inbox.p.ID chunks, inbox.h.ID pulls, inbox.b.ID unheard beats */
    natsSubscription *sub[RPC_INBOXES + RPC_PLAIN + 4];
    rpc_sub sub_of[RPC_INBOXES + RPC_PLAIN + 4];
    int n_sub;
    pthread_mutex_t lock; /* of everything below */
    pthread_t renewer;
    pthread_cond_t renew; /* the renewer has something to do */
    int renew_why;
    bool renews, renew_ends;
    int open_links; /* connections whose end was not told yet */
    natsConnection *retired[RPC_RETIRED];
    size_t n_retired;
    pthread_cond_t changed; /* jobs, holds, subscriptions that ended */
    pthread_cond_t tick;    /* the timer has something to watch earlier than `watches_at` */
    int64_t watches_at;     /* tab_mono_ms when the timer looks next; 0: when it is told */
    pthread_t timer;
    _Atomic int64_t turned; /* tab_mono_ms of the timer's last turn */
    _Atomic int64_t said_away;
    char server[120]; /* where NATS is, without user and password */
    bool timer_runs, closing, said_refused;
    atomic_bool draining;
    int live_subs;
    uint64_t next_id;
    rpc_pending *pending[BUCKETS];
    size_t n_pending;
    rpc_kept_body *kept[BUCKETS];
    size_t n_holds;
    rpc_pull *pulls[BUCKETS];
    size_t n_pulls;
    char *chunk; /* the hold subscription's buffer */
    pthread_mutex_t chunk_lock;
    rpc_pending *ready, **ready_end;
    int fd;
    rpc_peer peers[RPC_PEERS];
    size_t n_peers, peer_turn;
    int64_t said_here;
    atomic_bool unable; /* tab_rpc_able */
    struct {
        pthread_mutex_t lock;
        natsMsg *of[RPC_SPENT];
        size_t n;
    } spent; /* rpc_msg_end */
    struct {
        pthread_mutex_t lock;
        natsMsg *of[RPC_UNSENT];
        size_t n;
    } unsent; /* rpc_publish */

    /* serving */
    const tab_rpc_method *methods, *also; /* also: one beside the table, or NULL */
    void *self, *also_self;
    ptrdiff_t n_methods;
    int64_t threads, queue_most, heavy_places;
    const char *const *heavy;
    size_t arena_most;
    rpc_job *jobs; /* that wait or run */
    bool serves;   /* calls may come */
    bool over;     /* no call is worked on any more: workers end */
    tab_fair_queue *turns;
    pthread_cond_t work;
    pthread_t *workers;
    int64_t n_workers;
    rpc_method_metrics *metrics; /* one a method, the one beside last */
    int64_t n_waiting;           /* jobs that do not run yet */
    struct tab_metric *waiting, *waited, *full;
};

/* rpc_nats.c */
bool rpc_link_open(tab_rpc *rpc, const tab_access *a);
bool rpc_renewer_start(tab_rpc *rpc);
void rpc_renewer_end(tab_rpc *rpc); /* waits for it; fine more than once, and where it was not started */
void rpc_say_away(tab_rpc *rpc);    /* once a minute */

/* rpc_link.c */
/* Takes m. While NATS is away it waits, so that no answer is lost with the connection. */
void rpc_publish(tab_rpc *rpc, natsMsg *m);
void rpc_publish_unsent(tab_rpc *rpc);
bool rpc_subscribe_on(tab_rpc *rpc, natsConnection *nc, const rpc_sub *of, natsSubscription **ret);
/* group NULL: this process is one; "": none. */
bool rpc_subscribe(tab_rpc *rpc, const char *subject, const char *group, natsMsgHandler fn, void *arg);
uint64_t rpc_new_id(tab_rpc *rpc);          /* lock held */
uint64_t rpc_id_of(const char *subject);    /* of its last token; 0: none */
void rpc_msg_end(tab_rpc *rpc, natsMsg *m); /* natsMsg_Destroy, sooner or later; NULL is fine */
bool rpc_connected(const tab_rpc *rpc);
void rpc_say_refused(tab_rpc *rpc); /* the connection is closed for good, and not by us: why, once */
/* 0 to most; `otherwise` where the header is missing or no such number. */
int64_t rpc_header_int(natsMsg *m, const char *name, int64_t most, int64_t otherwise);
const char *rpc_header(natsMsg *m, const char *name); /* "" without */
void rpc_watch(tab_rpc *rpc, tab_deadline deadline);  /* lock held: something new to watch */

/* rpc_peers.c; the lock is held, but not in the callback. */
void rpc_peer_heard(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *rpc);
bool rpc_peer_pick(tab_rpc *rpc, const char *service,
                   char ret[40]); /* one that lives; false: none is known */
bool rpc_peers_just_fell(tab_rpc *rpc,
                         const char *service); /* so lately that all may be back; takes the lock */
bool rpc_peers_mute(const tab_rpc *rpc,
                    const char *service);               /* where none lives: some did, and fell silent */
bool rpc_peer_known(tab_rpc *rpc, const char *worker);  /* it has spoken once: it answers pings */
void rpc_peer_silent(tab_rpc *rpc, const char *worker); /* no calls for it until it speaks again */
/* It answered that a server is away: for a second others come first. Whether there are any. */
bool rpc_peer_unable(tab_rpc *rpc, const char *worker);
void rpc_peers_say(tab_rpc *rpc, int64_t now, bool leaves);
bool rpc_repeatable(const char *service, const char *method); /* needs no lock */

/* rpc_call.c */
void rpc_answered(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *rpc);
void rpc_unheard(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *rpc);
void rpc_calls_cut(tab_rpc *rpc); /* lock held: the server is away, calls without an answer fail */
/* Lock held: fails calls that are late, abandoned or silent, pings workers; *next: no later than the earliest
 * deadline. */
void rpc_calls_tick(tab_rpc *rpc, int64_t now, int64_t *next);
void rpc_calls_drop(tab_rpc *rpc); /* at the end: frees calls that nobody waits for */

/* rpc_stream.c; the lock is not held unless said so */
rpc_kept_body *rpc_kept_body_new(tab_rpc *rpc, const rpc_body *body, tab_arena *owned, tab_deadline deadline);
void rpc_kept_body_subject(const tab_rpc *rpc, const rpc_kept_body *h, char ret[128]);
void rpc_kept_body_release(tab_rpc *rpc, rpc_kept_body *h); /* frees body.head, not an arena */
void rpc_kept_body_asked(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *rpc);
void rpc_pull_start(tab_rpc *rpc, rpc_pull *p); /* fields set but id, next; lock held */
void rpc_pull_stop(tab_rpc *rpc, rpc_pull *p);  /* lock held; fine when it has ended */
void rpc_pull_chunk(natsConnection *nc, natsSubscription *sub, natsMsg *m, void *rpc);
void rpc_streams_tick(tab_rpc *rpc, int64_t now); /* lock held */

/* rpc_serve.c */
void rpc_beat_unheard(tab_rpc *rpc, uint64_t id); /* lock held: the caller of the call `id` is gone */
void rpc_serve_tick(tab_rpc *rpc, int64_t now, int64_t *next); /* lock held */
void rpc_serve_stop(tab_rpc *rpc);

#endif
