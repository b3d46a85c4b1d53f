/* Whether the numbers of two lists are distributed alike: the statistic of Kolmogorov and Smirnov. */
#ifndef TAB_PREDICT_TWO_SAMPLES_H
#define TAB_PREDICT_TWO_SAMPLES_H

#include "common/base/base.h"

/* The largest distance of the distributions of a (n) and of b (m) times `by` plus `more`, by > 0; both
 * ascend and hold a number. 0: alike, 1: apart. */
double tab_two_samples(const double *a, size_t n, const double *b, size_t m, double by, double more);

/* The same in standard errors: two lists of one kind are hardly ever 1.95 apart (once in a thousand). */
double tab_two_samples_errors(const double *a, size_t n, const double *b, size_t m, double by, double more);
#endif
