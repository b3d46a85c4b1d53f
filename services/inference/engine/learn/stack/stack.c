/* See stack.h. The stack: unlike learners on common folds, each calibrated on answers to rows that it has not
 * seen, weighed together, and calibrated once more. predict/, impute/ and the choice of a target call
 * tab_stack_fit; it is all that a base model is.
 *
 *   assign_folds ─> fit_views (levels.c, prove.c) ─> tab_stack_members (stack_members.c)
 *     ─> answer_all        out-of-fold outputs of each member, and its temperature
 *     ─> tab_pool_weights  (opinion_pool.c)
 *     ─> answer_whole      models of all rows, for learners that have them (refit.c)
 *     ─> combine_all       the stack's outputs, and the last temperature
 *
 * Why a stack, and why this one. No learner is best on every table: boosted trees win where numbers interact,
 * a ridge where there are few rows, a kernel on smooth surfaces, shares of cells on small tables of
 * categories. A weighed pool is nearly as good as the best of them on each table, and better than any on
 * most. The members are trained a few times and not searched over: that is where a tuned library spends its
 * time.
 *
 * What a fold is decides what the answers are worth. Rows that are copies of one another share a fold; where
 * units are given (a patient's visits) a unit's rows do; where places are given (time, groups) folds are runs
 * of places, so that the score is that of the question that is asked. What reads a target (statistics of
 * levels, made columns, members, temperatures of members, the choice of steps) is fitted without the fold
 * that it answers.
 *
 * What holds:
 *
 *   - oof[row] comes of models that never saw the row's target, nor a copy of the row, for each row with a
 *     target. Everything that is reported of a base's quality is computed from these.
 *   - Weights are at least 0; of regression they sum to one. What is below LEAST_WEIGHT is dropped before the
 *     others are weighed again, for it costs each answer its time.
 *   - The prior (the shares of the classes, or the mean) is one of the members. A target that nothing
 *     explains is answered by it, with its honest uncertainty, and not by noise.
 *   - The same rows in any order, and any number of threads, give the same bytes: folds follow from hashes of
 *     the rows' contents, sums run in a fixed order, and each thread's share is its own.
 *   - `work` bounds the fits: learners that do not fit into it are cut down or skipped, and `skipped` says
 *     so.
 *
 * How outputs are calibrated and weighed: opinion_pool.c; what a fitted stack answers: stack_answer.c. */
#include "services/inference/engine/learn/stack/stack_pass.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"
#include "services/inference/engine/learn/stack/prove.h"
#include "services/inference/engine/learn/stack/refit.h"
#include "services/inference/engine/learn/stack/stack_answer.h"

enum {
    BLOCK = 2048,           /* rows that one turn of a loop answers */
    CALIBRATE_ROWS = 20000, /* rows that temperatures and weights are found on; bounds cost */
};

typedef tab_stack_pass pass;

/* ---- folds ----------------------------------------------------------------------------------- */

/* Folds by the number of distinct rows: small tables get more, so that a fold's context is nearly all of
 * them. 5 folds up to 2,000 rows cost 0.6 of the time and as much log-loss (0.8176 of tuned XGBoost's, here
 * 0.8177), but calibrate worse (ECE 0.039, here 0.038); 10 folds up to 2,000 rows give 0.811 for 1.2 of the
 * time. RMSE moves by 0.005 (decision 0307; the spread of its tables is as large). */
static size_t folds_for(size_t n)
{
    if (n < 2)
        return 0;
    size_t k = n < 500 ? 10 : n < 2000 ? 8 : n < 50000 ? 5 : 3;
    assert(k <= TAB_FOLDS);
    return k < n ? k : n;
}

/* Numbers the groups: units where there are any, else rows of equal content, which stand sorted by hash.
 * False: memory. */
static bool group_rows(pass *c, tab_arena *a)
{
    const tab_problem *p = c->p;
    c->group = tab_arena_new_of(a, uint32_t, c->n + 1);
    uint32_t *of = p->unit == NULL ? NULL : malloc((p->data->rows + 1) * sizeof *of);
    if (c->group == NULL || (p->unit != NULL && of == NULL))
        return false;
    for (size_t i = 0; of != NULL && i < p->data->rows; i++)
        of[i] = TAB_NULL;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->all[i];
        if (of != NULL) {
            uint32_t *g = &of[p->unit[row]];
            if (*g == TAB_NULL)
                *g = (uint32_t)c->groups++;
            c->group[i] = *g;
            continue;
        }
        bool equal = !p->repeats && i > 0 && p->data->hash[row] == p->data->hash[c->all[i - 1]];
        c->groups += !equal;
        c->group[i] = (uint32_t)c->groups - 1;
    }
    free(of);
    return true;
}

/* Folds are runs of places; of a unit in several places the first row decides. False where one would be
 * empty, as many rows have one place. */
static bool fold_by_place(pass *c, uint8_t *of)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    size_t n[TAB_FOLDS + 1] = { 0 }, full = 0;
    memset(of, TAB_NO_FOLD, c->groups);
    for (size_t i = 0; i < c->n; i++) {
        size_t fold = (size_t)((double)p->place[c->all[i]] * (double)s->folds);
        fold = fold < s->folds ? fold : s->folds - 1;
        if (p->unit != NULL && of[c->group[i]] != TAB_NO_FOLD)
            fold = of[c->group[i]];
        of[c->group[i]] = (uint8_t)fold;
        s->fold[c->all[i]] = (uint8_t)fold;
        full += n[fold]++ == 0;
    }
    assert(full <= s->folds);
    return full == s->folds;
}

/* A row by what it is: its cells and its target, and which of those that are alike. */
typedef struct {
    uint64_t cells, target, draw;
    uint32_t at;
} alike;

static int by_likeness(const void *a, const void *b)
{
    const alike *x = a, *y = b;
    if (x->cells != y->cells)
        return x->cells < y->cells ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_draw(const void *a, const void *b)
{
    const alike *x = a, *y = b;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* order (n): the rows as they go round the folds. They stand sorted by their cells: where equal rows may be
 * in different folds, each fold would be given its share of every cell, and what a fold holds would be known
 * from the others. They are drawn. False: memory. */
static bool order_rows(const pass *c, uint32_t *order)
{
    const tab_problem *p = c->p;
    bool equal = false;
    for (size_t i = 0; i < c->n; i++) {
        order[i] = (uint32_t)i;
        equal = equal || (i > 0 && p->data->hash[c->all[i]] == p->data->hash[c->all[i - 1]]);
    }
    if (!p->repeats || !equal)
        return true;
    alike *k = malloc((c->n + 1) * sizeof *k);
    if (k == NULL)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->all[i], bits = 0;
        if (!p->classification)
            memcpy(&bits, &p->y[row], sizeof bits);
        k[i] = (alike){ p->data->hash[row], p->classification ? p->label[row] : bits, 0, (uint32_t)i };
    }
    qsort(k, c->n, sizeof *k, by_likeness);
    for (size_t i = 0, same = 0; i < c->n; i++) {
        same = i > 0 && k[i].cells == k[i - 1].cells && k[i].target == k[i - 1].target ? same + 1 : 0;
        k[i].draw = tab_mix2(tab_mix2(k[i].cells, k[i].target), same);
    }
    qsort(k, c->n, sizeof *k, by_draw);
    for (size_t i = 0; i < c->n; i++)
        order[i] = k[i].at;
    free(k);
    return true;
}

/* By place, in as many folds as leave none empty: of few groups there are no more. */
static bool fold_apart(pass *c, uint8_t *of)
{
    size_t most = c->s->folds;
    for (; c->p->place != NULL && c->s->folds > 1; c->s->folds--)
        if (fold_by_place(c, of))
            return true;
    c->s->folds = most; /* all rows have one place, or nearly */
    return false;
}

/* Groups go round the folds, by class. */
static bool assign_folds(pass *c)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    size_t classes = p->classification ? p->outputs : 1;
    uint8_t *of = malloc(c->groups + 1);
    size_t *next = calloc(classes, sizeof *next);
    uint32_t *order = malloc((c->n + 1) * sizeof *order);
    bool ok = of != NULL && next != NULL && order != NULL && order_rows(c, order);
    memset(s->fold, TAB_NO_FOLD, p->data->rows);
    if (ok && !fold_apart(c, of)) {
        memset(of, TAB_NO_FOLD, c->groups);
        for (size_t k = 0; s->folds > 0 && k < c->n; k++) {
            size_t i = order[k];
            uint8_t *fold = &of[c->group[i]];
            size_t class = p->classification ? p->label[c->all[i]] : 0;
            /* classes begin at different folds, so that rare ones do not all fall into the first */
            if (*fold == TAB_NO_FOLD)
                *fold = (uint8_t)((next[class]++ + class * 3) % s->folds);
            s->fold[c->all[i]] = *fold;
        }
    }
    for (size_t k = 0; ok && s->folds > 0 && k < c->n; k++)
        assert(s->fold[c->all[k]] < s->folds); /* each row with a target is answered by models without it */
    free(of);
    free(next);
    free(order);
    return ok;
}

/* ---- what a fold's models read --------------------------------------------------------------- */

/* Statistics of levels and made columns, for each fold from its own context. made (folds + 1), or NULL.
 * False: memory or cancelled. */
static bool fit_levels(pass *c, tab_arena *a, const tab_made_list *made)
{
    uint32_t *context = malloc((c->n + 1) * sizeof *context);
    bool ok = context != NULL;
    for (size_t f = 0; ok && f < c->s->folds; f++) {
        if (made != NULL && made[f].n == 0)
            continue;
        size_t n = tab_fold_rows(c, f, false, 0, context);
        ok = tab_levels_fit(a, c->p, context, n, made == NULL ? NULL : &made[f], &c->s->levels[f]) &&
             !tab_engine_cancelled(c->e);
    }
    free(context);
    return ok;
}

/* What the folds' models read. False: memory or cancelled. */
static bool fit_views(pass *c, tab_arena *a, const tab_recipe *r)
{
    tab_made_list made[TAB_FOLDS + 1];
    if (!fit_levels(c, a, NULL) || !tab_prove(c, r, made) || !fit_levels(c, a, made))
        return false;
    c->s->made = made[c->s->folds];
    return true;
}

/* ---- outputs of the members ------------------------------------------------------------------ */

/* One member's outputs, in blocks of rows. */
typedef struct {
    pass *c;
    const tab_member *m;
    float *out;   /* (rows, outputs) */
    bool outside; /* only of the rows that stand in no fold */
    atomic_bool failed;
} output_job;

/* Outputs of one member for one block of rows: of each row by the model that did not see it. */
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
        uint8_t fold = f < s->folds ? (uint8_t)f : TAB_NO_FOLD;
        /* the block's rows of this fold are answered together */
        size_t n = 0;
        for (size_t i = from; i < to; i++)
            if (s->fold[i] == fold)
                row[n++] = (uint32_t)i;
        if (n == 0)
            continue;
        tab_fold_view view[TAB_FOLDS + 1]; /* of the problem's own rows: nothing to free */
        for (size_t v = 0; v <= s->folds; v++)
            (void)tab_stack_view(s, v, p->enc, p->data, row, n, &view[v]);
        /* rows without a target are answered by all folds' models */
        if (fold == TAB_NO_FOLD) {
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

/* The shares of the classes with half a row of each, or the mean. */
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

/* Log-loss, or squared error, of z or of one constant answer. */
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

/* One member's outputs; outside: of the rows in no fold alone. False: memory or cancelled. */
static bool answer_one(pass *c, const tab_member *m, bool outside, float *z)
{
    output_job j = { .c = c, .m = m, .out = z, .outside = outside };
    atomic_init(&j.failed, false);
    tab_engine_for(c->e, (c->p->data->rows + BLOCK - 1) / BLOCK, output_block, &j);
    return !atomic_load(&j.failed) && !tab_engine_cancelled(c->e);
}

/* Members that have a model of all rows answer by it where no fold stands, z (members)(rows, outputs). */
static bool answer_whole(pass *c, tab_arena *a, float *const *z)
{
    tab_stack *s = c->s;
    const tab_problem *p = c->p;
    if (!tab_refit(c->e, a, p, s, c->all, c->n))
        return false;
    for (size_t l = 0; l < s->members; l++) {
        tab_member *m = &s->member[l];
        if (m->learner->whole)
            memset(m->model, 0, s->folds * sizeof *m->model); /* they go with their arenas */
        if (m->model[s->folds] == NULL || c->n == p->data->rows)
            continue;
        if (!answer_one(c, m, true, z[l]))
            return false;
        for (size_t i = 0; s->classification && i < p->data->rows; i++)
            if (s->fold[i] == TAB_NO_FOLD)
                tab_log_softmax(z[l] + i * s->outputs, s->outputs, m->temperature);
    }
    return true;
}

/* One member's outputs, the rows of a fold at the step that the other folds chose. */
static bool answer_member(pass *c, const tab_member *m, float *z)
{
    const tab_stack *s = c->s;
    bool steps = m->learner->steps > 0, crossed = false;
    for (size_t f = 0; steps && f < s->folds; f++) {
        crossed = crossed || m->apart[f] != m->step;
        m->learner->stop(m->model[f], m->apart[f]);
    }
    bool ok = answer_one(c, m, false, z);
    for (size_t f = 0; steps && f < s->folds; f++)
        m->learner->stop(m->model[f], m->step);
    return ok && (!crossed || c->n == c->p->data->rows || answer_one(c, m, true, z));
}

/* Each member's calibrated out-of-fold outputs, z (members)(rows, outputs), malloc'd also where it fails.
 * some (n): the rows that calibrate. False: memory or cancelled. */
static bool answer_all(pass *c, const uint32_t *some, size_t n, float **z)
{
    tab_stack *s = c->s;
    size_t rows = c->p->data->rows, k = s->outputs;
    for (size_t l = 0; l < s->members; l++) {
        tab_member *m = &s->member[l];
        z[l] = malloc((rows * k + 1) * sizeof **z);
        if (z[l] == NULL || !answer_member(c, m, z[l]))
            return false;
        if (s->classification) {
            m->temperature = tab_best_temperature(c->p, some, n, z[l]);
            for (size_t i = 0; i < rows; i++)
                tab_log_softmax(z[l] + i * k, k, m->temperature);
        }
        m->loss = mean_loss(c, z[l], NULL);
    }
    return true;
}

/* The members' outputs of every row to the stack's. */
static void combine_rows(const tab_stack *s, size_t rows, float *const *z, float *out)
{
    const float *at[TAB_LEARNERS];
    for (size_t i = 0; i < rows; i++) {
        for (size_t l = 0; l < s->members; l++)
            at[l] = z[l] + i * s->outputs;
        tab_stack_combine(s, at, out + i * s->outputs);
    }
}

/* What the other folds alone would have chosen, from what they and the fold chose and what they chose: the
 * fold's own say is taken off twice. Two folds agree or not in both directions: what a model that learned
 * from this fold says of another one is chosen by that one, and carries this fold's targets once more
 * (decision 0392). */
static double without_twice(double all, double others)
{
    return fmax(0, 2 * others - all);
}

/* Temperatures are moved by their logarithm, within their range. */
static double temper_twice(double all, double others)
{
    return fmin(4, fmax(0.2, others * others / all));
}

/* The weights of t, which are the other folds', without the fold's say: regression's add up to one. */
static void weigh_apart(const tab_stack *s, tab_stack *t)
{
    double sum = t->prior_weight = without_twice(s->prior_weight, t->prior_weight);
    for (size_t l = 0; l < t->members; l++)
        sum += t->member[l].weight = without_twice(s->member[l].weight, t->member[l].weight);
    if (t->classification || !(sum > 0))
        return;
    t->prior_weight /= sum;
    for (size_t l = 0; l < t->members; l++)
        t->member[l].weight /= sum;
}

/* The outputs of one fold's rows by weights and a last temperature that its targets had no say in: t is the
 * stack with those of the other folds. some (n): their rows. z: the members' outputs as the stack calibrates
 * them; out: room. A member's own temperature moves all classes alike, and is left as it is. */
static void combine_apart(const pass *c, size_t fold, const uint32_t *some, size_t n, float *const *z,
                          float *out)
{
    const tab_problem *p = c->p;
    tab_stack t = *c->s;
    size_t rows = p->data->rows, k = t.outputs;
    tab_pool_weights(p, &t, some, n, z);
    weigh_apart(c->s, &t);
    combine_rows(&t, rows, z, out);
    double last = t.classification ? temper_twice(t.temperature, tab_best_temperature(p, some, n, out)) : 1;
    for (size_t i = 0; i < rows; i++)
        if (t.fold[i] == fold) {
            if (t.classification)
                tab_log_softmax(out + i * k, k, last);
            memcpy(t.oof + i * k, out + i * k, k * sizeof *out);
        }
}

/* Small tables: each fold's rows are answered with the weights and the last temperature of the others. Where
 * a dozen numbers are found on a hundred rows, those rows are answered better by them than any other
 * (decision 0392); of TAB_CROSSED numbers it is a thousandth. False: memory or cancelled. */
static bool cross_fit(const pass *c, const uint32_t *some, size_t n, float *const *z)
{
    const tab_stack *s = c->s;
    if (!tab_stack_crossed(c) || s->members == 0)
        return true;
    float *out = malloc((c->p->data->rows * s->outputs + 1) * sizeof *out);
    uint32_t *rest = malloc((n + 1) * sizeof *rest);
    bool ok = out != NULL && rest != NULL;
    for (size_t f = 0; ok && f < s->folds; f++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (s->fold[some[i]] != f)
                rest[m++] = some[i];
        if (m > 0)
            combine_apart(c, f, rest, m, z, out);
        ok = !tab_engine_cancelled(c->e);
    }
    free(out);
    free(rest);
    return ok;
}

/* The members' outputs to the stack's, and the last temperature. False: memory or cancelled. */
static bool combine_all(pass *c, const uint32_t *some, size_t n, float *const *z)
{
    tab_stack *s = c->s;
    size_t rows = c->p->data->rows, k = s->outputs;
    combine_rows(s, rows, z, s->oof);
    if (s->classification) {
        if (s->members > 0)
            s->temperature = tab_best_temperature(c->p, some, n, s->oof);
        for (size_t i = 0; i < rows; i++)
            tab_log_softmax(s->oof + i * k, k, s->temperature);
    }
    bool ok = cross_fit(c, some, n, z);
    s->loss = mean_loss(c, s->oof, NULL);
    s->prior_loss = mean_loss(c, NULL, s->prior);
    return ok;
}

/* Whether all rows of a group have one target: first (groups) gives its first row. */
static bool one_target(const pass *c, uint32_t *first)
{
    const tab_problem *p = c->p;
    memset(first, 0xff, c->groups * sizeof *first);
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->all[i], *of = &first[c->group[i]];
        if (*of == TAB_NULL)
            *of = row;
        else if (p->classification ? p->label[row] != p->label[*of]
                                   : p->y[row] != p->y[*of]) // NOLINT: the very
            return false;
    }
    return true;
}

/* some: the rows that calibrate and weigh, every step-th of all. Returns how many. Where equal rows, or those
 * of a unit, have equal targets throughout, one of them stands for all: copies are answered by each other
 * (decision 0052), and a class of one row and its copies, in one fold, would make all of its rows errors
 * (decision 0381). */
static size_t rows_that_calibrate(const pass *c, uint32_t *some)
{
    uint32_t *first = malloc((c->groups + 1) * sizeof *first);
    bool once = first != NULL && (c->p->classification || c->p->unit != NULL) && one_target(c, first);
    size_t n = 0, sampled = 0;
    for (size_t i = 0; i < c->n; i++)
        if (!once || first[c->group[i]] == c->all[i])
            some[n++] = c->all[i];
    free(first);
    /* they stand in hash order: every step-th is a fair sample */
    for (size_t i = 0, step = n / CALIBRATE_ROWS + 1; i < n; i += step)
        some[sampled++] = some[i];
    return sampled;
}

/* Folds, fits, calibration, weights. NULL: memory or cancelled. */
static tab_stack *fit_stack(pass *c, tab_arena *a, const tab_recipe *r)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
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
    if (!group_rows(c, a))
        return NULL;
    /* folds need distinct rows: copies stay together */
    s->folds = r->folds > 0 && r->folds < folds_for(c->groups) ? r->folds : folds_for(c->groups);
    if (!assign_folds(c))
        return NULL;
    /* One class, or hardly two rows a class: nothing to learn, and a margin a class to pay for. */
    bool alone = p->classification && (k < 2 || c->n < 2 * k);
    if (!alone && s->folds > 1 && p->enc->n > 0 && r->n > 0 &&
        (!fit_views(c, a, r) || !tab_stack_members(c, a, r)))
        return NULL;

    float **z = tab_arena_new_of(a, float *, s->members + 1);
    uint32_t *some = tab_arena_new_of(a, uint32_t, c->n + 1);
    if (tab_arena_full(a))
        return NULL;
    size_t sampled = rows_that_calibrate(c, some);
    bool ok = answer_all(c, some, sampled, z);
    if (ok && s->members > 0) {
        tab_pool_weights(p, s, some, sampled, z);
        ok = answer_whole(c, a, z);
    }
    ok = ok && combine_all(c, some, sampled, z);
    for (size_t l = 0; l < s->members; l++)
        free(z[l]);
    return ok && !tab_arena_full(a) ? s : NULL;
}

/* Models of learners that answer by a model of all rows are freed here: their folds are no longer wanted. */
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
