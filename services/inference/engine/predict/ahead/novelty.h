/* How often a later row is of a class that no row before the question has (the missing mass: Good, Biometrika
 * 1953), by how far ahead it is asked.
 *
 * A labelled row, asked from d before it, was of such a class where the class had first occurred less than d
 * before it. Rows asked from moments with half of the rows before them are counted, so that what a table's
 * first rows bring along is no news. */
#ifndef TAB_NOVELTY_H
#define TAB_NOVELTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAB_NOVELTY_STEPS = 12 };

typedef struct {
    double distance[TAB_NOVELTY_STEPS], share[TAB_NOVELTY_STEPS]; /* both ascending */
    size_t steps;                                                 /* 0: no class was new */
} tab_novelty;

/* first (classes): out, when each occurred first, up to the cut; infinite where it did not. pos, label
 * (rows); NaN and TAB_NULL are left out. most: the longest distance. False: memory. */
bool tab_novelty_of(const double *pos, const uint32_t *label, size_t rows, double cut, double most,
                    size_t classes, double *first, tab_novelty *ret) __attribute__((warn_unused_result));
/* The share at a distance. */
double tab_novelty_at(const tab_novelty *v, double distance);
#endif
