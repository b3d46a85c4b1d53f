/* See solve.h: the solver of the linear and the kernel learner.
 *
 * Least squares: the normal equations (Z'Z + lambda I) w = Z'y by Cholesky.
 *
 * Logistic: with P the probabilities and Y the labels, the gradient is Z'(P - Y) + lambda W. The Hessian of
 * the summed loss is bounded by B = c Z'Z + lambda I with c = 1/4 for one margin and 1/2 for a softmax
 * (Boehning, Annals of the Institute of Statistical Mathematics 1992), whatever W. B is factored once a
 * lambda and serves limited-memory BFGS as its first inverse Hessian (Nocedal & Wright, chapter 7), which
 * learns what the bound leaves: about ten steps, each two products with Z. */
#include "services/inference/engine/learn/linear/solve.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/learn/pfn/tensor_ops.h"

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* GRAM_ROWS and ROWS: rows of a tile, which stay in the processor's cache; they are part of the order of
 * summation. MEMORY and STEPS: of L-BFGS. FEW: columns up to which vectors are faster than matrices. */
enum { GRAM_ROWS = 512, MEMORY = 8, STEPS = 30, FEW = 5, ROWS = 96 };

/* Products in floats within a tile, sums over tiles in doubles. */
static void add_gram(const float *z, size_t n, size_t m, double *a, float *scratch)
{
    for (size_t at = 0; at < n; at += GRAM_ROWS) {
        int rows = (int)(n - at < GRAM_ROWS ? n - at : GRAM_ROWS);
        cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, (int)m, rows, 1, z + at * m, (int)m, 0, scratch,
                    (int)m);
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j <= i; j++)
                a[i * m + j] += (double)scratch[i * m + j];
    }
}

bool tab_cholesky(double *a, size_t m)
{
    int n = (int)m, info = 0;
    dpotrf_("U", &n, a, &n, &info); /* LAPACK's upper, column-major, is our lower, row-major */
    return info == 0;
}

/* The transformer's product, which gives a row the same bits alone and in company. */
void tab_apply(const float *z, size_t n, size_t m, const float *w, size_t k, float *out)
{
    tab_row_product(n, m, k, z, w, out);
}

/* x (m, k) <- (L L')^-1 x. For few columns vector by vector: the matrix form would copy L each time. */
static void precondition(const double *l, size_t m, size_t k, double *x)
{
    if (k <= FEW) {
        for (size_t j = 0; j < k; j++) {
            cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, l, (int)m, x + j,
                        (int)k);
            cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, l, (int)m, x + j,
                        (int)k);
        }
        return;
    }
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)k, 1, l,
                (int)m, x, (int)k);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)k, 1, l, (int)m,
                x, (int)k);
}

/* Factors c * gram + lambda I (less at the intercept) into l. */
static bool factor(const double *gram, size_t m, double c, double lambda, double *l)
{
    /* a billionth of the mean diagonal keeps columns that repeat each other from a singular matrix */
    double trace = 0;
    for (size_t i = 0; i < m; i++)
        trace += gram[i * m + i];
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j <= i; j++)
            l[i * m + j] = c * gram[i * m + j];
        l[i * m + i] += (i == 0 ? 1e-6 * lambda : lambda) + 1e-9 * c * trace / (double)m + 1e-12;
    }
    return tab_cholesky(l, m);
}

static double dot(const double *a, const double *b, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

typedef struct {
    const tab_system *s;
    float *wf;    /* (k, m): columns of w as rows */
    float *score; /* (k, ROWS) of one tile: margins, then probabilities less labels */
    float *gf;    /* (k, m) of one tile */
} evaluator;

/* Margins of one tile to probabilities less labels; the tile's summed loss. */
static double residuals(const tab_system *s, const uint32_t *label, size_t rows, float *score)
{
    double loss = 0;
    size_t k = s->k;
    for (size_t i = 0; i < rows; i++) {
        float *f = score + i; /* stride ROWS */
        if (k == 1) {
            /* one margin: log(1 + e^-z) of the label's side, without overflow */
            double z = (double)f[0], own = label[i] == 1 ? z : -z, small = exp(-fabs(z));
            loss += log1p(small) + (own < 0 ? -own : 0);
            double q = z >= 0 ? 1 / (1 + small) : small / (1 + small);
            f[0] = (float)(q - (label[i] == 1));
            continue;
        }
        /* softmax: the greatest margin is taken off first */
        float top = f[0];
        for (size_t j = 1; j < k; j++)
            top = f[j * ROWS] > top ? f[j * ROWS] : top;
        double sum = 0, own = (double)(f[label[i] * ROWS] - top);
        for (size_t j = 0; j < k; j++)
            sum += (double)(f[j * ROWS] = expf(f[j * ROWS] - top));
        loss += log(sum) - own;
        for (size_t j = 0; j < k; j++)
            f[j * ROWS] /= (float)sum;
        f[label[i] * ROWS] -= 1;
    }
    return loss;
}

/* Summed loss + penalty at w; its gradient into g. Z is read once: both products of a tile while it is in
 * the processor's cache, for the plain way is bound by memory. */
static double evaluate(evaluator *e, const double *w, double lambda, double *g)
{
    const tab_system *s = e->s;
    size_t m = s->m, k = s->k;
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < m; i++)
            e->wf[j * m + i] = (float)w[i * k + j];
    double loss = 0;
    memset(g, 0, m * k * sizeof *g);
    for (size_t at = 0; at < s->n; at += ROWS) {
        size_t rows = s->n - at < ROWS ? s->n - at : ROWS;
        /* margins, residuals and the gradient's share of this tile */
        const float *z = s->z + at * m;
        if (k <= FEW)
            for (size_t j = 0; j < k; j++)
                cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)rows, (int)m, 1, z, (int)m, e->wf + j * m, 1, 0,
                            e->score + j * ROWS, 1);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)k, (int)rows, (int)m, 1, e->wf, (int)m,
                        z, (int)m, 0, e->score, ROWS);
        loss += residuals(s, s->label + at, rows, e->score);
        if (k <= FEW)
            for (size_t j = 0; j < k; j++)
                cblas_sgemv(CblasRowMajor, CblasTrans, (int)rows, (int)m, 1, z, (int)m, e->score + j * ROWS,
                            1, 0, e->gf + j * m, 1);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)k, (int)m, (int)rows, 1, e->score,
                        ROWS, z, (int)m, 0, e->gf, (int)m);
        for (size_t j = 0; j < k; j++)
            for (size_t i = 0; i < m; i++)
                g[i * k + j] += (double)e->gf[j * m + i];
    }
    for (size_t i = 0; i < m * k; i++) {
        /* the intercepts, the first k weights, are hardly penalised */
        double l = i < k ? 1e-6 * lambda : lambda;
        loss += 0.5 * l * w[i] * w[i];
        g[i] += l * w[i];
    }
    return loss;
}

/* The last steps and what they changed of the gradient: a ring of MEMORY vectors each. */
typedef struct {
    double *ds, *dg; /* (MEMORY, size) */
    double rho[MEMORY];
    size_t held, first;
} memory;

/* direction (size) holds the gradient on entry and the quasi-Newton direction on return, by the two-loop
 * recursion: newest to oldest, the first inverse Hessian (l, the factor of B), oldest to newest. */
static void recall(const memory *p, size_t size, const double *l, size_t m, size_t k, double *direction)
{
    double alpha[MEMORY];
    for (size_t i = p->held; i-- > 0;) {
        size_t at = (p->first + i) % MEMORY;
        alpha[at] = p->rho[at] * dot(p->ds + at * size, direction, size);
        cblas_daxpy((int)size, -alpha[at], p->dg + at * size, 1, direction, 1);
    }
    precondition(l, m, k, direction);
    for (size_t i = 0; i < p->held; i++) {
        size_t at = (p->first + i) % MEMORY;
        double beta = p->rho[at] * dot(p->dg + at * size, direction, size);
        cblas_daxpy((int)size, alpha[at] - beta, p->ds + at * size, 1, direction, 1);
    }
}

/* Remembers the step from w to next, the oldest one overwritten. A step along which the gradient does not
 * grow would break the recursion and is forgotten. */
static void remember(memory *p, size_t size, const double *w, const double *next, const double *g,
                     const double *next_g)
{
    size_t at = (p->first + p->held) % MEMORY;
    if (p->held == MEMORY)
        at = p->first, p->first = (p->first + 1) % MEMORY;
    else
        p->held++;
    for (size_t i = 0; i < size; i++) {
        p->ds[at * size + i] = next[i] - w[i];
        p->dg[at * size + i] = next_g[i] - g[i];
    }
    double curve = dot(p->ds + at * size, p->dg + at * size, size);
    if (curve > 1e-12)
        p->rho[at] = 1 / curve;
    else
        p->held--; /* forget it: the newest stands last */
}

/* Minimises from w in place. h: 2 * MEMORY vectors and 4 more, of m * k. */
static void minimise(evaluator *e, const double *l, double lambda, double *w, double *room)
{
    size_t m = e->s->m, k = e->s->k, size = m * k;
    /* the room: four vectors, then MEMORY steps (ds) and as many changes of the gradient (dg), used in a
     * ring */
    double *g = room, *direction = g + size, *next = direction + size, *next_g = next + size;
    memory past = { .ds = next_g + size, .dg = next_g + size + MEMORY * size };
    double loss = evaluate(e, w, lambda, g);
    for (int step = 0; step < STEPS; step++) {
        if (e->s->cancel != NULL && atomic_load_explicit(e->s->cancel, memory_order_relaxed))
            return;
        memcpy(direction, g, size * sizeof *g);
        recall(&past, size, l, m, k, direction);
        /* enough is done where the descent that is promised is small beside the loss */
        double slope = dot(g, direction, size), length = 1, got = loss;
        if (!(slope > 1e-7 * (1 + fabs(loss))))
            return;
        /* Armijo's rule: half the step until the loss falls by a share of what the slope promises */
        for (int halving = 0; halving < 8; halving++, length /= 2) {
            for (size_t i = 0; i < size; i++)
                next[i] = w[i] - length * direction[i];
            got = evaluate(e, next, lambda, next_g);
            if (got <= loss - 1e-4 * length * slope)
                break;
        }
        if (!(got < loss))
            return;
        remember(&past, size, w, next, g, next_g);
        bool done = loss - got < 5e-5 * (fabs(got) + 1e-3);
        loss = got;
        memcpy(w, next, size * sizeof *w);
        memcpy(g, next_g, size * sizeof *g);
        if (done)
            return;
    }
}

/* The Gram matrix is made once for the whole path. Regression has one factorisation and one solution a
 * lambda, classification one factorisation and some steps. */
bool tab_solve(const tab_system *s, float *w)
{
    size_t m = s->m, k = s->k, size = m * k;
    double *gram = calloc(m * m, sizeof *gram), *l = malloc(m * m * sizeof *l);
    float *scratch = malloc(m * m * sizeof *scratch);
    double *x = calloc(size, sizeof *x), *room = NULL;
    float *score = NULL, *wf = NULL, *gf = NULL;
    bool ok = gram != NULL && l != NULL && scratch != NULL && x != NULL;
    if (ok)
        add_gram(s->z, s->n, m, gram, scratch);
    if (ok && s->y != NULL) {
        /* least squares: one factorisation a lambda */
        double *zy = calloc(m, sizeof *zy);
        ok = zy != NULL;
        for (size_t i = 0; ok && i < s->n; i++)
            for (size_t j = 0; j < m; j++)
                zy[j] += (double)s->z[i * m + j] * (double)s->y[i];
        for (size_t p = 0; ok && p < s->path; p++) {
            ok = factor(gram, m, 1, s->lambda[p], l);
            if (!ok)
                break;
            memcpy(x, zy, m * sizeof *x);
            precondition(l, m, 1, x);
            for (size_t j = 0; j < m; j++)
                w[p * m + j] = (float)x[j];
        }
        free(zy);
    } else if (ok) {
        /* logistic: each lambda starts from the solution of the one before */
        room = malloc((4 + 2 * MEMORY) * size * sizeof *room);
        score = malloc(ROWS * k * sizeof *score);
        wf = malloc(size * sizeof *wf);
        gf = malloc(size * sizeof *gf);
        ok = room != NULL && score != NULL && wf != NULL && gf != NULL;
        evaluator e = { s, wf, score, gf };
        for (size_t p = 0; ok && p < s->path; p++) {
            ok = factor(gram, m, k == 1 ? 0.25 : 0.5, s->lambda[p], l);
            if (!ok)
                break;
            minimise(&e, l, s->lambda[p], x, room);
            for (size_t i = 0; i < size; i++)
                w[p * size + i] = (float)x[i];
        }
    }
    for (size_t i = 0; ok && i < s->path * size; i++)
        ok = isfinite(w[i]);
    free(gram), free(l), free(scratch), free(x), free(room), free(score), free(wf), free(gf);
    return ok;
}

void tab_margin_targets(const tab_problem *p, const uint32_t *row, size_t n, size_t k, float *y,
                        uint32_t *label, float *prior)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (p->classification) {
            label[i] = p->label[row[i]];
            if (k > 1)
                prior[label[i]] += 1;
            sum += label[i] == 1;
        } else {
            y[i] = p->y[row[i]];
            sum += (double)y[i];
        }
    }
    if (!p->classification)
        prior[0] = (float)(sum / (double)n);
    else if (k == 1)
        prior[0] = (float)log((sum + 0.5) / ((double)n - sum + 0.5));
    else
        for (size_t j = 0; j < k; j++)
            prior[j] = logf((prior[j] + 0.5f) / ((float)n + 0.5f * (float)k));
}

double tab_margin_loss(const tab_problem *p, const uint32_t *row, size_t n, size_t k, const float *f)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        if (!p->classification) {
            double d = (double)(f[i] - p->y[row[i]]);
            loss += d * d;
        } else if (k == 1) {
            double z = (double)(p->label[row[i]] == 1 ? f[i] : -f[i]);
            loss += z > 0 ? log1p(exp(-z)) : log1p(exp(z)) - z;
        } else {
            double top = (double)f[i * k], sum = 0;
            for (size_t j = 1; j < k; j++)
                top = fmax(top, (double)f[i * k + j]);
            for (size_t j = 0; j < k; j++)
                sum += exp((double)f[i * k + j] - top);
            loss += log(sum) + top - (double)f[i * k + p->label[row[i]]];
        }
    }
    return loss;
}

void tab_eliminate(double *a, size_t stride, double *x, size_t m)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = i + 1; j < m; j++) {
            double f = a[j * stride + i] / a[i * stride + i];
            for (size_t q = i; q < m; q++)
                a[j * stride + q] -= f * a[i * stride + q];
            x[j] -= f * x[i];
        }
    for (size_t i = m; i-- > 0;) {
        for (size_t q = i + 1; q < m; q++)
            x[i] -= a[i * stride + q] * x[q];
        x[i] /= a[i * stride + i];
    }
}
