/* One hash for keys in memory: FNV-1a, 64 bits (Fowler, Noll & Vo, 1991). It is the same on every machine
 * and in every version, so that processes may compare values: it never changes. It is no defence against keys
 * that were chosen to collide. */
#ifndef TAB_HASH_H
#define TAB_HASH_H

#include "common/base.h"

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

#endif
