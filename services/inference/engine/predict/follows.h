/* How strongly a target follows a number. */
#ifndef TAB_PREDICT_FOLLOWS_H
#define TAB_PREDICT_FOLLOWS_H

#include "common/base/base.h"

/* Of n pairs of x and a target: the correlation ratio of its classes (label, below `classes`; y NULL), or the
 * absolute correlation of its numbers (y; label NULL). 0 to 1; 0 where either stays the same. Pairs without
 * an x (NaN), a label (TAB_NULL) or a y (NaN) are left out. *ret_sd: the deviation of x. False: memory. */
bool tab_follows(const double *x, const uint32_t *label, const float *y, size_t n, size_t classes,
                 double *ret, double *ret_sd) TAB_CHECKED;
#endif
