/* Which numeric columns are sums, differences or products of others. */
#ifndef TAB_IDENTITIES_H
#define TAB_IDENTITIES_H

#include "services/inference/engine/profile/profile.h"

enum { TAB_IDENTITY_COLUMNS = 48 }; /* at most so many take part */

typedef struct {
    double
        share; /* 0..1: how many of five decimals of its variance a linear rule of the others leaves over */
    double
        positive; /* share of the rule's weights above 0, by size: 1 for a total, about half for its part */
} tab_identity;

/* ret (cols), zeroed where a column is no number. Each numeric column against all others by least squares, on
 * the values and, where all are above 0, on their logarithms: 1 - R2 is one over the diagonal of the inverse
 * of their correlations (Marquardt, Generalized inverses, ridge regression, 1970), so that one inversion
 * answers for all columns. Missing cells count as the mean. False: the arena is full. */
bool tab_identities(tab_arena *a, const tab_profile *p, tab_identity *ret) TAB_CHECKED;
#endif
