/* What each member says from one origin, beside its definition in plain words: the season off by difference
 * and by ratio, their blend by likelihood, the last and the mean season, cycles by level and shape, growth of
 * the logarithm, how far any of them may go, and how errors grow by step. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { N_MOST = 900, AHEAD = 40 };

typedef struct {
    const char *name;
    size_t n, horizon, periods, period[TAB_PERIODS];
    double level, slope, season, growth, noise;
} made;

static void series(const made *m, double *y)
{
    uint64_t seed = 42;
    for (size_t t = 0; t < m->n; t++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double noise = m->noise * ((double)(seed >> 33) / 1073741824.0 - 1);
        double shape = 0;
        for (size_t k = 0; k < m->periods; k++)
            shape += m->season * (t % m->period[k] == 2 % m->period[k] ? 1 : t % 3 == 0 ? -.3 : 0);
        y[t] = (m->level + m->slope * (double)t + noise) * exp(m->growth * (double)t) * (1 + shape);
    }
}

typedef struct {
    tab_arena *a;
    const double *y;
    size_t n, horizon, periods;
    const size_t *period;
    bool positive;
} origin;

/* A series without its season, its members' paths, and the season put back. */
static void view(const origin *o, bool times, double path[TAB_MEMBERS][AHEAD], double error[TAB_MEMBERS],
                 tab_response *r)
{
    static const tab_member of[TAB_SMOOTH_KINDS] = { TAB_MEMBER_SES, TAB_MEMBER_THETA, TAB_MEMBER_DAMPED,
                                                     TAB_MEMBER_TREND };
    double *x = tab_arena_new_of(o->a, double, o->n), *z = tab_arena_new_of(o->a, double, o->n);
    double *w = tab_arena_new_of(o->a, double, o->n), season[N_MOST + AHEAD];
    double p[TAB_SMOOTH_KINDS * AHEAD], e[TAB_SMOOTH_KINDS];
    for (size_t t = 0; t < o->n; t++)
        x[t] = times ? log(o->y[t]) : o->y[t];
    cr_assert(tab_season_estimate(o->a, x, o->n, o->period, o->periods, o->horizon, season));
    for (size_t t = 0; t < o->n; t++) {
        z[t] = times ? o->y[t] * exp(-season[t]) : o->y[t] - season[t];
        w[t] = exp(2 * season[t]);
    }
    tab_smooth_view v = { z, times ? w : NULL, o->n, o->horizon };
    tab_smooth(&v, p, e, r);
    for (size_t k = 0; k < TAB_SMOOTH_KINDS; k++) {
        memcpy(path[of[k]], p + k * o->horizon, o->horizon * sizeof *p);
        error[of[k]] = e[k];
    }
    memcpy(path[TAB_MEMBER_WINTERS], path[TAB_MEMBER_THETA], sizeof path[0]);
    error[TAB_MEMBER_WINTERS] = error[TAB_MEMBER_THETA];
    if (o->periods > 0) {
        size_t m = o->period[o->periods - 1];
        double *states = tab_arena_new_of(o->a, double, m *TAB_SEASON_STATES);
        error[TAB_MEMBER_WINTERS] = tab_smooth_season(&v, m, states, path[TAB_MEMBER_WINTERS]);
    }
    double own;
    cr_assert(tab_autoregress(o->a, z, o->n, o->period, o->periods, o->horizon, path[TAB_MEMBER_AR], &own));
    for (size_t k = TAB_MEMBER_SES; k <= TAB_MEMBER_AR; k++)
        for (size_t h = 0; h < o->horizon; h++)
            path[k][h] = times ? path[k][h] * exp(season[o->n + h]) : path[k][h] + season[o->n + h];
}

/* Cycles of m values that end at the origin: each one's mean goes on by autoregression, its shape is that of
 * the last three of its kind. */
static void fold(const origin *o, double *path)
{
    size_t m = o->period[0], cycles = o->n / m, kinds = 1, ahead = (o->horizon - 1) / m + 1;
    if (o->periods == 2 && o->period[1] % m == 0 && o->n >= 3 * o->period[1])
        kinds = o->period[1] / m;
    double level[N_MOST + AHEAD] = { 0 }, none;
    const double *y = o->y + o->n - cycles * m;
    for (size_t t = 0; t < cycles * m; t++)
        level[t / m] += y[t] / (double)m;
    cr_assert(tab_autoregress(o->a, level, cycles, &kinds, kinds > 1, ahead, level + cycles, &none));
    for (size_t h = 0; h < o->horizon; h++) {
        size_t c = cycles + h / m, of[3], n = 0;
        for (size_t k = cycles; k-- > 0 && n < 3;)
            if (k % kinds == c % kinds)
                of[n++] = k;
        double values = 0, levels = 0;
        for (size_t k = 0; k < n; k++) {
            values += y[of[k] * m + h % m];
            levels += level[of[k]];
        }
        path[h] = o->positive ? level[c] * values / levels : level[c] + (values - levels) / (double)n;
    }
}

static void growth(const origin *o, double *path)
{
    double z[N_MOST], season[N_MOST + AHEAD], p[TAB_SMOOTH_KINDS * AHEAD], e[TAB_SMOOTH_KINDS];
    for (size_t t = 0; t < o->n; t++)
        z[t] = log(o->y[t]);
    cr_assert(tab_season_estimate(o->a, z, o->n, o->period, o->periods, o->horizon, season));
    for (size_t t = 0; t < o->n; t++)
        z[t] -= season[t];
    tab_response r;
    tab_smooth(&(tab_smooth_view){ z, NULL, o->n, o->horizon }, p, e, &r);
    for (size_t h = 0; h < o->horizon; h++)
        path[h] = exp(p[TAB_SMOOTH_DAMPED * o->horizon + h] + season[o->n + h]);
}

static void last_and_mean(const origin *o, double *last, double *mean)
{
    size_t m = o->periods == 0 ? 1 : o->period[0];
    if (o->periods == 2 && o->period[1] % o->period[0] == 0)
        m = o->period[1];
    for (size_t h = 0; h < o->horizon; h++) {
        double sum = 0, n = 0, most = o->periods > 0 ? 4 : fmax(12, floor((double)o->n / 2));
        for (size_t back = m; back <= o->n && n < most; back += m, n++)
            sum += o->y[o->n - back + h % m];
        mean[h] = sum / n;
        last[h] = o->y[o->n - m + h % m];
    }
}

static void held(const origin *o, double *path)
{
    double low = o->y[0], high = o->y[0];
    for (size_t t = 1; t < o->n; t++) {
        low = o->y[t] < low ? o->y[t] : low;
        high = o->y[t] > high ? o->y[t] : high;
    }
    for (size_t h = 0; h < o->horizon; h++) {
        double room = (high - low) / 4 + (high - low) * 2.5 * (double)(h + 1) / (double)o->n;
        path[h] = path[h] > high + room ? high + room : path[h] < low - room ? low - room : path[h];
        if (low >= 0 && path[h] < 0)
            path[h] = 0;
    }
}

/* The wanted paths; returns the noise. */
static double wanted(const origin *o, double path[TAB_MEMBERS][AHEAD], double *spread)
{
    static double other[TAB_MEMBERS][AHEAD];
    double error[TAB_MEMBERS], rival[TAB_MEMBERS], size = 0;
    tab_response r, none;
    view(o, false, path, error, &r);
    double least = fmin(error[TAB_MEMBER_WINTERS], fmin(error[TAB_MEMBER_SES], error[TAB_MEMBER_DAMPED]));
    if (o->positive && o->periods > 0) {
        view(o, true, other, rival, &none);
        error[TAB_MEMBER_AR] = error[TAB_MEMBER_DAMPED], rival[TAB_MEMBER_AR] = rival[TAB_MEMBER_DAMPED];
        for (size_t k = TAB_MEMBER_SES; k <= TAB_MEMBER_AR; k++) {
            double odds = pow(error[k] / rival[k], (double)o->n / 2), share = odds / (1 + odds);
            share = isnan(share) ? 1 : share;
            for (size_t h = 0; h < o->horizon; h++)
                path[k][h] = (1 - share) * path[k][h] + share * other[k][h];
        }
        least = fmin(least, fmin(rival[TAB_MEMBER_SES], rival[TAB_MEMBER_DAMPED]));
    }
    last_and_mean(o, path[TAB_MEMBER_LAST], path[TAB_MEMBER_MEAN]);
    memcpy(path[TAB_MEMBER_GROWTH], path[TAB_MEMBER_DAMPED], sizeof path[0]);
    if (o->positive)
        growth(o, path[TAB_MEMBER_GROWTH]);
    memcpy(path[TAB_MEMBER_FOLD], path[TAB_MEMBER_THETA], sizeof path[0]);
    if (o->periods > 0 && o->n >= 3 * o->period[0])
        fold(o, path[TAB_MEMBER_FOLD]);
    for (size_t k = 0; k < TAB_MEMBERS; k++)
        held(o, path[k]);
    for (size_t h = 0; h < o->horizon; h++) { /* what each earlier error has left in the step h ahead */
        double sum = 1;
        for (size_t j = 1; j <= h; j++) {
            double left = r.level;
            for (size_t i = 1; i <= j; i++)
                left += r.trend * pow(r.damp, (double)i);
            sum += left * left;
        }
        spread[h] = sqrt(sum);
    }
    for (size_t t = 0; t < o->n; t++)
        size += fabs(o->y[t]) / (double)o->n;
    return fmax(sqrt(least), fmax(1e-9 * size, 1e-12));
}

static void near(const made *m, const char *what, size_t k, size_t h, double is, double want)
{
    cr_expect_float_eq(is, want, 1e-7 * fmax(1, fabs(want)), "%s, %s %zu, step %zu: %.10g, not %.10g",
                       m->name, what, k, h, is, want);
}

Test(outlook_twin, each_member_is_what_it_says)
{
    static const made cases[] = {
        { "a walk", 30, 7, 0, { 0 }, 50, 0.5, 0, 0, 9 },
        { "few", 5, 3, 0, { 0 }, 50, 0, 0, 0, 5 },
        { "one", 1, 3, 0, { 0 }, 50, 0, 0, 0, 5 },
        { "nothing", 9, 3, 0, { 0 }, 0, 0, 0, 0, 0 },
        { "zero among positive ones", 4, 2, 0, { 0 }, 0, 1, 0, 0, 0 },
        { "twenty-five values", 25, 2, 0, { 0 }, 10, 0.2, 0, 0, 2 },
        { "below zero", 36, 9, 1, { 4 }, -20, 0.2, 0.2, 0, 2 },
        { "months", 60, 14, 1, { 12 }, 30, 0.5, 0.4, 0, 3 },
        { "additive and multiplicative alike", 26, 5, 1, { 4 }, 100, 0, 0.02, 0, 4 },
        { "growth", 40, 12, 1, { 12 }, 10, 0, 0.2, 0.06, 0.2 },
        { "a fall to nothing", 40, 40, 0, { 0 }, 100, -2.4, 0, 0, 2 },
        { "an exponential", 24, 30, 0, { 0 }, 1, 0, 0, 0.3, 0 },
        { "a line", 20, 40, 0, { 0 }, 5, 3, 0, 0, 0 },
        { "quarters in years", 48, 13, 2, { 4, 12 }, 40, 0.1, 0.3, 0, 2 },
        { "three years of quarters", 36, 13, 2, { 4, 12 }, 40, 0.1, 0.3, 0, 2 },
        { "less than three years", 35, 13, 2, { 4, 12 }, 40, 0.1, 0.3, 0, 2 },
        { "quarters below zero", 60, 13, 2, { 4, 12 }, -40, 0.1, 0.3, 0, 2 },
        { "weeks and months", 100, 15, 2, { 7, 12 }, 40, 0.1, 0.3, 0, 2 },
        { "two seasons", 24, 5, 1, { 12 }, 40, 0.1, 0.3, 0, 2 },
        { "less than two seasons", 23, 5, 1, { 12 }, 40, 0.1, 0.3, 0, 2 },
        { "the long season is not known", 23, 5, 2, { 4, 12 }, 40, 0.1, 0.3, 0, 2 },
        { "longer than the window", 700, 3, 0, { 0 }, 50, 0.1, 0, 0, 8 },
        { "eight long seasons", 900, 3, 1, { 100 }, 50, 0.1, 0.3, 0, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const made *m = &cases[i];
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
        double y[N_MOST];
        series(m, y);
        tab_outlook u;
        cr_assert(tab_outlook_make(a, y, m->n, m->period, m->periods, m->horizon, &u), "%s", m->name);
        origin o = { a, y, m->n, m->horizon, m->periods, m->period, true };
        while (o.periods > 0 && o.period[o.periods - 1] * 2 > o.n)
            o.periods--;
        size_t window = o.periods > 0 && o.period[o.periods - 1] > 75 ? 8 * o.period[o.periods - 1] : 600;
        if (o.n > window) {
            o.y = y + o.n - window;
            o.n = window;
        }
        for (size_t t = 0; t < o.n; t++)
            o.positive = o.positive && o.y[t] > 0;
        static double want[TAB_MEMBERS][AHEAD];
        double spread[AHEAD];
        near(m, "noise", 0, 0, u.noise, wanted(&o, want, spread));
        for (size_t h = 0; h < m->horizon; h++) {
            near(m, "spread", 0, h, u.spread[h], spread[h]);
            for (size_t k = 0; k < TAB_MEMBERS; k++)
                near(m, "member", k, h, u.path[k * m->horizon + h], want[k][h]);
        }
    }
}
