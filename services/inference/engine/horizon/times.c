/* See horizon.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/horizon/horizon.h"
#include "services/inference/engine/profile/cells/parse.h"

static const double DAY = 86400;
enum { SAMPLES = 200, TEXT = 64 };

/* ---- steps ------------------------------------------------------------------------------------------ */

static int64_t day_of(double when)
{
    return (int64_t)floor(when / DAY);
}

static int month_length(int64_t y, int m)
{
    return (int)(tab_days_from_civil(m == 12 ? y + 1 : y, m == 12 ? 1 : m + 1, 1) -
                 tab_days_from_civil(y, m, 1));
}

static double months_after(double when, int64_t months, bool ends)
{
    int y, m, d;
    tab_civil_from_days(day_of(when), &y, &m, &d);
    int64_t at = (int64_t)y * 12 + m - 1 + months, year = (at >= 0 ? at : at - 11) / 12;
    int month = (int)(at - 12 * year) + 1, length = month_length(year, month);
    return (double)tab_days_from_civil(year, month, ends || d > length ? length : d) * DAY + when -
           (double)day_of(when) * DAY;
}

static double workdays_after(double when, size_t k)
{
    int64_t day = day_of(when), monday = day + 3;
    int64_t week = (monday >= 0 ? monday : monday - 6) / 7, of = monday - 7 * week;
    int64_t at = 5 * week + (of < 5 ? of : 4) + (int64_t)k;
    int64_t weeks = (at >= 0 ? at : at - 4) / 5;
    return (double)(7 * weeks + (at - 5 * weeks) - 3) * DAY + when - (double)day * DAY;
}

/* Numbers that stand on a grid of steps, but for their rounding (1960.9167), stay on it. */
static double number_after(const tab_series *s, double when, size_t k)
{
    double x = when + (double)k * s->step, at = round(x / s->step);
    return s->regular && fabs(x / s->step - at) < 0.02 ? at * s->step : x;
}

double tab_step_after(const tab_series *s, double when, size_t k, bool ends)
{
    if (!s->calendar)
        return number_after(s, when, k);
    switch (s->unit) {
    case TAB_STEP_MONTHS:
        return months_after(when, (int64_t)round((double)k * s->step), ends);
    case TAB_STEP_YEARS:
        return months_after(when, (int64_t)round(12 * (double)k * s->step), ends);
    case TAB_STEP_WORKDAYS:
        return workdays_after(when, k);
    default:
        return when + (double)k * s->step;
    }
}

bool tab_month_ends(const tab_series *s, size_t rows)
{
    size_t known = 0;
    for (size_t r = 0; s->calendar && r < rows; r++) {
        int y, m, d;
        if (isnan(s->when[r]))
            continue;
        tab_civil_from_days(day_of(s->when[r]), &y, &m, &d);
        if (d != month_length(y, m))
            return false;
        known++;
    }
    return known > 0;
}

const char *tab_step_text(tab_arena *a, const tab_series *s, bool *ret_number)
{
    static const struct {
        double of;
        const char *before;
        char unit;
    } PARTS[] = { { 604800, "P", 'W' }, { 86400, "P", 'D' }, { 3600, "PT", 'H' }, { 60, "PT", 'M' } };
    char buf[40];
    *ret_number = !s->calendar;
    if (!s->calendar) {
        buf[tab_number_text(s->step, buf)] = 0;
        return tab_arena_printf(a, "%s", buf);
    }
    if (s->unit == TAB_STEP_MONTHS || s->unit == TAB_STEP_YEARS)
        return tab_arena_printf(a, "P%.0f%c", s->step, s->unit == TAB_STEP_MONTHS ? 'M' : 'Y');
    if (s->unit == TAB_STEP_WORKDAYS)
        return "P1D";
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        if (s->step >= PARTS[i].of && fmod(s->step, PARTS[i].of) == 0) // NOLINT: whole
            return tab_arena_printf(a, "%s%.0f%c", PARTS[i].before, s->step / PARTS[i].of, PARTS[i].unit);
    buf[tab_number_text(s->step, buf)] = 0;
    return tab_arena_printf(a, "PT%sS", buf);
}

/* ---- writing ---------------------------------------------------------------------------------------- */

typedef struct {
    int year, month, day, hour, minute, second, quarter, week, week_year, day_of_year;
} civil;

static civil civil_of(double when)
{
    int64_t day = day_of(when), seconds = (int64_t)floor(when - (double)day * DAY + 0.5);
    civil c;
    if (seconds >= 86400)
        day++, seconds -= 86400;
    tab_civil_from_days(day, &c.year, &c.month, &c.day);
    c.hour = (int)(seconds / 3600), c.minute = (int)(seconds / 60 % 60), c.second = (int)(seconds % 60);
    c.quarter = (c.month - 1) / 3 + 1;
    c.day_of_year = (int)(day - tab_days_from_civil(c.year, 1, 1)) + 1;
    int64_t from = day + 3, weekday = ((from % 7) + 7) % 7; /* Monday 0 */
    int unused_m, unused_d;
    tab_civil_from_days(day - weekday + 3, &c.week_year, &unused_m, &unused_d); /* of its Thursday */
    c.week = (int)((day - weekday + 3 - tab_days_from_civil(c.week_year, 1, 1)) / 7) + 1;
    return c;
}

static const char *const MONTHS[] = { "January", "February", "March",     "April",   "May",      "June",
                                      "July",    "August",   "September", "October", "November", "December" };

/* One of strftime's letters, and n, e, k: month, day and hour without a zero in front; q the quarter. */
static int put_letter(char letter, const civil *c, char *out, size_t room)
{
    switch (letter) {
    case 'Y':
        return snprintf(out, room, "%04d", c->year);
    case 'y':
        return snprintf(out, room, "%02d", ((c->year % 100) + 100) % 100);
    case 'm':
        return snprintf(out, room, "%02d", c->month);
    case 'n':
        return snprintf(out, room, "%d", c->month);
    case 'd':
        return snprintf(out, room, "%02d", c->day);
    case 'e':
        return snprintf(out, room, "%d", c->day);
    case 'H':
        return snprintf(out, room, "%02d", c->hour);
    case 'k':
        return snprintf(out, room, "%d", c->hour);
    case 'M':
        return snprintf(out, room, "%02d", c->minute);
    case 'S':
        return snprintf(out, room, "%02d", c->second);
    case 'B':
        return snprintf(out, room, "%s", MONTHS[c->month - 1]);
    case 'b':
        return snprintf(out, room, "%.3s", MONTHS[c->month - 1]);
    case 'q':
        return snprintf(out, room, "%d", c->quarter);
    case 'G':
        return snprintf(out, room, "%04d", c->week_year);
    default:
        return snprintf(out, room, "%02d", c->week);
    }
}

static size_t put_time(const char *format, double when, char out[TEXT])
{
    const civil c = civil_of(when);
    size_t n = 0;
    for (const char *f = format; *f != 0 && n + 12 < TEXT; f++)
        if (*f == '%')
            n += (size_t)put_letter(*++f, &c, out + n, TEXT - n);
        else
            out[n++] = *f;
    return n;
}

static const char *const FORMATS[] = {
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S.000Z",
    "%Y-%m",
    "%Y/%m/%d",
    "%Y/%n/%e",
    "%d.%m.%Y",
    "%e.%n.%Y",
    "%d/%m/%Y",
    "%e/%n/%Y",
    "%m/%d/%Y",
    "%n/%e/%Y",
    "%m/%d/%y",
    "%n/%e/%y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%Y%m%d",
    "%Y%m",
    "%Y/%m",
    "%m/%Y",
    "%n/%Y",
    "%m-%Y",
    "%b %Y",
    "%B %Y",
    "%b-%y",
    "%b-%Y",
    "%b %y",
    "%Y %b",
    "%Y-%b",
    "%Y %B",
    "%d %b %Y",
    "%e %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%e %B %Y",
    "%b %d, %Y",
    "%b %e, %Y",
    "%B %e, %Y",
    "%B %d, %Y",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%n/%e/%Y %k:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%Y-Q%q",
    "%Y Q%q",
    "%YQ%q",
    "Q%q %Y",
    "Q%q-%Y",
    "Q%q/%Y",
    "%Y-%q",
    "%G-W%V",
    "%GW%V",
    "%Y",
    "%B",
    "%b",
    "%n",
    "%m",
    "Q%q",
    "%q",
    "%e",
    "%d",
    "%k",
    "%H",
    "%M",
    "%H:%M",
    "%H:%M:%S",
    "%V",
    "%y",
};

/* The numbers that a date is written as. */
static double number_of(int k, double when)
{
    const civil c = civil_of(when);
    const double of[] = { c.year,
                          100.0 * c.year + c.month,
                          10000.0 * c.year + 100.0 * c.month + c.day,
                          c.month,
                          c.quarter,
                          c.day,
                          c.hour,
                          c.week,
                          c.day_of_year,
                          c.minute,
                          100.0 * c.week_year + c.week,
                          10.0 * c.year + c.quarter };
    return of[k];
}
enum { NUMBERS = 12 };

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The bytes of a zone behind a time of day (+02:00), and how far it is from UTC in seconds. */
static size_t zone_of(tab_str cell, double *ret_offset)
{
    *ret_offset = 0;
    if (cell.n < 16)
        return 0;
    const char *z = cell.p + cell.n - 6;
    if ((z[0] != '+' && z[0] != '-') || z[3] != ':' || !digit(z[-1]) || !digit(z[1]) || !digit(z[2]) ||
        !digit(z[4]) || !digit(z[5]))
        return 0;
    double minutes = 600 * (z[1] - '0') + 60 * (z[2] - '0') + 10 * (z[4] - '0') + (z[5] - '0');
    *ret_offset = z[0] == '-' ? -60 * minutes : 60 * minutes;
    return 6;
}

static bool fits_text(const tab_column *c, const tab_series *s, size_t rows, const char *format)
{
    size_t seen = 0;
    double offset;
    char text[TEXT];
    for (size_t r = 0; r < rows && seen < SAMPLES; r += 1 + rows / (2 * SAMPLES)) {
        if (c->code[r] == TAB_NULL || isnan(s->when[r]))
            continue;
        tab_str cell = tab_level(c, c->code[r]);
        size_t zone = zone_of(cell, &offset), n = put_time(format, s->when[r] + offset, text);
        if (cell.n != n + zone || memcmp(cell.p, text, n) != 0)
            return false;
        seen++;
    }
    return seen > 0;
}

static bool fits_number(const tab_column *c, const tab_series *s, size_t rows, const tab_time_writing *w)
{
    size_t seen = 0;
    for (size_t r = 0; r < rows && seen < SAMPLES; r += 1 + rows / (2 * SAMPLES)) {
        if (isnan(c->num[r]) || isnan(s->when[r]))
            continue;
        if (fabs(c->num[r] - tab_time_numbered(w, s->when[r])) > 1e-9 * fmax(1, fabs(c->num[r])))
            return false;
        seen++;
    }
    return seen > 0;
}

/* The line through the first and the last time: seconds, milliseconds and days since some day. */
static void line(const tab_column *c, const tab_series *s, size_t rows, tab_time_writing *w)
{
    size_t lo = rows, hi = rows;
    for (size_t r = 0; r < rows; r++) {
        if (isnan(c->num[r]) || isnan(s->when[r]))
            continue;
        lo = lo == rows || s->when[r] < s->when[lo] ? r : lo;
        hi = hi == rows || s->when[r] > s->when[hi] ? r : hi;
    }
    bool two = lo < rows && s->when[hi] > s->when[lo];
    w->slope = two ? (c->num[hi] - c->num[lo]) / (s->when[hi] - s->when[lo]) : 1;
    w->start = lo < rows ? c->num[lo] - w->slope * s->when[lo] : 0;
}

/* The zone of the last time: later ones are written in it. */
static void last_zone(const tab_column *c, const tab_series *s, size_t rows, tab_time_writing *w)
{
    double last = (double)-INFINITY;
    for (size_t r = 0; r < rows; r++) {
        if (c->code[r] == TAB_NULL || isnan(s->when[r]) || s->when[r] <= last)
            continue;
        tab_str cell = tab_level(c, c->code[r]);
        size_t n = zone_of(cell, &w->offset);
        w->after = (tab_str){ cell.p + cell.n - n, n };
        last = s->when[r];
    }
}

/* A number among other letters: FY24, day 007. */
static size_t put_number(const tab_time_writing *w, double when, char out[TEXT])
{
    char number[TEXT];
    size_t n = tab_number_text(w->short_year ? fmod(when, 100) : when, number), at = w->before.n;
    size_t zeros = w->digits > n && when >= 0 ? w->digits - n : 0;
    memcpy(out, w->before.p, at);
    memset(out + at, '0', zeros);
    memcpy(out + at + zeros, number, n);
    memcpy(out + at + zeros + n, w->after.p, w->after.n);
    return at + zeros + n + w->after.n;
}

/* What stands around the numbers of a text, if it is the same in all. */
static void around(const tab_column *c, const tab_series *s, size_t rows, tab_time_writing *w)
{
    static const tab_str none = TAB_S("");
    char text[TEXT];
    size_t seen = 0;
    for (size_t r = 0; r < rows && seen < SAMPLES; r += 1 + rows / (2 * SAMPLES)) {
        if (c->code[r] == TAB_NULL || isnan(s->when[r]))
            continue;
        tab_str cell = tab_level(c, c->code[r]);
        size_t from = 0, to = cell.n, n = 0;
        while (from < cell.n && !digit(cell.p[from]))
            from++;
        while (to > from && !digit(cell.p[to - 1]))
            to--;
        if (seen++ == 0 && cell.n < TEXT / 2) {
            w->before = (tab_str){ cell.p, from };
            w->after = (tab_str){ cell.p + to, cell.n - to };
            w->digits = to - from;
            w->short_year = w->digits == 2 && s->when[r] >= 1000; /* FY05 is 2005 */
        }
        if (cell.n < TEXT / 2)
            w->digits = to - from < w->digits ? to - from : w->digits;
        n = put_number(w, s->when[r], text);
        if (cell.n != n || memcmp(cell.p, text, n) != 0) {
            w->before = w->after = none, w->digits = 0, w->short_year = false;
            return;
        }
    }
}

tab_time_writing tab_time_writing_of(const tab_column_profile *c, const tab_series *s, size_t rows)
{
    tab_time_writing w = {
        .number = -1, .slope = 1, .decimals = c->decimals, .before = TAB_S(""), .after = TAB_S("")
    };
    if (c->column->layout == TAB_CODED) {
        w.format = "%Y-%m-%dT%H:%M:%S";
        if (s->calendar)
            last_zone(c->column, s, rows, &w);
        else
            around(c->column, s, rows, &w);
        for (size_t i = 0; s->calendar && i < sizeof FORMATS / sizeof *FORMATS; i++)
            if (fits_text(c->column, s, rows, FORMATS[i])) {
                w.format = FORMATS[i];
                break;
            }
        return w;
    }
    if (!s->calendar)
        return w;
    for (w.number = 0; w.number < NUMBERS; w.number++)
        if (fits_number(c->column, s, rows, &w))
            return w;
    w.number = -1;
    line(c->column, s, rows, &w);
    return w;
}

double tab_time_numbered(const tab_time_writing *w, double when)
{
    if (w->number >= 0)
        return number_of(w->number, when);
    double x = w->slope * when + w->start, scale = pow(10, w->decimals);
    return w->decimals >= 0 && w->decimals < 12 ? round(x * scale) / scale : x;
}

tab_str tab_time_written(tab_arena *a, const tab_time_writing *w, const tab_series *s, double when)
{
    char text[TEXT];
    size_t n;
    if (s->calendar) {
        n = put_time(w->format, when + w->offset, text);
        memcpy(text + n, w->after.p, w->after.n);
        n += w->after.n;
    } else if (w->before.n + w->after.n > 0 || w->digits > 0) {
        n = put_number(w, when, text);
    } else {
        n = tab_number_text(tab_time_numbered(w, when), text);
    }
    return tab_arena_copy(a, (tab_str){ text, n });
}
