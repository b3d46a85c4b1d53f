/* Three operations of the network, fused for training on a CPU, forward and backward, where PyTorch makes
 * many passes over memory. Loaded by kernels.py; the engine has its own, exact ones. Built with -ffast-math. */
#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* GELU in its tanh form, x (1 + tanh u) / 2 = x sigmoid(2 u), u = .79788 (x + .044715 x^3) */
void gelu_forward(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        float u = 1.5957691216f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
        y[i] = x[i] / (1.0f + expf(-u));
    }
}

void gelu_backward(size_t n, const float *x, const float *dy, float *dx)
{
    for (size_t i = 0; i < n; i++) {
        float x2 = x[i] * x[i], u = 1.5957691216f * x[i] * (1.0f + 0.044715f * x2);
        float s = 1.0f / (1.0f + expf(-u));
        dx[i] = dy[i] * (s + x[i] * s * (1.0f - s) * 1.5957691216f * (1.0f + 0.134145f * x2));
    }
}

/* Within a row: q (B, a, n, e) reads kv (B, b, n, 2 e); out (B, a, n, e); w (B, n, a, heads, b) */
void rows_forward(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D, const float *q,
                  const float *kv, float *out, float *w)
{
    size_t e = heads * D;
    float scale = 1.0f / sqrtf((float)D);
    for (size_t t = 0; t < B; t++)
        for (size_t i = 0; i < n; i++)
            for (size_t s = 0; s < a; s++)
                for (size_t h = 0; h < heads; h++, w += b) {
                    const float *qi = q + ((t * a + s) * n + i) * e + h * D;
                    float *o = out + ((t * a + s) * n + i) * e + h * D, top = -INFINITY, sum = 0.0f;
                    for (size_t c = 0; c < b; c++) {
                        const float *k = kv + ((t * b + c) * n + i) * 2 * e + h * D;
                        float d = 0.0f;
                        for (size_t j = 0; j < D; j++)
                            d += qi[j] * k[j];
                        w[c] = d * scale;
                        top = w[c] > top ? w[c] : top;
                    }
                    for (size_t c = 0; c < b; c++)
                        sum += w[c] = expf(w[c] - top);
                    memset(o, 0, D * sizeof *o);
                    for (size_t c = 0; c < b; c++) {
                        const float *v = kv + ((t * b + c) * n + i) * 2 * e + e + h * D;
                        w[c] /= sum;
                        for (size_t j = 0; j < D; j++)
                            o[j] += w[c] * v[j];
                    }
                }
}

void rows_backward(size_t B, size_t a, size_t b, size_t n, size_t heads, size_t D, const float *q,
                   const float *kv, const float *w, const float *dout, float *dq, float *dkv)
{
    size_t e = heads * D;
    float scale = 1.0f / sqrtf((float)D), dw[256];
    for (size_t t = 0; t < B; t++)
        for (size_t i = 0; i < n; i++)
            for (size_t s = 0; s < a; s++)
                for (size_t h = 0; h < heads; h++, w += b) {
                    size_t at = ((t * a + s) * n + i) * e + h * D;
                    const float *o = dout + at, *qi = q + at;
                    float *g = dq + at, mean = 0.0f;
                    for (size_t c = 0; c < b; c++) {
                        size_t to = ((t * b + c) * n + i) * 2 * e + h * D;
                        const float *v = kv + to + e;
                        float *dv = dkv + to + e, d = 0.0f;
                        for (size_t j = 0; j < D; j++) {
                            d += o[j] * v[j];
                            dv[j] += w[c] * o[j];
                        }
                        dw[c] = d;
                        mean += w[c] * d;
                    }
                    for (size_t c = 0; c < b; c++) {
                        size_t to = ((t * b + c) * n + i) * 2 * e + h * D;
                        const float *k = kv + to;
                        float *dk = dkv + to, d = w[c] * (dw[c] - mean) * scale;
                        for (size_t j = 0; j < D; j++) {
                            g[j] += d * k[j];
                            dk[j] += d * qi[j];
                        }
                    }
                }
}
