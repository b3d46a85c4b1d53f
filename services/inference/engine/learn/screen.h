/* Which features of a wide table a fold's models read: those that say most of the target, each on its own
 * (sure independence screening: Fan & Lv, JRSS B 2008). The work of the learners grows with the features, and
 * a thousand of which all but a few are noise teach them nothing that their best hundreds do not.
 *
 * What a feature says is the share of the target's variation that lies between a few groups of its values
 * (for classes: of the Gini impurity, Goodman & Kruskal's tau), less what as many groups of chance would
 * take. It is measured on the fold's context alone: chosen with the held rows in sight, features would
 * flatter the answers for them (Ambroise & McLachlan, PNAS 2002). */
#ifndef TAB_SCREEN_H
#define TAB_SCREEN_H

#include "services/inference/engine/learn/learner.h"

enum { TAB_SCREEN_KEPT = 300 }; /* features that a fold's models read at most: Decision 0372 */

/* *ret (*ret_n): positions of the features kept, ascending; NULL where the problem has no more than
 * TAB_SCREEN_KEPT: all are. Categories of more levels than bins are kept first, as what they say stands in
 * their statistics (levels.h). False: memory. */
bool tab_screen(tab_arena *a, const tab_problem *p, const uint32_t *context, size_t n, uint32_t **ret,
                size_t *ret_n) TAB_CHECKED;
#endif
