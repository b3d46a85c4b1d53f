/* How unlikely it is that two tables hold the same values without having to do with one another. */
#ifndef TAB_KEYS_ACCIDENT_H
#define TAB_KEYS_ACCIDENT_H

#include "services/inference/engine/keys/key_columns.h"

/* The logarithm of how many other sets of as many values the parts of a column's values would make: 144 codes
 * of 12 letters and 12 numbers give choose(144, 12) sets of twelve. 0 where values are counted (1 to 15, A1 to
 * A15), or words of which everybody makes the same list (months, countries). *ret is untouched where memory
 * lacks. False: out of memory. */
bool tab_key_other_sets(const tab_views *v, const tab_key_column *c, double *ret) TAB_CHECKED;

#endif
