#include "services/inference/tests/odd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_json.h"
#include "services/inference/states/serve_state.h"
#include "services/inference/states/state_pack.h"
#include "services/inference/tests/odd_tables.h"

/* ---- what must hold -------------------------------------------------------------------------- */

static char said[400];
static size_t answered;

size_t odd_answered(void)
{
    return answered;
}

static const char *say(const char *what, const char *of)
{
    snprintf(said, sizeof said, "%.80s: %.300s", what, of);
    return said;
}

static const char *number_holds(const char *name, double x)
{
    if (!isfinite(x))
        return say("not finite", name);
    bool share = strstr(name, "confidence") != NULL || strcmp(name, "probabilities") == 0 ||
                 strcmp(name, "missing_pct") == 0;
    return share && !(x >= 0 && x <= 1) ? say("not in 0 to 1", name) : NULL;
}

/* Every number of a message and of those that it holds. */
static const char *numbers_hold(const ProtobufCMessage *m)
{
    const char *why = NULL;
    for (unsigned i = 0; i < m->descriptor->n_fields && why == NULL; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        const char *at = (const char *)m + f->offset;
        bool many = f->label == PROTOBUF_C_LABEL_REPEATED;
        size_t n = many ? *(const size_t *)(const void *)((const char *)m + f->quantifier_offset) : 1;
        const void *items = many ? *(void *const *)(const void *)at : at;
        for (size_t k = 0; k < n && why == NULL; k++)
            if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
                why = number_holds(f->name, ((const double *)items)[k]);
            } else if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
                const ProtobufCMessage *child = ((ProtobufCMessage *const *)items)[k];
                why = child == NULL ? NULL : numbers_hold(child);
            }
    }
    return why;
}

static const char *fills_hold(const Tabella__Imputation *m, const tab_table *const *tables, size_t n)
{
    tab_column value;
    if (m == NULL || !tab_column_view(m->value, m->n_row, &value))
        return m == NULL ? "no imputation" : "values of filled cells cannot be read";
    for (size_t i = 0; i < m->n_row; i++) {
        if (m->table[i] >= n || m->row[i] >= tables[m->table[i]]->rows)
            return "a filled cell is outside its table";
        if (tab_cell_at(&tables[m->table[i]]->col[m->column[i]], m->row[i]).kind != TAB_CELL_NULL)
            return "a supplied cell is filled";
        tab_cell cell = tab_cell_at(&value, i);
        if (cell.kind == TAB_CELL_NULL ||
            (cell.kind == TAB_CELL_NUMBER && cell.text.n == 0 && !isfinite(cell.num)))
            return "a cell is filled with nothing";
    }
    return NULL;
}

static const char *results_hold(const Tabella__Prediction *p, const Tabella__Results *r, size_t rows)
{
    size_t k = r == NULL || r->n_row == 0 ? 0 : r->n_probabilities / r->n_row;
    for (size_t i = 0; r != NULL && i < r->n_row; i++) {
        double sum = 0;
        for (size_t c = 0; c < k; c++)
            sum += r->probabilities[i * k + c];
        /* of one class it is not certain (decision 0641) */
        if (k > 0 && (k == 1 ? !(sum > 0.5 && sum < 1) : fabs(sum - 1) > 1e-6))
            return "probabilities do not sum to 1";
        for (size_t l = 1; r->n_quantiles > 0 && l < p->n_quantile_levels; l++)
            if (r->quantiles[i * p->n_quantile_levels + l] < r->quantiles[i * p->n_quantile_levels + l - 1])
                return "quantiles cross";
        if (r->n_std > 0 && r->std[i] < 0)
            return "a negative standard deviation";
        if (r->row[i] >= rows)
            return "a result is outside its table";
    }
    return NULL;
}

/* tables[i] are those that b->tables[i] speak of. */
static const char *bundle_holds(const Tabella__Bundle *b, const tab_table *const *tables, size_t n)
{
    if (b == NULL || !tab_bundle_sound(b))
        return b == NULL ? "no bundle" : "the bundle is not sound";
    const char *why = numbers_hold(&b->base);
    if (why == NULL)
        why = fills_hold(b->imputation, tables, n);
    const Tabella__Prediction *p = b->prediction;
    if (why == NULL && p != NULL)
        why =
            p->table >= n ? "a prediction of no table" : results_hold(p, p->results, tables[p->table]->rows);
    if (why == NULL && p != NULL)
        why = results_hold(p, p->missing_target_results, tables[p->table]->rows);
    answered++;
    return why;
}

/* The interface's own refusals; anything else is a fault of ours. */
static const char *refusal_holds(tab_status s, const char *param, const char *message)
{
    if (s != TAB_VALIDATION && s != TAB_CAPABILITY)
        return say(tab_status_name(s), message);
    return param[0] == 0 || message[0] == 0 ? "a refusal says neither what nor where" : NULL;
}

/* ---- the ways of the daemon ------------------------------------------------------------------ */

static inference *daemon_of(void)
{
    static inference self = { .lock = PTHREAD_MUTEX_INITIALIZER,
                              .slot = PTHREAD_COND_INITIALIZER,
                              .cores = 1 };
    static const size_t places[SLOT_LANES] = { 1, 1 };
    if (self.pool == NULL) {
        self.pool = tab_pool_new(0, false);
        self.behind = tab_pool_new(0, true);
        self.shares = tab_shares_new();
        self.slots = tab_fair_queue_new(SLOT_LANES, places, 1);
    }
    self.retired_at = tab_mono_ms(); /* no base is retired, and nobody is asked */
    return &self;
}

static void options_from(const odd *o, Tabella__RunOptions *ret)
{
    tabella__run_options__init(ret);
    ret->base_model = (char *)o->base;
    ret->task = (char *)o->task;
    ret->target_mode = (char *)o->mode;
    ret->target_column = (ProtobufCBinaryData){ strlen(o->target), (uint8_t *)o->target };
    ret->threshold = o->threshold;
    ret->explain = o->explain;
}

static const atomic_bool never;

/* The pass of an endpoint's creation: the bundle and the held-out report. */
static const char *evaluated(tab_arena *a, const odd *o)
{
    Tabella__RunOptions options;
    Tabella__EvaluateRequest q = TABELLA__EVALUATE_REQUEST__INIT;
    Tabella__EvaluateReply y = TABELLA__EVALUATE_REPLY__INIT;
    options_from(o, &options);
    q.options = &options;
    q.seed = 7;
    tab_call call = {
        .org = "", .cancel = &never, .arena = a, .in = &q, .out = &y, .tables = o->tables, .n_tables = o->n
    };
    tab_error err = { 0 };
    const tab_rpc_method *m = inference_methods;
    while (strcmp(m->name, "Evaluate") != 0)
        m++;
    tab_status s = m->fn(daemon_of(), &call, &err);
    if (s != TAB_OK)
        return refusal_holds(s, err.param, err.message);
    const char *why = bundle_holds(y.bundle, o->tables, o->n);
    return why != NULL || y.held_out == NULL ? why : numbers_hold(&y.held_out->base);
}

/* The state of an endpoint as its creation leaves it; *why: what does not hold. */
static serve_state *pinned(tab_arena *a, const odd *o, const char **why)
{
    Tabella__RunOptions options;
    tab_run_options run;
    tab_error err = { 0 };
    serve_state *st = NULL;
    const char *base = NULL;
    pass p;
    options_from(o, &options);
    tab_call call = { .org = "", .cancel = &never, .arena = a };
    tab_status s = base_resolve(daemon_of(), call.org, options.base_model, &base, &err);
    if (s == TAB_OK && (s = options_of(a, &options, base, &run, &err)) == TAB_OK &&
        (s = serve_state_new(o->n, &run, &st, &err)) == TAB_OK &&
        (s = pass_begin(&p, daemon_of(), &call, NULL, true, &err)) == TAB_OK) {
        Tabella__Bundle *b = NULL;
        for (size_t t = 0; t < o->n; t++)
            st->table[t] = o->tables[t];
        tab_engine e = pass_engine(&p, a, 0);
        tab_pass_parts parts = { .arena = st->arena, .profile = st->profile };
        s = tab_engine_pass(&e, o->tables, o->n, &run, &parts, &b, &err);
        st->linked = parts.linked;
        st->fitted = parts.fitted;
        st->sel = parts.selection;
        pass_end(&p);
        if (s == TAB_OK)
            *why = bundle_holds(b, o->tables, o->n);
        if (s == TAB_OK && *why == NULL)
            s = serve_state_ready(st, &err);
    }
    if (s != TAB_OK)
        *why = refusal_holds(s, err.param, err.message);
    if (s == TAB_OK && *why == NULL)
        return st;
    serve_state_free(st);
    return NULL;
}

/* The state again, from its bytes. */
static serve_state *read_back(serve_state *st, const char **why)
{
    static const uint8_t key[STATE_KEY] = "odd";
    serve_state *again = NULL;
    uint8_t *bytes = NULL;
    size_t n = 0;
    tab_error err = { 0 };
    tab_str name = TAB_S("org/endpoint");
    tab_status s = state_write(st, name, key, &bytes, &n, &err);
    if (s == TAB_OK)
        s = state_read((tab_str){ (const char *)bytes, n }, name, key, &again, &err);
    free(bytes);
    if (s != TAB_OK)
        *why = say("a state is not read back", err.message);
    return again;
}

/* A state that was written and read answers the same bytes. */
static const char *same_answer(tab_arena *a, const tab_call *call, const Tabella__ServeRequest *q,
                               serve_state *st, const Tabella__ServeReply *y)
{
    const char *why = NULL;
    serve_state *again = read_back(st, &why);
    Tabella__ServeReply z = TABELLA__SERVE_REPLY__INIT;
    tab_call own = *call;
    tab_error err = { 0 };
    if (again != NULL && serve_answer(daemon_of(), &own, q, again, &z, &err) != TAB_OK)
        why = say("a state that was read does not serve", err.message);
    if (why == NULL && !tab_str_eq(tab_proto_write(a, &y->base), tab_proto_write(a, &z.base)))
        why = "a state that was read answers otherwise";
    serve_state_free(again);
    return why;
}

/* A serve call of every table, and one of the last alone beside it. */
static const char *served(tab_arena *a, source *s, const odd *o)
{
    const char *why = NULL;
    serve_state *st = pinned(a, o, &why);
    if (st == NULL)
        return why;
    serve_state *fresh = read_back(st, &why); /* before anything was asked of it */
    tab_table row[4];
    const tab_table *rows[4];
    size_t most = 1 + odd_next(s, 5);
    for (size_t t = 0; t <= o->n && why == NULL; t++) {
        plan p = o->plan[t < o->n ? t : o->n - 1];
        for (size_t c = 0; c < p.cols; c++)
            if (odd_next(s, 8) == 7) /* a column of cells that are nothing like the pinned ones */
                p.col[c].kind = odd_next(s, 2 * KINDS + 1);
        if (!odd_add_table(a, &p, odd_next(s, 16) == 15 ? 0 : most, t + 5, s, &row[t]))
            why = "out of memory";
        rows[t] = &row[t];
    }
    uint32_t calls[] = { (uint32_t)o->n, 1 };
    Tabella__ServeRequest q = TABELLA__SERVE_REQUEST__INIT;
    Tabella__ServeReply y = TABELLA__SERVE_REPLY__INIT;
    Tabella__ServeState of = TABELLA__SERVE_STATE__INIT;
    q.state = &of;
    q.n_calls = 2;
    q.calls = calls;
    tab_call call = { .org = "", .cancel = &never, .arena = a, .tables = rows, .n_tables = o->n + 1 };
    tab_error err = { 0 };
    tab_status status = why == NULL ? serve_answer(daemon_of(), &call, &q, st, &y, &err) : TAB_OK;
    if (status != TAB_OK)
        why = say("serve", err.message);
    for (size_t i = 0; i < y.n_parts && why == NULL; i++) {
        const Tabella__ServePart *part = y.parts[i];
        if (part->status != TAB_OK) {
            why = refusal_holds((tab_status)part->status, part->param, part->message);
            continue;
        }
        Tabella__Bundle b = *part->bundle; /* what later parts share stands in the first ones */
        const Tabella__Bundle *first = y.parts[part->tables_of]->bundle;
        b.tables = first->tables;
        b.n_tables = first->n_tables;
        why = bundle_holds(&b, i == 0 ? rows : rows + o->n, calls[i]);
    }
    if (why == NULL) /* without imputers, and with those that the call has fitted */
        why = same_answer(a, &call, &q, fresh, &y);
    if (why == NULL)
        why = same_answer(a, &call, &q, st, &y);
    serve_state_free(fresh);
    serve_state_free(st);
    return why;
}

const char *odd_try(const uint8_t *bytes, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    source s = { bytes, bytes + n };
    odd o;
    if (a == NULL || !odd_make(a, &s, &o))
        return "out of memory";
    return o.path == 0 ? evaluated(a, &o) : served(a, &s, &o);
}
