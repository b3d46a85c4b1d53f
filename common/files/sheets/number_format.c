/* See number_format.h. */
#include "common/files/sheets/number_format.h"

#include <math.h>
#include <stdio.h>

tab_number_format tab_number_format_builtin(unsigned id)
{
    if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id == 36 || (id >= 50 && id <= 58))
        return TAB_FORMAT_DATE;
    if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id == 45 || id == 47)
        return TAB_FORMAT_TIME;
    return id == 22 ? TAB_FORMAT_DATE_TIME : TAB_FORMAT_NUMBER;
}

/* Only the first section, for positive numbers, speaks of dates; texts, colours and conditions do not. */
tab_number_format tab_number_format_of(const char *code)
{
    bool day = false, clock = false, month = false;
    for (const char *p = code; *p != 0 && *p != ';'; p++) {
        if (*p == '"' || *p == '[') {
            char close = *p == '"' ? '"' : ']';
            if (*p == '[' && p[1] != 0 && strchr("hHmMsS", p[1]) != NULL)
                return TAB_FORMAT_NUMBER;
            const char *q = strchr(p + 1, close);
            if (q == NULL)
                break;
            p = q;
        } else if (*p == '\\' || *p == '_' || *p == '*') {
            p += p[1] != 0;
        } else if (strncmp(p, "General", 7) == 0) {
            p += 6;
        } else {
            day |= strchr("yYdD", *p) != NULL;
            clock |= strchr("hHsS", *p) != NULL;
            month |= *p == 'm' || *p == 'M';
        }
    }
    if (clock)
        return day ? TAB_FORMAT_DATE_TIME : TAB_FORMAT_TIME;
    return day || month ? TAB_FORMAT_DATE : TAB_FORMAT_NUMBER;
}

/* The civil date of a day since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms"). */
static void civil(int64_t z, int64_t *y, int *m, int *d)
{
    z += 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365,
            doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

size_t tab_number_format_text(tab_number_format f, double days, bool since1904, char buf[40])
{
    enum { TO_1970 = 25569, FROM_1904 = 1462 };
    if (f == TAB_FORMAT_NUMBER || !(days >= 0 && days < 2958466)) /* to the year 9999 */
        return 0;
    /* Day 60 is 1900-02-29, which never was: the days before it are one too low. */
    double day = floor(days) + (since1904 ? FROM_1904 : days < 60 ? 1 : 0);
    long ms = lround((days - floor(days)) * 86400000.0);
    if (ms >= 86400000) {
        day += 1;
        ms = 0;
    }
    int64_t y;
    int m, d, n = 0;
    civil((int64_t)day - TO_1970, &y, &m, &d);
    bool only_time = f == TAB_FORMAT_TIME && days < 1, no_time = f != TAB_FORMAT_TIME && ms == 0;
    if (!only_time)
        n = snprintf(buf, 40, "%04d-%02d-%02d", (int)y, m, d);
    if (!no_time || only_time) {
        long s = ms / 1000;
        n += snprintf(buf + n, 40 - (size_t)n, "%s%02ld:%02ld:%02ld", only_time ? "" : "T", s / 3600,
                      s / 60 % 60, s % 60);
        if (ms % 1000 != 0)
            n += snprintf(buf + n, 40 - (size_t)n, ".%03ld", ms % 1000);
    }
    return (size_t)n;
}
