/* Answers for a row that lacks what hardly a fitted row lacks. The models have learned nothing of such a gap
 * and would read it as any value; the answer is the mean over the values that like rows have there: multiple
 * imputation by a hot deck (Rubin, Multiple Imputation for Nonresponse in Surveys, 1987; Andridge & Little,
 * International Statistical Review 2010). Decision 0493. */
#ifndef TAB_HOT_DECK_H
#define TAB_HOT_DECK_H

#include "services/inference/engine/predict/fitted_parts.h"

/* Writes f->seldom. False: the arena is full. */
bool tab_hot_deck_fit(tab_fitted *f) TAB_CHECKED;

/* Where row `row` of d has such gaps: out (outputs), the stack's answer, becomes the mean over donors, and
 * *ret_more grows by the variance between them, in squared scaled units (numbers only). False: memory. */
bool tab_hot_deck_answer(const tab_fitted *f, const tab_data *d, size_t row, float *out,
                         float *ret_more) TAB_CHECKED;

/* Marks the rows of a request that have such gaps, with a sentence a column: doubt (rows) becomes its place
 * among s->m->doubts, from 1 on, where it was 0; a column's sentence has room there. False: the arena is
 * full. */
bool tab_hot_deck_mark(tab_arena *a, const tab_fitted *f, tab_scoring *s, uint32_t *doubt) TAB_CHECKED;
#endif
