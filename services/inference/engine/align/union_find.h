/* Groups of things by union-find (Tarjan, JACM 1975): up[x] is a thing of x's group nearer to the group's
 * representative, which points to itself. up[root of x] = root of y joins two groups. */
#ifndef TAB_ALIGN_UNION_FIND_H
#define TAB_ALIGN_UNION_FIND_H

#include <stdint.h>

/* The representative of x's group; halves the path that it walks. */
static inline uint32_t tab_union_root(uint32_t *up, uint32_t x)
{
    while (up[x] != x)
        x = up[x] = up[up[x]];
    return x;
}

#endif
