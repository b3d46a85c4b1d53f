/* Endpoints: the one of a path, and what may be done with it. */
#ifndef TAB_API_ENDPOINTS_H
#define TAB_API_ENDPOINTS_H

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

tab_status endpoint_of(request *r, const Tabella__Endpoint **ret,
                       tab_error *err) TAB_CHECKED; /* the one of :id */
tab_status endpoint_live(const Tabella__Endpoint *e, tab_error *err) TAB_CHECKED;
/* A key that is bound to endpoints asks those alone: AUTH_SCOPE for another. */
tab_status endpoint_bound(const request *r, const Tabella__Endpoint *e, tab_error *err) TAB_CHECKED;
/* Before a pass over all that the endpoint of :id pins: it must be live, and its cells fit into the
 * organization's minute. Whether a job of it is under way is checked by jobs. */
tab_status endpoint_may_pass(request *r, const Tabella__Endpoint **ret, tab_error *err) TAB_CHECKED;
void endpoint_members(request *r, const Tabella__Endpoint *e, bool prompts);
tab_str endpoint_held_out(const Tabella__Endpoint *e, bool tables,
                          tab_out *scratch); /* its JSON, in the scratch */

#endif
