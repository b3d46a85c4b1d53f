/* Answers of an endpoint that follows outcomes (decision 0477): intervals and shares are moved as its
 * calibration says, before anything is written of them. */
#ifndef TAB_API_ADAPT_H
#define TAB_API_ADAPT_H

#include "services/api/render/receipts.h"

/* Moves the results of the bundle's prediction. *ret: NULL where the endpoint does not follow outcomes; lives
 * in the arena. */
tab_status follow_outcomes(tab_arena *a, const Tabella__Endpoint *e, Tabella__Bundle *b, const followed **ret,
                           tab_error *err) TAB_CHECKED;

#endif
