/* See reservations.h: one hold an organization in a table of fixed size. Two organizations that meet in a
 * slot take turns, and what the first one had goes back: so there are many slots (decision 0384). What is
 * decided on a hold is in holds.h; here are the lock, the clock and the questions to metering. */
#include "services/api/serve/reservations.h"

#include <stdio.h>

#include "common/base/hash.h"
#include "common/base/point.h"
#include "proto/metering.pb-c.h"
#include "services/api/serve/bills.h"
#include "services/api/serve/holds.h"

/* ASK_MS: so long metering is waited for, and FAR_ASK_MS by those who are far from their limit. */
enum { SLOTS = 8192, ASK_MS = 3000, FAR_ASK_MS = 900 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    hold of[SLOTS];
} holds = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static hold *hold_of(const char *org)
{
    return &holds.of[tab_text_slot(org, SLOTS)];
}

static void give_back(api *a, const hold *h)
{
    if (h->milli > 0)
        allowance_give_back(a, h->org, h->id, h->milli);
}

/* Metering is away: the organization's calls may draw what it had left when metering was asked last, in each
 * process. Of one that was never asked for, or has no limit, what is owed alone limits its calls
 * (bill_may). */
static tab_status overdraw(request *r, const cost *c, tab_error *err)
{
    TAB_POINT("reservation.overdraw");
    pthread_mutex_lock(&holds.lock);
    bool may = hold_overdraw(hold_of(r->who.org), r->who.org, c);
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
    hold old = { 0 };
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
        old = hold_keep(hold_of(r->who.org), r->who.org, id, c, ret, y, tab_mono_ms());
        pthread_mutex_unlock(&holds.lock);
        give_back(r->api, &old);
    }
    return TAB_OK;
}

bool reservation_take(const request *r, const cost *c, drawn *ret)
{
    *ret = (drawn){ 0 };
    pthread_mutex_lock(&holds.lock);
    bool served = hold_take(hold_of(r->who.org), r->who.org, c, tab_mono_ms(), ret);
    pthread_mutex_unlock(&holds.lock);
    return served;
}

tab_status reservation_draw(request *r, cost *c, drawn *ret, tab_error *err)
{
    const char *org = r->who.org;
    hold *h = hold_of(org);
    tab_deadline until = tab_within_ms(r->deadline, ASK_MS);
    *ret = (drawn){ 0 };
    pthread_mutex_lock(&holds.lock);
    bool served = hold_take(h, org, c, tab_mono_ms(), ret), waited = false;
    while (!served && h->asking && !waited) { /* one asks for all that come meanwhile */
        waited = !tab_cond_wait(&holds.changed, &holds.lock, until);
        served = hold_take(h, org, c, tab_mono_ms(), ret);
    }
    if (served) {
        pthread_mutex_unlock(&holds.lock);
        return TAB_OK;
    }
    bool mine = !h->asking;
    int64_t wait_ms = strcmp(h->org, org) == 0 && h->far ? FAR_ASK_MS : 0;
    uint64_t ahead = mine ? hold_ahead(h, org, c, tab_mono_ms()) : 0;
    h->asking = true;
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
    pthread_mutex_lock(&holds.lock);
    bool here = hold_return(hold_of(org), d);
    pthread_mutex_unlock(&holds.lock);
    if (!here) {
        TAB_POINT("reservation.stray");
        allowance_give_back(a, org, d->hold, d->milli);
    }
}

/* The next hold from *at on whose time is over, which is empty then. */
static hold take_over(size_t *at)
{
    hold old = { 0 };
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&holds.lock);
    while (*at < SLOTS && old.milli == 0)
        old = hold_lapse(&holds.of[(*at)++], now);
    pthread_mutex_unlock(&holds.lock);
    return old;
}

void reservations_sweep(api *a)
{
    for (size_t at = 0; at < SLOTS;) {
        hold old = take_over(&at);
        give_back(a, &old);
    }
}
