/* Confidences of fills as the missing cells lie to the present ones: a cell that is missing where the column
 * errs more is filled less surely (decision 0645). */
#ifndef TAB_FILL_ASKED_H
#define TAB_FILL_ASKED_H

#include "services/inference/engine/learn/stack/stack.h"

/* weight (encoded rows): by how many missing cells each present one stands (odds.h). */

/* *ret: the temperature of the classes' log-probabilities. label (encoded rows): TAB_NULL where missing.
 * False: memory. */
bool tab_fill_heat(const tab_stack *s, const uint32_t *label, const float *weight, size_t rows,
                   double *ret) TAB_CHECKED;

/* Moves sure (encoded rows), probabilities that an answer is right, by one step of their logits, to where the
 * weighed present cells' are right as often as they are said to be. right (encoded rows): TAB_NULL where
 * missing. */
void tab_fill_shift(float *sure, const uint32_t *right, const float *weight, size_t rows);
#endif
