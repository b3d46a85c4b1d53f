/* Periods beside a twin that sums what the library transforms: the spectrum term by term, autocorrelations
 * lag by lag; and what no period may depend on. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { N_MOST = 400, SIZE_MOST = 1024, LIST = 12 };

static double unit(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / 2147483648.0;
}

/* A straight line taken off by least squares. */
static void flat(const double *y, size_t n, double *x)
{
    double mt = ((double)n - 1) / 2, my = 0, ty = 0, tt = 0;
    for (size_t t = 0; t < n; t++)
        my += y[t] / (double)n;
    for (size_t t = 0; t < n; t++)
        ty += ((double)t - mt) * (y[t] - my), tt += pow((double)t - mt, 2);
    for (size_t t = 0; t < n; t++)
        x[t] = y[t] - my - (tt > 0 ? ty / tt : 0) * ((double)t - mt);
}

typedef struct {
    double x[N_MOST], power[SIZE_MOST], r[N_MOST];
    size_t n, size, lags;
} spectrum;

static void transform(const double *y, size_t n, spectrum *s)
{
    double all = 0;
    s->n = n, s->size = 1, s->lags = n / 2;
    flat(y, n, s->x);
    while (s->size < 2 * n)
        s->size *= 2;
    for (size_t k = 0; k < s->size; k++) {
        double re = 0, im = 0;
        for (size_t t = 0; t < n; t++) {
            re += s->x[t] * cos(2 * M_PI * (double)(k * t % s->size) / (double)s->size);
            im += s->x[t] * sin(2 * M_PI * (double)(k * t % s->size) / (double)s->size);
        }
        s->power[k] = re * re + im * im;
    }
    for (size_t t = 0; t < n; t++)
        all += s->x[t] * s->x[t];
    for (size_t k = 0; k <= s->lags; k++) {
        double sum = 0;
        for (size_t t = k; t < n; t++)
            sum += s->x[t] * s->x[t - k];
        s->r[k] = sum / (double)(n - k) * (double)n / fmax(all, 1e-300);
    }
}

static bool changes_repeat(const spectrum *s, size_t p)
{
    double same = 0, all = 0;
    for (size_t t = 1; t < s->n; t++)
        all += pow(s->x[t] - s->x[t - 1], 2);
    for (size_t t = p + 1; t < s->n; t++)
        same += (s->x[t] - s->x[t - 1]) * (s->x[t - p] - s->x[t - p - 1]);
    return same / (double)(s->n - p) > fmax(.1, 2 / sqrt((double)s->n)) * all / (double)s->n;
}

/* Where the autocorrelation has its highest peak near some multiples of a period; a later one must be higher
 * by 0.03; 0: none above `least`. */
static size_t settle(const spectrum *s, double period, size_t from, size_t to, double least)
{
    size_t best = 0;
    for (size_t m = from; m <= to; m++) {
        double at = period * (double)m, reach = 1 + at / 50;
        for (size_t k = (size_t)fmax(2, floor(at - reach)); k <= (size_t)ceil(at + reach); k++)
            if (k < s->lags && s->r[k] > s->r[k - 1] && s->r[k] >= s->r[k + 1] && s->r[k] > least &&
                (best == 0 ? s->r[k] > 0 : s->r[k] > s->r[best] + .03))
                best = k;
    }
    return best;
}

static void add(size_t *list, size_t *n, size_t p)
{
    bool there = false;
    for (size_t i = 0; i < *n; i++)
        there = there || list[i] == p;
    if (!there && *n < LIST)
        list[(*n)++] = p;
}

static void search(const double *y, size_t n, size_t *list, size_t *count)
{
    static spectrum s;
    if (n < 12)
        return;
    transform(y, n, &s);
    for (int peak = 0; peak < 3; peak++) {
        size_t top = 0, width = 2 * s.size / n + 1;
        for (size_t k = 2; k < s.size / 2; k++)
            if (s.power[k] >= s.power[k - 1] && s.power[k] > s.power[k + 1] &&
                (double)s.size / (double)k * 4.9 <= (double)n && (top == 0 || s.power[k] > s.power[top]))
                top = k;
        if (top == 0)
            return;
        double least = fmax(.2, 2.6 / sqrt((double)n));
        size_t p = settle(&s, (double)s.size / (double)top, 1, 4, least);
        if (p >= 2 && changes_repeat(&s, p)) {
            add(list, count, p);
            size_t q = settle(&s, (double)p, 5, 12, fmax(least, s.r[p] + .02));
            if (q >= 2 && changes_repeat(&s, q))
                add(list, count, q);
        }
        for (size_t k = 0; k < s.size; k++)
            if (k + width >= top && k <= top + width)
                s.power[k] = 0;
    }
}

/* The variance that a season explains where it stands out; its shrunk shape. */
static double explained(tab_arena *a, const double *x, size_t n, size_t m, bool own, double *shape)
{
    double sum = 0;
    if (n < 2 * m + 2)
        return 0;
    double keep = tab_season_strength(a, x, n, m, shape);
    if (1 / fmax(1 - keep, 1e-12) < 1 + (own ? 2 : 4) * sqrt(2 / ((double)m - 1)))
        return 0;
    for (size_t p = 0; p < m; p++)
        sum += pow(shape[p] *= keep, 2) / (double)m;
    return sum;
}

typedef struct {
    size_t period[LIST], n, own;
} trial;

static size_t strongest(tab_arena *a, const double *x, size_t n, const trial *t, size_t within, double least,
                        double *most)
{
    size_t best = 0;
    double shape[N_MOST];
    *most = least;
    for (size_t i = 0; i < t->n; i++) {
        size_t m = t->period[i];
        if (within > 0 && (m >= within || within % m > 0))
            continue;
        double e = explained(a, x, n, m, i < t->own, shape);
        if (e > *most * (best > 0 && m > best ? 1.1 : 1))
            *most = e, best = m;
    }
    return best;
}

static bool take_off(tab_arena *a, double *x, size_t n, size_t m)
{
    double shape[N_MOST], before[N_MOST], after[N_MOST], was = 0, is = 0;
    flat(x, n, before);
    if (explained(a, x, n, m, true, shape) <= 0)
        return false;
    for (size_t t = 0; t < n; t++)
        x[t] -= shape[t % m];
    flat(x, n, after);
    for (size_t t = 0; t < n; t++)
        was += before[t] * before[t], is += after[t] * after[t];
    return is < .95 * was;
}

static size_t wanted(tab_arena *a, const double *y, size_t n, const double *candidate, size_t candidates,
                     size_t *ret)
{
    trial t = { .n = 0 };
    double x[N_MOST], most, other;
    for (size_t i = 0; i < candidates; i++)
        if (candidate[i] >= 1.5)
            add(t.period, &t.n, (size_t)floor(candidate[i] + .5));
    t.own = t.n;
    search(y, n, t.period, &t.n);
    memcpy(x, y, n * sizeof *x);
    size_t p = strongest(a, x, n, &t, 0, 0, &most), q;
    ret[0] = p;
    if (p == 0)
        return 0;
    q = strongest(a, x, n, &t, p, .4 * most, &other);
    if (q == 0) {
        if (!take_off(a, x, n, p))
            return 1;
        q = strongest(a, x, n, &t, 0, 0, &other);
        if (q == 0 || q == p || !take_off(a, x, n, q))
            return 1;
    }
    ret[0] = p < q ? p : q;
    ret[1] = p < q ? q : p;
    return 2;
}

/* kind: noise, a walk, a season, a season in a longer one, two that do not meet, few steps a season. */
static void make(int kind, size_t n, double noise, uint64_t seed, double *y)
{
    double walk = 0;
    for (size_t t = 0; t < n; t++) {
        double e = unit(&seed) + unit(&seed) - 1, at = (double)t;
        walk += e;
        switch (kind) {
        case 0:
            y[t] = e;
            break;
        case 1:
            y[t] = walk;
            break;
        case 2:
            y[t] = 3 * sin(2 * M_PI * at / 12) + .05 * at + noise * e;
            break;
        case 3:
            y[t] = (t % 7 < 5 ? 3 : .6) * (t % 7 == 2 ? 2 : 1) + sin(2 * M_PI * at / 28) + noise * e;
            break;
        case 4:
            y[t] = sin(2 * M_PI * at / 9) + 2 * sin(2 * M_PI * at / 14) + noise * e;
            break;
        case 5:
            y[t] = (t % 6 < 3) * (1 + (t / 6 % 7 == 3)) + noise * e;
            break;
        default:
            y[t] = (t % 3 == 1) + walk / 9;
        }
    }
}

Test(period_twin, periods_are_as_defined)
{
    static const size_t lengths[] = { 5, 11, 12, 26, 30, 57, 84, 130, 256, N_MOST };
    static const double candidate[] = { 12, 7.4, 1.4, 1.5, 28, 400, 12.3 };
    for (int kind = 0; kind < 7; kind++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int noise = 0; noise < 3; noise++)
                for (size_t told = 0; told <= 7; told += 7) {
                    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
                    double y[N_MOST];
                    size_t n = lengths[l], is[TAB_PERIODS] = { 0 }, want[TAB_PERIODS] = { 0 };
                    make(kind, n, .02 + noise, (uint64_t)(kind * 10 + noise), y);
                    size_t found = tab_periods_find(a, y, n, candidate, told, is);
                    size_t must = wanted(a, y, n, candidate, told, want);
                    cr_expect(found == must && (found < 1 || is[0] == want[0]) &&
                                  (found < 2 || is[1] == want[1]),
                              "kind %d, %zu values, noise %d, %zu told: %zu (%zu, %zu), not %zu (%zu, %zu)",
                              kind, n, noise, told, found, is[0], is[1], must, want[0], want[1]);
                }
}

Test(period_twin, a_unit_is_no_period)
{
    for (int kind = 0; kind < 7; kind++)
        for (int power = -60; power <= 60; power += 20) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
            double y[120], z[120];
            size_t p[TAB_PERIODS] = { 0 }, q[TAB_PERIODS] = { 0 };
            make(kind, 120, .5, 3, y);
            for (size_t t = 0; t < 120; t++)
                z[t] = ldexp(y[t], power);
            size_t n = tab_periods_find(a, y, 120, NULL, 0, p);
            cr_expect_eq(tab_periods_find(a, z, 120, NULL, 0, q), n, "kind %d, 2^%d", kind, power);
            cr_expect(n == 0 || p[0] == q[0]);
        }
}

/* Of a very long series the latest part tells. */
Test(period_twin, what_was_long_ago_is_no_period)
{
    enum { OLD = 9000, NEW = 4 * 8192 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    double *y = tab_arena_new_of(a, double, OLD + NEW);
    const double candidate[] = { 10, 7 };
    size_t p[TAB_PERIODS] = { 0 };
    uint64_t seed = 4;
    for (size_t t = 0; t < OLD + NEW; t++)
        y[t] = (t < OLD ? 50 * (t % 10 == 0) : (t - OLD) % 7 == 3) + .1 * unit(&seed);
    cr_expect_eq(tab_periods_find(a, y, OLD + NEW, candidate, 2, p), 1);
    cr_expect_eq(p[0], 7);
}

/* Sums that run begin anew every so often: nothing of it is seen, on a level that bends. */
Test(period_twin, a_season_of_a_long_series_is_found_exactly)
{
    enum { N = 2100 };
    for (size_t m = 5; m <= 8; m++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 24);
        double *y = tab_arena_new_of(a, double, N), shape[8];
        for (size_t t = 0; t < N; t++)
            y[t] = (t < 1000 ? 3 * (double)t : 3000) + (t % m == 1 ? (double)m - 1 : -1);
        cr_expect_float_eq(tab_season_strength(a, y, N, m, shape), 1, 1e-3);
        for (size_t p = 0; p < m; p++)
            cr_expect_float_eq(shape[p], p == 1 ? (double)m - 1 : -1, .02, "%zu of %zu: %g", p, m, shape[p]);
    }
}

/* A season is each shape, shrunk, of what the shorter ones leave, from the first value to the last. */
Test(period_twin, a_season_is_the_sum_of_its_periods)
{
    enum { N = 61, AHEAD = 9 };
    static const size_t period[] = { 4, 12, 31 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    double y[N], rest[N], is[N + AHEAD], want[N + AHEAD] = { 0 }, shape[31];
    uint64_t seed = 8;
    for (size_t t = 0; t < N; t++)
        rest[t] = y[t] = 3 * (t % 4 == 0) + 5 * (t % 12 == 7) + unit(&seed);
    cr_assert(tab_season_estimate(a, y, N, period, 3, AHEAD, is));
    for (size_t k = 0; k < 2; k++) { /* the third does not come twice */
        double keep = tab_season_strength(a, rest, N, period[k], shape);
        cr_expect(keep > .5 && keep < 1);
        for (size_t t = 0; t < N + AHEAD; t++)
            want[t] += keep * shape[t % period[k]];
        for (size_t t = 0; t < N; t++)
            rest[t] = y[t] - want[t];
    }
    for (size_t t = 0; t < N + AHEAD; t++)
        cr_expect_float_eq(is[t], want[t], 1e-12, "%zu: %g, not %g", t, is[t], want[t]);
}
