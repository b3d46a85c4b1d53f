/* Rows of endpoints that serving keeps.
 *
 * A row is kept under the state version that the gateway read in the same round trip that let the request in:
 * a deleted or changed endpoint has another version. Without a version (Redis away, entry not there yet), and
 * two seconds after it was asked for, the row is read anew. */
#ifndef TAB_API_SERVE_CACHE_H
#define TAB_API_SERVE_CACHE_H

#include "services/api/api.h"

/* An endpoint as serving needs it. */
typedef struct {
    const Tabella__Endpoint *e;
    tab_str held_out; /* JSON */
} serve_row;

/* The row of the request's endpoint, and the worker of inference that answered last for it, or "". The row
 * lives as long as the request's arena. NULL: none is kept. */
const serve_row *serve_cache_get(request *r, char worker[40]);
/* Makes the row of e, for this request, and keeps it for later ones where the state that the gateway saw is
 * the row's own. asked: tab_mono_ms before jobs was asked for e. NULL: out of memory. */
const serve_row *serve_cache_put(request *r, const Tabella__Endpoint *e, int64_t asked);
/* Which worker answered for the endpoint; "" forgets it. */
void serve_cache_worker(const request *r, const char *worker);

#endif
