/* What handlers, dispatch.c and idempotency_wait.c do with a request: answer it later, hand it back to a
 * worker, drop its body. Includes none of them. */
#include <stdlib.h>

#include "common/base/point.h"
#include "services/api/api.h"

bool api_serves(const api *a, tab_route_id id)
{
    return a->handlers[id] != NULL;
}

tab_status request_handle(request *r, tab_error *err)
{
    handler *h = r->api->handlers[r->route];
    if (h == NULL)
        return tab_fail(err, TAB_NOT_FOUND, "", "no such path");
    if (TAB_POINT_OF_FAILS("api", tab_routes[r->route].name, NULL))
        return tab_fail(err, TAB_UNAVAILABLE, "", "a server is not responding; try again");
    tab_status s = h(r, err);
    TAB_POINT_OF("api", tab_routes[r->route].name, "handled"); /* answered, or parked */
    return s;
}

void request_body_drop(request *r)
{
    free(r->body);
    r->body = NULL;
    r->body_n = 0;
}

void request_arrived(request *r)
{
    if (r->arrives)
        atomic_fetch_sub(&r->api->arriving, 1);
    r->arrives = false;
}

void request_end(request *r, tab_status s, tab_error *err)
{
    r->api->parked.end(r, s, err);
}

void request_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    r->api->parked.again(r, fn, arg);
}

void request_soon(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    r->api->parked.soon(r, fn, arg);
}
