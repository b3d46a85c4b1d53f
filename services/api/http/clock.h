/* Whose time counts (decision 0233). */
#ifndef TAB_API_CLOCK_H
#define TAB_API_CLOCK_H

#include "services/api/api.h"

/* Whether the gateway signed the request just now. May ask Redis, so it runs on a worker's
 * thread. */
bool clock_timely(api *a, int64_t signed_ms) TAB_CHECKED;
bool clock_agrees(int64_t signed_ms) TAB_CHECKED; /* by this machine's own clock; asks nobody */

#endif
