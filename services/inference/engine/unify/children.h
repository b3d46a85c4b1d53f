/* Rows that refer to an entity hang under it: the orders of a customer, and their items with them. */
#ifndef TAB_CHILDREN_H
#define TAB_CHILDREN_H

#include "services/inference/engine/keys/plan.h"
#include "services/inference/engine/unify/unify.h"

/* Hanging rows, by entity, table and row: each once. */
typedef struct {
    size_t n;
    uint32_t *entity, *table, *row;
} tab_children;

/* Takes out of n the entities that are rows of one table alone, each of which refers to a row of the table's
 * parent (plan->under), and hangs their rows under the entity at the end of the way up. What is left keeps
 * its order. Lives in a. TAB_INTERNAL: out of memory. */
tab_status tab_children_hang(const tab_views *v, const tab_keys *k, const tab_key_plan *plan, tab_arena *a,
                             tab_entities *n, tab_children *ret, tab_error *err) TAB_CHECKED;

/* Lends the lists to the message. */
void tab_children_write(const tab_children *c, Tabella__UnifiedRows *u);

#endif
