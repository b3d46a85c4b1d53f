/* Weights of align.c's features, set by hand and checked with tests/bench/match: value features, row
 * features, intercept; log-odds before the columns compete (align.c). A logistic fit (left one source out)
 * gave lower F1 at 0.5. */
#ifndef TAB_ALIGN_WEIGHTS_H
#define TAB_ALIGN_WEIGHTS_H

#include "services/inference/engine/align/align.h"

static const float tab_align_weights_values[TAB_ALIGN_FEATURES + 1] = {
    2, 1, 2, 3, 2, 1, 1.5, -0.5, -3, 1, 1, 0.5, 1, 1, 0.5, -2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, -6.5,
};
/* One column lists what values there are and the other holds them. Fitted (logistic, weights of one sign)
 * to 40 pairs made from the tables of tests/bench/match's fabricated and real cases: one table against
 * lists of the other's values among lists of all others' (decision 0171). Features 0, 2, 9 and 16 are the
 * share of rows and of values explained softly, the share of rows held, and how many values are shared. */
static const float tab_align_weights_listed[TAB_ALIGN_FEATURES + 1] = {
    2.7f, 0.75f, 2.7f, 0, 0.5f, 0.5f, 0, -0.5f, -1.7f, 0.15f, 0, 0, 0, 0,
    0,    1.1f,  1.6f, 0, 0,    0,    0, 0,     0,     0,     0, 0, 0, -7.4f,
};
static const float tab_align_weights_rows[TAB_ALIGN_FEATURES + 1] = {
    1, 1, 1, 2, 1, 0.5, 1, -0.5, -2, 1, 0.5, 0.5, 0.5, 1, 0.5, -1, 1, 0.5, 0, 2, 4, 2, 4, 3, 1, -1, 0, -6.5,
};
#endif
