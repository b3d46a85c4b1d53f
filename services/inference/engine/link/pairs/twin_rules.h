/* Rows of one table in which no column contradicts (decision 0318): what tied_matches.c and duplicates.c ask
 * of two rows. */
#ifndef TAB_LINK_TWIN_RULES_H
#define TAB_LINK_TWIN_RULES_H

#include "services/inference/engine/align/view.h"

/* Probability that rows i and j of one table are one entity, by Bayes' rule from what they agree on; 0
 * where a column contradicts, where they agree on less than two columns, or where most of what is known of
 * either is not known of the other. What tells of a table is made once and lives in arena a; NULL: memory
 * is out. */
typedef struct tab_twin_rules tab_twin_rules;
const tab_twin_rules *tab_twin_rules_new(const tab_views *v, size_t table, tab_arena *a);
float tab_twin_rules_p(const tab_twin_rules *s, uint32_t i, uint32_t j);

/* Whether rows i and j are equal in all that is known of them, but for numbers of rows. */
bool tab_twin_rules_equal(const tab_twin_rules *s, uint32_t i, uint32_t j);
/* (rows) of each row's equal pairs the share that chance does not explain: how many there are among rows with
 * values in the same columns, beside how many there would be, were these values dealt anew (decision 0596).
 * Lives in a; NULL: memory is out. */
float *tab_twin_rules_beyond_chance(const tab_twin_rules *s, tab_arena *a);

#endif
