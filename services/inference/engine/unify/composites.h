/* Attributes that belong together in a record: an address, a name, the coordinates of a place, an amount and
 * its currency. A record's values of them are of one row (decision 0414). */
#ifndef TAB_COMPOSITES_H
#define TAB_COMPOSITES_H

#include "services/inference/engine/unify/unify.h"

/* Attributes that are decided as one, in order: attr[at[u]] .. attr[at[u + 1] - 1] of unit u. */
typedef struct {
    size_t n;
    size_t *at;
    uint32_t *attr;
} tab_composites;

/* Every attribute is of one unit; most are alone in theirs. Lives in a. False: out of memory. */
bool tab_composites_of(const tab_views *v, const tab_shared_attribute *attr, size_t attrs, tab_arena *a,
                       tab_composites *ret);

#endif
