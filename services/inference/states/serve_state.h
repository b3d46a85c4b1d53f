/* The fitted state of an endpoint: read by any number of calls at once; only the imputers come later. */
#ifndef TAB_SERVE_STATE_H
#define TAB_SERVE_STATE_H

#include "services/inference/engine/bundle.h"
#include "services/inference/inference.h"
#include "services/inference/serve/row_index.h"

/* What fills the missing cells of a column: fitted when a request first lacks one. */
typedef struct {
    bool tried;
    const char *left;   /* why nothing is filled; NULL: it is */
    tab_fitted *fitted; /* NULL after a try: nothing is better than the usual value */
    const char *method, *metric;
    double score, baseline, gain; /* of cells hidden from the fill (impute/fill_quality.h) */
    double median, sd;   /* numeric columns: of the present values, far ones held within the fences */
    double median_share; /* of them, within half an sd of the median */
    uint32_t mode;       /* coded columns: the most frequent level, TAB_NULL without any */
    double mode_share;
} serve_imputer;

typedef struct {
    tab_arena *arena;
    const char *base;
    size_t n;
    const tab_table **table;            /* (n) pinned */
    tab_profile **profile;              /* (n) */
    Tabella__TableUnderstanding **seen; /* (n) */
    tab_row_index **near;               /* (n) with two tables or more; else NULL */
    uint64_t cells;
    bool explain;
    double threshold;
    tab_selection sel;
    tab_linked linked;
    const char *const *const
        *key;           /* [table][column] why a key stays as it is (keys/keys.h); NULL: one table */
    tab_fitted *fitted; /* NULL without a prediction */
    struct {
        pthread_mutex_t lock;
        struct serve_waiting *first;
        size_t waiting;      /* calls in the list */
        int64_t leaders;     /* threads that score a group */
    } batch;                 /* serve_batch.c */
    pthread_mutex_t lock;    /* of the making of imputers, counts and slices */
    atomic_bool grown;       /* an imputer was made that is not kept yet */
    struct drift *drift;     /* drift.c: made with the first call */
    bool undrifted;          /* there is no memory for it */
    struct slices *slices;   /* slices.c: made with the first call that asks for them */
    serve_imputer **imputer; /* (n)(cols) */
} serve_state;

enum { SERVE_KEY = 400 };
void serve_key(char key[SERVE_KEY], const char *org, const Tabella__ServeState *k, const char *base);

/* Hands the call to the worker that the key belongs to, or to its second home where that one is away; *ret is
 * a message pointer. UNAVAILABLE with err untouched: this worker is the one, or both are away, so answer
 * here. With err filled: the owner died, perhaps of this call (tab_rpc_lost), and it is not answered here.
 * slot, or NULL: the call takes one of its endpoint's slots. */
tab_status serve_at_owner(inference *self, tab_call *call, const char *method, const char *key,
                          const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                          const Tabella__ServeRequest *slot, const void *ret, tab_error *err) TAB_CHECKED;

/* Hands a call whose state this release has not fitted yet to a worker of the release that has kept one,
 * where one lives. True: it has answered. */
bool serve_as_kept(inference *self, tab_call *call, const char *key, const Tabella__ServeRequest *q,
                   const Tabella__ServeReply **ret);

/* Locks and an arena. */
tab_status serve_state_empty(serve_state **ret, tab_error *err) TAB_CHECKED;
/* A state for n tables (1 to MAX_TABLES) with nothing in it yet. */
tab_status serve_state_new(size_t n, const tab_run_options *options, serve_state **ret,
                           tab_error *err) TAB_CHECKED;
/* A state with its tables read from their snapshots and nothing else yet. */
tab_status serve_state_load(inference *self, const tab_call *call, Tabella__TableSource *const *sources,
                            size_t n, const tab_run_options *options, serve_state **ret,
                            tab_error *err) TAB_CHECKED;
/* Fills in what follows from profiles, selection and fitted model; they are set before. */
tab_status serve_state_ready(serve_state *st, tab_error *err) TAB_CHECKED;
size_t serve_state_bytes(const serve_state *st);

/* For tab_states_take: the whole state, by a pass over the snapshots. It belongs to the endpoint, not to the
 * call that came first: it ends by itself, or with the process. */
typedef struct {
    inference *self;
    const tab_call *call;
    const Tabella__ServeState *key;
    bool ahead; /* nobody waits: it computes at low priority */
} serve_first;
extern const tab_states_maker serve_state_maker; /* its arg is a serve_first */

/* serve.c: the answers of a finished state to the calls whose tables came with `call`, one part a call. */
tab_status serve_answer(inference *self, tab_call *call, const Tabella__ServeRequest *q, serve_state *st,
                        Tabella__ServeReply *y, tab_error *err) TAB_CHECKED;

/* serve_horizon.c: the next q->horizon steps of every pinned series, in place of rows, by the state that is
 * on loan and has this key. */
tab_status serve_ahead(inference *self, tab_call *call, const Tabella__ServeRequest *q, const char *key,
                       tab_loan *loan, Tabella__ServeReply *y, tab_error *err) TAB_CHECKED;
/* Frees what inference.forecasts keeps. */
void serve_forecast_free(void *forecast);

/* Hands a finished state to the cache and holds it until the call's arena ends. False: out of memory; the
 * state is gone. */
bool serve_keep(inference *self, tab_call *call, const char *key, serve_state *st) TAB_CHECKED;

/* Keeps states again that have grown an imputer since. */
void serve_keep_grown(inference *self);

#endif
