/* Multinomial logistic regression with sparse inputs and a tied block.
 *
 *   logit_c = b_c  +  sum over j of x_j w_jc  +  sum over t of u_t z_ct
 *
 * The tied weights u are shared by all classes: z_ct says the same thing about each class c ("words of this
 * sector were seen", "the first stage gave this log-probability"), so one weight serves all, and a class
 * with no training row still profits. A trained model is one blob (tools/train writes it):
 *
 *   tab_linear_header | bias (classes) float | tied (tied) float | scale (inputs) float | w (inputs,
 *   classes) int16
 *
 * little-endian, w_jc = scale_j * q_jc. */
#ifndef TAB_PROFILE_LOGISTIC_H
#define TAB_PROFILE_LOGISTIC_H

#include "common/base/base.h"

typedef struct {
    char magic[8]; /* "TABLIN1\n" */
    uint32_t classes, inputs, tied, pad;
    float temperature; /* logits are divided by it */
    float reserved[3];
} tab_linear_header;

typedef struct {
    uint32_t classes, inputs, tied;
    float temperature;
    const float *bias, *u, *scale;
    const int16_t *w;
} tab_linear;

/* A view of a blob; false when it is none, or not of these dimensions. */
bool tab_linear_open(const void *blob, size_t n, uint32_t classes, uint32_t inputs, uint32_t tied,
                     tab_linear *ret);

/* Logits, the temperature not applied. x (inputs), z (classes, tied) or NULL where tied is 0, s (classes)
 * out. */
void tab_linear_scores(const tab_linear *m, const float *x, const float *z, float *s);

/* s (n) logits on entry, probabilities on return: the softmax of s / temperature. */
void tab_softmax(float *s, uint32_t n, float temperature);

/* Class probabilities: both of the above. */
void tab_linear_apply(const tab_linear *m, const float *x, const float *z, float *p);
#endif
