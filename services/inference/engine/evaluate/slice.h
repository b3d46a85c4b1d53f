/* The slice of held-out rows that a prediction serves worst. */
#ifndef TAB_SLICE_H
#define TAB_SLICE_H

#include "services/inference/engine/profile/profile.h"

/* Searches the levels of categories and the thirds of numbers for the slice of at least 20 held-out rows
 * (and a twentieth of them, with 20 beside it) that has the largest mean error: of those that lie two
 * standard errors above all rows, else of all, and then the text says that chance may explain it. Personal
 * data is not searched. error: of the rows with test[row], in their order (0 / 1 misses, or squared
 * errors). One line of text in the arena, "" without such a slice or any error; NULL: the arena is full. */
char *tab_weakest_slice(tab_arena *a, const tab_profile *p, const bool *test, size_t target,
                        const double *error, bool misses);
#endif
