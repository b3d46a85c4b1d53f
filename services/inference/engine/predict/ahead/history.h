/* What the past of a series says of a later moment: labelled rows by series and time, and for any moment the
 * simple forecasts that were possible a given distance before it. No model is fitted here; ahead.c learns
 * from these numbers. */
#ifndef TAB_HISTORY_H
#define TAB_HISTORY_H

#include "services/inference/engine/predict/asked/regime.h"

/* Simple forecasts, each a value of the target. BY_SEASON: those that each period has; the others once. */
enum {
    TAB_PAST_LAST,   /* the last value; the mean of those of one time */
    TAB_PAST_THREE,  /* the mean of the last three */
    TAB_PAST_SMOOTH, /* exponential smoothing, 0.3 and 0.1 */
    TAB_PAST_SLOW,
    TAB_PAST_MEAN,  /* of the whole past */
    TAB_PAST_DRIFT, /* the last value and the mean change a step since the first */
    TAB_PAST_TREND, /* the last value and half the slope of the last values: a damped trend */
    TAB_PAST_LINE,  /* the line through the whole past; of few values their mean */
    TAB_PAST_PLAIN  /* how many */
};
enum {
    TAB_PAST_SAME,   /* the value a whole number of periods before */
    TAB_PAST_CHANGE, /* the last value and the change of the period before over the same distance */
    TAB_PAST_GROWTH, /* the value a period before and the growth of the mean from period to period */
    TAB_PAST_SHAPE,  /* the mean of the last period and the mean deviation of this place in it */
    TAB_PAST_SLOPED, /* the line and the mean deviation from it of this place in the last periods */
    TAB_PAST_BY_SEASON
};
enum { TAB_PAST_PLACES = 96 }; /* of a period that is pooled */
enum { TAB_PAST_MOST = TAB_PAST_PLAIN + TAB_SEASONS * TAB_PAST_BY_SEASON };

/* A period's deviations from the mean about them, by place in it, over all series and over each: sums, and
 * what a mean divides them by, which is their number or, of those in proportion to the level, its squares. */
typedef struct {
    bool relative;
    size_t places, known; /* series with a whole period */
    double *all;          /* (places, 2); NULL: the period is too long */
    uint32_t *slot;       /* (series) among the known; TAB_NULL: none */
    double *own;          /* (known, places, 2) */
} tab_wave;

typedef struct {
    size_t series, rows;
    size_t *from;             /* (series + 1) */
    double *pos, *y;          /* (rows) by series, then time */
    uint32_t *row;            /* (rows) of the table */
    double *sum;              /* (rows + 1) of y, from each series' first row on */
    double *line[3];          /* (rows + 1) sums of x, x x and x y, x the steps since the series' first row */
    double *last, *smooth[2]; /* (rows) the mean of the rows of one time; smoothed up to it */
    double season[TAB_SEASONS];
    size_t seasons, kinds;      /* simple forecasts */
    tab_wave wave[TAB_SEASONS]; /* of each period */
} tab_history;

/* y (rows): NaN where a row is no part of the past. pos (rows): times in steps. NULL: the arena is full. */
tab_history *tab_history_new(tab_arena *a, const tab_series *s, const double *pos, const double *y,
                             size_t rows);

/* The simple forecasts (kinds) of `pos` from the rows of a series up to `tau`; those that cannot be made are
 * the last value or, of a period that the series has not lived through, its level and the season of the
 * others. Gives how many rows there were: 0, nothing is written. */
size_t tab_history_read(const tab_history *h, uint32_t series, double pos, double tau, double *out);

/* How many rows of the series there are up to tau. */
size_t tab_history_rows(const tab_history *h, uint32_t series, double tau);
/* The last row of the series up to tau, as a row of the table; TAB_NULL: none. */
uint32_t tab_history_row(const tab_history *h, uint32_t series, double tau);
#endif
