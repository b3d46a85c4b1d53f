/* Fits the engine's linear models (profile/roles/logistic.h) by stochastic gradient descent with per-weight
 * steps (Adagrad, Duchi et al., JMLR 2011), weights drawn to a starting model by an L2 term. Deterministic.
 * */
#ifndef TAB_SOFTMAX_H
#define TAB_SOFTMAX_H

#include "services/inference/engine/profile/roles/logistic.h"

typedef struct {
    uint32_t classes, inputs, tied;
    float temperature;
    float *bias, *u, *w; /* w (inputs, classes) */
} softmax;

typedef struct {
    const float *x; /* (inputs) */
    const float *z; /* (classes, tied) or NULL */
    int y;
    float weight;
} softmax_row;

typedef struct {
    int epochs;
    float rate, l2; /* l2 per row */
    float smooth;   /* share of a label that is spread over all classes (Szegedy et al., CVPR 2016) */
    float tied_start;
    uint64_t seed;
} softmax_options;

/* Zeroed memory that a forked child writes for its parent: models are fitted side by side. */
void *softmax_shared(size_t bytes);

softmax *softmax_new(uint32_t classes, uint32_t inputs, uint32_t tied);
softmax *softmax_copy(const softmax *m);
void softmax_free(softmax *m);
void softmax_fit(softmax *m, const softmax_row *rows, size_t n, softmax_options o);
/* Logits, before any temperature. */
void softmax_scores(const softmax *m, const float *x, const float *z, float *s);
void softmax_apply(const softmax *m, const float *x, const float *z, float *p);
/* p += v w, n of each; the same bits at any vector width. */
void softmax_add_scaled(float *restrict p, const float *restrict w, float v, uint32_t n);
bool softmax_write(const softmax *m, const char *path);

/* The temperature that minimizes the log loss of probabilities p (n, classes) taken to the power 1/T. */
double softmax_temperature(const float *p, const int *y, size_t n, size_t classes);
#endif
