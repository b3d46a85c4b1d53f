/* See stack.h: folds, fits and out-of-fold outputs of a stack. predict/, impute/ and the choice of a target
 * call tab_stack_fit.
 *
 *   assign_folds ─> fit_levels ─> tab_stack_members (stack_members.c)
 *     ─> answer_all        out-of-fold outputs of each member, and its temperature
 *     ─> tab_pool_weights  (opinion_pool.c)
 *     ─> answer_whole      models of all rows, for learners that have them (whole.c)
 *     ─> combine_all       the stack's outputs, and the last temperature
 *
 * How outputs are calibrated and weighed: opinion_pool.c; what a fitted stack answers: stack_answer.c. */
#include "services/inference/engine/learn/stack_pass.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/opinion_pool.h"
#include "services/inference/engine/learn/stack_answer.h"
#include "services/inference/engine/learn/whole.h"

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
    return k < n ? k : n;
}

/* Folds are runs of places. False where one would be empty, as many rows have one place. */
static bool fold_by_place(pass *c)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    size_t n[TAB_FOLDS + 1] = { 0 }, full = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t fold = (size_t)((double)p->place[c->all[i]] * (double)s->folds);
        fold = fold < s->folds ? fold : s->folds - 1;
        s->fold[c->all[i]] = (uint8_t)fold;
        full += n[fold]++ == 0;
    }
    return full == s->folds;
}

/* Rows stand sorted by hash: a run of equal hashes is one group. Groups go round the folds, by class. */
static bool assign_folds(pass *c)
{
    const tab_problem *p = c->p;
    tab_stack *s = c->s;
    memset(s->fold, TAB_NO_FOLD, p->data->rows);
    for (size_t most = s->folds; p->place != NULL && s->folds > 1; s->folds--)
        if (fold_by_place(c))
            return true;
        else if (s->folds == 2) {
            s->folds = most; /* all rows have one place, or nearly */
            break;
        }
    size_t classes = p->classification ? p->outputs : 1;
    size_t *next = calloc(classes, sizeof *next);
    if (next == NULL)
        return false;
    memset(s->fold, TAB_NO_FOLD, p->data->rows);
    for (size_t i = 0; i < c->n;) {
        /* the group of rows with this hash */
        size_t j = i;
        while (j < c->n && p->data->hash[c->all[j]] == p->data->hash[c->all[i]])
            j++;
        size_t class = p->classification ? p->label[c->all[i]] : 0;
        /* classes begin at different folds, so that rare ones do not all fall into the first */
        uint8_t fold = s->folds > 0 ? (uint8_t)((next[class]++ + class * 3) % s->folds) : TAB_NO_FOLD;
        for (; i < j; i++)
            s->fold[c->all[i]] = fold;
    }
    free(next);
    return true;
}

/* ---- what a fold's models read --------------------------------------------------------------- */

/* Statistics of levels, made for each fold from its own context. False: memory or cancelled. */
static bool fit_levels(pass *c, tab_arena *a)
{
    uint32_t *context = malloc((c->n + 1) * sizeof *context);
    bool ok = context != NULL;
    for (size_t f = 0; ok && f < c->s->folds; f++) {
        size_t n = tab_fold_rows(c, f, false, 0, context);
        ok = tab_levels_fit(a, c->p, context, n, &c->s->levels[f]) && !tab_engine_cancelled(c->e);
    }
    free(context);
    return ok;
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
            if (s->fold[i] == TAB_NO_FOLD)
                tab_log_softmax(z[l] + i * s->outputs, s->outputs, m->temperature);
    }
    return true;
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
        if (z[l] == NULL)
            return false;
        output_job j = { .c = c, .m = m, .out = z[l] };
        atomic_init(&j.failed, false);
        tab_engine_for(c->e, (rows + BLOCK - 1) / BLOCK, output_block, &j);
        if (atomic_load(&j.failed) || tab_engine_cancelled(c->e))
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

/* The members' outputs to the stack's, and the last temperature. */
static void combine_all(pass *c, const uint32_t *some, size_t n, float *const *z)
{
    tab_stack *s = c->s;
    size_t rows = c->p->data->rows, k = s->outputs;
    const float *at[TAB_LEARNERS];
    for (size_t i = 0; i < rows; i++) {
        for (size_t l = 0; l < s->members; l++)
            at[l] = z[l] + i * k;
        tab_stack_combine(s, at, s->oof + i * k);
    }
    if (s->classification) {
        if (s->members > 0)
            s->temperature = tab_best_temperature(c->p, some, n, s->oof);
        for (size_t i = 0; i < rows; i++)
            tab_log_softmax(s->oof + i * k, k, s->temperature);
    }
    s->loss = mean_loss(c, s->oof, NULL);
    s->prior_loss = mean_loss(c, NULL, s->prior);
}

/* Whether a row repeats the one before it: rows stand sorted by the hash of their cells. */
static bool repeats(const pass *c, size_t i)
{
    return i > 0 && c->p->data->hash[c->all[i]] == c->p->data->hash[c->all[i - 1]];
}

/* some: the rows that calibrate and weigh, every step-th of all. Returns how many. Where equal rows have
 * equal classes throughout, one of them stands for all: copies are answered by each other (decision 0052),
 * and a class of one row and its copies, in one fold, would make all of its rows errors (decision 0381). */
static size_t rows_that_calibrate(const pass *c, uint32_t *some)
{
    bool once = c->p->classification;
    size_t n = 0, sampled = 0;
    for (size_t i = 1; once && i < c->n; i++)
        once = !repeats(c, i) || c->p->label[c->all[i]] == c->p->label[c->all[i - 1]];
    for (size_t i = 0; i < c->n; i++)
        if (!once || !repeats(c, i))
            some[n++] = c->all[i];
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
    size_t groups = 0; /* folds need distinct rows: copies stay together */
    for (size_t i = 0; i < c->n; i++)
        groups += !repeats(c, i);
    s->folds = r->folds > 0 && r->folds < folds_for(groups) ? r->folds : folds_for(groups);
    if (!assign_folds(c))
        return NULL;
    /* One class, or hardly two rows a class: nothing to learn, and a margin a class to pay for. */
    bool alone = p->classification && (k < 2 || c->n < 2 * k);
    if (!alone && s->folds > 1 && p->enc->n > 0 && r->n > 0 &&
        (!fit_levels(c, a) || !tab_stack_members(c, a, r)))
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
    if (ok)
        combine_all(c, some, sampled, z);
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
