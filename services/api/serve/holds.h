/* A hold of an organization, and what is decided on it: what a call takes from it, how large the next one is
 * asked for, what is drawn while metering is away, what comes back. No lock, no clock, no question:
 * reservations.c has those, and tests have these alone. Times are tab_mono_ms. */
#ifndef TAB_API_HOLDS_H
#define TAB_API_HOLDS_H

#include "proto/metering.pb-c.h"
#include "services/api/serve/reservations.h"

/* What holds: milli <= granted, and over <= left. */
typedef struct {
    char org[48], id[40];    /* id "": nothing can come back to it */
    int64_t until;           /* drawn on until then */
    uint64_t milli, granted; /* left; at first */
    uint64_t left, over;     /* of its limit, when metering was asked last; drawn since without asking */
    uint64_t rate[3];        /* thousandths a cell, by line of a call */
    size_t lines;
    bool unlimited, asking, far; /* asking: somebody does. far: from its limit */
} hold;

/* Thousandths that a call costs; UINT64_MAX: too much for any hold, or it has lines of no known rate. */
uint64_t hold_price(const hold *h, const cost *c);

/* Whether it serves the call; what the call drew, nothing where the organization has no limit. */
bool hold_take(hold *h, const char *org, const cost *c, int64_t now, drawn *ret);

/* How many thousandths beyond its own cost to ask for, for the calls to come; 1 at least. */
uint64_t hold_ahead(const hold *h, const char *org, const cost *c, int64_t now);

/* What metering granted under that id becomes the organization's, less what the asking call drew. Gives what
 * was there before, of which the rest goes back. */
hold hold_keep(hold *h, const char *org, const char *id, const cost *c, const drawn *mine,
               const Tabella__ReserveReply *y, int64_t now);

/* While metering is away: whether the call may draw on what was left when it was asked last. Of an
 * organization that it was never asked for, or that has no limit, it may. */
bool hold_overdraw(hold *h, const char *org, const cost *c);

/* What a call drew comes back. False: it was not drawn from this hold. */
bool hold_return(hold *h, const drawn *d);

/* Where its time is over: what is left of it, which goes back (milli 0: nothing), and the hold is empty. */
hold hold_lapse(hold *h, int64_t now);

#endif
