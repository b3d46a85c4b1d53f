/* Pieces of the network, fused for training on a CPU, forward and backward, where PyTorch makes many
 * passes over memory: each works on tiles whose activations stay in the cache, and the backward passes
 * compute them again instead of keeping them. Matrices are row-major. Loaded by kernels.py; the engine has
 * its own, exact ones. Built with -ffast-math. */
#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 256 }; /* rows: 256 x (128 + 2 x 256) floats at most */

/* c (m, n) = a (m, k) b (k, n), or a' where ta, b' where tb; + beta c */
static void gemm(int ta, int tb, size_t m, size_t n, size_t k, const float *a, size_t lda, const float *b,
                 size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, (int)m, (int)n,
                (int)k, 1.0f, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

/* y = x / sqrt(mean(x^2) + 1e-6) * g over rows of width w; r keeps the inverse root */
void norm_forward(size_t rows, size_t w, const float *x, const float *g, float *y, float *r)
{
    for (size_t i = 0; i < rows; i++, x += w, y += w) {
        float s = 0.0f;
        for (size_t j = 0; j < w; j++)
            s += x[j] * x[j];
        float k = r[i] = 1.0f / sqrtf(s / (float)w + 1e-6f);
        for (size_t j = 0; j < w; j++)
            y[j] = x[j] * k * g[j];
    }
}

void norm_backward(size_t rows, size_t w, const float *x, const float *g, const float *r, const float *dy,
                   float *dx, float *dg)
{
    for (size_t i = 0; i < rows; i++, x += w, dx += w, dy += w) {
        float k = r[i], s = 0.0f;
        for (size_t j = 0; j < w; j++) {
            s += dy[j] * g[j] * x[j];
            dg[j] += dy[j] * x[j] * k;
        }
        s *= k * k * k / (float)w;
        for (size_t j = 0; j < w; j++)
            dx[j] = dy[j] * g[j] * k - s * x[j];
    }
}

/* out = rms(x) g W: x (rows, w), W (w, o) */
void project_forward(size_t rows, size_t w, size_t o, const float *x, const float *g, const float *W,
                     float *y)
{
    float *z = malloc(TILE * w * sizeof *z), r[TILE];
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        norm_forward(n, w, x + at * w, g, z, r);
        gemm(0, 0, n, o, w, z, w, W, o, 0, y + at * o, o);
    }
    free(z);
}

/* dW and dg are added to, dx is written */
void project_backward(size_t rows, size_t w, size_t o, const float *x, const float *g, const float *W,
                      const float *dy, float *dx, float *dg, float *dW)
{
    float *z = malloc(2 * TILE * w * sizeof *z), *dz = z + TILE * w, r[TILE];
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        norm_forward(n, w, x + at * w, g, z, r);
        gemm(1, 0, w, o, n, z, w, dy + at * o, o, 1, dW, o);
        gemm(0, 1, n, w, o, dy + at * o, o, W, o, 0, dz, w);
        norm_backward(n, w, x + at * w, g, r, dz, dx + at * w, dg);
    }
    free(z);
}

/* GELU in its tanh form, x (1 + tanh u) / 2 = x sigmoid(2 u), u = .79788 (x + .044715 x^3) */
static void gelu(size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        float u = 1.5957691216f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
        x[i] = x[i] / (1.0f + expf(-u));
    }
}

/* x becomes its GELU, dy the gradient by x */
static void gelu_both(size_t n, float *x, float *dy)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i], u = 1.5957691216f * v * (1.0f + 0.044715f * v * v), s = 1.0f / (1.0f + expf(-u));
        dy[i] *= s + v * s * (1.0f - s) * 1.5957691216f * (1.0f + 0.134145f * v * v);
        x[i] = v * s;
    }
}

/* y = x + gelu(rms(x) g A) B: A (w, h), B (h, w) */
void mlp_forward(size_t rows, size_t w, size_t h, const float *x, const float *g, const float *A,
                 const float *B, float *y)
{
    float *z = malloc(TILE * (w + h) * sizeof *z), *u = z + TILE * w, r[TILE];
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        norm_forward(n, w, x + at * w, g, z, r);
        gemm(0, 0, n, h, w, z, w, A, h, 0, u, h);
        gelu(n * h, u);
        memcpy(y + at * w, x + at * w, n * w * sizeof *y);
        gemm(0, 0, n, w, h, u, h, B, w, 1, y + at * w, w);
    }
    free(z);
}

void mlp_backward(size_t rows, size_t w, size_t h, const float *x, const float *g, const float *A,
                  const float *B, const float *dy, float *dx, float *dg, float *dA, float *dB)
{
    float *z = malloc(2 * TILE * (w + h) * sizeof *z), *dz = z + TILE * w, *u = dz + TILE * w,
          *du = u + TILE * h, r[TILE];
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        norm_forward(n, w, x + at * w, g, z, r);
        gemm(0, 0, n, h, w, z, w, A, h, 0, u, h);
        gemm(0, 1, n, h, w, dy + at * w, w, B, w, 0, du, h);
        gelu_both(n * h, u, du);
        gemm(1, 0, h, w, n, u, h, dy + at * w, w, 1, dB, w);
        gemm(1, 0, w, h, n, z, w, du, h, 1, dA, h);
        gemm(0, 1, n, w, h, du, h, A, h, 0, dz, w);
        norm_backward(n, w, x + at * w, g, r, dz, dx + at * w, dg);
        for (size_t i = 0; i < n * w; i++)
            dx[at * w + i] += dy[at * w + i];
    }
    free(z);
}

/* p (rows, n): scores to weights of unit sum */
static void soften(size_t rows, size_t n, float *p)
{
    for (size_t i = 0; i < rows; i++, p += n) {
        float top = -INFINITY, sum = 0.0f;
        for (size_t j = 0; j < n; j++)
            top = p[j] > top ? p[j] : top;
        for (size_t j = 0; j < n; j++)
            sum += p[j] = expf(p[j] - top);
        sum = 1.0f / sum;
        for (size_t j = 0; j < n; j++)
            p[j] *= sum;
    }
}

/* Softmax attention of N sets by head: q (N, L, heads D), k and v (N, K, ld) whose heads are D apart, or
 * one head that all share (stride 0). The scale is in q. out (N, L, heads D). */
void attend_forward(size_t N, size_t L, size_t K, size_t heads, size_t D, size_t ld, size_t stride,
                    const float *q, const float *k, const float *v, float *out)
{
    size_t e = heads * D;
    float *p = malloc(L * K * sizeof *p);
    for (size_t t = 0; t < N; t++)
        for (size_t h = 0; h < heads; h++) {
            const float *kh = k + t * K * ld + h * stride, *vh = v + t * K * ld + h * stride;
            gemm(0, 1, L, K, D, q + t * L * e + h * D, e, kh, ld, 0, p, K);
            soften(L, K, p);
            gemm(0, 0, L, D, K, p, K, vh, ld, 0, out + t * L * e + h * D, e);
        }
    free(p);
}

/* dk and dv, laid out as k and v, are added to; dq is written */
void attend_backward(size_t N, size_t L, size_t K, size_t heads, size_t D, size_t ld, size_t stride,
                     const float *q, const float *k, const float *v, const float *out, const float *dout,
                     float *dq, float *dk, float *dv)
{
    size_t e = heads * D;
    float *p = malloc(2 * L * K * sizeof *p), *dp = p + L * K;
    for (size_t t = 0; t < N; t++)
        for (size_t h = 0; h < heads; h++) {
            size_t at = t * L * e + h * D, kv = t * K * ld + h * stride;
            gemm(0, 1, L, K, D, q + at, e, k + kv, ld, 0, p, K);
            soften(L, K, p);
            gemm(1, 0, K, D, L, p, K, dout + at, e, 1, dv + kv, ld);
            gemm(0, 1, L, K, D, dout + at, e, v + kv, ld, 0, dp, K);
            for (size_t i = 0; i < L; i++) {
                float mean = 0.0f;
                for (size_t j = 0; j < D; j++)
                    mean += out[at + i * e + j] * dout[at + i * e + j];
                for (size_t j = 0; j < K; j++)
                    dp[i * K + j] = p[i * K + j] * (dp[i * K + j] - mean);
            }
            gemm(0, 0, L, D, K, dp, K, k + kv, ld, 0, dq + at, e);
            gemm(1, 0, K, D, L, dp, K, q + at, e, 1, dk + kv, ld);
        }
    free(p);
}

/* y = x + o W: o (rows, w), W (w, v) */
void add_forward(size_t rows, size_t w, size_t v, const float *x, const float *o, const float *W, float *y)
{
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        memcpy(y + at * v, x + at * v, n * v * sizeof *y);
        gemm(0, 0, n, v, w, o + at * w, w, W, v, 1, y + at * v, v);
    }
}

/* dW is added to, d_o is written; dx is dy */
void add_backward(size_t rows, size_t w, size_t v, const float *o, const float *W, const float *dy,
                  float *d_o, float *dW)
{
    for (size_t at = 0; at < rows; at += TILE) {
        size_t n = rows - at < TILE ? rows - at : TILE;
        gemm(1, 0, w, v, n, o + at * w, w, dy + at * v, v, 1, dW, v);
        gemm(0, 1, n, w, v, dy + at * v, v, W, v, 0, d_o + at * w, w);
    }
}

/* ---- attention within rows: heads of 16 numbers, four tokens on one side, m cells on the other ---- */
typedef float v16 __attribute__((vector_size(64), aligned(4)));
typedef float v4 __attribute__((vector_size(16), aligned(4)));
typedef int i16 __attribute__((vector_size(64)));

static inline v16 at16(const float *x)
{
    return *(const v16 *)x;
}

/* The dot products of x with four vectors `step` apart. */
static inline v4 dots(v16 x, const float *y, size_t step)
{
    v16 a = x * at16(y), b = x * at16(y + step), c = x * at16(y + 2 * step), d = x * at16(y + 3 * step);
    const i16 low = { 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23 },
              low4 = { 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27 },
              by2 = { 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13 },
              by1 = { 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14 };
    a = __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, low + 8);
    c = __builtin_shuffle(c, d, low) + __builtin_shuffle(c, d, low + 8);
    a = __builtin_shuffle(a, c, low4) + __builtin_shuffle(a, c, low4 + 4);
    a += __builtin_shuffle(a, by2);
    a += __builtin_shuffle(a, by1);
    return (v4){ a[0], a[4], a[8], a[12] };
}

static inline v16 mix(const float *p, const float *y, size_t step)
{
    return p[0] * at16(y) + p[1] * at16(y + step) + p[2] * at16(y + 2 * step) + p[3] * at16(y + 3 * step);
}

static inline void spread(const float *p, v16 x, float *y, size_t step)
{
    for (size_t s = 0; s < 4; s++)
        *(v16 *)(y + s * step) += p[s] * x;
}

/* q (B, a, n, e) reads kv (B, b, n, 2 e); out (B, a, n, e); w (B, m, n, heads, 4), m the one of a and b
 * that is not the four tokens. Tiles of rows, so that what lies n e apart is walked through in runs. */
enum { ROWS = 32 };
typedef struct {
    size_t m, n, heads, many, four; /* widths of the rows on the two sides */
    int gather;                     /* the tokens read the cells */
} row_shape;

static row_shape shape_of(size_t a, size_t b, size_t n, size_t heads)
{
    size_t e = heads * 16;
    return a == 4 ? (row_shape){ b, n, heads, 2 * e, e, 1 } : (row_shape){ a, n, heads, e, 2 * e, 0 };
}

#define EACH_CELL                          \
    for (size_t c = 0; c < z.m; c++)       \
        for (size_t i = from; i < to; i++) \
            for (size_t h = 0; h < z.heads; h++)
#define MANY(p) ((p) + ((t * z.m + c) * z.n + i) * z.many + h * 16)
#define FOUR(p) ((p) + (t * 4 * z.n + i) * z.four + h * 16)
#define STEP (z.n * z.four)
#define W_AT ((((t * z.m + c) * z.n + i) * z.heads + h) * 4)

/* p: m runs of `run` scores, `stride` apart. The tokens' weights are over the runs, the cells' over groups
 * of four. */
static void soften_rows(row_shape z, size_t run, size_t stride, float *p)
{
    float top[run], sum[run];
    if (z.gather) {
        memcpy(top, p, sizeof top);
        for (size_t c = 1; c < z.m; c++)
            for (size_t j = 0; j < run; j++)
                top[j] = p[c * stride + j] > top[j] ? p[c * stride + j] : top[j];
        memset(sum, 0, sizeof sum);
        for (size_t c = 0; c < z.m; c++)
            for (size_t j = 0; j < run; j++)
                sum[j] += p[c * stride + j] = expf(p[c * stride + j] - top[j]);
        for (size_t j = 0; j < run; j++)
            sum[j] = 1.0f / sum[j];
        for (size_t c = 0; c < z.m; c++)
            for (size_t j = 0; j < run; j++)
                p[c * stride + j] *= sum[j];
        return;
    }
    for (size_t c = 0; c < z.m; c++, p += stride) {
        for (size_t j = 0; j < run; j += 4) {
            float a = p[j] > p[j + 1] ? p[j] : p[j + 1], b = p[j + 2] > p[j + 3] ? p[j + 2] : p[j + 3];
            for (size_t s = 0; s < 4; s++)
                p[j + s] -= a > b ? a : b;
        }
        for (size_t j = 0; j < run; j++)
            p[j] = expf(p[j]);
        for (size_t j = 0; j < run; j += 4)
            *(v4 *)(p + j) *= 1.0f / (p[j] + p[j + 1] + p[j + 2] + p[j + 3]);
    }
}

/* d (m, run): gradients by weights become those by scores before their scale */
static void soften_rows_back(row_shape z, size_t run, size_t stride, const float *p, float *d)
{
    float mean[run];
    memset(mean, 0, sizeof mean);
    for (size_t c = 0; c < z.m; c++)
        for (size_t j = 0; j < run; j++) {
            d[c * run + j] *= p[c * stride + j];
            mean[j] += d[c * run + j];
        }
    for (size_t c = 0; c < z.m; c++, d += run, p += stride) {
        for (size_t j = 0; !z.gather && j < run; j += 4)
            mean[j] = mean[j + 1] = mean[j + 2] = mean[j + 3] = d[j] + d[j + 1] + d[j + 2] + d[j + 3];
        for (size_t j = 0; j < run; j++)
            d[j] = (d[j] - p[j] * mean[j]) * 0.25f;
    }
}

void rows_forward(size_t B, size_t a, size_t b, size_t n, size_t heads, const float *q, const float *kv,
                  float *out, float *w)
{
    row_shape z = shape_of(a, b, n, heads);
    size_t e = heads * 16;
    memset(out, 0, B * a * n * e * sizeof *out);
    for (size_t t = 0; t < B; t++)
        for (size_t from = 0, to; from < n; from = to) {
            to = from + ROWS < n ? from + ROWS : n;
            EACH_CELL
            *(v4 *)(w + W_AT) = dots(at16(MANY(z.gather ? kv : q)), FOUR(z.gather ? q : kv), STEP) * 0.25f;
            soften_rows(z, (to - from) * heads * 4, n * heads * 4, w + (t * z.m * n + from) * heads * 4);
            EACH_CELL
            {
                if (z.gather)
                    spread(w + W_AT, at16(MANY(kv + e)), FOUR(out), STEP);
                else
                    *(v16 *)MANY(out) = mix(w + W_AT, FOUR(kv + e), STEP);
            }
        }
}

/* dq and dkv are written */
void rows_backward(size_t B, size_t a, size_t b, size_t n, size_t heads, const float *q, const float *kv,
                   const float *w, const float *dout, float *dq, float *dkv)
{
    row_shape z = shape_of(a, b, n, heads);
    size_t e = heads * 16;
    float *d = malloc(z.m * ROWS * heads * 4 * sizeof *d);
    memset(dq, 0, B * a * n * e * sizeof *dq);
    memset(dkv, 0, B * b * n * 2 * e * sizeof *dkv);
    for (size_t t = 0; t < B; t++)
        for (size_t from = 0, to; from < n; from = to) {
            to = from + ROWS < n ? from + ROWS : n;
            size_t run = (to - from) * heads * 4;
#define D_AT (c * run + ((i - from) * heads + h) * 4)
            EACH_CELL
            {
                if (z.gather) {
                    *(v4 *)(d + D_AT) = dots(at16(MANY(kv + e)), FOUR(dout), STEP);
                    *(v16 *)MANY(dkv + e) = mix(w + W_AT, FOUR(dout), STEP);
                } else {
                    *(v4 *)(d + D_AT) = dots(at16(MANY(dout)), FOUR(kv + e), STEP);
                    spread(w + W_AT, at16(MANY(dout)), FOUR(dkv + e), STEP);
                }
            }
            soften_rows_back(z, run, n * heads * 4, w + (t * z.m * n + from) * heads * 4, d);
            EACH_CELL
            {
                if (z.gather) {
                    *(v16 *)MANY(dkv) = mix(d + D_AT, FOUR(q), STEP);
                    spread(d + D_AT, at16(MANY(kv)), FOUR(dq), STEP);
                } else {
                    *(v16 *)MANY(dq) = mix(d + D_AT, FOUR(kv), STEP);
                    spread(d + D_AT, at16(MANY(q)), FOUR(dkv), STEP);
                }
            }
        }
    free(d);
}
