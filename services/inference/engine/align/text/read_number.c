/* See view.h: numbers as two tables may write them differently, for view.c. Looser than profile's reader
 * (profile/cells/parse_number.c): there a column's role is at stake, here only whether two values are equal.
 * */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/view.h"
#include "services/inference/engine/profile/cells/ascii.h"

/* "3:18", "1:02:03", "3:18.5": seconds. */
static bool read_clock(const char *p, size_t n, double *ret)
{
    /* total: the parts before this one; part: the one at hand; scale: of the next decimal digit, 0 before a
     * point */
    double total = 0, part = 0, scale = 0;
    int parts = 1;
    size_t width = 0;
    for (size_t i = 0; i < n; i++) {
        /* a part ends: hours or minutes so far */
        if (p[i] == ':') {
            if (width == 0 || width > 3 || scale != 0 || parts == 3)
                return false;
            total = (total + part) * 60;
            part = 0;
            width = 0;
            parts++;
        } else if (p[i] == '.' && scale == 0) {
            scale = 1;
        } else if (digit(p[i])) {
            if (scale == 0) {
                part = part * 10 + (p[i] - '0');
                width++;
            } else {
                scale /= 10;
                part += scale * (p[i] - '0');
            }
        } else {
            return false;
        }
    }
    *ret = total + part;
    return parts > 1 && width > 0;
}

/* "3m 18sec", "1h 2 min": seconds. */
static bool read_duration(const char *p, size_t n, double *ret)
{
    double total = 0;
    size_t i = 0;
    bool any = false;
    while (i < n) {
        /* a number of at most nine digits */
        double x = 0;
        size_t from = i;
        for (; i < n && digit(p[i]) && i - from < 9; i++)
            x = x * 10 + (p[i] - '0');
        if (i == from)
            return false;
        while (i < n && p[i] == ' ')
            i++;
        /* and its unit, by the first letter; "mm" and "ms" are no minutes */
        size_t unit = i;
        while (i < n && letter(p[i]))
            i++;
        char u = i > unit ? p[unit] : 0;
        size_t un = i - unit;
        /* hours, minutes, seconds by the first letter of a word that is short enough */
        if ((u == 'h' || u == 'H') && un <= 5)
            total += x * 3600;
        else if ((u == 'm' || u == 'M') && un <= 7 &&
                 !(un == 2 && (p[unit + 1] == 'm' || p[unit + 1] == 's')))
            total += x * 60;
        else if ((u == 's' || u == 'S') && un <= 7)
            total += x;
        else
            return false;
        any = true;
        while (i < n && (p[i] == ' ' || p[i] == ',' || p[i] == '.'))
            i++;
    }
    *ret = total;
    return any;
}

/* The sign behind the part of an angle, and its bytes: degrees 0, minutes 1, seconds 2; -1: none of them. */
static int angle_sign(const char *p, size_t n, size_t *bytes)
{
    static const struct {
        const char *sign;
        int part;
    } signs[] = { { "\xc2\xb0", 0 }, { "\xc2\xba", 0 },     { "''", 2 },
                  { "'", 1 },        { "\xe2\x80\xb2", 1 }, { "\xe2\x80\x99", 1 },
                  { "\"", 2 },       { "\xe2\x80\xb3", 2 }, { "\xe2\x80\x9d", 2 } };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        *bytes = strlen(signs[i].sign);
        if (n >= *bytes && memcmp(p, signs[i].sign, *bytes) == 0)
            return signs[i].part;
    }
    return -1;
}

/* N and E are 1, S and W -1; 0: no letter of a hemisphere. */
static int hemisphere(char c)
{
    return c == 'N' || c == 'E' ? 1 : c == 'S' || c == 'W' ? -1 : 0;
}

/* 48°12'30.5"N, W 3° 42.25′: degrees. Minutes or the letter must be there, since 25° is a temperature. */
static bool read_angle(const char *p, size_t n, double *ret)
{
    static const double of[] = { 1, 60, 3600 };
    int side = n > 0 ? hemisphere(*p) : 0, part = -1, last = -1;
    double total = 0;
    for (size_t i = side != 0; i < n;) {
        if (p[i] == ' ') {
            i++;
            continue;
        }
        if (side == 0 && i + 1 == n && (side = hemisphere(p[i])) != 0)
            break;
        double x = 0, scale = 1;
        size_t from = i, bytes = 0;
        for (; i < n && (digit(p[i]) || (p[i] == '.' && scale == 1)) && i - from < 12; i++)
            if (p[i] == '.')
                scale = 0.1;
            else if (scale == 1)
                x = x * 10 + (p[i] - '0');
            else
                x += scale * (p[i] - '0'), scale /= 10;
        if (i == from || (part = angle_sign(p + i, n - i, &bytes)) != last + 1 || x > (part == 0 ? 180 : 60))
            return false;
        total += x / of[last = part];
        i += bytes;
    }
    *ret = side < 0 ? -total : total;
    return last > 0 || (last == 0 && side != 0);
}

/* Digits with groups of three, a decimal mark and an exponent. */
static bool read_decimal(const char *p, size_t n, char decimal, double *ret)
{
    /* the number as strtod reads it: no groups, a point */
    char buf[48], group = decimal == ',' ? '.' : ',';
    size_t to = 0, since = 0;
    bool grouped = false, point = false;
    for (size_t i = 0; i < n; i++) {
        /* digits are copied; group marks are checked and left out */
        if (digit(p[i])) {
            buf[to++] = p[i];
            since++;
        } else if (p[i] == group && !point && since <= 3 && since > 0 && (!grouped || since == 3)) {
            grouped = true;
            since = 0;
        } else if (p[i] == decimal && !point && (!grouped || since == 3)) {
            point = true;
            buf[to++] = '.';
        } else if ((p[i] == 'e' || p[i] == 'E') && i > 0 && i + 1 < n && n - i <= 5) {
            buf[to++] = 'e';
            /* the exponent must be all that is left */
            for (i++; i < n; i++) {
                if (!digit(p[i]) && p[i] != '-' && p[i] != '+')
                    return false;
                buf[to++] = p[i];
            }
        } else {
            return false;
        }
    }
    /* the last group has three digits, too */
    if (grouped && !point && since != 3)
        return false;
    buf[to] = 0;
    char *end;
    *ret = strtod(buf, &end);
    return *end == 0 && isfinite(*ret);
}

/* Blanks, a sign, a currency sign at either end and a per cent sign are skipped; then an angle, a clock time,
 * a duration or a decimal number must fill the rest. */
bool tab_read_number(tab_str s, char decimal, double *ret)
{
    const char *p = s.p;
    size_t n = s.n;
    /* blanks, sign and currency */
    while (n > 0 && (*p == ' ' || *p == '\t'))
        p++, n--;
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '%'))
        n--;
    bool negative = n > 1 && *p == '-';
    if (n > 1 && (*p == '-' || *p == '+'))
        p++, n--;
    if (n > 1 && *p == '$')
        p++, n--;
    else if (n > 2 && (memcmp(p, "\xc2\xa3", 2) == 0 || memcmp(p, "\xc2\xa5", 2) == 0))
        p += 2, n -= 2;
    else if (n > 3 && memcmp(p, "\xe2\x82\xac", 3) == 0)
        p += 3, n -= 3;
    /* a euro sign behind the number */
    if (n > 3 && memcmp(p + n - 3, "\xe2\x82\xac", 3) == 0)
        n -= 3;
    while (n > 0 && *p == ' ')
        p++, n--;
    while (n > 0 && p[n - 1] == ' ')
        n--;
    if (n > 3 && n <= 40 && read_angle(p, n, ret)) {
        *ret = negative ? -*ret : *ret;
        return true;
    }
    /* what is left must begin with a digit, or with a point and a digit */
    if (n == 0 || n > 40 || (!digit(*p) && !(n > 1 && *p == '.' && digit(p[1]))))
        return false;
    /* a sign before a clock time or a duration is dropped */
    if (read_clock(p, n, ret) || read_duration(p, n, ret))
        return true;

    double x;
    if (!read_decimal(p, n, decimal, &x))
        return false;
    *ret = negative ? -x : x;
    return true;
}
