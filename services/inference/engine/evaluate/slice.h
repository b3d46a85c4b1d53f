/* The slice of held-out rows that a prediction serves worst. */
#ifndef TAB_SLICE_H
#define TAB_SLICE_H

#include "services/inference/engine/profile/profile.h"

/* Searches the levels of categories and the thirds of numbers for the slices of at least 20 held-out rows
 * (and a twentieth of them, with 20 beside each), the worst first: those that lie two standard errors
 * above all rows, then the others, each by its mean error. Personal data is not searched. error: of the
 * rows with test[row], in their order (0 / 1 misses, or squared errors in any unit). rmse: of all those
 * rows in the target's unit, which the slices' errors are in too; below 0 for misses. ret (ret_n): at most
 * 20 of them, in the arena; table: the table's number. The result is the worst in one line of text, which
 * says where chance may explain it, "" without a slice that is worse than all rows; NULL: the arena is
 * full. */
char *tab_slices(tab_arena *a, const tab_profile *p, const bool *test, size_t target, const double *error,
                 double rmse, uint32_t table, Tabella__Slice ***ret, size_t *ret_n);

#endif
