/* A series as it came -> one without gaps, in its own unit. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/forecast/pool.h"

/* Mixes v into h (Steele et al. 2014, "splitmix64"). */
static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) + 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* Straight lines over what was not seen. */
static void bridge(double *y, const bool *seen, size_t n)
{
    size_t last = 0;
    for (size_t t = 0; t < n; t++) {
        if (!seen[t])
            continue;
        for (size_t k = last + 1; k < t; k++)
            y[k] = y[last] + (y[t] - y[last]) * (double)(k - last) / (double)(t - last);
        last = t;
    }
}

/* Gaps again, now by the season and a line through what it leaves. */
static bool bridge_season(tab_arena *a, const tab_grid *g, const tab_learnt *l)
{
    double *season = tab_arena_new_of(a, double, g->n);
    if (season == NULL || !tab_season_estimate(a, g->y, g->n, l->period, l->periods, 0, season))
        return false;
    for (size_t t = 0; t < g->n; t++)
        g->y[t] -= season[t];
    bridge(g->y, g->seen, g->n);
    for (size_t t = 0; t < g->n; t++)
        g->y[t] = g->floored ? fmax(g->y[t] + season[t], 0) : g->y[t] + season[t];
    return true;
}

/* The mean absolute difference over the longest period; that of neighbours where it is 0. */
static double scale_of(const tab_grid *g, const tab_learnt *l)
{
    size_t lag = l->periods > 0 ? l->period[l->periods - 1] : 1;
    double sum = 0;
    for (;; lag = 1) {
        for (size_t t = lag; t < g->n; t++)
            sum += fabs(g->y[t] - g->y[t - lag]) / (double)(g->n - lag);
        if (sum > 0 || lag == 1)
            break;
    }
    return sum > 0 ? sum : fmax(1e-3 * fabs(g->y[g->n - 1]), 1e-12);
}

static size_t trim(const tab_track *t, size_t *from, double *most)
{
    size_t end = 0;
    *from = t->n;
    *most = 0;
    for (size_t i = 0; i < t->n; i++)
        if (isfinite(t->y[i])) {
            *from = *from == t->n ? i : *from;
            end = i + 1;
            *most = fmax(*most, fabs(t->y[i]));
        }
    return end;
}

bool tab_grid_read(tab_arena *a, const tab_track *t, const double *season, size_t seasons, tab_learnt *l,
                   tab_grid *ret)
{
    size_t from, gaps = 0;
    double most;
    size_t end = trim(t, &from, &most);
    *ret = (tab_grid){ .unit = 1, .hash = mix(0, t->n), .floored = true };
    if (end == 0)
        return true;
    int power;
    (void)frexp(most, &power);
    ret->unit = most > 0 ? ldexp(1, power < -1000 ? -1000 : power) : 1;
    ret->n = end - from;
    ret->tail = t->n - end;
    ret->y = tab_arena_new_of(a, double, ret->n);
    ret->seen = tab_arena_new_of(a, bool, ret->n);
    if (ret->y == NULL || ret->seen == NULL)
        return false;
    for (size_t i = 0; i < ret->n; i++) {
        double v = t->y[from + i];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        ret->seen[i] = isfinite(v);
        ret->y[i] = ret->seen[i] ? v / ret->unit : 0;
        ret->hash = mix(ret->hash, ret->seen[i] ? bits : 1);
        ret->floored &= !ret->seen[i] || v >= 0;
        gaps += !ret->seen[i];
    }
    bridge(ret->y, ret->seen, ret->n);
    if (!l->known) {
        l->periods = tab_periods_find(a, ret->y, ret->n, season, seasons, l->period);
        l->known = true;
    }
    if (gaps > 0 && l->periods > 0 && !bridge_season(a, ret, l))
        return false;
    assert(ret->unit > 0 && ret->seen[0] && ret->seen[ret->n - 1]); /* from a known value to a known one */
    ret->scale = scale_of(ret, l);
    assert(!(ret->scale <= 0)); /* errors are divided by it */
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < ret->n; i++) {
        low = fmin(low, ret->y[i]);
        high = fmax(high, ret->y[i]);
        ret->size += fabs(ret->y[i]) / (double)ret->n;
    }
    ret->range = high - low;
    return !tab_arena_full(a);
}
