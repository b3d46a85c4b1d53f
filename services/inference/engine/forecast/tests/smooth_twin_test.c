/* Smoothing beside a twin of one parameter at a time, without lanes: the first state by least squares over
 * errors that are computed anew for each start, means over the grids by likelihood. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { N_MOST = 160, HEAD = 128, HORIZON = 7, ALPHAS = 8 };
static const double alphas[ALPHAS] = { .03, .1, .2, .35, .5, .7, .85, 1 };

typedef struct {
    double z[N_MOST], weight[N_MOST];
    size_t n;
} made;

/* A level that walks, a slope, a season of four, noise; weights where they are told to be uneven. */
static made series(size_t n, double slope, double season, bool weighed, uint64_t seed)
{
    made m = { .n = n };
    double level = 50;
    for (size_t t = 0; t < n; t++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double noise = (double)(seed >> 33) / 4294967296.0 - 0.25;
        level += slope + noise;
        m.z[t] = level + season * (double)((t % 4) * (t % 4)) + 3 * noise;
        m.weight[t] = weighed ? 0.25 + (double)(t % 3) : 1;
    }
    return m;
}

static double floor_of(const made *m)
{
    double most = 0, steps = 0;
    for (size_t t = 0; t < m->n; t++)
        most = fmax(most, fabs(m->z[t]));
    for (size_t t = 1; t < m->n; t++)
        steps += pow(m->z[t] - m->z[t - 1], 2);
    return steps / 2 / (double)m->n + 1e-18 * most * most * (double)m->n + 1e-300;
}

static double weight_of(const made *m)
{
    double all = 0;
    for (size_t t = 0; t < m->n; t++)
        all += m->weight[t];
    return all;
}

/* Errors from a start; the last state in place of it. */
static void errors(const made *m, size_t n, double a, double ag, double f, double *level, double *trend,
                   double *e)
{
    for (size_t t = 0; t < n; t++) {
        double ahead = *level + f * *trend;
        e[t] = m->z[t] - ahead;
        *level = ahead + a * e[t];
        *trend = f * *trend + ag * e[t];
    }
}

typedef struct {
    double path[HORIZON], sse, a, ag, f;
} answer;

static answer smoothed(const made *m, double a, double share, double f, bool trends)
{
    double e[3][N_MOST], c11 = 1e-6, c12 = 0, c22 = 1, r1 = 0, r2 = 0;
    size_t head = m->n < HEAD ? m->n : HEAD;
    for (int k = 0; k < 3; k++) { /* as it is, one higher, one steeper */
        double level = m->z[0] + (k == 1), trend = k == 2;
        errors(m, head, a, a * share, f, &level, &trend, e[k]);
    }
    for (size_t t = 0; t < head; t++) {
        double c1 = e[0][t] - e[1][t], c2 = e[0][t] - e[2][t], w = m->weight[t];
        c11 += w * c1 * c1, c12 += w * c1 * c2, c22 += w * c2 * c2;
        r1 += w * c1 * e[0][t], r2 += w * c2 * e[0][t];
    }
    double det = c11 * c22 - c12 * c12;
    double d1 = trends ? (r1 * c22 - r2 * c12) / det : r1 / c11,
           d2 = trends ? (r2 * c11 - r1 * c12) / det : 0;
    double level = m->z[0] + d1, trend = d2;
    errors(m, m->n, a, a * share, f, &level, &trend, e[0]);
    answer y = { .sse = 1e-6 * d1 * d1 + d2 * d2, .a = a, .ag = a * share, .f = f };
    for (size_t t = 0; t < m->n; t++)
        y.sse += m->weight[t] * e[0][t] * e[0][t];
    for (size_t h = 0; h < HORIZON; h++)
        y.path[h] = level += trend *= f;
    return y;
}

/* The theta model: the line through what was seen by least squares, each time anew. */
static answer thetas(const made *m, double a, double share)
{
    double seen[N_MOST + HORIZON], start = m->z[0], cc = 1e-6, ce = 0;
    answer y = { .a = a };
    double first[2] = { 0 };
    for (int pass = 0; pass < 2; pass++) { /* the errors, then again from the first level that they ask for */
        double level = start, c = 1, sse = 0;
        for (size_t t = 0; t < m->n + HORIZON; t++) {
            double told = 0, mt = 0, mz = 0, num = 0, den = 0;
            for (size_t k = 0; k < t; k++)
                mt += (double)(k + 1) / (double)t, mz += seen[k] / (double)t;
            for (size_t k = 0; k < t; k++)
                num += ((double)(k + 1) - mt) * (seen[k] - mz), den += pow((double)(k + 1) - mt, 2);
            double B = t > 1 ? num / den : 0, A = mz - B * mt;
            if (t > 0)
                told = share * (pow(1 - a, (double)t) * A + (1 - pow(1 - a, (double)t + 1)) / a * B);
            if (t >= m->n) {
                y.path[t - m->n] = seen[t] = level + told;
            } else {
                double e = m->z[t] - level - told, w = t < 2 ? 0 : m->weight[t];
                seen[t] = m->z[t];
                sse += w * e * e;
                if (pass == 0)
                    cc += w * c * c, ce += w * c * e;
                c *= 1 - a;
            }
            level += a * (seen[t] - level);
        }
        if (pass == 0)
            start += first[0] = ce / cc;
        y.sse = sse + 1e-6 * first[0] * first[0];
    }
    return y;
}

/* The mean of answers by likelihood; the response where it is asked for. Returns the error. */
static double mean(const made *m, const answer *y, size_t n, double path[HORIZON], tab_response *r)
{
    double best = INFINITY, total = 0, error = 0;
    tab_response sum = { 0 };
    for (size_t k = 0; k < n; k++)
        best = fmin(best, y[k].sse + floor_of(m));
    for (size_t h = 0; h < HORIZON; h++)
        path[h] = 0;
    for (size_t k = 0; k < n; k++) {
        double w = pow((y[k].sse + floor_of(m)) / best, -0.5 * (double)m->n);
        total += w, error += w * y[k].sse;
        sum.level += w * y[k].a, sum.trend += w * y[k].ag, sum.damp += w * y[k].f;
        for (size_t h = 0; h < HORIZON; h++)
            path[h] += w * y[k].path[h];
    }
    for (size_t h = 0; h < HORIZON; h++)
        path[h] /= total;
    *r = (tab_response){ sum.level / total, sum.trend / total, sum.damp / total };
    return error / total / weight_of(m);
}

static const made *cases(size_t *n)
{
    static made all[5];
    all[0] = series(30, 0.2, 0, false, 7);
    all[1] = series(N_MOST, -0.4, 0, false, 8); /* longer than what the first state is fitted on */
    all[2] = series(25, 0, 2, true, 9);
    all[3] = series(6, 1.5, 0, true, 10);
    all[4] = series(140, 0.1, 1, true, 11);
    *n = 5;
    return all;
}

static void expect_near(double is, double want, const char *what, size_t of, size_t h)
{
    cr_expect_float_eq(is, want, 1e-6 * fmax(1, fabs(want)), "%s of series %zu, step %zu: %.10g, not %.10g",
                       what, of, h, is, want);
}

Test(smooth_twin, each_kind_is_its_grid_s_mean)
{
    static const double shares[] = { .02, .08, .2, .45 }, dampings[] = { .8, .9, .96 };
    static const double thetas_of[] = { 0, .3, .5, .7, .85, 1 };
    static answer y[TAB_SMOOTH_KINDS][100];
    size_t n;
    const made *all = cases(&n);
    for (size_t i = 0; i < n; i++) {
        const made *m = &all[i];
        size_t count[TAB_SMOOTH_KINDS] = { 0 };
        for (size_t a = 0; a < ALPHAS; a++) {
            y[TAB_SMOOTH_SES][count[TAB_SMOOTH_SES]++] = smoothed(m, alphas[a], 0, 1, false);
            for (size_t s = 0; s < 4; s++) {
                y[TAB_SMOOTH_TREND][count[TAB_SMOOTH_TREND]++] = smoothed(m, alphas[a], shares[s], 1, true);
                for (size_t d = 0; d < 3; d++)
                    y[TAB_SMOOTH_DAMPED][count[TAB_SMOOTH_DAMPED]++] =
                        smoothed(m, alphas[a], shares[s], dampings[d], true);
            }
            for (size_t t = 0; t < 6; t++)
                y[TAB_SMOOTH_THETA][count[TAB_SMOOTH_THETA]++] = thetas(m, alphas[a], thetas_of[t]);
        }
        tab_smooth_view v = { m->z, i < 2 ? NULL : m->weight, m->n, HORIZON };
        double path[TAB_SMOOTH_KINDS * HORIZON], error[TAB_SMOOTH_KINDS], want[HORIZON];
        tab_response r, ours;
        tab_smooth(&v, path, error, &r);
        static const char *const names[] = { "ses", "theta", "damped", "trend" };
        for (size_t k = 0; k < TAB_SMOOTH_KINDS; k++) {
            expect_near(error[k], mean(m, y[k], count[k], want, &ours), names[k], i, 99);
            for (size_t h = 0; h < HORIZON; h++)
                expect_near(path[k * HORIZON + h], want[h], names[k], i, h);
            if (k == TAB_SMOOTH_DAMPED) {
                expect_near(r.level, ours.level, "response's level", i, 0);
                expect_near(r.trend, ours.trend, "response's trend", i, 0);
                expect_near(r.damp, ours.damp, "response's damping", i, 0);
            }
        }
    }
}

static answer seasonal(const made *m, double a, double gamma, bool trends, size_t period)
{
    double level = m->z[0], trend = 0, season[16] = { 0 }, f = trends ? .93 : 1;
    answer y = { .a = a };
    for (size_t t = 0; t < m->n; t++) {
        double ahead = level + f * trend, e = m->z[t] - season[t % period] - ahead;
        level = ahead + a * e;
        trend = f * trend + (trends ? .1 * a : 0) * e;
        season[t % period] += (1 - a) * gamma * e;
        y.sse += m->weight[t] * e * e;
    }
    for (size_t h = 0; h < HORIZON; h++) {
        level += trend *= f;
        y.path[h] = level + season[(m->n + h) % period];
    }
    return y;
}

Test(smooth_twin, a_season_that_changes_is_its_grid_s_mean)
{
    static const double gammas[] = { .05, .15, .3, .5 };
    static double states[12 * TAB_SEASON_STATES] __attribute__((aligned(64)));
    size_t n;
    const made *all = cases(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t period = 3; period <= 12; period += 3) {
            const made *m = &all[i];
            answer y[64];
            size_t count = 0;
            for (size_t a = 0; a < ALPHAS; a++)
                for (size_t g = 0; g < 4; g++)
                    for (int trends = 0; trends < 2; trends++)
                        y[count++] = seasonal(m, alphas[a], gammas[g], trends == 1, period);
            tab_smooth_view v = { m->z, i < 2 ? NULL : m->weight, m->n, HORIZON };
            double path[HORIZON], want[HORIZON];
            tab_response none;
            memset(states, 0, sizeof states);
            double error = tab_smooth_season(&v, period, states, path);
            expect_near(error, mean(m, y, count, want, &none), "season", i, period);
            for (size_t h = 0; h < HORIZON; h++)
                expect_near(path[h], want[h], "season", i, h);
        }
}
