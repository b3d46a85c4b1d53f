/* Serve: request rows scored with an endpoint's pinned data.
 *
 *   state   (endpoint, base, revisions): pinned tables, their profiles, target and task, the fitted model; made once
 *           from the snapshots, kept in the cache of states.c, read by any number of calls at once
 *   call    columns matched to the pinned ones -> profile merged -> missing cells filled -> target predicted
 *
 * A call goes to the worker that its state belongs to (rendezvous hashing); where that one does not answer, the
 * worker that was asked answers itself. The answer is the same bytes from any of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/proto.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/link/cross_tables.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/predict/select.h"
#include "services/inference/inference.h"
#include "services/inference/request.h"
#include "services/inference/serve_state.h"

static tab_status out_of_memory(tab_error *err)
{
    return tab_fail(err, TAB_INTERNAL, "", "out of memory");
}

/* ---- making a state ------------------------------------------------------------------------- */

void serve_state_free(void *p)
{
    serve_state *st = p;
    if (st == NULL)
        return;
    for (size_t t = 0; st->imputer != NULL && t < st->n; t++)
        for (size_t c = 0; st->imputer[t] != NULL && c < st->table[t]->cols; c++)
            tab_fitted_free(st->imputer[t][c].fitted);
    tab_fitted_free(st->fitted);
    pthread_mutex_destroy(&st->lock);
    tab_arena_free(st->arena); /* st lies in it */
}

typedef struct {
    inference *self;
    tab_call *call;
    const Tabella__ServeState *key;
} maker;

static tab_status make(void *arg, void **ret, size_t *ret_bytes, tab_error *err)
{
    maker *m = arg;
    const Tabella__ServeState *k = m->key;
    const char *base = NULL;
    tab_run_options options;
    tab_status s;
    if ((s = base_resolve(m->self, k->options == NULL ? NULL : k->options->base_model, &base, err)) != TAB_OK ||
        (s = options_of(k->options, base, &options, err)) != TAB_OK)
        return s;
    if (k->n_sources == 0 || k->n_sources > MAX_TABLES)
        return tab_fail(err, TAB_VALIDATION, "sources", "the endpoint pins no data");
    tab_arena *a = tab_arena_new((size_t)4 << 30);
    serve_state *st = a == NULL ? NULL : tab_arena_new_of(a, serve_state, 1);
    if (st == NULL) {
        tab_arena_free(a);
        return out_of_memory(err);
    }
    st->arena = a;
    st->base = base;
    st->threshold = options.threshold;
    st->explain = options.explain;
    st->n = k->n_sources;
    pthread_mutex_init(&st->lock, NULL);
    pass p;
    if ((s = pass_begin(&p, m->self, m->call, NULL, true, err)) != TAB_OK) {
        serve_state_free(st);
        return s;
    }
    tab_engine e = pass_engine(&p, a, 0);
    st->table = tab_arena_new_of(a, const tab_table *, st->n);
    st->profile = tab_arena_new_of(a, tab_profile *, st->n);
    st->seen = tab_arena_new_of(a, Tabella__TableUnderstanding *, st->n);
    st->imputer = tab_arena_new_of(a, serve_imputer *, st->n);
    if (tab_arena_full(a))
        s = out_of_memory(err);
    for (size_t t = 0; s == TAB_OK && t < st->n; t++) {
        if ((s = snapshot_load(m->self, m->call, a, k->sources[t], &st->table[t], err)) != TAB_OK ||
            (s = tab_profile_table(&e, st->table[t], &st->profile[t], err)) != TAB_OK)
            break;
        st->seen[t] = tab_understanding(a, st->profile[t]);
        st->imputer[t] = tab_arena_new_of(a, serve_imputer, st->table[t]->cols + 1);
        st->cells += (uint64_t)st->table[t]->rows * st->table[t]->cols;
        if (st->seen[t] == NULL || st->imputer[t] == NULL)
            s = out_of_memory(err);
    }
    if (s == TAB_OK)
        s = tab_select(&e, st->profile, st->n, &options, &st->sel, err);
    if (s == TAB_OK && !st->sel.none) {
        tab_fit_options fit = { .base = base, .task = st->sel.task, .target = st->sel.column,
                                .table = (uint32_t)st->sel.table };
        s = tab_fit(&e, st->profile[st->sel.table], &fit, &st->fitted, err);
    }
    pass_end(&p);
    if (s != TAB_OK) {
        serve_state_free(st);
        return s;
    }
    *ret = st;
    *ret_bytes = tab_arena_used(a) + (st->fitted == NULL ? 0 : tab_fitted_bytes(st->fitted));
    return TAB_OK;
}

/* ---- answering ------------------------------------------------------------------------------ */

/* The pinned table's understanding with the request's rows merged in: what is counted is added, what was
 * concluded from all values stands. */
static Tabella__TableUnderstanding *merged(tab_arena *a, const serve_state *st, size_t t, const tab_table *rows)
{
    const Tabella__TableUnderstanding *pinned = st->seen[t];
    Tabella__TableUnderstanding *m = tab_message(a, Tabella__TableUnderstanding, TABELLA__TABLE_UNDERSTANDING__INIT);
    if (m == NULL)
        return NULL;
    *m = *pinned;
    m->rows = rows->rows;
    m->column_profile = tab_arena_new_of(a, Tabella__ColumnProfile *, pinned->n_column_profile + 1);
    Tabella__ColumnProfile *c = tab_arena_new_of(a, Tabella__ColumnProfile, pinned->n_column_profile + 1);
    if (m->column_profile == NULL || c == NULL)
        return NULL;
    double before = (double)pinned->rows;
    for (size_t i = 0; i < pinned->n_column_profile; i++) {
        size_t missing = 0;
        for (size_t r = 0; r < rows->rows; r++)
            missing += rows->col[i].layout == TAB_NUMBERS ? isnan(rows->col[i].num[r]) : rows->col[i].code[r] == TAB_NULL;
        c[i] = *pinned->column_profile[i];
        double all = before + (double)rows->rows;
        c[i].missing_pct = all == 0 ? 0 : (c[i].missing_pct * before + (double)missing) / all;
        m->column_profile[i] = &c[i];
    }
    return m;
}

/* Two tables or more in one call: their rows aligned and matched with each other, as a run does. */
static tab_status cross(const tab_engine *e, const serve_state *st, const serve_request *r, Tabella__Bundle *b,
                        tab_error *err)
{
    tab_profile **p = tab_arena_new_of(e->arena, tab_profile *, r->n + 1);
    tab_status s = p == NULL ? out_of_memory(err) : TAB_OK;
    for (size_t i = 0; s == TAB_OK && i < r->n; i++)
        s = tab_profile_table(e, r->table[i], &p[i], err);
    if (s == TAB_OK)
        s = tab_cross_tables(e, p, r->n, st->threshold, &b->cross_table_map, &b->unified_rows, &b->records_linked, err);
    if (s == TAB_OK)
        b->shared_attributes = (uint32_t)b->cross_table_map->n_shared;
    return s;
}

static tab_status answer(inference *self, tab_call *call, serve_state *st, Tabella__ServeReply *y, tab_error *err)
{
    tab_arena *a = call->arena;
    serve_request r;
    pass p;
    tab_status s = serve_request_read(a, st, call->tables, call->n_tables, &r, err);
    if (s == TAB_OK)
        s = pass_begin(&p, self, call, NULL, false, err);
    if (s != TAB_OK)
        return s;
    tab_engine e = pass_engine(&p, a, 0);
    e.progress = NULL;
    Tabella__Bundle *b = tab_message(a, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    if (b == NULL || (b->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, r.n + 1)) == NULL) {
        pass_end(&p);
        return out_of_memory(err);
    }
    b->base_model = (char *)st->base;
    b->target_selection = st->sel.target;
    b->task_selection = st->sel.how;
    for (size_t i = 0; s == TAB_OK && i < r.n; i++) {
        b->tables[b->n_tables++] = merged(a, st, r.pinned[i], r.table[i]);
        b->records_total += r.table[i]->rows;
        y->request_cells += (uint64_t)r.table[i]->rows * r.table[i]->cols;
        if (b->tables[i] == NULL)
            s = out_of_memory(err);
        if (s == TAB_OK && st->fitted != NULL && r.pinned[i] == st->sel.table) {
            s = tab_score(&e, st->fitted, r.table[i], st->explain, &b->prediction, err);
            if (s == TAB_OK)
                b->prediction->table = (uint32_t)i;
            else
                serve_request_param(&r, i, err);
        }
    }
    if (s == TAB_OK && r.n > 1)
        s = cross(&e, st, &r, b, err);
    if (s == TAB_OK)
        s = serve_impute(self, &e, st, &r, b->prediction, &b->imputation, err);
    pass_end(&p);
    y->bundle = b;
    y->pinned_cells = st->cells;
    return s;
}

tab_status serve(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__ServeRequest *q = call->in;
    Tabella__ServeReply *y = call->out;
    const Tabella__ServeState *k = q->state;
    if (k == NULL || k->endpoint_id[0] == 0)
        return tab_fail(err, TAB_VALIDATION, "state", "no endpoint to serve");

    /* The key of the state; the organization first, so that one's state is never another's. */
    char key[400], buf[40];
    snprintf(key, sizeof key, "%s/%s/%s/%llu/%llu", call->org, k->endpoint_id,
             k->options == NULL ? "" : k->options->base_model, (unsigned long long)k->config_revision,
             (unsigned long long)k->data_revision);
    const char *owner = strcmp(call->actor, "inference") == 0 ? NULL : worker_of(self, key, buf);
    if (owner != NULL) {
        tab_ask ask = { .service = "inference", .method = "Serve", .worker = owner, .in = &q->base,
                        .tables = call->tables, .n_tables = call->n_tables,
                        .reply = &tabella__serve_reply__descriptor, .arena = call->arena };
        tab_answer reply = { 0 };
        tab_error away = { 0 };
        tab_ask_inherit(&ask, call);
        ask.actor = "inference"; /* the owner answers itself, whatever it thinks of who owns */
        tab_status s = tab_rpc_call(self->rpc, &ask, &reply, &away);
        if (s == TAB_OK) {
            *y = *(const Tabella__ServeReply *)reply.msg;
            return TAB_OK;
        }
        if (s != TAB_UNAVAILABLE)
            return tab_fail(err, s, away.param, "%s", away.message);
    }
    /* A retired base is refused although its state may still be warm. */
    const char *base = NULL;
    tab_status s = base_resolve(self, k->options == NULL ? NULL : k->options->base_model, &base, err);
    if (s != TAB_OK)
        return s;
    maker m = { self, call, k };
    tab_loan *loan = NULL;
    bool warm = false;
    s = tab_states_take(self->states, tab_str_of(key), make, &m, call->cancel, &loan, &warm, err);
    if (s != TAB_OK)
        return s;
    s = answer(self, call, tab_loan_state(loan), y, err);
    /* What the answer points to in the state is copied by packing it after this returns: hold it until then. */
    if (s == TAB_OK && !serve_hold(self, call, loan))
        s = out_of_memory(err);
    if (s != TAB_OK)
        tab_states_give(self->states, loan);
    y->warm = warm;
    y->worker = (char *)tab_rpc_worker(self->rpc);
    return s;
}
