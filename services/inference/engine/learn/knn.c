/* k nearest neighbours in the dense metric form, columns weighed as the kernel learner weighs them: a learner
 * of the stack.
 *
 * The neighbours of a row vote with weight exp(-2 (d / d_k)^2): near ones more, the k-th little. Class votes
 * are smoothed towards the context's shares by pseudo-counts, so that no class gets probability zero. With |x
 * - c|^2 = |x|^2 + |c|^2 - 2 x c, the distances of a tile of rows are one matrix product (anomaly.c does the
 * same). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/linear/solve.h"

/* WIDEST bounds the columns of the dense form; beyond MOST_OUTPUTS classes the votes of 15 neighbours are
 * too few. The learner rarely has a weight (decision 0050), so its numbers matter little; it stays for
 * tables of near copies. */
enum { WIDEST = 200, MOST_OUTPUTS = 64, MOST_NEIGHBOURS = 15 };

/* The alternatives: neighbours, and how strongly columns are weighed by the trees' gain. */
static const struct {
    size_t neighbours;
    double weigh;
} CONFIG[] = { { 15, 0.5 } };

/* The fitted form: the context itself. */
typedef struct {
    tab_dense *dense;
    size_t width, n, k, outputs, neighbours;
    bool classification;
    float *scale; /* (width) */
    float *point; /* (width, n) */
    float *norm;  /* (n) */
    float *y;     /* (n) */
    uint32_t *label;
    float *prior; /* (k) */
} knn;

/* Keeps the context's rows, transposed for the matrix product. */
static void *knn_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    (void)curve;
    if (t->n < 20 || p->outputs > MOST_OUTPUTS)
        return NULL;
    tab_arena *a = t->arena;
    knn *m = tab_arena_new_of(a, knn, 1);
    tab_dense *dense = tab_dense_new(a, p->enc, TAB_DENSE_METRIC, WIDEST, t->importance);
    if (m == NULL || dense == NULL || dense->width == 0)
        return NULL;
    size_t n = t->n, w = dense->width;
    *m = (knn){ .dense = dense,
                .width = w,
                .n = n,
                .outputs = p->outputs,
                .classification = p->classification,
                .k = p->outputs };
    m->neighbours = CONFIG[t->config].neighbours < n ? CONFIG[t->config].neighbours : n;
    m->scale = tab_arena_new_of(a, float, w);
    m->point = tab_arena_new_of(a, float, w *n);
    m->norm = tab_arena_new_of(a, float, n);
    m->y = tab_arena_new_of(a, float, n);
    m->label = tab_arena_new_of(a, uint32_t, n);
    m->prior = tab_arena_new_of(a, float, m->k);
    float *x = malloc(TAB_TILE * w * sizeof *x);
    if (tab_arena_full(a) || x == NULL) {
        free(x);
        return NULL;
    }
    tab_dense_weigh(dense, p->enc->n, t->importance, CONFIG[t->config].weigh, m->scale);
    /* points stand column by column, as the product wants them, with their squared lengths */
    for (size_t at = 0; at < n; at += TAB_TILE) {
        size_t b = n - at < TAB_TILE ? n - at : TAB_TILE;
        tab_dense_read_scaled(m->dense, p->enc, p->data, t->context + at, b, m->scale, x);
        for (size_t i = 0; i < b; i++)
            for (size_t j = 0; j < w; j++) {
                m->point[j * n + at + i] = x[i * w + j];
                m->norm[at + i] += x[i * w + j] * x[i * w + j];
            }
    }
    free(x);
    for (size_t i = 0; i < n; i++) {
        m->label[i] = p->classification ? p->label[t->context[i]] : 0;
        m->y[i] = p->classification ? 0 : p->y[t->context[i]];
        if (p->classification)
            m->prior[m->label[i]] += 1 / (float)n;
        else
            m->prior[0] += m->y[i] / (float)n;
    }
    return m;
}

/* The nearest rows by insertion into a sorted list; one pseudo-neighbour of weight 1 is the prior.
 * Weights: at distance 0 one, at the k-th neighbour exp(-2). */
static void answer(const knn *m, const float *distance, float own, float *out)
{
    /* squared distances of the nearest so far, rising, and whose they are */
    float near[MOST_NEIGHBOURS];
    uint32_t who[MOST_NEIGHBOURS];
    size_t held = 0, want = m->neighbours;
    for (size_t i = 0; i < m->n; i++) {
        float d = own + m->norm[i] - 2 * distance[i];
        if (held == want && d >= near[held - 1])
            continue;
        size_t at = held < want ? held++ : held - 1;
        for (; at > 0 && near[at - 1] > d; at--)
            near[at] = near[at - 1], who[at] = who[at - 1];
        near[at] = d;
        who[at] = (uint32_t)i;
    }
    float far = near[held - 1] > 1e-12f ? near[held - 1] : 1e-12f,
          sum = 1; /* one pseudo-neighbour: the prior */
    for (size_t k = 0; k < m->k; k++)
        out[k] = m->prior[k];
    for (size_t i = 0; i < held; i++) {
        float w = expf(-2 * (near[i] > 0 ? near[i] : 0) / far);
        sum += w;
        out[m->classification ? m->label[who[i]] : 0] += w * (m->classification ? 1 : m->y[who[i]]);
    }
    for (size_t k = 0; k < m->k; k++)
        out[k] = m->classification ? logf(out[k] / sum + 1e-6f) : out[k] / sum;
}

/* In tiles: a tile's distances are one matrix product. */
static void knn_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out)
{
    const knn *m = model;
    float *x = malloc(TAB_TILE * m->width * sizeof *x), *d = malloc(TAB_TILE * m->n * sizeof *d);
    for (size_t at = 0; at < n; at += TAB_TILE) {
        size_t b = n - at < TAB_TILE ? n - at : TAB_TILE;
        if (x == NULL || d == NULL) {
            memset(out + at * m->outputs, 0, b * m->outputs * sizeof *out);
            continue;
        }
        tab_dense_read_scaled(m->dense, enc, q, row + at, b, m->scale, x);
        tab_apply(x, b, m->width, m->point, m->n, d);
        for (size_t i = 0; i < b; i++) {
            /* the row's squared length */
            float own = 0;
            for (size_t j = 0; j < m->width; j++)
                own += x[i * m->width + j] * x[i * m->width + j];
            answer(m, d + i * m->n, own, out + (at + i) * m->outputs);
        }
    }
    free(x);
    free(d);
}

/* For the budget: every row against every row. */
static double knn_work(const tab_problem *p, size_t n)
{
    if (p->outputs > MOST_OUTPUTS)
        return 0;
    double w = p->enc->n * 3.0 < WIDEST ? (double)p->enc->n * 3.0 : WIDEST;
    return (double)n * (double)n * (w / 8 + 2);
}

const tab_learner tab_learn_knn = { .name = "knn",
                                    .weighs = true,
                                    .configs = sizeof CONFIG / sizeof *CONFIG,
                                    .cap = 6000,
                                    .work = knn_work,
                                    .fit = knn_fit,
                                    .predict = knn_predict };
