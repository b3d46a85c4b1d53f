/* Learners that answer rows outside the folds by one model of all rows rather than by the mean of the
 * folds' models. */
#ifndef TAB_REFIT_H
#define TAB_REFIT_H

#include "services/inference/engine/learn/stack/stack.h"

/* Fits them where they have a weight, on row[0..n): the model stands at model[s->folds], what it reads at
 * s->levels[s->folds]. False: memory or cancelled. */
bool tab_refit(const tab_engine *e, tab_arena *a, const tab_problem *p, tab_stack *s, const uint32_t *row,
               size_t n) TAB_CHECKED;
#endif
