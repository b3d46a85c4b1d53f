/* Kinds of ASCII bytes, in no locale. */
#ifndef TAB_ASCII_H
#define TAB_ASCII_H

#include <stdbool.h>

static inline bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static inline bool hex(char c)
{
    return digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

#endif
