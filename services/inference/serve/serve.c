/* Serve: request rows scored with an endpoint's pinned data.
 *
 *   state   (endpoint, base, revisions): pinned tables, their profiles, target and task, the fitted model;
 *           made once from the snapshots, kept in the cache of states.c, read by any number of calls at
 *           once
 *   call    columns matched to the pinned ones -> profile merged -> missing cells filled -> target predicted
 *
 * A request brings the calls that came at once (decision 0184); each is answered, or refused, as if it
 * were alone. A call goes to the worker that its state belongs to (rendezvous hashing); where that one
 * does not answer, the worker that was asked answers itself. The answer is the same bytes from any of
 * them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/proto.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/inference.h"
#include "services/inference/serve/drift.h"
#include "services/inference/serve/request.h"
#include "services/inference/serve/slices.h"
#include "services/inference/states/serve_state.h"

/* ---- answering ------------------------------------------------------------------------------- */

/* The pinned table's profile with the request's rows merged in: counts are added; what was concluded from
 * all values stays. */
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
    Tabella__ColumnProfile *c = tab_arena_new_of(a, Tabella__ColumnProfile, pinned->n_column_profile + 1);
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

/* One of the calls that came at once. */
typedef struct {
    const tab_table *const *tables;
    size_t n;
    serve_request r;
    Tabella__Bundle *b;
    tab_scoring score; /* what goes to the models together with others */
    bool scores;
    const tab_table *wide; /* the rows with what linked tables say of them; NULL: nothing is read of those */
    tab_status s;
    tab_error err;
} part;

/* A call of so many rows is answered at once, by itself. */
static tab_status score_alone(const tab_engine *e, const serve_state *st, part *p, tab_error *err)
{
    const tab_scoring *only = &p->score;
    if (!tab_score_together(e, st->fitted, &only, 1))
        return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : tab_no_memory(err);
    return tab_score_end(e, st->fitted, &p->score, st->explain, &p->b->prediction, err);
}

/* The request's tables held against the pinned ones and read for the models. */
static tab_status begin(const tab_engine *e, serve_state *st, part *p, Tabella__ServePart *y, tab_error *err)
{
    tab_arena *a = e->arena;
    serve_request *r = &p->r;
    tab_status s = serve_request_read(a, st, p->tables, p->n, r, err);
    Tabella__Bundle *b = tab_message(a, Tabella__Bundle, TABELLA__BUNDLE__INIT);
    if (s != TAB_OK)
        return s;
    if (b == NULL || (b->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, st->n + 1)) == NULL)
        return tab_no_memory(err);
    p->b = b;
    b->base_model = (char *)st->base;
    b->target_selection = st->sel.target;
    b->task_selection = st->sel.how;
    for (size_t i = 0; s == TAB_OK && i < r->n; i++) {
        b->tables[b->n_tables++] = merged(a, st, r->pinned[i], r->table[i]);
        b->records_total += r->table[i]->rows;
        y->request_cells += (uint64_t)r->table[i]->rows * r->table[i]->cols;
        if (b->tables[i] == NULL)
            return tab_no_memory(err);
        if (st->fitted == NULL || r->pinned[i] != st->sel.table)
            continue;
        const tab_table *rows = r->table[i];
        tab_table *wide = NULL;
        p->scores = rows->rows < SERVE_ALONE_ROWS;
        if (st->linked.set != NULL) {
            if ((s = tab_links_rows(e, st->linked.links, st->linked.set, rows, &wide, err)) != TAB_OK)
                return s;
            p->wide = rows = wide;
        }
        s = tab_score_read(e, st->fitted, rows, &p->score, err);
        if (s == TAB_OK) {
            p->score.m->table = (uint32_t)i;
            b->warnings = p->score.strange;
            b->n_warnings = p->score.stranges;
        }
        if (s == TAB_OK && !p->scores)
            s = score_alone(e, st, p, err);
        if (s != TAB_OK)
            serve_request_param(r, i, err);
    }
    return s;
}

static tab_status end(const tab_engine *e, serve_state *st, part *p, bool answers_only, tab_error *err)
{
    tab_status s = TAB_OK;
    if (p->scores)
        s = tab_score_end(e, st->fitted, &p->score, st->explain, &p->b->prediction, err);
    if (s == TAB_OK && p->wide != NULL &&
        !tab_links_doubt(e->arena, st->linked.set, p->wide, p->b->prediction))
        s = tab_no_memory(err);
    if (answers_only)
        return s;
    if (s == TAB_OK && st->n > 1)
        s = serve_cross(e, st, &p->r, p->b, err);
    if (s == TAB_OK)
        s = serve_impute(e, st, &p->r, p->b->prediction, &p->b->imputation, err);
    return s;
}

/* Whether two parts have one profile: of the same pinned tables, with as many rows and missing cells merged
 * in. */
static bool same_tables(const Tabella__Bundle *a, const Tabella__Bundle *b)
{
    bool same = a->n_tables == b->n_tables;
    for (size_t t = 0; same && t < a->n_tables; t++) {
        const Tabella__TableUnderstanding *x = a->tables[t], *y = b->tables[t];
        same = x->id.data == y->id.data && x->rows == y->rows && x->pinned_rows == y->pinned_rows &&
               x->n_column_profile == y->n_column_profile;
        for (size_t c = 0; same && c < x->n_column_profile; c++)
            same = x->column_profile[c]->missing_pct == y->column_profile[c]->missing_pct;
    }
    return same;
}

/* What several answers have in common is sent once. */
static void share(const part *p, Tabella__ServePart *const *y, size_t n)
{
    size_t first = n;
    for (size_t i = 0; i < n; i++) {
        if (p[i].s != TAB_OK)
            continue;
        y[i]->tables_of = (uint32_t)i;
        if (first == n) {
            first = i;
            continue;
        }
        p[i].b->target_selection = NULL;
        p[i].b->task_selection = NULL;
        if (same_tables(p[i].b, p[first].b)) {
            y[i]->tables_of = (uint32_t)first;
            p[i].b->n_tables = 0;
        }
    }
}

tab_status serve_answer(inference *self, tab_call *call, const Tabella__ServeRequest *q, serve_state *st,
                        Tabella__ServeReply *y, tab_error *err)
{
    tab_arena *a = call->arena;
    size_t n = q->n_calls > 0 ? q->n_calls : 1, at = 0, scored = 0;
    part *p = tab_arena_new_of(a, part, n);
    tab_scoring **score = tab_arena_new_of(a, tab_scoring *, n);
    Tabella__ServePart *m = tab_arena_new_of(a, Tabella__ServePart, n);
    y->parts = tab_arena_new_of(a, Tabella__ServePart *, n);
    if (p == NULL || score == NULL || m == NULL || y->parts == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        size_t tables = q->n_calls > 0 ? q->calls[i] : call->n_tables;
        if (tables > call->n_tables - at)
            return tab_fail(err, TAB_VALIDATION, "calls", "the call names more tables than it carries");
        p[i].tables = call->tables + at;
        p[i].n = tables;
        at += tables;
        tabella__serve_part__init(&m[i]);
        y->parts[i] = &m[i];
    }
    y->n_parts = n;
    pass own;
    tab_status s = pass_begin(&own, self, call, NULL, false, err);
    if (s != TAB_OK)
        return s;
    tab_engine e = pass_engine(&own, a, 0);
    e.progress = NULL;
    for (size_t i = 0; i < n; i++) {
        p[i].s = begin(&e, st, &p[i], &m[i], &p[i].err);
        if (p[i].s == TAB_OK && p[i].scores)
            score[scored++] = &p[i].score;
    }
    if (scored > 0 && !serve_score(self, &e, st, score, scored))
        s = tab_no_memory(err);
    for (size_t i = 0; s == TAB_OK && i < n; i++)
        if (p[i].s == TAB_OK)
            p[i].s = end(&e, st, &p[i], q->answers_only, &p[i].err);
    pass_end(&own);
    drift *d = drift_of(self, call->org, q->state, st);
    for (size_t i = 0; d != NULL && s == TAB_OK && i < n; i++)
        if (p[i].s == TAB_OK)
            drift_count(d, a, st, &p[i].r, p[i].b->prediction);
    for (size_t i = 0; i < n; i++) {
        m[i].status = (uint32_t)p[i].s;
        if (p[i].s == TAB_OK) {
            m[i].bundle = p[i].b;
            if (q->with_slices && !slices_of(a, st, &p[i].r, p[i].b->prediction, &m[i]))
                return tab_no_memory(err);
            continue;
        }
        m[i].param = tab_proto_text(a, p[i].err.param);
        m[i].message = tab_proto_text(a, p[i].err.message);
    }
    share(p, y->parts, n);
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

    /* A retired base is refused although its state may still be in the cache. */
    const char *base = NULL;
    tab_status s =
        base_resolve(self, call->org, k->options == NULL ? NULL : k->options->base_model, &base, err);
    if (s != TAB_OK)
        return s;
    char key[SERVE_KEY];
    serve_key(key, call->org, k, base);
    const Tabella__ServeReply *theirs = NULL;
    s = serve_at_owner(self, call, "Serve", key, &q->base, &tabella__serve_reply__descriptor, q, &theirs,
                       err);
    if (s != TAB_UNAVAILABLE || tab_rpc_lost(s, err)) {
        if (s == TAB_OK)
            *y = *theirs;
        return s;
    }
    if (serve_as_kept(self, call, key, q, &theirs)) {
        *y = *theirs;
        return TAB_OK;
    }
    serve_first first = { .self = self, .call = call, .key = k };
    tab_loan *loan = NULL;
    bool warm = false;
    s = tab_states_take(self->states, tab_str_of(key), &serve_state_maker, &first, call->cancel, &loan, &warm,
                        err);
    if (s != TAB_OK)
        return s;
    s = q->horizon > 0 ? serve_ahead(self, call, q, key, loan, y, err)
                       : serve_answer(self, call, q, tab_loan_state(loan), y, err);
    /* What the answer points to in the state is copied by packing it after this returns: hold it until
     * then. */
    if (s == TAB_OK && !loan_until_packed(self, call, loan))
        s = tab_no_memory(err);
    if (s != TAB_OK)
        tab_states_give(self->states, loan);
    y->warm = warm;
    y->worker = (char *)tab_rpc_worker(self->rpc);
    return s;
}
