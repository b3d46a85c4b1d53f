/* Rows of endpoints that serving keeps.
 *
 * A row is kept under the state version that the gateway read in the same round trip that let the request in:
 * a deleted or changed endpoint has another version. Without a version (Redis away, entry not there yet), and
 * two seconds after it was asked for, the row is read anew.
 *
 * While jobs or its database does not answer, the last row serves for STALE_MS, unless Redis says that the
 * endpoint was deleted, or may have lost that: nobody can change or delete one meanwhile (decision 0404). */
#ifndef TAB_API_SERVE_CACHE_H
#define TAB_API_SERVE_CACHE_H

#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

/* An endpoint as serving needs it. */
typedef struct {
    const Tabella__Endpoint *e;
    tab_str held_out, held_out_tables; /* JSON: its figures; and with slices and other tables */
} serve_row;

/* The row of the request's endpoint, and the worker of inference that answered last for it, or "". The row
 * lives as long as the request's arena. NULL: none is kept. */
const serve_row *serve_cache_get(request *r, char worker[40]);
/* What tells whether Redis has lost something since: a text that jobs writes where there is none. Asked for
 * before jobs is; "" where Redis does not answer, or has none. */
enum { SERVE_SINCE = 40 };
void serve_cache_since(request *r, char ret[SERVE_SINCE]);
/* Makes the row of e, for this request, and keeps it for later ones where the state that the gateway saw is
 * the row's own. asked: tab_mono_ms before jobs was asked for e. NULL: out of memory. */
const serve_row *serve_cache_put(request *r, const Tabella__Endpoint *e, int64_t asked, const char *since);
/* The last row of the endpoint, however old, as long as it may be used while jobs is away. NULL: there is
 * none, or the endpoint was deleted. May ask Redis. */
const serve_row *serve_cache_last(request *r, char worker[40]);
bool serve_cache_has_last(request *r); /* the same without a look at Redis */
/* jobs did not answer a call of r. Then it counts as away, and nobody waits for it, until it answers what
 * serve_cache_probe asks, once a second. */
void serve_cache_jobs_silent(const request *r);
bool serve_cache_jobs_away(void);
void serve_cache_probe(api *a);
/* Which worker answered for the endpoint; "" forgets it. */
void serve_cache_worker(const request *r, const char *worker);

#endif
