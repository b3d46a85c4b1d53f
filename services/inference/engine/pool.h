/* The sector of tables that refer to one another (decision 0362). */
#ifndef TAB_POOL_H
#define TAB_POOL_H

#include "services/inference/engine/keys/keys.h"

/* Tables of n that refs joins, directly or by others, are one organization's: each gets the logarithmic pool
 * of the m tables' sectors (Genest and Zidek, Statistical Science 1986), all of weight 1/sqrt(m): between one
 * table's worth of evidence (1/m) and m independent ones (1). Where another sector than its own comes first,
 * its hints go: they spoke for its own. The pool lives in a. False: a is full. */
bool tab_sectors_pool(tab_arena *a, tab_profile *const *p, size_t n, const tab_references *refs) TAB_CHECKED;

#endif
