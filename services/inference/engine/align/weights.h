/* Weights of align.c's features, set by hand and checked with tests/bench/match: value features, row
 * features, intercept; log-odds before the columns compete (align.c). A logistic fit (left one source out)
 * gave lower F1 at 0.5. */
#ifndef TAB_ALIGN_WEIGHTS_H
#define TAB_ALIGN_WEIGHTS_H

#include "services/inference/engine/align/align.h"

static const float tab_align_weights_values[TAB_ALIGN_FEATURES + 1] = {
    2, 1, 2, 3, 2, 1, 1.5, -0.5, -3, 1, 1, 0.5, 1, 1, 0.5, -2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, -6.5,
};
static const float tab_align_weights_rows[TAB_ALIGN_FEATURES + 1] = {
    1,   1,  1, 2,   1, 0.5, 1, -0.5, -2, 1, 0.5, 0.5, 0.5,  1,
    0.5, -1, 1, 0.5, 2, 4,   2, 4,    3,  1, -1,  0,   -6.5,
};
#endif
