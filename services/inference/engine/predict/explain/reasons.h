/* Shapley values of boosted trees (the derivation stands in reasons.c). */
#ifndef TAB_REASONS_H
#define TAB_REASONS_H

#include "services/inference/engine/learn/boost/boost.h"

/* phi (features) += scale times each feature's Shapley value in `margin` of row `row` of d. */
void tab_boost_shap(const tab_boost *m, size_t margin, const tab_data *d, uint32_t row, double scale,
                    double *phi);
#endif
