/* Boosted regression trees under logistic loss (Friedman, Annals of Statistics 2001), for models small
 * enough to be shipped as a table of numbers. */
#ifndef TAB_TRAIN_TREES_H
#define TAB_TRAIN_TREES_H

#include "services/inference/engine/keys/score.h"

/* Fits all trees of a stage. x (n, d), rows `stride` apart; y 0 or 1; w weights. Deterministic. Returns 0, or
 * -1 when out of memory. */
int trees_fit(size_t n, size_t d, size_t stride, const float *x, const uint8_t *y, const float *w, float rate,
              tab_key_stage *ret);

#endif
