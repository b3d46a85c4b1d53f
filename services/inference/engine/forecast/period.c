/* With which periods a series repeats: candidates of the caller, and peaks of the spectrum of the detrended
 * series, each moved to the multiple at which the autocorrelation is highest. */
#include <assert.h>
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
            double complex w = __builtin_complex(cos(angle), sin(angle));
            for (size_t i = k; i < n; i += len) {
                double complex u = z[i], v = z[i + len / 2];
                v = __builtin_complex(creal(v) * creal(w) - cimag(v) * cimag(w),
                                      creal(v) * cimag(w) + cimag(v) * creal(w));
                z[i] = u + v;
                z[i + len / 2] = u - v;
            }
        }
}

/* x less its straight line. */
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
static size_t settle(const double *r, size_t lags, double period, size_t from_multiple, size_t to_multiple,
                     double least)
{
    size_t best = 0;
    double height = 0;
    for (size_t multiple = from_multiple; multiple <= to_multiple; multiple++) {
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

/* Whether changes repeat after p steps too. A random walk wanders up and down as a season would, its changes
 * do not come back. */
static bool changes_repeat(const double *x, size_t n, size_t p)
{
    double same = 0, all = 0;
    for (size_t t = 1; t < n; t++) {
        double d = x[t] - x[t - 1];
        all += d * d;
        same += t > p ? d * (x[t - p] - x[t - p - 1]) : 0;
    }
    return same * (double)n > fmax(.1, 2 / sqrt((double)n)) * all * (double)(n - p);
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
                (double)size / (double)k <= (double)used / 4.9 && (top == 0 || creal(z[k]) > creal(z[top])))
                top = k;
        if (top == 0)
            return;
        double least = fmax(.2, 2.6 / sqrt((double)used));
        size_t p = settle(r, lags, (double)size / (double)top, 1, 4, least);
        if (p >= 2 && changes_repeat(x, used, p)) {
            add(list, count, p);
            size_t q = settle(r, lags, (double)p, 5, 12, fmax(least, r[p] + .02)); /* a week of days */
            if (q >= 2 && changes_repeat(x, used, q))
                add(list, count, q);
        }
        size_t width = 2 * size / used + 1; /* the main lobe of this peak */
        for (size_t k = top > width ? top - width : 0; k <= top + width && k < size; k++)
            z[k] = 0;
    }
}

/* The periods that are tried; those before `own` are the caller's, who has reasons. */
typedef struct {
    size_t period[MOST], own, n;
} trial;

/* The variance that a fixed season of m steps explains beyond chance; 0 where it does not stand out: of
 * periods that were searched for, the best of many does so by luck. Its shape, shrunk, is left in *shape. */
static double explained(tab_arena *a, const double *x, size_t n, size_t m, bool own, double **shape)
{
    *shape = n < 2 * m + 2 ? NULL : tab_arena_new_of(a, double, m);
    if (*shape == NULL)
        return 0;
    double keep = tab_season_strength(a, x, n, m, *shape), between = 0;
    if (1 / fmax(1 - keep, 1e-12) < 1 + (own ? 2 : 4) * sqrt(2 / (double)(m - 1)))
        return 0;
    for (size_t p = 0; p < m; p++) {
        (*shape)[p] *= keep;
        between += (*shape)[p] * (*shape)[p] / (double)m;
    }
    return between;
}

/* The place in the list of the period that explains most of x; MOST: none does. A longer one holds the
 * shorter one's shape and must say a tenth more. with: 0, or the longer period that is to hold it; least:
 * what it must explain. */
static size_t strongest(tab_arena *a, const double *x, size_t n, const trial *t, size_t with, double least,
                        double *most)
{
    size_t best = MOST;
    double *shape;
    *most = least;
    for (size_t i = 0; i < t->n; i++) {
        size_t m = t->period[i];
        if (with > 0 && (m >= with || with % m != 0))
            continue;
        double e = explained(a, x, n, m, i < t->own, &shape);
        if (e > *most * (best != MOST && m > t->period[best] ? 1.1 : 1)) {
            *most = e;
            best = i;
        }
    }
    return best;
}

/* Takes the season of m steps from x; whether a twentieth of its variance goes. */
static bool take_off(tab_arena *a, double *x, size_t n, size_t m)
{
    double *shape, *flat = tab_arena_new_of(a, double, n), before = 0, after = 0;
    if (flat == NULL || explained(a, x, n, m, true, &shape) <= 0)
        return false;
    detrend(x, n, flat);
    for (size_t t = 0; t < n; t++) {
        before += flat[t] * flat[t];
        x[t] -= shape[t % m];
    }
    detrend(x, n, flat);
    for (size_t t = 0; t < n; t++)
        after += flat[t] * flat[t];
    return after < .95 * before;
}

size_t tab_periods_find(tab_arena *a, const double *y, size_t n, const double *candidate, size_t candidates,
                        size_t period[TAB_PERIODS])
{
    enum { LATEST = 4 * SPECTRUM };
    if (n > LATEST) {
        y += n - LATEST;
        n = LATEST;
    }
    trial t = { .n = 0 };
    for (size_t i = 0; i < candidates; i++)
        if (candidate[i] >= 1.5 && candidate[i] < LATEST)
            add(t.period, &t.n, (size_t)round(candidate[i]));
    t.own = t.n;
    add_found(a, y, n, t.period, &t.n);
    double *rest = tab_arena_new_of(a, double, n), most, other;
    if (rest == NULL)
        return 0;
    memcpy(rest, y, n * sizeof *rest);
    size_t first = strongest(a, rest, n, &t, 0, 0, &most);
    if (first == MOST)
        return 0;
    /* A day within a week: the shorter one's shape is known better, the longer one's is what is left. */
    size_t inner = strongest(a, rest, n, &t, t.period[first], .4 * most, &other);
    if (inner == MOST) {
        if (!take_off(a, rest, n, t.period[first])) {
            period[0] = t.period[first];
            return 1;
        }
        inner = strongest(a, rest, n, &t, 0, 0, &other);
        if (inner == MOST || inner == first || !take_off(a, rest, n, t.period[inner])) {
            period[0] = t.period[first];
            return 1;
        }
    }
    size_t p = t.period[first], q = t.period[inner];
    assert(p != q && p >= 2 && q >= 2);
    period[0] = p < q ? p : q;
    period[1] = p < q ? q : p;
    return 2;
}
