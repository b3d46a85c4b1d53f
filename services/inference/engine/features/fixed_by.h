#ifndef TAB_FIXED_BY_H
#define TAB_FIXED_BY_H

#include "services/inference/engine/features/encode.h"

/* Share of a target's variation that lies between the bins of feature `f`, adjusted for the number of bins:
 * eta squared for numbers; for classes, how far the best guess a bin beats the best guess overall.
 * y (rows): numbers, NaN where missing; or NULL, and label (rows) of so many classes, TAB_NULL where
 * missing. */
double tab_fixed_by(const tab_data *d, size_t f, const float *y, const uint32_t *label, size_t classes);

#endif
