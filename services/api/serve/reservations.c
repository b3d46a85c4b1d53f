/* See reservations.h: one hold an organization in a table of fixed size. Two organizations that meet in a
 * slot take turns, and what the first one had goes back: so there are many slots (decision 0384). */
#include "services/api/serve/reservations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "common/base/hash.h"
#include "common/base/point.h"
#include "proto/metering.pb-c.h"
#include "services/api/serve/bills.h"

enum {
    SLOTS = 8192,
    HOLD_MS = 1000,
    FAR_MS = 4000, /* so long where FAR such holds are left: what it keeps is not missed */
    FAR = 64,
    ASK_MS = 3000,
    FAR_ASK_MS = 900, /* and so long metering is waited for by those who are far from their limit */
    CALLS_AHEAD = 64
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hold {
        char org[48], id[40];
        int64_t until;           /* tab_mono_ms; drawn on until then */
        uint64_t milli, granted; /* left; at first */
        uint64_t left, over;     /* of its limit, when metering was asked last; drawn since without asking */
        uint64_t rate[3];        /* thousandths a cell, by line of a call */
        size_t lines;
        bool unlimited, asking, far;
    } of[SLOTS];
} holds = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static struct hold *hold_of(const char *org)
{
    return &holds.of[tab_text_slot(org, SLOTS)];
}

/* UINT64_MAX: too much for any hold. */
static uint64_t price(const struct hold *h, const cost *c)
{
    uint64_t sum = 0, x;
    if (h->lines < c->n)
        return UINT64_MAX;
    for (size_t i = 0; i < c->n; i++)
        if (__builtin_mul_overflow(c->line[i].cells, h->rate[i], &x) || __builtin_add_overflow(sum, x, &sum))
            return UINT64_MAX;
    return sum;
}

/* Whether the hold serves the call. The lock is held. */
static bool take(struct hold *h, const char *org, const cost *c, drawn *ret)
{
    if (strcmp(h->org, org) != 0 || tab_mono_ms() >= h->until)
        return false;
    if (h->unlimited)
        return true;
    uint64_t milli = price(h, c);
    if (milli > h->milli)
        return false;
    assert(milli <= h->milli);
    h->milli -= milli;
    snprintf(ret->hold, sizeof ret->hold, "%s", h->id);
    ret->milli = milli;
    return true;
}

/* What metering granted becomes the organization's hold; *ret_old is what goes back. The lock is held. */
static void keep(struct hold *h, const char *org, const char *id, const cost *c, const drawn *mine,
                 const Tabella__ReserveReply *y, struct hold *ret_old)
{
    *ret_old = *h;
    bool asking = h->asking;
    bool far = y->limited && y->granted_milli <= y->left_milli / FAR;
    *h = (struct hold){ .until = tab_mono_ms() + (far ? FAR_MS : HOLD_MS),
                        .unlimited = !y->limited,
                        .asking = asking,
                        .far = far || !y->limited,
                        .left = y->left_milli };
    snprintf(h->org, sizeof h->org, "%s", org);
    if (h->unlimited)
        return;
    snprintf(h->id, sizeof h->id, "%s", id);
    h->granted = y->granted_milli;
    h->milli = y->granted_milli > mine->milli ? y->granted_milli - mine->milli : 0;
    assert(h->milli <= h->granted);
    for (h->lines = 0; h->lines < c->n && h->lines < y->n_by_op; h->lines++)
        h->rate[h->lines] = (uint64_t)llround(y->by_op[h->lines]->multiplier * 1000);
}

static void give_back(api *a, const struct hold *h)
{
    if (h->milli > 0)
        allowance_give_back(a, h->org, h->id, h->milli);
}

/* Metering is away: the organization's calls may draw what it had left when metering was asked last, in each
 * process. Of one that was never asked for, or has no limit, what is owed alone limits its calls
 * (bill_may). */
static tab_status overdraw(request *r, const cost *c, tab_error *err)
{
    struct hold *h = hold_of(r->who.org);
    uint64_t cells = 0;
    TAB_POINT("reservation.overdraw");
    for (size_t i = 0; i < c->n; i++)
        cells += c->line[i].cells;
    pthread_mutex_lock(&holds.lock);
    bool known = strcmp(h->org, r->who.org) == 0 && !h->unlimited && h->left > 0;
    uint64_t milli = known ? price(h, c) : 0;
    milli = milli == UINT64_MAX ? 1000 * cells : milli;
    bool may = !known || (milli <= h->left && h->over <= h->left - milli);
    if (known && may)
        h->over += milli;
    assert(!known || h->over <= h->left); /* no process draws more than metering said was left */
    pthread_mutex_unlock(&holds.lock);
    return may ? TAB_OK
               : tab_fail(err, TAB_UNAVAILABLE, "",
                          "the remaining allowance cannot be checked at the moment; try again");
}

/* Asks for a hold of its own. ahead: of this many thousandths more, for other calls, which then becomes the
 * organization's. */
static tab_status ask(request *r, cost *c, uint64_t ahead, int64_t wait_ms, drawn *ret, tab_error *err)
{
    Tabella__ReserveRequest q = TABELLA__RESERVE_REQUEST__INIT;
    const Tabella__ReserveReply *y;
    char id[TAB_ID];
    struct hold old = { 0 };
    tab_id_new(id, "hold_");
    q.id = id;
    q.more_milli = ahead;
    if (wait_ms > 0 && bill_away()) /* the ledger is away with it */
        return overdraw(r, c, err);
    TAB_TRY(allowance_ask(r, c, &q, wait_ms, &y, err));
    TAB_POINT("reservation.asked");
    if (y == NULL)
        return overdraw(r, c, err);
    if (y->limited) {
        snprintf(ret->hold, sizeof ret->hold, "%s", id);
        ret->milli = y->cost_milli;
    }
    if (ahead > 0 || !y->limited) {
        pthread_mutex_lock(&holds.lock);
        keep(hold_of(r->who.org), r->who.org, id, c, ret, y, &old);
        pthread_mutex_unlock(&holds.lock);
        give_back(r->api, &old);
    }
    return TAB_OK;
}

bool reservation_take(const request *r, const cost *c, drawn *ret)
{
    *ret = (drawn){ 0 };
    pthread_mutex_lock(&holds.lock);
    bool served = take(hold_of(r->who.org), r->who.org, c, ret);
    pthread_mutex_unlock(&holds.lock);
    return served;
}

tab_status reservation_draw(request *r, cost *c, drawn *ret, tab_error *err)
{
    const char *org = r->who.org;
    struct hold *h = hold_of(org);
    tab_deadline until = tab_within_ms(r->deadline, ASK_MS);
    *ret = (drawn){ 0 };
    pthread_mutex_lock(&holds.lock);
    bool served = take(h, org, c, ret), waited = false;
    while (!served && h->asking && !waited) { /* one asks for all that come meanwhile */
        waited = !tab_cond_wait(&holds.changed, &holds.lock, until);
        served = take(h, org, c, ret);
    }
    if (served) {
        pthread_mutex_unlock(&holds.lock);
        return TAB_OK;
    }
    bool mine = !h->asking;
    /* A hold that did not last its time was too small for the calls that come. */
    bool busy = strcmp(h->org, org) == 0 && !h->unlimited && tab_mono_ms() < h->until;
    int64_t wait_ms = strcmp(h->org, org) == 0 && h->far ? FAR_ASK_MS : 0;
    uint64_t known = strcmp(h->org, org) == 0 ? price(h, c) : UINT64_MAX, ahead = 0;
    if (mine) {
        assert(!h->asking);
        h->asking = true;
        ahead = known < UINT64_MAX / CALLS_AHEAD ? known * CALLS_AHEAD : (uint64_t)1000 * CALLS_AHEAD;
        if (busy && h->granted * 4 > ahead)
            ahead = h->granted * 4;
        ahead = ahead > 0 ? ahead : 1;
    }
    pthread_mutex_unlock(&holds.lock);
    tab_status s = ask(r, c, ahead, wait_ms, ret, err);
    if (mine) {
        pthread_mutex_lock(&holds.lock);
        h->asking = false;
        pthread_cond_broadcast(&holds.changed);
        pthread_mutex_unlock(&holds.lock);
    }
    return s;
}

void reservation_return(api *a, const char *org, const drawn *d)
{
    if (d->hold[0] == 0 || d->milli == 0)
        return;
    struct hold *h = hold_of(org);
    pthread_mutex_lock(&holds.lock);
    bool here = strcmp(h->id, d->hold) == 0;
    if (here)
        h->milli += d->milli;
    assert(!here || h->milli <= h->granted); /* what comes back had been drawn from it */
    pthread_mutex_unlock(&holds.lock);
    if (!here) {
        TAB_POINT("reservation.stray");
        allowance_give_back(a, org, d->hold, d->milli);
    }
}

/* The next hold from *at on whose time is over, which is empty then. */
static struct hold take_over(size_t *at)
{
    struct hold old = { 0 };
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&holds.lock);
    for (; *at < SLOTS && old.milli == 0; ++*at) {
        struct hold *h = &holds.of[*at];
        if (h->milli == 0 || now < h->until)
            continue;
        old = *h;
        h->milli = 0;
        h->id[0] = 0;
    }
    pthread_mutex_unlock(&holds.lock);
    return old;
}

void reservations_sweep(api *a)
{
    for (size_t at = 0; at < SLOTS;) {
        struct hold old = take_over(&at);
        give_back(a, &old);
    }
}
