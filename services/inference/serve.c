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

/* ---- answering ------------------------------------------------------------------------------- */

/* The pinned table's understanding with the request's rows merged in: what is counted is added, what was
 * concluded from all values stands. */
static Tabella__TableUnderstanding *merged(tab_arena *a, const serve_state *st, size_t t,
                                           const tab_table *rows)
{
    const Tabella__TableUnderstanding *pinned = st->seen[t];
    Tabella__TableUnderstanding *m =
        tab_message(a, Tabella__TableUnderstanding, TABELLA__TABLE_UNDERSTANDING__INIT);
    if (m == NULL)
        return NULL;
    *m = *pinned;
    m->pinned_rows = pinned->rows;
    m->rows = rows->rows;
    m->column_profile = tab_arena_new_of(a, Tabella__ColumnProfile *, pinned->n_column_profile + 1);
    Tabella__ColumnProfile *c =
        tab_arena_new_of(a, Tabella__ColumnProfile, pinned->n_column_profile + 1);
    if (m->column_profile == NULL || c == NULL)
        return NULL;
    double before = (double)pinned->rows;
    for (size_t i = 0; i < pinned->n_column_profile; i++) {
        size_t missing = 0;
        for (size_t r = 0; r < rows->rows; r++)
            missing += rows->col[i].layout == TAB_NUMBERS ? isnan(rows->col[i].num[r])
                                                          : rows->col[i].code[r] == TAB_NULL;
        c[i] = *pinned->column_profile[i];
        double all = before + (double)rows->rows;
        c[i].missing_pct = all == 0 ? 0 : (c[i].missing_pct * before + (double)missing) / all;
        m->column_profile[i] = &c[i];
    }
    return m;
}

static tab_status answer(inference *self, tab_call *call, serve_state *st, Tabella__ServeReply *y,
                         tab_error *err)
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
    if (b == NULL ||
        (b->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, st->n + 1)) == NULL) {
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
            s = serve_score(self, &e, st, r.table[i], &b->prediction, err);
            if (s == TAB_OK)
                b->prediction->table = (uint32_t)i;
            else
                serve_request_param(&r, i, err);
        }
    }
    if (s == TAB_OK && st->n > 1)
        s = serve_cross(&e, st, &r, b, err);
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

    /* A retired base is refused although its state may still be warm. */
    const char *base = NULL;
    tab_status s =
        base_resolve(self, k->options == NULL ? NULL : k->options->base_model, &base, err);
    if (s != TAB_OK)
        return s;
    char key[SERVE_KEY];
    serve_key(key, call->org, k, base);
    const Tabella__ServeReply *theirs = NULL;
    s = serve_at_owner(self, call, "Serve", key, &q->base, &tabella__serve_reply__descriptor, q,
                       &theirs, err);
    if (s != TAB_UNAVAILABLE) {
        if (s == TAB_OK)
            *y = *theirs;
        return s;
    }
    serve_maker m = { self, call, k };
    tab_loan *loan = NULL;
    bool warm = false;
    s = tab_states_take(self->states, tab_str_of(key), serve_state_make, &m, call->cancel, &loan,
                        &warm, err);
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
