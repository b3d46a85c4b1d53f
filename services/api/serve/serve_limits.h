/* What a serve call is held against before its work starts: its organization's allowance, and how many calls
 * of one endpoint the plan has at once. */
#ifndef TAB_API_SERVE_LIMITS_H
#define TAB_API_SERVE_LIMITS_H

#include "proto/jobs.pb-c.h"
#include "services/api/serve/reservations.h"

/* What a call of so many cells is billed: these, and what the endpoint pins where the operator bills it. */
void serve_cost(const request *r, const Tabella__Endpoint *e, uint64_t cells, cost *ret);

/* A call of the endpoint begins; serve_end follows. False: `most` are under way already (0: no limit). */
bool serve_begin(const char *id, uint32_t most) TAB_CHECKED;
void serve_end(const char *id);
/* The answer where it is false, here or at the worker that counts the calls of all processes: RATE_LIMIT. */
tab_status serve_too_many(request *r, tab_error *err);

#endif
