/* Boosted regression trees under logistic loss (Friedman, Annals of Statistics 2001), for models small
 * enough to be shipped as a table of numbers; each tree on a sample (Friedman, "Stochastic gradient
 * boosting", 2002). */
#ifndef TAB_TRAIN_TREES_H
#define TAB_TRAIN_TREES_H

#include "services/inference/engine/align/trees.h"

typedef struct {
    size_t n, d, stride;
    const float *x;   /* (n, d), rows `stride` apart */
    const uint8_t *y; /* (n) 0 or 1 */
    const float *w;   /* (n) weights */
} trees_data;

/* Fits `trees` trees, each on the share `sample` of the rows. Deterministic. Returns 0, or -1 when out of
 * memory. */
int trees_fit(const trees_data *t, float rate, double sample, size_t trees, float *ret_start, tab_tree *ret);

#endif
