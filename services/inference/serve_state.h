/* The fitted state of an endpoint: read by any number of calls at once; only the imputers come later. */
#ifndef TAB_SERVE_STATE_H
#define TAB_SERVE_STATE_H

#include "services/inference/engine/bundle.h"
#include "services/inference/inference.h"
#include "services/inference/near.h"

/* What fills the missing cells of a column: fitted when a request first lacks one. */
typedef struct {
    bool tried;
    tab_fitted *fitted; /* NULL after a try: nothing can be learned; the usual value is taken */
    double mean, sd;    /* numeric columns: of the present values */
    uint32_t mode;      /* coded columns: the most frequent level, TAB_NULL without any */
    double mode_share;
} serve_imputer;

typedef struct {
    tab_arena *arena;
    const char *base;
    size_t n;
    const tab_table **table;            /* (n) pinned */
    tab_profile **profile;              /* (n) */
    Tabella__TableUnderstanding **seen; /* (n) */
    tab_near_index **near;              /* (n) with two tables or more; else NULL */
    uint64_t cells;
    bool explain;
    double threshold;
    tab_selection sel;
    tab_fitted *fitted; /* NULL without a prediction */
    struct {
        pthread_mutex_t lock;
        struct serve_waiting *first;
        size_t waiting;      /* calls in the list */
        int64_t leaders;     /* threads that score a group */
    } batch;                 /* serve_batch.c */
    pthread_mutex_t lock;    /* of the imputers' making */
    serve_imputer **imputer; /* (n)(cols) */
} serve_state;

enum { SERVE_KEY = 400 };
void serve_key(char key[SERVE_KEY], const char *org, const Tabella__ServeState *k, const char *base);

/* The call, handed to the worker that the key belongs to; *ret is a message pointer. UNAVAILABLE, with err
 * untouched: this worker is the owner, or the owner is away: answer here. The owner died of the call, perhaps
 * (tab_rpc_lost): err is filled, and it is not answered here. slot, or NULL: the call
 * takes one of its endpoint. */
tab_status serve_at_owner(inference *self, tab_call *call, const char *method, const char *key,
                          const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                          const Tabella__ServeRequest *slot, const void *ret, tab_error *err) TAB_CHECKED;

/* A state for n tables (1 to MAX_TABLES) with nothing in it yet. */
tab_status serve_state_new(size_t n, const tab_run_options *options, serve_state **ret,
                           tab_error *err) TAB_CHECKED;
/* A state with its tables read from their snapshots and nothing else yet. */
tab_status serve_state_load(inference *self, const tab_call *call, Tabella__TableSource *const *sources,
                            size_t n, const tab_run_options *options, serve_state **ret,
                            tab_error *err) TAB_CHECKED;
/* What follows from profiles, selection and fitted model, once they are in. */
tab_status serve_state_ready(serve_state *st, tab_error *err) TAB_CHECKED;
size_t serve_state_bytes(const serve_state *st);

/* For tab_states_take: the whole state, by a pass over the snapshots. */
typedef struct {
    inference *self;
    tab_call *call;
    const Tabella__ServeState *key;
} serve_maker;
tab_status serve_state_make(void *maker, void **ret_state, size_t *ret_bytes, tab_error *err);

/* serve.c: the answers of a finished state to the calls whose tables came with `call`, one part a call. */
tab_status serve_answer(inference *self, tab_call *call, const Tabella__ServeRequest *q, serve_state *st,
                        Tabella__ServeReply *y, tab_error *err) TAB_CHECKED;

/* Hands a finished state to the cache and holds it until the call's arena ends. False: memory is out; the
 * state is gone. */
bool serve_keep(inference *self, tab_call *call, const char *key, serve_state *st) TAB_CHECKED;

#endif
