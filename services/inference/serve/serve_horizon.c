/* A serve call that asks the next steps of every pinned series in place of rows (decision 0394). An
 * endpoint whose configuration asks for as many steps was fitted with them, and answers at once; for
 * another number the model is fitted anew, as a run of the pinned tables would be, and answers the same. */
#include "common/base/proto.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/keys/keys.h"
#include "services/inference/engine/message.h"
#include "services/inference/serve/request.h"

typedef struct {
    pass p;
    tab_call *call;
    serve_state *st;
    tab_run_options options; /* the endpoint's, with the horizon of the call */
    bool fitted;             /* the state's model was fitted with these steps */
    Tabella__Prediction *m;
    tab_status s;
    tab_error *err;
} work;

static void compute(void *arg)
{
    work *w = arg;
    serve_state *st = w->st;
    TAB_AUTO(tab_fitted) *own = NULL;
    const tab_fitted *f = st->fitted;
    tab_engine e = pass_engine(&w->p, w->call->arena, 0);
    tab_references refs = { 0 };
    tab_linked linked = { 0 };
    tab_profile *const *asked = NULL;
    tab_horizon h;
    tab_status s = tab_look_ahead(&e, st->profile, st->n, &st->sel, &w->options, &h, &asked, w->err);
    if (s == TAB_OK && !w->fitted) {
        if (st->n > 1)
            s = tab_references_find(&e, st->profile, st->n, &refs, w->err);
        if (s == TAB_OK)
            s = tab_fit_linked(&e, asked, st->n, &refs, &st->sel, &w->options, false, &linked, &own, w->err);
        f = own;
    }
    if (s == TAB_OK)
        s = tab_fitted_results(&e, f, false, &w->m, w->err);
    if (s == TAB_OK &&
        !tab_horizon_tell(w->call->arena, &h, (uint32_t)st->sel.table, tab_fitted_ahead(f), w->m))
        s = tab_no_memory(w->err);
    w->s = s;
}

/* The bundle: no rows were sent, so that the forecast is all that is told of any. */
static Tabella__Bundle *bundle_of(tab_arena *a, const serve_state *st, Tabella__Prediction *m)
{
    Tabella__Bundle *b = tab_message(a, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    Tabella__TableUnderstanding *t =
        tab_message(a, Tabella__TableUnderstanding, TABELLA__TABLE_UNDERSTANDING__INIT);
    Tabella__Imputation *none = tab_message(a, Tabella__Imputation, TABELLA__IMPUTATION__INIT);
    Tabella__Results *empty = tab_message(a, Tabella__Results, TABELLA__RESULTS__INIT);
    Tabella__Column *value = tab_message(a, Tabella__Column, TABELLA__COLUMN__INIT);
    Tabella__TableUnderstanding **list = tab_arena_new_of(a, Tabella__TableUnderstanding *, 1);
    if (tab_arena_full(a))
        return NULL;
    *t = *st->seen[st->sel.table];
    t->pinned_rows = t->rows;
    t->rows = 0;
    list[0] = t;
    none->value = value;
    m->results = empty;
    m->missing_target_results = empty;
    m->missing_target = 0;
    m->table = 0;
    b->base_model = tab_text(st->base);
    b->n_tables = 1;
    b->tables = list;
    b->target_selection = st->sel.target;
    b->task_selection = st->sel.how;
    b->imputation = none;
    b->prediction = m;
    return b;
}

tab_status serve_ahead(inference *self, tab_call *call, const Tabella__ServeRequest *q, serve_state *st,
                       Tabella__ServeReply *y, tab_error *err)
{
    tab_arena *a = call->arena;
    work w = { .call = call, .st = st, .err = err };
    Tabella__ServePart *m = tab_message(a, Tabella__ServePart, TABELLA__SERVE_PART__INIT);
    size_t steps, made;
    y->parts = tab_arena_new_of(a, Tabella__ServePart *, 1);
    if (m == NULL || y->parts == NULL)
        return tab_no_memory(err);
    if (st->fitted == NULL || st->sel.task != TAB_TASK_REGRESSION)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "only numbers can be forecast, and this endpoint predicts %s",
                        st->fitted == NULL ? "nothing" : "something else");
    if (q->horizon > TAB_HORIZON_MOST)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "`horizon` must be a whole number from 1 to %d", TAB_HORIZON_MOST);
    const tab_profile *of = st->profile[st->sel.table];
    TAB_TRY(tab_horizon_count(a, of, st->sel.column, q->horizon, &steps, &made, err));
    if (steps > SERVE_ROWS)
        return tab_fail(err, TAB_VALIDATION, "options.horizon",
                        "%u steps for every series make %zu rows; a serve call answers at most %d",
                        q->horizon, steps, SERVE_ROWS);
    m->request_cells = (uint64_t)made * of->table->cols;
    y->parts[0] = m;
    y->n_parts = 1;
    y->pinned_cells = st->cells;
    if (q->count_only)
        return TAB_OK;
    TAB_TRY(options_of(a, q->state->options, st->base, &w.options, err));
    w.fitted = w.options.horizon == q->horizon;
    w.options.horizon = q->horizon;
    TAB_TRY(pass_begin(&w.p, self, call, NULL, true, err));
    pass_compute(&w.p, compute, &w);
    pass_end(&w.p);
    TAB_TRY(pass_status(&w.p, w.s, err));
    m->bundle = bundle_of(a, st, w.m);
    return m->bundle != NULL ? TAB_OK : tab_no_memory(err);
}
