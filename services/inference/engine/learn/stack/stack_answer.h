/* Parts of a stack's answer that its fit needs, too. */
#ifndef TAB_STACK_ANSWER_H
#define TAB_STACK_ANSWER_H

#include "services/inference/engine/learn/stack/stack.h"

/* out (n, outputs): one member's outputs for rows row[0..n) outside the folds: its fold models' averaged,
 * or those of its model of all rows; log-probabilities or locations. view (folds + 1). Thread-safe. False:
 * out of memory. */
bool tab_member_average(const tab_stack *s, const tab_member *m, const tab_fold_view *view,
                        const uint32_t *row, size_t n, float *out);

/* out (outputs): the members' calibrated outputs z (members)(outputs) of one row to the stack's, before
 * the last temperature. */
void tab_stack_combine(const tab_stack *s, const float *const *z, float *out);
#endif
