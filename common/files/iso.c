/* See iso.h. */
#include "common/files/iso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool tab_iso_in_calendar(int64_t days)
{
    return days >= -719162 && days <= 2932896;
}

char *tab_iso_digits(char *p, int64_t x, int digits)
{
    for (int i = digits - 1; i >= 0; i--, x /= 10)
        p[i] = (char)('0' + x % 10);
    return p + digits;
}

char *tab_iso_date(char *p, int64_t days)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * m + 2) / 5 + 1, month = m < 10 ? m + 3 : m - 9;
    p = tab_iso_digits(p, year + era * 400 + (month <= 2), 4);
    *p++ = '-';
    p = tab_iso_digits(p, month, 2);
    *p++ = '-';
    return tab_iso_digits(p, day, 2);
}

int64_t tab_iso_days(int64_t year, int month, int day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

double tab_shortest_single(float x)
{
    char text[32];
    if (fabsf(x) <= 16777216 && (double)x == rint((double)x))
        return (double)x;
    for (int digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            return strtod(text, NULL);
    }
    snprintf(text, sizeof text, "%.9g", (double)x);
    return strtod(text, NULL);
}
