/* One hash for keys in memory: FNV-1a, 64 bits (Fowler, Noll & Vo, 1991). It is the same on every machine
 * and in every version, so that processes may compare values: it never changes. It is no defence against keys
 * that were chosen to collide: where a caller chooses the keys of a table, tab_place places them (decision
 * 0324). */
#ifndef TAB_HASH_H
#define TAB_HASH_H

#include "common/base/base.h"

#define TAB_FNV1A UINT64_C(14695981039346656037) /* the hash of nothing */

/* The hash so far, h, with n more bytes. */
static inline uint64_t tab_fnv1a(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}

/* The slot of a hash in a table of so many: FNV's low bits alone are weak. */
static inline size_t tab_hash_slot(uint64_t h, size_t slots)
{
    return (h ^ h >> 32) % slots;
}

/* The slot of a text. */
static inline size_t tab_text_slot(const char *text, size_t slots)
{
    return tab_hash_slot(tab_fnv1a(TAB_FNV1A, text, strlen(text)), slots);
}

/* Drawn once a process. What these give differs from process to process: no output may depend on it, only the
 * place in a table whose entries have an order of their own. */
extern uint64_t tab_hash_secret[2];

/* The place of what is known by 64 bits, a hash or a number: multiply and fold. Two that differ meet by
 * chance alone, whoever chose them. */
static inline uint64_t tab_place(uint64_t x)
{
    unsigned __int128 m = (unsigned __int128)(x ^ tab_hash_secret[0]) * tab_hash_secret[1];
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* The place of a text: SipHash (Aumasson & Bernstein, 2012). */
uint64_t tab_place_text(tab_str text);

#endif
