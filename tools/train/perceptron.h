/* Fits the perceptron beside stage 2 (profile/roles/stages.h): one hidden layer,
 *
 *   h = max(0, W_1' x + b_1),  s = W_2' h + b_2
 *
 * by back-propagation of the softmax's log loss (Rumelhart, Hinton & Williams, Nature 1986) with half of
 * the hidden units left out at random for each row (Srivastava et al., JMLR 2014), in mini-batches, by
 * AdamW (Loshchilov & Hutter, ICLR 2019) with a rate that falls as a cosine to zero. Deterministic. */
#ifndef TAB_PERCEPTRON_H
#define TAB_PERCEPTRON_H

#include "tools/train/softmax.h"

typedef struct {
    softmax *hidden, *top; /* the two layers; in memory that forked children share */
} perceptron;

typedef struct {
    int epochs;
    float rate, decay;
    float smooth; /* as softmax_options has it */
    uint64_t seed;
} perceptron_options;

/* Weights by chance (He et al., ICCV 2015, halved for the second layer), always the same ones. */
perceptron *perceptron_new(uint32_t inputs, uint32_t hidden, uint32_t classes);
perceptron *perceptron_copy(const perceptron *m);
void perceptron_free(perceptron *m); /* or NULL */
void perceptron_fit(perceptron *m, const softmax_row *rows, size_t n, perceptron_options o);

/* Logits. x (inputs), s (classes) out. */
void perceptron_scores(const perceptron *m, const float *x, float *s);
#endif
