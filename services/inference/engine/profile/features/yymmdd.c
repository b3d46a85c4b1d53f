/* See column.h: days as six digits, 240305. All of many numbers must be such: of numbers drawn at random
 * one in 27 is. Numbers that count (100101, 100102) or tell groups and their members (110101, 110201) are as
 * well, but hardly of half a year and to the ends of months. Decision 0811. */
#include <math.h>

#include "services/inference/engine/profile/features/column.h"

/* The distinct numbers of the column; NULL: it has none. */
static const double *numbers_of(const tab_reading *r)
{
    return r->column->layout == TAB_NUMBERS ? r->value : r->num;
}

bool tab_is_yymmdd(const tab_reading *r)
{
    enum { LEAST = 20 };
    const double *x = numbers_of(r);
    size_t n = 0, beyond = 0;
    if (!r->can_number || x == NULL || r->decimals > 0 || r->levels < LEAST || r->grouped > 0)
        return false;
    for (size_t k = 0; k < r->levels; k++) {
        if (isnan(x[k]) || x[k] == r->sentinel)
            continue;
        if (x[k] < 101 || x[k] > 991231 || x[k] != trunc(x[k]) || (r->leading_zero == 0 && x[k] < 100101))
            return false;
        int v = (int)x[k], m = v / 100 % 100, d = v % 100;
        if (m < 1 || m > 12 || d < 1 || d > 31)
            return false;
        n++;
        beyond += d > 12; /* no month of YYYYMM */
    }
    return n >= LEAST && 3 * beyond > n;
}

bool tab_spans_months(const tab_reading *r)
{
    enum { MONTHS = 6, MONTHS_END = 29 };
    const double *x = numbers_of(r);
    unsigned months = 0;
    bool ends = false;
    for (size_t k = 0; k < r->levels; k++) {
        if (isnan(x[k]) || x[k] == r->sentinel)
            continue;
        months |= 1u << ((int)x[k] / 100 % 100);
        ends = ends || (int)x[k] % 100 >= MONTHS_END;
    }
    return ends && __builtin_popcount(months) >= MONTHS;
}
