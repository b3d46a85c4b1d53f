/* When things happen: shares of months, weekdays and hours by kind of business, with growth over the
 * years. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/generate/plan.h"

static const struct {
    const char *name;
    float month[12], weekday[7]; /* Monday first */
    float from, to, peak;        /* hours of the day */
} profiles[] = {
    { "flat", { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1 }, 0, 24, 12 },
    { "office",
      { 1.05F, 1, 1.08F, 1, 1, 1, .9F, .8F, 1.08F, 1.08F, 1.02F, .85F },
      { 1.15F, 1.15F, 1.1F, 1.1F, .95F, .06F, .04F },
      7,
      19,
      11 },
    { "shop",
      { .85F, .82F, .92F, .92F, .98F, .96F, .95F, .95F, .95F, 1.02F, 1.32F, 1.55F },
      { .95F, .92F, .94F, .98F, 1.12F, 1.2F, .95F },
      7,
      24,
      17 },
    { "leisure",
      { .65F, .72F, .85F, .98F, 1.08F, 1.22F, 1.45F, 1.42F, 1.08F, .95F, .75F, .95F },
      { .8F, .78F, .82F, .95F, 1.3F, 1.4F, 1 },
      8,
      24,
      19 },
    { "night",
      { .92F, .9F, .96F, .98F, 1.04F, 1.06F, 1.1F, 1.1F, 1.04F, 1.02F, .96F, .94F },
      { .92F, .9F, .92F, .96F, 1.14F, 1.2F, 1.02F },
      4,
      28,
      19 },
    { "winter",
      { 1.4F, 1.32F, 1.15F, .95F, .85F, .78F, .75F, .76F, .85F, .98F, 1.12F, 1.3F },
      { 1.1F, 1.04F, 1.02F, 1, 1.02F, .92F, .9F },
      0,
      24,
      11 },
    { "school",
      { 1.1F, 1, 1, .9F, .8F, .4F, .3F, 1.5F, 1.8F, 1.1F, .9F, .6F },
      { 1.2F, 1.15F, 1.1F, 1.05F, .9F, .15F, .2F },
      8,
      22,
      13 },
    { "growing",
      { .2F, .3F, .8F, 1.4F, 1.5F, 1.2F, 1.2F, 1.5F, 1.6F, 1.2F, .5F, .2F },
      { 1.05F, 1.05F, 1.05F, 1.05F, 1.05F, .95F, .8F },
      5,
      20,
      10 },
    { "giving",
      { .8F, .75F, .85F, .9F, .9F, .85F, .75F, .75F, .95F, 1, 1.5F, 2.4F },
      { 1, 1.15F, 1.05F, 1, .95F, .85F, .9F },
      6,
      24,
      15 },
};

int generate_profile(tab_str name)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (tab_str_eq(name, tab_str_of(profiles[i].name)))
            return (int)i;
    return -1;
}

/* Days since 1970 of a civil date and back (Hinnant, "chrono-compatible low-level date algorithms"). */
double generate_days(int y, int m, int d)
{
    y -= m <= 2;
    int era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1, doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return (double)era * 146097 + doe - 719468;
}

void generate_civil(double days, int *ret_y, int *ret_m, int *ret_d)
{
    int64_t z = (int64_t)floor(days) + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int doe = (int)(z - era * 146097), yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *ret_d = doy - (153 * mp + 2) / 5 + 1;
    *ret_m = mp < 10 ? mp + 3 : mp - 9;
    *ret_y = (int)(yoe + era * 400) + (*ret_m <= 2);
}

bool generate_calendar(tab_arena *a, calendar *c)
{
    size_t n = (size_t)c->days;
    double sum = 0;
    assert(n > 0 && c->profile >= 0);
    c->before = tab_arena_new_of(a, double, n + 1);
    if (c->before == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        int y, m, d;
        double day = c->from + (double)i;
        generate_civil(day, &y, &m, &d);
        int weekday = (int)(((int64_t)day + 3) % 7); /* 1970 began on a Thursday */
        sum += (double)profiles[c->profile].month[m - 1] *
               (double)profiles[c->profile].weekday[weekday < 0 ? weekday + 7 : weekday] *
               (1 + 0.5 * (double)i / (double)n);
        assert(sum > c->before[i]); /* something may happen on each day */
        c->before[i + 1] = sum;
    }
    for (size_t i = 1; i <= n; i++)
        c->before[i] /= sum;
    return true;
}

/* The moment before which that share of all things has happened: rises with share. Within a day the share
 * runs over the open hours, most of it around the peak. clock < 0: as share goes on within the day; else
 * where in the day. */
double generate_when(const calendar *c, double share, double clock)
{
    size_t lo = 0, hi = (size_t)c->days;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (c->before[mid] <= share)
            lo = mid;
        else
            hi = mid;
    }
    assert(c->before[lo] <= share || lo == 0);
    double in = clock >= 0 ? clock : (share - c->before[lo]) / (c->before[lo + 1] - c->before[lo]);
    double from = (double)profiles[c->profile].from, to = (double)profiles[c->profile].to,
           peak = (double)profiles[c->profile].peak;
    in = in < 0 ? 0 : in > 0.999999 ? 0.999999 : in;
    /* a triangle's quantile, mixed with an even spread by taking the middle: still rising */
    double f = (peak - from) / (to - from);
    double tri = in < f ? sqrt(in * f) : 1 - sqrt((1 - in) * (1 - f));
    double hour = from + (to - from) * (0.35 * in + 0.65 * tri);
    return (c->from + (double)lo) * GENERATE_DAY + floor(hour * 3600);
}

static size_t two(char *p, int x)
{
    p[0] = (char)('0' + x / 10 % 10);
    p[1] = (char)('0' + x % 10);
    return 2;
}

size_t generate_date_text(double seconds, bool clock, char *p)
{
    double days = floor(seconds / GENERATE_DAY);
    int y, m, d, s = (int)(seconds - days * GENERATE_DAY);
    size_t n = 0;
    generate_civil(days, &y, &m, &d);
    n += two(p + n, y / 100);
    n += two(p + n, y % 100);
    p[n++] = '-';
    n += two(p + n, m);
    p[n++] = '-';
    n += two(p + n, d);
    if (!clock)
        return n;
    p[n++] = ' ';
    n += two(p + n, s / 3600);
    p[n++] = ':';
    n += two(p + n, s / 60 % 60);
    p[n++] = ':';
    return n + two(p + n, s % 60);
}
