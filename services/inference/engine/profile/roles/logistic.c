/* See logistic.h: opens a trained model and computes its scores. models.c opens the models;
 * profile.c and models.c compute with them.
 *
 * Most inputs are zero (n-grams), so scores are sums over the inputs that are not. Weights are 16-bit
 * integers with one scale an input, which keeps the models small enough to be linked in. */
#include "services/inference/engine/profile/roles/logistic.h"

#include <assert.h>
#include <math.h>

/* bytes of a whole model: header, bias, tied weights, scales, weights */
static size_t bytes_of(uint32_t classes, uint32_t inputs, uint32_t tied)
{
    return sizeof(tab_linear_header) + ((size_t)classes + tied + inputs) * sizeof(float) +
           (size_t)inputs * classes * sizeof(int16_t);
}

/* Sizes are checked against the header, never trusted. */
bool tab_linear_open(const void *blob, size_t n, uint32_t classes, uint32_t inputs, uint32_t tied,
                     tab_linear *ret)
{
    const tab_linear_header *h = blob;
    if (n < sizeof *h || memcmp(h->magic, "TABLIN1\n", 8) != 0 || h->classes != classes ||
        h->inputs != inputs || h->tied != tied || n < bytes_of(classes, inputs, tied) ||
        !(h->temperature > 0))
        return false;
    /* bias, tied weights and scales are floats behind the header; the integers follow */
    const float *f = (const float *)(h + 1);
    *ret = (tab_linear){ .classes = classes,
                         .inputs = inputs,
                         .tied = tied,
                         .temperature = h->temperature,
                         .bias = f,
                         .u = f + classes,
                         .scale = f + classes + tied };
    ret->w = (const int16_t *)(ret->scale + inputs);
    return true;
}

/* Wider registers where the machine has them: the same additions in the same order, so the same bits. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* p (n) += v times w (n) */
WIDE static void add_scaled(float *restrict p, const int16_t *restrict w, float v, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        p[c] += v * (float)w[c];
}

/* Four inputs in one pass over the classes, added in their order. */
WIDE static void add_four(float *restrict p, const int16_t *const *w, const float *v, uint32_t n)
{
    const int16_t *restrict w0 = w[0], *restrict w1 = w[1], *restrict w2 = w[2], *restrict w3 = w[3];
    const float v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
    for (uint32_t c = 0; c < n; c++)
        /* the same order as four calls of add_scaled: left to right, without a fused multiply-add
         * (-ffp-contract=off) */
        p[c] = p[c] + v0 * (float)w0[c] + v1 * (float)w1[c] + v2 * (float)w2[c] + v3 * (float)w3[c];
}

/* The order of additions is fixed: bias and tied inputs, then inputs in rising order. It does not depend
 * on how wide the machine's registers are. */
void tab_linear_scores(const tab_linear *m, const float *x, const float *z, float *p)
{
    const uint32_t C = m->classes;
    for (uint32_t c = 0; c < C; c++) {
        float a = m->bias[c];
        for (uint32_t t = 0; t < m->tied; t++)
            a += m->u[t] * z[c * m->tied + t];
        p[c] = a;
    }
    /* The inputs that are not zero, found without a branch, then added four at a time. */
    enum { AT_ONCE = 256 };
    const int16_t *w[AT_ONCE];
    float v[AT_ONCE];
    size_t held = 0;
    /* The next place is written in any case and kept only where the product is not zero: no branch to
     * mispredict. */
    for (uint32_t j = 0; j < m->inputs; j++) {
        v[held] = x[j] * m->scale[j];
        w[held] = m->w + (size_t)j * C;
        held += v[held] != 0;
        if (held == AT_ONCE) {
            for (size_t i = 0; i < AT_ONCE; i += 4)
                add_four(p, w + i, v + i, C);
            held = 0;
        }
    }
    size_t i = 0;
    for (; i + 4 <= held; i += 4)
        add_four(p, w + i, v + i, C);
    for (; i < held; i++)
        add_scaled(p, w[i], v[i], C);
}

/* The greatest score is taken off first, so that no exponential overflows. */
void tab_softmax(float *s, uint32_t n, float temperature)
{
    float top = s[0], sum = 0;
    assert(n > 0 && temperature > 0);
    for (uint32_t c = 1; c < n; c++)
        top = s[c] > top ? s[c] : top;
    for (uint32_t c = 0; c < n; c++)
        sum += s[c] = expf((s[c] - top) / temperature);
    assert(sum >= 1); /* the greatest score's part; inputs are finite */
    for (uint32_t c = 0; c < n; c++)
        s[c] /= sum;
}

void tab_linear_apply(const tab_linear *m, const float *x, const float *z, float *p)
{
    tab_linear_scores(m, x, z, p);
    tab_softmax(p, m->classes, m->temperature);
}
