/* How many different hashes a stream holds: HyperLogLog (Flajolet et al. 2007) with the estimator of Ertl
 * (2017), which needs no table of corrections. */
#ifndef TAB_DISTINCT_H
#define TAB_DISTINCT_H

#include <stdint.h>

enum { TAB_DISTINCT_BITS = 14, TAB_DISTINCT_REGISTERS = 1 << TAB_DISTINCT_BITS };

typedef struct {
    uint8_t rank[TAB_DISTINCT_REGISTERS];
} tab_distinct;

static inline void tab_distinct_add(tab_distinct *d, uint64_t hash)
{
    uint64_t rest = hash << TAB_DISTINCT_BITS | (uint64_t)1 << (TAB_DISTINCT_BITS - 1);
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1), *r = &d->rank[hash >> (64 - TAB_DISTINCT_BITS)];
    *r = rank > *r ? rank : *r;
}

double tab_distinct_estimate(const tab_distinct *d);

#endif
