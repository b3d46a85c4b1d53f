/* POST /v2/serve/:id with `data`: the rows of a stored dataset, or of a connection, scored as a job (decision
 * 0830). Its answer is the job; its results are the job's. */
#ifndef TAB_API_SERVE_DATA_H
#define TAB_API_SERVE_DATA_H

#include "common/json/json.h"
#include "services/api/api.h"

/* Whether a body's rows are to come from `data`. */
bool serve_has_data(const tab_body *b);
/* Such a request, whose body was read; PARKED: it is called again (idempotency_begin). */
tab_status serve_data(request *r, const tab_body *b, tab_error *err) TAB_CHECKED;

#endif
