/* What work costs, and whether metering lets it start.
 *
 * A piece of work has one `cost`, the lines that its bill will have. The same lines are asked for (dry_run),
 * reserved before the work starts, and billed when it is done (decision 0331). */
#ifndef TAB_API_ALLOWANCE_H
#define TAB_API_ALLOWANCE_H

#include "proto/events.pb-c.h"
#include "proto/metering.pb-c.h"
#include "services/api/api.h"

typedef struct {
    Tabella__UsageLine line[3], *usage[3];
    size_t n;
} cost;

void cost_add(cost *c, const char *op, uint64_t cells);
Tabella__UsageLine **cost_lines(cost *c); /* (c->n); they live as long as c stays where it is */

/* Reserves under the id of the event that will bill the work, in place of an earlier reservation (or "").
 * RATE_LIMIT, with r->retry_after, where the allowance or the spend cap leaves too little. While metering is
 * away work is allowed, and the ledger is filled from events later: the first call that gets no answer waits
 * for it; then a breaker is open until a probe is answered. */
tab_status allowance_reserve(request *r, cost *c, const char *id, const char *instead_of, uint32_t lease_s,
                             tab_error *err) TAB_CHECKED;
/* Part of it, or (milli 0) all of it, will not be billed after all. What is not given back falls back when
 * its lease ends. */
void allowance_give_back(api *a, const char *org, const char *id, uint64_t milli);

/* Metering's answer itself, waited for so long (0: as long as for anything). *ret NULL: metering is away. */
tab_status allowance_ask(request *r, cost *c, const Tabella__ReserveRequest *q, int64_t wait_ms,
                         const Tabella__ReserveReply **ret, tab_error *err) TAB_CHECKED;

void allowance_probe(api *a); /* once a second: closes the breaker when metering answers again */

/* dry_run.c: r->dry_run from the body's `dry_run`; VALIDATION where it is no boolean. */
tab_status dry_run_read(request *r, const tab_json *root, tab_error *err) TAB_CHECKED;
/* The answer to a request with `dry_run`: what it would be billed, and what is left. */
tab_status dry_run_answer(request *r, cost *c, tab_error *err) TAB_CHECKED;
tab_status dry_run_open(request *r, cost *c, tab_error *err) TAB_CHECKED; /* more members follow */

/* What a dry run of a connection read is dropped; gives s. */
tab_status dry_run_drop(request *r, size_t refs, const char *owner, tab_status s);

#endif
