/* Columns that give the target away: a copy in other units, the parts that it is computed from, or what is
 * known only afterwards. Which of them it is the values cannot say, so they are named and not left out. */
#ifndef TAB_LEAKS_H
#define TAB_LEAKS_H

#include "services/inference/engine/predict/fitted.h"

/* Writes m->leaks, at most 8 of them, of a model that was fitted on p's rows. Decision 0320 has the rule and
 * its error rate. The messages live in e->arena. Errors: CANCELLED, INTERNAL (memory). */
tab_status tab_leaks(const tab_engine *e, const tab_fitted *f, const tab_profile *p, Tabella__Prediction *m,
                     tab_error *err) TAB_CHECKED;
#endif
