/* Dates, timestamps, clocks, periods, months, weekdays and durations in the notations of tables. A plan says
 * years "y1..y2"; "after": some time after the date column before, row by row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/cells/parse.h"
#include "tools/train/maker.h"

static const char *const months[][12] = {
    { "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
      "November", "December" },
    { "Januar", "Februar", "M\xc3\xa4rz", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
      "November", "Dezember" },
    { "janvier", "f\xc3\xa9vrier", "mars", "avril", "mai", "juin", "juillet", "ao\xc3\xbbt", "septembre",
      "octobre", "novembre",
      "d\xc3\xa9"
      "cembre" },
    { "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
      "noviembre", "diciembre" },
    { "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre",
      "ottobre", "novembre", "dicembre" },
    { "janeiro", "fevereiro", "mar\xc3\xa7o", "abril", "maio", "junho", "julho", "agosto", "setembro",
      "outubro", "novembro", "dezembro" },
    { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" },
};
static const char *const days[][7] = {
    { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" },
    { "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag" },
    { "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche" },
    { "lunes", "martes", "mi\xc3\xa9rcoles", "jueves", "viernes",
      "s\xc3\xa1"
      "bado",
      "domingo" },
    { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" },
    { "Mon", "Tues", "Wed", "Thur", "Fri", "Sat", "Sun" },
};

static size_t language(const maker *m)
{
    static const char *const of[] = { "DE", "FR", "ES", "IT", "BR", "MX" };
    static const size_t is[] = { 1, 2, 3, 4, 5, 3 };
    for (size_t i = 0; i < 6; i++)
        if (strcmp(m->loc->country2, of[i]) == 0)
            return is[i];
    return 0;
}

static void date_text(const maker *m, int64_t day, size_t layout, char *out, size_t n)
{
    int y, mo, d;
    tab_civil_from_days(day, &y, &mo, &d);
    int form = m->loc->date;
    switch (layout) {
    case 0:
    case 1:
    case 2:
    case 3:
        snprintf(out, n, "%04d-%02d-%02d", y, mo, d);
        break;
    case 4:
    case 5:
    case 6:
        if (form == 0)
            snprintf(out, n, "%04d/%02d/%02d", y, mo, d);
        else if (form == 1)
            snprintf(out, n, layout == 4 ? "%02d/%02d/%04d" : "%d/%d/%04d", mo, d, y);
        else if (form == 2)
            snprintf(out, n, "%02d/%02d/%04d", d, mo, y);
        else if (form == 3)
            snprintf(out, n, layout == 4 ? "%d.%d.%04d" : "%02d.%02d.%04d", d, mo, y);
        else
            snprintf(out, n, "%02d-%02d-%04d", d, mo, y);
        break;
    case 7:
        snprintf(out, n, form == 1 ? "%d/%d/%02d" : "%02d.%02d.%02d", form == 1 ? mo : d, form == 1 ? d : mo,
                 y % 100);
        break;
    case 8:
        snprintf(out, n, "%02d-%s-%04d", d, months[6][mo - 1], y);
        break;
    case 9:
        snprintf(out, n, "%s %d, %d", months[form == 1 ? 0 : 6][mo - 1], d, y);
        break;
    case 10:
        snprintf(out, n, "%d %s %d", d, months[language(m)][mo - 1], y);
        break;
    case 11:
        snprintf(out, n, "%04d%02d%02d", y, mo, d);
        break;
    default:
        snprintf(out, n, "%04d-%02d-%02d 00:00:00", y, mo, d);
        break;
    }
}

/* The clock of a timestamp, appended to its date t; way 6 replaces both by seconds (or milliseconds) since
 * 1970. */
static void append_clock(chance *c, int64_t day, size_t way, bool milliseconds, char *t, size_t size)
{
    size_t h = chance_below(c, 24), mi = chance_below(c, 60), se = chance_below(c, 60), n = strlen(t);
    switch (way) {
    case 0:
        snprintf(t + n, size - n, "T%02zu:%02zu:%02zuZ", h, mi, se);
        break;
    case 1:
        snprintf(t + n, size - n, " %02zu:%02zu", h, mi);
        break;
    case 2:
        snprintf(t + n, size - n, " %02zu:%02zu:%02zu.%03zu", h, mi, se, chance_below(c, 1000));
        break;
    case 3:
        snprintf(t + n, size - n, " %zu:%02zu %s", h % 12 == 0 ? 12 : h % 12, mi, h < 12 ? "AM" : "PM");
        break;
    case 4:
        snprintf(t + n, size - n, "T%02zu:%02zu:%02zu+02:00", h, mi, se);
        break;
    case 5:
        snprintf(t + n, size - n, " %02zu:00:00", h);
        break;
    case 6:
        snprintf(t, size, "%lld%s", (long long)day * 86400 + (long long)(h * 3600 + mi * 60 + se),
                 milliseconds ? "000" : "");
        break;
    default:
        snprintf(t + n, size - n, " %02zu:%02zu:%02zu", h, mi, se);
        break;
    }
}

/* The days between which a column of dates lies: the plan's years "y1..y2" or the role's, or a part. */
static void days_between(chance *c, const spec *s, bool birth, int64_t *ret_lo, int64_t *ret_hi)
{
    double y1 = birth ? 1935 : 2005 + (double)chance_below(c, 16), y2 = birth ? 2006 : 2024;
    const char *dots = strstr(s->arg, "..");
    if (dots != NULL) {
        y1 = strtod(s->arg, NULL);
        y2 = strtod(dots + 2, NULL);
    } else if (!birth && chance_of(c, 0.12)) { /* history: matches, laws, storms, releases */
        y1 = 1880 + (double)chance_below(c, 110);
    }
    int64_t lo = tab_days_from_civil((int)y1, 1, 1), hi = tab_days_from_civil((int)y2, 12, 28);
    if (!birth && chance_of(c, 0.5)) { /* a stretch of it */
        int64_t span = 5 + (int64_t)((double)(hi - lo) * chance_unit(c) * chance_unit(c));
        lo += (int64_t)((double)(hi - lo) * chance_unit(c) * 0.8);
        hi = lo + span;
    }
    *ret_lo = lo;
    *ret_hi = hi;
}

static int64_t first_of_month(int64_t day)
{
    int y, mo, d;
    tab_civil_from_days(day, &y, &mo, &d);
    return tab_days_from_civil(y, mo, 1);
}

static bool dates(maker *m, const spec *s)
{
    chance *c = m->c;
    bool birth = s->role == TAB_ROLE_BIRTH_DATE, stamp = s->role == TAB_ROLE_DATETIME;
    int64_t lo, hi;
    days_between(c, s, birth, &lo, &hi);
    bool after = strstr(s->arg, "after") != NULL && m->day != NULL,
         sorted = !birth && !after && chance_of(c, 0.45);
    bool working = !birth && chance_of(c, 0.2), monthly = !birth && !stamp && chance_of(c, 0.1),
         daily = sorted && chance_of(c, 0.4);
    size_t layout = chance_below(c, 13), clock = chance_below(c, 9);
    if (stamp && layout == 12)
        layout = 0;
    double gap = exp(0.5 + 1.2 * chance_normal(c));
    /* in order, some rows share a day */
    size_t each = sorted && chance_of(c, 0.5) ? 1 + chance_below(c, m->rows / 6 + 2) : 1;
    int64_t *day = tab_arena_new_of(m->a, int64_t, m->rows);
    if (day == NULL)
        return false;
    for (size_t i = 0; i < m->rows; i++) {
        int64_t d = lo + (int64_t)((double)(hi - lo) *
                                   (sorted ? (double)(i - i % each) / (double)m->rows : chance_unit(c)));
        if (daily)
            d = lo + (int64_t)(i / each);
        if (after) /* exponential gaps behind the table's last date */
            d = m->day[i] + (int64_t)(-gap * log(fmax(1e-9, chance_unit(c))));
        while (working && (d + 3) % 7 >= 5) /* no Saturday, no Sunday: day 0 is a Thursday */
            d++;
        day[i] = d = monthly ? first_of_month(d) : d;
        char t[120];
        date_text(m, d, layout, t, sizeof t);
        if (stamp)
            append_clock(c, d, clock, layout > 8, t, sizeof t);
        if (!put_cell(m, i, t))
            return false;
    }
    m->day = day;
    return true;
}

/* A month's or a weekday's number or name, mo 0 .. 11, wd 0 .. 6. */
static void month_text(size_t mo, size_t way, size_t lang, char *t, size_t size)
{
    if (way < 5)
        snprintf(t, size, "%zu", mo + 1);
    else if (way == 5)
        snprintf(t, size, "%02zu", mo + 1);
    else
        snprintf(t, size, "%s", months[way < 9 ? 6 : lang][mo]);
    if (way == 8)
        t[0] = (char)(t[0] | 32);
}

static void weekday_text(size_t wd, size_t way, size_t lang, char *t, size_t size)
{
    if (way < 2)
        snprintf(t, size, "%zu", wd + way);
    else
        snprintf(t, size, "%s", days[way < 6 ? 4 + way % 2 : lang > 3 ? 0 : lang][wd]);
    if (way == 5)
        t[0] = (char)(t[0] | 32);
}

/* A month, a quarter, a week or a year from year to year. */
static void period_text(chance *c, size_t y, size_t mo, size_t way, size_t lang, char *t, size_t size)
{
    if (way < 3)
        snprintf(t, size, "%zu-%02zu", y, mo + 1);
    else if (way < 5)
        snprintf(t, size, way == 3 ? "%zu Q%zu" : "%zuQ%zu", y, mo / 3 + 1);
    else if (way == 5)
        snprintf(t, size, "Q%zu %zu", mo / 3 + 1, y);
    else if (way < 8)
        snprintf(t, size, "%s%s%zu", months[6][mo], way == 6 ? "-" : " ", way == 6 ? y % 100 : y);
    else if (way == 8 && lang == 0) /* as a card expires */
        snprintf(t, size, "%02zu/%02zu", mo + 1, y % 100);
    else if (way == 8)
        snprintf(t, size, "%zu/%02zu", y, (y + 1) % 100);
    else if (way == 9)
        snprintf(t, size, "%zu-%zu", y, y + 1);
    else if (way == 10)
        snprintf(t, size, "%zu-W%02zu", y, chance_below(c, 52) + 1);
    else
        snprintf(t, size, "%zu%02zu", y, mo + 1);
}

static void time_text(size_t h, size_t mi, size_t se, size_t way, char *t, size_t size)
{
    if (way < 4)
        snprintf(t, size, "%02zu:%02zu", h, mi);
    else if (way < 7)
        snprintf(t, size, "%02zu:%02zu:%02zu", h, mi, se);
    else if (way < 9)
        snprintf(t, size, "%zu:%02zu %s", h % 12 == 0 ? 12 : h % 12, mi, h < 12 ? "AM" : "PM");
    else if (way == 9)
        snprintf(t, size, "%zu:%02zu", h, mi);
    else
        snprintf(t, size, way == 10 ? "%02zu%02zu" : "%zu%02zu", h, mi);
    if (way == 11 && h == 0)
        snprintf(t, size, "%zu", mi);
}

/* v seconds, as seconds, minutes, a clock or ISO 8601. */
static void duration_text(double v, size_t way, char *t, size_t size)
{
    if (way < 4)
        snprintf(t, size, "%.0f", v);
    else if (way < 6)
        snprintf(t, size, "%.*f", way - 3 > 1 ? 2 : 1, v / 60);
    else if (way < 8)
        snprintf(t, size, "%d:%02d:%02d", (int)(v / 3600), (int)(v / 60) % 60, (int)v % 60);
    else if (way == 8)
        snprintf(t, size, "%d:%02d", (int)(v / 60), (int)v % 60);
    else if (way == 9)
        snprintf(t, size, v >= 3600 ? "%dh %dm" : "%d min", v >= 3600 ? (int)(v / 3600) : (int)(v / 60),
                 (int)(v / 60) % 60);
    else if (way == 10)
        snprintf(t, size, "PT%dM%dS", (int)(v / 60), (int)v % 60);
    else
        snprintf(t, size, "%.3f", v);
}

/* Months, weekdays, periods, clocks; durations of lo..hi seconds, which are the column's numbers. */
static bool others(maker *m, const spec *s)
{
    chance *c = m->c;
    size_t way = chance_below(c, 12), lang = chance_of(c, 0.5) ? language(m) : 0,
           y0 = 1998 + chance_below(c, 20);
    double lo = 10, hi = 5000;
    const char *dots = strstr(s->arg, "..");
    if (dots != NULL) {
        lo = strtod(s->arg, NULL);
        hi = strtod(dots + 2, NULL);
    }
    bool ordered = chance_of(c, 0.3);
    for (size_t i = 0; i < m->rows; i++) {
        /* every role draws all of these, so that the draws of a row do not depend on its role */
        char t[80];
        size_t mo = ordered ? i % 12 : chance_below(c, 12), wd = ordered ? i % 7 : chance_below(c, 7),
               y = y0 + (ordered ? i / 12 % 25 : chance_below(c, 6));
        size_t h = chance_below(c, 24), mi = chance_below(c, 60), se = chance_below(c, 60);
        double v =
            exp((log(fmax(lo, 0.5)) + log(hi)) / 2 + (log(hi) - log(fmax(lo, 0.5))) / 4 * chance_normal(c));
        m->now[i] = v;
        switch (s->role) {
        case TAB_ROLE_MONTH:
            month_text(mo, way, lang, t, sizeof t);
            break;
        case TAB_ROLE_WEEKDAY:
            weekday_text(wd, way, lang, t, sizeof t);
            break;
        case TAB_ROLE_PERIOD:
            period_text(c, y, mo, way, lang, t, sizeof t);
            break;
        case TAB_ROLE_TIME:
            time_text(h, mi, se, way, t, sizeof t);
            break;
        default:
            duration_text(v, way, t, sizeof t);
            break;
        }
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}

bool make_times(maker *m, const spec *s)
{
    return s->role == TAB_ROLE_DATE || s->role == TAB_ROLE_DATETIME || s->role == TAB_ROLE_BIRTH_DATE
               ? dates(m, s)
               : others(m, s);
}
