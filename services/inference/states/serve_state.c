/* See serve_state.h: what a state is made of. serve_maker.c makes them, state_pack.c writes and reads. */
#include "services/inference/states/serve_state.h"

#include "services/inference/serve/drift.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/keys/keys.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/pool.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/serve/request.h"

/* The key begins with the organization, so that a state is never another's. */
void serve_key(char key[SERVE_KEY], const char *org, const Tabella__ServeState *k, const char *base)
{
    snprintf(key, SERVE_KEY, "%s/%s/%s/%llu/%llu", org, k->endpoint_id, base,
             (unsigned long long)k->config_revision, (unsigned long long)k->data_revision);
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

tab_status serve_state_empty(serve_state **ret, tab_error *err)
{
    tab_arena *a = tab_arena_new((size_t)4 << 30);
    serve_state *st = a == NULL ? NULL : tab_arena_new_of(a, serve_state, 1);
    if (st == NULL) {
        tab_arena_free(a);
        return tab_no_memory(err);
    }
    st->arena = a;
    pthread_mutex_init(&st->batch.lock, NULL);
    pthread_mutex_init(&st->lock, NULL);
    *ret = st;
    return TAB_OK;
}

tab_status serve_state_new(size_t n, const tab_run_options *options, serve_state **ret, tab_error *err)
{
    serve_state *st = NULL;
    if (n == 0 || n > MAX_TABLES)
        return tab_fail(err, TAB_VALIDATION, "sources", "this endpoint has no pinned data");
    TAB_TRY(serve_state_empty(&st, err));
    tab_arena *a = st->arena;
    st->base = options->base;
    st->threshold = options->threshold;
    st->explain = options->explain;
    st->n = n;
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
        st->near = tab_arena_new_of(a, tab_row_index *, st->n);
    for (size_t t = 0; st->near != NULL && t < st->n; t++)
        st->near[t] = tab_row_index_new(a, st->table[t]);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    st->imputer = imputer;
    return TAB_OK;
}

size_t serve_state_bytes(const serve_state *st)
{
    return tab_arena_used(st->arena) + (st->fitted == NULL ? 0 : tab_fitted_bytes(st->fitted));
}
