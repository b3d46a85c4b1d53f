/* Which learners of a recipe the budget admits. Work is counted, no clock is read (decisions 0051, 0200). */
#ifndef TAB_ADMIT_H
#define TAB_ADMIT_H

#include "services/inference/engine/learn/stack/stack.h"

/* Which form of a learner there is room for beside the work already spent, n rows having a target: 0 the
 * full one, 1, 2, ... cheaper ones, -1 none. *work becomes that form's in all the folds of s. What is left
 * out, or cut down, is said in s->skipped, in `a`. */
int tab_admit(const tab_problem *p, size_t n, tab_stack *s, tab_arena *a, const tab_recipe *r,
              const tab_learner *g, double spent, double *work);
#endif
