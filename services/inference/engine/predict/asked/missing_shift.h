/* Missingness shift: a column that is empty more often in the rows to be answered than in those with a target
 * (Zhou, Balakrishnan & Lipton, "Domain adaptation under missingness shift", AISTATS 2023). What is written
 * down once the outcome is known explains it perfectly and is not there when it is asked for; judged on rows
 * that have it, every answer is too sure (decision 0493). */
#ifndef TAB_MISSING_SHIFT_H
#define TAB_MISSING_SHIFT_H

#include "services/inference/engine/predict/fitted.h"

/* p as it is to be fitted: rows with a target lack what the asked rows lack, as often and together. use
 * (cols): columns that may explain; those that no asked row has are taken out. *ret is p itself where nothing
 * differs beyond chance, else f->lacking says what does. All lives in f's arena.
 * Errors: INTERNAL (memory). */
tab_status tab_missing_shift(const tab_profile *p, bool *use, tab_fitted *f, const tab_profile **ret,
                             tab_error *err) TAB_CHECKED;
#endif
