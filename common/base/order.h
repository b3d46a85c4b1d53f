/* Comparators for qsort and bsearch: numbers, ascending. */
#ifndef TAB_ORDER_H
#define TAB_ORDER_H

#include <stdint.h>

#define TAB_ASCENDING(name, type)                        \
    static inline int name(const void *a, const void *b) \
    {                                                    \
        type x = *(const type *)a, y = *(const type *)b; \
        return (x > y) - (x < y);                        \
    }

TAB_ASCENDING(tab_ascending_u32, uint32_t)
TAB_ASCENDING(tab_ascending_u64, uint64_t)
TAB_ASCENDING(tab_ascending_float, float) /* of floating-point numbers none is NaN */
TAB_ASCENDING(tab_ascending_double, double)

#endif
