/* The autoregression beside a twin: the same ridge regressions solved by elimination with pivots, weighed by
 * the evidence of a Gaussian prior, log p(y) = -1/2 (log |A| - log |prior| + n log error). */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { N_MOST = 120, AHEAD = 15, TERMS = 8 };

/* What a step is regressed on; missing differences are none. */
static size_t terms(const double *z, size_t t, double mean, double drift, const size_t *period,
                    size_t periods, double *x)
{
    size_t n = 0;
    x[n++] = z[t - 1] - mean;
    for (size_t lag = 1; lag <= 3; lag++)
        x[n++] = t > lag ? z[t - lag] - z[t - lag - 1] - drift : 0;
    for (size_t k = 0; k < periods; k++) {
        x[n++] = z[t - period[k]] - z[t - 1];
        x[n++] = (t > period[k] ? z[t - period[k] - 1] : z[0]) - z[t - 1];
    }
    return n;
}

/* A b = r by elimination; returns log |A|. */
static double eliminate(size_t n, double A[TERMS][TERMS], double *b)
{
    double logs = 0;
    for (size_t i = 0; i < n; i++) {
        size_t top = i;
        for (size_t r = i + 1; r < n; r++)
            top = fabs(A[r][i]) > fabs(A[top][i]) ? r : top;
        for (size_t c = 0; c < n; c++) {
            double was = A[i][c];
            A[i][c] = A[top][c], A[top][c] = was;
        }
        double was = b[i];
        b[i] = b[top], b[top] = was;
        logs += log(fabs(A[i][i]));
        for (size_t r = 0; r < n; r++)
            if (r != i) {
                double times = A[r][i] / A[i][i];
                for (size_t c = i; c < n; c++)
                    A[r][c] -= times * A[i][c];
                b[r] -= times * b[i];
            }
    }
    for (size_t i = 0; i < n; i++)
        b[i] /= A[i][i];
    return logs;
}

static double wanted(const double *z, size_t n, const size_t *period, size_t periods, size_t horizon,
                     double *path)
{
    static const double strength[] = { 15, 60, 240 };
    if (periods > 0 && n < 3 * period[periods - 1])
        periods--;
    double mean = 0, drift = n > 1 ? (z[n - 1] - z[0]) / ((double)n - 1) : 0, x[TERMS];
    size_t from = periods > 0 ? period[periods - 1] : 1, count = 0;
    for (size_t t = 0; t < n; t++)
        mean += z[t] / (double)n;
    double run[3][N_MOST + AHEAD], error[3], evidence[3], total = 0, all = 0;
    for (size_t s = 0; s < 3; s++) {
        double A[TERMS][TERMS] = { { 0 } }, b[TERMS] = { 0 }, yy = 0, used = (double)(n - from), prior = 0;
        double xy[TERMS] = { 0 }, fitted = 0;
        for (size_t t = from; t < n; t++) {
            double y = z[t] - z[t - 1] - drift;
            count = terms(z, t, mean, drift, period, periods, x);
            for (size_t i = 0; i < count; i++) {
                for (size_t j = 0; j < count; j++)
                    A[i][j] += x[i] * x[j];
                b[i] += x[i] * y;
                xy[i] = b[i];
            }
            yy += y * y;
        }
        for (size_t i = 0; i < count; i++) {
            double hold = (i < 4 ? strength[s] : 8) * yy / used;
            A[i][i] += hold;
            prior += log(hold);
        }
        double logs = eliminate(count, A, b);
        for (size_t i = 0; i < count; i++)
            fitted += b[i] * xy[i];
        error[s] = (yy - fitted) / used;
        evidence[s] = -(used * log(error[s]) + logs - prior) / 2;
        memcpy(run[s], z, n * sizeof *z);
        for (size_t h = 0; h < horizon; h++) {
            size_t t = n + h;
            run[s][t] = run[s][t - 1] + pow(.97, (double)h) * drift;
            if (t < from)
                continue;
            terms(run[s], t, mean, drift, period, periods, x);
            for (size_t i = 0; i < count; i++)
                run[s][t] += b[i] * x[i];
        }
    }
    for (size_t h = 0; h < horizon; h++)
        path[h] = 0;
    for (size_t s = 0; s < 3; s++) {
        double w = exp(evidence[s] - evidence[0]);
        total += w;
        all += w * error[s];
        for (size_t h = 0; h < horizon; h++)
            path[h] += w * run[s][n + h];
    }
    for (size_t h = 0; h < horizon; h++)
        path[h] /= total;
    return all / total;
}

static void make(double *z, size_t n, double back, double season, uint64_t seed)
{
    double last = 0;
    for (size_t t = 0; t < n; t++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        last = back * last + (double)(seed >> 33) / 1073741824.0 - 1;
        z[t] = 5 + last + season * (t % 4 == 1) + 0.02 * (double)t;
    }
}

Test(autoregress_twin, paths_are_weighed_by_evidence)
{
    static const struct {
        size_t n, horizon, periods, period[2];
        double back, season;
    } cases[] = {
        { 3, 4, 0, { 0 }, .5, 0 },       { 8, 5, 0, { 0 }, .9, 0 },       { 60, 15, 0, { 0 }, .2, 0 },
        { 120, 9, 0, { 0 }, 1, 0 },      { 12, 5, 1, { 4 }, .5, 2 },      { 11, 5, 1, { 4 }, .5, 2 },
        { 60, 9, 1, { 4 }, .3, 2 },      { 60, 15, 2, { 4, 12 }, .8, 1 }, { 36, 15, 2, { 4, 12 }, .8, 1 },
        { 35, 15, 2, { 4, 12 }, .8, 1 }, { 9, 3, 1, { 3 }, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
        double z[N_MOST], path[AHEAD], want[AHEAD], error;
        make(z, cases[i].n, cases[i].back, cases[i].season, i);
        cr_assert(tab_autoregress(a, z, cases[i].n, cases[i].period, cases[i].periods, cases[i].horizon, path,
                                  &error));
        double least = wanted(z, cases[i].n, cases[i].period, cases[i].periods, cases[i].horizon, want);
        cr_expect_float_eq(error, least, 1e-9 * least, "case %zu: error %.12g, not %.12g", i, error, least);
        for (size_t h = 0; h < cases[i].horizon; h++)
            cr_expect_float_eq(path[h], want[h], 1e-9 * fmax(1, fabs(want[h])),
                               "case %zu, step %zu: %.12g, not %.12g", i, h, path[h], want[h]);
    }
}

/* What never left its line goes on along it, ever less so: its mean slope is a poor guide far ahead. */
Test(autoregress_twin, a_straight_line_goes_on_and_fades)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    const double z[] = { 2, 4, 6, 8, 10 };
    double path[3], error = 1;
    cr_assert(tab_autoregress(a, z, 5, NULL, 0, 3, path, &error));
    cr_expect_eq(error, 0);
    cr_expect_float_eq(path[0], 12, 1e-12);
    cr_expect_float_eq(path[1], 12 + 2 * .97, 1e-12);
    cr_expect_float_eq(path[2], 12 + 2 * .97 + 2 * .97 * .97, 1e-12);
    cr_assert(tab_autoregress(a, z, 1, NULL, 0, 3, path, &error));
    cr_expect(path[0] == 2 && path[2] == 2 && error == 0);
}
