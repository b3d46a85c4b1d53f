/* Dates by tokens, for column.c and features.c. The cell becomes at most 24 numbers, words and marks. The
 * first three say which layout it is, and what is left must be a clock and a zone.
 *
 *   tab_parse_date ─> iso            2019-05-31 10:20:30, without tokens
 *                  ─> compact        20190531, 20190531143000
 *                  ─> periods        2019-Q4, May 2019, 2018/19
 *                  ─> front          three_numbers, day_first, month_first
 *                       └─> date_clock (date_tokens.h)
 *
 * No layout is tried by regular expressions, so the time is linear in the cell's bytes (parse.h). */
#include <math.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/date_tokens.h"
#include "services/inference/engine/profile/cells/parse.h"

/* Days since 1970-01-01 of a date of the Gregorian calendar, and back. Howard Hinnant, "chrono-compatible
 * low-level date algorithms": eras of 400 years, which begin on March 1. */
int64_t tab_days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    /* yoe: year of the era, 0 to 399. 153 days are five months from March on; 719468 days lie between
     * 0000-03-01 and 1970-01-01. */
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void tab_civil_from_days(int64_t days, int *y, int *m, int *d)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int)(yoe + era * 400 + (*m <= 2));
}

/* Days of a month in the Gregorian calendar. */
static int month_days(int y, int m)
{
    static const int n[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)) ? 29 : n[m - 1];
}

/* Whether there is such a day. */
static bool valid(int y, int m, int d)
{
    return y >= 1 && m >= 1 && m <= 12 && d >= 1 && d <= month_days(y, m);
}

/* Marks that stand between the parts of a date. */
static bool gap(char kind)
{
    return kind == '-' || kind == '/' || kind == '.' || kind == ' ' || kind == ',' || kind == '\'';
}

/* A year of four digits, 1000 to 2999; 0 for any other token. */
static int four(const date_token *t)
{
    if (t->kind != 'n')
        return 0;
    if (t->digits == 4 && t->value >= 1000 && t->value <= 2999)
        return (int)t->value;
    return 0;
}

/* A year of two or four digits; two digits mean 1970 to 2069, as POSIX's strptime has it but for one year. */
static int year_of(const date_token *t)
{
    if (t->kind == 'n' && t->digits == 2)
        return (int)(t->value < 70 ? 2000 + t->value : 1900 + t->value);
    return four(t);
}

static int small(const date_token *t) /* day or month: one or two digits */
{
    return t->kind == 'n' && t->digits <= 2 ? (int)t->value : 0;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* The day as seconds since 1970; false where there is no such day. */
static bool set(tab_date *r, int y, int m, int d)
{
    if (!valid(y, m, d))
        return false;
    r->year = y;
    r->seconds = (double)tab_days_from_civil(y, m, d) * 86400.0;
    return true;
}

/* A span of time is given by the first instant of its first month. */
static bool period(tab_date *r, int y, int m)
{
    r->form = TAB_FORM_PERIOD;
    return set(r, y, m, 1);
}

/* 20190531T143000Z and 20190531T1430+02 (ISO 8601's basic format) */
static bool basic(const date_token *t, int n, tab_date *r)
{
    if (n < 3 || t[0].digits != 8 || !IS_WORD(&t[1], "t") || (t[2].digits != 6 && t[2].digits != 4))
        return false;
    int64_t day = t[0].value, clock = t[2].digits == 4 ? t[2].value * 100 : t[2].value;
    int y = (int)(day / 10000);
    double seconds = (double)(clock / 10000 * 3600 + clock / 100 % 100 * 60 + clock % 100);
    if (y < 1800 || y > 2100 || clock / 10000 > 23 || clock / 100 % 100 > 59 || clock % 100 > 60 ||
        !set(r, y, (int)(day / 100 % 100), (int)(day % 100)) || !date_zone(t, 3, n, &seconds))
        return false;
    r->form = TAB_FORM_DATETIME;
    r->seconds += seconds;
    r->midnight = clock == 0;
    return true;
}

/* 20190531, 20190531143000, 201905311430 */
static bool compact(const date_token *t, int n, tab_date *r)
{
    if (n != 1 || t[0].kind != 'n')
        return basic(t, n, r);
    int64_t v = t[0].value, clock = 0;
    int digits = t[0].digits;
    if (digits == 14)
        clock = v % 1000000, v /= 1000000;
    else if (digits == 12)
        clock = v % 10000 * 100, v /= 10000;
    else if (digits != 8)
        return false;
    /* years 1800 to 2100 only: most other numbers of eight digits are keys */
    int y = (int)(v / 10000);
    if (y < 1800 || y > 2100 || !set(r, y, (int)(v / 100 % 100), (int)(v % 100)))
        return false;
    if (clock / 10000 > 23 || clock / 100 % 100 > 59 || clock % 100 > 59)
        return false;
    r->compact = true;
    if (digits > 8) {
        r->form = TAB_FORM_DATETIME;
        r->seconds += (double)(clock / 10000 * 3600 + clock / 100 % 100 * 60 + clock % 100);
        r->midnight = clock == 0;
    }
    return true;
}

/* The Monday of week v of year y. ISO 8601: week 1 holds January 4. */
static double monday(int y, int64_t v)
{
    int64_t jan4 = tab_days_from_civil(y, 1, 4);
    return (double)(jan4 - (jan4 + 3) % 7 + (v - 1) * 7) * 86400.0;
}

/* 2019-W05-3, the week and its day */
static bool week_date(const date_token *t, int n, tab_date *r)
{
    if (n != 6 || four(&t[0]) == 0 || t[1].kind != '-' || !IS_WORD(&t[2], "w") || t[3].digits != 2 ||
        t[3].value < 1 || t[3].value > 53 || t[4].kind != '-' || t[5].digits != 1 || t[5].value < 1 ||
        t[5].value > 7)
        return false;
    r->year = four(&t[0]);
    r->seconds = monday(r->year, t[3].value) + (double)(t[5].value - 1) * 86400.0;
    return true;
}

/* A letter and a number on either side of the year: 2019-Q4, H1 2019, 2019W05, 2019M11. */
static bool lettered_period(const date_token *t, int n, tab_date *r)
{
    int y;
    for (int first = 0; first < 2; first++) {
        const date_token *l = NULL, *v = NULL, *yr = NULL;
        if (!first && (n == 3 || n == 4)) { /* 2019 Q 4, 2019 - Q 4 */
            yr = &t[0], l = &t[n - 2], v = &t[n - 1];
            if (n == 4 && !gap(t[1].kind))
                continue;
        } else if (first && (n == 3 || n == 4)) { /* Q 4 [-] 2019 */
            l = &t[0], v = &t[1], yr = &t[n - 1];
            if (n == 4 && !gap(t[2].kind))
                continue;
        } else {
            continue;
        }
        y = four(yr);
        if (y == 0 || l->kind != 'w' || l->n != 1 || v->kind != 'n' || v->digits > 2)
            continue;
        char c = (char)(*l->text.p & ~32);
        if (c == 'Q' && v->digits == 1 && v->value >= 1 && v->value <= 4)
            return period(r, y, (int)v->value * 3 - 2);
        /* H and S: half-years (semesters) */
        if ((c == 'H' || c == 'S') && v->digits == 1 && v->value >= 1 && v->value <= 2)
            return period(r, y, (int)v->value * 6 - 5);
        if (c == 'M' && yr == &t[0] && v->value >= 1 && v->value <= 12) /* statistical offices */
            return period(r, y, (int)v->value);
        /* the token of a week is split: "2019W05" is 2019, W, 05 */
        if (c == 'W' && v->value >= 1 && v->value <= 53 && period(r, y, 1)) {
            r->seconds = monday(y, v->value);
            return true;
        }
    }
    return false;
}

/* Quarters, halves, weeks, seasons, months: 2019-Q4, Q4 2019, 2019W05, 2019-05, May 2019, 2018/19. */
static bool periods(const date_token *t, int n, tab_date *r)
{
    int y;
    /* year first: a month behind it, or the next year (a season, which begins in July) */
    if (n == 3 && gap(t[1].kind) && (y = four(&t[0])) > 0 && t[2].kind == 'n') {
        if (t[2].digits <= 2 && t[2].value >= 1 && t[2].value <= 12 && t[1].kind != ',' &&
            !(t[1].kind == '.' && t[2].digits == 1)) /* 2019.5 is a number */
            return period(r, y, (int)t[2].value);
        if ((t[2].digits == 2 && t[2].value == (y + 1) % 100) || t[2].value == y + 1)
            return t[1].kind != '.' && t[1].kind != ',' && period(r, y, 7); /* a season */
        return false;
    }
    /* month first: 05/2019 */
    if (n == 3 && (t[1].kind == '/' || t[1].kind == '-') && (y = four(&t[2])) > 0 && small(&t[0]) >= 1 &&
        small(&t[0]) <= 12)
        return period(r, y, small(&t[0]));
    if (n >= 2 && n <= 3 && t[0].kind == 'w') { /* May 2019, May-19, FY2019, Q4... */
        int m = tab_month_name(date_word(&t[0]));
        const date_token *last = &t[n - 1];
        bool dashed = n == 3 && (t[1].kind == '-' || t[1].kind == '\'');
        if (m > 0 && (n == 2 || gap(t[1].kind)) && (four(last) > 0 || (dashed && last->digits == 2)))
            return period(r, year_of(last), m);
        if (IS_WORD(&t[0], "fy") && four(last) > 0)
            return period(r, four(last), 1);
    }
    /* May '19, as spreadsheets write it */
    if (n == 4 && t[0].kind == 'w' && t[1].kind == ' ' && t[2].kind == '\'' && t[3].digits == 2) {
        int m = tab_month_name(date_word(&t[0]));
        return m > 0 && period(r, year_of(&t[3]), m);
    }
    /* 2019 May */
    if (n == 3 && gap(t[1].kind) && (y = four(&t[0])) > 0 && t[2].kind == 'w') {
        int m = tab_month_name(date_word(&t[2]));
        return m > 0 && period(r, y, m);
    }
    return lettered_period(t, n, r);
}

/* Where both numbers may be the day, `order` decides and the impossible day speaks. */
static bool day_month(tab_date *r, int a, int b, int y, tab_date_order order)
{
    bool dmy = valid(y, b, a), mdy = valid(y, a, b);
    r->numeric = true;
    r->only_dmy = dmy && !mdy;
    r->only_mdy = mdy && !dmy;
    if (!dmy && !mdy)
        return false;
    /* The column's order decides where both are days; where one is not, the other holds. */
    bool use_dmy = order == TAB_ORDER_DMY ? dmy : !mdy;
    return use_dmy ? set(r, y, b, a) : set(r, y, a, b);
}

/* Three numbers with one mark between them: 2020-05-03, 3.5.2020, 5/3/20. */
static int three_numbers(const date_token *t, tab_date_order order, tab_date *r)
{
    int y = four(&t[0]);
    if (y > 0)
        return small(&t[2]) > 0 && set(r, y, small(&t[2]), small(&t[4])) ? 5 : 0;
    y = four(&t[4]);
    if (y == 0 && t[4].digits == 2 && t[1].kind != ' ')
        y = year_of(&t[4]);
    /* 1.5.20 is a version as well as a date: two-digit years need two-digit days or a slash */
    if (t[4].digits == 2 && t[1].kind == '.' && t[0].digits + t[2].digits < 3)
        return 0;
    if (y > 0 && small(&t[0]) > 0 && small(&t[2]) > 0)
        return day_month(r, small(&t[0]), small(&t[2]), y, order) ? 5 : 0;
    return 0;
}

/* 3 [th] [of|de] May [de] 2020, 3-May-20, 03May2020 */
static int day_first(const date_token *t, int n, tab_date *r)
{
    int i = 1, m, y;
    if (i < n && IS_WORD(&t[i], "st", "nd", "rd", "th", "er"))
        i++;
    /* marks and little words between the day, the month and the year */
    while (i < n && (gap(t[i].kind) || IS_WORD(&t[i], "of", "de", "d", "di")))
        i++;
    if (i == n || t[i].kind != 'w' || (m = tab_month_name(date_word(&t[i]))) <= 0)
        return 0;
    i++;
    while (i < n && (gap(t[i].kind) || IS_WORD(&t[i], "de", "del", "of")))
        i++;
    return i < n && (y = year_of(&t[i])) > 0 && set(r, y, m, small(&t[0])) ? i + 1 : 0;
}

/* May 3[rd][,] 2020, and C's asctime: May  3 12:00:00 2020. m: the month that t[0] names. */
static int month_first(const date_token *t, int n, int m, tab_date *r)
{
    int i = 1, y;
    while (i < n && gap(t[i].kind))
        i++;
    int d = i < n ? small(&t[i]) : 0;
    if (d == 0)
        return 0;
    i++;
    if (i < n && IS_WORD(&t[i], "st", "nd", "rd", "th"))
        i++;
    while (i < n && gap(t[i].kind))
        i++;
    if (i < n && (y = four(&t[i])) > 0)
        return set(r, y, m, d) ? i + 1 : 0;
    double clock;
    if (i + 6 <= n && t[n - 2].kind == ' ' && (y = four(&t[n - 1])) > 0 && date_clock(t, i, n - 2, &clock) &&
        set(r, y, m, d)) {
        r->form = TAB_FORM_DATETIME;
        r->seconds += clock;
        return n;
    }
    return 0;
}

/* The date at the front; returns how many tokens it took, 0 when there is none. */
static int front(const date_token *t, int n, tab_date_order order, tab_date *r)
{
    if (n < 3)
        return 0;
    /* the layout is told by the first tokens; each function gives back the number of tokens it used */
    int y = four(&t[0]), m;
    if (n >= 5 && t[0].kind == 'n' && t[2].kind == 'n' && t[4].kind == 'n' && t[1].kind == t[3].kind &&
        gap(t[1].kind) && t[1].kind != ',')
        return three_numbers(t, order, r);
    if (n >= 5 && y > 0 && gap(t[1].kind) && t[2].kind == 'w' && (m = tab_month_name(date_word(&t[2]))) > 0 &&
        gap(t[3].kind) && small(&t[4]) > 0) /* 2020-May-3 */
        return set(r, y, m, small(&t[4])) ? 5 : 0;
    if (small(&t[0]) > 0)
        return day_first(t, n, r);
    if (t[0].kind == 'w' && (m = tab_month_name(date_word(&t[0]))) > 0)
        return month_first(t, n, m, r);
    return 0;
}

/* n digits at p, or -1. */
static int digits_at(const char *p, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (!digit(p[i]))
            return -1;
        v = v * 10 + (p[i] - '0');
    }
    return v;
}

/* ISO 8601 as programs write it, 2019-05-31 and 2019-05-31 10:20:30 (or T), without tokens: nearly all
 * long columns of dates are written so. What does not fit exactly is left to the tokens. */
static bool iso(tab_str s, tab_date *ret)
{
    const char *p = s.p;
    if ((s.n != 10 && s.n != 16 && s.n != 19) || p[4] != '-' || p[7] != '-')
        return false;
    int y = digits_at(p, 4), m = digits_at(p + 5, 2), d = digits_at(p + 8, 2), h = 0, mi = 0, se = 0;
    if (m < 0 || d < 0 || !valid(y, m, d))
        return false;
    if (s.n > 10) {
        if ((p[10] != ' ' && p[10] != 'T') || p[13] != ':' || (s.n == 19 && p[16] != ':'))
            return false;
        h = digits_at(p + 11, 2);
        mi = digits_at(p + 14, 2);
        se = s.n == 19 ? digits_at(p + 17, 2) : 0;
        if (h < 0 || h > 23 || mi < 0 || mi > 59 || se < 0 || se > 59)
            return false; /* a leap second is left to the tokens */
    }
    int clock = h * 3600 + mi * 60 + se;
    *ret = (tab_date){ .form = s.n == 10 ? TAB_FORM_DATE : TAB_FORM_DATETIME,
                       .year = y,
                       .midnight = s.n > 10 && clock == 0,
                       .seconds = (double)tab_days_from_civil(y, m, d) * 86400 + clock };
    return true;
}

/* /Date(1700000000000)/ and /Date(1700000000000+0100)/, as .NET writes moments into JSON: milliseconds since
 * 1970 in UTC; the offset says where, and changes nothing. */
static bool dotnet(tab_str s, tab_date *ret)
{
    static const char begin[] = "/Date(", end[] = ")/";
    size_t i = sizeof begin - 1, digits = 0;
    if (s.n < sizeof begin + sizeof end - 1 || memcmp(s.p, begin, i) != 0 ||
        memcmp(s.p + s.n - 2, end, 2) != 0)
        return false;
    bool minus = s.p[i] == '-';
    double ms = 0;
    for (i += minus; digit(s.p[i]); i++, digits++)
        ms = 10 * ms + (s.p[i] - '0');
    bool zone = (s.p[i] == '+' || s.p[i] == '-') && i + 7 == s.n && digits_at(s.p + i + 1, 4) >= 0;
    if (digits == 0 || digits > 15 || (i + 2 != s.n && !zone))
        return false;
    int y, m, d;
    double seconds = (minus ? -ms : ms) / 1000;
    if (fabs(seconds) > 4e11) /* some 12,000 years */
        return false;
    tab_civil_from_days((int64_t)floor(seconds / 86400), &y, &m, &d);
    *ret = (tab_date){
        .form = TAB_FORM_DATETIME, .year = y, .midnight = fmod(seconds, 86400) == 0.0, .seconds = seconds
    };
    return y >= 1 && y <= 9999;
}

/* ISO 8601 first, then a run of digits, periods, and the other layouts. A weekday before a date is
 * skipped. What follows the date must be a clock time. */
bool tab_parse_date(tab_str s, tab_date_order order, tab_date *ret)
{
    date_token t[TAB_DATE_TOKENS];
    if (s.n < 5 || s.n > TAB_DATE_BYTES)
        return false;
    if (iso(s, ret) || dotnet(s, ret))
        return true;
    bool any = false;
    for (size_t i = 0; i < s.n && !any; i++)
        any = digit(s.p[i]);
    int n = any ? date_tokens(date_without_zone_name(s), t) : 0;
    if (n <= 0)
        return false;
    tab_date r = { .form = TAB_FORM_DATE };
    int i = 0;
    /* a run of digits alone */
    if (compact(t, n, &r)) {
        *ret = r;
        return true;
    }
    /* "Fri, 31 May 2019". "Mar" is also a weekday (martes) and a month: then it is read as the month. */
    if (t[0].kind == 'w' && n > 3 && tab_weekday_name(date_word(&t[0])) > 0 &&
        tab_month_name(date_word(&t[0])) == 0) {
        i = 1;
        while (i < n && gap(t[i].kind))
            i++;
    }
    r = (tab_date){ .form = TAB_FORM_DATE };
    if (periods(t + i, n - i, &r) || week_date(t + i, n - i, &r)) {
        *ret = r;
        return true;
    }
    r = (tab_date){ .form = TAB_FORM_DATE };
    int used = front(t + i, n - i, order, &r);
    if (used == 0)
        return false;
    i += used;
    if (i < n && t[i].kind == '.' && i + 1 == n)
        i++; /* 2020. 5. 3. */
    if (i < n) {
        double clock;
        if (!date_clock(t, i, n, &clock))
            return false;
        r.form = TAB_FORM_DATETIME;
        r.midnight = clock == 0.0;
        r.seconds += clock;
    }
    *ret = r;
    return true;
}
