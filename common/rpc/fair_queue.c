/* See fair_queue.h: a ring of tenants a lane, a queue of work a tenant. */
#include "common/rpc/fair_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/hash.h"

enum { BUCKETS = 256 };

/* A tenant in a lane; it exists while it waits for places or holds some. Those that wait are in a ring, the
 * one whose turn it is first. */
struct tab_turn_tenant {
    tab_turn_tenant *next; /* of its bucket */
    tab_turn_tenant *after, *before;
    tab_turn *first, **last;
    size_t lane, waiting, held, unbound, bucket;
    char name[];
};

typedef struct {
    size_t places, held;
    tab_turn_tenant *ring;
} lane;

struct tab_fair_queue {
    size_t lanes, waiting, waiting_most;
    lane lane[TAB_FAIR_QUEUE_LANES];
    tab_turn *unbound, **unbound_last;
    tab_turn_tenant *of[BUCKETS];
};

tab_fair_queue *tab_fair_queue_new(size_t lanes, const size_t *places, size_t waiting_most)
{
    tab_fair_queue *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->lanes = lanes < TAB_FAIR_QUEUE_LANES ? lanes : TAB_FAIR_QUEUE_LANES;
    t->waiting_most = waiting_most;
    t->unbound_last = &t->unbound;
    for (size_t i = 0; i < t->lanes; i++)
        t->lane[i].places = places[i];
    return t;
}

void tab_fair_queue_free(tab_fair_queue *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (tab_turn_tenant *n = t->of[i], *next; n != NULL; n = next) {
            next = n->next;
            free(n);
        }
    free(t);
}

/* ---- tenants --------------------------------------------------------------------------------- */

static tab_turn_tenant *tenant_of(tab_fair_queue *t, size_t in, const char *name)
{
    size_t n = strlen(name) + 1, bucket = tab_hash_slot(tab_fnv1a(TAB_FNV1A + in, name, n - 1), BUCKETS);
    for (tab_turn_tenant *x = t->of[bucket]; x != NULL; x = x->next)
        if (x->lane == in && strcmp(x->name, name) == 0)
            return x;
    tab_turn_tenant *x = calloc(1, sizeof *x + n);
    if (x == NULL)
        return NULL;
    memcpy(x->name, name, n);
    x->lane = in;
    x->bucket = bucket;
    x->last = &x->first;
    x->next = t->of[bucket];
    t->of[bucket] = x;
    return x;
}

static void forget_idle(tab_fair_queue *t, tab_turn_tenant *x)
{
    if (x->waiting + x->held + x->unbound > 0)
        return;
    tab_turn_tenant **at = &t->of[x->bucket];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    free(x);
}

static void ring_in(lane *l, tab_turn_tenant *x)
{
    assert(x->waiting == 1);
    if (l->ring == NULL) {
        l->ring = x->after = x->before = x;
        return;
    }
    x->after = l->ring;
    x->before = l->ring->before;
    x->before->after = x->after->before = x;
}

static void ring_out(lane *l, tab_turn_tenant *x)
{
    assert(l->ring != NULL && x->waiting == 0);
    if (l->ring == x)
        l->ring = x->after == x ? NULL : x->after;
    x->before->after = x->after;
    x->after->before = x->before;
}

/* A turn waits, or no longer does, in its tenant's queue. */
static void count_waiting(tab_fair_queue *t, tab_turn_tenant *x, bool more)
{
    assert(more || (t->waiting > 0 && x->waiting > 0));
    t->waiting += more ? 1 : (size_t)-1;
    x->waiting += more ? 1 : (size_t)-1;
    if (more && x->waiting == 1)
        ring_in(&t->lane[x->lane], x);
    else if (!more && x->waiting == 0)
        ring_out(&t->lane[x->lane], x);
}

/* ---- waiting --------------------------------------------------------------------------------- */

bool tab_fair_queue_put(tab_fair_queue *t, size_t in, const char *tenant, tab_turn *turn)
{
    assert(in < t->lanes);
    tab_turn_tenant *x = tenant_of(t, in, tenant);
    size_t room = t->waiting_most > t->waiting ? t->waiting_most - t->waiting : 0;
    if (x == NULL)
        return false;
    if (room == 0 || (x->name[0] != 0 && x->waiting >= room)) {
        forget_idle(t, x);
        return false;
    }
    *turn = (tab_turn){ .tenant = x };
    *x->last = turn;
    x->last = &turn->next;
    count_waiting(t, x, true);
    return true;
}

bool tab_fair_queue_put_first(tab_fair_queue *t, size_t in, const char *tenant, tab_turn *turn)
{
    tab_turn_tenant *x = tenant_of(t, in, tenant);
    if (x == NULL)
        return false;
    *turn = (tab_turn){ .tenant = x, .next = x->first };
    if (x->first == NULL)
        x->last = &turn->next;
    x->first = turn;
    count_waiting(t, x, true);
    return true;
}

static void wait_unbound(tab_fair_queue *t, tab_turn *turn)
{
    turn->unbound = true;
    turn->next = NULL;
    *t->unbound_last = turn;
    t->unbound_last = &turn->next;
    t->waiting++;
    turn->tenant->unbound++;
}

bool tab_fair_queue_put_unbound(tab_fair_queue *t, size_t in, const char *tenant, tab_turn *turn)
{
    tab_turn_tenant *x = tenant_of(t, in, tenant);
    if (x == NULL)
        return false;
    *turn = (tab_turn){ .tenant = x };
    wait_unbound(t, turn);
    return true;
}

/* Out of the queue that it is in. */
static void pick(tab_turn **first, tab_turn ***last, tab_turn *turn)
{
    tab_turn **at = first;
    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    if (*last == &turn->next)
        *last = at;
    turn->next = NULL;
}

void tab_fair_queue_hurry(tab_fair_queue *t, tab_turn *turn)
{
    tab_turn_tenant *x = turn->tenant;
    if (x == NULL || turn->unbound || turn->started)
        return;
    pick(&x->first, &x->last, turn);
    count_waiting(t, x, false);
    wait_unbound(t, turn);
}

/* ---- starting and ending --------------------------------------------------------------------- */

static tab_turn_tenant *next_of(const lane *l)
{
    size_t room = l->places > l->held ? l->places - l->held : 0;
    tab_turn_tenant *x = l->ring;
    if (x == NULL || room == 0)
        return NULL;
    do {
        if (x->held < room || x->name[0] == 0)
            return x;
        x = x->after;
    } while (x != l->ring);
    return NULL;
}

bool tab_fair_queue_any(const tab_fair_queue *t)
{
    bool any = t->unbound != NULL;
    for (size_t i = 0; !any && i < t->lanes; i++)
        any = next_of(&t->lane[i]) != NULL;
    return any;
}

tab_turn *tab_fair_queue_take(tab_fair_queue *t)
{
    tab_turn *turn = t->unbound;
    if (turn != NULL) {
        pick(&t->unbound, &t->unbound_last, turn);
        t->waiting--;
        turn->started = true;
        return turn;
    }
    for (size_t i = 0; i < t->lanes; i++) {
        lane *l = &t->lane[i];
        tab_turn_tenant *x = next_of(l);
        if (x == NULL)
            continue;
        turn = x->first;
        pick(&x->first, &x->last, turn);
        l->ring = x->after; /* the next one's turn */
        count_waiting(t, x, false);
        assert(l->held < l->places && l->held >= x->held);
        x->held++;
        l->held++;
        turn->started = true;
        return turn;
    }
    return NULL;
}

void tab_fair_queue_end(tab_fair_queue *t, tab_turn *turn)
{
    tab_turn_tenant *x = turn->tenant;
    if (x == NULL)
        return;
    turn->tenant = NULL;
    if (turn->unbound) {
        x->unbound--;
        if (!turn->started) {
            pick(&t->unbound, &t->unbound_last, turn);
            t->waiting--;
        }
    } else if (turn->started) {
        assert(x->held > 0 && t->lane[x->lane].held >= x->held);
        x->held--;
        t->lane[x->lane].held--;
    } else {
        pick(&x->first, &x->last, turn);
        count_waiting(t, x, false);
    }
    forget_idle(t, x);
}
