/* Which of several columns with the same values is the key that others refer to (decision 0741). */
#ifndef TAB_KEYS_ROOT_H
#define TAB_KEYS_ROOT_H

#include "services/inference/engine/keys/inclusions.h"

/* Where unique columns of several tables hold the same values, and not by chance, the one whose table
 * names its rows takes the probabilities of all of them. x (n) by child, with the probability p (n) of
 * each, which is changed; k->col (columns). False: out of memory, p as it was. */
bool tab_keys_root(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n, float *p);

#endif
