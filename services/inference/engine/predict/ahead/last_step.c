/* See ahead_parts.h: last known times that are not over, or went wrong.
 *
 * Sums of a month that has just begun, a feed that broke off last night, cases that come in over a week: at
 * the last times most series are off as none of their values was, to one side, and the more the later. No
 * rule says what comes next: it is the old level where the last times are incomplete, and the new one where
 * the level has moved. Members are fitted without these rows, and bands reach to what is if they stay
 * (decisions 0588 and 0650). A meter that is stuck repeats its last value, which is no value. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/ahead/ahead_parts.h"

/* OFTEN: errors before the last that tell how far one is off. LOOK: steps that are looked at, and FURTHER of
 * them from more than one step before. OFF: how many times the farthest of them the last one is, as in
 * ahead_past.c. ASKED: series that are, of more evenly spread. FARTHEST: steps that the last value is told
 * from. GROWS: the share of its error that the first of these steps may have. PART: of the known times, the
 * most that may be incomplete. CHANCE: of a value that repeats. */
enum { OFTEN = 15, LOOK = 400, FURTHER = 100, ASKED = 64, FARTHEST = 8 };
static const double OFF = 1.5, HALF = 0.5, GROWS = 0.5, PART = 0.1, CHANCE = 1e-4;

/* The first row from `from` on that lies after pos, or `end`. */
static size_t after(const tab_history *h, size_t from, size_t end, double pos)
{
    while (end > from && h->pos[end - 1] > pos)
        end--;
    return end;
}

/* How the last value of a series, row `end` of h, lies to what is told of it `steps` before: 1 or -1 where
 * that is farther off than it ever was and the values since go there, 0 where it is not; NaN: too few values
 * tell. */
static double off_at(const tab_history *h, uint32_t series, size_t end, double steps)
{
    size_t first = h->from[series], from = end - first > LOOK ? end - LOOK : first, n = 0;
    size_t stride = steps > 1 ? 1 + (end - from) / FURTHER : 1;
    double sum[TAB_PAST_MOST] = { 0 }, most[TAB_PAST_MOST] = { 0 }, out[TAB_PAST_MOST];
    double back = steps - HALF, length = h->seasons > 0 ? h->season[0] : 1;
    if (h->pos[end] - h->pos[first] - length < OFTEN)
        length = 1;
    for (size_t i = from; i < end; i += stride) {
        if (h->pos[i] > h->pos[end] - steps || h->pos[i] - h->pos[first] < length + steps - 1 ||
            tab_history_read(h, series, h->pos[i], h->pos[i] - back, out) == 0)
            continue;
        n++;
        for (size_t k = 0; k < h->kinds; k++) {
            double off = fabs(h->y[i] - out[k]);
            sum[k] += off, most[k] = fmax(most[k], off);
        }
    }
    double tau = h->pos[end] - back;
    if (n < OFTEN || tab_history_read(h, series, h->pos[end], tau, out) == 0)
        return (double)NAN;
    size_t best = 0, since = after(h, first, end, tau);
    for (size_t k = 1; k < h->kinds; k++)
        best = sum[k] < sum[best] ? k : best;
    double off = h->y[end] - out[best];
    if (!(fabs(off) > OFF * most[best]))
        return 0;
    if (since < end && tab_history_read(h, series, h->pos[since], tau, out) > 0 &&
        !((h->y[since] - out[best]) / off < GROWS))
        return 0; /* a level that moved, and stays */
    return off > 0 ? 1 : -1;
}

/* Whether most series are off at `last`, told from so many steps before. */
static bool mostly_off(const tab_history *h, double last, double steps)
{
    double told = 0, side = 0;
    for (size_t k = 0; k < h->series; k += 1 + h->series / ASKED) {
        size_t end = h->from[k + 1];
        if (end == h->from[k] || h->pos[end - 1] < last)
            continue;
        double off = off_at(h, (uint32_t)k, end - 1, steps);
        told += !isnan(off), side += isnan(off) ? 0 : off;
    }
    return 2 * fabs(side) > told;
}

/* The last time of y's rows, and the first. */
static double ends(const double *pos, const double *y, size_t rows, double *first)
{
    double last = (double)-INFINITY;
    *first = (double)INFINITY;
    for (size_t r = 0; r < rows; r++)
        if (!isnan(y[r]) && !isnan(pos[r]))
            last = fmax(last, pos[r]), *first = fmin(*first, pos[r]);
    return last;
}

/* Takes the last rows of a series out of y where they repeat one value, other than 0, for longer than its
 * rows before would by chance: a meter that is stuck. rows: those of h. Gives how many. */
static size_t take_stuck(const tab_history *h, size_t series, double *y)
{
    size_t from = h->from[series], to = h->from[series + 1], run = to - from > 0, same = 0;
    while (run > 0 && to - run > from && !(fabs(h->y[to - run - 1] - h->y[to - 1]) > 0))
        run++;
    for (size_t i = from + 1; i + run <= to; i++)
        same += !(fabs(h->y[i] - h->y[i - 1]) > 0);
    double before = (double)(to - run - from), often = ((double)same + 1) / (before + 2);
    if (run < 2 || before < OFTEN || !(pow(often, (double)run - 1) < CHANCE) || !(fabs(h->y[to - 1]) > 0))
        return 0;
    for (size_t i = to - run + 1; i < to; i++)
        y[h->row[i]] = (double)NAN;
    return run - 1;
}

bool tab_ahead_last_step(const tab_series *s, const double *pos, double *y, size_t rows, tab_ahead_apart *ret)
{
    *ret = (tab_ahead_apart){ 0 };
    TAB_AUTO(tab_arena) *whole = tab_arena_new((size_t)1 << 30);
    tab_history *all = whole == NULL ? NULL : tab_history_new(whole, s, pos, y, rows);
    if (all == NULL)
        return false;
    for (size_t k = 0; k < all->series; k++)
        ret->stuck += take_stuck(all, k, y);
    double first, last = ends(pos, y, rows, &first), least = last - PART * (last - first);
    for (bool found = true; found;) {
        TAB_AUTO(tab_arena) *own = tab_arena_new((size_t)1 << 30);
        tab_history *h = own == NULL ? NULL : tab_history_new(own, s, pos, y, rows);
        if (h == NULL)
            return false;
        double steps = 1;
        for (found = false; !found && steps <= FARTHEST; steps *= 2) {
            bool may = last - steps >= least || (steps < 2 && ret->rows == 0); /* one may be a great part */
            found = may && mostly_off(h, last, steps);
        }
        steps /= 2;
        for (size_t r = 0; found && r < rows; r++)
            if (!isnan(y[r]) && pos[r] > last - steps)
                y[r] = (double)NAN, ++ret->rows;
        double now = ends(pos, y, rows, &first);
        ret->times += found ? last - now : 0;
        last = now;
    }
    return true;
}

double *tab_ahead_stays(tab_arena *a, const tab_ahead_work *w, const double *y)
{
    const tab_series *s = &w->t->asked->series;
    double *stays = tab_arena_new_of(a, double, s->n + 1), *at = tab_arena_new_of(a, double, s->n + 1);
    for (size_t k = 0; stays != NULL && at != NULL && k <= s->n; k++)
        stays[k] = (double)NAN, at[k] = (double)-INFINITY;
    for (size_t r = 0; stays != NULL && at != NULL && r < w->rows; r++) {
        uint32_t k = s->series[r];
        if (!isnan(y[r]) && isnan(w->t->y[r]) && k != TAB_NULL && w->pos[r] > at[k])
            stays[k] = w->logged ? log(y[r]) : y[r], at[k] = w->pos[r];
    }
    return at == NULL ? NULL : stays;
}

void tab_ahead_reach_apart(const double *stays, size_t series, tab_ahead_answers *at)
{
    for (size_t i = 0; i < at->n; i++) {
        uint32_t k = at->moment[i].series;
        if (k < series && isfinite(stays[k]))
            at->moved[i] = stays[k];
    }
}
