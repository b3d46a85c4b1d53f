/* See serve_limits.h: a table of fixed size in this process, so that most serve calls ask no other
 * process. */
#include "services/api/serve/serve_limits.h"
#include "services/api/counts.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "proto/jobs.pb-c.h"

enum { SLOTS = 1024 };

void serve_cost(const request *r, const Tabella__Endpoint *e, uint64_t cells, cost *ret)
{
    *ret = (cost){ 0 };
    cost_add(ret, "serve", cells);
    if (e->pinned_cells > 0 && r->api->cfg.bill_pinned)
        cost_add(ret, "cached", e->pinned_cells);
}

/* ---- calls at once --------------------------------------------------------------------------- */

/* Calls under way by endpoint, in this process: open addressing, an entry without calls is free. Those of
 * all processes are counted where they meet, by the worker that holds the endpoint's state (decision
 * 0151). */
static struct {
    pthread_mutex_t lock;
    struct {
        char id[48];
        uint32_t n;
    } of[SLOTS];
} busy = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The entry of the endpoint, else a free one, else -1. Entries are never moved, so a search passes freed
 * ones. */
static ptrdiff_t busy_at(const char *id)
{
    ptrdiff_t free_one = -1;
    size_t first = tab_text_slot(id, SLOTS);
    for (size_t i = 0; i < 64; i++) {
        size_t at = (first + i) % SLOTS;
        if (busy.of[at].n > 0 && strcmp(busy.of[at].id, id) == 0)
            return (ptrdiff_t)at;
        if (busy.of[at].n == 0 && free_one < 0)
            free_one = (ptrdiff_t)at;
    }
    return free_one;
}

bool serve_begin(const char *id, uint32_t most)
{
    pthread_mutex_lock(&busy.lock);
    ptrdiff_t at = busy_at(id);
    bool ok = at < 0 || most == 0 || busy.of[at].n < most;
    if (ok && at >= 0) {
        snprintf(busy.of[at].id, sizeof busy.of[at].id, "%s", id);
        busy.of[at].n++;
    }
    pthread_mutex_unlock(&busy.lock);
    return ok;
}

void serve_end(const char *id)
{
    pthread_mutex_lock(&busy.lock);
    ptrdiff_t at = busy_at(id);
    if (at >= 0 && busy.of[at].n > 0)
        busy.of[at].n--;
    pthread_mutex_unlock(&busy.lock);
}

tab_status serve_too_many(request *r, tab_error *err)
{
    count_limited(LIMIT_ENDPOINT_CALLS);
    return tab_fail(err, TAB_RATE_LIMIT, "",
                    "this endpoint has %u calls in progress, the most the plan allows at once",
                    r->who.endpoint_concurrency);
}
