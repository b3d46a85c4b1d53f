/* Quantiles that hold within groups, not only over all rows.
 *
 * Quantiles of scaled residuals are read off all rows (interval.h). Within a group of rows, one level of a
 * category or a fifth of a number's range, the residual may have another shape: skewed to the other side,
 * or a mass at what the target may be at most. A fifth of the answers' range and of the scale's is a group,
 * too. Quantile by quantile, each group's gets a shift of its own:
 *
 *   q_tau(x) = Q_tau + sum over features j of shift(tau, j, group of x in j)
 *
 * This is the quantile regression of residuals on indicators of groups, whose solution covers tau of each
 * (Gibbs, Cherian & Candes, arXiv 2305.12616; Jung et al., ICLR 2023), solved feature by feature: the one
 * whose groups' shares below their quantile differ most beyond chance is taken first, until none does. A
 * group's share is shrunk towards tau by what the groups of its feature differ among each other
 * (DerSimonian & Laird 1986), so that a small group moves little, and a table where nothing is beyond chance
 * keeps the quantiles of all its rows. Decision 0395. */
#ifndef TAB_PREDICT_GROUP_QUANTILES_H
#define TAB_PREDICT_GROUP_QUANTILES_H

#include "services/inference/engine/features/encode.h"

enum { TAB_FIFTHS = 5 };

typedef struct {
    uint32_t of;      /* a feature; at `features` the answer, behind it the scale */
    uint32_t level;   /* which quantile */
    float shift[256]; /* by the feature's bin, or by which fifth */
} tab_group_shift;

typedef struct {
    size_t features;
    float answer[TAB_FIFTHS - 1], scale[TAB_FIFTHS - 1]; /* where a fifth ends: the next begins */
    tab_group_shift *shift;                              /* (shifts) */
    size_t shifts;
} tab_groups;

/* What the shifts are learned from, row by row: residual in units of scale; NaN: the row has no target. */
typedef struct {
    const tab_data *data;
    const float *residual, *answer, *scale, *target; /* (rows) */
    const double *level, *quantile;                  /* (levels) */
    size_t levels;
} tab_groups_task;

/* Into *ret, in `a`. False: out of memory. */
bool tab_groups_fit(tab_arena *a, const tab_groups_task *t, tab_groups *ret) TAB_CHECKED;
/* Adds to quantile (levels) what the groups of row `row` of q shift them by; they do not fall after. */
void tab_groups_shift(const tab_groups *g, const tab_data *q, size_t row, float answer, float scale,
                      double *quantile, size_t levels);
#endif
