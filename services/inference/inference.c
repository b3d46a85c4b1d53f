/* The RPC methods of proto/inference.proto. */
#include "services/inference/serve_state.h"

#include "common/proto.h"
#include "services/inference/engine/evaluate/evaluate.h"
#include "services/inference/engine/message.h"

static tab_status run(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__RunRequest *q = call->in;
    Tabella__RunReply *y = call->out;
    const tab_table *const *tables = NULL;
    const char *base = NULL;
    tab_run_options options;
    pass p;
    tab_status s;
    if (q->alone && !self->alone) {
        const Tabella__RunReply *theirs = NULL;
        if ((s = alone_call(self, call, "Run", &tabella__run_reply__descriptor, &theirs, err)) == TAB_OK)
            *y = *theirs;
        return s;
    }
    if ((s = base_resolve(self, q->options == NULL ? NULL : q->options->base_model, &base, err)) != TAB_OK ||
        (s = options_of(q->options, base, &options, err)) != TAB_OK ||
        (s = pass_begin(&p, self, call, q->call_id, true, err)) != TAB_OK)
        return s;
    s = sources_load(self, call, q->sources, q->n_sources, &tables, &y->cells, err);
    if (s == TAB_OK) {
        tab_engine e = pass_engine(&p, call->arena, 0);
        s = tab_engine_run(&e, tables, q->n_sources == 0 ? call->n_tables : q->n_sources, &options,
                           &y->bundle, err);
    }
    pass_end(&p);
    y->base_model = tab_proto_text(call->arena, base);
    return s;
}

/* Rows of the predicted table by the entity they were matched into, so that no entity is on both sides of
 * the split; NULL where nothing was matched. */
static const uint32_t *entities(tab_arena *a, const Tabella__Bundle *b, size_t table, size_t rows)
{
    const Tabella__UnifiedRows *u = b->unified_rows;
    if (u == NULL || u->matched == 0 || u->n_from_tables == 0)
        return NULL;
    uint32_t *entity = tab_arena_new_of(a, uint32_t, rows + 1);
    if (entity == NULL)
        return NULL;
    size_t n = u->n_from_row / u->n_from_tables;
    for (size_t r = 0; r < rows; r++)
        entity[r] = (uint32_t)(n + r); /* a row of no entity is its own */
    for (size_t k = 0; k < n; k++) {
        uint32_t row = u->from_row[k * u->n_from_tables + table];
        if (row < rows)
            entity[row] = (uint32_t)k;
    }
    for (size_t i = 0; i < u->n_also_row; i++)
        if (u->also_table[i] == table && u->also_row[i] < rows)
            entity[u->also_row[i]] = u->also_entity[i];
    return entity;
}

/* The held-out report of what the bundle predicts. Too few rows to hold any out is no failure of the
 * endpoint: it is said where the score would stand. */
static tab_status held_out(tab_engine *e, const tab_table *const *tables, const char *base,
                           const Tabella__Bundle *b, Tabella__HeldOut **ret, tab_error *err)
{
    const Tabella__Prediction *p = b->prediction;
    const tab_table *t = tables[p->table];
    const Tabella__ColumnRef *of = b->target_selection->column; /* an anomaly's labels, too */
    tab_evaluate_options o = { .base = base,
                               .table = p->table,
                               .target = of == NULL ? t->cols : of->column,
                               .labels = of != NULL,
                               .entity = entities(e->arena, b, p->table, t->rows) };
    o.task = strcmp(p->task_type, "classification") == 0 ? TAB_TASK_CLASSIFICATION
             : strcmp(p->task_type, "regression") == 0   ? TAB_TASK_REGRESSION
                                                         : TAB_TASK_ANOMALY;
    tab_error why = { 0 };
    tab_status s = tab_evaluate(e, t, &o, ret, &why);
    if (s == TAB_VALIDATION) {
        Tabella__HeldOut *h = tab_message(e->arena, Tabella__HeldOut, TABELLA__HELD_OUT__INIT);
        if (h == NULL)
            return tab_no_memory(err);
        h->task = p->task_type;
        h->metric = (char *)"none";
        h->split_method = (char *)"in_context_holdout";
        h->unit = (char *)"row";
        h->train_rows = t->rows;
        h->seed = e->seed;
        h->target = b->target_selection->column;
        h->low_confidence = true;
        h->low_confidence_reason = tab_proto_text(e->arena, why.message);
        h->note = (char *)"No rows could be held out; serving uses the full pinned snapshot.";
        *ret = h;
        return TAB_OK;
    }
    return s == TAB_OK ? s : tab_fail(err, s, why.param, "%s", why.message);
}

/* An endpoint's pass: asked, and on its way. */
typedef struct {
    inference *self;
    tab_call *call;
    const Tabella__EvaluateRequest *q;
    Tabella__EvaluateReply *y;
    const char *base;
    tab_run_options options;
    char key[SERVE_KEY]; /* of the state to keep; else nothing is kept */
    bool keep;
} evaluation;

/* Asks the worker that the state belongs to. False: there is no other one to ask. */
static bool asked_owner(evaluation *v, tab_status *ret, tab_error *err)
{
    const Tabella__EvaluateReply *theirs = NULL;
    serve_key(v->key, v->call->org, v->q->keep, v->base);
    *ret = serve_at_owner(v->self, v->call, "Evaluate", v->key, &v->q->base,
                          &tabella__evaluate_reply__descriptor, NULL, &theirs, err);
    if (*ret == TAB_OK)
        *v->y = *theirs;
    return *ret != TAB_UNAVAILABLE || tab_rpc_lost(*ret, err);
}

/* The bundle of the tables and the held-out figures of what it predicts. st, where there is one, gets what
 * serve calls need of the pass. */
static tab_status pass_and_held_out(evaluation *v, pass *p, const tab_table *const *tables, serve_state *st,
                                    Tabella__Bundle **ret, tab_error *err)
{
    size_t n = v->q->n_sources == 0 ? v->call->n_tables : v->q->n_sources;
    /* The bundle's own folds are those of every run (seed 0), so that an endpoint and a run agree. */
    tab_engine e = pass_engine(p, v->call->arena, 0);
    tab_pass_parts parts = { .arena = st == NULL ? NULL : st->arena,
                             .profile = st == NULL ? NULL : st->profile };
    p->to = 0.5;
    tab_status s = tab_engine_pass(&e, tables, n, &v->options, st == NULL ? NULL : &parts, ret, err);
    if (st != NULL) {
        st->fitted = parts.fitted;
        st->sel = parts.selection;
    }
    if (s != TAB_OK || (*ret)->prediction == NULL)
        return s;
    p->from = 0.5;
    p->to = 1;
    e.seed = v->q->seed;
    return held_out(&e, tables, v->base, *ret, &v->y->held_out, err);
}

static tab_status evaluate_here(evaluation *v, serve_state **ret, tab_error *err)
{
    const Tabella__EvaluateRequest *q = v->q;
    const tab_table *const *tables = NULL;
    Tabella__Bundle *b = NULL;
    tab_status s;
    pass p;
    TAB_TRY(pass_begin(&p, v->self, v->call, q->call_id, true, err));
    if (v->keep) {
        s = serve_state_load(v->self, v->call, q->sources, q->n_sources, &v->options, ret, err);
        if (s == TAB_OK) {
            tables = (*ret)->table;
            v->y->cells = (*ret)->cells;
        }
    } else {
        s = sources_load(v->self, v->call, q->sources, q->n_sources, &tables, &v->y->cells, err);
    }
    if (s == TAB_OK)
        s = pass_and_held_out(v, &p, tables, *ret, &b, err);
    pass_end(&p);
    v->y->bundle = q->held_out_only ? NULL : b;
    v->y->base_model = tab_proto_text(v->call->arena, v->base);
    return s;
}

/* The pass of an endpoint. With a state to keep, tables, profiles and the fitted model go to the cache of
 * serve calls in the end, so that the fit is made once; it is then run by the worker that the state
 * belongs to. */
static tab_status evaluate(void *arg, tab_call *call, tab_error *err)
{
    evaluation v = { .self = arg, .call = call, .q = call->in, .y = call->out };
    const Tabella__EvaluateRequest *q = v.q;
    serve_state *st = NULL;
    tab_status s;
    if (q->alone && !v.self->alone) {
        const Tabella__EvaluateReply *theirs = NULL;
        TAB_TRY(alone_call(v.self, call, "Evaluate", &tabella__evaluate_reply__descriptor, &theirs, err));
        *v.y = *theirs;
        return TAB_OK;
    }
    v.keep = q->keep != NULL && !q->alone;
    TAB_TRY(base_resolve(v.self, q->options == NULL ? NULL : q->options->base_model, &v.base, err));
    TAB_TRY(options_of(q->options, v.base, &v.options, err));
    if (v.keep && asked_owner(&v, &s, err))
        return s;
    s = evaluate_here(&v, &st, err);
    if (st == NULL)
        return s;
    if (s == TAB_OK)
        s = serve_state_ready(st, err);
    if (s != TAB_OK) {
        serve_state_free(st);
        return s;
    }
    /* The answer points into the state: it is held until the answer has been packed. */
    return serve_keep(v.self, call, v.key, st) ? TAB_OK : tab_no_memory(err);
}

static tab_status models(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__ModelsRequest *q = call->in;
    return base_models(arg, call->arena, q->with_retired, call->out, err);
}

static tab_status set_base(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__SetBaseRequest *q = call->in;
    tab_status s = base_set(arg, call, q->base_model, q->retired, err);
    return s == TAB_OK ? base_models(arg, call->arena, true, call->out, err) : s;
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method inference_methods[] = {
    METHOD("Run", run_request, run_reply, run),
    METHOD("Evaluate", evaluate_request, evaluate_reply, evaluate),
    METHOD("Serve", serve_request, serve_reply, serve),
    METHOD("Models", models_request, models_reply, models),
    METHOD("SetBase", set_base_request, models_reply, set_base),
    TAB_RPC_METHODS_END,
};
