/* Requests let in ahead of Redis: what a worker remembers of callers that it has let in, and how many of
 * their requests Redis has not counted yet (decision 0371).
 *
 *   caller   a key at an endpoint, or at none: what Redis said of it last, and its buckets
 *   bucket   of a key, an organization or an endpoint, which callers share:
 *              full    when it would be full again, by Redis' last word on it
 *              ahead   requests let in that are not in `full`
 *
 * A bucket is GCRA, as in common/limits.lua. A request is let in ahead only if each of its buckets has room
 * for it beside all that is ahead of it, and if no more than a share of the bucket's limit is ahead then. So
 * of any limit, all workers of all gateways together let in at most that share a gateway beyond what one
 * place would, and the excess is owed: Redis is told of every request, and whoever is over waits the longer.
 * Where there is no room the answer is not "no" but "ask Redis".
 *
 * One thread; no clock: times are microseconds of the caller's monotonic one. */
#ifndef TAB_AHEAD_H
#define TAB_AHEAD_H

#include "common/security/entry.h"

enum {
    TAB_AHEAD_BUCKETS = 3,        /* key, organization, endpoint */
    TAB_AHEAD_SHARES = 10000,     /* a share is so many ten-thousandths of a limit */
    TAB_AHEAD_FRESH_US = 1000000, /* Redis' word on a bucket serves so long */
    TAB_AHEAD_WORD_S = 3600,      /* what an entry says is read anew after so long */
    TAB_AHEAD_CALLERS = 4096,     /* remembered at once, some 1.2 kB each */
    TAB_AHEAD_ENDPOINT = 128      /* bytes of an endpoint's name; one with a longer name is not remembered */
};

typedef struct tab_ahead tab_ahead;
typedef struct tab_ahead_caller tab_ahead_caller;

/* share: of every limit, in ten-thousandths, divided among so many workers. 0: nobody is let in ahead. key:
 * as in tab_entry_read, borrowed; NULL: entries are taken unsigned. Gives NULL: out of memory. */
tab_ahead *tab_ahead_new(uint32_t share, uint32_t workers, const tab_identity_key *key);
void tab_ahead_free(tab_ahead *t);

/* Who has this hash (64 hex digits) at this endpoint ("" for none); NULL: not remembered. Borrowed until the
 * next tab_ahead_learn, or as long as the caller holds it. */
tab_ahead_caller *tab_ahead_find(tab_ahead *t, const char hash[64], tab_str endpoint);

/* What is remembered of a caller. entry and revoked are Redis' tab:g: and tab:v:, which the advance rests on;
 * told is what they say, if the signatures of both hold: while they are the same bytes, nobody needs to
 * verify them again (decision 0383). */
typedef struct {
    tab_entry entry;
    uint64_t revoked; /* number of the organization's last revocation; 0: none, or entries are unsigned */
} tab_ahead_word;
const tab_ahead_word *tab_ahead_told(const tab_ahead_caller *c);
tab_str tab_ahead_entry(const tab_ahead_caller *c);
tab_str tab_ahead_revoked(const tab_ahead_caller *c);
tab_str tab_ahead_endpoint(const tab_ahead_caller *c);

/* Let n in ahead, all or none. The caller is held then, until one of: they are let in, and owed to Redis
 * (_keep); or not (_return). */
bool tab_ahead_take(tab_ahead *t, tab_ahead_caller *c, uint32_t n, int64_t now_us) TAB_CHECKED;
void tab_ahead_keep(tab_ahead *t, tab_ahead_caller *c, uint32_t n);
void tab_ahead_return(tab_ahead *t, tab_ahead_caller *c, uint32_t n);

/* The tighter of key's and organization's limits, as the caller is told: what remains of it behind all that
 * is ahead, and the milliseconds until it is full again. */
typedef struct {
    uint32_t limit, remaining;
    int64_t reset_ms;
} tab_ahead_rates;
tab_ahead_rates tab_ahead_left(const tab_ahead_caller *c, int64_t now_us);

/* What Redis said of a caller that it let in: its entry, the organization's last revocation ("" for none),
 * and for each bucket the microseconds until it is full (the endpoint's only where there is one). An entry
 * that cannot be read, or is not signed as it should be, is not remembered. */
void tab_ahead_learn(tab_ahead *t, const char hash[64], tab_str endpoint, tab_str entry, tab_str revoked,
                     const int64_t full_us[TAB_AHEAD_BUCKETS], int64_t now_us);
void tab_ahead_forget(tab_ahead *t, tab_ahead_caller *c); /* its entry changed; what it owes stays owed */

/* What is owed to Redis. _next hands over what the caller that has waited longest owes, and holds it; NULL:
 * nobody owes. _of does so for one caller (0: it owes nothing). When Redis has answered, or will not, _paid:
 * full_us as above, NULL where nobody knows. */
tab_ahead_caller *tab_ahead_next(tab_ahead *t, uint32_t *ret_n);
uint32_t tab_ahead_of(tab_ahead *t, tab_ahead_caller *c);
void tab_ahead_paid(tab_ahead *t, tab_ahead_caller *c, uint32_t n, const int64_t *full_us, int64_t now_us);

#endif
