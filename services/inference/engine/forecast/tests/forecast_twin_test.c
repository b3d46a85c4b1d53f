/* The whole of a forecast put together anew from its parts: which earlier origins are looked at, at which
 * steps, in which units, and how paths become bands; and a series as members read it, by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/forecast/pool.h"

enum { TRACKS_MOST = 120, N_MOST = 90, M = TAB_MEMBERS, Q = TAB_FORECAST_LEVELS };

typedef struct {
    const char *name;
    size_t tracks, horizon;
    double season; /* 0: none is told */
} made;

static double y[TRACKS_MOST][N_MOST];
static tab_track track[TRACKS_MOST];

static double unit(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / 2147483648.0;
}

/* Series of unlike lengths, some with gaps, ends, a season, below zero. */
static void make(const made *m)
{
    static const size_t lengths[] = { 5, 6, 7, 8, 14, 25, 26, 40, 61, 90, 1, 2 };
    uint64_t seed = 3 + m->tracks;
    for (size_t i = 0; i < m->tracks; i++) {
        size_t n = m->tracks == 1 ? 61 : lengths[i % 12];
        double level = i % 5 == 4 ? -30 : 40, walk = 0;
        for (size_t t = 0; t < n; t++) {
            walk += unit(&seed) - .45;
            y[i][t] = level + walk + (i % 2 ? 9 * sin(2 * M_PI * (double)t / 12) : 0) + 2 * unit(&seed);
            if (i % 7 == 3 && (t % 10 == 4 || t + 3 > n) && t > 0)
                y[i][t] = NAN;
        }
        track[i] = (tab_track){ y[i], n };
    }
}

static size_t steps_of(size_t horizon, size_t *step)
{
    size_t n = 0;
    for (size_t k = 0; k < 24; k++) {
        double share = (double)k / 23;
        size_t at = horizon <= 24 ? k : (size_t)round(12 * share + ((double)horizon - 13) * pow(share, 2.5));
        if (at < horizon && (n == 0 || at != step[n - 1]))
            step[n++] = at;
    }
    return n;
}

/* What the members were off by, at origins that lie back: every other one by whole seasons where less than
 * one is asked. */
static void learn(tab_arena *a, tab_forecast_pool *p, tab_learnt *l, const tab_grid *g)
{
    size_t stride = (size_t)fmin(floor(((double)p->horizon + 1) / 2), floor((double)g->n / 5) + 1);
    size_t least = l->periods > 0 ? 2 * l->period[0] + 2 : 7;
    for (size_t j = 1; j <= p->origins; j++) {
        bool whole = j % 2 == 0 && l->periods > 0 && l->period[0] > p->horizon;
        size_t back = whole ? l->period[0] * (j / 2) : j * stride;
        size_t must = whole ? l->period[0] + 2 : j == 1 ? 2 : least;
        if (back + 1 >= g->n || g->n - back < must)
            continue;
        tab_outlook u;
        cr_assert(tab_outlook_make(a, g->y, g->n - back, l->period, l->periods, p->horizon, &u));
        double noise = fmax(u.noise, g->scale / 4);
        for (size_t k = 0; k < p->steps; k++) {
            size_t t = g->n - back + p->step[k];
            l->spread[l->origins * p->steps + k] = (float)u.spread[p->step[k]];
            for (size_t m = 0; m < M; m++) {
                double e = t < g->n && g->seen[t] ? (u.path[m * p->horizon + p->step[k]] - g->y[t]) / noise
                                                  : (double)NAN;
                e = e > 100 ? 100 : e < -100 ? -100 : e;
                l->error[(l->origins * M + m) * p->steps + k] = (float)e;
            }
        }
        l->at[l->origins++] = g->n - back;
    }
}

static void near(const made *m, const char *what, size_t i, size_t h, double is, double want)
{
    cr_expect((isnan(is) && isnan(want)) || fabs(is - want) <= 1e-6 * fmax(1, fabs(want)),
              "%s, %s of series %zu, step %zu: %.9g, not %.9g", m->name, what, i, h, is, want);
}

static void check_series(tab_arena *a, const made *m, const tab_forecast_pool *p, size_t i, const tab_grid *g,
                         const tab_forecast *f)
{
    tab_outlook u;
    const tab_learnt *l = &p->learnt[i];
    size_t ahead = m->horizon + g->tail;
    cr_assert(tab_outlook_make(a, g->y, g->n, l->period, l->periods, ahead, &u));
    double noise = fmax(u.noise, g->scale / 4), n = (double)g->n, width = 0;
    if (g->n < 6)
        noise = sqrt(((n - 1) * noise * noise + 2 * pow(p->restless * g->size, 2)) / (n + 1));
    near(m, "scale", i, 0, f->scale[i], g->scale * g->unit);
    for (size_t h = 0; h < m->horizon; h++) {
        size_t at = h + g->tail;
        double want = 0;
        for (size_t k = 0; k < M; k++)
            want += l->weight[k] * u.path[k * ahead + at];
        width = fmax(width, noise * u.spread[at] * l->width * tab_growth_at(p, at));
        double room = fmax(4 * noise, g->range * (1.5 + 3 * ((double)at + 1) / n));
        near(m, "value", i, h, f->value[i * m->horizon + h], want * g->unit);
        for (size_t q = 0; q < Q; q++) {
            double off = width * p->quantile[q], bound = want + (off > room    ? room
                                                                 : off < -room ? -room
                                                                               : off);
            near(m, "quantile", i, h * 10 + q, f->quantile[(i * m->horizon + h) * Q + q],
                 g->unit * (g->floored && bound < 0 ? 0 : bound));
        }
    }
}

static const tab_learnt *learnt_of;

static int by_hash(const void *a, const void *b)
{
    uint64_t s = learnt_of[*(const size_t *)a].hash, t = learnt_of[*(const size_t *)b].hash;
    return s < t ? -1 : s > t;
}

Test(forecast_twin, a_table_is_answered_as_its_parts_say)
{
    static const made cases[] = { { "one", 1, 3, 0 },      { "a dozen", 12, 4, 12 },
                                  { "far", 12, 40, 12 },   { "nineteen", 19, 24, 0 },
                                  { "twenty", 20, 12, 0 }, { "a hundred", 100, 2, 12 },
                                  { "a year", 30, 25, 12 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const made *m = &cases[c];
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        tab_engine e = { .arena = a };
        tab_forecast *f, method;
        static tab_grid g[TRACKS_MOST];
        make(m);
        cr_assert_eq(
            tab_forecast_make(&e, a, track, m->tracks, m->horizon, &m->season, m->season > 0, &f, NULL),
            TAB_OK);
        tab_forecast_pool p = { .tracks = m->tracks, .horizon = m->horizon, .ret = &method };
        p.origins = m->tracks < 20 ? 14 : m->tracks < 100 ? 8 : 5;
        p.steps = steps_of(m->horizon, p.step);
        p.learnt = tab_arena_new_of(a, tab_learnt, m->tracks);
        p.order = tab_arena_new_of(a, size_t, m->tracks);
        for (size_t i = 0; i < m->tracks; i++) {
            tab_learnt *l = &p.learnt[i];
            l->error = tab_arena_new_of(a, float, p.origins *M *p.steps);
            l->spread = tab_arena_new_of(a, float, p.origins *p.steps);
            cr_assert(tab_grid_read(a, &track[i], &m->season, m->season > 0, l, &g[i]));
            l->hash = g[i].hash, l->n = g[i].n, l->unit = g[i].unit;
            l->restless = g[i].n >= 6 && g[i].range > 0 ? g[i].scale / g[i].size : (double)NAN;
            learn(a, &p, l, &g[i]);
            p.order[i] = i;
        }
        learnt_of = p.learnt;
        qsort(p.order, m->tracks, sizeof *p.order, by_hash);
        cr_assert(tab_pool_learn(&p, a) && tab_pool_method(&p, a));
        cr_expect_str_eq(f->method, method.method, "%s: %s, not %s", m->name, f->method, method.method);
        for (size_t i = 0; i < m->tracks; i++)
            check_series(a, m, &p, i, &g[i], f);
    }
}

/* ---- a series as members read it ---- */

Test(grid, gaps_are_straight_lines_in_a_power_of_two)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    double v[] = { (double)NAN, 2,           (double)NAN, (double)INFINITY, 8,
                   -5,          (double)NAN, 4,           (double)NAN,      (double)NAN };
    static const double want[] = { 2, 4, 6, 8, -5, -.5, 4 };
    tab_track t = { v, 10 };
    tab_learnt l = { .known = true };
    tab_grid g;
    cr_assert(tab_grid_read(a, &t, NULL, 0, &l, &g));
    cr_expect(g.n == 7 && g.tail == 2 && g.unit == 16 && !g.floored);
    for (size_t i = 0; i < 7; i++) {
        cr_expect_float_eq(g.y[i] * 16, want[i], 1e-12, "%zu: %g", i, g.y[i] * 16);
        cr_expect_eq(g.seen[i], i != 1 && i != 2 && i != 5);
    }
    cr_expect_float_eq(g.range * 16, 13, 1e-12);
    cr_expect_float_eq(g.size * 16, (2 + 4 + 6 + 8 + 5 + .5 + 4) / 7, 1e-12);
    cr_expect_float_eq(g.scale * 16, (2 + 2 + 2 + 13 + 4.5 + 4.5) / 6, 1e-12);
}

Test(grid, scale_is_the_mean_change_over_a_season_or_of_neighbours)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    double wave[] = { 1, 3, 2, 2, 4, 3, 3, 5, 4 }, again[] = { 1, 3, 2, 1, 3, 2, 1 }, flat[] = { 4, 4, 4 },
           none[] = { 0, 0 };
    tab_grid g;
    tab_learnt three = { .known = true, .periods = 1, .period = { 3 } }, no = { .known = true };
    cr_assert(tab_grid_read(a, &(tab_track){ wave, 9 }, NULL, 0, &three, &g));
    cr_expect_float_eq(g.scale * g.unit, 1, 1e-12);
    cr_assert(tab_grid_read(a, &(tab_track){ again, 7 }, NULL, 0, &three, &g));
    cr_expect_float_eq(g.scale * g.unit, (2 + 1 + 1 + 2 + 1 + 1) / 6., 1e-12,
                       "it repeats: that of neighbours");
    cr_assert(tab_grid_read(a, &(tab_track){ flat, 3 }, NULL, 0, &no, &g));
    cr_expect_float_eq(g.scale * g.unit, .004, 1e-12, "nothing changes: a thousandth of it");
    cr_expect_eq(g.range, 0);
    cr_assert(tab_grid_read(a, &(tab_track){ none, 2 }, NULL, 0, &no, &g));
    cr_expect(g.unit == 1 && g.scale == 1e-12 && g.floored);
    cr_assert(tab_grid_read(a, &(tab_track){ none, 0 }, NULL, 0, &no, &g));
    cr_expect(g.n == 0 && g.y == NULL);
}

/* Values and gaps make the hash, a place in the table does not. */
Test(grid, hashes_tell_values_apart)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 20);
    double v[][3] = {
        { 1, 2, 3 }, { 1, 3, 2 }, { 1, (double)NAN, 3 }, { 1, 0, 3 }, { 1, 2, 4 }, { 2, 2, 3 }
    };
    uint64_t hash[7];
    tab_grid g;
    for (size_t i = 0; i < 7; i++) {
        tab_learnt l = { .known = true };
        cr_assert(tab_grid_read(a, &(tab_track){ v[i % 6], 3 }, NULL, 0, &l, &g));
        hash[i] = g.hash;
    }
    cr_expect_eq(hash[0], hash[6]);
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < i; j++)
            cr_expect_neq(hash[i], hash[j]);
}
