/* Forecasts of a table's series. Decision 0388.
 *
 *   learn    for each series: its periods; from some earlier origins all members' paths and their errors
 *   pool     what the table's series say together: weights of members, growth of errors by step, quantiles
 *   answer   for each series: members' paths from its end, weighed; bands
 *
 * A series is short: of sixty values one cannot tell which method is best for it, nor how wide the bands of
 * its twelfth step must be. But a table has many series of one kind, and asks the same horizon of all. So
 * what few numbers cannot tell is learned from all series at once, and each series departs from it as far as
 * its own past has proved:
 *
 *   - Members are in closed form or a pass over the series (season.c, smooth.c, autoregress.c, outlook.c):
 *     seasonal naive, damped trend, theta, exponential smoothing over a grid, folding at the period, a shrunk
 *     autoregression. None is searched for; a series costs a fraction of a millisecond.
 *   - Each member forecasts from several earlier origins of each series, and is judged by what came then, at
 *     the steps that are asked. Errors are in units of the series' own noise, so that a shop of ten a day and
 *     one of ten thousand speak of the same thing.
 *   - Weights on the simplex are those of the table; a series turns them by its own errors, shrunk to the
 *     table's by how many it has (pool.c).
 *   - Bands are conformal: quantiles of the pooled errors of the weighed paths, times the growth of errors by
 *     step, times the series' own width. They are not derived from any member's model of noise, which would
 *     be right only where that model is.
 *
 * What holds:
 *
 *   - An origin sees nothing behind it: periods aside, paths, units and states are made of the values before
 *     it.
 *   - Bands do not narrow with the distance, and quantiles do not fall from level to level.
 *   - What was never negative is not forecast below 0.
 *   - Pooled figures are summed in the order of a hash of the series' values: no answer depends on the order
 *     in which series came, nor on the number of threads. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/forecast/pool.h"

/* The steps at which errors are looked at: all, or some that lie ever farther apart. */
static size_t choose_steps(size_t horizon, size_t *step)
{
    size_t n = 0;
    for (size_t k = 0; k < TAB_FORECAST_STEPS; k++) {
        double share = (double)k / (TAB_FORECAST_STEPS - 1);
        size_t at = horizon <= TAB_FORECAST_STEPS
                        ? k
                        : (size_t)round((TAB_FORECAST_STEPS / 2) * share +
                                        ((double)horizon - 1 - TAB_FORECAST_STEPS / 2) * pow(share, 2.5));
        if (at < horizon && (n == 0 || at > step[n - 1]))
            step[n++] = at;
    }
    assert(n <= TAB_FORECAST_STEPS && (horizon == 0 || n > 0));
    return n;
}

/* ---- learn ---- */

static void learn_origin(tab_forecast_pool *p, tab_learnt *l, const tab_grid *g, size_t at)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_outlook u;
    if (a == NULL || !tab_outlook_make(a, g->y, at, l->period, l->periods, p->horizon, &u)) {
        atomic_store(&p->full, true);
        return;
    }
    const double noise = tab_noise_of(&u, g);
    float *error = l->error + l->origins * TAB_MEMBERS * p->steps;
    for (size_t i = 0; i < TAB_MEMBERS; i++)
        for (size_t k = 0; k < p->steps; k++) {
            size_t t = at + p->step[k];
            double e = t < g->n && g->seen[t] ? (u.path[i * p->horizon + p->step[k]] - g->y[t]) / noise
                                              : (double)NAN;
            error[i * p->steps + k] = (float)fmax(-TAB_ERROR_MOST, fmin(TAB_ERROR_MOST, e));
            if (isnan(e))
                error[i * p->steps + k] = NAN;
        }
    for (size_t k = 0; k < p->steps; k++)
        l->spread[l->origins * p->steps + k] = (float)u.spread[p->step[k]];
    assert(at < g->n); /* what came then is known */
    l->at[l->origins++] = at;
}

static void learn_one(void *ctx, size_t i)
{
    tab_forecast_pool *p = ctx;
    tab_learnt *l = &p->learnt[i];
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    if (tab_engine_cancelled(p->e) || atomic_load(&p->full))
        return;
    tab_grid g;
    if (a == NULL || !tab_grid_read(a, &p->track[i], p->season, p->seasons, l, &g)) {
        atomic_store(&p->full, true);
        return;
    }
    l->hash = g.hash;
    l->unit = g.unit;
    l->n = g.n;
    l->restless = g.n >= TAB_FEW && g.size > 0 && g.range > 0 ? g.scale / g.size : (double)NAN;
    if (g.n == 0)
        return;
    size_t stride = (p->horizon + 1) / 2, least = l->periods > 0 ? 2 * l->period[0] + 2 : 7;
    if (stride > g.n / 5 + 1)
        stride = g.n / 5 + 1;
    for (size_t j = 1; j <= p->origins; j++) {
        /* Where less than a season lies ahead, every other origin is whole seasons back: a December is as
         * hard to tell as Decembers were. */
        bool whole = l->periods > 0 && p->horizon < l->period[0] && j % 2 == 0;
        size_t back = whole ? j / 2 * l->period[0] : j * stride;
        if (g.n < back + (whole ? l->period[0] + 2 : j > 1 ? least : 2))
            continue;
        if (tab_engine_cancelled(p->e))
            return;
        learn_origin(p, l, &g, g.n - back);
    }
}

/* ---- answer ---- */

static void fill_unknown(const tab_forecast_pool *p, size_t i)
{
    for (size_t h = 0; h < p->horizon; h++) {
        p->ret->value[i * p->horizon + h] = NAN;
        for (size_t q = 0; q < TAB_FORECAST_LEVELS; q++)
            p->ret->quantile[(i * p->horizon + h) * TAB_FORECAST_LEVELS + q] = NAN;
    }
    p->ret->scale[i] = 1;
}

/* The unit of errors at the end of the series; a few values lean on how the table's series move beside their
 * size. */
static double noise_at_end(const tab_forecast_pool *p, const tab_grid *g, const tab_outlook *u)
{
    double own = tab_noise_of(u, g), table = p->restless * g->size, n = (double)g->n;
    return g->n >= TAB_FEW ? own : sqrt(((n - 1) * own * own + 2 * table * table) / (n + 1)) + 1e-12;
}

static void answer_paths(const tab_forecast_pool *p, size_t i, const tab_grid *g, const tab_outlook *u)
{
    const double noise = noise_at_end(p, g, u);
    const tab_learnt *l = &p->learnt[i];
    double width = 0;
    for (size_t h = 0; h < p->horizon; h++) {
        size_t at = g->tail + h;
        double y = 0, *q = p->ret->quantile + (i * p->horizon + h) * TAB_FORECAST_LEVELS;
        for (size_t k = 0; k < TAB_MEMBERS; k++)
            y += l->weight[k] * u->path[k * (p->horizon + g->tail) + at];
        /* what lies farther ahead is known no better */
        width = fmax(width, noise * u->spread[at] * l->width * tab_growth_at(p, at));
        /* no farther from it than the series has room, unless noise itself is more */
        double room = fmax(g->range * (1.5 + 3 * (double)(at + 1) / (double)g->n), 4 * noise);
        for (size_t k = 0; k < TAB_FORECAST_LEVELS; k++) {
            q[k] = (y + fmax(-room, fmin(room, width * p->quantile[k]))) * g->unit;
            q[k] = g->floored ? fmax(q[k], 0) : q[k];
        }
        for (size_t k = 1; k < TAB_FORECAST_LEVELS; k++)
            assert(!(q[k - 1] > q[k])); /* NaN: what came overflows a double */
        p->ret->value[i * p->horizon + h] = y * g->unit;
    }
}

static void answer_one(void *ctx, size_t i)
{
    tab_forecast_pool *p = ctx;
    tab_learnt *l = &p->learnt[i];
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    if (tab_engine_cancelled(p->e) || atomic_load(&p->full))
        return;
    if (l->n == 0) {
        fill_unknown(p, i);
        return;
    }
    tab_grid g;
    tab_outlook u;
    size_t ahead = p->horizon;
    if (a == NULL || !tab_grid_read(a, &p->track[i], NULL, 0, l, &g) ||
        !tab_outlook_make(a, g.y, g.n, l->period, l->periods, ahead + g.tail, &u)) {
        atomic_store(&p->full, true);
        return;
    }
    answer_paths(p, i, &g, &u);
    p->ret->scale[i] = fmax(g.scale * g.unit, 1e-300);
}

/* Rows of tables are numbered by their values, not by their place. */
static int by_hash(const void *a, const void *b, void *ctx)
{
    const tab_learnt *l = ctx;
    uint64_t x = l[*(const size_t *)a].hash, y = l[*(const size_t *)b].hash;
    return (x > y) - (x < y);
}

static bool pool_open(tab_forecast_pool *p, tab_arena *a, tab_arena *work)
{
    p->origins = p->tracks >= 1000 ? 4 : p->tracks >= 100 ? 5 : p->tracks >= 20 ? 8 : 14;
    p->steps = choose_steps(p->horizon, p->step);
    size_t cells = p->origins * TAB_MEMBERS * p->steps, spreads = p->origins * p->steps;
    float *spread = tab_arena_new_of(work, float, p->tracks *spreads);
    float *error = tab_arena_new_of(work, float, p->tracks *cells);
    p->learnt = tab_arena_new_of(work, tab_learnt, p->tracks);
    p->order = tab_arena_new_of(work, size_t, p->tracks);
    size_t answers = p->tracks * p->horizon;
    tab_forecast *f = p->ret = tab_arena_new_of(a, tab_forecast, 1);
    if (f == NULL || error == NULL || spread == NULL || p->learnt == NULL || p->order == NULL)
        return false;
    *f = (tab_forecast){ .tracks = p->tracks,
                         .horizon = p->horizon,
                         .value = tab_arena_new_of(a, double, answers),
                         .quantile = tab_arena_new_of(a, double, answers *TAB_FORECAST_LEVELS),
                         .scale = tab_arena_new_of(a, double, p->tracks) };
    for (size_t i = 0; i < p->tracks; i++) {
        p->learnt[i].error = error + i * cells;
        p->learnt[i].spread = spread + i * spreads;
        p->order[i] = i;
    }
    return !tab_arena_full(a);
}

tab_status tab_forecast_make(const tab_engine *e, tab_arena *a, const tab_track *track, size_t tracks,
                             size_t horizon, const double *season, size_t seasons, tab_forecast **ret,
                             tab_error *err)
{
    TAB_AUTO(tab_arena) *work = tab_arena_new(SIZE_MAX / 2);
    tab_forecast_pool p = {
        .e = e, .track = track, .tracks = tracks, .horizon = horizon, .season = season, .seasons = seasons
    };
    if (work == NULL || !pool_open(&p, a, work))
        return tab_no_memory(err);
    if (tracks > 0 && horizon > 0) {
        tab_engine_for(e, tracks, learn_one, &p);
        if (!tab_engine_cancelled(e) && !atomic_load(&p.full)) {
            qsort_r(p.order, tracks, sizeof *p.order, by_hash, p.learnt);
            if (!tab_pool_learn(&p, work))
                atomic_store(&p.full, true);
            tab_engine_for(e, tracks, answer_one, &p);
        }
    }
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    if (atomic_load(&p.full) || !tab_pool_method(&p, a))
        return tab_no_memory(err);
    *ret = p.ret;
    return TAB_OK;
}
