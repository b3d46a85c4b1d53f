/* Whether metering allows a call, before its work starts. */
#ifndef TAB_API_ALLOWANCE_H
#define TAB_API_ALLOWANCE_H

#include "services/api/api.h"

/* op: run, batch or serve. RATE_LIMIT with r->retry_after where the allowance has ended. *ret_left, or NULL:
 * cells of the allowance that are left, 0 where that is not known. While metering is away the answer is yes,
 * and the ledger fills from events later: one that does not answer is waited for once, then a breaker is
 * open until it answers a probe. */
tab_status allowance_ask(request *r, const char *op, uint64_t cells, const char *endpoint_id,
                         uint64_t *ret_left, tab_error *err) TAB_CHECKED;
void allowance_probe(api *a); /* once a second: closes the breaker when metering answers again */

#endif
