/* A serve call that asks the next steps of every pinned series in place of rows (decision 0394). An
 * endpoint whose configuration asks for as many steps was fitted with them, and answers at once; for
 * another number the model is fitted anew, as a run of the pinned tables would be, and answers the same.
 *
 * That fit may take longer than a call has (9 s). So it belongs to no call, as a state's does (states.h):
 * a caller may leave and ask again, the fit goes on, and its forecast is kept for whoever asks for as many
 * steps next (decision 0803). */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/keys/keys.h"
#include "services/inference/engine/message.h"
#include "services/inference/serve/request.h"

enum {
    FIT_MS = 3600000, /* of one forecast, its wait for a slot included */
    FITS_OF_ORG = 4,  /* at once in this process, those that nobody waits for any more among them */
    KEY = SERVE_KEY + 16
};

/* A forecast that is kept: the bytes of its message. */
typedef struct {
    size_t n;
    uint8_t bytes[];
} kept;

void serve_forecast_free(void *forecast)
{
    free(forecast);
}

/* A number of steps that the state was not fitted with. */
typedef struct {
    inference *self;
    tab_call call; /* the fit's own: it outlives the call that asked */
    tab_loan *loan;
    serve_state *st;
    tab_run_options options;
    pass p;
    Tabella__Prediction *m;
    tab_status s;
    tab_error *err;
} work;

/* By f, or by a model of its own where f is NULL. */
static tab_status forecast(const tab_engine *e, const serve_state *st, const tab_run_options *options,
                           const tab_fitted *f, Tabella__Prediction **ret, tab_error *err)
{
    TAB_AUTO(tab_fitted) *own = NULL;
    tab_references refs = { 0 };
    tab_linked linked = { 0 };
    tab_profile *const *asked = NULL;
    tab_horizon h;
    TAB_TRY(tab_look_ahead(e, st->profile, st->n, &st->sel, options, &h, &asked, err));
    if (f == NULL && st->n > 1)
        TAB_TRY(tab_references_find(e, st->profile, st->n, &refs, err));
    if (f == NULL)
        TAB_TRY(tab_fit_linked(e, asked, st->n, &refs, &st->sel, options, false, &linked, &own, err));
    f = f == NULL ? own : f;
    TAB_TRY(tab_fitted_results(e, f, false, ret, err));
    return tab_horizon_tell(e->arena, &h, (uint32_t)st->sel.table, tab_fitted_ahead(f), *ret)
               ? TAB_OK
               : tab_no_memory(err);
}

/* ---- the fit of another number of steps ---------------------------------------------------------- */

/* What a call says, of which the fit makes its own copy. */
typedef struct {
    inference *self;
    const tab_call *call;
    tab_loan *loan;
    const Tabella__RunOptions *options; /* the endpoint's, or NULL */
    uint32_t horizon;
} question;

static bool options_copied(tab_arena *a, const question *of, const char *base, tab_run_options *ret)
{
    tab_error err;
    Tabella__RunOptions *own = NULL;
    if (of->options != NULL) {
        tab_str bytes = tab_proto_write(a, &of->options->base);
        own = bytes.p == NULL ? NULL : tab_proto_read(a, &tabella__run_options__descriptor, bytes);
        if (own == NULL)
            return false;
    }
    if (options_of(a, own, base, ret, &err) != TAB_OK)
        return false;
    ret->horizon = of->horizon;
    return true;
}

static void *work_new(void *arg)
{
    const question *of = arg;
    tab_arena *a = tab_arena_new((size_t)4 << 30);
    work *w = a == NULL ? NULL : tab_arena_new_of(a, work, 1);
    serve_state *st = tab_loan_state(of->loan);
    if (w == NULL || !options_copied(a, of, st->base, &w->options)) {
        tab_arena_free(a);
        return NULL;
    }
    w->self = of->self;
    w->st = st;
    w->call = (tab_call){ .method = of->call->method,
                          .org = tab_proto_text(a, of->call->org),
                          .request_id = tab_proto_text(a, of->call->request_id),
                          .actor = tab_proto_text(a, of->call->actor),
                          .deadline = tab_in_ms(FIT_MS),
                          .cancel = &of->self->ends,
                          .arena = a,
                          .rpc = of->call->rpc };
    if (tab_arena_full(a)) {
        tab_arena_free(a);
        return NULL;
    }
    w->loan = tab_states_again(of->self->states, of->loan);
    return w;
}

static void work_free(void *own)
{
    work *w = own;
    tab_states_give(w->self->states, w->loan);
    tab_arena_free(w->call.arena); /* w lies in it */
}

static void compute(void *arg)
{
    work *w = arg;
    tab_engine e = pass_engine(&w->p, w->call.arena, 0);
    w->s = forecast(&e, w->st, &w->options, NULL, &w->m, w->err);
}

static tab_status work_do(void *own, void **ret, size_t *ret_bytes, tab_error *err)
{
    work *w = own;
    w->err = err;
    tab_log_context(w->call.request_id, w->call.org);
    TAB_TRY(pass_begin(&w->p, w->self, &w->call, NULL, true, err));
    pass_compute(&w->p, compute, w);
    pass_end(&w->p);
    TAB_TRY(pass_status(&w->p, w->s, err));
    tab_str bytes = tab_proto_write(w->call.arena, &w->m->base);
    kept *k = bytes.p == NULL ? NULL : malloc(sizeof *k + bytes.n);
    if (k == NULL)
        return tab_no_memory(err);
    k->n = bytes.n;
    memcpy(k->bytes, bytes.p, bytes.n);
    *ret = k;
    *ret_bytes = sizeof *k + bytes.n;
    return TAB_OK;
}

static const tab_states_maker maker = { work_new, work_do, work_free };

/* The forecast that is kept, or one that is made now. An organization's fits are few at once: callers that
 * ask for ever other numbers and leave do not fill the process with them. One more is told what those are
 * told whose time is up: try again (the api's 503). */
static tab_status of_other_steps(const question *of, const char *state_key, Tabella__Prediction **ret,
                                 tab_error *err)
{
    inference *self = of->self;
    tab_arena *a = of->call->arena;
    char key[KEY];
    bool warm;
    tab_loan *loan = NULL;
    const char *org = tab_arena_printf(a, "%s/", of->call->org);
    if (org == NULL)
        return tab_no_memory(err);
    snprintf(key, sizeof key, "%s/+%u", state_key, of->horizon);
    if (tab_states_fitting(self->forecasts, tab_str_of(org), tab_str_of(key)) >= FITS_OF_ORG)
        return tab_fail(err, TAB_CANCELLED, "", "other forecasts of the organization are being fitted");
    TAB_TRY(tab_states_take(self->forecasts, tab_str_of(key), &maker, (void *)(uintptr_t)of, of->call->cancel,
                            &loan, &warm, err));
    const kept *k = tab_loan_state(loan);
    *ret = tab_proto_read(a, &tabella__prediction__descriptor, (tab_str){ (const char *)k->bytes, k->n });
    tab_states_give(self->forecasts, loan);
    return *ret != NULL ? TAB_OK : tab_no_memory(err);
}

/* ---- the call ------------------------------------------------------------------------------------ */

typedef struct {
    pass p;
    const serve_state *st;
    tab_run_options options;
    Tabella__Prediction *m;
    tab_status s;
    tab_error *err;
} own_steps;

static void compute_own(void *arg)
{
    own_steps *w = arg;
    tab_engine e = pass_engine(&w->p, w->p.call->arena, 0);
    w->s = forecast(&e, w->st, &w->options, w->st->fitted, &w->m, w->err);
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

tab_status serve_ahead(inference *self, tab_call *call, const Tabella__ServeRequest *q, const char *key,
                       tab_loan *loan, Tabella__ServeReply *y, tab_error *err)
{
    tab_arena *a = call->arena;
    serve_state *st = tab_loan_state(loan);
    own_steps w = { .st = st, .err = err };
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
    if (w.options.horizon == q->horizon) {
        TAB_TRY(pass_begin(&w.p, self, call, NULL, true, err));
        pass_compute(&w.p, compute_own, &w);
        pass_end(&w.p);
        TAB_TRY(pass_status(&w.p, w.s, err));
    } else {
        question other = { self, call, loan, q->state->options, q->horizon };
        TAB_TRY(of_other_steps(&other, key, &w.m, err));
    }
    m->bundle = bundle_of(a, st, w.m);
    return m->bundle != NULL ? TAB_OK : tab_no_memory(err);
}
