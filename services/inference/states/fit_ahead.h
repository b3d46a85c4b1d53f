/* After an upgrade: no state of the release before can be read (decision 0407). Each process fits those that
 * it is the first home of in the background, the most called endpoints first, a few at once and at low
 * priority. A call that comes sooner is answered by a process of the release before, while one lives, else it
 * fits its own state as ever. */
#ifndef TAB_FIT_AHEAD_H
#define TAB_FIT_AHEAD_H

#include "services/inference/inference.h"

bool fit_ahead_start(inference *self) TAB_CHECKED;
void fit_ahead_stop(void); /* after inference_stop */

/* Whether this process may take the place of one of the release before: its states are fitted, or there is
 * none that could serve meanwhile, or it has taken too long. */
bool fit_ahead_done(void *unused);

#endif
