/* See holds.h. */
#include "services/api/serve/holds.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* HOLD_MS: how long a hold is drawn on; FAR_MS where FAR such holds are left, so that what it keeps is not
 * missed (decision 0370). CALLS_AHEAD: that a hold is asked for at first; GROWTH: where one did not last. */
enum { HOLD_MS = 1000, FAR_MS = 4000, FAR = 64, CALLS_AHEAD = 64, GROWTH = 4, CELL = 1000 };

static bool of(const hold *h, const char *org)
{
    return strcmp(h->org, org) == 0;
}

static void check(const hold *h)
{
    assert(h->milli <= h->granted); /* what comes back had been drawn from it */
    assert(h->over <= h->left || h->unlimited);
}

uint64_t hold_price(const hold *h, const cost *c)
{
    uint64_t sum = 0, x;
    if (h->lines < c->n)
        return UINT64_MAX;
    for (size_t i = 0; i < c->n; i++)
        if (__builtin_mul_overflow(c->line[i].cells, h->rate[i], &x) || __builtin_add_overflow(sum, x, &sum))
            return UINT64_MAX;
    return sum;
}

bool hold_take(hold *h, const char *org, const cost *c, int64_t now, drawn *ret)
{
    if (!of(h, org) || now >= h->until)
        return false;
    if (h->unlimited)
        return true;
    uint64_t milli = hold_price(h, c);
    if (milli > h->milli)
        return false;
    h->milli -= milli;
    snprintf(ret->hold, sizeof ret->hold, "%s", h->id);
    ret->milli = milli;
    check(h);
    return true;
}

uint64_t hold_ahead(const hold *h, const char *org, const cost *c, int64_t now)
{
    uint64_t price = of(h, org) ? hold_price(h, c) : UINT64_MAX;
    uint64_t ahead = (price < UINT64_MAX / CALLS_AHEAD ? price : CELL) * CALLS_AHEAD;
    /* A hold that did not last its time was too small for the calls that come. */
    bool busy = of(h, org) && !h->unlimited && now < h->until;
    if (busy && h->granted > ahead / GROWTH)
        ahead = h->granted < UINT64_MAX / GROWTH ? h->granted * GROWTH : UINT64_MAX;
    return ahead > 0 ? ahead : 1;
}

hold hold_keep(hold *h, const char *org, const char *id, const cost *c, const drawn *mine,
               const Tabella__ReserveReply *y, int64_t now)
{
    hold old = *h;
    bool far = !y->limited || y->granted_milli <= y->left_milli / FAR;
    *h = (hold){ .until = now + (y->limited && far ? FAR_MS : HOLD_MS),
                 .unlimited = !y->limited,
                 .asking = old.asking,
                 .far = far,
                 .left = y->left_milli };
    snprintf(h->org, sizeof h->org, "%s", org);
    if (h->unlimited)
        return old;
    snprintf(h->id, sizeof h->id, "%s", id);
    h->granted = y->granted_milli > mine->milli ? y->granted_milli : mine->milli;
    h->milli = h->granted - mine->milli;
    for (; h->lines < c->n && h->lines < y->n_by_op; h->lines++)
        h->rate[h->lines] = (uint64_t)llround(y->by_op[h->lines]->multiplier * CELL);
    check(h);
    return old;
}

bool hold_overdraw(hold *h, const char *org, const cost *c)
{
    if (!of(h, org) || h->unlimited || h->left == 0)
        return true;
    uint64_t milli = hold_price(h, c), cells = 0;
    for (size_t i = 0; i < c->n; i++)
        cells += c->line[i].cells;
    milli = milli == UINT64_MAX ? CELL * cells : milli;
    if (milli > h->left || h->over > h->left - milli)
        return false;
    h->over += milli;
    check(h);
    return true;
}

bool hold_return(hold *h, const drawn *d)
{
    if (strcmp(h->id, d->hold) != 0)
        return false;
    h->milli += d->milli;
    check(h);
    return true;
}

hold hold_lapse(hold *h, int64_t now)
{
    hold old = { 0 };
    if (h->milli == 0 || now < h->until)
        return old;
    old = *h;
    h->milli = 0;
    h->id[0] = 0;
    return old;
}
