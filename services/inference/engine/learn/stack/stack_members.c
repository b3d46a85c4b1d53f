/* Which learners of a recipe take part, with which configuration, and their models of all folds.
 *
 *   budget ─> the leading trees on all folds ─> trials of the others on fold 0 ─> who is far behind or idle
 *          ─> the rest of the folds ─> members
 *
 * The trees lead since the others take column weights from them, of the same fold alone: weights of all folds
 * would carry a row's target into its own answer. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/stack/admit.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"
#include "services/inference/engine/learn/stack/stack_pass.h"

typedef tab_stack_pass pass;

enum {
    HELD_CAP = 10000,   /* held rows of a fold that tell when to stop and which alternative is best */
    PRUNE_ROWS = 1500,  /* from here on a learner may end after fold 0 (decision 0050) */
    PROBE_LEAST = 1000, /* held rows of a fold from which idle learners are sought (decision 0091) */
    PROBE_ROWS = 4000,  /* at most so many of them are asked */
    PROBE_BLOCK = 500   /* rows that one turn of that loop answers */
};
static const double FAR_BEHIND = 1.35;             /* times the best loss of fold 0: decision 0050 */
static const double DECISIVE = 5;                  /* nats over fold 0; Jeffreys calls 4.6 decisive */
static const size_t MODEL_LIMIT = (size_t)8 << 30; /* of a model's arena: a bound against runaway fits */

/* One fit: a learner on one fold, with one of its configurations. */
typedef struct {
    pass *pass;
    const tab_learner *learner;
    size_t fold, config;
    const float *importance;
    double lead_steps;
    double *curve; /* (steps + 1) or NULL */
    tab_arena *arena;
    void *model;
    double loss;
    bool measure; /* loss is wanted: the fit is a trial of a configuration */
    bool failed;  /* memory */
} fit_task;

/* The context and the held rows of a fold; the context is sampled by hash down to the learner's cap. */
size_t tab_fold_rows(const tab_stack_pass *c, size_t fold, bool in, size_t cap, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if ((c->s->fold[c->all[i]] == fold) == in)
            out[n++] = c->all[i];
    if (cap == 0 || n <= cap)
        return n;
    /* the sample goes by the row's content: it does not depend on the fold's order or size */
    double share = (double)cap / (double)n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (tab_unit(tab_mix2(c->p->data->hash[out[i]], c->p->seed + 77)) < share)
            out[kept++] = out[i];
    return kept;
}

/* One fit, on any thread. A trial also measures the held rows' loss: by its curve where it has one. */
static void run_fit(void *ctx, size_t i)
{
    fit_task *t = (fit_task *)ctx + i;
    pass *c = t->pass;
    if (tab_engine_cancelled(c->e))
        return;
    t->arena = tab_arena_new(MODEL_LIMIT);
    uint32_t *context = malloc((c->n + 1) * sizeof *context), *held = malloc((c->n + 1) * sizeof *held);
    if (t->arena == NULL || context == NULL || held == NULL) {
        t->failed = true;
        free(context), free(held);
        return;
    }
    tab_fit_task task = { .context = context,
                          .held = held,
                          .config = t->config,
                          .importance = t->importance,
                          .lead_steps = t->lead_steps,
                          .cancel = c->e->cancel,
                          .e = c->e,
                          .arena = t->arena };
    /* the rows, and what they read: the fold's own statistics of levels */
    task.n = tab_fold_rows(c, t->fold, false, t->learner->cap, context);
    task.held_n = tab_fold_rows(c, t->fold, true, HELD_CAP, held);
    tab_problem view = *c->p;
    if (c->s->levels[t->fold] != NULL) {
        view.enc = &c->s->levels[t->fold]->enc;
        view.data = &c->s->levels[t->fold]->data;
    }
    t->model = t->learner->fit(&view, &task, t->curve);
    t->failed = t->model == NULL && tab_arena_full(t->arena);
    if (t->model != NULL && t->measure) {
        size_t k = c->p->outputs;
        /* a learner with a curve has measured the held rows itself */
        t->loss = INFINITY;
        if (t->curve != NULL) {
            for (size_t s = 0; s <= t->learner->steps; s++)
                t->loss = fmin(t->loss, t->curve[s]);
        } else {
            float *out = malloc((task.held_n * k + 1) * sizeof *out);
            if (out != NULL) {
                t->learner->predict(t->model, view.enc, view.data, held, task.held_n, out);
                double loss = 0;
                for (size_t r = 0; r < task.held_n; r++) {
                    if (c->p->classification) {
                        tab_log_softmax(out + r * k, k, 1);
                        loss -= (double)out[r * k + c->p->label[held[r]]];
                    } else {
                        double d = (double)(out[r] - c->p->y[held[r]]);
                        loss += d * d;
                    }
                }
                t->loss = loss;
            }
            free(out);
        }
    }
    free(context);
    free(held);
}

/* Fits `count` tasks and hands their arenas to the stack's. False: memory or cancelled. */
static bool run_all(pass *c, tab_arena *a, fit_task *t, size_t count)
{
    tab_engine_for(c->e, count, run_fit, t);
    bool ok = !tab_engine_cancelled(c->e);
    for (size_t i = 0; i < count; i++) {
        if (t[i].failed)
            ok = false;
        /* models of folds that a model of all rows will replace go into arenas that end with the fit */
        if (t[i].arena != NULL && t[i].learner->whole && c->spares < TAB_LEARNERS * TAB_FOLDS) {
            c->spare[c->spares++] = t[i].arena;
            continue;
        }
        if (t[i].arena != NULL)
            c->s->bytes += tab_arena_used(t[i].arena);
        if (t[i].arena != NULL && !tab_arena_defer(a, (void (*)(void *))tab_arena_free, t[i].arena)) {
            tab_arena_free(t[i].arena);
            ok = false;
        }
    }
    return ok;
}

/* The step at which the folds' losses together are least, without those of fold `but` (folds: of all). */
static size_t best_step(const tab_learner *l, const fit_task *t, size_t folds, size_t but)
{
    double best = INFINITY;
    size_t at = 0;
    for (size_t s = 0; s <= l->steps; s++) {
        double sum = 0;
        for (size_t f = 0; f < folds; f++) {
            size_t own = s; /* a fold that stopped earlier stays where it stopped */
            while (own > 0 && !isfinite(t[f].curve[own]))
                own--;
            sum += f != but ? t[f].curve[own] : 0;
        }
        if (sum < best)
            best = sum, at = s;
    }
    return at;
}

/* Every fold takes the step at which the folds' losses together are least. crossed: the rows that it holds
 * are to be answered at the step of the others. */
static void stop_at_best(const tab_learner *l, tab_member *m, const fit_task *t, size_t folds, bool crossed)
{
    m->step = best_step(l, t, folds, folds);
    for (size_t f = 0; f < folds; f++) {
        m->apart[f] = crossed ? best_step(l, t, folds, f) : m->step;
        l->stop(m->model[f], m->step);
    }
}

/* After how many steps the folds' losses are least, in the mean. */
static double mean_best_step(const tab_learner *l, const fit_task *t, size_t folds)
{
    double sum = 0;
    for (size_t f = 0; f < folds; f++) {
        size_t at = 0;
        for (size_t s = 1; t[f].curve != NULL && s <= l->steps; s++)
            at = t[f].curve[s] < t[f].curve[at] ? s : at;
        sum += (double)at;
    }
    return sum / (double)folds;
}

/* The outputs of the first fold's models for some of its held rows. */
typedef struct {
    pass *c;
    const uint32_t *row;
    size_t n;
    float *z[TAB_LEARNERS]; /* (rows, outputs), of the stack's members as they stand */
    atomic_bool failed;
} probe;

/* One member's outputs for one block of the probed rows. */
static void probe_block(void *ctx, size_t i)
{
    probe *q = ctx;
    const tab_stack *s = q->c->s;
    const tab_problem *p = q->c->p;
    size_t blocks = (q->n + PROBE_BLOCK - 1) / PROBE_BLOCK, l = i / blocks, from = i % blocks * PROBE_BLOCK;
    size_t n = q->n - from < PROBE_BLOCK ? q->n - from : PROBE_BLOCK, k = s->outputs;
    float *out = malloc(n * k * sizeof *out);
    if (out == NULL) {
        atomic_store(&q->failed, true);
        return;
    }
    const tab_encoder *enc = s->levels[0] != NULL ? &s->levels[0]->enc : p->enc;
    const tab_data *data = s->levels[0] != NULL ? &s->levels[0]->data : p->data;
    s->member[l].learner->predict(s->member[l].model[0], enc, data, q->row + from, n, out);
    for (size_t r = 0; r < n; r++) {
        if (s->classification)
            tab_log_softmax(out + r * k, k, 1);
        memcpy(q->z[l] + (size_t)q->row[from + r] * k, out + r * k, k * sizeof *out);
    }
    free(out);
}

/* Larger tables: weighs the first fold's models together. A learner without weight there is not fitted on
 * the other folds. A thousand held rows are enough: on the four largest tables at hand, learners left out
 * this way had no weight in the whole stack either (decision 0091). */
static bool find_idle(pass *c, fit_task *t, const tab_learner *const *use, size_t count, const bool *behind,
                      bool *idle)
{
    tab_stack *s = c->s;
    /* some of the first fold's held rows, at even distances */
    size_t folds = s->folds, k = s->outputs, of[TAB_LEARNERS], n = 0, some = 0;
    uint32_t *row = malloc((c->n + 1) * sizeof *row);
    probe q = { .c = c, .row = row };
    bool ok = row != NULL;
    if (ok)
        n = tab_fold_rows(c, 0, true, 0, row);
    for (size_t i = 0, step = n / PROBE_ROWS + 1; i < n; i += step)
        row[some++] = row[i];
    q.n = some;
    atomic_init(&q.failed, false);
    for (size_t l = 0; ok && l < count; l++) {
        if (t[l * folds].model == NULL || behind[l])
            continue;
        /* members for the while of this look: the stack's own are made later */
        tab_member *m = &s->member[s->members];
        *m = (tab_member){ .learner = use[l], .model = { t[l * folds].model }, .temperature = 1 };
        if (use[l]->steps > 0)
            stop_at_best(use[l], m, &t[l * folds], 1, false);
        q.z[s->members] = malloc((c->p->data->rows * k + 1) * sizeof(float));
        ok = q.z[s->members] != NULL;
        of[s->members++] = l;
    }
    if (ok && s->members > 1) {
        tab_engine_for(c->e, s->members * ((some + PROBE_BLOCK - 1) / PROBE_BLOCK), probe_block, &q);
        ok = !atomic_load(&q.failed) && !tab_engine_cancelled(c->e);
        for (size_t m = 0; ok && s->classification && m < s->members; m++) {
            /* calibrated and weighed exactly as the whole stack is */
            double temperature = tab_best_temperature(c->p, row, some, q.z[m]);
            for (size_t i = 0; i < some; i++)
                tab_log_softmax(q.z[m] + (size_t)row[i] * k, k, temperature);
        }
        if (ok)
            tab_pool_weights(c->p, s, row, some, q.z);
        for (size_t m = 0; ok && m < s->members; m++)
            idle[of[m]] = !(s->member[m].weight > 0);
    }
    for (size_t m = 0; m < s->members; m++)
        free(q.z[m]);
    free(row);
    memset(s->member, 0, sizeof s->member);
    s->members = 0;
    return ok;
}

/* The fits of one stack. Task l * folds + f fits learner l on the context of fold f; the trials of
 * configurations, on fold 0, follow. */
typedef struct {
    const tab_learner *use[TAB_LEARNERS];
    size_t form[TAB_LEARNERS]; /* which of its forms the budget has room for */
    size_t count, folds, trials;
    size_t lead; /* the folds, where the first learner gives others their column weights; else 0 */
    bool prune;  /* the table is so large that learners may end after fold 0 */
    bool behind[TAB_LEARNERS], idle[TAB_LEARNERS];
    fit_task *t; /* (count * folds + trials) */
} plan;

/* Learners that the budget admits, in the recipe's order. False: the arena is full. */
static bool make_plan(pass *c, tab_arena *a, const tab_recipe *r, plan *q)
{
    double work = 0;
    *q = (plan){ .folds = c->s->folds, .prune = c->n > PRUNE_ROWS };
    for (size_t l = 0; l < r->n; l++) {
        double own = 0;
        int f = tab_admit(c->p, c->n, c->s, a, r, r->learner[l], work, &own);
        if (f < 0)
            continue;
        work += own;
        q->form[q->count] = (size_t)f;
        q->use[q->count++] = r->learner[l];
        q->trials += r->learner[l]->configs;
    }
    /* the first learner leads where it says how important columns are */
    q->lead = q->count > 0 && q->use[0]->importance != NULL ? q->folds : 0;
    q->t = tab_arena_new_of(a, fit_task, q->count * q->folds + q->trials + 1);
    if (q->t == NULL)
        return false;
    for (size_t l = 0; l < q->count; l++)
        for (size_t f = 0; f < q->folds; f++) {
            fit_task *t = &q->t[l * q->folds + f];
            *t = (fit_task){
                .pass = c, .learner = q->use[l], .fold = f, .config = q->form[l], .lead_steps = -1
            };
            if (q->use[l]->steps > 0)
                t->curve = tab_arena_new_of(a, double, q->use[l]->steps + 1);
        }
    return !tab_arena_full(a);
}

/* What the leading learner, fitted on all folds, tells the others: column weights, and how much there is to
 * learn. */
static void follow_lead(plan *q)
{
    double led = q->lead > 0 ? mean_best_step(q->use[0], q->t, q->folds) : -1;
    for (size_t l = 0; l < q->count; l++)
        for (size_t f = 0; f < q->lead; f++) {
            fit_task *t = &q->t[l * q->folds + f];
            if (q->t[f].model != NULL)
                t->importance = q->use[0]->importance(q->t[f].model);
            t->lead_steps = led;
        }
}

/* First the learner whose column weights others take, and beside it trials of configurations, on fold 0, of
 * those that take none; then the others' trials. *end: behind the last trial. False: memory or cancelled. */
static bool run_trials(pass *c, tab_arena *a, plan *q, size_t *end)
{
    size_t trial = q->count * q->folds;
    fit_task *first = tab_arena_new_of(a, fit_task, q->lead + q->trials + 1);
    size_t *place = tab_arena_new_of(a, size_t, q->lead + q->trials + 1);
    if (tab_arena_full(a))
        return false;
    for (int weighs = 0; weighs < 2; weighs++) {
        size_t n = 0;
        for (size_t f = 0; weighs == 0 && f < q->lead; f++)
            place[n] = f, first[n++] = q->t[f];
        if (weighs == 1)
            follow_lead(q);
        for (size_t l = q->lead > 0; l < q->count; l++)
            for (size_t k = 0; k < q->use[l]->configs && (q->prune || q->use[l]->configs > 1); k++) {
                if (q->use[l]->weighs != weighs)
                    continue;
                fit_task *t = &first[n];
                *t = q->t[l * q->folds];
                t->config = q->form[l] + k;
                t->measure = true;
                if (q->use[l]->steps > 0)
                    t->curve = tab_arena_new_of(a, double, q->use[l]->steps + 1);
                place[n++] = trial++;
            }
        if (tab_arena_full(a) || !run_all(c, a, first, n))
            return false;
        for (size_t i = 0; i < n; i++)
            q->t[place[i]] = first[i];
        tab_engine_progress(c->e, "learn", 0.3 + 0.2 * weighs);
    }
    *end = trial;
    return true;
}

/* The best trial of a learner names its configuration, and is its model of fold 0. */
static void choose_configs(plan *q, size_t end)
{
    for (size_t i = q->count * q->folds; i < end; i++)
        for (size_t l = 0; l < q->count; l++) {
            /* the better model of fold 0 is kept, and its configuration goes to all folds */
            fit_task *own = &q->t[l * q->folds], *t = &q->t[i];
            if (t->learner != q->use[l] || t->model == NULL || (own->model != NULL && !(t->loss < own->loss)))
                continue;
            for (size_t f = 0; f < q->folds; f++)
                own[f].config = t->config;
            own->model = t->model;
            own->loss = t->loss;
            own->curve = t->curve;
        }
}

/* Large tables: a learner far behind on the first fold is not worth the others. For classes the difference
 * must also be clear: where hardly a row is wrong, a third more of the loss is chance (decision 0381). */
static void find_behind(const pass *c, plan *q)
{
    double best = INFINITY, clear = c->p->classification ? DECISIVE : 0;
    if (q->lead > 0)
        for (size_t k = 0; q->t[0].curve != NULL && k <= q->use[0]->steps; k++)
            best = fmin(best, q->t[0].curve[k]);
    for (size_t l = q->lead > 0; l < q->count; l++)
        if (q->t[l * q->folds].model != NULL)
            best = fmin(best, q->t[l * q->folds].loss);
    for (size_t l = q->lead > 0; l < q->count; l++)
        q->behind[l] =
            q->t[l * q->folds].model != NULL && q->t[l * q->folds].loss > FAR_BEHIND * best + clear;
}

/* The fits that are still wanted. False: memory or cancelled. */
static bool run_rest(pass *c, tab_arena *a, plan *q)
{
    size_t tasks = q->count * q->folds, left = 0;
    fit_task *todo = tab_arena_new_of(a, fit_task, tasks + 1);
    size_t *where = tab_arena_new_of(a, size_t, tasks + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = q->lead; i < tasks; i++) {
        /* neither behind nor idle, and not fitted by the trials already */
        size_t l = i / q->folds;
        if (q->t[i].model == NULL && !q->behind[l] && (!q->idle[l] || q->lead == 0))
            where[left] = i, todo[left++] = q->t[i];
    }
    if (!run_all(c, a, todo, left))
        return false;
    for (size_t i = 0; i < left; i++)
        q->t[where[i]].model = todo[i].model;
    return true;
}

/* Learners with a model of every fold become members; of the others it is said why not. */
static void keep_members(tab_stack *s, tab_arena *a, const plan *q, bool crossed)
{
    for (size_t l = 0; l < q->count; l++) {
        const fit_task *t = &q->t[l * q->folds];
        tab_member *m = &s->member[s->members];
        *m = (tab_member){ .learner = q->use[l], .config = t->config, .temperature = 1 };
        bool whole = q->folds > 0;
        for (size_t f = 0; f < q->folds; f++) {
            m->model[f] = t[f].model;
            whole = whole && m->model[f] != NULL;
        }
        if (!whole) {
            s->skipped[s->skips++] = tab_arena_printf(a, "%s: %s", q->use[l]->name,
                                                      q->behind[l] ? "far behind the others"
                                                      : q->idle[l] ? "adds nothing to the others"
                                                                   : "too few rows");
            continue;
        }
        if (q->use[l]->steps > 0)
            stop_at_best(q->use[l], m, t, q->folds, crossed);
        s->members++;
    }
}

/* Fits the recipe's learners on all folds. False: memory or cancelled. */
bool tab_stack_members(pass *c, tab_arena *a, const tab_recipe *r)
{
    plan q;
    size_t end;
    if (!make_plan(c, a, r, &q) || !run_trials(c, a, &q, &end))
        return false;
    choose_configs(&q, end);
    if (q.prune) {
        find_behind(c, &q);
        if (q.folds > 0 && c->n / q.folds >= PROBE_LEAST &&
            !find_idle(c, q.t, q.use, q.count, q.behind, q.idle))
            return false;
    }
    if (!run_rest(c, a, &q))
        return false;
    tab_engine_progress(c->e, "learn", 0.8);
    keep_members(c->s, a, &q, tab_stack_crossed(c));
    return !tab_arena_full(a);
}
