/* Columns whose cells are another row's where they are asked: sorted by themselves, pasted one row too low,
 * joined by the wrong key (decision 0794). */
#ifndef TAB_PREDICT_BROKEN_PAIRS_H
#define TAB_PREDICT_BROKEN_PAIRS_H

#include "services/inference/engine/profile/profile.h"

/* Which columns are to be doubted: each is distributed where it is asked as among the known rows, but tells
 * nothing of another column there of which it tells much among these. The largest set of columns that still
 * hold together is not doubted. use and ret (cols), asked (rows). False: memory. */
bool tab_asked_broken_pairs(const tab_column_profile *col, const bool *use, size_t cols, const bool *asked,
                            size_t rows, bool *ret) TAB_CHECKED;
#endif
