/* Inside inclusions.h: inclusions.c finds and compares pairs of columns, compete.c compares the pairs. */
#ifndef TAB_INCLUSIONS_INTERNAL_H
#define TAB_INCLUSIONS_INTERNAL_H

#include "services/inference/engine/keys/inclusions.h"

/* Fills the features that only all candidates together tell; x is by child, then parent. columns: of all
 * tables. False: out of memory. */
bool tab_inclusions_compete(const tab_key_columns *k, tab_inclusion *x, size_t n, size_t columns);

#endif
