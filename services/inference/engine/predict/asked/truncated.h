/* Numbers that are missing for what they would say: those beyond a limit were never written (values below a
 * limit of detection, incomes that are too high to be told). Then the known numbers are a sample that is
 * truncated there (Cohen 1950), and no known row tells of the missing ones, but the end does: known numbers
 * stop short where the model's own errors would go on, and what is missing is what would have gone beyond
 * (decision 0710). */
#ifndef TAB_ASKED_TRUNCATED_H
#define TAB_ASKED_TRUNCATED_H

#include <stdbool.h>
#include <stddef.h>

#include "services/inference/engine/features/encode.h"

typedef struct {
    bool above;       /* the missing numbers lie above the end; else below it */
    bool logs;        /* what follows is of logarithms */
    double end;       /* the farthest known number on that side, in its own units */
    double deviation; /* of the normal tail beyond the end; 0: nothing is cut off */
    double known;     /* the share of all rows that has the number */
    double gain;      /* how much better than one share for all it tells which rows are missing, as below */
    double follows;   /* rank correlation of number and location within the tail, 0 to 1 */
} tab_truncation;

/* How much better than one share for all the column that does so best tells which rows are missing, in
 * log-likelihood a row, less what its bins cost (BIC: Schwarz 1978). known, missing (rows of d). Where it
 * gains as much as a limit does, the limit is not why they are. */
double tab_truncation_by_column(const tab_data *d, const bool *known, const bool *missing);
/* y, m (n): known numbers and their locations out of fold; asked (k): the locations of the missing ones.
 * whole: all numbers are whole ones.
 * score (k): where each stands among the missing ones by its location, as a normal score. False: memory. */
bool tab_truncation_find(const double *y, const double *m, size_t n, const double *asked, size_t k,
                         bool whole, double *score, tab_truncation *ret) TAB_CHECKED;
/* The quantile tau of a missing number of that score. */
double tab_truncation_quantile(const tab_truncation *t, double score, double tau);
/* Its mean and standard deviation. */
void tab_truncation_moments(const tab_truncation *t, double score, double *mean, double *deviation);
/* How likely such a number is to lie within `off` of v. */
double tab_truncation_within(const tab_truncation *t, double score, double v, double off);
#endif
