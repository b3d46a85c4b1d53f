/* Between the files that fit a stack: stack.c has the folds and the whole, stack_members.c fits the learners.
 * */
#ifndef TAB_STACK_PASS_H
#define TAB_STACK_PASS_H

#include "services/inference/engine/learn/stack/stack.h"

/* Rows times outputs of the largest table whose calibration is crossed (decision 0392). */
enum { TAB_CROSSED = 10000 };
enum { TAB_NO_FOLD = 255 }; /* in tab_stack.fold: a row without a target */

/* One fit of a stack. */
typedef struct {
    const tab_engine *e;
    const tab_problem *p;
    tab_stack *s;
    uint32_t *all; /* rows with a target, ascending */
    size_t n;
    uint32_t *group; /* (n) of each of them: rows of one group share a fold; counted as they come */
    size_t groups;
    tab_arena *spare[TAB_LEARNERS * TAB_FOLDS]; /* of models that are not wanted when all is done */
    size_t spares;
} tab_stack_pass;

/* Whether each fold's rows are answered by what the others chose: steps, temperatures, weights. */
static inline bool tab_stack_crossed(const tab_stack_pass *c)
{
    return c->n * c->p->outputs <= TAB_CROSSED && c->s->folds > 1;
}

/* Rows of a fold (in: those that it holds out; else its context), sampled by hash down to `cap` (0: all).
 * out (c->n); returns how many. */
size_t tab_fold_rows(const tab_stack_pass *c, size_t fold, bool in, size_t cap, uint32_t *out);

/* Fits the recipe's learners on all folds: c->s->member, skipped. False: memory or cancelled. */
bool tab_stack_members(tab_stack_pass *c, tab_arena *a, const tab_recipe *r) TAB_CHECKED;
#endif
