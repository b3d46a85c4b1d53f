/* Forecasts of made tables: what any series must get, how often bands hold the truth, and what no answer may
 * depend on. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/forecast/forecast.h"

enum { TRACKS_MOST = 400, STEPS = TAB_FORECAST_LEVELS };

/* Standard normal draws (Box & Muller). */
static double normal(uint64_t *seed)
{
    *seed = tab_mix2(*seed, 1);
    double u = fmax(tab_unit(*seed), 1e-12);
    *seed = tab_mix2(*seed, 2);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * tab_unit(*seed));
}

static tab_forecast *forecast(tab_arena *a, const tab_track *t, size_t n, size_t horizon, double season)
{
    tab_engine e = { .arena = a };
    tab_forecast *f = NULL;
    cr_assert_eq(tab_forecast_make(&e, a, t, n, horizon, &season, season > 1, &f, NULL), TAB_OK);
    return f;
}

static double low(const tab_forecast *f, size_t i, size_t h)
{
    return f->quantile[(i * f->horizon + h) * STEPS + 1];
}

static double high(const tab_forecast *f, size_t i, size_t h)
{
    return f->quantile[(i * f->horizon + h) * STEPS + 5];
}

/* Finite, quantiles in order, a band that is not a point, no negative where none was. */
static void check(const char *what, const tab_track *t, const tab_forecast *f, size_t i)
{
    bool floored = true;
    for (size_t k = 0; k < t->n; k++)
        floored &= !(t->y[k] < 0);
    cr_assert(f->scale[i] > 0, "%s", what);
    for (size_t h = 0; h < f->horizon; h++) {
        const double *q = f->quantile + (i * f->horizon + h) * STEPS, y = f->value[i * f->horizon + h];
        cr_assert(isfinite(y), "%s: step %zu is %g", what, h, y);
        cr_assert(!floored || (y >= 0 && q[0] >= 0), "%s: %g below 0", what, fmin(y, q[0]));
        for (size_t k = 0; k < STEPS; k++)
            cr_assert(isfinite(q[k]) && (k == 0 || q[k] >= q[k - 1]), "%s: quantile %zu is %g", what, k,
                      q[k]);
        cr_assert(q[STEPS - 1] > q[0], "%s: the band is a point", what);
    }
}

/* ---- odd series ---- */

static double odd(int kind, size_t t, uint64_t *seed)
{
    double e = normal(seed);
    switch (kind) {
    case 0:
        return 5; /* constant */
    case 1:
        return 0; /* nothing at all */
    case 2:
        return tab_unit(tab_mix2(*seed, 9)) < .8 ? 0 : floor(3 * fabs(e)); /* counts with many zeros */
    case 3:
        return -50 + e; /* below zero */
    case 4:
        return exp(.1 * (double)t); /* exponential */
    case 5:
        return t % 7 == 3 ? (double)NAN : 10 + e; /* gaps */
    case 6:
        return 1e12 + 1e3 * e; /* huge, with an offset */
    case 7:
        return 1e-9 * fabs(e); /* tiny */
    case 8:
        return t < 50 ? 10 + e : 100 + e; /* a jump of level */
    case 9:
        return (double)t; /* a straight line */
    case 10:
        return t % 31 == 0 ? 1e6 : e; /* rare giants */
    case 11:
        return t > 40 ? (double)NAN : 3 + e; /* ends before its table */
    case 12:
        return t < 30 ? 0 : fabs(e); /* begins late */
    case 13:
        return t % 12 < 6 ? 1 : 2; /* a season without noise */
    default:
        return 1e300 * (e > 0 ? 1 : .5); /* near the largest double */
    }
}

enum { KINDS = 15 };

Test(forecast, odd_series_get_sane_answers)
{
    static const size_t lengths[] = { 1, 2, 3, 4, 5, 8, 13, 40, 100, 700 };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (size_t horizon = 1; horizon <= 60; horizon += 59) {
                TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
                double y[700];
                uint64_t seed = (uint64_t)kind;
                for (size_t t = 0; t < lengths[l]; t++)
                    y[t] = odd(kind, t, &seed);
                tab_track t = { y, lengths[l] };
                char what[64];
                snprintf(what, sizeof what, "kind %d, %zu values, %zu ahead", kind, t.n, horizon);
                check(what, &t, forecast(a, &t, 1, horizon, 12), 0);
            }
}

/* A range that no double holds: answers may be unknown, but the pass ends, and no band is turned. */
Test(forecast, values_at_the_end_of_the_doubles_end_no_process)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    enum { DAYS = 12 };
    double y[2][90];
    for (size_t i = 0; i < 90; i++) {
        y[0][i] = i % 2 > 0 ? 1.6e308 : -1.6e308;
        y[1][i] = i == 50 ? 1.7e308 : 1e-300 * (double)i;
    }
    for (size_t k = 0; k < 2; k++) {
        tab_track t = { y[k], 90 };
        const tab_forecast *f = forecast(a, &t, 1, DAYS, 7);
        for (size_t h = 0; h < DAYS; h++)
            for (size_t q = 1; q < TAB_FORECAST_LEVELS; q++) {
                const double *at = f->quantile + h * TAB_FORECAST_LEVELS + q;
                cr_expect_not(at[-1] > at[0], "series %zu, step %zu", k, h);
            }
    }
}

Test(forecast, nothing_known_stays_unknown)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    double none[3] = { (double)NAN, (double)NAN, (double)NAN }, some[4] = { 1, 2, 3, 5 };
    tab_track t[3] = { { none, 3 }, { NULL, 0 }, { some, 4 } };
    tab_forecast *f = forecast(a, t, 3, 2, 0);
    cr_assert(isnan(f->value[0]) && isnan(f->value[2]) && isnan(f->quantile[0]));
    check("the third", &t[2], f, 2);
    f = forecast(a, t, 0, 2, 0);
    cr_assert_eq(f->tracks, 0);
}

/* One value says little, also beside others: half as much and twice as much are no surprise in a table whose
 * series move by a third. */
Test(forecast, one_value_has_a_wide_band)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    double one = 100;
    tab_track t = { &one, 1 };
    tab_forecast *f = forecast(a, &t, 1, 4, 0);
    cr_assert(low(f, 0, 0) < 80 && high(f, 0, 0) > 120, "%g to %g", low(f, 0, 0), high(f, 0, 0));
    cr_assert(high(f, 0, 3) >= high(f, 0, 0));
}

/* ---- bands and errors on what is known ---- */

enum { LENGTH = 96, AHEAD = 12 };

static double made(int kind, size_t t, double *last, uint64_t *seed)
{
    double e = normal(seed);
    switch (kind) {
    case 0:
        return *last = .7 * *last + e; /* first-order autoregression */
    case 1:
        return *last += e; /* random walk */
    case 2:
        return *last = 10 * sin(2 * M_PI * (double)(t % 12) / 12) + 2 * e; /* season */
    case 3:
        return *last = .5 * (double)t + 3 * e; /* trend */
    default:
        return *last = 100 * exp(.01 * (double)t + .3 * cos(2 * M_PI * (double)(t % 12) / 12) + .05 * e);
    }
}

static const char *const made_names[] = { "autoregression", "random walk", "season", "trend", "growth" };
enum { MADE = 5 };

/* Series n of one kind, each times a scale of its own; truth (n, AHEAD). */
static tab_track *make_table(tab_arena *a, int kind, size_t n, size_t length, double **truth)
{
    tab_track *t = tab_arena_new_of(a, tab_track, n);
    *truth = tab_arena_new_of(a, double, n *AHEAD);
    for (size_t i = 0; i < n; i++) {
        double *y = tab_arena_new_of(a, double, length), last = 0;
        uint64_t seed = tab_mix2((uint64_t)kind, i);
        double scale = pow(10, 3 * tab_unit(tab_mix2(seed, 5)));
        for (size_t k = 0; k < length + AHEAD; k++) {
            double v = scale * made(kind, k, &last, &seed);
            if (k < length)
                y[k] = v;
            else
                (*truth)[i * AHEAD + k - length] = v;
        }
        t[i] = (tab_track){ y, length };
    }
    return t;
}

/* Share of truths in the 80 % band; the mean error beside that of the last value (of the last season). */
static double covered(const tab_forecast *f, size_t i, const double *truth)
{
    double in = 0;
    for (size_t h = 0; h < AHEAD; h++)
        in += truth[h] >= low(f, i, h) && truth[h] <= high(f, i, h);
    return in / AHEAD;
}

Test(forecast, bands_of_a_table_hold_what_they_say, .timeout = 300)
{
    for (int kind = 0; kind < MADE; kind++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        double *truth, in = 0;
        enum { N = 120 };
        tab_track *t = make_table(a, kind, N, LENGTH, &truth);
        tab_forecast *f = forecast(a, t, N, AHEAD, 12);
        for (size_t i = 0; i < N; i++) {
            check(made_names[kind], &t[i], f, i);
            in += covered(f, i, truth + i * AHEAD) / N;
        }
        cr_assert(in > .74 && in < .88, "%s: %.3f", made_names[kind], in);
    }
}

Test(forecast, bands_of_single_series_are_not_too_sure, .timeout = 300)
{
    static const size_t lengths[] = { 24, LENGTH };
    for (size_t l = 0; l < 2; l++)
        for (int kind = 0; kind < MADE; kind++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
            double *truth, in = 0;
            enum { N = 60 };
            tab_track *t = make_table(a, kind, N, lengths[l], &truth);
            for (size_t i = 0; i < N; i++)
                in += covered(forecast(a, &t[i], 1, AHEAD, 12), 0, truth + i * AHEAD) / N;
            cr_assert(in > .7 && in < .97, "%s of %zu: %.3f", made_names[kind], lengths[l], in);
        }
}

Test(forecast, a_season_and_a_trend_are_carried_on)
{
    for (int kind = 2; kind < MADE; kind++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        double *truth, error = 0, naive = 0;
        enum { N = 40 };
        tab_track *t = make_table(a, kind, N, LENGTH, &truth);
        tab_forecast *f = forecast(a, t, N, AHEAD, kind == 3 ? 0 : 12);
        for (size_t i = 0; i < N * AHEAD; i++) {
            size_t lag = kind == 3 ? LENGTH - 1 : LENGTH - 12 + i % AHEAD;
            error += fabs(f->value[i] - truth[i]) / f->scale[i / AHEAD];
            naive += fabs(t[i / AHEAD].y[lag] - truth[i]) / f->scale[i / AHEAD];
        }
        cr_assert(error < .8 * naive, "%s: %.3f of naive", made_names[kind], error / naive);
    }
}

/* Thirty stores, 35 months, the next December asked, a third above the other months: the months before it are
 * easier to tell, and their errors say too little of it. */
Test(forecast, a_month_of_the_season_is_as_hard_as_such_months_were)
{
    enum { STORES = 30, MONTHS = 35, TABLES = 5 };
    double in = 0, error = 0, naive = 0;
    for (uint64_t table = 0; table < TABLES; table++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        double y[STORES][MONTHS + 1];
        tab_track t[STORES];
        for (uint64_t i = 0; i < STORES; i++) {
            uint64_t seed = tab_mix2(table, i);
            double base = 100 * pow(100, tab_unit(tab_mix2(seed, 7))),
                   growth = .01 * tab_unit(tab_mix2(seed, 8));
            for (size_t k = 0; k <= MONTHS; k++)
                y[i][k] = base * exp(growth * (double)k + .04 * normal(&seed)) * (k % 12 == 11 ? 1.35 : 1);
            t[i] = (tab_track){ y[i], MONTHS };
        }
        tab_forecast *f = forecast(a, t, STORES, 1, 12);
        for (size_t i = 0; i < STORES; i++) {
            double truth = y[i][MONTHS];
            in += (truth >= low(f, i, 0) && truth <= high(f, i, 0)) / (double)(STORES * TABLES);
            error += fabs(f->value[i] - truth) / truth;
            naive += fabs(y[i][MONTHS - 12] - truth) / truth;
        }
    }
    cr_assert(in > .72 && in < .96, "%.3f", in);
    cr_assert(error < .9 * naive, "%.3f of last December", error / naive);
}

/* A day of 24 steps in a week of seven, told by nobody: the spectrum does. */
Test(forecast, periods_are_found_without_being_told)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    enum { N = 24 * 7 * 6, H = 48 };
    double y[N + H], error = 0, last = 0;
    uint64_t seed = 3;
    for (size_t t = 0; t < N + H; t++)
        y[t] =
            100 + 30 * sin(2 * M_PI * (double)(t % 24) / 24) * (t / 24 % 7 < 5 ? 1 : .3) + 2 * normal(&seed);
    tab_track t = { y, N };
    tab_forecast *f = forecast(a, &t, 1, H, 0);
    for (size_t h = 0; h < H; h++) {
        error += fabs(f->value[h] - y[N + h]) / H;
        last += fabs(y[N - 1] - y[N + h]) / H;
    }
    cr_assert(error < 5 && error < .4 * last, "%.2f, the last value %.2f", error, last);
}

/* ---- what no answer depends on ---- */

typedef struct {
    _Atomic size_t next;
    size_t n;
    void (*fn)(void *, size_t);
    void *ctx;
} loop;

static void *work(void *arg)
{
    loop *l = arg;
    for (size_t i; (i = l->next++) < l->n;)
        l->fn(l->ctx, l->n - 1 - i); /* from the last to the first */
    return NULL;
}

static void threads(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    (void)arg;
    loop l = { .n = n, .fn = fn, .ctx = ctx };
    pthread_t t[4];
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, work, &l), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

Test(forecast, threads_and_order_change_no_byte)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    enum { N = 60 };
    double *truth;
    tab_track mixed[N], turned[N];
    for (size_t i = 0; i < N; i++) {
        mixed[i] = make_table(a, (int)(i % MADE), 13, 30 + i, &truth)[i % 13];
        turned[(i * 7 + 5) % N] = mixed[i];
    }
    const double season = 12;
    tab_forecast *one = forecast(a, mixed, N, AHEAD, season), *other = NULL;
    tab_engine e = { .arena = a, .parallel_for = threads };
    cr_assert_eq(tab_forecast_make(&e, a, turned, N, AHEAD, &season, 1, &other, NULL), TAB_OK);
    for (size_t i = 0; i < N; i++) {
        size_t j = (i * 7 + 5) % N, row = AHEAD * sizeof(double);
        cr_assert_eq(memcmp(one->value + i * AHEAD, other->value + j * AHEAD, row), 0, "series %zu", i);
        cr_assert_eq(
            memcmp(one->quantile + i * AHEAD * STEPS, other->quantile + j * AHEAD * STEPS, row * STEPS), 0,
            "bands of series %zu", i);
    }
    cr_assert_str_eq(one->method, other->method);
}

Test(forecast, units_change_nothing_but_the_unit)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    double *truth, times[LENGTH];
    tab_track *t = make_table(a, 4, 1, LENGTH, &truth);
    for (size_t i = 0; i < LENGTH; i++)
        times[i] = 1024 * t->y[i];
    tab_track big = { times, LENGTH };
    tab_forecast *f = forecast(a, t, 1, AHEAD, 12), *g = forecast(a, &big, 1, AHEAD, 12);
    for (size_t h = 0; h < AHEAD; h++)
        cr_assert_eq(1024 * f->value[h], g->value[h]);
}

static void cancel_soon(void *arg, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    for (size_t i = 0; i < n; i++) {
        fn(ctx, i);
        atomic_store((atomic_bool *)arg, true);
    }
}

Test(forecast, it_can_be_cancelled)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    atomic_bool stop = false;
    double *truth;
    tab_track *t = make_table(a, 1, 20, LENGTH, &truth);
    tab_engine e = { .arena = a, .cancel = &stop, .parallel_for = cancel_soon, .parallel_arg = &stop };
    tab_forecast *f = NULL;
    tab_error err;
    cr_assert_eq(tab_forecast_make(&e, a, t, 20, AHEAD, NULL, 0, &f, &err), TAB_CANCELLED);
    cr_assert_null(f);
}
