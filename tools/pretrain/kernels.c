/* Pieces of the network, fused for training on a CPU, forward and backward, where PyTorch makes many passes over
 * memory: each works on tiles whose activations stay in the cache, and the backward passes compute them again
 * instead of keeping them. Matrices are row-major. Loaded by kernels.py; the engine has its own, exact ones.
 * Built with -ffast-math. */
#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 256 }; /* rows: 256 x (128 + 2 x 256) floats at most */

/* c (m, n) = a (m, k) b (k, n), or a' where ta, b' where tb; + beta c */
static void gemm(int ta, int tb, size_t m, size_t n, size_t k, const float *a, size_t lda,
                 const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1.0f, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
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

void norm_backward(size_t rows, size_t w, const float *x, const float *g, const float *r,
                   const float *dy, float *dx, float *dg)
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
void project_forward(size_t rows, size_t w, size_t o, const float *x, const float *g,
                     const float *W, float *y)
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
void project_backward(size_t rows, size_t w, size_t o, const float *x, const float *g,
                      const float *W, const float *dy, float *dx, float *dg, float *dW)
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
        float v = x[i], u = 1.5957691216f * v * (1.0f + 0.044715f * v * v),
              s = 1.0f / (1.0f + expf(-u));
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

/* Softmax attention of N sets by head: q (N, L, heads D), k and v (N, K, ld) whose heads are D apart, or one head
 * that all share (stride 0). The scale is in q. out (N, L, heads D). */
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
                     const float *q, const float *k, const float *v, const float *out,
                     const float *dout, float *dq, float *dk, float *dv)
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

/* Within a row: q (B, a, n, e) reads kv (B, b, n, 2 e); out (B, a, n, e); w (B, n, a, heads, b). Tiles of rows, so
 * that what lies n e apart is walked through in runs. */
enum { ROWS = 32 };
#define EACH_PAIR                              \
    for (size_t s = 0; s < a; s++)             \
        for (size_t c = 0; c < b; c++)         \
            for (size_t i = from; i < to; i++) \
                for (size_t h = 0; h < heads; h++)
#define Q_AT (((t * a + s) * n + i) * e + h * D)
#define KV_AT (((t * b + c) * n + i) * 2 * e + h * D)
#define W_AT ((((t * n + i) * a + s) * heads + h) * b)

static inline void rows_forward_of(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D,
                                   const float *restrict q, const float *restrict kv,
                                   float *restrict out, float *restrict w)
{
    size_t e = heads * D;
    float scale = 1.0f / sqrtf((float)D);
    memset(out, 0, B * a * n * e * sizeof *out);
    for (size_t t = 0; t < B; t++)
        for (size_t from = 0, to; from < n; from = to) {
            to = from + ROWS < n ? from + ROWS : n;
            EACH_PAIR
            {
                const float *x = q + Q_AT, *k = kv + KV_AT;
                float d = 0.0f;
                for (size_t j = 0; j < D; j++)
                    d += x[j] * k[j];
                w[W_AT + c] = d * scale;
            }
            soften((to - from) * a * heads, b, w + (t * n + from) * a * heads * b);
            EACH_PAIR
            {
                const float *v = kv + KV_AT + e;
                float *o = out + Q_AT, p = w[W_AT + c];
                for (size_t j = 0; j < D; j++)
                    o[j] += p * v[j];
            }
        }
}

/* dkv is written, dq too */
static inline void rows_backward_of(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D,
                                    const float *restrict q, const float *restrict kv,
                                    const float *restrict w, const float *restrict dout,
                                    float *restrict dq, float *restrict dkv)
{
    size_t e = heads * D;
    float scale = 1.0f / sqrtf((float)D), *dw = malloc(ROWS * a * heads * b * sizeof *dw);
    memset(dq, 0, B * a * n * e * sizeof *dq);
    memset(dkv, 0, B * b * n * 2 * e * sizeof *dkv);
    for (size_t t = 0; t < B; t++)
        for (size_t from = 0, to; from < n; from = to) {
            to = from + ROWS < n ? from + ROWS : n;
            const float *wt = w + (t * n + from) * a * heads * b;
            EACH_PAIR
            {
                const float *o = dout + Q_AT, *v = kv + KV_AT + e;
                float *dv = dkv + KV_AT + e, d = 0.0f, p = w[W_AT + c];
                for (size_t j = 0; j < D; j++) {
                    d += o[j] * v[j];
                    dv[j] += p * o[j];
                }
                dw[(((i - from) * a + s) * heads + h) * b + c] = d;
            }
            for (size_t i = 0; i < (to - from) * a * heads; i++) {
                float mean = 0.0f;
                for (size_t c = 0; c < b; c++)
                    mean += wt[i * b + c] * dw[i * b + c];
                for (size_t c = 0; c < b; c++)
                    dw[i * b + c] = wt[i * b + c] * (dw[i * b + c] - mean) * scale;
            }
            EACH_PAIR
            {
                const float *k = kv + KV_AT, *x = q + Q_AT;
                float *dk = dkv + KV_AT, *g = dq + Q_AT,
                      d = dw[(((i - from) * a + s) * heads + h) * b + c];
                for (size_t j = 0; j < D; j++) {
                    g[j] += d * k[j];
                    dk[j] += d * x[j];
                }
            }
        }
    free(dw);
}

void rows_forward(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D, const float *q,
                  const float *kv, float *out, float *w)
{
    if (D == 16) /* the sizes of net.py: loops of one vector */
        rows_forward_of(B, a, b, n, heads, 16, q, kv, out, w);
    else
        rows_forward_of(B, a, b, n, heads, D, q, kv, out, w);
}

void rows_backward(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D, const float *q,
                   const float *kv, const float *w, const float *dout, float *dq, float *dkv)
{
    if (D == 16)
        rows_backward_of(B, a, b, n, heads, 16, q, kv, w, dout, dq, dkv);
    else
        rows_backward_of(B, a, b, n, heads, D, q, kv, w, dout, dq, dkv);
}
