/* With which periods a series repeats: candidates of the caller, and peaks of the spectrum of the detrended
 * series, each moved to the multiple at which the autocorrelation is highest. */
#include <complex.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { SPECTRUM = 8192, PEAKS = 3, MOST = 12, LONGEST = 2000 };

/* In-place transform of n = 2^k values (Cooley & Tukey 1965). */
static void transform(double complex *z, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex t = z[i];
            z[i] = z[j];
            z[j] = t;
        }
    }
    for (size_t len = 2; len <= n; len <<= 1)
        for (size_t k = 0; k < len / 2; k++) {
            double angle = -2 * M_PI * (double)k / (double)len;
            double complex w = CMPLX(cos(angle), sin(angle));
            for (size_t i = k; i < n; i += len) {
                double complex u = z[i], v = z[i + len / 2];
                v = CMPLX(creal(v) * creal(w) - cimag(v) * cimag(w),
                          creal(v) * cimag(w) + cimag(v) * creal(w));
                z[i] = u + v;
                z[i + len / 2] = u - v;
            }
        }
}

/* x less its straight line, and that less a line by halves would see: enough against leakage of a trend. */
static void detrend(const double *y, size_t n, double *x)
{
    double middle = 0.5 * ((double)n - 1), mean = 0, sxy = 0, sxx = 0;
    for (size_t t = 0; t < n; t++)
        mean += y[t] / (double)n;
    for (size_t t = 0; t < n; t++) {
        sxy += ((double)t - middle) * y[t];
        sxx += ((double)t - middle) * ((double)t - middle);
    }
    for (size_t t = 0; t < n; t++)
        x[t] = y[t] - mean - (sxx > 0 ? sxy / sxx : 0) * ((double)t - middle);
}

/* Autocorrelations r[0..lags] of x by the spectrum of size `size` >= 2 n, which is left in z. */
static void correlations(const double *x, size_t n, double complex *z, size_t size, double *r, size_t lags)
{
    for (size_t t = 0; t < size; t++)
        z[t] = t < n ? x[t] : 0;
    transform(z, size);
    for (size_t k = 0; k < size; k++)
        z[k] = creal(z[k]) * creal(z[k]) + cimag(z[k]) * cimag(z[k]);
    double *power = (double *)z; /* kept beside: real parts */
    (void)power;
    double complex *w = z + size;
    memcpy(w, z, size * sizeof *z);
    transform(w, size);
    double all = fmax(creal(w[0]), 1e-300);
    for (size_t k = 0; k <= lags; k++)
        r[k] = creal(w[k]) / all * ((double)n / (double)(n - k));
}

/* Adds p to the list unless it is there. */
static void add(size_t *list, size_t *n, size_t p)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == p)
            return;
    if (*n < MOST)
        list[(*n)++] = p;
}

/* The peak's period, or a multiple of it, or a neighbour, where r is highest; 0: r is no peak there. */
static size_t settle(const double *r, size_t lags, double period, double least)
{
    size_t best = 0;
    double height = 0;
    for (size_t multiple = 1; multiple <= 4; multiple++) {
        double at = period * (double)multiple;
        size_t from = (size_t)fmax(2, floor(at - 1 - 0.02 * at)), to = (size_t)ceil(at + 1 + 0.02 * at);
        for (size_t k = from; k <= to && k + 1 <= lags; k++)
            if (r[k] > r[k - 1] && r[k] >= r[k + 1] && r[k] > least &&
                r[k] > height + (best == 0 ? 0 : .03)) {
                best = k;
                height = r[k];
            }
    }
    return best;
}

static void add_found(tab_arena *a, const double *y, size_t n, size_t *list, size_t *count)
{
    size_t used = n < SPECTRUM ? n : SPECTRUM, size = 1;
    while (size < 2 * used)
        size <<= 1;
    size_t lags = used / 2 < LONGEST ? used / 2 : LONGEST;
    double *x = tab_arena_new_of(a, double, used), *r = tab_arena_new_of(a, double, lags + 2);
    double complex *z = tab_arena_new_of(a, double complex, 2 * size);
    if (x == NULL || r == NULL || z == NULL || used < 12)
        return;
    detrend(y + n - used, used, x);
    correlations(x, used, z, size, r, lags);
    for (size_t peak = 0; peak < PEAKS; peak++) {
        size_t top = 0;
        for (size_t k = 2; k < size / 2; k++) /* local maxima, strongest first */
            if (creal(z[k]) >= creal(z[k - 1]) && creal(z[k]) > creal(z[k + 1]) &&
                (double)size / (double)k <= (double)used / 2.9 && (top == 0 || creal(z[k]) > creal(z[top])))
                top = k;
        if (top == 0)
            return;
        size_t p = settle(r, lags, (double)size / (double)top, fmax(.2, 2.6 / sqrt((double)used)));
        if (p >= 2)
            add(list, count, p);
        size_t width = 2 * size / used + 1; /* the main lobe of this peak */
        for (size_t k = top > width ? top - width : 0; k <= top + width && k < size; k++)
            z[k] = 0;
    }
}

size_t tab_periods_find(tab_arena *a, const double *y, size_t n, const double *candidate, size_t candidates,
                        size_t period[TAB_PERIODS])
{
    size_t list[MOST], count = 0, own = 0, found = 0;
    for (size_t i = 0; i < candidates; i++)
        if (candidate[i] >= 1.5 && candidate[i] < 1e6 && (double)n >= 2 * round(candidate[i]) + 1)
            add(list, &count, (size_t)round(candidate[i]));
    own = count;
    add_found(a, y, n, list, &count);
    for (size_t i = 0; i + 1 < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (list[j] < list[i]) {
                size_t t = list[i];
                list[i] = list[j];
                list[j] = t;
            }
    (void)own;
    double *rest = tab_arena_new_of(a, double, n), *flat = tab_arena_new_of(a, double, n);
    if (rest == NULL || flat == NULL || count == 0)
        return 0;
    /* Greedy: the one that explains most of what is left, as long as it explains something. */
    memcpy(rest, y, n * sizeof *rest);
    while (found < TAB_PERIODS) {
        size_t best = 0;
        double most = 0;
        for (size_t i = 0; i < count; i++) {
            size_t m = list[i];
            double *shape = tab_arena_new_of(a, double, m);
            if (shape == NULL || n < 2 * m + 2)
                continue;
            double keep = tab_season_strength(a, rest, n, m, shape), between = 0;
            bool candidate_own = false;
            for (size_t k = 0; k < candidates; k++)
                candidate_own |= (size_t)fabs(round(candidate[k])) == m;
            double f = 1 / fmax(1 - keep, 1e-12);
            double chance = 1 + (candidate_own ? 2 : 4) * sqrt(2 / (double)(m - 1));
            if (f < chance)
                continue;
            for (size_t p = 0; p < m; p++)
                between += shape[p] * shape[p] / (double)m;
            between *= keep;
            if (between > most * (m > best ? 1.1 : 1)) {
                most = between;
                best = m;
            }
        }
        if (best == 0)
            break;
        double *shape = tab_arena_new_of(a, double, best), before = 0, after = 0;
        if (shape == NULL)
            break;
        detrend(rest, n, flat);
        double keep = tab_season_strength(a, rest, n, best, shape);
        for (size_t t = 0; t < n; t++) {
            before += flat[t] * flat[t];
            rest[t] -= keep * shape[t % best];
        }
        detrend(rest, n, flat);
        for (size_t t = 0; t < n; t++)
            after += flat[t] * flat[t];
        if (found > 0 && !(after < .95 * before))
            break;
        for (size_t i = 0; i < count; i++)
            if (list[i] == best)
                list[i] = list[--count];
        period[found++] = best;
    }
    if (found == 2 && period[0] > period[1]) {
        size_t t = period[0];
        period[0] = period[1];
        period[1] = t;
    }
    return found;
}
