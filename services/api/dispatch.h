/* A request from its arrival to the handler of its route, and from there to its answer. */
#ifndef TAB_API_DISPATCH_H
#define TAB_API_DISPATCH_H

#include "services/api/api.h"

/* On arrival, on the loop's thread: checks who asks, and gives the request's lane. */
void api_arrived(request *r, tab_str identity_header);
/* Runs the handler; fills out and status in any case. False: the request is parked and no longer the
 * caller's. */
bool api_dispatch(request *r) TAB_CHECKED;
/* The same on the loop's thread, where a handler for that (api.at_once) can do it without waiting for
 * anything: true when the request is parked. False: it takes its turn, as if nothing had been. */
bool api_at_once(request *r) TAB_CHECKED;
void api_resume(request *r); /* a worker goes on with a request that was parked */
void api_leave(void);        /* this thread works on no request: its log and its calls say of none */
/* Writes the answer or the envelope of an error, and counts it. */
void request_finish(request *r, tab_status s, tab_error *err);

#endif
