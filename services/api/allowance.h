/* Whether metering allows a call, before its work starts. */
#ifndef TAB_API_ALLOWANCE_H
#define TAB_API_ALLOWANCE_H

#include "services/api/api.h"

/* op: run, batch, serve or generate. RATE_LIMIT, with r->retry_after, where the allowance is used up.
 * *ret_left (or NULL): cells that are left, 0 where that is unknown. While metering is away the call
 * is allowed, and the ledger is filled from events later. The first call that gets no answer waits for
 * it; then a breaker is open until a probe is answered. */
tab_status allowance_ask(request *r, const char *op, uint64_t cells, const char *endpoint_id,
                         uint64_t *ret_left, tab_error *err) TAB_CHECKED;
void allowance_probe(api *a); /* once a second: closes the breaker when metering answers again */

#endif
