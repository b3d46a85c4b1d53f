/* Copies whose numbers all moved a little: rows that were made from others to have more of them, several
 * readings of one thing. No cell is equal, so that hashes (units.c) do not see them. */
#ifndef TAB_NOISY_COPIES_H
#define TAB_NOISY_COPIES_H

#include "services/inference/engine/profile/profile.h"

/* Joins in unit (rows, union-find, the first row stands for its unit) the rows with a target that are noisy
 * copies of one another (decision 0787). used (cols): columns that tell rows apart; hash (rows):
 * of their cells; y (rows): the target, NaN
 * where there is none, apart: how far those of two rows are in the mean, unlike otherwise of classes. *ret:
 * whether there are any. Not looked for among more than 20,000 rows, nor where fewer than two columns are of
 * numbers. False: memory. */
bool tab_noisy_copies(const tab_profile *p, const bool *used, const uint64_t *hash, const double *y,
                      bool numeric, double apart, uint32_t *unit, bool *ret) TAB_CHECKED;
#endif
