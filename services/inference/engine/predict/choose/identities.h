/* Which numeric columns are sums, differences or products of others. */
#ifndef TAB_IDENTITIES_H
#define TAB_IDENTITIES_H

#include "services/inference/engine/profile/profile.h"

enum { TAB_IDENTITY_COLUMNS = 48 }; /* at most so many take part */
enum { TAB_IDENTITY_PARTS = 6 };    /* at most so many are named as what a column is computed from */

typedef struct {
    double
        share; /* 0..1: how many of five decimals of its variance a linear rule of the others leaves over */
    double
        positive; /* share of the rule's weights above 0, by size: 1 for a total, about half for its part */
} tab_identity;

/* ret (cols), zeroed where a column is no number. Each numeric column against all others by least squares, on
 * the values and, where all are above 0, on their logarithms, a share's also of what it leaves over: 1 - R2
 * is one over the diagonal of the inverse of their correlations (Marquardt, Generalized inverses, ridge
 * regression, 1970), so that one inversion answers for all columns. Missing cells count as the mean. False:
 * the arena is full. */
bool tab_identities(tab_arena *a, const tab_profile *p, tab_identity *ret) TAB_CHECKED;

/* Which few columns (part, TAB_IDENTITY_PARTS) column `target` is a linear rule of, or of whose logarithms
 * its logarithm is: *ret_product. *ret_n is 0 where at most one part in 10,000 of its variance is not left
 * over by any, or where the rule does not hold for the ordinary row as well. False: the arena is full. */
bool tab_identity_of(tab_arena *a, const tab_profile *p, size_t target, size_t *part, size_t *ret_n,
                     bool *ret_product) TAB_CHECKED;
#endif
