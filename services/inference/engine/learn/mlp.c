/* A small multilayer perceptron on the dense metric form (features/dense.c: normal scores, missing flags,
 * one-hot).
 *
 *   h_1 = relu(W_1' x + b_1),  h_2 = relu(W_2' h_1 + b_2),  f = W_3' h_2 + b_3
 *
 * with the softmax's log-loss for classes and the squared error for numbers. With d_3 the derivative of
 * the loss by f (probabilities less labels; f - y), back-propagation (Rumelhart, Hinton & Williams, Nature
 * 1986) gives dW_l = h_{l-1}' d_l and d_{l-1} = (d_l W_l') where h_{l-1} > 0. Weights start at a normal's
 * values of variance 2 / inputs (He et al., ICCV 2015), the last layer's at zero and its intercept at the
 * base rate, so that step 0 is the prior. AdamW (Loshchilov & Hutter, ICLR 2019) on mini-batches, each
 * pass in its own order, the rate warmed up over a tenth of the steps and then falling as a cosine to
 * zero.
 *
 * MEMBERS networks of different starts are trained side by side, from stop to stop, until the held rows
 * are answered worse again; their outputs are averaged: what one start decides by chance is mostly noise.
 * All that is random is a hash of what it is for. Matrix products run in this thread alone, in one order;
 * answers are made in tiles of one shape (solve.h), so that a row's do not depend on the rows beside it. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/clones.h"
#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/linear/solve.h"
#include "services/inference/engine/learn/stack/opinion_pool.h"

/* WIDEST, HIDDEN, LAYERS, MEMBERS and BATCH: the network of decision 0145. MOST_OUTPUTS bounds a stack
 * buffer. */
enum {
    WIDEST = 200,
    HIDDEN = 64,
    LAYERS = 3,
    MEMBERS = 2,
    BATCH = 64,
    LEAST_ROWS = 100, /* below, its work would be most of a small run: decision 0145 */
    MOST_OUTPUTS = 64
};
/* How many steps: decision 0145 (3, 5 and 8 a round of the trees were tried). WORSE: a fold ends where its
 * held loss has risen by 1 %. */
enum { LEAST_STEPS = 120, MOST_STEPS = 2400, STEPS_UNLED = 500, STOPS = 5 };
static const double STEPS_PER_LEAD = 5, WORSE = 1.01;
/* Shares of the steps after which the networks are kept (decision 0145). */
static const double STOP_AT[STOPS] = { 0.12, 0.25, 0.45, 0.7, 1 };
/* Rate and weight decay of AdamW, and how strongly columns are weighed by the trees' gain. Not sensitive:
 * rates of 2e-3 and 8e-3 move log-loss by 0.001 and RMSE by 0.007 of tuned XGBoost's, decay and weighing of
 * a quarter and a half, and of four times and twice, by 0.0003 and 0.004 (decision 0307). */
static const double RATE = 4e-3, DECAY = 0.02, WEIGH = 0.5;

/* The fitted form: the networks at every stop, of which `step` answers. */
typedef struct {
    tab_dense *dense;
    size_t in[LAYERS], out[LAYERS];
    size_t at[LAYERS]; /* where a layer's weights (in, out) and then its intercepts (out) stand */
    size_t size;       /* values of a network */
    size_t outputs;
    bool classification;
    float *scale;      /* (width) */
    size_t step, kept; /* 0: the prior */
    size_t first;      /* stop that comes first; above 0: read from bytes, and the others are not there */
    float *w;          /* (STOPS + 1, MEMBERS, size), or of stop `first` alone */
} mlp;

/* The networks at work. */
typedef struct {
    float *h[LAYERS + 1];                    /* (rows, width of the layer); 0: the inputs */
    float *d[LAYERS + 1];                    /* derivatives by the same */
    float *g;                                /* (size) gradient */
    float *first[MEMBERS], *second[MEMBERS]; /* (size) Adam's moments */
    uint64_t *order[MEMBERS];                /* (n) of this pass */
    float *x;                                /* (n, width) */
    float *block;
} room;

#ifdef __clang__
#define LOOPS
#else
#define LOOPS \
    __attribute__((optimize("O3", "no-math-errno"))) /* square roots eight at once; each is rounded alike */
#endif

/* h (n, out) <- h + intercepts, cut at zero inside the network. */
LOOPS TAB_CLONES static void activate(float *restrict h, const float *restrict b, size_t n, size_t out,
                                      bool last)
{
    float least = last ? -INFINITY : 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < out; j++) {
            float v = h[i * out + j] + b[j];
            h[i * out + j] = v > least ? v : least;
        }
}

/* d (n) <- 0 where the unit h was silent. */
LOOPS TAB_CLONES static void silence(float *restrict d, const float *restrict h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d[i] = h[i] > 0 ? d[i] : 0;
}

/* sum (width): gradients of the intercepts. */
LOOPS TAB_CLONES static void column_sums(float *restrict sum, const float *restrict d, size_t n, size_t width)
{
    memset(sum, 0, width * sizeof *sum);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < width; j++)
            sum[j] += d[i * width + j];
}

/* f (n, k) to the derivative of the mean loss by it. */
static void residuals(const mlp *m, const tab_problem *p, const uint32_t *row, size_t n, const float *f,
                      float *d)
{
    /* divided by n, so that the gradient is that of the mean loss */
    size_t k = m->outputs;
    float share = 1 / (float)n;
    for (size_t i = 0; i < n; i++) {
        const float *o = f + i * k;
        if (!m->classification) {
            float e = o[0] - p->y[row[i]];
            d[i] = share * (e > 3    ? 3
                            : e < -3 ? -3
                                     : e); /* a wild value moves the network no further than 3 sd do */
            continue;
        }
        float top = o[0], sum = 0;
        for (size_t j = 1; j < k; j++)
            top = o[j] > top ? o[j] : top;
        for (size_t j = 0; j < k; j++)
            sum += d[i * k + j] = expf(o[j] - top);
        for (size_t j = 0; j < k; j++)
            d[i * k + j] = share * (d[i * k + j] / sum - (j == p->label[row[i]] ? 1.0f : 0.0f));
    }
}

/* One batch forward and back; r->h[0] holds its inputs. The gradient goes to r->g. */
static void gradient(const mlp *m, const float *w, const tab_problem *p, const uint32_t *row, size_t n,
                     room *r)
{
    /* forward: h_l+1 = relu(h_l W_l + b_l), the last layer without the cut */
    for (size_t l = 0; l < LAYERS; l++) {
        int in = (int)m->in[l], out = (int)m->out[l];
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, out, in, 1, r->h[l], in, w + m->at[l],
                    out, 0, r->h[l + 1], out);
        activate(r->h[l + 1], w + m->at[l] + m->in[l] * m->out[l], n, m->out[l], l + 1 == LAYERS);
    }
    residuals(m, p, row, n, r->h[LAYERS], r->d[LAYERS]);
    /* backward: dW_l = h_l' d_l+1, db_l = column sums of d_l+1, d_l = d_l+1 W_l' where h_l > 0 */
    for (size_t l = LAYERS; l-- > 0;) {
        int in = (int)m->in[l], out = (int)m->out[l];
        float *g = r->g + m->at[l], *gb = g + m->in[l] * m->out[l];
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, in, out, (int)n, 1, r->h[l], in, r->d[l + 1],
                    out, 0, g, out);
        column_sums(gb, r->d[l + 1], n, m->out[l]);
        if (l == 0)
            break;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, in, out, 1, r->d[l + 1], out,
                    w + m->at[l], out, 0, r->d[l], in);
        silence(r->d[l], r->h[l], n * m->in[l]);
    }
}

/* One step of AdamW over all weights. b1 = 0.9 as its authors have it; b2 = 0.99 forgets sooner than their
 * 0.999, since there are few steps. */
LOOPS TAB_CLONES static void moved(float *restrict w, const float *restrict gradient, float *restrict first,
                                   float *restrict second, size_t n, float c1, float c2, float lr, float keep)
{
    const float b1 = 0.9f, b2 = 0.99f;
    for (size_t i = 0; i < n; i++) {
        float g = gradient[i];
        first[i] = b1 * first[i] + (1 - b1) * g;
        second[i] = b2 * second[i] + (1 - b2) * g * g;
        w[i] = w[i] * keep - lr * (first[i] * c1) / (sqrtf(second[i] * c2) + 1e-8f);
    }
}

/* Bias corrections of step `step`, counted from 1. */
static void adam(const mlp *m, float *w, room *r, size_t member, size_t step, double rate)
{
    float c1 = (float)(1 / (1 - pow(0.9, (double)step))), c2 = (float)(1 / (1 - pow(0.99, (double)step)));
    moved(w, r->g, r->first[member], r->second[member], m->size, c1, c2, (float)rate,
          (float)(1 - rate * DECAY));
}

/* A standard normal number from a hash (Box & Muller 1958). */
static double normal(uint64_t h)
{
    return sqrt(-2 * log(1 - tab_unit(h))) * cos(2 * M_PI * tab_unit(tab_mix(h)));
}

/* A network's first weights. */
static void start(const mlp *m, const tab_problem *p, const tab_fit_task *t, size_t member, float *w)
{
    memset(w, 0, m->size * sizeof *w);
    /* the last layer's weights stay zero */
    for (size_t l = 0; l + 1 < LAYERS; l++)
        for (size_t i = 0; i < m->in[l] * m->out[l]; i++)
            w[m->at[l] + i] = (float)(sqrt(2 / (double)m->in[l]) *
                                      normal(tab_mix2(tab_mix2(i, l), p->seed + 1000 + member)));
    /* its intercepts: the log shares of the classes with half a row of each, or the mean */
    float *b = w + m->at[LAYERS - 1] + m->in[LAYERS - 1] * m->out[LAYERS - 1];
    for (size_t i = 0; i < t->n; i++) {
        if (m->classification)
            b[p->label[t->context[i]]] += 1;
        else
            b[0] += p->y[t->context[i]] / (float)t->n;
    }
    for (size_t k = 0; m->classification && k < m->outputs; k++)
        b[k] = logf((b[k] + 0.5f) / ((float)t->n + 0.5f * (float)m->outputs));
}

/* For qsort. */
static int by_hash(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* In proportion to the steps that the trees took before they learned no more: noise is learned in a few, a
 * smooth function of many columns wants them all, and only there are they worth their time. See
 * decision 0145. */
static size_t steps_of(const mlp *m, const tab_fit_task *t)
{
    if (t->lead_steps < 0)
        return STEPS_UNLED;
    double steps = STEPS_PER_LEAD * t->lead_steps * (m->classification && m->outputs > 2 ? 1.4 : 1);
    return steps < LEAST_STEPS ? LEAST_STEPS : steps > MOST_STEPS ? MOST_STEPS : (size_t)steps;
}

/* The steps from..to of one network. False: cancelled. */
static bool advance(const mlp *m, size_t member, float *w, const tab_problem *p, const tab_fit_task *t,
                    size_t from, size_t to, size_t all, room *r)
{
    size_t n = t->n, width = m->dense->width, batches = (n + BATCH - 1) / BATCH;
    uint64_t *order = r->order[member];
    uint32_t row[BATCH];
    for (size_t step = from; step < to; step++) {
        size_t at = step % batches * BATCH, b = n - at < BATCH ? n - at : BATCH;
        if (t->cancel != NULL && atomic_load_explicit(t->cancel, memory_order_relaxed))
            return false;
        if (at == 0) { /* a pass begins; the place breaks ties and is read back from the low bits */
            for (size_t i = 0; i < n; i++)
                order[i] =
                    (tab_mix2(tab_mix2(i, step / batches), p->seed + member) & ~(uint64_t)0xffffff) | i;
            qsort(order, n, sizeof *order, by_hash);
        }
        for (size_t i = 0; i < b; i++) {
            /* inputs of the batch, side by side */
            size_t place = (size_t)(order[at + i] & 0xffffff);
            row[i] = t->context[place];
            memcpy(r->h[0] + i * width, r->x + place * width, width * sizeof *r->x);
        }
        gradient(m, w, p, row, b, r);
        /* rate: up over the first tenth, then down as a cosine */
        double done = (double)step / (double)all;
        adam(m, w, r, member, step + 1, RATE * fmin(1, (done + 1e-3) * 10) * 0.5 * (1 + cos(M_PI * done)));
    }
    return true;
}

/* The mean of the MEMBERS networks. */
static void mlp_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out)
{
    const mlp *m = model;
    size_t width = m->dense->width, k = m->outputs;
    float *x = malloc(TAB_TILE * width * sizeof *x);
    float a[TAB_TILE * HIDDEN], b[TAB_TILE * HIDDEN], f[TAB_TILE * MOST_OUTPUTS];
    memset(out, 0, n * k * sizeof *out);
    for (size_t at = 0; x != NULL && at < n; at += TAB_TILE) {
        size_t rows = n - at < TAB_TILE ? n - at : TAB_TILE;
        tab_dense_read_scaled(m->dense, enc, q, row + at, rows, m->scale, x);
        for (size_t member = 0; member < MEMBERS; member++) {
            const float *w = m->w + ((m->step - m->first) * MEMBERS + member) * m->size, *from = x;
            /* layer by layer, from one small buffer to another */
            for (size_t l = 0; l < LAYERS; l++) {
                float *to = l + 1 == LAYERS ? f : l == 0 ? a : b;
                tab_apply(from, rows, m->in[l], w + m->at[l], m->out[l], to);
                activate(to, w + m->at[l] + m->in[l] * m->out[l], rows, m->out[l], l + 1 == LAYERS);
                from = to;
            }
            for (size_t i = 0; i < rows * k; i++)
                out[at * k + i] += f[i] / MEMBERS;
        }
    }
    free(x);
}

/* The held rows' summed loss as the networks stand; NaN: memory. */
static double held_loss(const mlp *m, const tab_problem *p, const tab_fit_task *t)
{
    size_t k = m->outputs;
    float *out = malloc((t->held_n * k + 1) * sizeof *out);
    if (out == NULL)
        return NAN;
    mlp_predict(m, p->enc, p->data, t->held, t->held_n, out);
    double loss = 0;
    for (size_t i = 0; i < t->held_n; i++) {
        float *f = out + i * k;
        if (m->classification) {
            tab_log_softmax(f, k, 1);
            loss -= (double)f[p->label[t->held[i]]];
        } else {
            double d = (double)(f[0] - p->y[t->held[i]]);
            loss += d * d;
        }
    }
    free(out);
    return loss;
}

/* From stop to stop, the networks side by side, until the held rows are answered worse again. False:
 * cancelled, or out of memory, or numbers beyond a float. */
static bool train(mlp *m, const tab_problem *p, const tab_fit_task *t, room *r, double *curve)
{
    size_t all = steps_of(m, t), from = 0, row = MEMBERS * m->size;
    double best = INFINITY;
    for (size_t k = 0; k < MEMBERS; k++)
        start(m, p, t, k, m->w + k * m->size);
    for (m->step = 0;; m->step++) {
        /* the networks at this stop; numbers beyond a float end the fit */
        float *w = m->w + m->step * row;
        m->kept = m->step;
        for (size_t i = 0; i < row; i++)
            if (!isfinite(w[i]))
                return false;
        if (curve != NULL) {
            double loss = curve[m->step] = held_loss(m, p, t);
            if (isnan(loss))
                return false;
            if (loss > WORSE * best)
                return true;
            best = fmin(best, loss);
        }
        if (m->step == STOPS)
            return true;
        /* the next stop begins from a copy of this one */
        size_t to = (size_t)ceil(STOP_AT[m->step] * (double)all);
        memcpy(w + row, w, row * sizeof *w);
        for (size_t k = 0; k < MEMBERS; k++)
            if (!advance(m, k, w + row + k * m->size, p, t, from, to, all, r))
                return false;
        from = to;
    }
}

/* Chooses one of the kept networks. */
static void mlp_stop(void *model, size_t step)
{
    mlp *m = model;
    m->step = step < m->kept ? step : m->kept;
}

/* NULL: too few rows, too many classes, cancelled or out of memory. */
static void *mlp_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    tab_arena *a = t->arena;
    if (t->n < LEAST_ROWS || p->outputs > MOST_OUTPUTS)
        return NULL;
    mlp *m = tab_arena_new_of(a, mlp, 1);
    tab_dense *dense = tab_dense_new(a, p->enc, TAB_DENSE_METRIC, WIDEST, t->importance);
    if (m == NULL || dense == NULL || dense->width == 0)
        return NULL;
    *m = (mlp){ .dense = dense, .outputs = p->outputs, .classification = p->classification };
    /* where each layer's weights stand in a network's run of floats */
    for (size_t l = 0; l < LAYERS; l++) {
        m->in[l] = l == 0 ? dense->width : HIDDEN;
        m->out[l] = l + 1 == LAYERS ? p->outputs : HIDDEN;
        m->at[l] = m->size;
        m->size += (m->in[l] + 1) * m->out[l];
    }
    m->scale = tab_arena_new_of(a, float, dense->width);
    m->w = tab_arena_new_of(a, float, (STOPS + 1) * MEMBERS * m->size);
    /* one block for the gradient, Adam's moments and a batch's activations and derivatives */
    size_t floats = (1 + 2 * MEMBERS) * m->size;
    for (size_t l = 0; l < LAYERS; l++)
        floats += BATCH * (m->in[l] + 2 * m->out[l]);
    room r = {
        .block = calloc(floats, sizeof *r.block),
        .x = malloc(t->n * dense->width * sizeof *r.x),
    };
    bool ok = !tab_arena_full(a) && r.block != NULL && r.x != NULL;
    for (size_t k = 0; k < MEMBERS; k++) {
        r.order[k] = malloc(t->n * sizeof *r.order[k]);
        ok = ok && r.order[k] != NULL;
    }
    if (ok) {
        /* the block, divided */
        float *at = r.block;
        r.g = at, at += m->size;
        for (size_t k = 0; k < MEMBERS; k++) {
            r.first[k] = at, at += m->size;
            r.second[k] = at, at += m->size;
        }
        r.h[0] = at, at += BATCH * dense->width;
        for (size_t l = 0; l < LAYERS; l++) {
            r.h[l + 1] = at, at += BATCH * m->out[l];
            r.d[l + 1] = at, at += BATCH * m->out[l];
        }
        tab_dense_weigh(dense, p->enc->n, t->importance, WEIGH, m->scale);
        tab_dense_read_scaled(m->dense, p->enc, p->data, t->context, t->n, m->scale, r.x);
    }
    for (size_t i = 0; curve != NULL && i <= STOPS; i++)
        curve[i] = INFINITY;
    ok = ok && train(m, p, t, &r, curve);
    free(r.block), free(r.x);
    for (size_t k = 0; k < MEMBERS; k++)
        free(r.order[k]);
    return ok ? m : NULL;
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    mlp *m = each;
    size_t n = MEMBERS * m->size;
    float *w = tab_pack_writes(p) ? m->w + (m->step - m->first) * n : m->w;
    TAB_PACK_ONE(p, m->dense, tab_pack_dense);
    TAB_PACK(p, m->scale, m->in[0]);
    TAB_PACK(p, w, n);
    if (!tab_pack_writes(p))
        m->w = w;
    if (tab_pack_clears(p))
        m->first = m->kept = m->step;
}

static void mlp_pack(tab_pack *p, void **model)
{
    tab_pack_each(p, model, 1, sizeof(mlp), pack, NULL);
}

/* For the budget: most steps x batch x weights, forward and twice back. */
static double mlp_work(const tab_problem *p, size_t n)
{
    (void)n; /* steps are of one size, and at most so many */
    if (p->outputs > MOST_OUTPUTS)
        return 0;
    double w = p->enc->n * 3.0 < WIDEST ? (double)p->enc->n * 3.0 : WIDEST;
    double size = (w + HIDDEN + (double)p->outputs) * HIDDEN;
    return MEMBERS * (double)MOST_STEPS * BATCH * size * 3 /
           8; /* a product's multiply-add is cheaper than a bin's */
}

const tab_learner tab_learn_mlp = { .name = "mlp",
                                    .weighs = true,
                                    .configs = 1,
                                    .cap = 12000,
                                    .work = mlp_work,
                                    .fit = mlp_fit,
                                    .steps = STOPS,
                                    .stop = mlp_stop,
                                    .predict = mlp_predict,
                                    .pack = mlp_pack };
