/* What the series of a table say together, beside the definitions in plain words, from made errors: weights
 * of members, a series' own, growth by step, widths, quantiles, and which members are named. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/forecast/pool.h"

enum { M = TAB_MEMBERS, STEPS_MOST = 4, ORIGINS = TAB_FORECAST_ORIGINS };
static const double prior_weight[M] = { .03, .07, .30, .14, .07, .15, .08, .1, .01, .05 };

typedef struct {
    const char *name;
    size_t tracks, steps, step[STEPS_MOST], horizon, origins;
    double unknown; /* the share of truths that are not known */
} made;

static double unit(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / 2147483648.0;
}

/* Errors in which later members are better and some series wider; series i has i % (origins + 1) of them. */
static void make(tab_arena *a, const made *m, tab_forecast_pool *p)
{
    *p = (tab_forecast_pool){ .tracks = m->tracks, .horizon = m->horizon, .steps = m->steps };
    memcpy(p->step, m->step, m->steps * sizeof *m->step);
    p->learnt = tab_arena_new_of(a, tab_learnt, m->tracks);
    p->order = tab_arena_new_of(a, size_t, m->tracks);
    uint64_t seed = 5;
    for (size_t i = 0; i < m->tracks; i++) {
        tab_learnt *l = &p->learnt[i];
        p->order[i] = m->tracks - 1 - i;
        l->origins = m->tracks == 1 || m->tracks > 200 ? m->origins : i % (m->origins + 1);
        l->n = 60 + i % 7;
        l->error = tab_arena_new_of(a, float, ORIGINS *M * m->steps);
        l->spread = tab_arena_new_of(a, float, ORIGINS * m->steps);
        l->restless = i % 3 == 1 ? (double)NAN : 0.1 + unit(&seed);
        for (size_t o = 0; o < l->origins; o++) {
            l->at[o] = l->n - 2 * (o + 1);
            for (size_t k = 0; k < m->steps; k++) {
                bool known = unit(&seed) >= m->unknown;
                double shared = unit(&seed) - .4;
                l->spread[o * m->steps + k] = (float)(1 + .25 * (double)k);
                for (size_t j = 0; j < M; j++) {
                    double e = (1 + (double)(i % 4)) * (shared + 2 * (unit(&seed) - .5) / (double)(j + 1));
                    e *= unit(&seed) < .02 ? 60 : 1;
                    l->error[(o * M + j) * m->steps + k] = known ? (float)e : NAN;
                }
            }
        }
    }
}

static double at(const tab_forecast_pool *p, size_t series, size_t o, size_t member, size_t k)
{
    return (double)p->learnt[series].error[(o * M + member) * p->steps + k];
}

/* How far each member is off at an origin beside their mean; false: nothing is known there. */
static bool relative(const tab_forecast_pool *p, size_t series, size_t o, double *rel)
{
    double mean = 0;
    for (size_t j = 0; j < M; j++) {
        rel[j] = 0;
        for (size_t k = 0; k < p->steps; k++)
            rel[j] += isnan(at(p, series, o, j, k)) ? 0 : fabs(at(p, series, o, j, k));
        mean += rel[j] / M;
    }
    for (size_t j = 0; j < M; j++)
        rel[j] /= mean;
    return mean > 0;
}

static void table_weights(const tab_forecast_pool *p, double hold, double *weight)
{
    double w[M], mean[M] = { 0 };
    size_t origins = 0;
    for (size_t i = 0; i < p->tracks; i++)
        origins += p->learnt[i].origins;
    memcpy(w, prior_weight, sizeof w);
    for (int round = 0; round < 120; round++) {
        double g[M] = { 0 }, total = 0, size = 0, least = INFINITY;
        bool any = false;
        for (size_t s = 0; s < p->tracks; s += 1 + origins / 3000)
            for (size_t o = 0, i = p->order[s]; o < p->learnt[i].origins; o++)
                for (size_t k = 0; k < p->steps; k++) {
                    double sum = 0;
                    for (size_t j = 0; j < M; j++)
                        sum += w[j] * at(p, i, o, j, k);
                    if (isnan(sum))
                        continue;
                    any = true;
                    size += fabs(sum);
                    for (size_t j = 0; j < M; j++)
                        g[j] += (sum > 0 ? 1 : -1) * at(p, i, o, j, k);
                }
        for (size_t j = 0; j < M; j++) {
            g[j] = (size > 0 ? g[j] / size : 0) + hold * (log(w[j]) - log(prior_weight[j]));
            least = fmin(least, g[j]);
        }
        if (!any) {
            memcpy(weight, prior_weight, sizeof prior_weight);
            return;
        }
        for (size_t j = 0; j < M; j++)
            total += w[j] = fmax(1e-7, w[j] * exp(-fmin(20, (g[j] - least) / sqrt(1 + round / 10.))));
        for (size_t j = 0; j < M; j++) {
            w[j] /= total;
            mean[j] += round < 60 ? 0 : w[j] / 60;
        }
    }
    memcpy(weight, mean, sizeof mean);
}

/* A series' own weights without one of its origins. */
static void own_weights(const tab_forecast_pool *p, size_t series, const double *pooled, size_t without,
                        double *weight)
{
    double sum[M], rel[M], n = 4, total = 0;
    for (size_t j = 0; j < M; j++)
        sum[j] = 4 * pooled[j];
    for (size_t o = 0; o < p->learnt[series].origins; o++)
        if (o != without && relative(p, series, o, rel)) {
            n++;
            for (size_t j = 0; j < M; j++)
                sum[j] += rel[j];
        }
    for (size_t j = 0; j < M; j++)
        total += weight[j] = p->weight[j] * pow(sum[j] / n / pooled[j], -2);
    for (size_t j = 0; j < M; j++)
        weight[j] /= total;
}

typedef struct {
    double error, weight;
} counted;

static int by_error(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    return x->error < y->error ? -1 : x->error > y->error ? 1 : x->weight < y->weight ? -1 : 1;
}

typedef struct {
    double weight[M], growth[STEPS_MOST], quantile[TAB_FORECAST_LEVELS], restless;
    double (*own)[M], *width;
} answer;

/* Errors of weighed paths by origin, NaN where none; row r is of series[r]. */
typedef struct {
    double (*error)[STEPS_MOST], *count;
    size_t *series, rows;
} band;

static double mean_size(const double *error, size_t steps, const double *growth)
{
    double sum = 0, n = 0;
    for (size_t k = 0; k < steps; k++)
        if (!isnan(error[k])) {
            sum += fmin(50, fabs(error[k])) / growth[k];
            n++;
        }
    return n > 0 ? sum / n : (double)NAN;
}

static double growth_prior(size_t step)
{
    return 1.2 * exp(.12 * log((double)step + 1));
}

static void growth(const tab_forecast_pool *p, const band *b, answer *y)
{
    double sum[STEPS_MOST] = { 0 }, n[STEPS_MOST] = { 0 }, all = 4, seen = 4;
    for (size_t k = 0; k < p->steps; k++) {
        for (size_t r = 0; r < b->rows; r++)
            if (!isnan(b->error[r][k])) {
                sum[k] += b->count[r] * fmin(50, fabs(b->error[r][k])) / growth_prior(p->step[k]);
                n[k] += b->count[r];
            }
        all += sum[k];
        seen += n[k];
    }
    for (size_t k = 0; k < p->steps; k++)
        y->growth[k] = growth_prior(p->step[k]) * (sum[k] + 4 * all / seen) / (n[k] + 4);
}

static double width_without(const tab_forecast_pool *p, const band *b, const answer *y, size_t series,
                            size_t without)
{
    double sum = 3, n = 3;
    for (size_t r = 0; r < b->rows; r++) {
        double size = mean_size(b->error[r], p->steps, y->growth);
        if (b->series[r] == series && r != without && !isnan(size)) {
            sum += size;
            n++;
        }
    }
    return sum / n;
}

static void quantiles(tab_arena *a, const tab_forecast_pool *p, const band *b, double trust, answer *y)
{
    static const double level[] = { .05, .1, .25, .5, .75, .9, .95 };
    static const double prior[] = { -2.25, -1.65, -.77, 0, .77, 1.65, 2.25 };
    counted *x = tab_arena_new_of(a, counted, b->rows * p->steps + 1);
    size_t n = 0;
    double total = 0;
    for (size_t r = 0; r < b->rows; r++)
        for (size_t k = 0; k < p->steps; k++)
            if (!isnan(b->error[r][k])) {
                double width = width_without(p, b, y, b->series[r], r);
                x[n++] = (counted){ -b->error[r][k] / y->growth[k] / width, b->count[r] };
                total += b->count[r];
            }
    qsort(x, n, sizeof *x, by_error);
    for (size_t q = 0; q < TAB_FORECAST_LEVELS; q++) {
        double outwards = level[q] + (level[q] - .5) / 2 / (trust + 1), sum = 0, found = 0;
        outwards = fmin(1, fmax(0, outwards));
        for (size_t i = 0; i < n; i++) {
            found = x[i].error;
            sum += x[i].weight;
            if (sum >= outwards * total)
                break;
        }
        double share = n > 0 ? trust / (trust + 6) : 0;
        y->quantile[q] = share * found + (1 - share) * prior[q] * (1 + 1 / (trust + 3));
    }
}

static double independent(const tab_learnt *l, size_t horizon)
{
    if (l->origins == 0)
        return 0;
    double eras = (double)(l->n - l->at[l->origins - 1]) / (double)horizon;
    return fmin((double)l->origins, fmax(1, eras));
}

static double median_restless(tab_arena *a, const tab_forecast_pool *p)
{
    double *x = tab_arena_new_of(a, double, p->tracks);
    size_t n = 0;
    for (size_t i = 0; i < p->tracks; i++)
        if (!isnan(p->learnt[i].restless))
            x[n++] = p->learnt[i].restless;
    for (size_t i = 0; i < n; i++) {
        size_t below = 0;
        for (size_t j = 0; j < n; j++)
            below += x[j] < x[i];
        if (below == n / 2)
            return x[i];
    }
    return .3;
}

static void wanted(tab_arena *a, tab_forecast_pool *p, answer *y)
{
    double trust = 0, pooled[M] = { 0 }, rel[M], n = 0;
    double fade = p->tracks < 20 ? .95 : p->tracks < 100 ? .8 : .6;
    size_t origins = 0;
    for (size_t i = 0; i < p->tracks; i++) {
        const tab_learnt *l = &p->learnt[i];
        trust += independent(l, p->horizon);
        origins += l->origins;
        for (size_t o = 0; o < l->origins; o++)
            if (relative(p, i, o, rel)) {
                n++;
                for (size_t j = 0; j < M; j++)
                    pooled[j] += rel[j];
            }
    }
    for (size_t j = 0; j < M; j++)
        pooled[j] = n > 0 ? pooled[j] / n : 1;
    table_weights(p, .05 + .3 / (trust + 1), y->weight);
    memcpy(p->weight, y->weight, sizeof y->weight);
    band b = { .error = tab_arena_alloc(a, origins + 1, sizeof *b.error),
               .count = tab_arena_new_of(a, double, origins + 1),
               .series = tab_arena_new_of(a, size_t, origins + 1) };
    y->own = tab_arena_alloc(a, p->tracks, sizeof *y->own);
    y->width = tab_arena_new_of(a, double, p->tracks);
    for (size_t s = 0; s < p->tracks; s++) {
        size_t i = p->order[s];
        for (size_t o = 0; o < p->learnt[i].origins; o++) {
            double w[M];
            own_weights(p, i, pooled, o, w);
            for (size_t k = 0; k < p->steps; k++) {
                for (size_t j = 0; j < M; j++)
                    b.error[b.rows][k] += w[j] * at(p, i, o, j, k);
                b.error[b.rows][k] /= (double)p->learnt[i].spread[o * p->steps + k];
            }
            b.count[b.rows] = pow(fade, (double)o);
            b.series[b.rows++] = i;
        }
        own_weights(p, i, pooled, SIZE_MAX, y->own[i]);
    }
    trust = trust > 0 ? trust : 1e-3;
    growth(p, &b, y);
    for (size_t i = 0; i < p->tracks; i++)
        y->width[i] = width_without(p, &b, y, i, SIZE_MAX);
    quantiles(a, p, &b, 1 / (1 / trust + 1 / 300.), y);
    y->restless = median_restless(a, p);
}

static void near(const char *of, const char *what, size_t i, double is, double want)
{
    cr_expect_float_eq(is, want, 1e-8 * fmax(1, fabs(want)), "%s, %s %zu: %.10g, not %.10g", of, what, i, is,
                       want);
}

Test(pool_twin, a_table_is_learnt_as_it_is_told)
{
    static const made cases[] = {
        { "none has a past", 3, 2, { 0, 1 }, 2, 0, 0 },   { "nothing came", 5, 2, { 0, 1 }, 2, 3, 1 },
        { "one series", 1, 3, { 0, 1, 2 }, 3, 14, .1 },   { "one of many eras", 1, 1, { 0 }, 1, 14, 0 },
        { "nineteen", 19, 3, { 0, 2, 6 }, 8, 14, .2 },    { "twenty", 20, 3, { 0, 2, 6 }, 8, 8, .2 },
        { "ninety-nine", 99, 2, { 0, 3 }, 4, 5, .1 },     { "a hundred", 100, 2, { 0, 3 }, 4, 5, .1 },
        { "a sample of many", 230, 1, { 0 }, 1, 14, .1 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const made *m = &cases[c];
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
        tab_forecast_pool p, twin;
        make(a, m, &p);
        twin = p;
        answer y;
        cr_assert(tab_pool_learn(&p, a), "%s", m->name);
        wanted(a, &twin, &y);
        near(m->name, "restlessness", 0, p.restless, y.restless);
        for (size_t j = 0; j < M; j++)
            near(m->name, "weight", j, p.weight[j], y.weight[j]);
        for (size_t k = 0; k < p.steps; k++)
            near(m->name, "growth", k, p.growth[k], y.growth[k]);
        for (size_t q = 0; q < TAB_FORECAST_LEVELS; q++)
            near(m->name, "quantile", q, p.quantile[q], y.quantile[q]);
        for (size_t i = 0; i < p.tracks; i++) {
            near(m->name, "width", i, p.learnt[i].width, y.width[i]);
            for (size_t j = 0; j < M; j++)
                near(m->name, "own weight", i * 100 + j, p.learnt[i].weight[j], y.own[i][j]);
        }
    }
}

/* No error at all: members are alike, and nothing is divided by what is not there. */
Test(pool_twin, errors_of_nothing_leave_weights_as_they_were)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    const made m = { "", 2, 2, { 0, 1 }, 2, 2, 0 };
    tab_forecast_pool p;
    make(a, &m, &p);
    for (size_t i = 0; i < 2; i++)
        memset(p.learnt[i].error, 0, ORIGINS * M * 2 * sizeof(float));
    cr_assert(tab_pool_learn(&p, a));
    for (size_t j = 0; j < M; j++) {
        cr_expect_float_eq(p.weight[j], prior_weight[j], 1e-9);
        cr_expect_float_eq(p.learnt[0].weight[j], prior_weight[j], 1e-9);
    }
    cr_expect_float_eq(p.learnt[0].width, 1, 1e-12);
}

/* Between steps that were looked at growth is a straight line; behind the last it goes on as the prior's. */
Test(pool_twin, growth_between_steps_is_a_line)
{
    tab_forecast_pool p = { .steps = 3, .step = { 0, 2, 6 }, .growth = { 1, 2, 4 } };
    static const double want[] = { 1, 1.5, 2, 2.5, 3, 3.5, 4 };
    for (size_t h = 0; h < 7; h++)
        cr_expect_float_eq(tab_growth_at(&p, h), want[h], 1e-12, "%zu: %g", h, tab_growth_at(&p, h));
    cr_expect_float_eq(tab_growth_at(&p, 13), 4 * pow(14 / 7., .12), 1e-12);
    p.steps = 1;
    cr_expect_float_eq(tab_growth_at(&p, 1), pow(2, .12), 1e-12);
}

Test(pool_twin, the_two_members_that_weigh_most_are_named)
{
    static const struct {
        double weight[M];
        const char *want;
    } cases[] = {
        { { .5, .3, .2 }, "seasonal naive, exponential smoothing" },
        { { .3, .5, .2 }, "exponential smoothing, seasonal naive" },
        { { .1, .1, .3, [9] = .5 }, "damped growth, theta" },
        { { .2, .1, .1, .2, [8] = .4 }, "seasonal mean, seasonal naive" }, /* of equals the first */
        { { .1, .1, .1, .35, .35 }, "damped trend, linear trend" },
        { { .2, .2, .2, .2, .2 }, "seasonal naive, exponential smoothing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 16);
        tab_forecast f;
        tab_forecast_pool p = { .ret = &f };
        memcpy(p.weight, cases[i].weight, sizeof p.weight);
        cr_assert(tab_pool_method(&p, a));
        cr_expect_str_eq(f.method, cases[i].want, "case %zu: %s", i, f.method);
    }
}
