/* See integer.h: digit by digit, with the compiler's overflow checks. */
#include "common/base/integer.h"

bool tab_integer_read(tab_str text, int64_t least, int64_t most, int64_t *ret)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    int64_t x = 0;
    if (text.n == negative || (negative && least >= 0))
        return false;
    for (size_t i = negative; i < text.n; i++) {
        int64_t digit = text.p[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(x, 10, &x) ||
            __builtin_add_overflow(x, negative ? -digit : digit, &x))
            return false;
    }
    if (x < least || x > most)
        return false;
    *ret = x;
    return true;
}
