/* See parse.h: durations, clock times, yes and no, for column.c and features.c. Each reader takes its text
 * from the left and fails at the first byte that does not fit. An eat_ function steps past what it has
 * read. */
#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/parse.h"

/* 1 to max digits; steps past them. False where there are none, or more than max. */
static bool eat_int(tab_str *s, int max, int *value, int *digits)
{
    int v = 0, n = 0;
    while (s->n > 0 && digit(*s->p) && n < max) {
        v = v * 10 + (*s->p - '0');
        n++;
        s->p++;
        s->n--;
    }
    *value = v;
    *digits = n;
    return n > 0 && (s->n == 0 || !digit(*s->p));
}

/* The digits behind a decimal mark, as a number below 1; 0 where there are none. */
static double eat_fraction(tab_str *s)
{
    double x = 0, unit = 0.1;
    if (s->n > 1 && (*s->p == '.' || *s->p == ',') && digit(s->p[1])) {
        s->p++;
        s->n--;
        for (; s->n > 0 && digit(*s->p); s->p++, s->n--, unit /= 10)
            x += unit * (*s->p - '0');
    }
    return x;
}

/* h:mm, h:mm:ss, h:mm:ss.fff with h of any size; steps past it. `fields` counts the numbers. */
static bool eat_colons(tab_str *s, double *seconds, int *hours, int *fields)
{
    int h, m, sec = 0, dh, dm, ds;
    /* up to six digits of hours: machines run for years */
    if (!eat_int(s, 6, &h, &dh) || s->n == 0 || *s->p != ':')
        return false;
    s->p++, s->n--;
    if (!eat_int(s, 2, &m, &dm) || dm != 2 || m > 59)
        return false;
    *fields = 2;
    double frac = 0;
    if (s->n > 0 && *s->p == ':') {
        s->p++, s->n--;
        if (!eat_int(s, 2, &sec, &ds) || ds != 2 || sec > 60)
            return false;
        *fields = 3;
        frac = eat_fraction(s);
    }
    *hours = h;
    *seconds = h * 3600.0 + m * 60.0 + sec + frac;
    return true;
}

/* ISO 8601: PnDTnHnMnS, PnW, PnYnMnD (a year as 365.25 days, a month as a twelfth of it). */
static bool iso_duration(tab_str s, double *seconds)
{
    /* T divides dates from clock times: M is a month before it and a minute behind it */
    double total = 0;
    bool clock = false, any = false;
    /* the P */
    s.p++, s.n--;
    while (s.n > 0) {
        if (*s.p == 'T' && !clock) {
            clock = true;
            s.p++, s.n--;
            continue;
        }
        int v, d;
        if (!eat_int(&s, 8, &v, &d))
            return false;
        double x = v + eat_fraction(&s);
        if (s.n == 0)
            return false;
        char u = *s.p;
        double by = u == 'W'   ? 604800
                    : u == 'D' ? 86400
                    : u == 'H' ? 3600
                    : u == 'S' ? 1
                    : u == 'Y' ? 31557600
                    : u == 'M' ? (clock ? 60 : 2629800)
                               : 0;
        if (by == 0.0)
            return false;
        total += x * by;
        any = true;
        s.p++, s.n--;
    }
    *seconds = total;
    return any;
}

/* Seconds of a unit; a year is 365.25 days, a month a twelfth of it. 0: no such word. */
static double time_unit(tab_str w)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = {
        { "ms", 1e-3 },       { "s", 1 },           { "sec", 1 },          { "secs", 1 },
        { "second", 1 },      { "seconds", 1 },     { "sek", 1 },          { "m", 60 },
        { "min", 60 },        { "mins", 60 },       { "minute", 60 },      { "minutes", 60 },
        { "minuten", 60 },    { "h", 3600 },        { "hr", 3600 },        { "hrs", 3600 },
        { "hour", 3600 },     { "hours", 3600 },    { "std", 3600 },       { "stunden", 3600 },
        { "heures", 3600 },   { "horas", 3600 },    { "d", 86400 },        { "day", 86400 },
        { "days", 86400 },    { "tage", 86400 },    { "jours", 86400 },    { "dias", 86400 },
        { "w", 604800 },      { "wk", 604800 },     { "week", 604800 },    { "weeks", 604800 },
        { "wochen", 604800 }, { "month", 2629800 }, { "months", 2629800 }, { "mo", 2629800 },
        { "mos", 2629800 },   { "year", 31557600 }, { "years", 31557600 }, { "yr", 31557600 },
        { "yrs", 31557600 },  { "y", 31557600 },
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (tab_str_is(w, units[i].word))
            return units[i].seconds;
    return 0;
}

/* 2:31:29, 1h 30m, 3 days 04:05:06: numbers with a unit each, or one with colons at the end. */
static bool written_duration(tab_str s, double *seconds)
{
    double total = 0;
    bool any = false;
    while (s.n > 0) {
        tab_str was = s;
        double clock;
        int hours, fields;
        /* a part with colons must be the last */
        if (eat_colons(&s, &clock, &hours, &fields)) {
            total += clock;
            any = true;
            if (s.n > 0)
                return false;
            break;
        }
        s = was;
        int v, d;
        if (!eat_int(&s, 8, &v, &d))
            return false;
        double x = v + eat_fraction(&s);
        while (s.n > 0 && *s.p == ' ')
            s.p++, s.n--;
        char word[12];
        size_t n = 0;
        /* the unit's letters, small; a word that does not fit is no unit */
        while (s.n > 0 && n < sizeof word && (*s.p | 32) >= 'a' && (*s.p | 32) <= 'z') {
            word[n++] = (char)(*s.p | 32);
            s.p++, s.n--;
        }
        double by = n < sizeof word ? time_unit((tab_str){ word, n }) : 0;
        if (by == 0.0)
            return false;
        total += x * by;
        any = true;
        while (s.n > 0 && (*s.p == ' ' || *s.p == ',' || *s.p == '.'))
            s.p++, s.n--;
    }
    *seconds = total;
    return any;
}

bool tab_parse_duration(tab_str s, double *seconds)
{
    if (s.n == 0 || s.n > 40)
        return false;
    bool minus = *s.p == '-';
    if (minus)
        s.p++, s.n--;
    double x;
    if (!(s.n > 2 && *s.p == 'P' ? iso_duration(s, &x) : written_duration(s, &x)))
        return false;
    *seconds = minus ? -x : x;
    return true;
}

/* 9:30, 9:30:05.250 PM, 21h30. Twelve hours need AM or PM; a time of 24:00 and more is a duration. */
bool tab_parse_clock(tab_str s, double *seconds)
{
    if (s.n < 3 || s.n > 24 || !digit(*s.p))
        return false;
    double x;
    int h, fields;
    tab_str was = s;
    if (!eat_colons(&s, &x, &h, &fields)) {
        /* 21h30, 9h */
        int m = 0, dh, dm;
        s = was;
        if (!eat_int(&s, 2, &h, &dh) || s.n == 0 || (*s.p != 'h' && *s.p != 'H'))
            return false;
        s.p++, s.n--;
        if (s.n == 0 || !eat_int(&s, 2, &m, &dm) || dm != 2 || m > 59)
            return false;
        x = h * 3600.0 + m * 60.0;
    }
    while (s.n > 0 && *s.p == ' ')
        s.p++, s.n--;
    /* AM or PM, with or without points: the hour is one of twelve, and 12 is 0 */
    if (s.n > 0) {
        char half[4] = { 0 };
        size_t n = 0;
        for (size_t i = 0; i < s.n; i++)
            if (s.p[i] != '.' && n < 3)
                half[n++] = (char)(s.p[i] | 32);
        if (n != 2 || half[1] != 'm' || (half[0] != 'a' && half[0] != 'p') || h < 1 || h > 12)
            return false;
        if (half[0] == 'p' && h < 12)
            x += 43200;
        else if (half[0] == 'a' && h == 12)
            x -= 43200;
    }
    /* 24:00 and more are durations; the leap second 23:59:60 goes with them */
    if (!(x < 86400))
        return false;
    *seconds = x;
    return true;
}

/* ---- yes and no ------------------------------------------------------------------------------ */

/* Pairs of words in the languages of the word lists, folded; the bit of a pair is its place here. */
static const struct {
    const char *yes, *no;
} yes_no[] = {
    { "true", "false" },
    { "yes", "no" },
    { "y", "n" },
    { "1", "0" },
    { "t", "f" },
    { "si", "no" },
    { "s", "n" },
    { "oui", "non" },
    { "o", "n" },
    { "ja", "nein" },
    { "j", "n" },
    { "ja", "nee" },
    { "ja", "nej" },
    { "ja", "nei" },
    { "sim", "nao" },
    { "da", "ne" },
    { "da", "nu" },
    { "tak", "nie" },
    { "ano", "ne" },
    { "kylla", "ei" },
    { "evet", "hayir" },
    { "on", "off" },
    { "vrai", "faux" },
    { "wahr", "falsch" },
    { "vero", "falso" },
    { "verdadero", "falso" },
    { "verdadeiro", "falso" },
    { "igen", "nem" },
    { "co", "khong" },
    { "ya", "tidak" },
    { "да", "нет" },
    { "是", "否" },
    { "はい", "いいえ" },
    { "예", "아니오" },
    { "نعم", "لا" },
    { "हाँ", "नहीं" },
    { "1.0", "0.0" },
    { "x", "-" },
    { "ναι", "όχι" },
    { "ναι", "Όχι" }, /* as folded: Greek capitals with an accent stay */
};

/* A table of pairs in the languages of the word lists. One word may be in several pairs ("ja" of German,
 * Dutch, Swedish and Norwegian); the column's other values say which pair it is. */
uint64_t tab_parse_bool(tab_str s, bool *ret)
{
    if (s.n == 0 || s.n > 18)
        return 0;
    /* Most cells are turned away by how they start: no pair has such a letter, or goes on so after a
     * digit. */
    unsigned char a = (unsigned char)s.p[0], b = s.n > 1 ? (unsigned char)s.p[1] : 0;
    if (a > ' ' && a < 0x80 && strchr("TtFfYyNn10SsOoJjDdKkEeVvWwIiCcXx-AaHhLl", a) == NULL)
        return 0;
    if (digit((char)a) && b > ' ' && b < 0x80 && b != '.')
        return 0;
    char buf[64];
    uint64_t mask = 0;
    tab_str f = tab_fold(s, buf, sizeof buf);
    for (size_t i = 0; i < sizeof yes_no / sizeof *yes_no; i++) {
        if (f.n == 0 || (f.p[0] != yes_no[i].yes[0] && f.p[0] != yes_no[i].no[0]))
            continue;
        bool yes = tab_str_is(f, yes_no[i].yes);
        if (yes || tab_str_is(f, yes_no[i].no)) {
            *ret = yes;
            mask |= UINT64_C(1) << i;
        }
    }
    return mask;
}
