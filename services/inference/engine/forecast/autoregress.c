/* An autoregression shrunk to a random walk (Litterman 1986): differences are regressed on the distance from
 * the mean, the last differences, and the distance to the values one period ago; ridge holds all of them
 * small, so that with few values it says: as the last one. */
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { LAGS = 3, TERMS = 2 + LAGS + 2 * TAB_PERIODS };

typedef struct {
    double mean, drift;
    const size_t *period;
    size_t periods, terms;
} form;

/* The terms of the step from t - 1 to t; z holds 0..t-1. */
static void terms_at(const form *f, const double *z, size_t t, double *x)
{
    size_t k = 0;
    double last = z[t - 1];
    x[k++] = last - f->mean;
    for (size_t i = 1; i <= LAGS; i++)
        x[k++] = t > i + 1 ? z[t - i] - z[t - i - 1] - f->drift : 0;
    for (size_t i = 0; i < f->periods; i++) {
        x[k++] = z[t - f->period[i]] - last;
        x[k++] = t > f->period[i] ? z[t - f->period[i] - 1] - last : z[t - f->period[i]] - last;
    }
    (void)k;
}

/* Solves the symmetric a x = b of size n in place (Cholesky); b becomes x. */
static void solve(double a[TERMS][TERMS], double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double s = a[i][j];
            for (size_t k = 0; k < j; k++)
                s -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(fmax(s, 1e-300)) : s / a[j][j];
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

bool tab_autoregress(tab_arena *a, const double *z, size_t n, const size_t *period, size_t periods,
                     size_t horizon, double *path, double *error)
{
    double *run = tab_arena_new_of(a, double, n + horizon);
    if (run == NULL)
        return false;
    memcpy(run, z, n * sizeof *run);
    while (periods > 0 && 3 * period[periods - 1] > n)
        periods--;
    form f = { .period = period, .periods = periods, .terms = 1 + LAGS + 2 * periods };
    size_t from = periods > 0 ? period[periods - 1] : 1;
    for (size_t t = 0; t < n; t++)
        f.mean += z[t] / (double)n;
    f.drift = n > 1 ? (z[n - 1] - z[0]) / (double)(n - 1) : 0;
    double xx[TERMS][TERMS] = { { 0 } }, xy[TERMS] = { 0 }, x[TERMS], yy = 0;
    for (size_t t = from; t < n; t++) {
        terms_at(&f, z, t, x);
        double y = z[t] - z[t - 1] - f.drift;
        for (size_t i = 0; i < f.terms; i++) {
            for (size_t j = 0; j <= i; j++)
                xx[i][j] += x[i] * x[j];
            xy[i] += x[i] * y;
        }
        yy += y * y;
    }
    double used = n > from ? (double)(n - from) : 1, variance = yy / used;
    double own[TERMS];
    for (size_t i = 0; i < f.terms; i++) {
        own[i] = xy[i];
        xx[i][i] += 8 * variance + 0.05 * xx[i][i] * 10 / (used + 10) + 1e-300; /* prior: sd about 0.35 */
    }
    if (variance > 0)
        solve(xx, xy, f.terms);
    else
        memset(xy, 0, sizeof xy);
    double explained = 0;
    for (size_t i = 0; i < f.terms; i++)
        explained += xy[i] * own[i];
    *error = fmax(yy - explained, 0) / used;
    double damp = 1; /* the drift fades: a mean of differences is a poor guide far ahead */
    for (size_t h = 0; h < horizon; h++) {
        size_t t = n + h;
        double next = run[t - 1] + damp * f.drift;
        if (t >= from && t > 0) {
            terms_at(&f, run, t, x);
            for (size_t i = 0; i < f.terms; i++)
                next += xy[i] * x[i];
        }
        damp *= .97;
        run[t] = path[h] = next;
    }
    return true;
}
