/* See made_internal.h: chance, text, and times in all their forms. */
#include "services/inference/engine/series/tests/made_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/profile/cells/parse.h"

/* ---- chance --------------------------------------------------------------------------------------- */

static uint64_t state;
bool made_other;

uint64_t made_next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
double made_unit(void)
{
    return (double)(made_next() >> 11) / 9007199254740992.0;
}
size_t made_below(size_t n)
{
    return (size_t)(made_unit() * (double)n);
}
double made_normal(void)
{
    return sqrt(-2 * log(made_unit() + 1e-300)) * cos(6.283185307179586 * made_unit());
}
bool made_chance(double p)
{
    return made_unit() < p;
}

void made_start(uint64_t seed, size_t i)
{
    made_other = seed >= MADE_OTHER;
    state = seed * 1000003 + i * 7919 + 17;
    for (size_t k = 0; k < 4; k++)
        made_next();
}

/* ---- text ----------------------------------------------------------------------------------------- */

void made_put(made_page *o, const char *fmt, ...)
{
    va_list ap;
    char line[256];
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (o->n + (size_t)n + 1 > o->room)
        o->p = realloc(o->p, o->room = 2 * o->room + 512);
    memcpy(o->p + o->n, line, (size_t)n + 1);
    o->n += (size_t)n;
}
/* ---- the forms of a time ---------------------------------------------------------------------------- */

/* clang-format off */
const made_form made_forms[FORMS] = {
    [ISO] = { "date", { MADE_DAY, MADE_WEEK, MADE_MONTH, MADE_WORKDAY }, 4, 1, { "date" } },
    [DMY] = { "date, text", { MADE_DAY, MADE_WEEK, MADE_MONTH }, 3, 1, { "when" } },
    [MDY] = { "date, text", { MADE_DAY, MADE_WEEK, MADE_WORKDAY }, 3, 1, { "Week" } },
    [LONG_DATE] = { "date, text", { MADE_DAY, MADE_MONTH }, 2, 1, { "on" } },
    [STAMP] = { "timestamp", { MADE_HOUR, MADE_HALF }, 2, 1, { "stamp" } },
    [DAY8] = { "20170415", { MADE_DAY, MADE_WORKDAY }, 2, 1, { "day" } },
    [MONTH6] = { "201704", { MADE_MONTH }, 1, 1, { "period" } },
    [WEEK6] = { "201729", { MADE_WEEK }, 1, 1, { "yw" } },
    [MONTH_TEXT] = { "month, text", { MADE_MONTH }, 1, 1, { "month" } },
    [QUARTER_TEXT] = { "quarter, text", { MADE_QUARTER }, 1, 1, { "quarter" } },
    [EPOCH] = { "epoch", { MADE_HOUR, MADE_DAY }, 2, 1, { "ts" } },
    [MILLI] = { "epoch", { MADE_HOUR, MADE_HALF }, 2, 1, { "ms" } },
    [DECIMAL] = { "decimal year", { MADE_MONTH, MADE_QUARTER }, 2, 1, { "time" } },
    [YEAR] = { "year", { MADE_YEAR }, 1, 1, { "year" } },
    [YEAR2] = { "year, 2 digits", { MADE_YEAR }, 1, 1, { "yr" } },
    [COUNT] = { "count", { MADE_COUNT }, 1, 1, { "t" } },
    [YEAR_MONTH] = { "parts", { MADE_MONTH }, 1, 2, { "year", "month" } },
    [YEAR_NAME] = { "parts", { MADE_MONTH }, 1, 2, { "year", "mon" } },
    [YEAR_MONTH_DAY] = { "parts", { MADE_DAY, MADE_WORKDAY }, 2, 3, { "y_", "m_", "d_" } },
    [YMD_HOUR] = { "parts", { MADE_HOUR }, 1, 4, { "y_", "m_", "d_", "h_" } },
    [MONTH_DAY] = { "parts, no year", { MADE_DAY }, 1, 2, { "Month", "Day" } },
    [YEAR_QUARTER] = { "parts", { MADE_QUARTER }, 1, 2, { "year", "q" } },
    [YEAR_WEEK] = { "parts", { MADE_WEEK }, 1, 2, { "year", "wk" } },
    [YEAR_DOY] = { "parts", { MADE_DAY }, 1, 2, { "year", "doy" } },
    [DATE_HOUR] = { "date and hour", { MADE_HOUR }, 1, 2, { "date", "hour" } },
    [ROWS] = { "order of rows", { MADE_COUNT }, 1, 0, { NULL } },
};
/* clang-format on */

static const char *const month_name[] = { "January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December" };

/* Seconds of step k of a pace from a start. */
double made_moment(made_pace by, double start, size_t k)
{
    int y, m, d;
    int64_t day = (int64_t)floor(start / 86400), months;
    tab_civil_from_days(day, &y, &m, &d);
    switch (by) {
    case MADE_DAY:
        return start + 86400.0 * (double)k;
    case MADE_WORKDAY: { /* starts on a Monday */
        int64_t monday = day - ((day + 3) % 7 + 7) % 7;
        return 86400.0 * (double)(monday + (int64_t)(k / 5) * 7 + (int64_t)(k % 5));
    }
    case MADE_WEEK:
        return start + 7 * 86400.0 * (double)k;
    case MADE_HOUR:
        return start + 3600.0 * (double)k;
    case MADE_HALF:
        return start + 1800.0 * (double)k;
    default:
        months = (int64_t)y * 12 + m - 1 + (int64_t)k * (by == MADE_MONTH ? 1 : by == MADE_QUARTER ? 3 : 12);
        return 86400.0 * (double)tab_days_from_civil(months / 12, (int)(months % 12) + 1, 1);
    }
}

static void iso_week(double seconds, int *year, int *week)
{
    int64_t day = (int64_t)floor(seconds / 86400), monday = day - ((day + 3) % 7 + 7) % 7;
    int m, d;
    tab_civil_from_days(monday + 3, year, &m, &d);
    *week = (int)((monday + 3 - tab_days_from_civil(*year, 1, 1)) / 7) + 1;
}

/* The common way to write each form, and another, in fields: %y year, %m month, %d day, %H hour, %M minute,
 * %q quarter, %j day of the year, %G year of the week, %V week, %B name of the month, %b its first letters,
 * %Y the year's last digits, %k the step, %s seconds since 1970, %t milliseconds, %c decimal years; %2m: two
 * digits. */
/* clang-format off */
static const char *const layout[FORMS][2] = {
    [ISO] = { "%y-%2m-%2d", "%y/%2m/%2d" },
    [DMY] = { "%d.%m.%y", "%2d-%2m-%y" },
    [MDY] = { "%m/%d/%y", "%2m/%2d/%y" },
    [LONG_DATE] = { "%d %b %y", "\"%B %d, %y\"" },
    [STAMP] = { "%y-%2m-%2d %2H:%2M:00", "%y-%2m-%2dT%2H:%2M:00Z" },
    [DAY8] = { "%y%2m%2d", "%y%2m%2d" },
    [MONTH6] = { "%y%2m", "%y%2m" },
    [WEEK6] = { "%G%2V", "%G%2V" },
    [MONTH_TEXT] = { "%b %y", "%y-%2m" },
    [QUARTER_TEXT] = { "%y-Q%q", "%yQ%q" },
    [EPOCH] = { "%s", "%s" },
    [MILLI] = { "%t", "%t" },
    [DECIMAL] = { "%c", "%c" },
    [YEAR] = { "%y", "%y" },
    [YEAR2] = { "%Y", "%Y" },
    [COUNT] = { "%k", "%k0" },
    [YEAR_MONTH] = { "%y,%m", "%y,%m" },
    [YEAR_NAME] = { "%y,%B", "%y,%b" },
    [YEAR_MONTH_DAY] = { "%y,%m,%d", "%y,%m,%d" },
    [YMD_HOUR] = { "%y,%m,%d,%H", "%y,%m,%d,%H" },
    [MONTH_DAY] = { "%m,%d", "%m,%d" },
    [YEAR_QUARTER] = { "%y,%q", "%y,%q" },
    [YEAR_WEEK] = { "%G,%V", "%G,%V" },
    [YEAR_DOY] = { "%y,%j", "%y,%j" },
    [DATE_HOUR] = { "%y-%2m-%2d,%H", "%y-%2m-%2d,%H" },
    [ROWS] = { "", "" },
};
/* clang-format on */

/* A field of a moment as a number; of names and decimals none. */
static int field(char c, double at, size_t k)
{
    int y, m, d, wy, w;
    int64_t day = (int64_t)floor(at / 86400);
    double clock = at - 86400 * floor(at / 86400);
    tab_civil_from_days(day, &y, &m, &d);
    iso_week(at, &wy, &w);
    switch (c) {
    case 'y':
        return y;
    case 'Y':
        return y % 100;
    case 'm':
        return m;
    case 'd':
        return d;
    case 'q':
        return (m - 1) / 3 + 1;
    case 'j':
        return (int)(day - tab_days_from_civil(y, 1, 1)) + 1;
    case 'G':
        return wy;
    case 'V':
        return w;
    case 'H':
        return (int)(clock / 3600);
    case 'M':
        return (int)(fmod(clock, 3600) / 60);
    default:
        return (int)k;
    }
}

void made_put_time(made_page *o, int form, double at, size_t k, int decimals, bool missing)
{
    if (missing) {
        for (size_t i = 0; i < made_forms[form].columns; i++)
            made_put(o, ",");
        return;
    }
    for (const char *p = layout[form][made_other]; *p != 0; p++) {
        if (*p != '%') {
            made_put(o, "%c", *p);
            continue;
        }
        bool two = *++p == '2';
        p += two;
        const char *name = month_name[field('m', at, k) - 1];
        if (*p == 'B')
            made_put(o, "%s", name);
        else if (*p == 'b')
            made_put(o, "%.3s", name);
        else if (*p == 's')
            made_put(o, "%.0f", at + (made_other ? 17 : 0));
        else if (*p == 't')
            made_put(o, "%.0f", at * 1000);
        else if (*p == 'c')
            made_put(o, "%.*f", decimals, field('y', at, k) + (field('m', at, k) - 1) / 12.0);
        else
            made_put(o, two ? "%02d" : "%d", field(*p, at, k));
    }
    if (made_forms[form].columns > 0)
        made_put(o, ",");
}
