/* What the series of one table say together, and what the passes of forecast.c hand on. */
#ifndef TAB_FORECAST_POOL_H
#define TAB_FORECAST_POOL_H

#include <math.h>

#include "services/inference/engine/forecast/parts.h"

enum { TAB_FORECAST_STEPS = 24, TAB_FORECAST_ORIGINS = 14 };
#define TAB_ERROR_MOST 100. /* an error in units of noise; beyond it one says no more than the other */

/* A series as members read it: gaps filled, in units of a power of two near its largest value. */
typedef struct {
    double *y;
    bool *seen;                      /* (n) not filled */
    size_t n;                        /* up to the last value that is known, from the first */
    size_t tail;                     /* steps without a value after it, which lie ahead too */
    double unit, scale, range, size; /* range: highest less lowest; size: mean of absolute values */
    bool floored;                    /* no value is negative */
    uint64_t hash;                   /* of the values */
} tab_grid;

/* What is kept of a series. */
typedef struct {
    size_t n, period[TAB_PERIODS], periods;
    bool known;                               /* the periods are */
    size_t origins, at[TAB_FORECAST_ORIGINS]; /* the first are of the latest */
    float *error;  /* (origins, TAB_MEMBERS, steps) forecast less truth, in units of noise; NaN: no truth */
    float *spread; /* (origins, steps) growth of errors as smoothing has it */
    double weight[TAB_MEMBERS], width, unit;
    double restless; /* scale beside the size of values; NaN: too few to say */
    uint64_t hash;
} tab_learnt;

typedef struct {
    const tab_engine *e;
    const tab_track *track;
    const double *season;
    size_t tracks, horizon, seasons, origins, steps, step[TAB_FORECAST_STEPS];
    tab_learnt *learnt;
    size_t *order; /* (tracks) the series in an order that knows their values alone */
    _Atomic bool full;
    double weight[TAB_MEMBERS];           /* of the table */
    double growth[TAB_FORECAST_STEPS];    /* mean size of errors by step, in units of noise and spread */
    double quantile[TAB_FORECAST_LEVELS]; /* of errors in units of noise, spread, growth and own width */
    double restless;                      /* median of the series' own */
    tab_forecast *ret;
} tab_forecast_pool;

/* ---- grid.c ---- */
bool tab_grid_read(tab_arena *a, const tab_track *t, const double *season, size_t seasons, tab_learnt *l,
                   tab_grid *ret) TAB_CHECKED;

/* The unit of a series' errors at an origin. A past in which nothing happened says little of what will: it is
 * never less than a part of how the whole series moves. */
static inline double tab_noise_of(const tab_outlook *u, const tab_grid *g)
{
    return fmax(u->noise, 0.25 * g->scale);
}

enum { TAB_FEW = 6 }; /* values that do not tell how a series moves */

/* ---- pool.c ---- */
bool tab_pool_learn(tab_forecast_pool *p, tab_arena *work) TAB_CHECKED;
double tab_growth_at(const tab_forecast_pool *p, size_t step);
bool tab_pool_method(const tab_forecast_pool *p, tab_arena *a) TAB_CHECKED;
#endif
