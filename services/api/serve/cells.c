/* Cells a minute of an organization: debited in Redis (tab_cells of common/redis/limits.lua) before the work
 * starts.
 *
 *   prepaid (SLOTS, by organization)   cells   debited already, for serve calls to come: a call of one row
 *                                              does not pay for a round trip
 *                                      tat     the bucket of this process alone, which counts while Redis is
 *                                              away
 *
 * Two organizations that meet in a slot take turns; what was prepaid goes back to Redis. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/time.h"
#include "common/redis/limits.h"
#include "services/api/api.h"
#include "services/api/counts.h"
#include "services/api/serve/cells.h"

enum { SLOTS = 1024, MINUTE_MS = 60000, RETRY_MOST_MS = 24 * 3600 * 1000, SHARE = 64 };

static struct {
    pthread_mutex_t lock;
    cells_slot of[SLOTS];
} prepaid = { .lock = PTHREAD_MUTEX_INITIALIZER };

static cells_slot *prepaid_of(const char *org)
{
    return &prepaid.of[tab_text_slot(org, SLOTS)];
}

/* ---- a slot ------------------------------------------------------------------------------------ */

static bool of(const cells_slot *p, const char *org)
{
    return strcmp(p->org, org) == 0;
}

cells_slot cells_slot_turn(cells_slot *p, const char *org)
{
    cells_slot old = { 0 };
    if (of(p, org))
        return old;
    old = *p;
    *p = (cells_slot){ 0 };
    snprintf(p->org, sizeof p->org, "%s", org);
    return old;
}

bool cells_slot_take(cells_slot *p, const char *org, uint64_t cells)
{
    bool yes = of(p, org) && p->cells >= cells;
    p->cells -= yes ? cells : 0;
    return yes;
}

void cells_slot_return(cells_slot *p, const char *org, uint64_t cells)
{
    p->cells += of(p, org) ? cells : 0; /* else another has the slot: they are lost to the minute */
}

/* ---- Redis, or this process alone ------------------------------------------------------------- */

/* cells < 0 gives back. *retry_ms: 0 when they were debited. */
static tab_status debit(api *a, const char *org, int64_t cells, uint64_t limit, int64_t *retry_ms)
{
    char key[64], n[24], most[24];
    redisReply *y = NULL;
    snprintf(key, sizeof key, "tab:c:%s", org);
    snprintf(n, sizeof n, "%lld", (long long)cells);
    snprintf(most, sizeof most, "%llu", (unsigned long long)limit);
    const char *argv[] = { "tab_cells", "1", key, n, most };
    tab_status s = tab_limits_call(a->redis, a->cfg.redis_ms, &y, NULL, 5, argv);
    if (s != TAB_OK)
        return s;
    assert(limit > 0);
    bool good = y->type == REDIS_REPLY_ARRAY && y->elements == 2 &&
                y->element[0]->type == REDIS_REPLY_INTEGER && y->element[1]->type == REDIS_REPLY_INTEGER &&
                y->element[1]->integer >= 0 && y->element[1]->integer <= RETRY_MOST_MS;
    if (good)
        *retry_ms = y->element[0]->integer == 1 ? 0 : y->element[1]->integer;
    freeReplyObject(y);
    return good ? TAB_OK : TAB_UNAVAILABLE;
}

int64_t cells_bucket(double *tat, double now, int64_t cells, uint64_t limit)
{
    assert(limit > 0);
    double cost = (double)cells * MINUTE_MS / (double)limit, full = *tat > now ? *tat : now;
    double over = full + cost - now - MINUTE_MS, retry = 0;
    if (cost > 0 && full > now && over > 0)
        retry = cost > MINUTE_MS ? full - now : over; /* one larger than a minute waits for a full bucket */
    else
        *tat = full + cost;
    return retry > 0 ? (int64_t)retry + 1 : 0;
}

uint64_t cells_ahead(uint64_t cells, uint64_t limit)
{
    return cells < limit / SHARE ? limit / SHARE - cells : 0;
}

/* For this process alone, while Redis is away. */
static int64_t debit_here(const char *org, int64_t cells, uint64_t limit)
{
    cells_slot *p = prepaid_of(org);
    pthread_mutex_lock(&prepaid.lock);
    (void)cells_slot_turn(p, org);
    int64_t retry = cells_bucket(&p->tat, (double)tab_mono_ms(), cells, limit);
    pthread_mutex_unlock(&prepaid.lock);
    return retry;
}

static bool take_prepaid(const char *org, uint64_t cells)
{
    pthread_mutex_lock(&prepaid.lock);
    bool yes = cells_slot_take(prepaid_of(org), org, cells);
    pthread_mutex_unlock(&prepaid.lock);
    return yes;
}

bool cells_take(request *r, uint64_t cells)
{
    bool yes = r->who.cells_per_minute == 0 || cells == 0 || take_prepaid(r->who.org, cells);
    r->debited += yes && r->who.cells_per_minute > 0 ? cells : 0;
    return yes;
}

void cells_untake(request *r, uint64_t cells)
{
    if (r->debited < cells)
        return; /* nothing limits its cells */
    r->debited -= cells;
    pthread_mutex_lock(&prepaid.lock);
    cells_slot_return(prepaid_of(r->who.org), r->who.org, cells);
    pthread_mutex_unlock(&prepaid.lock);
}

static void add_prepaid(api *a, const char *org, uint64_t cells, uint64_t limit)
{
    cells_slot *p = prepaid_of(org);
    int64_t none;
    pthread_mutex_lock(&prepaid.lock);
    cells_slot old = cells_slot_turn(p, org);
    p->cells += cells;
    p->limit = limit;
    pthread_mutex_unlock(&prepaid.lock);
    if (old.cells > 0)
        (void)!debit(a, old.org, -(int64_t)old.cells, old.limit, &none);
}

tab_status cells_debit(request *r, uint64_t cells, bool ahead, tab_error *err)
{
    const char *org = r->who.org;
    uint64_t limit = r->who.cells_per_minute, more = ahead ? cells_ahead(cells, limit) : 0;
    int64_t retry = 0;
    if (limit == 0 || cells == 0)
        return TAB_OK;
    if (ahead && take_prepaid(org, cells)) {
        r->debited += cells;
        return TAB_OK;
    }
    tab_status s = debit(r->api, org, (int64_t)(cells + more), limit, &retry);
    if (s == TAB_OK && retry > 0 && more > 0) {
        more = 0;
        s = debit(r->api, org, (int64_t)cells, limit, &retry);
    }
    assert(cells + more >= cells);
    if (s != TAB_OK)
        retry = debit_here(org, (int64_t)cells, limit);
    else if (retry == 0 && more > 0)
        add_prepaid(r->api, org, more, limit);
    if (retry == 0) {
        r->debited += cells;
        return TAB_OK;
    }
    r->retry_after = (unsigned)((retry + 999) / 1000);
    count_limited(LIMIT_CELLS);
    return tab_fail(
        err, TAB_RATE_LIMIT, "",
        "The organization has used its %llu cells for this minute. Retry after the time in Retry-After.",
        (unsigned long long)limit);
}

void cells_give_back(request *r, tab_status s)
{
    int64_t none, cells = (int64_t)r->debited;
    /* The caller's body was wrong, or the caller left: that may have cost the work all the same, so nothing
     * is given back. */
    if (cells == 0 || s == TAB_OK || s == TAB_VALIDATION || s == TAB_CANCELLED)
        return;
    r->debited = 0;
    if (debit(r->api, r->who.org, -cells, r->who.cells_per_minute, &none) != TAB_OK)
        (void)!debit_here(r->who.org, -cells, r->who.cells_per_minute);
}
