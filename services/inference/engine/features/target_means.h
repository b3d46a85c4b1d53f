/* Whether a number that is one for all rows of a group (a branch's churn rate) was computed from these rows'
 * targets. A rate of last year lies beside the mean of this year's targets by what chance makes of so many
 * rows; one that was computed from them lies closer than that (decision 0783). */
#ifndef TAB_TARGET_MEANS_H
#define TAB_TARGET_MEANS_H

#include "common/base/base.h"

/* The rows of one group. */
typedef struct {
    double n, sum, square; /* of those with a target, and of their targets (of a class: 0 or 1) */
    double all;            /* with those to predict */
} tab_target_sums;

/* Classes of a target that are looked at. */
enum { TAB_TARGET_LEVELS = 10 };

/* v (groups): the number of each, NaN where it has none; it may be of the mean, the sum or the count, in any
 * unit. */
bool tab_made_of_targets(const tab_target_sums *g, const double *v, size_t groups);
#endif
