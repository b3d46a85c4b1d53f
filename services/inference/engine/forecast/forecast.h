/* Steps ahead of one or many regular series, without covariates: members in closed form (seasonal naive,
 * damped trend, theta, exponential smoothing, folding at the period), weighed by rolling origins, with bands
 * from the errors of earlier origins pooled over the table's series by step (conformal prediction). */
#ifndef TAB_FORECAST_H
#define TAB_FORECAST_H

#include "services/inference/engine/engine.h"

/* One series on its grid. */
typedef struct {
    const double *y; /* (n) by step; NaN: a gap */
    size_t n;
} tab_track;

enum { TAB_FORECAST_LEVELS = 7 }; /* .05 .1 .25 .5 .75 .9 .95, as tab_quantile_level */

typedef struct {
    size_t tracks, horizon;
    double *value;    /* (tracks, horizon) the location */
    double *quantile; /* (tracks, horizon, TAB_FORECAST_LEVELS) */
    double *scale;    /* (tracks) mean absolute (seasonal) difference, by which errors are pooled; above 0 */
    const char *method; /* the members that weigh most, for people */
} tab_forecast;

/* season (seasons): periods in steps to try, none of which must be right; found ones may be added. Series may
 * be of any length from one value on, of unlike lengths and scales; of no value at all: NaN. Runs over series
 * on e's threads; the same bytes for any number of them. ret lives in a. Errors: CANCELLED, INTERNAL. */
tab_status tab_forecast_make(const tab_engine *e, tab_arena *a, const tab_track *track, size_t tracks,
                             size_t horizon, const double *season, size_t seasons, tab_forecast **ret,
                             tab_error *err) TAB_CHECKED;
#endif
