/* See time.h: two clocks (wall and monotonic), deadlines on the monotonic one, and RFC 3339 texts. */
#include "common/base/time.h"

#include <stdio.h>
#include <time.h>

#include "common/base/point.h"

int64_t tab_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 + tab_point_clock_us();
}

int64_t tab_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t tab_mono_ms(void)
{
    return tab_mono_us() / 1000;
}

bool tab_cond_wait(pthread_cond_t *c, pthread_mutex_t *locked, tab_deadline d)
{
    if (d == TAB_NO_DEADLINE)
        return pthread_cond_wait(c, locked) == 0;
    struct timespec at = { d / 1000, (d % 1000) * 1000000 };
    return pthread_cond_clockwait(c, locked, CLOCK_MONOTONIC, &at) == 0;
}

int64_t tab_left_ms(tab_deadline d, int64_t most)
{
    if (d == TAB_NO_DEADLINE)
        return most;
    int64_t now = tab_mono_ms();
    return d <= now ? 0 : d - now > most ? most : d - now;
}

/* RFC 3339 in UTC; years beyond 9999 have no such text: "". */
static void text(int64_t us, char buf[TAB_TIME_TEXT], bool fraction)
{
    int64_t s = us / 1000000, f = us % 1000000;
    if (f < 0) {
        f += 1000000;
        s--;
    }
    time_t t = (time_t)s;
    struct tm tm;
    if (gmtime_r(&t, &tm) == NULL || tm.tm_year > 8099) {
        buf[0] = 0;
        return;
    }
    size_t n = strftime(buf, TAB_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    if (fraction)
        snprintf(buf + n, TAB_TIME_TEXT - n, ".%06dZ", (int)f);
    else
        snprintf(buf + n, TAB_TIME_TEXT - n, "Z");
}

void tab_time_text(int64_t us, char buf[TAB_TIME_TEXT])
{
    text(us, buf, true);
}

void tab_time_text_s(int64_t us, char buf[TAB_TIME_TEXT])
{
    text(us, buf, false);
}

/* Reads exactly n digits at *at. */
static bool digits(tab_str s, size_t *at, size_t n, int *ret)
{
    int v = 0;
    if (*at + n > s.n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[*at + i];
        if (c < '0' || c > '9')
            return false;
        v = v * 10 + (c - '0');
    }
    *at += n;
    *ret = v;
    return true;
}

static bool sign(tab_str s, size_t *at, char want)
{
    if (*at >= s.n || s.p[*at] != want)
        return false;
    ++*at;
    return true;
}

bool tab_time_parse(tab_str s, int64_t *ret_us)
{
    static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    struct tm tm = { 0 };
    size_t at = 0;
    int y, mo, d, h, mi, sec;
    if (!digits(s, &at, 4, &y) || !sign(s, &at, '-') || !digits(s, &at, 2, &mo) || !sign(s, &at, '-') ||
        !digits(s, &at, 2, &d) || !(sign(s, &at, 'T') || sign(s, &at, ' ')) || !digits(s, &at, 2, &h) ||
        !sign(s, &at, ':') || !digits(s, &at, 2, &mi) || !sign(s, &at, ':') || !digits(s, &at, 2, &sec))
        return false;
    /* a second 60 is let in: timegm makes the next minute of it */
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (mo < 1 || mo > 12 || d < 1 || d > month_days[mo - 1] + (leap && mo == 2) || h > 23 || mi > 59 ||
        sec > 60)
        return false;
    int64_t fraction = 0, unit = 100000;
    if (sign(s, &at, '.')) {
        size_t from = at;
        for (; at < s.n && s.p[at] >= '0' && s.p[at] <= '9'; at++, unit /= 10)
            fraction += (s.p[at] - '0') * unit;
        if (at == from)
            return false;
    }
    int offset = 0;
    if (!sign(s, &at, 'Z')) {
        int oh, om, by = sign(s, &at, '+') ? 1 : sign(s, &at, '-') ? -1 : 0;
        if (by == 0 || !digits(s, &at, 2, &oh))
            return false;
        (void)sign(s, &at, ':');
        if (!digits(s, &at, 2, &om) || oh > 23 || om > 59)
            return false;
        offset = by * (oh * 3600 + om * 60);
    }
    if (at != s.n)
        return false;
    tm.tm_year = y - 1900;
    tm.tm_mon = mo - 1;
    tm.tm_mday = d;
    tm.tm_hour = h;
    tm.tm_min = mi;
    tm.tm_sec = sec;
    *ret_us = ((int64_t)timegm(&tm) - offset) * 1000000 + fraction;
    return true;
}
