/* See perceptron.h. Both layers are softmax.h's linear models without their own fitting; a batch's gradients
 * are summed row by row and applied by AdamW. The first layer's inputs are sparse, so zeros are skipped. */
#include "tools/train/perceptron.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tools/train/maker.h"
#include "tools/train/measure.h"

enum { BATCH = 32, MOST_HIDDEN = 256, MOST_CLASSES = 128 };
static const double LEFT_OUT = 0.5;

perceptron *perceptron_new(uint32_t inputs, uint32_t hidden, uint32_t classes)
{
    perceptron *m = softmax_shared(sizeof *m);
    chance c = { 1000 };
    m->hidden = softmax_new(hidden, inputs, 0);
    m->top = softmax_new(classes, hidden, 0);
    for (size_t i = 0; i < (size_t)inputs * hidden; i++)
        m->hidden->w[i] = (float)(chance_normal(&c) / sqrt(inputs));
    for (size_t i = 0; i < (size_t)hidden * classes; i++)
        m->top->w[i] = (float)(chance_normal(&c) / sqrt(hidden));
    return m;
}

perceptron *perceptron_copy(const perceptron *m)
{
    perceptron *c = softmax_shared(sizeof *c);
    *c = (perceptron){ softmax_copy(m->hidden), softmax_copy(m->top) };
    return c;
}

void perceptron_free(perceptron *m)
{
    if (m == NULL)
        return;
    softmax_free(m->hidden);
    softmax_free(m->top);
    munmap(m, sizeof *m);
}

void perceptron_scores(const perceptron *m, const float *x, float *s)
{
    float h[MOST_HIDDEN];
    softmax_scores(m->hidden, x, NULL, h);
    for (uint32_t j = 0; j < m->hidden->classes; j++)
        h[j] = fmaxf(0, h[j]);
    softmax_scores(m->top, h, NULL, s);
}

/* One array of weights or intercepts on its way: gradient of the batch and Adam's moments. */
typedef struct {
    float *w, *g, *first, *second;
    size_t n;
    float decay;
} block;

static block block_of(float *w, size_t n, float decay)
{
    block b = { w, NULL, NULL, NULL, n, decay };
    float **part[] = { &b.g, &b.first, &b.second };
    for (int i = 0; i < 3; i++) {
        *part[i] = train_grown(NULL, n, sizeof(float));
        memset(*part[i], 0, n * sizeof(float));
    }
    return b;
}

static void drop_block(block *b)
{
    free(b->g);
    free(b->first);
    free(b->second);
}

static void step(block *b, float rate, float rest1, float rest2)
{
    for (size_t i = 0; i < b->n; i++) {
        float g = b->g[i];
        b->first[i] = 0.9f * b->first[i] + 0.1f * g;
        b->second[i] = 0.999f * b->second[i] + 0.001f * g * g;
        b->w[i] -= rate * (b->first[i] / rest1 / (sqrtf(b->second[i] / rest2) + 1e-6f) + b->decay * b->w[i]);
        b->g[i] = 0;
    }
}

/* Adds one row's gradient. */
static void learn_row(const perceptron *m, const softmax_row *r, float smooth, chance *c, block *b)
{
    const uint32_t H = m->hidden->classes, C = m->top->classes;
    float h[MOST_HIDDEN], p[MOST_CLASSES], back[MOST_HIDDEN];
    softmax_scores(m->hidden, r->x, NULL, h);
    for (uint32_t j = 0; j < H; j++)
        h[j] = chance_unit(c) < LEFT_OUT || h[j] < 0 ? 0 : h[j] / (float)(1 - LEFT_OUT);
    softmax_scores(m->top, h, NULL, p);
    tab_softmax(p, C, 1);
    p[r->y] -= 1 - smooth;
    for (uint32_t k = 0; k < C; k++)
        p[k] = (p[k] - smooth / (float)C) * r->weight / BATCH;
    softmax_add_scaled(b[3].g, p, 1, C);
    for (uint32_t j = 0; j < H; j++) {
        back[j] = 0;
        if (h[j] == 0)
            continue;
        const float *w = m->top->w + (size_t)j * C;
        for (uint32_t k = 0; k < C; k++)
            back[j] += p[k] * w[k];
        back[j] /= (float)(1 - LEFT_OUT);
        softmax_add_scaled(b[2].g + (size_t)j * C, p, h[j], C);
    }
    softmax_add_scaled(b[1].g, back, 1, H);
    for (uint32_t i = 0; i < m->hidden->inputs; i++)
        if (r->x[i] != 0)
            softmax_add_scaled(b[0].g + (size_t)i * H, back, r->x[i], H);
}

void perceptron_fit(perceptron *m, const softmax_row *rows, size_t n, perceptron_options o)
{
    const uint32_t H = m->hidden->classes, C = m->top->classes;
    block b[4] = { block_of(m->hidden->w, (size_t)m->hidden->inputs * H, o.decay),
                   block_of(m->hidden->bias, H, 0), block_of(m->top->w, (size_t)H * C, o.decay),
                   block_of(m->top->bias, C, 0) };
    uint32_t *order = train_grown(NULL, n, sizeof *order);
    chance c = { o.seed };
    double steps = o.epochs * ceil((double)n / BATCH), t = 0;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (int e = 0; e < o.epochs; e++) {
        for (size_t i = n; i > 1; i--) {
            size_t k = chance_below(&c, i);
            uint32_t x = order[i - 1];
            order[i - 1] = order[k];
            order[k] = x;
        }
        for (size_t from = 0; from < n; from += BATCH) {
            for (size_t i = from; i < n && i < from + BATCH; i++)
                learn_row(m, &rows[order[i]], o.smooth, &c, b);
            t++;
            float rate = o.rate * (float)(0.5 * (1 + cos(M_PI * t / steps)));
            for (int k = 0; k < 4; k++)
                step(&b[k], rate, (float)(1 - pow(0.9, t)), (float)(1 - pow(0.999, t)));
        }
    }
    for (int k = 0; k < 4; k++)
        drop_block(&b[k]);
    free(order);
}
