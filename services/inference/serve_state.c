/* Fitted states: made from snapshots on a miss, or from the parts of the pass that a creation, a refresh,
 * an upgrade or an edit ran over the same data anyway, and the worker that each belongs to. */
#include "services/inference/serve_state.h"

#include "services/inference/drift.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/keys/keys.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/request.h"

/* The key begins with the organization, so that a state is never another's. */
void serve_key(char key[SERVE_KEY], const char *org, const Tabella__ServeState *k, const char *base)
{
    snprintf(key, SERVE_KEY, "%s/%s/%s/%llu/%llu", org, k->endpoint_id, base,
             (unsigned long long)k->config_revision, (unsigned long long)k->data_revision);
}

tab_status serve_at_owner(inference *self, tab_call *call, const char *method, const char *key,
                          const ProtobufCMessage *in, const ProtobufCMessageDescriptor *reply,
                          const Tabella__ServeRequest *slot, const void *ret, tab_error *err)
{
    char buf[40];
    const char *owner = strcmp(call->actor, "inference") == 0 ? NULL : worker_of(self, key, buf);
    if (owner == NULL)
        return TAB_UNAVAILABLE;
    tab_ask ask = { .service = "inference",
                    .method = method,
                    .worker = owner,
                    .in = in,
                    .tables = call->tables,
                    .n_tables = call->n_tables,
                    .inner = true,
                    .reply = reply,
                    .arena = call->arena };
    if (slot != NULL) {
        ask.slot = slot->state->endpoint_id;
        ask.slots = slot->at_once;
        ask.slot_calls = (uint32_t)slot->n_calls;
    }
    tab_answer answer = { 0 };
    tab_error away = { 0 };
    tab_ask_inherit(&ask, call);
    ask.actor = "inference"; /* the owner answers by itself, whoever it takes for the owner */
    tab_status s = tab_rpc_call(self->rpc, &ask, &answer, &away);
    if (s == TAB_OK)
        *(const void **)(uintptr_t)ret = answer.msg;
    else if (s != TAB_UNAVAILABLE || tab_rpc_lost(s, &away))
        tab_fail(err, s, away.param, "%s", away.message);
    return s;
}

void serve_state_free(void *p)
{
    serve_state *st = p;
    if (st == NULL)
        return;
    for (size_t t = 0; st->imputer != NULL && t < st->n; t++)
        for (size_t c = 0; st->imputer[t] != NULL && c < st->table[t]->cols; c++)
            tab_fitted_free(st->imputer[t][c].fitted);
    tab_fitted_free(st->fitted);
    drift_free(st->drift);
    pthread_mutex_destroy(&st->batch.lock);
    pthread_mutex_destroy(&st->lock);
    tab_arena_free(st->arena); /* st lies in it */
}

tab_status serve_state_new(size_t n, const tab_run_options *options, serve_state **ret, tab_error *err)
{
    if (n == 0 || n > MAX_TABLES)
        return tab_fail(err, TAB_VALIDATION, "sources", "the endpoint pins no data");
    tab_arena *a = tab_arena_new((size_t)4 << 30);
    serve_state *st = a == NULL ? NULL : tab_arena_new_of(a, serve_state, 1);
    if (st == NULL) {
        tab_arena_free(a);
        return tab_no_memory(err);
    }
    st->arena = a;
    st->base = options->base;
    st->threshold = options->threshold;
    st->explain = options->explain;
    st->n = n;
    pthread_mutex_init(&st->batch.lock, NULL);
    pthread_mutex_init(&st->lock, NULL);
    st->table = tab_arena_new_of(a, const tab_table *, n);
    st->profile = tab_arena_new_of(a, tab_profile *, n);
    if (tab_arena_full(a)) {
        serve_state_free(st);
        return tab_no_memory(err);
    }
    *ret = st;
    return TAB_OK;
}

tab_status serve_state_load(inference *self, const tab_call *call, Tabella__TableSource *const *sources,
                            size_t n, const tab_run_options *options, serve_state **ret, tab_error *err)
{
    serve_state *st = NULL;
    tab_status s = serve_state_new(n, options, &st, err);
    for (size_t t = 0; s == TAB_OK && t < n; t++) {
        s = snapshot_load(self, call, st->arena, sources[t], &st->table[t], err);
        if (s == TAB_OK)
            st->cells += (uint64_t)st->table[t]->rows * st->table[t]->cols;
    }
    if (s == TAB_OK)
        *ret = st;
    else
        serve_state_free(st);
    return s;
}

tab_status serve_state_ready(serve_state *st, tab_error *err)
{
    tab_arena *a = st->arena;
    st->seen = tab_arena_new_of(a, Tabella__TableUnderstanding *, st->n);
    serve_imputer **imputer = tab_arena_new_of(a, serve_imputer *, st->n);
    for (size_t t = 0; imputer != NULL && st->seen != NULL && t < st->n; t++) {
        st->table[t] = st->profile[t]->table; /* without the cells that count as missing */
        st->seen[t] = tab_understanding(a, st->profile[t]);
        imputer[t] = tab_arena_new_of(a, serve_imputer, st->table[t]->cols + 1);
    }
    if (st->n > 1)
        st->near = tab_arena_new_of(a, tab_near_index *, st->n);
    for (size_t t = 0; st->near != NULL && t < st->n; t++)
        st->near[t] = tab_near_new(a, st->table[t]);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    st->imputer = imputer;
    return TAB_OK;
}

size_t serve_state_bytes(const serve_state *st)
{
    return tab_arena_used(st->arena) + (st->fitted == NULL ? 0 : tab_fitted_bytes(st->fitted));
}

static tab_status fit(const tab_engine *e, serve_state *st, const tab_run_options *options, tab_error *err)
{
    tab_references refs = { 0 };
    tab_status s = TAB_OK;
    for (size_t t = 0; s == TAB_OK && t < st->n; t++)
        s = tab_profile_given(e, st->table[t], &options->given, &st->profile[t], err);
    tab_profile *const *asked = st->profile;
    tab_horizon ahead;
    if (s == TAB_OK && st->n > 1)
        s = tab_references_find(e, st->profile, st->n, &refs, err);
    if (s == TAB_OK && !tab_sectors_pool(e->arena, st->profile, st->n, &refs))
        s = tab_no_memory(err);
    if (s == TAB_OK)
        s = tab_select_target(e, st->profile, st->n, &refs, options, &st->sel, err);
    if (s == TAB_OK && options->horizon > 0)
        s = tab_look_ahead(e, st->profile, st->n, &st->sel, options, &ahead, &asked, err);
    if (s == TAB_OK && !st->sel.none)
        s = tab_fit_linked(e, asked, st->n, &refs, &st->sel, st->base, options->split, options->as_of,
                           &st->linked, &st->fitted, err);
    if (s == TAB_OK && st->n > 1)
        s = tab_key_columns_named(e, st->profile, st->n, &st->key, err);
    return s == TAB_OK ? serve_state_ready(st, err) : s;
}

/* The fit of an endpoint, with a copy of what the call that caused it said. */
typedef struct {
    inference *self;
    tab_call call;
    const Tabella__ServeState *key;
    pass p;
    tab_run_options options;
    serve_state *st;
    tab_status s;
    tab_error *err;
} make;

enum { FIT_MS = 2 * 3600000 }; /* as long as the pass of a creation */

static void *make_new(void *arg)
{
    const serve_first *f = arg;
    tab_arena *a = tab_arena_new(16 << 20);
    make *k = a == NULL ? NULL : tab_arena_new_of(a, make, 1);
    tab_str bytes = k == NULL ? (tab_str){ NULL, 0 } : tab_proto_write(a, &f->key->base);
    if (bytes.p != NULL) {
        k->self = f->self;
        k->key = tab_proto_read(a, &tabella__serve_state__descriptor, bytes);
        k->call = (tab_call){ .method = f->call->method,
                              .org = tab_proto_text(a, f->call->org),
                              .request_id = tab_proto_text(a, f->call->request_id),
                              .actor = tab_proto_text(a, f->call->actor),
                              .deadline = tab_in_ms(FIT_MS),
                              .cancel = &f->self->ends,
                              .arena = a,
                              .rpc = f->call->rpc };
    }
    if (bytes.p != NULL && k->key != NULL && !tab_arena_full(a))
        return k;
    tab_arena_free(a);
    return NULL;
}

static void make_free(void *own)
{
    make *k = own;
    tab_arena_free(k->call.arena); /* k lies in it */
}

static void compute_state(void *arg)
{
    make *k = arg;
    k->s =
        serve_state_load(k->self, &k->call, k->key->sources, k->key->n_sources, &k->options, &k->st, k->err);
    if (k->s != TAB_OK)
        return;
    tab_engine e = pass_engine(&k->p, k->st->arena, 0);
    k->s = fit(&e, k->st, &k->options, k->err);
}

static tab_status make_state(void *own, void **ret, size_t *ret_bytes, tab_error *err)
{
    make *k = own;
    const Tabella__RunOptions *o = k->key->options;
    const char *base = NULL;
    k->err = err;
    tab_log_context(k->call.request_id, k->call.org);
    TAB_TRY(base_resolve(k->self, k->call.org, o == NULL ? NULL : o->base_model, &base, err));
    TAB_TRY(options_of(k->call.arena, o, base, &k->options, err));
    TAB_TRY(pass_begin(&k->p, k->self, &k->call, NULL, true, err));
    pass_compute(&k->p, compute_state, k);
    pass_end(&k->p);
    if (k->s != TAB_OK) {
        serve_state_free(k->st);
        return pass_status(&k->p, k->s, err);
    }
    *ret = k->st;
    *ret_bytes = serve_state_bytes(k->st);
    return TAB_OK;
}

const tab_states_maker serve_state_maker = { make_new, make_state, make_free };

bool serve_keep(inference *self, tab_call *call, const char *key, serve_state *st)
{
    tab_loan *loan = NULL;
    if (!tab_states_put(self->states, tab_str_of(key), st, serve_state_bytes(st), &loan)) {
        serve_state_free(st);
        return false;
    }
    if (serve_hold(self, call, loan))
        return true;
    tab_states_give(self->states, loan);
    return false;
}
