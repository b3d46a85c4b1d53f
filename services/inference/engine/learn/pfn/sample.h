/* Which rows of a large table a member reads: a sample of every class, so that rare classes keep their
 * rows. */
#ifndef TAB_PFN_SAMPLE_H
#define TAB_PFN_SAMPLE_H

#include "services/inference/engine/learn/learner.h"

/* quota (classes): how many of count (classes) rows are read, together at most `room`.
 *
 * First every class gets 50 rows, or all it has (or an even part of half of the room, where that is less).
 * Then classes of under 1 % get all of theirs, as far as half of the rest goes. The others share what is
 * left in proportion. */
void tab_pfn_quota(const size_t *count, size_t classes, size_t room, size_t *quota);

/* row (n), ascending, becomes a sample of at most `room` rows, ascending, each class (label by row, below
 * `classes`; NULL: all are one) to its quota. Which rows is a function of their content, their class and
 * the seed. Returns how many; 0: out of memory. */
size_t tab_pfn_sample(const tab_data *d, const uint32_t *label, size_t classes, size_t room, uint64_t seed,
                      uint32_t *row, size_t n);
#endif
