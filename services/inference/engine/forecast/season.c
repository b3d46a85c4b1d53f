/* The season of a series: the mean of each phase of what a moving mean over one period leaves. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

/* d[t] = x[t] less the centred moving mean of m steps (ends weigh half where m is even); NaN at both ends.
 * A running sum, started anew every 512 steps, so that rounding does not pile up. */
static void less_moving_mean(const double *x, size_t n, size_t m, double *d)
{
    const size_t reach = m / 2;
    double sum = 0;
    for (size_t t = 0; t < n; t++) {
        d[t] = NAN;
        if (t < reach || t + reach >= n)
            continue;
        if ((t - reach) % 512 == 0) {
            sum = 0;
            for (size_t i = t - reach; i <= t + reach; i++)
                sum += x[i];
        } else {
            sum += x[t + reach] - x[t - reach - 1];
        }
        double window = m % 2 == 1 ? sum : sum - 0.5 * (x[t - reach] + x[t + reach]);
        d[t] = x[t] - window / (double)m;
    }
}

/* Means of phases of d, centred, and what share of the variance they explain beyond chance. */
static double phase_means(const double *d, size_t n, size_t m, double *shape, double *count)
{
    double mean = 0, used = 0, within = 0, between = 0;
    memset(shape, 0, m * sizeof *shape);
    memset(count, 0, m * sizeof *count);
    for (size_t t = 0; t < n; t++)
        if (!isnan(d[t])) {
            shape[t % m] += d[t];
            count[t % m]++;
        }
    for (size_t p = 0; p < m; p++) {
        shape[p] = count[p] > 0 ? shape[p] / count[p] : 0;
        mean += shape[p] / (double)m;
    }
    for (size_t p = 0; p < m; p++)
        shape[p] -= mean;
    for (size_t t = 0; t < n; t++)
        if (!isnan(d[t])) {
            double e = d[t] - mean - shape[t % m];
            within += e * e;
            between += shape[t % m] * shape[t % m];
            used++;
        }
    if (used < (double)m + 2 || between <= 0)
        return 0;
    double freedom = used - (double)m;
    assert(freedom >= 2);
    double chance = within / freedom * ((double)m - 1); /* what noise alone would give */
    return between > chance ? 1 - chance / between : 0;
}

double tab_season_strength(tab_arena *a, const double *x, size_t n, size_t period, double *shape)
{
    double *d = tab_arena_new_of(a, double, n), *count = tab_arena_new_of(a, double, period);
    if (d == NULL || count == NULL || n < 2 * period || period < 2)
        return 0;
    less_moving_mean(x, n, period, d);
    return phase_means(d, n, period, shape, count);
}

bool tab_season_estimate(tab_arena *a, const double *x, size_t n, const size_t *period, size_t periods,
                         size_t horizon, double *season)
{
    memset(season, 0, (n + horizon) * sizeof *season);
    double *rest = tab_arena_new_of(a, double, n);
    if (rest == NULL)
        return false;
    memcpy(rest, x, n * sizeof *rest);
    for (size_t k = 0; k < periods; k++) {
        size_t m = period[k];
        double *shape = tab_arena_new_of(a, double, m);
        if (shape == NULL)
            return false;
        if (n < 2 * m)
            continue;
        double keep = tab_season_strength(a, rest, n, m, shape);
        for (size_t t = 0; t < n + horizon; t++)
            season[t] += keep * shape[t % m];
        for (size_t t = 0; t < n; t++)
            rest[t] = x[t] - season[t];
    }
    return !tab_arena_full(a);
}
