/* See stack.h: folds, fits and out-of-fold outputs. How outputs are calibrated and weighed: opinion_pool.c;
 * what a fitted stack answers: stack_answer.c. */
#include "services/inference/engine/learn/stack.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/admit.h"
#include "services/inference/engine/learn/opinion_pool.h"
#include "services/inference/engine/learn/stack_answer.h"
#include "services/inference/engine/learn/whole.h"

enum { BLOCK = 2048, CALIBRATE_ROWS = 20000, NO_FOLD = 255 };
enum { HELD_CAP = 10000 }; /* held rows that tell when to stop and which alternative is best */
enum {
    PRUNE_ROWS = 1500,
    PROBE_LEAST = 1000,
    PROBE_ROWS = 4000,
    PROBE_BLOCK = 500 /* held rows of a fold */
};
static const double FAR_BEHIND = 1.35;
static const size_t MODEL_LIMIT = (size_t)8 << 30;

typedef struct {
    const tab_engine *e;
    const tab_problem *p;
    tab_stack *s;
    uint32_t *all; /* rows with a target, ascending */
    size_t n;
    tab_arena *spare[TAB_LEARNERS * TAB_FOLDS]; /* of models that are not wanted when all is done */
    size_t spares;
} pass;

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

/* ---- folds ----------------------------------------------------------------------------------- */

static size_t folds_for(size_t n)
{
    if (n < 2)
        return 0;
    size_t k = n < 500 ? 10 : n < 2000 ? 8 : n < 50000 ? 5 : 3;
    return k < n ? k : n;
}

/* Rows stand sorted by hash: a run of equal hashes is one group. Groups go round the folds, by class. */
static bool assign_folds(pass *c)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    size_t classes = p->classification ? p->outputs : 1;
    size_t *next = calloc(classes, sizeof *next);
    if (next == NULL)
        return false;
    memset(s->fold, NO_FOLD, p->data->rows);
    for (size_t i = 0; i < c->n;) {
        size_t j = i;
        while (j < c->n && p->data->hash[c->all[j]] == p->data->hash[c->all[i]])
            j++;
        size_t class = p->classification ? p->label[c->all[i]] : 0;
        uint8_t fold = s->folds > 0 ? (uint8_t)((next[class]++ + class * 3) % s->folds) : NO_FOLD;
        for (; i < j; i++)
            s->fold[c->all[i]] = fold;
    }
    free(next);
    return true;
}

/* The context and the held rows of a fold; the context is sampled by hash down to the learner's cap. */
static size_t rows_of(const pass *c, size_t fold, bool in, size_t cap, uint32_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if ((c->s->fold[c->all[i]] == fold) == in)
            out[n++] = c->all[i];
    if (cap == 0 || n <= cap)
        return n;
    double share = (double)cap / (double)n;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (tab_unit(tab_mix2(c->p->data->hash[out[i]], c->p->seed + 77)) < share)
            out[kept++] = out[i];
    return kept;
}

/* ---- fitting --------------------------------------------------------------------------------- */

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
    task.n = rows_of(c, t->fold, false, t->learner->cap, context);
    task.held_n = rows_of(c, t->fold, true, HELD_CAP, held);
    tab_problem view = *c->p;
    if (c->s->levels[t->fold] != NULL) {
        view.enc = &c->s->levels[t->fold]->enc;
        view.data = &c->s->levels[t->fold]->data;
    }
    t->model = t->learner->fit(&view, &task, t->curve);
    t->failed = t->model == NULL && tab_arena_full(t->arena);
    if (t->model != NULL && t->measure) {
        size_t k = c->p->outputs;
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

/* Every fold takes the step at which the folds' losses together are least. */
static void stop_at_best(const tab_learner *l, tab_member *m, const fit_task *t, size_t folds)
{
    double best = INFINITY;
    size_t at = 0;
    for (size_t s = 0; s <= l->steps; s++) {
        double sum = 0;
        for (size_t f = 0; f < folds; f++) {
            size_t own = s; /* a fold that stopped earlier stays where it stopped */
            while (own > 0 && !isfinite(t[f].curve[own]))
                own--;
            sum += t[f].curve[own];
        }
        if (sum < best)
            best = sum, at = s;
    }
    for (size_t f = 0; f < folds; f++)
        l->stop(m->model[f], at);
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

/* Larger tables: weighs the first fold's models together; a learner with no say there is not fitted on the
 * other folds. A thousand held rows tell that well enough: on the four largest tables at hand, learners so
 * left out had no weight in the whole stack either. docs/decisions/0091. */
static bool find_idle(pass *c, fit_task *t, const tab_learner *const *use, size_t count, const bool *behind,
                      bool *idle)
{
    tab_stack *s = c->s;
    size_t folds = s->folds, k = s->outputs, of[TAB_LEARNERS], n = 0, some = 0;
    uint32_t *row = malloc((c->n + 1) * sizeof *row);
    probe q = { .c = c, .row = row };
    bool ok = row != NULL;
    if (ok)
        n = rows_of(c, 0, true, 0, row);
    for (size_t i = 0, step = n / PROBE_ROWS + 1; i < n; i += step)
        row[some++] = row[i];
    q.n = some;
    atomic_init(&q.failed, false);
    for (size_t l = 0; ok && l < count; l++) {
        if (t[l * folds].model == NULL || behind[l])
            continue;
        tab_member *m = &s->member[s->members];
        *m = (tab_member){ .learner = use[l], .model = { t[l * folds].model }, .temperature = 1 };
        if (use[l]->steps > 0)
            stop_at_best(use[l], m, &t[l * folds], 1);
        q.z[s->members] = malloc((c->p->data->rows * k + 1) * sizeof(float));
        ok = q.z[s->members] != NULL;
        of[s->members++] = l;
    }
    if (ok && s->members > 1) {
        tab_engine_for(c->e, s->members * ((some + PROBE_BLOCK - 1) / PROBE_BLOCK), probe_block, &q);
        ok = !atomic_load(&q.failed) && !tab_engine_cancelled(c->e);
        for (size_t m = 0; ok && s->classification && m < s->members; m++) {
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

static bool fit_members(pass *c, tab_arena *a, const tab_recipe *r)
{
    tab_stack *s = c->s;
    size_t folds = s->folds, count = 0, tasks = 0;
    const tab_learner *use[TAB_LEARNERS];
    size_t form[TAB_LEARNERS];
    double work = 0;
    for (size_t l = 0; l < r->n; l++) {
        double own = 0;
        int f = tab_admit(c->p, c->n, s, a, r, r->learner[l], work, &own);
        if (f < 0)
            continue;
        work += own;
        form[count] = (size_t)f;
        use[count++] = r->learner[l];
    }
    size_t trials = 0;
    for (size_t l = 0; l < count; l++)
        trials += use[l]->configs;
    /* Large tables: a learner far behind on the first fold is not worth the others. */
    bool prune = c->n > PRUNE_ROWS;
    fit_task *t = tab_arena_new_of(a, fit_task, count * folds + trials + 1);
    if (t == NULL)
        return false;
    for (size_t l = 0; l < count; l++)
        for (size_t f = 0; f < folds; f++) {
            t[l * folds + f] =
                (fit_task){ .pass = c, .learner = use[l], .fold = f, .config = form[l], .lead_steps = -1 };
            if (use[l]->steps > 0)
                t[l * folds + f].curve = tab_arena_new_of(a, double, use[l]->steps + 1);
        }
    tasks = count * folds;
    if (tab_arena_full(a))
        return false;

    /* First the learner whose column weights others take, and beside it trials of configurations, on fold
     * 0, of those that take none; then the others' trials; then what is left. */
    size_t lead = count > 0 && use[0]->importance != NULL ? folds : 0, trial = tasks;
    fit_task *first = tab_arena_new_of(a, fit_task, lead + trials + 1);
    size_t *place = tab_arena_new_of(a, size_t, lead + trials + 1);
    if (tab_arena_full(a))
        return false;
    for (int weighs = 0; weighs < 2; weighs++) {
        size_t n = 0;
        for (size_t f = 0; weighs == 0 && f < lead; f++)
            place[n] = f, first[n++] = t[f];
        double led = weighs == 1 && lead > 0 ? mean_best_step(use[0], t, folds) : -1;
        for (size_t l = 0; weighs == 1 && l < count; l++)
            for (size_t f = 0; f < lead; f++) {
                if (t[f].model != NULL)
                    t[l * folds + f].importance = use[0]->importance(t[f].model);
                t[l * folds + f].lead_steps = led;
            }
        for (size_t l = lead > 0; l < count; l++)
            for (size_t k = 0; k < use[l]->configs && (prune || use[l]->configs > 1); k++) {
                if (use[l]->weighs != weighs)
                    continue;
                fit_task *q = &first[n];
                *q = t[l * folds];
                q->config = form[l] + k;
                q->measure = true;
                if (use[l]->steps > 0)
                    q->curve = tab_arena_new_of(a, double, use[l]->steps + 1);
                place[n++] = trial++;
            }
        if (tab_arena_full(a) || !run_all(c, a, first, n))
            return false;
        for (size_t i = 0; i < n; i++)
            t[place[i]] = first[i];
        tab_engine_progress(c->e, "learn", 0.3 + 0.2 * weighs);
    }
    for (size_t q = tasks; q < trial; q++) /* the best trial of a learner names its configuration */
        for (size_t l = 0; l < count; l++)
            if (t[q].learner == use[l]) {
                fit_task *own = &t[l * folds];
                if (t[q].model != NULL && (own->model == NULL || t[q].loss < own->loss)) {
                    for (size_t f = 0; f < folds; f++)
                        own[f].config = t[q].config;
                    own->model = t[q].model;
                    own->loss = t[q].loss;
                    own->curve = t[q].curve;
                }
            }
    double best = INFINITY;
    bool behind[TAB_LEARNERS] = { false };
    if (lead > 0)
        for (size_t k = 0; t[0].curve != NULL && k <= use[0]->steps; k++)
            best = fmin(best, t[0].curve[k]);
    for (size_t l = lead > 0; prune && l < count; l++)
        if (t[l * folds].model != NULL)
            best = fmin(best, t[l * folds].loss);
    for (size_t l = lead > 0; prune && l < count; l++)
        behind[l] = t[l * folds].model != NULL && t[l * folds].loss > FAR_BEHIND * best;
    bool idle[TAB_LEARNERS] = { false };
    if (prune && folds > 0 && c->n / folds >= PROBE_LEAST && !find_idle(c, t, use, count, behind, idle))
        return false;
    fit_task *todo = tab_arena_new_of(a, fit_task, tasks + 1);
    size_t *where = tab_arena_new_of(a, size_t, tasks + 1), left = 0;
    if (tab_arena_full(a))
        return false;
    for (size_t i = lead; i < tasks; i++)
        if (t[i].model == NULL && !behind[i / folds] && (!idle[i / folds] || lead == 0))
            where[left] = i, todo[left++] = t[i];
    if (!run_all(c, a, todo, left))
        return false;
    for (size_t i = 0; i < left; i++)
        t[where[i]].model = todo[i].model;
    tab_engine_progress(c->e, "learn", 0.8);

    for (size_t l = 0; l < count; l++) {
        tab_member *m = &s->member[s->members];
        *m = (tab_member){ .learner = use[l], .config = t[l * folds].config, .temperature = 1 };
        bool whole = folds > 0;
        for (size_t f = 0; f < folds; f++) {
            m->model[f] = t[l * folds + f].model;
            whole = whole && m->model[f] != NULL;
        }
        if (!whole) {
            s->skipped[s->skips++] = tab_arena_printf(a, "%s: %s", use[l]->name,
                                                      behind[l] ? "far behind the others"
                                                      : idle[l] ? "adds nothing to the others"
                                                                : "too few rows");
            continue;
        }
        if (use[l]->steps > 0)
            stop_at_best(use[l], m, &t[l * folds], folds);
        s->members++;
    }
    return !tab_arena_full(a);
}

/* ---- what a fold's models read --------------------------------------------------------------- */

static bool fit_levels(pass *c, tab_arena *a)
{
    uint32_t *context = malloc((c->n + 1) * sizeof *context);
    bool ok = context != NULL;
    for (size_t f = 0; ok && f < c->s->folds; f++) {
        size_t n = rows_of(c, f, false, 0, context);
        ok = tab_levels_fit(a, c->p, context, n, &c->s->levels[f]) && !tab_engine_cancelled(c->e);
    }
    free(context);
    return ok;
}

/* ---- outputs of the members ------------------------------------------------------------------ */

typedef struct {
    pass *c;
    const tab_member *m;
    float *out;   /* (rows, outputs) */
    bool outside; /* only of the rows that stand in no fold */
    atomic_bool failed;
} output_job;

static void output_block(void *ctx, size_t b)
{
    output_job *j = ctx;
    const tab_stack *s = j->c->s;
    const tab_problem *p = j->c->p;
    size_t k = s->outputs, from = b * BLOCK, to = from + BLOCK < p->data->rows ? from + BLOCK : p->data->rows;
    uint32_t row[BLOCK];
    float *out = malloc(BLOCK * k * sizeof *out);
    if (out == NULL) {
        atomic_store(&j->failed, true);
        return;
    }
    for (size_t f = j->outside ? s->folds : 0; f <= s->folds; f++) {
        uint8_t fold = f < s->folds ? (uint8_t)f : NO_FOLD;
        size_t n = 0;
        for (size_t i = from; i < to; i++)
            if (s->fold[i] == fold)
                row[n++] = (uint32_t)i;
        if (n == 0)
            continue;
        tab_fold_view view[TAB_FOLDS + 1]; /* of the problem's own rows: nothing to free */
        for (size_t v = 0; v <= s->folds; v++)
            (void)tab_stack_view(s, v, p->enc, p->data, row, n, &view[v]);
        if (fold == NO_FOLD) {
            if (!tab_member_average(s, j->m, view, row, n, out))
                atomic_store(&j->failed, true);
        } else {
            j->m->learner->predict(j->m->model[f], view[f].enc, view[f].data, row, n, out);
        }
        for (size_t i = 0; i < n; i++) {
            if (s->classification)
                tab_log_softmax(out + i * k, k, 1);
            memcpy(j->out + (size_t)row[i] * k, out + i * k, k * sizeof *out);
        }
    }
    free(out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void fit_prior(pass *c)
{
    const tab_problem *p = c->p;
    double n = (double)c->n, k = (double)p->outputs;
    if (p->classification) {
        for (size_t i = 0; i < c->n; i++)
            c->s->prior[p->label[c->all[i]]] += 1;
        for (size_t j = 0; j < p->outputs; j++)
            c->s->prior[j] = (float)log(((double)c->s->prior[j] + 0.5) / (n + 0.5 * k));
    } else {
        double sum = 0;
        for (size_t i = 0; i < c->n; i++)
            sum += (double)p->y[c->all[i]];
        c->s->prior[0] = n > 0 ? (float)(sum / n) : 0;
    }
}

static double mean_loss(const pass *c, const float *z, const float *constant)
{
    double loss = 0;
    size_t k = c->p->outputs;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->all[i];
        const float *f = constant != NULL ? constant : z + (size_t)row * k;
        if (c->p->classification) {
            loss -= (double)f[c->p->label[row]];
        } else {
            double d = (double)(f[0] - c->p->y[row]);
            loss += d * d;
        }
    }
    return c->n > 0 ? loss / (double)c->n : 0;
}

/* Members that have a model of all rows answer by it where no fold stands, z (members)(rows, outputs). */
static bool answer_whole(pass *c, tab_arena *a, float *const *z)
{
    tab_stack *s = c->s;
    const tab_problem *p = c->p;
    if (!tab_whole_fit(c->e, a, p, s, c->all, c->n))
        return false;
    for (size_t l = 0; l < s->members; l++) {
        tab_member *m = &s->member[l];
        if (m->learner->whole)
            memset(m->model, 0, s->folds * sizeof *m->model); /* they go with their arenas */
        if (m->model[s->folds] == NULL || c->n == p->data->rows)
            continue;
        output_job j = { .c = c, .m = m, .out = z[l], .outside = true };
        atomic_init(&j.failed, false);
        tab_engine_for(c->e, (p->data->rows + BLOCK - 1) / BLOCK, output_block, &j);
        if (atomic_load(&j.failed) || tab_engine_cancelled(c->e))
            return false;
        for (size_t i = 0; s->classification && i < p->data->rows; i++)
            if (s->fold[i] == NO_FOLD)
                tab_log_softmax(z[l] + i * s->outputs, s->outputs, m->temperature);
    }
    return true;
}

static tab_stack *fit_stack(pass *c, tab_arena *a, const tab_recipe *r)
{
    const tab_engine *e = c->e;
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    const uint32_t *all = c->all;
    size_t rows = p->data->rows, k = p->outputs;
    s->data = p->data;
    s->classification = p->classification;
    s->outputs = k;
    s->temperature = 1;
    s->prior_weight = 1;
    s->fold = tab_arena_new_of(a, uint8_t, rows + 1);
    s->oof = tab_arena_new_of(a, float, rows *k + 1);
    s->prior = tab_arena_new_of(a, float, k);
    if (tab_arena_full(a))
        return NULL;
    fit_prior(c);
    size_t groups = 0; /* folds need distinct rows: copies stay together */
    for (size_t i = 0; i < c->n; i++)
        groups += i == 0 || p->data->hash[all[i]] != p->data->hash[all[i - 1]];
    s->folds = r->folds > 0 && r->folds < folds_for(groups) ? r->folds : folds_for(groups);
    if (!assign_folds(c))
        return NULL;
    /* One class, or hardly two rows a class: nothing to learn, and a margin a class to pay for. */
    bool alone = p->classification && (k < 2 || c->n < 2 * k);
    if (!alone && s->folds > 1 && p->enc->n > 0 && r->n > 0 && (!fit_levels(c, a) || !fit_members(c, a, r)))
        return NULL;

    float **z = tab_arena_new_of(a, float *, s->members + 1);
    if (z == NULL)
        return NULL;
    size_t step = c->n / CALIBRATE_ROWS + 1, sampled = 0;
    uint32_t *some = tab_arena_new_of(a, uint32_t, c->n / step + 2);
    if (some == NULL)
        return NULL;
    for (size_t i = 0; i < c->n; i += step) /* rows are in hash order: every step-th is a fair sample */
        some[sampled++] = all[i];
    bool ok = true;
    for (size_t l = 0; ok && l < s->members; l++) {
        tab_member *m = &s->member[l];
        z[l] = malloc((rows * k + 1) * sizeof **z);
        output_job j = { .c = c, .m = m, .out = z[l] };
        atomic_init(&j.failed, z[l] == NULL);
        if (z[l] != NULL)
            tab_engine_for(e, (rows + BLOCK - 1) / BLOCK, output_block, &j);
        ok = !atomic_load(&j.failed) && !tab_engine_cancelled(e);
        if (ok && s->classification) {
            m->temperature = tab_best_temperature(p, some, sampled, z[l]);
            for (size_t i = 0; i < rows; i++)
                tab_log_softmax(z[l] + i * k, k, m->temperature);
        }
        if (ok)
            m->loss = mean_loss(c, z[l], NULL);
    }
    if (ok && s->members > 0) {
        tab_pool_weights(p, s, some, sampled, z);
        ok = answer_whole(c, a, z);
    }
    if (ok) {
        const float *at[TAB_LEARNERS];
        for (size_t i = 0; i < rows; i++) {
            for (size_t l = 0; l < s->members; l++)
                at[l] = z[l] + i * k;
            tab_stack_combine(s, at, s->oof + i * k);
        }
        if (s->classification) {
            if (s->members > 0)
                s->temperature = tab_best_temperature(p, some, sampled, s->oof);
            for (size_t i = 0; i < rows; i++)
                tab_log_softmax(s->oof + i * k, k, s->temperature);
        }
        s->loss = mean_loss(c, s->oof, NULL);
        s->prior_loss = mean_loss(c, NULL, s->prior);
    }
    for (size_t l = 0; l < s->members; l++)
        free(z[l]);
    return ok && !tab_arena_full(a) ? s : NULL;
}

tab_stack *tab_stack_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_recipe *r)
{
    size_t rows = p->data->rows;
    pass c = {
        .e = e, .p = p, .s = tab_arena_new_of(a, tab_stack, 1), .all = tab_arena_new_of(a, uint32_t, rows + 1)
    };
    if (c.s == NULL || c.all == NULL)
        return NULL;
    for (size_t i = 0; i < rows; i++)
        if (p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]))
            c.all[c.n++] = (uint32_t)i;
    tab_stack *s = fit_stack(&c, a, r);
    for (size_t i = 0; i < c.spares; i++)
        tab_arena_free(c.spare[i]);
    return s;
}
