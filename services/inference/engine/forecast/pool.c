/* Weights of members, growth of errors and their quantiles, from the errors of earlier origins.
 *
 * Weights of the table: those on the simplex that make the mean absolute error of the weighed path least,
 * by exponentiated gradient (Kivinen & Warmuth 1997), held near a prior by its divergence, the more the
 * fewer series speak. A series turns them by its own members' errors, shrunk to the table's.
 *
 * Bands: errors of the weighed paths, each in units of its series' noise at its origin, times the growth of
 * errors by step, times the series' own width, which is learnt from its other origins: a split conformal
 * prediction whose calibration set is the table (Vovk et al. 2005), by levels on both sides. Where few
 * origins speak, quantiles and growth lean on a prior. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/forecast/pool.h"

static const char *const names[TAB_MEMBERS] = {
    "seasonal naive", "exponential smoothing", "theta",          "damped trend",
    "linear trend",   "changing season",       "autoregression", "folding at the period",
    "seasonal mean",  "damped growth",
};
static const double prior_weight[TAB_MEMBERS] = { .03, .07, .30, .14, .07, .15, .08, .1, .01, .05 };

/* Errors of later origins count more: they were made with as long a past as will be used, in the same times
 * (Barber et al. 2023). The fewer series speak, the less can be given away. */
static double recency(const tab_forecast_pool *p, size_t origin)
{
    return pow(p->tracks >= 100 ? .6 : p->tracks >= 20 ? .8 : .95, (double)origin);
}

/* ---- weights ---- */

enum { ROUNDS = 120, ROWS_MOST = 3000 };

typedef struct {
    const float **row; /* (rows) errors (TAB_MEMBERS, steps) */
    size_t rows, steps;
} table_errors;

/* Gradient of the mean absolute error, relative to the members' least, and that error. */
static double gradient(const table_errors *t, const double *w, double *g)
{
    double count = 0, total = 0;
    memset(g, 0, TAB_MEMBERS * sizeof *g);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t k = 0; k < t->steps; k++) {
            const float *e = t->row[r] + k;
            double sum = 0;
            if (isnan(*e))
                continue;
            for (size_t i = 0; i < TAB_MEMBERS; i++)
                sum += w[i] * (double)e[i * t->steps];
            count++;
            total += fabs(sum);
            const double sign = sum > 0 ? 1 : -1;
            for (size_t i = 0; i < TAB_MEMBERS; i++)
                g[i] += sign * (double)e[i * t->steps];
        }
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        g[i] /= fmax(total, 1e-300);
    return count;
}

static void learn_weights(const table_errors *t, double hold, double *weight)
{
    double w[TAB_MEMBERS], g[TAB_MEMBERS], mean[TAB_MEMBERS] = { 0 };
    memcpy(w, prior_weight, sizeof w);
    memcpy(weight, prior_weight, sizeof w);
    for (size_t round = 0; round < ROUNDS; round++) {
        if (gradient(t, w, g) == 0)
            return;
        double total = 0, least = INFINITY;
        for (size_t i = 0; i < TAB_MEMBERS; i++) {
            g[i] += hold * log(w[i] / prior_weight[i]);
            least = fmin(least, g[i]);
        }
        for (size_t i = 0; i < TAB_MEMBERS; i++) {
            w[i] = fmax(w[i] * exp(-fmin(20, (g[i] - least) / sqrt(1 + (double)round / 10))), 1e-7);
            total += w[i];
        }
        for (size_t i = 0; i < TAB_MEMBERS; i++) {
            w[i] /= total;
            mean[i] += round >= ROUNDS / 2 ? w[i] : 0;
        }
    }
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        weight[i] = mean[i] / (ROUNDS - ROUNDS / 2);
}

/* Mean absolute error of each member at one origin beside the members' mean there; false: nothing known. */
static bool relative(const float *error, size_t steps, double *rel)
{
    double all = 0;
    for (size_t i = 0; i < TAB_MEMBERS; i++) {
        rel[i] = 0;
        for (size_t k = 0; k < steps; k++)
            if (!isnan(error[i * steps + k]))
                rel[i] += fabs((double)error[i * steps + k]);
        all += rel[i] / TAB_MEMBERS;
    }
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        rel[i] = all > 0 ? rel[i] / all : 1;
    return all > 0;
}

/* The series' own weights, without what origin `without` says (a number that is none: with all). */
static void own_weights(const tab_forecast_pool *p, const tab_learnt *l, const double *pooled, size_t without,
                        double *weight)
{
    enum { KEEP = 4 }; /* origins' worth of trust in the table */
    double sum[TAB_MEMBERS], rel[TAB_MEMBERS], count = KEEP, total = 0;
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        sum[i] = KEEP * pooled[i];
    for (size_t o = 0; o < l->origins; o++)
        if (o != without && relative(l->error + o * TAB_MEMBERS * p->steps, p->steps, rel)) {
            for (size_t i = 0; i < TAB_MEMBERS; i++)
                sum[i] += rel[i];
            count++;
        }
    for (size_t i = 0; i < TAB_MEMBERS; i++) {
        double turn = sum[i] / count / fmax(pooled[i], 1e-9);
        weight[i] = p->weight[i] / fmax(turn * turn, 1e-6);
        total += weight[i];
    }
    assert(!(total <= 0)); /* NaN: what came overflows a float */
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        weight[i] /= total;
}

/* ---- bands ---- */

/* Errors of the weighed paths, a row an origin: (rows, steps), NaN where none; which series each is of. */
typedef struct {
    double *error;
    size_t *series, rows;
    double *width;  /* (rows) the series' own width without this row */
    double *weight; /* (rows) */
} band_errors;

/* The prior's mean size of errors, in units of noise: chosen on M3 and Tourism. */
static double prior_growth(double step)
{
    return 1.2 * pow(1 + step, .12);
}

/* Growth by step: mean sizes, blended with the prior as so many origins' worth. */
static void learn_growth(tab_forecast_pool *p, const band_errors *b)
{
    enum { PRIOR = 4 };
    double weight[TAB_FORECAST_STEPS], level = 0, seen = 0;
    for (size_t k = 0; k < p->steps; k++) {
        double sum = 0, count = 0, prior = prior_growth((double)p->step[k]);
        for (size_t r = 0; r < b->rows; r++)
            if (!isnan(b->error[r * p->steps + k])) {
                sum += b->weight[r] * fmin(fabs(b->error[r * p->steps + k]), 50);
                count += b->weight[r];
            }
        level += sum / prior;
        seen += count;
        p->growth[k] = sum / prior; /* beside the prior's */
        weight[k] = count;
    }
    /* first the level of all steps, shrunk to the prior's 1, then each step's deviation from it */
    double overall = (level + PRIOR) / (seen + PRIOR);
    for (size_t k = 0; k < p->steps; k++) {
        p->growth[k] =
            prior_growth((double)p->step[k]) * (p->growth[k] + PRIOR * overall) / (weight[k] + PRIOR);
    }
}

double tab_growth_at(const tab_forecast_pool *p, size_t step)
{
    size_t k = 0;
    assert(p->steps > 0 && p->step[0] <= step);
    while (k + 1 < p->steps && p->step[k + 1] <= step)
        k++;
    if (k + 1 == p->steps) /* farther than any step looked at: gaps at the end */
        return p->growth[k] * prior_growth((double)step) / prior_growth((double)p->step[k]);
    double share = (double)(step - p->step[k]) / (double)(p->step[k + 1] - p->step[k]);
    return p->growth[k] + share * (p->growth[k + 1] - p->growth[k]);
}

/* Mean size of one origin's errors in units of growth; false: none is known. */
static bool size_of(const tab_forecast_pool *p, const double *error, double *size)
{
    double sum = 0, count = 0;
    for (size_t k = 0; k < p->steps; k++)
        if (!isnan(error[k])) {
            sum += fmin(fabs(error[k]), 50) / p->growth[k];
            count++;
        }
    *size = count > 0 ? sum / count : 0;
    return count > 0;
}

enum { WIDTH_KEEP = 3 }; /* origins' worth of trust in the table's width */

static void learn_widths(const tab_forecast_pool *p, band_errors *b)
{
    for (size_t r = 0; r < b->rows;) {
        size_t from = r, to = r;
        double sum = WIDTH_KEEP, count = WIDTH_KEEP, size;
        for (; to < b->rows && b->series[to] == b->series[from]; to++)
            if (size_of(p, b->error + to * p->steps, &size)) {
                sum += size;
                count++;
            }
        for (; r < to; r++) {
            bool any = size_of(p, b->error + r * p->steps, &size);
            b->width[r] = any ? (sum - size) / (count - 1) : 1;
        }
        p->learnt[b->series[from]].width = sum / count;
    }
}

/* Quantiles of a unit of mean size, between the normal's and Laplace's, for where little is known. */
static const double prior_quantile[TAB_FORECAST_LEVELS] = { -2.25, -1.65, -.77, 0, .77, 1.65, 2.25 };
static const double levels[TAB_FORECAST_LEVELS] = { .05, .1, .25, .5, .75, .9, .95 };

/* An error and how much it counts. */
typedef struct {
    double error, weight;
} counted;

/* Equal errors by their weights, so that the order in which they came tells nothing. */
static int by_counted(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    return x->error != y->error ? (x->error > y->error) - (x->error < y->error)
                                : (x->weight > y->weight) - (x->weight < y->weight);
}

/* The quantile of x (n), ascending, whose weights sum to total. */
static double weighted_quantile(const counted *x, size_t n, double total, double level)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i].weight;
        if (sum >= level * total)
            return x[i].error;
    }
    return n > 0 ? x[n - 1].error : 0;
}

static bool learn_quantiles(tab_forecast_pool *p, const band_errors *b, double trust, tab_arena *work)
{
    enum { PRIOR = 6 }; /* independent errors' worth of trust in the prior */
    counted *x = tab_arena_new_of(work, counted, b->rows * p->steps + 1);
    size_t n = 0;
    double total = 0;
    if (x == NULL)
        return false;
    for (size_t r = 0; r < b->rows; r++)
        for (size_t k = 0; k < p->steps; k++)
            if (!isnan(b->error[r * p->steps + k])) { /* truth less forecast */
                x[n++] =
                    (counted){ -b->error[r * p->steps + k] / (p->growth[k] * b->width[r]), b->weight[r] };
                total += b->weight[r];
            }
    qsort(x, n, sizeof *x, by_counted);
    assert(trust > 0);
    for (size_t q = 0; q < TAB_FORECAST_LEVELS; q++) {
        /* the finite sample's level: a step outwards by what `trust` independent errors cannot tell */
        double level = levels[q] + .5 * (levels[q] - .5) / (trust + 1);
        double found = weighted_quantile(x, n, total, fmin(1, fmax(0, level)));
        double share = n > 0 ? trust / (trust + PRIOR) : 0;
        p->quantile[q] = share * found + (1 - share) * prior_quantile[q] * (1 + 1 / (trust + 3));
    }
    return true;
}

/* ---- all of it ---- */

/* How many origins of a series do not overlap. */
static double independent(const tab_forecast_pool *p, const tab_learnt *l)
{
    if (l->origins == 0)
        return 0;
    double span = 0;
    for (size_t o = 0; o < l->origins; o++)
        span = fmax(span, (double)(l->n - l->at[o]));
    return fmax(1, fmin((double)l->origins, span / (double)p->horizon));
}

/* Series of a table share what happens to all of them: however many they are, they tell no more than so many
 * independent origins would. */
enum { ERAS = 300 };

static bool learn_bands(tab_forecast_pool *p, const double *pooled, double trust, tab_arena *work)
{
    size_t rows = 0;
    for (size_t i = 0; i < p->tracks; i++)
        rows += p->learnt[i].origins;
    band_errors b = { .error = tab_arena_new_of(work, double, rows * p->steps + 1),
                      .series = tab_arena_new_of(work, size_t, rows + 1),
                      .width = tab_arena_new_of(work, double, rows + 1),
                      .weight = tab_arena_new_of(work, double, rows + 1) };
    if (tab_arena_full(work))
        return false;
    for (size_t s = 0; s < p->tracks; s++) {
        tab_learnt *l = &p->learnt[p->order[s]];
        l->width = 1;
        for (size_t o = 0; o < l->origins; o++) {
            double w[TAB_MEMBERS];
            own_weights(p, l, pooled, o, w);
            for (size_t k = 0; k < p->steps; k++) {
                double sum = 0;
                for (size_t i = 0; i < TAB_MEMBERS; i++)
                    sum += w[i] * (double)l->error[(o * TAB_MEMBERS + i) * p->steps + k];
                b.error[b.rows * p->steps + k] = sum / (double)l->spread[o * p->steps + k];
            }
            b.weight[b.rows] = recency(p, o);
            b.series[b.rows++] = p->order[s];
        }
        own_weights(p, l, pooled, SIZE_MAX, l->weight);
    }
    if (trust <= 0)
        trust = 1e-3; /* no origin has a past: the prior alone */
    learn_growth(p, &b);
    learn_widths(p, &b);
    return learn_quantiles(p, &b, 1 / (1 / trust + 1. / ERAS), work);
}

/* How far the table's series move in a step beside their size; 0.3 where none is long enough to say. */
static bool learn_restless(tab_forecast_pool *p, tab_arena *work)
{
    double *x = tab_arena_new_of(work, double, p->tracks);
    size_t n = 0;
    if (x == NULL)
        return false;
    for (size_t i = 0; i < p->tracks; i++)
        if (!isnan(p->learnt[i].restless))
            x[n++] = p->learnt[i].restless;
    qsort(x, n, sizeof *x, tab_ascending_double);
    p->restless = n > 0 ? x[n / 2] : .3;
    return true;
}

bool tab_pool_learn(tab_forecast_pool *p, tab_arena *work)
{
    double trust = 0, pooled[TAB_MEMBERS] = { 0 }, rel[TAB_MEMBERS], count = 0;
    size_t most = 0;
    for (size_t s = 0; s < p->tracks; s++) {
        tab_learnt *l = &p->learnt[p->order[s]];
        trust += independent(p, l);
        most += l->origins;
        for (size_t o = 0; o < l->origins; o++)
            if (relative(l->error + o * TAB_MEMBERS * p->steps, p->steps, rel)) {
                for (size_t i = 0; i < TAB_MEMBERS; i++)
                    pooled[i] += rel[i];
                count++;
            }
    }
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        pooled[i] = count > 0 ? pooled[i] / count : 1;
    table_errors t = { .row = tab_arena_new_of(work, const float *, most + 1), .steps = p->steps };
    if (t.row == NULL || !learn_restless(p, work))
        return false;
    size_t skip = most / ROWS_MOST + 1; /* series lie in the order of a hash: a sample by chance */
    for (size_t s = 0; s < p->tracks; s += skip) {
        const tab_learnt *l = &p->learnt[p->order[s]];
        for (size_t o = 0; o < l->origins; o++)
            t.row[t.rows++] = l->error + o * TAB_MEMBERS * p->steps;
    }
    learn_weights(&t, .05 + .3 / (trust + 1), p->weight);
    return learn_bands(p, pooled, trust, work);
}

bool tab_pool_method(const tab_forecast_pool *p, tab_arena *a)
{
    size_t first = 0, second = 1;
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        if (p->weight[i] > p->weight[first])
            first = i;
    second = first == 0 ? 1 : 0;
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        if (i != first && p->weight[i] > p->weight[second])
            second = i;
    p->ret->method = tab_arena_printf(a, "%s, %s", names[first], names[second]);
    return p->ret->method != NULL;
}
