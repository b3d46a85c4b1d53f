/* See softmax.h. Weights are stored input by input, (inputs, classes), so that an input that is zero costs
 * nothing and one that is not is a run of additions over the classes. */
#include "tools/train/softmax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n == 0 ? 1 : n, size);
    if (p == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static float *shared(size_t n)
{
    float *p = softmax_shared(n * sizeof *p);
    return p;
}

void *softmax_shared(size_t bytes)
{
    void *p = mmap(NULL, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return p;
}

softmax *softmax_new(uint32_t classes, uint32_t inputs, uint32_t tied)
{
    softmax *m = softmax_shared(sizeof *m);
    *m = (softmax){ classes, inputs, tied, 1, NULL, NULL, NULL };
    m->bias = shared(classes);
    m->u = shared(tied + 1);
    m->w = shared((size_t)inputs * classes);
    return m;
}

softmax *softmax_copy(const softmax *m)
{
    softmax *c = softmax_new(m->classes, m->inputs, m->tied);
    c->temperature = m->temperature;
    memcpy(c->bias, m->bias, m->classes * sizeof(float));
    memcpy(c->u, m->u, m->tied * sizeof(float));
    memcpy(c->w, m->w, (size_t)m->inputs * m->classes * sizeof(float));
    return c;
}

void softmax_free(softmax *m)
{
    if (m == NULL)
        return;
    munmap(m->bias, m->classes * sizeof(float));
    munmap(m->u, (m->tied + 1) * sizeof(float));
    munmap(m->w, (size_t)m->inputs * m->classes * sizeof(float));
    munmap(m, sizeof *m);
}

/* The loops over classes are what training costs. They are the same additions in the same order at any vector
 * width (no contraction, no reassociation), so the bytes do not depend on the machine. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* p += v w */
WIDE void softmax_add_scaled(float *restrict p, const float *restrict w, float v, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        p[c] += v * w[c];
}

/* One step of Adagrad on one input's weights. */
WIDE static void step_row(float *restrict w, float *restrict q, const float *restrict b,
                          const float *restrict p, float v, float l2, float rate, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++) {
        float g = p[c] * v + l2 * (w[c] - b[c]);
        q[c] += g * g;
        w[c] -= rate * g / (sqrtf(q[c]) + 0.02f);
    }
}

void softmax_scores(const softmax *m, const float *x, const float *z, float *p)
{
    uint32_t C = m->classes;
    for (uint32_t c = 0; c < C; c++) {
        p[c] = m->bias[c];
        for (uint32_t t = 0; t < m->tied; t++)
            p[c] += m->u[t] * z[c * m->tied + t];
    }
    for (uint32_t j = 0; j < m->inputs; j++) {
        float v = x[j];
        if (v == 0)
            continue;
        softmax_add_scaled(p, m->w + (size_t)j * C, v, C);
    }
}

void softmax_apply(const softmax *m, const float *x, const float *z, float *p)
{
    softmax_scores(m, x, z, p);
    tab_softmax(p, m->classes, m->temperature);
}

void softmax_fit(softmax *m, const softmax_row *rows, size_t n, softmax_options o)
{
    uint32_t C = m->classes;
    size_t nw = (size_t)m->inputs * C;
    float *g2 = zeroed(nw, sizeof(float)), *w0 = zeroed(nw, sizeof(float)), *gb = zeroed(C, sizeof(float));
    float *p = zeroed(C, sizeof(float)), *gu = zeroed(m->tied + 1, sizeof(float));
    uint32_t *order = zeroed(n, sizeof *order);
    memcpy(w0, m->w, nw * sizeof(float));
    for (uint32_t t = 0; t < m->tied; t++)
        if (m->u[t] == 0)
            m->u[t] = o.tied_start;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    uint64_t seed = o.seed * 2 + 1;
    for (int e = 0; e < o.epochs; e++) {
        float rate = o.rate * (1 - 0.9f * (float)e / (float)o.epochs);
        for (size_t i = n; i > 1; i--) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            size_t k = (size_t)(((seed >> 33) * i) >> 31);
            uint32_t t = order[i - 1];
            order[i - 1] = order[k];
            order[k] = t;
        }
        for (size_t i = 0; i < n; i++) {
            const softmax_row *r = &rows[order[i]];
            softmax_scores(m, r->x, r->z, p);
            tab_softmax(p, C, 1);
            p[r->y] -= 1 - o.smooth;
            for (uint32_t c = 0; c < C; c++) {
                p[c] = (p[c] - o.smooth / (float)C) * r->weight;
                gb[c] += p[c] * p[c];
                m->bias[c] -= rate * p[c] / (sqrtf(gb[c]) + 1e-4f);
            }
            for (uint32_t t = 0; t < m->tied; t++) {
                float g = 0;
                for (uint32_t c = 0; c < C; c++)
                    g += p[c] * r->z[c * m->tied + t];
                gu[t] += g * g;
                m->u[t] -= 0.3f * rate * g / (sqrtf(gu[t]) + 1e-4f);
            }
            for (uint32_t j = 0; j < m->inputs; j++) {
                float v = r->x[j];
                if (v == 0)
                    continue;
                step_row(m->w + (size_t)j * C, g2 + (size_t)j * C, w0 + (size_t)j * C, p, v, o.l2, rate, C);
            }
        }
    }
    free(g2);
    free(w0);
    free(gb);
    free(p);
    free(gu);
    free(order);
}

bool softmax_write(const softmax *m, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return false;
    tab_linear_header h = { .magic = "TABLIN1\n",
                            .classes = m->classes,
                            .inputs = m->inputs,
                            .tied = m->tied,
                            .temperature = m->temperature };
    float *scale = zeroed(m->inputs, sizeof(float));
    int16_t *q = zeroed((size_t)m->inputs * m->classes, sizeof *q);
    for (uint32_t j = 0; j < m->inputs; j++) {
        const float *w = m->w + (size_t)j * m->classes;
        float top = 0;
        for (uint32_t c = 0; c < m->classes; c++)
            top = fmaxf(top, fabsf(w[c]));
        scale[j] = top / 32767;
        for (uint32_t c = 0; top > 0 && c < m->classes; c++)
            q[(size_t)j * m->classes + c] = (int16_t)lrintf(w[c] / scale[j]);
    }
    bool ok = fwrite(&h, sizeof h, 1, f) == 1 &&
              fwrite(m->bias, sizeof(float), m->classes, f) == m->classes &&
              fwrite(m->u, sizeof(float), m->tied, f) == m->tied &&
              fwrite(scale, sizeof(float), m->inputs, f) == m->inputs &&
              fwrite(q, sizeof *q, (size_t)m->inputs * m->classes, f) == (size_t)m->inputs * m->classes;
    free(scale);
    free(q);
    return fclose(f) == 0 && ok;
}

double softmax_temperature(const float *p, const int *y, size_t n, size_t classes)
{
    double best = 1, least = 1e300;
    for (double t = 0.4; t < 4; t *= 1.03) {
        double loss = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t c = 0; c < classes; c++)
                sum += pow(fmax(1e-9, (double)p[i * classes + c]), 1 / t);
            loss -= log(pow(fmax(1e-9, (double)p[i * classes + (size_t)y[i]]), 1 / t) / sum);
        }
        if (loss < least) {
            least = loss;
            best = t;
        }
    }
    return best;
}
