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

/* Numbers that are missing because they lie beyond a limit (truncated.h): answer and sure (rows) of missing
 * cells, in the column's units, where that is so. y (rows): NaN where not known; at (rows): locations;
 * open (rows): the cell is missing; sd: the column's; d: what is known
 * of the rows. False: memory. */
bool tab_fill_cut_off(const tab_data *d, const double *y, const double *at, const bool *open, size_t rows,
                      bool whole, double sd, double *answer, float *sure) TAB_CHECKED;
#endif
