/* What anyone would say of later rows without a model: of a number the last value of its series, that of a
 * period before, or the series' mean; of a class that the last one stays, as often as it did. All is known
 * at the last fitted row. */
#ifndef TAB_EVALUATE_BASELINES_H
#define TAB_EVALUATE_BASELINES_H

#include "services/inference/engine/evaluate/parts.h"
#include "services/inference/engine/series/series.h"

enum { TAB_BASELINES = 3 };

/* Of each held row of s, in their order, TAB_BASELINES guesses: numbers, or the probability of the class
 * that it has; NaN: there is none, and the mean or the shares stand for it. last: the time of the last fitted
 * row, in steps. class (rows of the table) and share (classes): of classes; NULL: numbers. In a. NULL: the
 * arena is full. */
double *tab_baselines(tab_arena *a, const tab_held_part *s, const tab_series *times, int64_t last,
                      const double *y, const uint32_t *class, const double *share,
                      size_t classes) TAB_CHECKED;
#endif
