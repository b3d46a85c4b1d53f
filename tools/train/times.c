/* Dates, timestamps, clocks, periods, months, weekdays and durations in the notations of tables. A plan says
 * years "y1..y2"; "after": some time after the date column before, row by row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/profile/parse.h"
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

static bool dates(maker *m, const spec *s)
{
    chance *c = m->c;
    bool birth = s->role == TAB_ROLE_BIRTH_DATE, stamp = s->role == TAB_ROLE_DATETIME;
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
        if (after)
            d = m->day[i] + (int64_t)(-gap * log(fmax(1e-9, chance_unit(c))));
        if (working)
            while ((d + 3) % 7 >= 5)
                d++;
        if (monthly) {
            int y, mo, dd;
            tab_civil_from_days(d, &y, &mo, &dd);
            d = tab_days_from_civil(y, mo, 1);
        }
        day[i] = d;
        char t[120];
        date_text(m, d, layout, t, sizeof t);
        if (stamp) {
            size_t h = chance_below(c, 24), mi = chance_below(c, 60), se = chance_below(c, 60), n = strlen(t);
            switch (clock) {
            case 0:
                snprintf(t + n, sizeof t - n, "T%02zu:%02zu:%02zuZ", h, mi, se);
                break;
            case 1:
                snprintf(t + n, sizeof t - n, " %02zu:%02zu", h, mi);
                break;
            case 2:
                snprintf(t + n, sizeof t - n, " %02zu:%02zu:%02zu.%03zu", h, mi, se, chance_below(c, 1000));
                break;
            case 3:
                snprintf(t + n, sizeof t - n, " %zu:%02zu %s", h % 12 == 0 ? 12 : h % 12, mi,
                         h < 12 ? "AM" : "PM");
                break;
            case 4:
                snprintf(t + n, sizeof t - n, "T%02zu:%02zu:%02zu+02:00", h, mi, se);
                break;
            case 5:
                snprintf(t + n, sizeof t - n, " %02zu:00:00", h);
                break;
            case 6:
                snprintf(t, sizeof t, "%lld%s", (long long)d * 86400 + (long long)(h * 3600 + mi * 60 + se),
                         layout > 8 ? "000" : "");
                break;
            default:
                snprintf(t + n, sizeof t - n, " %02zu:%02zu:%02zu", h, mi, se);
                break;
            }
        }
        if (!put_cell(m, i, t))
            return false;
    }
    m->day = day;
    return true;
}

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
        char t[80];
        size_t mo = ordered ? i % 12 : chance_below(c, 12), wd = ordered ? i % 7 : chance_below(c, 7),
               y = y0 + (ordered ? i / 12 % 25 : chance_below(c, 6));
        size_t h = chance_below(c, 24), mi = chance_below(c, 60), se = chance_below(c, 60);
        double v =
            exp((log(fmax(lo, 0.5)) + log(hi)) / 2 + (log(hi) - log(fmax(lo, 0.5))) / 4 * chance_normal(c));
        m->now[i] = v;
        switch (s->role) {
        case TAB_ROLE_MONTH:
            if (way < 5)
                snprintf(t, sizeof t, "%zu", mo + 1);
            else if (way == 5)
                snprintf(t, sizeof t, "%02zu", mo + 1);
            else
                snprintf(t, sizeof t, "%s", months[way < 9 ? 6 : lang][mo]);
            if (way == 8)
                t[0] = (char)(t[0] | 32);
            break;
        case TAB_ROLE_WEEKDAY:
            if (way < 2)
                snprintf(t, sizeof t, "%zu", wd + way);
            else
                snprintf(t, sizeof t, "%s", days[way < 6 ? 4 + way % 2 : lang > 3 ? 0 : lang][wd]);
            if (way == 5)
                t[0] = (char)(t[0] | 32);
            break;
        case TAB_ROLE_PERIOD:
            if (way < 3)
                snprintf(t, sizeof t, "%zu-%02zu", y, mo + 1);
            else if (way < 5)
                snprintf(t, sizeof t, way == 3 ? "%zu Q%zu" : "%zuQ%zu", y, mo / 3 + 1);
            else if (way == 5)
                snprintf(t, sizeof t, "Q%zu %zu", mo / 3 + 1, y);
            else if (way < 8)
                snprintf(t, sizeof t, "%s%s%zu", months[6][mo], way == 6 ? "-" : " ", way == 6 ? y % 100 : y);
            else if (way == 8 && lang == 0) /* as a card expires */
                snprintf(t, sizeof t, "%02zu/%02zu", mo + 1, y % 100);
            else if (way == 8)
                snprintf(t, sizeof t, "%zu/%02zu", y, (y + 1) % 100);
            else if (way == 9)
                snprintf(t, sizeof t, "%zu-%zu", y, y + 1);
            else if (way == 10)
                snprintf(t, sizeof t, "%zu-W%02zu", y, chance_below(c, 52) + 1);
            else
                snprintf(t, sizeof t, "%zu%02zu", y, mo + 1);
            break;
        case TAB_ROLE_TIME:
            if (way < 4)
                snprintf(t, sizeof t, "%02zu:%02zu", h, mi);
            else if (way < 7)
                snprintf(t, sizeof t, "%02zu:%02zu:%02zu", h, mi, se);
            else if (way < 9)
                snprintf(t, sizeof t, "%zu:%02zu %s", h % 12 == 0 ? 12 : h % 12, mi, h < 12 ? "AM" : "PM");
            else if (way == 9)
                snprintf(t, sizeof t, "%zu:%02zu", h, mi);
            else
                snprintf(t, sizeof t, way == 10 ? "%02zu%02zu" : "%zu%02zu", h, mi);
            if (way == 11 && h == 0)
                snprintf(t, sizeof t, "%zu", mi);
            break;
        default: /* duration, in seconds lo..hi */
            if (way < 4)
                snprintf(t, sizeof t, "%.0f", v);
            else if (way < 6)
                snprintf(t, sizeof t, "%.*f", way - 3 > 1 ? 2 : 1, v / 60);
            else if (way < 8)
                snprintf(t, sizeof t, "%d:%02d:%02d", (int)(v / 3600), (int)(v / 60) % 60, (int)v % 60);
            else if (way == 8)
                snprintf(t, sizeof t, "%d:%02d", (int)(v / 60), (int)v % 60);
            else if (way == 9)
                snprintf(t, sizeof t, v >= 3600 ? "%dh %dm" : "%d min",
                         v >= 3600 ? (int)(v / 3600) : (int)(v / 60), (int)(v / 60) % 60);
            else if (way == 10)
                snprintf(t, sizeof t, "PT%dM%dS", (int)(v / 60), (int)v % 60);
            else
                snprintf(t, sizeof t, "%.3f", v);
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
