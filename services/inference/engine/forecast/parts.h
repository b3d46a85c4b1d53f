/* What the files of this folder share: one series seen from one origin, and what each member says of it. */
#ifndef TAB_FORECAST_PARTS_H
#define TAB_FORECAST_PARTS_H

#include "services/inference/engine/forecast/forecast.h"

enum { TAB_PERIODS = 2 }; /* seasons of a series that are used at once: a day and a week */

/* The members, each a closed form or a grid of them. */
typedef enum {
    TAB_MEMBER_LAST,    /* the last value, or that of the last season */
    TAB_MEMBER_SES,     /* simple exponential smoothing of the series without its season */
    TAB_MEMBER_THETA,   /* the same with half the slope of the series as drift (Hyndman & Billah 2003) */
    TAB_MEMBER_DAMPED,  /* damped trend (Gardner & McKenzie 1985) */
    TAB_MEMBER_TREND,   /* trend that goes on (Holt 1957) */
    TAB_MEMBER_WINTERS, /* season that changes with time (Winters 1960) */
    TAB_MEMBER_AR,      /* autoregression shrunk to a random walk */
    TAB_MEMBER_FOLD,    /* level of a period times shape within it (FLAIR, arXiv 2605.07222) */
    TAB_MEMBER_MEAN,    /* mean of the last seasons */
    TAB_MEMBER_GROWTH,  /* damped trend of the logarithm */
    TAB_MEMBERS
} tab_member;

/* What an origin gives. */
typedef struct {
    double *path;   /* (TAB_MEMBERS, horizon) */
    double *spread; /* (horizon) growth of errors by step as smoothing has it: from 1, ascending */
    double noise; /* root mean square of one-step errors of smoothing, above 0: by which errors are pooled */
} tab_outlook;

/* All members for y (n), which holds no gap, with periods ascending. Scratch is taken from a. */
bool tab_outlook_make(tab_arena *a, const double *y, size_t n, const size_t *period, size_t periods,
                      size_t horizon, tab_outlook *ret) TAB_CHECKED;

/* ---- period.c ---- */
/* Periods of y among the candidates and those that its spectrum shows; returns how many, ascending. */
size_t tab_periods_find(tab_arena *a, const double *y, size_t n, const double *candidate, size_t candidates,
                        size_t period[TAB_PERIODS]);

/* ---- season.c ---- */
/* x (n) -> the sum of its seasons for 0..n+horizon-1 in season, each shrunk by how far it stands out of
 * chance (James & Stein 1961). False: no memory. */
bool tab_season_estimate(tab_arena *a, const double *x, size_t n, const size_t *period, size_t periods,
                         size_t horizon, double *season) TAB_CHECKED;
/* The season of `period` steps in shape (period), from what a moving mean leaves of x; returns by how much it
 * is to be shrunk: 1 less what chance would make of it, 0 where it is no longer than that. */
double tab_season_strength(tab_arena *a, const double *x, size_t n, size_t period, double *shape);

/* ---- smooth.c ---- */
/* A series on which smoothing works: z (n), each error counted weight[t] times (NULL: once). */
typedef struct {
    const double *z, *weight;
    size_t n, horizon;
} tab_smooth_view;

typedef enum {
    TAB_SMOOTH_SES,
    TAB_SMOOTH_THETA,
    TAB_SMOOTH_DAMPED,
    TAB_SMOOTH_TREND,
    TAB_SMOOTH_KINDS
} tab_smooth_kind;

/* How a damped trend answers an error: what it adds to the level and to the trend. */
typedef struct {
    double level, trend, damp;
} tab_response;

/* Paths (TAB_SMOOTH_KINDS, horizon): of each kind the mean of a grid of parameters, weighed by likelihood.
 * ret: the damped ones' response; error: the mean squared error one step ahead of each kind. */
void tab_smooth(const tab_smooth_view *v, double *path, double error[TAB_SMOOTH_KINDS], tab_response *ret);
/* The same with a season of `period` states that change, from 0; returns the error. states: zeros. */
enum { TAB_SEASON_STATES = 64 };
double tab_smooth_season(const tab_smooth_view *v, size_t period,
                         double *states /* (period, TAB_SEASON_STATES) */, double *path);

/* ---- autoregress.c ---- */
/* Path (horizon) of an autoregression of z (n) on its last values and those a period ago. */
bool tab_autoregress(tab_arena *a, const double *z, size_t n, const size_t *period, size_t periods,
                     size_t horizon, double *path, double *error) TAB_CHECKED;
#endif
