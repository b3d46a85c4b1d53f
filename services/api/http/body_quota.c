/* What bodies and answers hold of this process's memory, by organization and in all (decision 0234): a
 * body from its arrival to the end of its request, for what is made of it takes about as much; then the
 * answer, until the gateway has taken it. The same sums as the gateway's, which bounds what one gateway
 * sends; here meet all of them. */
#include <sodium.h>
#include <stdlib.h>

#include "common/http/bodies.h"
#include "services/api/api.h"
#include "services/api/http/body_quota.h"

enum {
    HOLDS = 1 << 14,
    SMALL = 16 * 1024, /* what any request may cost; the queue's length bounds the sum of these */
    US = 1             /* the one process of this table */
};

static struct {
    pthread_mutex_t lock;
    tab_bodies *bodies;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool body_quota_open(void)
{
    unsigned char seed[16];
    void *memory = malloc(tab_bodies_size(HOLDS));
    if (memory == NULL)
        return false;
    randombytes_buf(seed, sizeof seed);
    table.bodies = tab_bodies_init(memory, HOLDS, seed);
    return true;
}

tab_status body_quota_arrive(request *r, size_t bytes)
{
    if (bytes <= SMALL)
        return TAB_OK;
    tab_bodies_limits most = { (uint64_t)r->api->cfg.held_org, (uint64_t)r->api->cfg.held_all };
    pthread_mutex_lock(&table.lock);
    tab_bodies_verdict v = tab_bodies_take(table.bodies, tab_str_of(r->who.org), US, bytes, most, &r->held);
    pthread_mutex_unlock(&table.lock);
    return v == TAB_BODIES_GOOD ? TAB_OK : v == TAB_BODIES_ORG ? TAB_RATE_LIMIT : TAB_UNAVAILABLE;
}

/* Never refused: the answer is made and paid for. */
uint32_t body_quota_answer(request *r)
{
    static const tab_bodies_limits any = { 0, 0 };
    uint32_t held = r->held;
    r->held = 0;
    if (held == 0 && r->out.n <= SMALL)
        return 0;
    pthread_mutex_lock(&table.lock);
    if (held == 0)
        (void)!tab_bodies_take(table.bodies, tab_str_of(r->who.org), US, r->out.n, any, &held);
    else
        (void)!tab_bodies_resize(table.bodies, held, r->out.n, any);
    pthread_mutex_unlock(&table.lock);
    return held;
}

void body_quota_give(uint32_t held)
{
    if (held == 0)
        return;
    pthread_mutex_lock(&table.lock);
    tab_bodies_give(table.bodies, held);
    pthread_mutex_unlock(&table.lock);
}
