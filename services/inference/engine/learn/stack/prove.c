/* See prove.h. stack.c calls it between the folds and their fits. */
#include "services/inference/engine/learn/stack/prove.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/made/propose.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"

/* LEAST_ROWS: of fewer nothing was gained. CONTEXT, HELD: rows of a fold that are read, at most. */
enum { LEAST_ROWS = 2000, CONTEXT = 10000, HELD = 2500, MOST_CLASSES = 8 };
static const double BEYOND = 3; /* standard errors */
static const size_t MODEL_LIMIT = (size_t)1 << 30;

/* One fold's trees: on what, and what they said of the rows that it holds. */
typedef struct {
    tab_stack_pass *c;
    size_t fold;
    const tab_made_list *made; /* NULL: none */
    uint32_t *held;            /* (held_n) */
    size_t held_n;
    float *out;  /* (held_n, outputs) */
    float *gain; /* (features) of the problem's, added; NULL: not wanted */
    bool failed;
} proof;

static bool fit_and_answer(proof *f, tab_arena *a, uint32_t *context, double *curve)
{
    tab_stack_pass *c = f->c;
    const tab_learner *l = &tab_learn_boost_brisk;
    size_t n = tab_fold_rows(c, f->fold, false, CONTEXT, context), best = 0;
    tab_levels *own = c->s->levels[f->fold];
    if (f->made != NULL && !tab_levels_fit(a, c->p, context, n, f->made, &own))
        return false;
    tab_problem view = *c->p;
    if (own != NULL)
        view.enc = &own->enc, view.data = &own->data;
    tab_fit_task t = { .context = context, .n = n, .held = f->held, .held_n = f->held_n };
    t.lead_steps = -1, t.cancel = c->e->cancel, t.e = c->e, t.arena = a;
    void *model = l->fit(&view, &t, curve);
    if (model == NULL)
        return false;
    for (size_t s = 1; s <= l->steps; s++)
        best = curve[s] < curve[best] ? s : best;
    l->stop(model, best);
    l->predict(model, view.enc, view.data, f->held, f->held_n, f->out);
    for (size_t i = 0; c->p->classification && i < f->held_n; i++)
        tab_log_softmax(f->out + i * c->p->outputs, c->p->outputs, 1);
    for (size_t k = 0; f->gain != NULL && k < c->p->enc->n; k++)
        f->gain[k] = l->importance(model)[k];
    return true;
}

static void run(void *ctx, size_t i)
{
    proof *f = (proof *)ctx + i;
    if (tab_engine_cancelled(f->c->e))
        return;
    tab_arena *a = tab_arena_new(MODEL_LIMIT);
    uint32_t *context = malloc((f->c->n + 1) * sizeof *context);
    double *curve = malloc((tab_learn_boost_brisk.steps + 1) * sizeof *curve);
    f->failed = a == NULL || context == NULL || curve == NULL || !fit_and_answer(f, a, context, curve);
    free(context), free(curve);
    tab_arena_free(a);
}

/* A fit a fold. False: memory or cancelled. */
static bool run_all(tab_stack_pass *c, proof *f, size_t folds)
{
    tab_engine_for(c->e, folds, run, f);
    bool ok = !tab_engine_cancelled(c->e);
    for (size_t k = 0; k < folds; k++)
        ok = ok && !f[k].failed;
    return ok;
}

/* Rows of a fold that are answered, HELD at most, at even distances. */
static void hold(tab_stack_pass *c, proof *f)
{
    size_t n = tab_fold_rows(c, f->fold, true, 0, f->held);
    for (size_t i = 0, step = n / HELD + 1; i < n; i += step)
        f->held[f->held_n++] = f->held[i];
}

/* ---- what is proposed ------------------------------------------------------------------------ */

typedef struct {
    uint32_t row;
    uint8_t fold;
    uint32_t at; /* among the fold's held rows */
} place;

static int by_row(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* What an answer leaves open of class k, or of the number. */
static float left_of(const tab_problem *p, const float *out, uint32_t row, size_t k)
{
    return p->classification ? (float)(p->label[row] == k) - expf(out[k]) : p->y[row] - out[0];
}

/* False: memory or cancelled. */
static bool propose(tab_stack_pass *c, const proof *f, const float *gain, tab_made_list *list)
{
    const tab_problem *p = c->p;
    size_t folds = c->s->folds, n = 0, k = p->outputs;
    tab_residuals q = { .p = p, .gain = gain, .folds = folds };
    q.of = !p->classification || k <= 2 ? 1 : k < TAB_RESIDUALS ? k : TAB_RESIDUALS;
    for (size_t i = 0; i < folds; i++)
        n += f[i].held_n;
    place *at = malloc((n + 1) * sizeof *at);
    uint32_t *row = malloc((n + 1) * sizeof *row);
    uint8_t *fold = malloc(n + 1);
    float *left = malloc((n * q.of + 1) * sizeof *left);
    bool ok = at != NULL && row != NULL && fold != NULL && left != NULL;
    for (size_t i = 0; ok && i < folds; i++)
        for (uint32_t r = 0; r < f[i].held_n; r++)
            at[q.n++] = (place){ f[i].held[r], (uint8_t)i, r };
    if (ok)
        qsort(at, n, sizeof *at, by_row);
    for (size_t i = 0; ok && i < n; i++) {
        row[i] = at[i].row, fold[i] = at[i].fold;
        for (size_t j = 0; j < q.of; j++)
            left[j * n + i] = left_of(p, f[at[i].fold].out + at[i].at * k, at[i].row, k == 2 ? 1 : j);
    }
    for (size_t j = 0; ok && j < q.of; j++)
        q.left[j] = left + j * n;
    q.row = row, q.fold = fold;
    ok = ok && tab_propose(c->e, &q, list);
    free(at), free(row), free(fold), free(left);
    return ok;
}

/* ---- what is proven -------------------------------------------------------------------------- */

static double loss_of(const tab_problem *p, const float *out, uint32_t row)
{
    if (p->classification)
        return -(double)out[p->label[row]];
    double d = (double)(out[0] - p->y[row]);
    return d * d;
}

/* By how many standard errors the loss falls from f to g, fold by fold's rows, groups as one. */
static bool standard_errors(const tab_stack_pass *c, const proof *f, const proof *g, double *ret)
{
    size_t k = c->p->outputs, n = 0;
    double *sum = calloc(c->groups + 1, sizeof *sum), all = 0, square = 0;
    uint32_t *group = malloc((c->p->data->rows + 1) * sizeof *group);
    bool ok = sum != NULL && group != NULL;
    for (size_t i = 0; ok && i < c->n; i++)
        group[c->all[i]] = c->group[i];
    for (size_t i = 0; ok && i < c->s->folds; i++)
        for (size_t r = 0; r < f[i].held_n; r++) {
            uint32_t row = f[i].held[r];
            sum[group[row]] += loss_of(c->p, f[i].out + r * k, row) - loss_of(c->p, g[i].out + r * k, row);
            n++;
        }
    for (size_t i = 0; ok && i < c->groups; i++)
        all += sum[i], square += sum[i] * sum[i];
    *ret = square > 0 && n > 1 ? all / sqrt(square - all * all / (double)n) : 0;
    free(sum), free(group);
    return ok;
}

static bool prove(tab_stack_pass *c, proof *f, proof *g, tab_made_list *list)
{
    size_t folds = c->s->folds, features = c->p->enc->n, k = c->p->outputs, most = 0;
    float *gain = calloc(features * (folds + 1) + 1, sizeof *gain), *sum = gain + features * folds;
    bool ok = gain != NULL;
    for (size_t i = 0; ok && i < folds; i++) {
        f[i] = (proof){ .c = c, .fold = i, .gain = gain + i * features };
        f[i].held = malloc((c->n + 1) * sizeof *f[i].held);
        f[i].out = malloc((HELD * k + 1) * sizeof *f[i].out);
        ok = f[i].held != NULL && f[i].out != NULL;
        if (ok)
            hold(c, &f[i]);
    }
    ok = ok && run_all(c, f, folds);
    for (size_t i = 0; ok && i < folds; i++)
        for (size_t j = 0; j < features; j++)
            sum[j] += gain[i * features + j];
    ok = ok && propose(c, f, sum, list);
    free(gain);
    for (size_t i = 0; ok && i < folds; i++)
        most = list[i].n > most ? list[i].n : most;
    if (!ok || most == 0)
        return ok;
    for (size_t i = 0; ok && i < folds; i++) {
        g[i] = f[i];
        g[i].made = &list[i], g[i].gain = NULL;
        g[i].out = malloc((HELD * k + 1) * sizeof *g[i].out);
        ok = g[i].out != NULL;
    }
    double falls = 0;
    ok = ok && run_all(c, g, folds) && standard_errors(c, f, g, &falls);
    if (!(falls > BEYOND))
        memset(list, 0, (folds + 1) * sizeof *list);
    return ok;
}

bool tab_prove(tab_stack_pass *c, const tab_recipe *r, tab_made_list *list)
{
    const tab_problem *p = c->p;
    memset(list, 0, (TAB_FOLDS + 1) * sizeof *list);
    if (!r->makes || c->n < LEAST_ROWS || (p->classification && p->outputs > MOST_CLASSES) ||
        !tab_propose_apt(p))
        return true;
    proof f[TAB_FOLDS] = { 0 }, g[TAB_FOLDS] = { 0 };
    bool ok = prove(c, f, g, list);
    for (size_t i = 0; i < c->s->folds; i++)
        free(f[i].held), free(f[i].out), free(g[i].out);
    return ok;
}
