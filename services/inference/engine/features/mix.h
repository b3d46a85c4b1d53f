/* Counter-based random numbers. A number is a hash of what it is for (row, round, column, seed), never of
 * how many were drawn before. Any order of work and any number of threads draw the same ones. */
#ifndef TAB_MIX_H
#define TAB_MIX_H

#include <stddef.h>
#include <stdint.h>

/* The finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): a bijection in which every input bit
 * moves about half of the output bits. */
static inline uint64_t tab_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t tab_mix2(uint64_t a, uint64_t b)
{
    return tab_mix(a ^ tab_mix(b));
}

static inline double tab_unit(uint64_t h) /* [0, 1) */
{
    return (double)(h >> 11) * 0x1p-53;
}
#endif
