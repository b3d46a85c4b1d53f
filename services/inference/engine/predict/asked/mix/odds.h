/* For how many asked rows each known row stands, where those lie otherwise than these: all of one plant,
 * say, or all with a large x.
 *
 * Where the shares of a category's levels, or of a number's tenths, differ beyond chance, small trees tell
 * asked rows from known ones, and a known row stands for as many asked ones as its odds say (covariate shift:
 * Tibshirani et al., NeurIPS 2019; odds of a classifier: Bickel et al., JMLR 2009), no more than ten times as
 * many as another (relative density ratios: Yamada et al., NIPS 2011). */
#ifndef TAB_ASKED_ODDS_H
#define TAB_ASKED_ODDS_H

#include "services/inference/engine/learn/stack/stack.h"

/* p: the problem; a row is known where its target is. asked (encoded rows): the rows that are to be answered.
 * *ret (encoded rows): weights, 1 in the mean of the known rows; NULL: asked rows lie as known ones do, or
 * the known ones are as good as fewer than `fewest` unweighed ones. Lives in a. False: memory or
 * cancelled. */
bool tab_asked_odds(const tab_engine *e, tab_arena *a, const tab_problem *p, const bool *asked, double fewest,
                    float **ret) TAB_CHECKED;

/* Whether known rows, each as often as weight (encoded rows) has it, lie in every feature as the asked ones
 * do, by chance. */
bool tab_asked_weighed_alike(const tab_problem *p, const bool *asked, const float *weight);
#endif
