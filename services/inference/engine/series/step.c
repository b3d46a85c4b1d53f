/* See internal.h: how far apart rows are, and the periods that follow from it. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/series/internal.h"

static const double DAY = 86400;

/* ---- distances ----------------------------------------------------------------------------------- */

static int64_t months_of(double seconds)
{
    int y, m, d;
    tab_civil_from_days((int64_t)floor(seconds / DAY), &y, &m, &d);
    return (int64_t)y * 12 + m - 1;
}

static int64_t workday(double seconds)
{
    int64_t days = (int64_t)floor(seconds / DAY) + 3, week = (days >= 0 ? days : days - 6) / 7; /* Monday 0 */
    int64_t day = days - 7 * week;
    return week * 5 + (day < 5 ? day : 4);
}

/* Positive differences of neighbours of a series, (n) ascending. NULL: memory. */
static double *gaps_of(tab_arena *a, const tab_search *s, const tab_axis *x, const tab_series *ret, size_t *n)
{
    double *gap = tab_arena_new_of(a, double, s->rows + 1), *last = tab_arena_new_of(a, double, ret->n + 1);
    *n = 0;
    if (gap == NULL || last == NULL)
        return NULL;
    for (size_t k = 0; k < ret->n; k++)
        last[k] = (double)NAN;
    for (size_t i = 0; i < x->at.known; i++) {
        uint32_t r = x->at.order[i], k = ret->series[r];
        if (k == TAB_NULL)
            continue;
        if (x->at.when[r] > last[k])
            gap[(*n)++] = x->at.when[r] - last[k];
        last[k] = x->at.when[r];
    }
    qsort(gap, *n, sizeof *gap, tab_ascending_double);
    return gap;
}

/* The commonest of ascending values, taken alike within a thousandth; *share of them. */
static double commonest(const double *v, size_t n, double *share)
{
    double best = n > 0 ? v[0] : 1;
    size_t most = 0;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && v[j] <= v[i] * 1.001; j++)
            ;
        if (j - i > most)
            most = j - i, best = v[i + (j - i) / 2];
    }
    *share = n > 0 ? (double)most / (double)n : 0;
    return best;
}

/* The share of distances that are whole steps. */
static double whole_steps(const double *v, size_t n, double step)
{
    size_t whole = 0;
    for (size_t i = 0; i < n; i++) {
        double at = v[i] / step;
        whole += at > 0.5 && fabs(at - round(at)) < 0.02;
    }
    return n > 0 ? (double)whole / (double)n : 0;
}

/* ---- the calendar --------------------------------------------------------------------------------- */

/* Dates that all stand on one day of their months, or at their ends: months are counted. */
static bool monthly(const tab_axis *x)
{
    size_t same = 0, late = 0, n = 0;
    int first = 0;
    for (size_t i = 0; i < x->at.known; i++) {
        int y, m, d;
        double at = x->at.when[x->at.order[i]];
        if (i > 0 && at == x->at.when[x->at.order[i - 1]]) // NOLINT: the very time
            continue;
        tab_civil_from_days((int64_t)floor(at / DAY), &y, &m, &d);
        first = n == 0 ? d : first;
        n++, same += d == first, late += d >= 28;
    }
    return n >= 3 && ((double)same >= 0.97 * (double)n || late == n);
}

static bool weekdays_only(const tab_axis *x)
{
    size_t ends = 0, n = 0;
    for (size_t i = 0; i < x->at.known; i++) {
        int64_t days = (int64_t)floor(x->at.when[x->at.order[i]] / DAY) + 3;
        int64_t day = ((days % 7) + 7) % 7;
        n++, ends += day > 4;
    }
    return n > 0 && 100 * ends <= 2 * n;
}

/* A round length of time near the middle of the distances: of irregular times. */
static double round_step(double gap)
{
    static const double of[] = { 1, 60, 3600, 86400 };
    double step = 1;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        step = of[i] <= gap ? of[i] : step;
    return step;
}

static void calendar_step(const tab_axis *x, const double *gap, size_t n, tab_series *ret)
{
    double share, step = commonest(gap, n, &share);
    if (step >= 27.5 * DAY && monthly(x)) {
        /* months between neighbours: the commonest number of them */
        double m = fmax(1, round(step / (30.44 * DAY))), whole = 0, one = 0;
        size_t count[49] = { 0 }, most = 1;
        for (size_t i = 0; i < n; i++) {
            size_t k = (size_t)fmin(48, round(gap[i] / (30.44 * DAY)));
            count[k]++;
            most = count[k] > count[most] ? k : most;
        }
        m = most < 48 ? (double)most : m;
        for (size_t i = 0; i < n; i++) {
            double k = round(gap[i] / (30.44 * DAY));
            one += k == m, whole += fmod(k, m) == 0; // NOLINT: whole
        }
        ret->unit = fmod(m, 12) == 0 ? TAB_STEP_YEARS : TAB_STEP_MONTHS; // NOLINT: whole
        ret->step = ret->unit == TAB_STEP_YEARS ? m / 12 : m;
        ret->regular =
            n > 0 && (one >= 0.9 * (double)n || (one >= 0.5 * (double)n && whole >= 0.98 * (double)n));
        return;
    }
    double whole = whole_steps(gap, n, step);
    if (step == DAY && share < 0.95 && weekdays_only(x)) { // NOLINT: a day
        ret->unit = TAB_STEP_WORKDAYS;
        ret->step = 1;
        ret->regular = share >= 0.7;
        return;
    }
    ret->unit = TAB_STEP_SECONDS;
    ret->regular = share >= 0.9 || (share >= 0.5 && whole >= 0.98);
    ret->step = ret->regular ? step : round_step(n > 0 ? gap[n / 2] : 1);
}

/* ---- index ---------------------------------------------------------------------------------------- */

static double steps_at(const tab_series *s, double when)
{
    if (isnan(when))
        return when;
    if (!s->calendar)
        return when / s->step;
    switch (s->unit) {
    case TAB_STEP_MONTHS:
        return (double)months_of(when) / s->step;
    case TAB_STEP_YEARS:
        return (double)months_of(when) / (12 * s->step);
    case TAB_STEP_WORKDAYS:
        return (double)workday(when);
    default:
        return when / s->step;
    }
}

static void index_rows(size_t rows, const tab_axis *x, tab_series *ret)
{
    double first = x->at.known > 0 ? x->at.when[x->at.order[0]] : 0, base = steps_at(ret, first);
    for (size_t r = 0; r < rows; r++) {
        double at = steps_at(ret, x->at.when[r]) - base;
        ret->index[r] = isnan(at) || fabs(at) > 9e15 ? INT64_MIN
                        : ret->regular               ? (int64_t)round(at)
                                                     : (int64_t)floor(at + 1e-9);
    }
}

bool tab_series_step(tab_search *s, const tab_axis *x, tab_series *ret)
{
    size_t n;
    double *gap = gaps_of(s->scratch, s, x, ret, &n), share;
    if (gap == NULL)
        return false;
    if (x->calendar) {
        calendar_step(x, gap, n, ret);
    } else {
        double per = x->clue[0] != NULL ? x->clue[0]->per_year : 0;
        double step = commonest(gap, n, &share);
        ret->unit = x->unit;
        if (per > 0) {
            /* years as numbers carry their decimals' rounding: a step is a whole part of a year */
            size_t one = 0;
            for (size_t i = 0; i < n; i++)
                one += round(gap[i] * per) == 1; // NOLINT: one step
            ret->step = 1 / per;
            ret->regular = n > 0 && 10 * one >= 5 * n;
        } else {
            double whole = whole_steps(gap, n, step);
            ret->regular = share >= 0.9 || (share >= 0.5 && whole >= 0.98);
            ret->step = ret->regular || n == 0 ? step : gap[n / 2];
        }
    }
    if (x->single < 0.8 && ret->unit != TAB_STEP_NUMBER) /* events, not a series on a grid */
        ret->regular = false;
    ret->step = ret->step > 0 ? ret->step : 1;
    index_rows(s->rows, x, ret);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t r = 0; r < s->rows; r++)
        if (ret->index[r] != INT64_MIN) {
            lo = ret->index[r] < lo ? ret->index[r] : lo;
            hi = ret->index[r] > hi ? ret->index[r] : hi;
        }
    double longest = hi >= lo ? (double)(hi - lo) + 1 : 0;
    return tab_series_seasons(s, x, ret, longest);
}
