/* Fitted states: made from snapshots on a miss, or from the parts of the pass that a creation, a refresh,
 * an upgrade or an edit ran over the same data anyway, and the worker that each belongs to. */
#include "services/inference/serve_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"
#include "services/inference/request.h"

/* The organization first, so that one's state is never another's. */
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
    ask.actor = "inference"; /* the owner answers itself, whatever it thinks of who owns */
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
    tab_status s = TAB_OK;
    for (size_t t = 0; s == TAB_OK && t < st->n; t++)
        s = tab_profile_table(e, st->table[t], &st->profile[t], err);
    if (s == TAB_OK)
        s = tab_select(e, st->profile, st->n, options, &st->sel, err);
    if (s == TAB_OK && !st->sel.none) {
        tab_fit_options how = { .base = st->base,
                                .task = st->sel.task,
                                .target = st->sel.column,
                                .labels = st->sel.column < st->table[st->sel.table]->cols,
                                .table = (uint32_t)st->sel.table };
        s = tab_fit(e, st->profile[st->sel.table], &how, &st->fitted, err);
    }
    return s == TAB_OK ? serve_state_ready(st, err) : s;
}

typedef struct {
    const serve_maker *m;
    pass p;
    tab_run_options options;
    serve_state *st;
    tab_status s;
    tab_error *err;
} make;

static void compute_state(void *arg)
{
    make *k = arg;
    const Tabella__ServeState *key = k->m->key;
    k->s =
        serve_state_load(k->m->self, k->m->call, key->sources, key->n_sources, &k->options, &k->st, k->err);
    if (k->s != TAB_OK)
        return;
    tab_engine e = pass_engine(&k->p, k->st->arena, 0);
    k->s = fit(&e, k->st, &k->options, k->err);
}

tab_status serve_state_make(void *arg, void **ret, size_t *ret_bytes, tab_error *err)
{
    serve_maker *m = arg;
    const Tabella__RunOptions *o = m->key->options;
    const char *base = NULL;
    make k = { .m = m, .err = err };
    tab_status s;
    if ((s = base_resolve(m->self, o == NULL ? NULL : o->base_model, &base, err)) != TAB_OK ||
        (s = options_of(o, base, &k.options, err)) != TAB_OK ||
        (s = pass_begin(&k.p, m->self, m->call, NULL, true, err)) != TAB_OK)
        return s;
    pass_compute(&k.p, compute_state, &k);
    pass_end(&k.p);
    if (k.s != TAB_OK) {
        serve_state_free(k.st);
        return k.s;
    }
    *ret = k.st;
    *ret_bytes = serve_state_bytes(k.st);
    return TAB_OK;
}

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
