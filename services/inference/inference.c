/* The RPC methods of proto/inference.proto. */
#include "services/inference/states/serve_state.h"

#include "common/base/hash.h"
#include "common/base/proto.h"
#include "services/inference/engine/evaluate/held_out.h"
#include "services/inference/engine/message.h"
#include "services/inference/states/state_seal.h"

/* One run, or one evaluation, between the beginning and the end of its pass. */
typedef struct {
    pass p;
    tab_call *call;
    const char *base;
    tab_run_options options;
    tab_status s;
    tab_error *err;
    bool keep; /* an evaluation's: the state is kept for serve calls */
    serve_state *st;
    Tabella__Bundle *bundle;
} work;

static void compute_run(void *arg)
{
    work *w = arg;
    tab_call *call = w->call;
    const Tabella__RunRequest *q = call->in;
    Tabella__RunReply *y = call->out;
    const tab_table *const *tables = NULL;
    w->s = sources_load(w->p.self, call, q->sources, q->n_sources, &tables, &y->cells, w->err);
    if (w->s != TAB_OK)
        return;
    tab_engine e = pass_engine(&w->p, call->arena, 0);
    size_t n = q->n_sources == 0 ? call->n_tables : q->n_sources;
    w->s = tab_engine_run(&e, tables, n, &w->options, &y->bundle, w->err);
    for (size_t i = 0; w->s == TAB_OK && i < q->n_sources && i < y->bundle->n_tables; i++)
        y->bundle->tables[i]->reading =
            (ProtobufCBinaryData){ strlen(q->sources[i]->reading), (uint8_t *)q->sources[i]->reading };
}

static tab_status run(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__RunRequest *q = call->in;
    Tabella__RunReply *y = call->out;
    work w = { .call = call, .err = err };
    tab_status s;
    if (q->alone && !self->alone) {
        const Tabella__RunReply *theirs = NULL;
        if ((s = isolated_pass_call(self, call, "Run", &tabella__run_reply__descriptor, &theirs, err)) ==
            TAB_OK)
            *y = *theirs;
        return s;
    }
    const char *base = q->options == NULL ? NULL : q->options->base_model;
    if ((s = base_resolve(self, call->org, base, &w.base, err)) != TAB_OK ||
        (s = options_of(call->arena, q->options, w.base, &w.options, err)) != TAB_OK ||
        (s = pass_begin(&w.p, self, call, q->call_id, true, err)) != TAB_OK)
        return s;
    if (q->call_id[0] == 0)
        pass_told_as(&w.p, q->told_as);
    pass_compute(&w.p, compute_run, &w);
    pass_end(&w.p);
    w.s = pass_status(&w.p, w.s, err);
    y->base_model = tab_proto_text(call->arena, base_shown(base, w.base));
    return w.s != TAB_OK ? w.s : pieces_put(self, call, q->pieces, &y->bundle, &y->in_pieces, err);
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

/* The split of a report goes by what the predicted table holds: two endpoints on the same cells have the same
 * report, whatever their ids are. 53 bits: JSON's numbers hold them. */
static uint64_t seed_of(const tab_table *t)
{
    uint64_t seed = TAB_FNV1A;
    for (size_t c = 0; c < t->cols; c++) {
        const tab_column *q = &t->col[c];
        if (q->layout == TAB_NUMBERS) {
            seed = tab_fnv1a(seed, q->num, t->rows * sizeof *q->num);
            continue;
        }
        seed = tab_fnv1a(seed, q->code, t->rows * sizeof *q->code);
        seed = tab_fnv1a(seed, q->text, q->levels > 0 ? q->end[q->levels - 1] : 0);
    }
    return seed >> 11;
}

/* The report's split is that of the bundle's own folds; its score stands beside what a random split says. */
static tab_status evaluate_split(tab_engine *e, const tab_table *t, const Tabella__Split *split,
                                 tab_evaluate_options *o, Tabella__HeldOut **ret, tab_error *err)
{
    Tabella__HeldOut *random = NULL;
    Tabella__Split *m = split == NULL ? NULL : tab_message(e->arena, Tabella__Split, TABELLA__SPLIT__INIT);
    bool time = split != NULL && strcmp(split->kind, "time") == 0;
    bool group = split != NULL && strcmp(split->kind, "group") == 0;
    if (split != NULL && m == NULL)
        return tab_no_memory(err);
    o->split = time ? TAB_SPLIT_TIME : group ? TAB_SPLIT_GROUP : TAB_SPLIT_RANDOM;
    o->by = split != NULL && split->by != NULL ? split->by->column : t->cols;
    TAB_TRY(tab_evaluate(e, t, o, ret, err));
    (*ret)->split = m;
    if (m == NULL)
        return TAB_OK;
    *m = *split;
    m->metric = (*ret)->metric;
    m->score = m->random_score = (*ret)->score;
    if (!time && !group)
        return TAB_OK;
    o->split = TAB_SPLIT_RANDOM;
    TAB_TRY(tab_evaluate(e, t, o, &random, err));
    m->random_score = random->score;
    return TAB_OK;
}

/* The held-out report of what the bundle predicts. Too few rows to hold any out is no failure of the
 * endpoint: it is said where the score would stand. */
static tab_status held_out(tab_engine *e, const tab_table *const *tables, const tab_run_options *options,
                           const tab_links *links, const Tabella__Bundle *b, Tabella__HeldOut **ret,
                           tab_error *err)
{
    const Tabella__Prediction *p = b->prediction;
    const tab_table *t = tables[p->table];
    const Tabella__ColumnRef *of = b->target_selection->column; /* an anomaly's labels, too */
    tab_evaluate_options o = { .base = options->base,
                               .given = &options->given,
                               .table = p->table,
                               .target = of == NULL ? t->cols : of->column,
                               .labels = of != NULL,
                               .cut = options->anomaly,
                               .links = links,
                               .entity = entities(e->arena, b, p->table, t->rows) };
    o.task = strcmp(p->task_type, "classification") == 0 ? TAB_TASK_CLASSIFICATION
             : strcmp(p->task_type, "regression") == 0   ? TAB_TASK_REGRESSION
                                                         : TAB_TASK_ANOMALY;
    tab_error why = { 0 };
    tab_status s = evaluate_split(e, t, p->split, &o, ret, &why);
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

static void compute_evaluation(void *arg)
{
    work *w = arg;
    tab_call *call = w->call;
    const Tabella__EvaluateRequest *q = call->in;
    Tabella__EvaluateReply *y = call->out;
    const tab_table *const *tables = NULL;
    size_t n = q->n_sources == 0 ? call->n_tables : q->n_sources;
    if (w->keep) {
        w->s = serve_state_load(w->p.self, call, q->sources, q->n_sources, &w->options, &w->st, w->err);
        if (w->s == TAB_OK) {
            tables = w->st->table;
            y->cells = w->st->cells;
        }
    } else {
        w->s = sources_load(w->p.self, call, q->sources, q->n_sources, &tables, &y->cells, w->err);
    }
    if (w->s != TAB_OK)
        return;
    /* The bundle's own folds are those of every run (seed 0), so that an endpoint and a run agree. */
    tab_engine e = pass_engine(&w->p, call->arena, 0);
    serve_state *st = w->st;
    tab_pass_parts parts = { .arena = st == NULL ? call->arena : st->arena,
                             .profile =
                                 st == NULL ? tab_arena_new_of(call->arena, tab_profile *, n) : st->profile };
    if (parts.profile == NULL) {
        w->s = tab_no_memory(w->err);
        return;
    }
    w->p.to = 0.5;
    w->s = tab_engine_pass(&e, tables, n, &w->options, &parts, &w->bundle, w->err);
    if (st != NULL) {
        st->fitted = parts.fitted;
        st->linked = parts.linked;
        st->sel = parts.selection;
        st->key = parts.key;
    } else {
        tab_fitted_free(parts.fitted);
    }
    if (w->s == TAB_OK && w->bundle->prediction != NULL) {
        w->p.from = 0.5;
        w->p.to = 1;
        e.seed = q->seed != 0 ? q->seed : seed_of(tables[w->bundle->prediction->table]);
        w->s = held_out(&e, tables, &w->options, parts.linked.links, w->bundle, &y->held_out, w->err);
        if (w->s == TAB_OK) { /* a report doubts what the pass doubts */
            y->held_out->n_warnings = w->bundle->n_warnings;
            y->held_out->warnings = w->bundle->warnings;
            y->held_out->n_leaks = w->bundle->prediction->n_leaks;
            y->held_out->leaks = w->bundle->prediction->leaks;
        }
    }
}

/* The pass of an endpoint. With a state to keep, tables, profiles and the fitted model go to the cache of
 * serve calls in the end, so that the fit is made once; it is then run by the worker that the state
 * belongs to. */
static tab_status evaluate(void *arg, tab_call *call, tab_error *err)
{
    inference *self = arg;
    const Tabella__EvaluateRequest *q = call->in;
    Tabella__EvaluateReply *y = call->out;
    char key[SERVE_KEY];
    work w = { .call = call, .err = err, .keep = q->keep != NULL && !q->alone };
    const Tabella__EvaluateReply *theirs = NULL;
    tab_status s;
    if (q->alone && !self->alone) {
        s = isolated_pass_call(self, call, "Evaluate", &tabella__evaluate_reply__descriptor, &theirs, err);
        if (s == TAB_OK)
            *y = *theirs;
        return s;
    }
    const char *base = q->options == NULL ? NULL : q->options->base_model;
    if ((s = base_resolve(self, call->org, base, &w.base, err)) != TAB_OK ||
        (s = options_of(call->arena, q->options, w.base, &w.options, err)) != TAB_OK)
        return s;
    if (w.keep) {
        serve_key(key, call->org, q->keep, w.base);
        s = serve_at_owner(self, call, "Evaluate", key, &q->base, &tabella__evaluate_reply__descriptor, NULL,
                           &theirs, err);
        if (s != TAB_UNAVAILABLE || tab_rpc_lost(s, err)) {
            if (s == TAB_OK)
                *y = *theirs;
            return s;
        }
    }
    if ((s = pass_begin(&w.p, self, call, q->call_id, true, err)) != TAB_OK)
        return s;
    pass_compute(&w.p, compute_evaluation, &w);
    pass_end(&w.p);
    w.s = pass_status(&w.p, w.s, err);
    y->bundle = q->held_out_only ? NULL : w.bundle;
    y->base_model = tab_proto_text(call->arena, base_shown(base, w.base));
    if (w.s == TAB_OK)
        w.s = pieces_put(self, call, q->pieces, &y->bundle, &y->in_pieces, err);
    if (w.st == NULL)
        return w.s;
    if (w.s == TAB_OK)
        w.s = serve_state_ready(w.st, err);
    if (w.s != TAB_OK) {
        serve_state_free(w.st);
        return w.s;
    }
    /* The answer points into the state: it is held until the answer has been packed. */
    return serve_keep(self, call, key, w.st) ? TAB_OK : tab_no_memory(err);
}

static tab_status models(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__ModelsRequest *q = call->in;
    return base_models(arg, call->arena, call->org, q->with_retired, call->out, err);
}

static tab_status set_base(void *arg, tab_call *call, tab_error *err)
{
    const Tabella__SetBaseRequest *q = call->in;
    tab_status s = base_set(arg, call, q, err);
    return s == TAB_OK ? base_models(arg, call->arena, "", true, call->out, err) : s;
}

#define METHOD(name, in, out, fn)                                             \
    {                                                                         \
        name, &tabella__##in##__descriptor, &tabella__##out##__descriptor, fn \
    }

const tab_rpc_method inference_methods[] = {
    METHOD("Run", run_request, run_reply, run),
    METHOD("Evaluate", evaluate_request, evaluate_reply, evaluate),
    METHOD("Horizon", horizon_request, horizon_reply, inference_horizon),
    METHOD("Serve", serve_request, serve_reply, serve),
    METHOD("Hold", hold_state, hold_reply, homes_hold),
    METHOD("Generate", generate_request, generate_reply, inference_generate),
    METHOD("Models", models_request, models_reply, models),
    METHOD("SetBase", set_base_request, models_reply, set_base),
    METHOD("Reseal", reseal_states_request, reseal_states_reply, states_reseal),
    TAB_RPC_METHODS_END,
};
