/* Request rates kept on this node, for the time in which Redis is away, and the rate of refused
 * keys from one address. The same GCRA as common/redis/limits.lua in a table of fixed size, to lie in
 * nginx's shared memory:
 *
 *   slot (sets x 4 ways)   tag   64-bit keyed hash of what is limited; 0 = free
 *                          tat   when its bucket would be full again, microseconds
 *
 * A set that is full gives up its most idle bucket (smallest tat): forgetting errs towards letting
 * in, first for those who have used least. The caller holds a lock. No allocation, no clock. */
#ifndef TAB_LIMITS_H
#define TAB_LIMITS_H

#include "common/base/base.h"

enum { TAB_LIMIT_WAYS = 4 };

typedef struct {
    uint64_t tag;
    int64_t tat;
} tab_limit_slot;

typedef struct {
    size_t sets; /* a power of two */
    unsigned char seed[16];
    tab_limit_slot slot[];
} tab_limits;

typedef struct {
    bool let_in;
    uint32_t limit, remaining; /* requests */
    int64_t reset_ms, retry_ms;
} tab_limit_answer;

size_t tab_limits_size(size_t sets);
void tab_limits_init(tab_limits *t, size_t sets, const unsigned char seed[16]);

/* One bucket of a set of buckets that a request must pass together. */
typedef struct {
    char kind; /* 'k' key, 'o' organization, 'e' endpoint; 'a' address, 's' its sign-ins, 'l' its logouts, 'u'
                * strange keys */
    tab_str a, b; /* what it is called; b may be empty */
    uint32_t per_minute;
} tab_limit;

/* Debits every bucket, or none when one of them (at most 4) is exhausted. The answer's figures are
 * those of the bucket with the least remaining. `peek`: look only. */
tab_limit_answer tab_limits_take(tab_limits *t, const tab_limit *limits, size_t n, int64_t now_us, bool peek);

/* The highest number that was ever given for this name, x among them; kept where it is not 0. In a table of
 * its own: there, a slot's `tat` is that number, so a full set forgets the lowest. */
int64_t tab_limits_highest(tab_limits *t, tab_str name, int64_t x);

#endif
