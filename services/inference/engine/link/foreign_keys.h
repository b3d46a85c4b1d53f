/* Keys: whether one table's rows are named by values that another table's rows hold, as an order names its
 * customer. */
#ifndef TAB_LINK_FOREIGN_KEYS_H
#define TAB_LINK_FOREIGN_KEYS_H

#include "services/inference/engine/align/view.h"

typedef enum {
    TAB_KEY_NONE,
    TAB_KEY_ONE_TO_ONE,
    TAB_KEY_ONE_TO_MANY, /* b's rows refer to a's */
    TAB_KEY_MANY_TO_ONE
} tab_key_relation;

/* How the columns of two tables, taken to be one attribute, relate them: one to one or to many where both
 * are made of identifiers, one names each of its rows once, and holds the other's values all but one in
 * twenty. Whole numbers counted up from 0, 1 or a power of ten hold others by chance: TAB_KEY_NONE, as for
 * all other columns. *ret is set; TAB_INTERNAL: out of memory. */
tab_status tab_key_of(const tab_views *v, const tab_view *a, const tab_view *b, tab_key_relation *ret,
                      tab_error *err) TAB_CHECKED;

#endif
