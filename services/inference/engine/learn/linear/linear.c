/* Linear and logistic regression on piecewise-linear features: a learner of the stack. It is a generalised
 * additive model whose curves are broken lines (hinges at quantiles) and whose categories are one-hot, under
 * an L2 penalty (ridge: Hoerl & Kennard, Technometrics 1970). solve.c solves it. The penalty is a path from
 * strong to weak; the driver keeps the point of the path with the least out-of-fold loss over all folds. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/linear/solve.h"

enum { PATH = 6, WIDEST = 400 }; /* penalties; columns of the dense form */
/* From strong to weak, about a factor of 4 apart; the held rows choose. Half of all gives 0.004 less
 * log-loss of tuned XGBoost's, twice of all 0.006 more (decision 0307). */
static const double LAMBDA[PATH] = { 300, 60, 15, 4, 1, 0.2 };

/* The fitted form: weights at each point of the path. */
typedef struct {
    tab_dense *dense;
    size_t width, k, outputs, step; /* step 0: the intercept alone */
    bool classification;
    float *prior; /* (k) margins of the intercept alone */
    float *w;     /* (PATH, width + 1, k) */
} linear;

/* z (n, width + 1): a constant, then the dense form. */
static void read_rows(const linear *m, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                      size_t n, float *z, float *tile)
{
    for (size_t at = 0; at < n; at += TAB_TILE) {
        size_t b = n - at < TAB_TILE ? n - at : TAB_TILE;
        tab_dense_read(m->dense, enc, d, row + at, b, tile);
        for (size_t i = 0; i < b; i++) {
            z[(at + i) * (m->width + 1)] = 1;
            memcpy(z + (at + i) * (m->width + 1) + 1, tile + i * m->width, m->width * sizeof *z);
        }
    }
}

/* out (n, k): margins at a step of the path; step 0 is the intercept alone. */
static void margins(const linear *m, const tab_encoder *enc, const tab_data *q, const uint32_t *row, size_t n,
                    size_t step, float *z, float *tile, float *out)
{
    /* the intercept alone */
    if (step == 0) {
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * m->k, m->prior, m->k * sizeof *out);
        return;
    }
    read_rows(m, enc, q, row, n, z, tile);
    tab_apply(z, n, m->width + 1, m->w + (step - 1) * (m->width + 1) * m->k, m->k, out);
}

/* NULL: fewer than two rows, cancelled, out of memory, or no solution in numbers. */
static void *linear_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    linear *m = tab_arena_new_of(t->arena, linear, 1);
    if (m == NULL || t->n < 2)
        return NULL;
    m->dense = tab_dense_new(t->arena, p->enc, TAB_DENSE_SPLINE, WIDEST, t->importance);
    if (m->dense == NULL)
        return NULL;
    m->width = m->dense->width;
    m->classification = p->classification;
    m->outputs = p->outputs;
    m->k = p->classification && p->outputs > 2 ? p->outputs : 1;
    m->step = PATH;
    /* a column of ones stands before the dense form */
    size_t width = m->width + 1;
    m->w = tab_arena_new_of(t->arena, float, PATH *width * m->k);
    m->prior = tab_arena_new_of(t->arena, float, m->k);
    /* z and y, label: the system; zh and out: the held rows and their margins */
    float *z = malloc(t->n * width * sizeof *z), *y = malloc(t->n * sizeof *y);
    float *tile = malloc(TAB_TILE * width * sizeof *tile);
    uint32_t *label = malloc(t->n * sizeof *label);
    size_t held_room = t->held_n + 1;
    float *zh = malloc(held_room * width * sizeof *zh), *out = malloc(held_room * m->k * sizeof *out);
    bool ok = !tab_arena_full(t->arena) && z != NULL && y != NULL && tile != NULL && label != NULL &&
              zh != NULL && out != NULL;
    if (ok) {
        tab_margin_targets(p, t->context, t->n, m->k, y, label, m->prior);
        read_rows(m, p->enc, p->data, t->context, t->n, z, tile);
        tab_system s = { .z = z,
                         .n = t->n,
                         .m = width,
                         .k = m->k,
                         .y = p->classification ? NULL : y,
                         .label = p->classification ? label : NULL,
                         .lambda = LAMBDA,
                         .path = PATH,
                         .cancel = t->cancel };
        ok = tab_solve(&s, m->w);
    }
    /* the loss of the held rows at each point of the path */
    for (size_t step = 0; ok && curve != NULL && step <= PATH; step++) {
        margins(m, p->enc, p->data, t->held, t->held_n, step, zh, tile, out);
        curve[step] = tab_margin_loss(p, t->held, t->held_n, m->k, out);
    }
    free(z), free(y), free(tile), free(label), free(zh), free(out);
    return ok ? m : NULL;
}

/* Chooses a penalty of the path. */
static void linear_stop(void *model, size_t step)
{
    ((linear *)model)->step = step;
}

/* In tiles, as the kernel learner. */
static void linear_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                           size_t n, float *out)
{
    const linear *m = model;
    size_t width = m->width + 1;
    float *z = malloc(TAB_TILE * width * sizeof *z), *tile = malloc(TAB_TILE * width * sizeof *tile);
    float one[TAB_TILE];
    for (size_t at = 0; at < n; at += TAB_TILE) {
        size_t b = n - at < TAB_TILE ? n - at : TAB_TILE;
        if (z == NULL || tile == NULL) {
            memset(out + at * m->outputs, 0, b * m->outputs * sizeof *out);
            continue;
        }
        /* two classes have one margin, the log-odds of the second */
        bool two = m->classification && m->outputs == 2;
        margins(m, enc, q, row + at, b, m->step, z, tile, two ? one : out + at * m->outputs);
        for (size_t i = 0; two && i < b; i++) {
            out[(at + i) * 2] = 0;
            out[(at + i) * 2 + 1] = one[i];
        }
    }
    free(z);
    free(tile);
}

/* For the budget: the Gram matrix and the solver's steps. */
static double linear_work(const tab_problem *p, size_t n)
{
    double width = p->enc->n * 8.0 < WIDEST ? (double)p->enc->n * 8.0 : WIDEST;
    double k = p->classification && p->outputs > 2 ? (double)p->outputs : 1;
    return (double)n * width * (width + 60 * k);
}

const tab_learner tab_learn_linear = { .name = "linear",
                                       .configs = 1,
                                       .cap = 50000,
                                       .work = linear_work,
                                       .fit = linear_fit,
                                       .steps = PATH,
                                       .stop = linear_stop,
                                       .predict = linear_predict };
