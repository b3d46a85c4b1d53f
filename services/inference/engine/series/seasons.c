/* See internal.h. A series less its mean over a period keeps the period and loses the trend; what is left is
 * held against itself one period on. So are the periods that the calendar suggests, and of plain numbers,
 * for which it suggests none, those that are common. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/series/internal.h"

/* BORNE_OUT: standard errors from which a period of the calendar is the values' too. */
static const double DAY = 86400, BORNE_OUT = 2;

/* ---- of the calendar -------------------------------------------------------------------------- */

static void add_season(tab_series *s, double period, double longest)
{
    for (size_t i = 0; i < s->seasons; i++)
        if (s->season[i] == period) // NOLINT: the very period
            return;
    if (period > 1.5 && s->seasons < TAB_SEASONS && longest >= 2 * period)
        s->season[s->seasons++] = period;
}

static void calendar_seasons(tab_series *s, double longest)
{
    if (s->unit == TAB_STEP_MONTHS && fmod(12, s->step) == 0) // NOLINT: whole
        add_season(s, 12 / s->step, longest);
    if (s->unit == TAB_STEP_WORKDAYS) {
        add_season(s, 5, longest);
        add_season(s, 261, longest);
    }
    if (s->unit == TAB_STEP_YEARS && !s->calendar && s->step < 1)
        add_season(s, round(1 / s->step), longest);
    if (s->unit != TAB_STEP_SECONDS || !s->regular)
        return;
    if (s->step == 7 * DAY) // NOLINT: a week
        add_season(s, 52, longest);
    if (s->step <= DAY / 2 && fmod(DAY, s->step) == 0) // NOLINT: whole
        add_season(s, DAY / s->step, longest);
    if (s->step <= DAY && fmod(7 * DAY, s->step) == 0) // NOLINT: whole
        add_season(s, 7 * DAY / s->step, longest);
    if (s->step == DAY) // NOLINT: a day
        add_season(s, 365, longest);
}

/* ---- of plain numbers ------------------------------------------------------------------------- */

/* ROOM: steps of a series, and ALL of all series, that are looked at. */
enum { ROOM = 20000, ALL = 20000, COMMON = 12, LONGEST = 60, PERIODS = COMMON + LONGEST - 4 };
static const size_t common[COMMON] = { 4, 5, 6, 7, 12, 24, 48, 52, 96, 144, 168, 365 };

/* The common periods, then all from 5 to LONGEST. */
static size_t period_at(size_t p)
{
    return p < COMMON ? common[p] : p - COMMON + 5;
}

typedef struct {
    double *y, *sum, *rest; /* (ROOM + 1) */
    uint32_t *count;
} grid;

/* The autocorrelation at lag p, times its pairs; *ret_pairs of them. */
static double beat(const grid *g, size_t n, size_t p, size_t *ret_pairs)
{
    size_t half = p / 2, pairs = 0, all = 0;
    double square = 0, product = 0;
    for (size_t i = 0; i < n; i++) {
        g->rest[i] = (double)NAN;
        if (i < half || i + half >= n || isnan(g->y[i]))
            continue;
        /* the ends of an even window count half */
        double sum = g->sum[i + half + 1] - g->sum[i - half];
        size_t count = g->count[i + half + 1] - g->count[i - half];
        bool even = p % 2 == 0 && !isnan(g->y[i - half]) && !isnan(g->y[i + half]);
        double mean = even ? (sum - g->y[i - half] / 2 - g->y[i + half] / 2) / (double)(count - 1)
                           : sum / (double)count;
        if (2 * count > p)
            g->rest[i] = g->y[i] - mean;
    }
    for (size_t i = 0; i < n; i++) {
        if (isnan(g->rest[i]))
            continue;
        square += g->rest[i] * g->rest[i], all++;
        if (i + p < n && !isnan(g->rest[i + p]))
            product += g->rest[i] * g->rest[i + p], pairs++;
    }
    *ret_pairs = square > 0 ? pairs : 0;
    return square > 0 ? product * (double)all / square : 0;
}

/* Puts rows from..to of the sequence, one series, on the grid; returns its steps. */
static size_t lay_out(const tab_search *s, const tab_series *t, const double *y, size_t from, size_t to,
                      grid *g)
{
    size_t n = 0;
    int64_t first = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        int64_t at = t->index[s->seq[i]];
        if (at == INT64_MIN)
            continue;
        first = first == INT64_MIN ? at : first;
        at -= first;
        if (at < 0 || at >= ROOM)
            break;
        for (; n <= (size_t)at; n++)
            g->y[n] = (double)NAN;
        g->y[at] = isnan(y[s->seq[i]]) ? g->y[at] : y[s->seq[i]];
    }
    for (size_t i = 0; i < n; i++) {
        bool known = !isnan(g->y[i]);
        g->sum[i + 1] = g->sum[i] + (known ? g->y[i] : 0);
        g->count[i + 1] = g->count[i] + known;
    }
    return n;
}

/* How well the target repeats with each of some periods: strength (n), the autocorrelation of what a mean
 * over the period leaves, and how sure that is, in standard errors; NaN where no series has three periods.
 * *ret_any: the target is a number, and something was looked at. False: memory. */
static bool beats(tab_search *s, const tab_axis *x, const tab_series *t, const size_t *period, size_t n,
                  double *strength, double *sure, bool *ret_any)
{
    const double *y;
    bool class;
    size_t seq, all = 0, pairs[PERIODS] = { 0 };
    double sum[PERIODS] = { 0 };
    grid g = { tab_arena_new_of(s->scratch, double, ROOM + 2), tab_arena_new_of(s->scratch, double, ROOM + 2),
               tab_arena_new_of(s->scratch, double, ROOM + 2),
               tab_arena_new_of(s->scratch, uint32_t, ROOM + 2) };
    assert(n <= PERIODS);
    *ret_any = false;
    if (tab_arena_full(s->scratch) || !tab_series_values(s, &y, &class) ||
        !tab_series_ids(s, x->key, x->keys, s->series, &seq) || !tab_series_sequence(s, x, t->n, &seq))
        return false;
    if (y == NULL || class)
        return true;
    for (size_t from = 0, to; from < seq && all < ALL; from = to) {
        for (to = from; to < seq && s->series[s->seq[to]] == s->series[s->seq[from]]; to++)
            ;
        size_t steps = lay_out(s, t, y, from, to, &g);
        all += steps;
        for (size_t p = 0; p < n; p++) {
            size_t here = 0;
            sum[p] += steps >= 3 * period[p] ? beat(&g, steps, period[p], &here) : 0;
            pairs[p] += here;
        }
    }
    for (size_t p = 0; p < n; p++) {
        strength[p] = pairs[p] > 0 ? sum[p] / (double)pairs[p] : (double)NAN;
        sure[p] = strength[p] * sqrt((double)pairs[p]);
    }
    *ret_any = true;
    return true;
}

/* Of plain numbers. */
static bool plain_seasons(tab_search *s, const tab_axis *x, tab_series *t, double longest)
{
    size_t period[PERIODS];
    double r[PERIODS], sure[PERIODS], strength[PERIODS], top = 0, best = 0;
    bool any;
    for (size_t p = 0; p < PERIODS; p++)
        period[p] = period_at(p);
    if (!beats(s, x, t, period, PERIODS, r, sure, &any))
        return false;
    for (size_t p = 0; any && p < PERIODS; p++) {
        /* of unusual periods more is asked */
        bool said = p < COMMON ? sure[p] > 3 : sure[p] > 5;
        strength[p] = !said ? 0 : p < COMMON ? r[p] : r[p] - 0.15;
        top = fmax(top, strength[p]);
    }
    /* the shortest of those that say as much; one that is common if any does */
    for (size_t p = 0; any && p < PERIODS; p++) {
        bool first = best == 0 || (p < COMMON && (double)period_at(p) < best); // NOLINT: none yet
        if (first && strength[p] > (p < COMMON ? 0.75 : 0.93) * top)
            best = (double)period_at(p);
    }
    if (top > 0.2)
        add_season(t, best, longest);
    return true;
}

/* Of those that the calendar suggests, the ones that the values bear out; where no series has three periods
 * nothing can be said against one. */
static bool borne_out(tab_search *s, const tab_axis *x, tab_series *t)
{
    size_t period[TAB_SEASONS], kept = 0;
    double r[TAB_SEASONS], sure[TAB_SEASONS];
    bool any;
    for (size_t k = 0; k < t->seasons; k++)
        period[k] = (size_t)t->season[k];
    if (!beats(s, x, t, period, t->seasons, r, sure, &any))
        return false;
    for (size_t k = 0; any && k < t->seasons; k++)
        if (isnan(r[k]) || sure[k] > BORNE_OUT)
            t->season[kept++] = t->season[k];
    t->seasons = any ? kept : t->seasons;
    return true;
}

bool tab_series_seasons(tab_search *s, const tab_axis *x, tab_series *t, double longest)
{
    calendar_seasons(t, longest);
    if (t->seasons > 0)
        return borne_out(s, x, t);
    return x->calendar || !t->regular || plain_seasons(s, x, t, longest);
}
