/* An autoregression shrunk to a random walk with drift (Litterman 1986): differences are regressed on the
 * distance from the mean, the last differences, and the distances to the values one period ago; ridge holds
 * all of them small, so that with few values it says: on as before. How small is not chosen: paths under
 * several strengths are weighed by the evidence for each (MacKay 1992). */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { LAGS = 3, TERMS = 1 + LAGS + 2 * TAB_PERIODS, STRENGTHS = 3 };

/* Pseudo-observations that speak for 0; those of the season are held less. */
static const double strengths[STRENGTHS] = { 15, 60, 240 };
static const double fading = .97; /* of the drift by step: a mean of differences is a poor guide far ahead */

typedef struct {
    double mean, drift;
    const size_t *period;
    size_t periods, terms;
} form;

/* The sums that every strength shares. */
typedef struct {
    double xx[TERMS][TERMS], xy[TERMS], yy, used;
} sums;

/* The terms of the step from t - 1 to t; z holds 0..t-1, t the longest period or more. */
static void terms_at(const form *f, const double *z, size_t t, double *x)
{
    size_t k = 0;
    double last = z[t - 1];
    x[k++] = last - f->mean;
    for (size_t i = 1; i <= LAGS; i++)
        x[k++] = t > i ? z[t - i] - z[t - i - 1] - f->drift : 0;
    for (size_t i = 0; i < f->periods; i++) {
        size_t m = f->period[i];
        x[k++] = z[t - m] - last;
        x[k++] = z[t - m - (t > m)] - last;
    }
}

/* Solves the symmetric a x = b of size n in place (Cholesky); b becomes x. Returns log |a|. */
static double solve(double a[TERMS][TERMS], double *b, size_t n)
{
    double logs = 0;
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
        logs += 2 * log(a[i][i]);
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
    return logs;
}

static void add_up(const form *f, const double *z, size_t n, size_t from, sums *s)
{
    double x[TERMS];
    *s = (sums){ .used = n > from ? (double)(n - from) : 1 };
    for (size_t t = from; t < n; t++) {
        terms_at(f, z, t, x);
        double y = z[t] - z[t - 1] - f->drift;
        for (size_t i = 0; i < f->terms; i++) {
            for (size_t j = 0; j <= i; j++)
                s->xx[i][j] += x[i] * x[j];
            s->xy[i] += x[i] * y;
        }
        s->yy += y * y;
    }
}

/* Coefficients under one strength; returns the log of its evidence up to a constant. */
static double fit(const form *f, const sums *s, double strength, double *b, double *error)
{
    double a[TERMS][TERMS], prior = 0, fitted = 0, variance = s->yy / s->used;
    memcpy(a, s->xx, sizeof a);
    memcpy(b, s->xy, sizeof s->xy);
    for (size_t i = 0; i < f->terms; i++) {
        double hold = (i <= LAGS ? strength : 8) * variance + 1e-300;
        a[i][i] += hold;
        prior += log(hold);
    }
    double logs = solve(a, b, f->terms);
    for (size_t i = 0; i < f->terms; i++)
        fitted += b[i] * s->xy[i];
    *error = fmax(s->yy - fitted, 1e-12 * s->yy) / s->used;
    return -0.5 * (s->used * log(*error) + logs - prior);
}

static void go_on(const form *f, const double *b, double *run, size_t n, size_t from, size_t horizon)
{
    double x[TERMS], damp = 1;
    for (size_t t = n; t < n + horizon; t++, damp *= fading) {
        run[t] = run[t - 1] + damp * f->drift;
        if (t < from)
            continue;
        terms_at(f, run, t, x);
        for (size_t i = 0; i < f->terms; i++)
            run[t] += b[i] * x[i];
    }
}

bool tab_autoregress(tab_arena *a, const double *z, size_t n, const size_t *period, size_t periods,
                     size_t horizon, double *path, double *error)
{
    double *run = tab_arena_new_of(a, double, n + horizon), b[STRENGTHS][TERMS], e[STRENGTHS],
           log_of[STRENGTHS];
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
    sums s;
    add_up(&f, z, n, from, &s);
    memset(path, 0, horizon * sizeof *path);
    *error = 0;
    if (!(s.yy > 0)) { /* a straight line */
        memset(b, 0, sizeof b);
        go_on(&f, b[0], run, n, from, horizon);
        memcpy(path, run + n, horizon * sizeof *path);
        return true;
    }
    double best = -INFINITY, total = 0;
    for (size_t k = 0; k < STRENGTHS; k++) {
        log_of[k] = fit(&f, &s, strengths[k], b[k], &e[k]);
        best = fmax(best, log_of[k]);
    }
    for (size_t k = 0; k < STRENGTHS; k++)
        total += log_of[k] = exp(log_of[k] - best);
    assert(!(total < 1)); /* the best one's share is 1 */
    for (size_t k = 0; k < STRENGTHS; k++) {
        go_on(&f, b[k], run, n, from, horizon);
        *error += log_of[k] / total * e[k];
        for (size_t h = 0; h < horizon; h++)
            path[h] += log_of[k] / total * run[n + h];
    }
    return true;
}
