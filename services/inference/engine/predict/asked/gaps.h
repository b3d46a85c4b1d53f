/* Rows that are asked in gaps of time: days on which nothing was measured. Rows drawn at random from such a
 * table have neighbours a step away, those in the gap have none for as long as it lasts; judged as rows at
 * random they are answered too surely (decision 0446). */
#ifndef TAB_GAPS_H
#define TAB_GAPS_H

#include "services/inference/engine/predict/asked/regime.h"
#include "services/inference/engine/predict/fitted.h"

/* Where folds would be drawn at random and most of the asked rows lie in gaps of time, the fitted rows are
 * kept apart in runs of time as long as these, which folds are dealt. False: the arena is full. */
bool tab_gaps_apart(const tab_engine *e, const tab_profile *p, tab_split want, tab_fitted *f) TAB_CHECKED;

/* *place (encoded rows, 0 to 1): the fold's place of each, runs of time as long as the gaps together; NULL:
 * most asked rows lie in none. *steps: how long these are. rows: of the table. Lives in a. False: memory. */
bool tab_gaps_places(tab_arena *a, const tab_asked *asked, const tab_data *data, size_t rows, uint64_t seed,
                     float **place, double *steps) TAB_CHECKED;
#endif
