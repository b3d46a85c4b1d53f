/* How the stack's members are calibrated and weighed. row (n): rows with a target, positions in the
 * problem's data. */
#ifndef TAB_OPINION_POOL_H
#define TAB_OPINION_POOL_H

#include "services/inference/engine/learn/stack/stack.h"

/* z (k) <- log softmax(t z) */
void tab_log_softmax(float *z, size_t k, double t);
/* The temperature in [0.2, 4] with the least log-loss of z (rows, outputs), a little doubt included, under a
 * weak pull to 1. */
double tab_best_temperature(const tab_problem *p, const uint32_t *row, size_t n, const float *z);
/* Sets s->member[].weight and s->prior_weight. z (members)(rows, outputs): calibrated out-of-fold
 * outputs. */
void tab_pool_weights(const tab_problem *p, tab_stack *s, const uint32_t *row, size_t n, float *const *z);
#endif
