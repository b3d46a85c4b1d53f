/* Whether made columns (made/made.h) are read: only where they are proven, by nested folds.
 *
 * Boosted trees of the brisk recipe are fitted on the context of each fold; what they leave open proposes
 * columns (made/propose.h), to each fold by the rows of its context alone. The same trees with them are then
 * held against those without on the rows of each fold, which the trees have not seen. (The residuals that
 * propose are of trees to which these rows were context: they have an indirect say, decision 0565.) Where
 * their loss falls by more than chance, as rows of one group count once, all learners read the columns. */
#ifndef TAB_PROVE_H
#define TAB_PROVE_H

#include "services/inference/engine/learn/stack/stack_pass.h"

/* list (TAB_FOLDS + 1): what each fold reads, and at `folds` the models of all rows; all empty: nothing is
 * made. c->s->levels of the folds are there. False: memory or cancelled. */
bool tab_prove(tab_stack_pass *c, const tab_recipe *r, tab_made_list *list) TAB_CHECKED;
#endif
