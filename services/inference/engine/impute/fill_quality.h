/* How good a fill is on cells that were hidden from it, beside the plain one: the median of numbers and
 * scales, the commonest class of categories.
 *
 *   numbers   r2: share of the squared deviation from the mean that the answers take away
 *   classes   accuracy
 *
 * One far value decides nothing: where at most one cell in fifty lies beyond fences as Tukey's (Exploratory
 * Data Analysis, 1977), such cells count as the fence. Decision 0292. */
#ifndef TAB_IMPUTE_FILL_QUALITY_H
#define TAB_IMPUTE_FILL_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *metric;     /* "r2" or "accuracy" */
    double score, baseline; /* of the answers, and of the plain one; NaN without a cell */
    double gain; /* over the plain answers, in standard errors; 0 where the plain ones are better */
    bool better; /* the gain is above one standard error */
} tab_fill_quality;

/* How many widths of the middle half the fences stand from it: for grades Tukey's outer ones; for learning
 * farther out, as other columns may tell a far value. */
static const double TAB_FENCE_GRADED = 3, TAB_FENCE_LEARNED = 8;

/* lo and hi: what the n numbers, ascending, are held within; the least and the greatest where far values are
 * no exception. n > 0. */
void tab_fences(const double *sorted, size_t n, double widths, double *lo, double *hi);

/* The lower median: a number that occurs. n > 0. */
static inline double tab_lower_median(const double *sorted, size_t n)
{
    return sorted[(n - 1) / 2];
}

/* truth and answer (n), finite. sorted (n): the truth, ascending. */
tab_fill_quality tab_fill_quality_numbers(const double *truth, const double *answer, const double *sorted,
                                          size_t n);
tab_fill_quality tab_fill_quality_classes(const uint32_t *truth, const uint32_t *answer, size_t n,
                                          uint32_t commonest);
#endif
