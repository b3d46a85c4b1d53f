/* The slice of held-out rows that a prediction serves worst. */
#ifndef TAB_SLICE_H
#define TAB_SLICE_H

#include "services/inference/engine/profile/profile.h"

/* Searches the levels of categories and the thirds of numbers for the slice of at least 20 held-out rows (and
 * a twentieth of them) whose mean error lies most standard errors above the others'; personal data is not
 * searched. error: of the rows with test[row], in their order (0 / 1 misses, or squared errors).
 * One line of text in the arena, "" when no slice stands out; NULL: the arena is full. */
char *tab_weakest_slice(tab_arena *a, const tab_profile *p, const bool *test, size_t target,
                        const double *error, bool misses);
#endif
