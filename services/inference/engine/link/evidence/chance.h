/* How many pairs of two tables look like one entity by chance: as many as within the tables, in parts of the
 * pairs that there are (decision 0412). */
#ifndef TAB_LINK_CHANCE_H
#define TAB_LINK_CHANCE_H

#include "services/inference/engine/link/evidence/twin_pairs.h"

/* Lowers s->p, the answers of the twins' model for pairs of two tables, to what chance leaves of them. Within
 * a table the model finds twins and look-alikes; of the pairs that it gives p a share of 1 - p is expected to
 * be look-alikes. Across, as many are expected again, for there are as many pairs of strangers; only what is
 * seen beyond them are entities that the tables share. twins: those of either table, with p. False: out of
 * memory. */
bool tab_across_chance(tab_twin_pairs *s, const tab_twin_pairs *const twins[2]);

#endif
