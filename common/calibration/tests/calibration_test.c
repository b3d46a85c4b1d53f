#include "common/calibration/intervals.h"
#include "common/calibration/shares.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { N = 8000, WINDOW = 500 };
static const double TENTH = 1.2815515655446004;

static double uniform(uint64_t *r)
{
    *r ^= *r << 13, *r ^= *r >> 7, *r ^= *r << 17;
    return ((double)(*r >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *r)
{
    double u = uniform(r), v = uniform(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

typedef struct {
    double coverage, least, most, width;
} covered;

/* Rows are served in order, each outcome is told `delay` rows later; e: what a row's error is. */
static covered stream(double (*e)(size_t i, uint64_t *r), size_t delay, bool follow)
{
    static tab_bands served[N];
    static double score[N];
    static bool hit[N];
    tab_bands_state s;
    covered c = { .least = 1 };
    uint64_t r = 88172645463325252;
    size_t in = 0, inside = 0;
    tab_bands_begin(&s);
    for (size_t i = 0; i < N; i++) {
        if (i > delay && follow)
            tab_bands_tell(&s, served[i - 1 - delay].expert, score[i - 1 - delay], delay);
        served[i] = tab_bands_static;
        if (follow)
            tab_bands_of(&s, &served[i]);
        cr_assert(tab_bands_score(-TENTH, 0, TENTH, e(i, &r), &score[i]));
        hit[i] = score[i] >= served[i].at[0] && score[i] <= served[i].at[2];
        inside += hit[i];
        in += hit[i];
        in -= i >= WINDOW && hit[i - WINDOW];
        if (i + 1 >= WINDOW) {
            c.least = fmin(c.least, (double)in / WINDOW);
            c.most = fmax(c.most, (double)in / WINDOW);
        }
        c.width += (served[i].at[2] - served[i].at[0]) / 2 / N;
    }
    c.coverage = (double)inside / N;
    return c;
}

static double still(size_t i, uint64_t *r)
{
    (void)i;
    return normal(r);
}

static double wider(size_t i, uint64_t *r)
{
    return normal(r) * (1 + 2 * (double)i / N);
}

static double moving(size_t i, uint64_t *r)
{
    return normal(r) + 3 * (double)i / N;
}

static double twice(size_t i, uint64_t *r)
{
    return normal(r) * (i >= N / 2 ? 2 : 1);
}

Test(intervals, without_drift_they_stay_as_they_are)
{
    for (size_t delay = 0; delay <= 1000; delay = delay == 0 ? 100 : delay * 10) {
        covered c = stream(still, delay, true);
        cr_expect(c.width < 1.05, "%zu: %g", delay, c.width);
        cr_expect(c.least > 0.73 && c.most < 0.87, "%zu: %g %g", delay, c.least, c.most);
    }
}

Test(intervals, every_window_holds_while_the_world_moves)
{
    double (*const worlds[])(size_t, uint64_t *) = { wider, moving, twice };
    for (size_t w = 0; w < 3; w++) {
        covered fixed = stream(worlds[w], 0, false), c = stream(worlds[w], 0, true);
        cr_expect(fixed.least < 0.65, "%zu: %g", w, fixed.least);
        cr_expect(c.least >= 0.74 && c.most <= 0.86, "%zu: %g %g", w, c.least, c.most);
        cr_expect(fabs(c.coverage - 0.8) < 0.01, "%zu: %g", w, c.coverage);
    }
    for (size_t w = 0; w < 2; w++) {
        covered c = stream(worlds[w], 100, true);
        cr_expect(c.least >= 0.73 && c.most <= 0.87, "%zu: %g %g", w, c.least, c.most);
    }
}

/* What an integrator with its own step would do: swing between nothing and everything. */
Test(intervals, late_outcomes_do_not_make_them_swing)
{
    covered c = stream(moving, 1000, true);
    cr_expect(c.least > 0.6 && c.most < 0.92, "%g %g", c.least, c.most);
    cr_expect(fabs(c.coverage - 0.8) < 0.03, "%g", c.coverage);
}

Test(intervals, a_forecast_without_width_and_strange_outcomes_are_harmless)
{
    double score = 5;
    tab_bands b;
    tab_bands_state s;
    cr_expect(!tab_bands_score(1, 1, 1, 1, &score) && !tab_bands_score(0, 1, 2, NAN, &score) && score == 5);
    cr_expect(!tab_bands_score(0, 1, INFINITY, 1, &score));
    tab_bands_begin(&s);
    for (int i = 0; i < 3000; i++)
        tab_bands_tell(&s, tab_bands_static.expert, i % 2 == 0 ? 1e300 : -1e300, (uint64_t)i << 50);
    cr_assert(tab_bands_restore(&s));
    tab_bands_of(&s, &b);
    cr_expect(isfinite(b.at[0]) && b.at[0] <= b.at[1] && b.at[1] <= b.at[2] && isfinite(b.at[2]));
    cr_expect_float_eq(tab_bands_move(b.at, 1, 1, 1, 7, 0), 7, 0);
    s.weight[1][2] += 0.5;
    cr_expect(!tab_bands_restore(&s));
}

Test(intervals, quantiles_stay_in_order_and_in_place)
{
    const double x[] = { -3, -1, -0.5, 0, 0.7, 2, 5 }, at[] = { -0.2, 0.4, 3 };
    for (size_t i = 0; i < 7; i++) {
        cr_expect_float_eq(tab_bands_move(tab_bands_static.at, -1, 0, 2, x[i], 0), x[i], 0);
        if (i > 0)
            cr_expect(tab_bands_move(at, -1, 0, 2, x[i - 1], 0) < tab_bands_move(at, -1, 0, 2, x[i], 0));
    }
    cr_expect_float_eq(tab_bands_move(at, -1, 0, 2, -1, -1), -0.2,
                       1e-12);                                        /* the score -0.2, below the median */
    cr_expect_float_eq(tab_bands_move(at, -1, 0, 2, 2, 1), 6, 1e-12); /* the score 3, of 2 a unit */
}

Test(intervals, a_side_without_width_takes_the_other_ones)
{
    const double at[] = { -1.5, 0, 3 };
    double score;
    cr_assert(tab_bands_score(-2, 0, 0, 4, &score));
    cr_expect_float_eq(score, 3, 1e-12); /* the end, and two widths of the other side beyond it */
    cr_expect_float_eq(tab_bands_move(at, -2, 0, 0, 0, 1), 4, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, -2, 0, 0, 0, 0), 0, 0);
    cr_expect_float_eq(tab_bands_move(at, -2, 0, 0, -2, -1), -3, 1e-12);
    cr_expect_float_eq(tab_bands_move(at, 0, 0, 2, 0, -1), -1, 1e-12);
}

/* ---- shares ---------------------------------------------------------------------------------- */

typedef struct {
    double as_is, served;
} losses;

/* Two classes; the model says p where p^heat, shifted by `odds` from the middle on, is true. */
static losses shares_stream(double heat, double odds, size_t n)
{
    static const uint64_t hash[] = { 11, 22 };
    uint64_t r = 88172645463325252;
    losses l = { 0 };
    tab_shares s;
    tab_shares_begin(&s);
    for (size_t i = 0; i < n; i++) {
        double p = 0.05 + 0.9 * uniform(&r), a = pow(p, heat) * (i >= n / 2 ? odds : 1), b = pow(1 - p, heat);
        double share[] = { p, 1 - p }, ret[2], scratch[4];
        size_t place[] = { tab_shares_place(&s, 11), tab_shares_place(&s, 22) };
        size_t is = uniform(&r) < a / (a + b) ? 0 : 1;
        tab_shares_move(&s, place, share, 2, scratch, ret);
        cr_assert_float_eq(ret[0] + ret[1], 1, 1e-9);
        l.as_is -= log(share[is]) / (double)n;
        l.served -= log(ret[is]) / (double)n;
        tab_shares_tell(&s, &(tab_shares_row){ .n = 2, .hash = hash, .share = share }, is);
        cr_assert(tab_shares_sound(&s));
    }
    return l;
}

Test(shares, of_a_calibrated_model_hardly_change)
{
    losses l = shares_stream(1, 1, 4000);
    cr_expect(l.served < l.as_is + 0.003, "%g %g", l.as_is, l.served);
}

Test(shares, follow_temperature_and_prior)
{
    losses sure = shares_stream(0.3, 1, 4000), moved = shares_stream(1, 8, 4000);
    cr_expect(sure.served < sure.as_is - 0.03, "%g %g", sure.as_is, sure.served);
    cr_expect(moved.served < moved.as_is - 0.05, "%g %g", moved.as_is, moved.served);
}

Test(shares, classes_that_no_row_names_and_more_than_are_kept_are_taken)
{
    uint64_t hash[TAB_SHARES_CLASSES];
    double share[TAB_SHARES_CLASSES], ret[3], scratch[6];
    tab_shares s;
    tab_shares_begin(&s);
    for (uint64_t i = 0; i < 200; i++) {
        for (size_t k = 0; k < TAB_SHARES_CLASSES; k++) {
            hash[k] = 3 * i + k;
            share[k] = k == 0 ? 0.5 : 0;
        }
        tab_shares_tell(&s, &(tab_shares_row){ TAB_SHARES_CLASSES, hash, share, 100, 0.5 },
                        TAB_SHARES_CLASSES);
        tab_shares_tell(&s, &(tab_shares_row){ 1, hash, share, 0, 0 }, 1);
        tab_shares_tell(&s, &(tab_shares_row){ 1, hash, share, 0, 0 }, 0);
    }
    cr_assert(tab_shares_sound(&s));
    cr_expect_eq(s.classes, TAB_SHARES_CLASSES);
    tab_shares_move(&s, (const size_t[]){ 0, SIZE_MAX, 1 }, (const double[]){ 0.2, 0.8, 0 }, 3, scratch, ret);
    cr_expect_float_eq(ret[0] + ret[1] + ret[2], 1, 1e-9);
    s.weight[0][0] = NAN;
    cr_expect(!tab_shares_sound(&s));
}
