/* Rows that are asked in gaps of time: days on which nothing was measured. Rows drawn at random from such a
 * table have neighbours a step away, those in the gap have none for as long as it lasts; judged as rows at
 * random they are answered too surely (decision 0446). */
#ifndef TAB_GAPS_H
#define TAB_GAPS_H

#include "services/inference/engine/predict/fitted.h"

/* Where folds would be drawn at random and most of the asked rows lie in gaps of time, the fitted rows are
 * kept apart in runs of time as long as these, which folds are dealt. False: the arena is full. */
bool tab_gaps_apart(const tab_engine *e, const tab_profile *p, tab_split want, tab_fitted *f) TAB_CHECKED;
#endif
