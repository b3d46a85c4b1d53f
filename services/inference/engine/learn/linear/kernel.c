/* Kernel ridge and kernel logistic regression with a Gaussian kernel.
 *
 *   k(x, c) = exp(-gamma sum_j s_j (x_j - c_j)^2)
 *
 * With m landmark rows c and K_mm + eps I = L L', the features z(x) = L^-1 k(x, c) have inner products that
 * reproduce the kernel on the landmarks (Nystroem: Williams & Seeger, NeurIPS 2000), so the ridge and the
 * logistic of learn/linear/solve.h on z are the kernel methods' own; with every context row a landmark
 * nothing is approximated. There are as many landmarks as there is to learn (landmarks_for). The fitted form
 * is one matrix alpha = L^-T w a landmark and margin:
 *
 *   f(x) = b + sum_i k(x, c_i) alpha_i
 *
 * s_j weighs the columns of the dense metric form: by equal shares, or by how much the boosted trees of the
 * same context gained from the feature (then the kernel forgets noise columns, which is its weakness).
 * gamma is in units of the median squared distance between landmarks. Penalties are a path, as in
 * linear.c. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/clones.h"
#include "services/inference/engine/learn/lanes.h"
#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/linear/solve.h"

/* Landmarks: decision 0146. FEW_LANDMARKS: of the small form that imputes. WIDEST: columns of the dense
 * form. */
enum {
    PATH = 4,
    LANDMARKS = 500, /* where nothing leads */
    LEAST_LANDMARKS = 200,
    MOST_LANDMARKS = 1200,
    FEW_LANDMARKS = 160,
    WIDEST = 300
};
/* The landmarks' bound in time: decision 0146. */
static const double MOST_PRODUCTS = 3e9; /* rows x landmarks x landmarks of a fit */
/* Penalties from strong to weak, of which the held rows choose. Half and double of the whole path move
 * log-loss by 0.0013 of tuned XGBoost's (decision 0307). */
static const double LAMBDA[PATH] = { 6, 1, 0.2, 0.04 };

/* The alternatives: width of the kernel, and how strongly columns are weighed by the trees' gain. Weighing of
 * 0.25 and 1 moves log-loss by 0.001 of tuned XGBoost's, widths nearer to each other by 0.0001. */
static const struct {
    double gamma, weigh;
} CONFIG[] = { { 0.35, 0.5 }, { 1.2, 0.5 }, { 0.12, 0.5 } };

/* The fitted form: landmarks, and weights and intercepts at each point of the path. */
typedef struct {
    tab_dense *dense;
    size_t width, landmarks, k, outputs, step;
    size_t first; /* step whose alpha comes first; above 1: read from bytes, and the others are not there */
    bool classification;
    float gamma;
    float *scale;  /* (width) square root of s */
    float *centre; /* (width, landmarks) */
    float *norm;   /* (landmarks) */
    float *alpha;  /* (PATH, landmarks, k), or of step `first` alone */
    float *bias;   /* (PATH + 1, k); at 0 the intercept alone */
} kernel;

enum { LANES = TAB_LANES };
typedef tab_lanes lanes;
typedef tab_lanes_int lanes_int;

/* o <- e^-(gamma max(0, own + norm - 2 o)), LANES at once; n is a multiple of it. */
TAB_WIDE_CLONES static void gauss(float *o, const float *norm, size_t n, float gamma, float own)
{
    for (size_t k = 0; k < n; k += LANES) {
        lanes z, d;
        memcpy(&z, o + k, sizeof z);
        memcpy(&d, norm + k, sizeof d);
        /* squared distance; rounding can make it negative, and the mask sets it to 0 */
        d = own + d - 2 * z;
        d = (lanes)((lanes_int)d & (d > 0));
        lanes x = gamma * d;
        lanes_int far = x >= 80; /* nothing is told apart beyond */
        x = -(lanes)(((lanes_int)x & ~far) | ((lanes_int)(x * 0 + 80) & far));
        tab_exp_lanes(&x);
        memcpy(o + k, &x, sizeof x);
    }
}

/* out (n, landmarks): kernel values of x (n, width), n of any size. */
static void kernel_rows(const kernel *m, const float *x, size_t n, float *out)
{
    size_t c = m->landmarks;
    tab_apply(x, n, m->width, m->centre, c, out);
    for (size_t i = 0; i < n; i++) {
        float own = 0, *o = out + i * c;
        for (size_t j = 0; j < m->width; j++)
            own += x[i * m->width + j] * x[i * m->width + j];
        /* the last landmarks are padded to whole lanes */
        size_t whole = c / LANES * LANES, rest = c - whole;
        gauss(o, m->norm, whole, m->gamma, own);
        if (rest > 0) {
            float last[LANES] = { 0 }, norm[LANES] = { 0 };
            memcpy(last, o + whole, rest * sizeof *last);
            memcpy(norm, m->norm + whole, rest * sizeof *norm);
            gauss(last, norm, LANES, m->gamma, own);
            memcpy(o + whole, last, rest * sizeof *last);
        }
    }
}

/* out (n, k): the margins of rows with kernel values k (n, landmarks) at a step of the path; step 0 is the
 * intercept alone. */
static void margins(const kernel *m, const float *k, size_t n, size_t step, float *out)
{
    if (step > 0)
        tab_apply(k, n, m->landmarks, m->alpha + (step - m->first) * m->landmarks * m->k, m->k, out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m->k; j++)
            out[i * m->k + j] = (step > 0 ? out[i * m->k + j] : 0) + m->bias[step * m->k + j];
}

/* Median squared distance between the landmarks, by pairs at fixed offsets. */
static double median_distance(const kernel *m)
{
    enum { PAIRS = 2000 };
    float d[PAIRS];
    size_t n = 0, c = m->landmarks;
    for (size_t k = 0; k < PAIRS && c > 1; k++) {
        size_t i = (size_t)(tab_mix2(k, 1) % c), j = (size_t)(tab_mix2(k, 2) % c);
        /* a pair of one landmark with itself has distance 0 and is left out */
        float sum = 0;
        for (size_t w = 0; w < m->width; w++) {
            float diff = m->centre[w * c + i] - m->centre[w * c + j];
            sum += diff * diff;
        }
        if (sum > 0)
            d[n++] = sum;
    }
    if (n == 0)
        return 1;
    qsort(d, n, sizeof *d, tab_ascending_float);
    return (double)d[n / 2];
}

/* Scratch of one fit. */
typedef struct {
    float *x, *kn;          /* (most rows, width) and (most rows, landmarks) of the rows at hand */
    float *z, *y;           /* (n, landmarks + 1), (n): the system */
    float *solution, *low;  /* (PATH, landmarks + 1, k); (landmarks, landmarks) the factor L */
    float *out;             /* (held, k) */
    uint32_t *label, *pick; /* (n), (landmarks) */
    double *kmm;            /* (landmarks, landmarks) */
} room;

static bool room_new(room *r, size_t n, size_t held, size_t w, size_t c, size_t k)
{
    size_t most = n > held ? n : held, cols = c + 1;
    *r = (room){ .x = malloc((most + 1) * w * sizeof *r->x),
                 .kn = malloc((most + 1) * c * sizeof *r->kn),
                 .z = malloc(n * cols * sizeof *r->z),
                 .y = malloc(n * sizeof *r->y),
                 .solution = malloc(PATH * cols * k * sizeof *r->solution),
                 .low = malloc(c * c * sizeof *r->low),
                 .out = malloc((held + 1) * k * sizeof *r->out),
                 .label = malloc(n * sizeof *r->label),
                 .pick = malloc(c * sizeof *r->pick),
                 .kmm = malloc(c * c * sizeof *r->kmm) };
    return r->x != NULL && r->kn != NULL && r->z != NULL && r->y != NULL && r->solution != NULL &&
           r->low != NULL && r->out != NULL && r->label != NULL && r->pick != NULL && r->kmm != NULL;
}

static void room_free(room *r)
{
    free(r->x), free(r->kn), free(r->z), free(r->y), free(r->solution), free(r->low), free(r->out);
    free(r->label), free(r->pick), free(r->kmm);
}

/* Chooses the landmarks and factors their kernel matrix: r->low. False: it is not positive definite. */
static bool place_landmarks(kernel *m, const tab_problem *p, const tab_fit_task *t, room *r)
{
    size_t n = t->n, w = m->width, c = m->landmarks;
    tab_dense_weigh(m->dense, p->enc->n, t->importance, CONFIG[t->config].weigh, m->scale);
    for (size_t i = 0; i < c; i++) /* context rows stand by hash: any run of them is a sample */
        r->pick[i] = t->context[i * n / c];
    tab_dense_read_scaled(m->dense, p->enc, p->data, r->pick, c, m->scale, r->x);
    for (size_t i = 0; i < c; i++)
        for (size_t j = 0; j < w; j++) {
            m->centre[j * c + i] = r->x[i * w + j];
            m->norm[i] += r->x[i * w + j] * r->x[i * w + j];
        }
    /* the kernel's width in units of the data; 1e-4 on the diagonal keeps near copies apart */
    m->gamma = (float)(CONFIG[t->config].gamma / median_distance(m));
    kernel_rows(m, r->x, c, r->low);
    for (size_t i = 0; i < c; i++)
        for (size_t j = 0; j < c; j++)
            r->kmm[i * c + j] = (double)r->low[i * c + j] + (i == j ? 1e-4 : 0);
    if (!tab_cholesky(r->kmm, c))
        return false;
    /* L as floats, zero above the diagonal */
    for (size_t i = 0; i < c * c; i++)
        r->low[i] = i % c <= i / c ? (float)r->kmm[i] : 0;
    return true;
}

/* Solves for the context rows' targets on z = L^-1 k(x, landmarks), and turns the weights into alpha = L^-T
 * w. False: cancelled, or no solution in numbers. */
static bool solve_path(kernel *m, const tab_problem *p, const tab_fit_task *t, room *r)
{
    size_t n = t->n, c = m->landmarks, k = m->k, cols = c + 1;
    /* z' = k' L^-T, for all rows at once; then a constant in front of each row */
    tab_dense_read_scaled(m->dense, p->enc, p->data, t->context, n, m->scale, r->x);
    kernel_rows(m, r->x, n, r->kn);
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, (int)c, 1, r->low,
                (int)c, r->kn, (int)c);
    for (size_t i = 0; i < n; i++) {
        r->z[i * cols] = 1;
        memcpy(r->z + i * cols + 1, r->kn + i * c, c * sizeof *r->z);
    }
    tab_margin_targets(p, t->context, n, k, r->y, r->label, m->bias);
    tab_system s = { .z = r->z,
                     .n = n,
                     .m = cols,
                     .k = k,
                     .y = p->classification ? NULL : r->y,
                     .label = p->classification ? r->label : NULL,
                     .lambda = LAMBDA,
                     .path = PATH,
                     .cancel = t->cancel };
    if (!tab_solve(&s, r->solution))
        return false;
    for (size_t step = 0; step < PATH; step++) {
        /* the intercept is the first row of the solution; the rest becomes alpha */
        float *a = m->alpha + step * c * k;
        memcpy(a, r->solution + step * cols * k + k, c * k * sizeof *a);
        memcpy(m->bias + (step + 1) * k, r->solution + step * cols * k, k * sizeof *a);
        cblas_strsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)c, (int)k, 1, r->low,
                    (int)c, a, (int)k);
    }
    return true;
}

/* NULL: too few rows, cancelled, out of memory, or no solution in numbers. */
static void *fit(const tab_problem *p, const tab_fit_task *t, size_t landmarks, double *curve)
{
    kernel *m = tab_arena_new_of(t->arena, kernel, 1);
    size_t n = t->n;
    if (m == NULL || n < 4)
        return NULL;
    m->dense = tab_dense_new(t->arena, p->enc, TAB_DENSE_METRIC, WIDEST, t->importance);
    if (m->dense == NULL || m->dense->width == 0)
        return NULL;
    m->width = m->dense->width;
    m->classification = p->classification;
    m->outputs = p->outputs;
    m->k = p->classification && p->outputs > 2 ? p->outputs : 1;
    m->landmarks = n <= landmarks ? n : landmarks;
    m->step = PATH;
    m->first = 1;
    size_t w = m->width, c = m->landmarks, k = m->k;
    m->scale = tab_arena_new_of(t->arena, float, w);
    m->centre = tab_arena_new_of(t->arena, float, w *c);
    m->norm = tab_arena_new_of(t->arena, float, c);
    m->alpha = tab_arena_new_of(t->arena, float, PATH *c *k);
    m->bias = tab_arena_new_of(t->arena, float, (PATH + 1) * k);
    room r;
    bool ok = room_new(&r, n, t->held_n, w, c, k) && !tab_arena_full(t->arena) &&
              place_landmarks(m, p, t, &r) && solve_path(m, p, t, &r);
    /* the loss of the held rows at each point of the path, from one matrix of kernel values */
    if (ok && curve != NULL) {
        tab_dense_read_scaled(m->dense, p->enc, p->data, t->held, t->held_n, m->scale, r.x);
        kernel_rows(m, r.x, t->held_n, r.kn);
        for (size_t step = 0; step <= PATH; step++) {
            margins(m, r.kn, t->held_n, step, r.out);
            curve[step] = tab_margin_loss(p, t->held, t->held_n, k, r.out);
        }
    }
    room_free(&r);
    return ok ? m : NULL;
}

/* Chooses a penalty of the path. */
static void kernel_stop(void *model, size_t step)
{
    ((kernel *)model)->step = step;
}

/* In tiles, so that memory stays small; a row's answer does not depend on its tile. */
static void kernel_predict(const void *model, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                           size_t n, float *out)
{
    const kernel *m = model;
    float *x = malloc(TAB_TILE * m->width * sizeof *x), *k = malloc(TAB_TILE * m->landmarks * sizeof *k);
    float one[TAB_TILE];
    bool two = m->classification && m->outputs == 2;
    for (size_t at = 0; at < n; at += TAB_TILE) {
        size_t b = n - at < TAB_TILE ? n - at : TAB_TILE;
        if (x == NULL || k == NULL) {
            memset(out + at * m->outputs, 0, b * m->outputs * sizeof *out);
            continue;
        }
        tab_dense_read_scaled(m->dense, enc, q, row + at, b, m->scale, x);
        kernel_rows(m, x, b, k);
        margins(m, k, b, m->step, two ? one : out + at * m->outputs);
        for (size_t i = 0; two && i < b; i++) {
            out[(at + i) * 2] = 0;
            out[(at + i) * 2 + 1] = one[i];
        }
    }
    free(x);
    free(k);
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    kernel *m = each;
    size_t n = m->step > 0 ? m->landmarks * m->k : 0;
    float *alpha = tab_pack_writes(p) && m->step > 0 ? m->alpha + (m->step - m->first) * n : m->alpha;
    TAB_PACK_ONE(p, m->dense, tab_pack_dense);
    TAB_PACK(p, m->scale, m->width);
    TAB_PACK(p, m->centre, m->width * m->landmarks);
    TAB_PACK(p, m->norm, m->landmarks);
    TAB_PACK(p, alpha, n);
    TAB_PACK(p, m->bias, (PATH + 1) * m->k);
    if (!tab_pack_writes(p))
        m->alpha = alpha;
    if (tab_pack_clears(p))
        m->first = m->step;
}

static void kernel_pack(tab_pack *p, void **model)
{
    tab_pack_each(p, model, 1, sizeof(kernel), pack, NULL);
}

/* A target that the trees have learned in 40 steps is mostly noise, and half of the landmarks say as much;
 * one that they still learn after hundreds is a function of many turns, and more landmarks follow it. See
 * decision 0146. */
static double landmarks_for(size_t n, double lead_steps)
{
    double most = fmin(MOST_LANDMARKS, sqrt(MOST_PRODUCTS / (double)(n + 1)));
    double wanted = lead_steps < 0 ? LANDMARKS : 150 + 2 * lead_steps;
    return fmax(LEAST_LANDMARKS, fmin(most, wanted));
}

static void *kernel_fit(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit(p, t, (size_t)landmarks_for(t->n, t->lead_steps), curve);
}

static void *kernel_fit_small(const tab_problem *p, const tab_fit_task *t, double *curve)
{
    return fit(p, t, FEW_LANDMARKS, curve);
}

/* For the budget: kernel values, the triangular solve and the steps of the solver. */
static double work(const tab_problem *p, size_t n, double landmarks)
{
    double c = (double)n <= landmarks ? (double)n : landmarks;
    double w = (double)p->enc->n * 3.0 < WIDEST ? (double)p->enc->n * 3.0 : WIDEST;
    double k = p->classification && p->outputs > 2 ? (double)p->outputs : 1;
    return (double)n * c * (2 * w + 3 * c + 60 * k) /
           8; /* a product's multiply-add is cheaper than a bin's */
}

static double kernel_work(const tab_problem *p, size_t n)
{
    return work(p, n, landmarks_for(n, INFINITY));
}

static double kernel_work_small(const tab_problem *p, size_t n)
{
    return work(p, n, FEW_LANDMARKS);
}

const tab_learner tab_learn_kernel = { .name = "kernel",
                                       .weighs = true,
                                       .configs = sizeof CONFIG / sizeof *CONFIG,
                                       .cap = 12000,
                                       .work = kernel_work,
                                       .fit = kernel_fit,
                                       .steps = PATH,
                                       .stop = kernel_stop,
                                       .predict = kernel_predict,
                                       .pack = kernel_pack };
const tab_learner tab_learn_kernel_small = { .name = "kernel-small",
                                             .weighs = true,
                                             .configs = 1,
                                             .cap = 3000,
                                             .work = kernel_work_small,
                                             .fit = kernel_fit_small,
                                             .steps = PATH,
                                             .stop = kernel_stop,
                                             .predict = kernel_predict,
                                             .pack = kernel_pack };
