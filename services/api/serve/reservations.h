/* What serve calls reserve. A call of one row does not pay for a round trip and a transaction: an
 * organization's calls draw on a hold, a reservation of metering's for some calls to come. The bill of a call
 * names its hold, and what metering counts leaves the hold in the same step, so that calls at once never pass
 * the allowance or the cap. A hold serves for a second, or for four while its organization is far from its
 * limit (decision 0370); then what nobody drew goes back. */
#ifndef TAB_API_RESERVATIONS_H
#define TAB_API_RESERVATIONS_H

#include "services/api/runs/allowance.h"

/* What a call drew; hold "": nothing, the organization has no limit or metering is away. */
typedef struct {
    char hold[40];
    uint64_t milli;
} drawn;

/* RATE_LIMIT with r->retry_after where nothing is left. */
tab_status reservation_draw(request *r, cost *c, drawn *ret, tab_error *err) TAB_CHECKED;
/* The same where the organization's hold serves the call; asks nobody. */
bool reservation_take(const request *r, const cost *c, drawn *ret) TAB_CHECKED;
/* The call will not be billed. */
void reservation_return(api *a, const char *org, const drawn *d);
void reservations_sweep(
    api *a); /* once a second, and before the process leaves: what nobody draws on any more */

#endif
