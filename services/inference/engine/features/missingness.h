/* Whether cells are empty more often where a column is asked for than where it is known, beyond chance:
 * missingness shift (Zhou, Balakrishnan & Lipton, AISTATS 2023). Known rows then take the gaps of asked ones,
 * thinned, so that what is learned and judged is of rows as they are asked (decision 0493). */
#ifndef TAB_MISSINGNESS_H
#define TAB_MISSINGNESS_H

#include "common/base/base.h"

typedef struct {
    size_t known, known_gaps; /* rows, and those of them that lack the cell */
    size_t asked, asked_gaps;
} tab_gap_count;

/* By the likelihood ratio; columns: how many are compared, of which by chance one in a thousand tables has
 * any. */
bool tab_gaps_differ(const tab_gap_count *c, size_t columns);
/* Of the gaps of a random asked row, the share that a known row takes so that both lack the cell as often. */
double tab_gaps_thin(const tab_gap_count *c);
#endif
