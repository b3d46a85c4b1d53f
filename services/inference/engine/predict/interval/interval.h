/* From a location to a distribution, for regression.
 *
 * The residuals of out-of-fold locations are what the model's errors are. Their local scale is fitted on the
 * features, out of fold as well, and quantiles of the scaled residuals then hold for every row
 * (split-conformal prediction with locally weighted residuals: Lei et al., JASA 2018):
 *
 *   q_tau(x) = f(x) + s(x) Q_tau(x),   Q_tau the tau-quantile of (y - f) / s out of fold
 *
 * Q_tau is one for all rows, but for groups of rows where it does not hold (group_quantiles.h). Quantiles do
 * not cross, since s > 0 and Q does not fall. */
#ifndef TAB_INTERVAL_H
#define TAB_INTERVAL_H

#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/interval/group_quantiles.h"

enum { TAB_LEVELS = 7 };
extern const double tab_quantile_level[TAB_LEVELS]; /* .05 .1 .25 .5 .75 .9 .95 */

typedef struct {
    tab_stack *scale;            /* of sqrt |residual|; NULL: one scale for all rows */
    double floor;                /* the least scale */
    double quantile[TAB_LEVELS]; /* of scaled residuals, over all rows */
    tab_groups groups;           /* what groups of rows shift them by */
    double wider[TAB_LEVELS];    /* by what they were widened over those of the residuals; 1: by nothing */
    double spread;               /* root mean square of scaled residuals */
    /* The scale of an answer that is the mean of the folds' models, as share of that of an answer out of
     * fold, which is one model's: 1 or less. */
    double narrow;
    float *oof_scale; /* (rows) */
} tab_interval;

/* A number that counts so often. */
typedef struct {
    double x, weight;
} tab_weighed;
int tab_ascending_weighed(const void *a, const void *b);
/* The quantile tau of v (n), ascending, for one number more of their mean weight: between order statistics,
 * as its rank is uniform. */
double tab_weighed_quantile(const tab_weighed *v, size_t n, double tau);

/* `s` answers p. weight (rows): how often a row counts; NULL: each once. NULL: the arena is full or
 * cancelled. */
tab_interval *tab_interval_fit(const tab_engine *e, tab_arena *a, const tab_problem *p, const tab_stack *s,
                               const float *weight, bool local);
/* out (n): the scale at rows row[0..n) of q. */
bool tab_interval_scale(const tab_interval *v, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out);
/* out (TAB_LEVELS): the quantiles of the scaled residual of row `row` of q, whose answer and scale are given;
 * they do not fall. For rows out of fold and for new ones. */
void tab_interval_quantiles(const tab_interval *v, const tab_data *q, size_t row, float answer, float scale,
                            double *out);
#endif
