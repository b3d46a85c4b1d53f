/* A whole number as decimal digits: each request writes a dozen, and ngx_sprintf reads a format first. */
#ifndef TAB_NUMBER_H
#define TAB_NUMBER_H

#include <stdint.h>
#include <string.h>

enum { TAB_NUMBER_TEXT = 20 }; /* digits of the longest one */

/* Writes x to p, without a NUL; gives the place behind it. */
static inline unsigned char *tab_number_put(unsigned char *p, uint64_t x)
{
    unsigned char digits[TAB_NUMBER_TEXT], *at = digits + sizeof digits;
    do
        *--at = (unsigned char)('0' + x % 10);
    while ((x /= 10) > 0);
    size_t n = (size_t)(digits + sizeof digits - at);
    memcpy(p, at, n);
    return p + n;
}

#endif
