/* Which of the inclusions are references: one parent a child column, no circles. */
#ifndef TAB_KEYS_CHOOSE_H
#define TAB_KEYS_CHOOSE_H

#include "services/inference/engine/keys/inclusions.h"

/* Keeps, likeliest first, each inclusion whose child has no parent yet and is no ancestor of its parent;
 * the p of all others becomes 0. x is by child, then parent. False: out of memory. */
bool tab_keys_choose(size_t columns, const tab_inclusion *x, size_t n, float *p);

#endif
