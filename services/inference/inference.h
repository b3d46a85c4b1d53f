/* inference: the engine behind the RPC of proto/inference.proto.
 *
 *   RPC worker thread: load tables -> (a pass: wait for a slot) -> engine, with the pool's helpers -> answer
 *
 * Passes (Run, Evaluate, the fit of a serve call) are bounded by slots, which organizations take in turn
 * (decision 0236), and serve calls, which are short, find threads of their own.
 * A pass that is suspected of having killed a worker runs in a process of its own (isolated_pass.c).
 * A pass ends early when its deadline passes, its caller goes, or a message names it on
 * tabella.cancel.CALL. */
#ifndef TAB_INFERENCE_H
#define TAB_INFERENCE_H

#include <pthread.h>

#include "common/pg/pg.h"
#include "common/rpc/fair_queue.h"
#include "common/rpc/outbox.h"
#include "common/rpc/rpc.h"
#include "proto/inference.pb-c.h"
#include "services/inference/engine/engine.h"
#include "services/inference/memory.h"
#include "services/inference/pool.h"
#include "services/inference/shares.h"
#include "services/inference/states/states.h"

enum { MAX_TABLES = 64, MAX_BASES = 256, MAX_WORKERS = 256, HOME_KEY = 400, HOMES_MOST = 256 };

#define ALONE "inference-alone" /* the service that processes for one pass are */

typedef struct pass pass;

/* Another inference process, known by the message that each publishes once a second. */
typedef struct {
    char id[40], release[80]; /* "": of a version that does not say so */
    int64_t seen;             /* tab_mono_ms */
} peer;

/* A base of one organization. */
typedef struct {
    char org[48], name[16], of[16]; /* of: the engine's base that computes it */
} org_base;

typedef struct {
    tab_pg *pg;
    tab_rpc *rpc;
    tab_pool *pool, *behind; /* helpers of passes; of those that step back (decision 0259) */
    tab_states *states;
    tab_states *forecasts;     /* of other numbers of steps than a state was fitted with; serve_horizon.c */
    struct state_store *store; /* where states are kept; NULL: nowhere (alone, tests) */
    bool alone;                /* this process is for one pass (isolated_pass.c) */
    atomic_bool ends;          /* it is over: what nobody waits for ends too */
    atomic_bool leaves;        /* it stops: other workers are to own its states */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t slot;
    int64_t cores, pass_bytes; /* most of a pass */
    tab_fair_queue *slots;     /* places for passes */
    tab_shares *shares;
    pass *running;
    struct drift *drifts;   /* drift.c */
    char (*told)[HOME_KEY]; /* (HOMES_MOST) states that another process is to be told of; homes.c */
    size_t n_told;
    pthread_t ticker, cleaner;
    bool ticks, cleans, stop;
    peer peers[MAX_WORKERS];
    size_t n_peers;
    char retired[MAX_BASES][16];
    size_t n_retired;
    org_base *org_bases; /* (n_org_bases) */
    size_t n_org_bases;
    int64_t retired_at; /* tab_mono_ms of the last look; 0: never */
} inference;

/* Lanes of slots: somebody waits for the answer; a job, which has a call_id. */
enum { AWAITED, JOBS, SLOT_LANES };

/* One call while it computes, and what may stop it. */
struct pass {
    inference *self;
    pass *next;
    const tab_call *call;
    const char *call_id, *told_as; /* its name; that of its progress */
    const atomic_bool *gone;       /* the call's own flag */
    atomic_bool cancel;            /* what the engine reads: gone, or cancelled by name */
    int64_t told;
    double done, from, to; /* what is said; the part of the pass that the engine's 0..1 is */
    char phase[40];
    tab_turn turn; /* of its slot */
    bool slotted;
    tab_memory memory;
    bool behind;       /* it steps back: computes at low priority */
    bool waits;        /* for its slot */
    const char *timed; /* the phase that figures.c times, NULL: none */
    int64_t timed_us;
    int64_t counted; /* tab_mono_ms up to which its organization's share is counted; 0: it is not */
};

extern const tab_rpc_method inference_methods[];

bool inference_start(inference *self) TAB_CHECKED; /* subscriptions and ticker */
void inference_stop(inference *self);              /* cancels what runs */

/* Of a pass that has begun without a call_id: its progress is told under this name. */
void pass_told_as(pass *p, const char *name);
/* passes.c. Every pass begins and ends with these. A `heavy` one waits for a slot. */
tab_status pass_begin(pass *p, inference *self, const tab_call *call, const char *call_id, bool heavy,
                      tab_error *err) TAB_CHECKED;
void pass_end(pass *p);
tab_engine pass_engine(pass *p, tab_arena *a, uint64_t seed);
/* Runs compute(arg) at the pass's priority and under its ceiling of memory; returns when it has returned. */
void pass_compute(pass *p, void (*compute)(void *arg), void *arg);
/* What the pass ended in: where memory was refused to it, an error that says so. */
tab_status pass_status(const pass *p, tab_status s, tab_error *err);

/* figures.c. Times the phase that ends and begins the next; NULL: none. */
void pass_phase(pass *p, const char *phase);
void pass_count(const tab_call *call); /* its cells */
void pass_figures_start(void);

/* passes.c. Whether the other worker has been heard of lately. The lock is held. */
bool peer_lives(const inference *self, const peer *p, int64_t now);

/* homes.c. The two live workers that a key belongs to, the better one first (rendezvous hashing): ret[1] is
 * "" where one alone lives. This process counts as live unless it leaves. Workers of another release hold
 * other states, and have homes among themselves. */
void homes_of(inference *self, const char *key, char ret[2][40]);
/* The worker of that other release which the key belongs to; "": none of it lives. */
void home_of_release(inference *self, const char *key, const char *release, char ret[40]);
bool homes_other_release(inference *self); /* whether a worker of another release lives */
/* Notes that the state of a key was written; homes_send tells its other home, which fetches it. */
void homes_tell(inference *self, const char *key);
void homes_send(inference *self);
tab_status homes_hold(void *self, tab_call *call, tab_error *err);

/* deleted_endpoints.c. Starts a thread that drops states of deleted endpoints, and does what else waits for
 * nobody; it ends with inference_stop, and is waited for. */
bool deleted_endpoints_start(inference *self) TAB_CHECKED;
void deleted_endpoints_stop(inference *self);

/* bases.c. The engine's base that computes what the organization calls by this name: "" is the default
 * base; an unknown one, another organization's and a retired one are refused. */
tab_status base_resolve(inference *self, const char *org, const char *name, const char **ret,
                        tab_error *err) TAB_CHECKED;
/* org "": every base. Else everybody's, and the organization's own. */
tab_status base_models(inference *self, tab_arena *a, const char *org, bool with_retired,
                       Tabella__ModelsReply *ret, tab_error *err) TAB_CHECKED;
/* The name that an answer says: the one that was asked for, else the default's. */
static inline const char *base_shown(const char *asked, const char *engine)
{
    return asked == NULL || asked[0] == 0 ? engine : asked;
}
tab_status base_set(inference *self, tab_call *call, const Tabella__SetBaseRequest *q,
                    tab_error *err) TAB_CHECKED;

/* pieces.c. Gives a large bundle's slices to the job that it is for, and leaves its head; owner NULL: to
 * nobody. *ret_any: it was. */
tab_status pieces_put(inference *self, tab_call *call, const Tabella__PieceOwner *owner, Tabella__Bundle **b,
                      protobuf_c_boolean *ret_any, tab_error *err) TAB_CHECKED;

/* tables.c. The tables of a call, in the order of its sources. Snapshots are read from data-connector. */
tab_status sources_load(inference *self, tab_call *call, Tabella__TableSource *const *sources, size_t n,
                        const tab_table *const **ret, uint64_t *ret_cells, tab_error *err) TAB_CHECKED;
/* The same for snapshots alone, into any arena. */
tab_status snapshot_load(inference *self, const tab_call *call, tab_arena *a,
                         const Tabella__TableSource *source, const tab_table **ret,
                         tab_error *err) TAB_CHECKED;
/* `param` of errors on an option is the request's field. */
tab_status options_of(tab_arena *a, const Tabella__RunOptions *o, const char *base, tab_run_options *ret,
                      tab_error *err) TAB_CHECKED;

tab_status serve(void *self, tab_call *call, tab_error *err);              /* serve.c */
tab_status inference_generate(void *self, tab_call *call, tab_error *err); /* generate.c */
tab_status inference_horizon(void *self, tab_call *call, tab_error *err);  /* horizon.c */

/* isolated_pass.c: runs the call in a process of its own; *ret is a message pointer. JOB_FAILED: the process
 * died of it. UNAVAILABLE: none could be started. */
tab_status isolated_pass_call(inference *self, tab_call *call, const char *method,
                              const ProtobufCMessageDescriptor *reply, const void *ret,
                              tab_error *err) TAB_CHECKED;
void isolated_pass_begin(inference *self); /* in that process, once it serves */
void serve_state_free(void *state);        /* serve_state.c */

#endif
