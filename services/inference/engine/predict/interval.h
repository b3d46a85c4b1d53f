/* From a location to a distribution, for regression.
 *
 * The residuals of out-of-fold locations are what the model's errors are. Their local scale is fitted on the
 * features, out of fold as well, and quantiles of the scaled residuals then hold for every row
 * (split-conformal prediction with locally weighted residuals: Lei et al., JASA 2018):
 *
 *   q_tau(x) = f(x) + s(x) Q_tau,   Q_tau the tau-quantile of (y - f) / s out of fold
 *
 * Quantiles cannot cross, since s > 0 and Q does not fall. */
#ifndef TAB_INTERVAL_H
#define TAB_INTERVAL_H

#include "services/inference/engine/learn/stack.h"

enum { TAB_LEVELS = 7 };
extern const double tab_quantile_level[TAB_LEVELS]; /* .05 .1 .25 .5 .75 .9 .95 */

typedef struct {
    tab_stack *scale;            /* of sqrt |residual|; NULL: one scale for all rows */
    double floor;                /* the least scale */
    double quantile[TAB_LEVELS]; /* of scaled residuals */
    double spread;               /* root mean square of scaled residuals */
    float *oof_scale;            /* (rows) */
} tab_interval;

/* `s` answers p. NULL: the arena is full or cancelled. */
tab_interval *tab_interval_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_stack *s,
                               bool local);
/* out (n): the scale at rows row[0..n) of q. */
bool tab_interval_scale(const tab_interval *v, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out);
#endif
