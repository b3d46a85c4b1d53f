/* The inside of ahead.h, shared by its files only. */
#ifndef TAB_AHEAD_PARTS_H
#define TAB_AHEAD_PARTS_H

#include "services/inference/engine/forecast/forecast.h"
#include "services/inference/engine/predict/ahead.h"
#include "services/inference/engine/predict/history.h"

enum { TAB_AHEAD_MEMBERS = 8, TAB_AHEAD_COVARIATES = 12, TAB_AHEAD_CLASSES = 6, TAB_AHEAD_PERIOD = 96 };
static const double TAB_AHEAD_FAR = 12; /* errors and changes beyond so many scales are no more */

/* Regression: simple forecasts, changes against the best of them, values. */
enum {
    TAB_AHEAD_BASE,   /* the simple forecast that was nearest in the past */
    TAB_AHEAD_LAST,   /* the last value */
    TAB_AHEAD_MEAN,   /* the mean of the series */
    TAB_AHEAD_TREES,  /* the best simple forecast and its error as trees see it */
    TAB_AHEAD_LINEAR, /* the same, linear */
    TAB_AHEAD_PLAIN,  /* the row's own columns */
    TAB_AHEAD_LEVEL,  /* the same of the deviation from the series' mean, in its scale */
    TAB_AHEAD_CLOSED  /* closed forms of regular series (forecast/) */
};
/* Classification. */
enum { TAB_AHEAD_SHARES, TAB_AHEAD_RECENT, TAB_AHEAD_OWN, TAB_AHEAD_PAST, TAB_AHEAD_CLASS_MEMBERS };

/* A row at a moment: answered as if nothing after tau were known. */
typedef struct {
    uint32_t row, series;
    double pos, tau;
} tab_moment;

/* What all cuts share. */
typedef struct {
    const tab_engine *e;
    tab_arena *a;
    const tab_ahead_task *t;
    size_t rows;
    double *pos; /* (rows) times in steps */
    double *y;   /* (rows) as learned: the logarithm where `logged` */
    bool logged;
    double *distance; /* (distances) of the asked rows, ascending */
    size_t distances;
    double most;        /* distance */
    bool *known, *lost; /* (cols) numbers that are known ahead and move; columns that no asked row has */
    size_t covariates;
} tab_ahead_work;

/* An error in its series' scale, at a distance. */
typedef struct {
    double error, distance;
    uint32_t series, origin;
    double pos;
} tab_ahead_error;

/* The answers of the members at one cut. */
typedef struct {
    size_t n, outputs, members;
    const tab_moment *moment; /* (n) */
    float *out;               /* (members)(n, outputs): values as learned, or log-probabilities */
    bool has[TAB_AHEAD_MEMBERS];
    double *scale;                  /* (n) of the row's series */
    tab_ahead_error *past;          /* (pasts) of the best simple forecast at all times before the cut */
    size_t pasts, past_rows, spans; /* of so many rows; spans of the longest distance that they fall in */
} tab_ahead_answers;

/* One cut at work: what is known up to it. */
typedef struct {
    tab_ahead_work *w;
    tab_arena *a; /* of this cut alone */
    tab_history *h[TAB_AHEAD_CLASSES];
    size_t histories;
    tab_moment *moment; /* (n + asked) examples, then the moments that are asked */
    size_t n, asked, kinds;
    double *simple; /* (n + asked, kinds) */
    double *scale;  /* (series + 1) */
    double *mean;   /* (series + 1) */
    double *place;  /* (TAB_AHEAD_PERIOD) by place in the period: errors there beside all */
    size_t base;
    tab_profile wide;  /* own columns of the examples, then the made ones */
    tab_values *value; /* (cols) of the asked */
    size_t cols;
} tab_ahead_view;

/* Labelled rows up to the cut, each at a distance drawn from those that are asked, and behind them the
 * moments m. False: memory, as below. */
bool tab_ahead_examples(tab_ahead_view *c, double cut, const tab_moment *m, size_t n);
/* The past of the values, or of each class's indicator. */
bool tab_ahead_past(tab_ahead_view *c, double cut);
/* Simple forecasts of all moments, the best of them, and the scales. */
bool tab_ahead_look_back(tab_ahead_view *c);
bool tab_ahead_past_errors(const tab_ahead_view *c, tab_ahead_answers *ret);
/* The place of a time in the first period; 0 where there is none. */
size_t tab_ahead_place(const tab_history *h, double pos);

/* Fits on rows with pos <= cut and answers the moments, all of which come later. False: memory or
 * cancelled. */
bool tab_ahead_cut(tab_ahead_work *w, double cut, const tab_moment *m, size_t n, tab_ahead_answers *ret);

/* Weights (members) of least summed loss on the answers of several cuts but `without`; SIZE_MAX: of all. */
bool tab_ahead_weigh(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                     double *weight, double *temperature);
void tab_ahead_combine(const tab_ahead_answers *at, size_t i, const double *weight, double temperature,
                       bool classification, double *out);

/* A band: the deviation by distance, sqrt(flat + slope d) up to `reach`, the longest distance that was
 * judged, and its square on by `far` a step from there; and quantiles of errors in it. */
typedef struct {
    double flat, slope, reach, far, spread;
    double quantile[TAB_LEVELS];
    double own; /* errors that are as good as independent */
} tab_ahead_band;

/* Of the errors at the cuts, and of those of the best simple forecast at all times before, times how much
 * better the members are; `share`: how much the first count. */
typedef struct {
    tab_ahead_band cuts, past;
    double share, gain;
} tab_ahead_bands;
bool tab_ahead_band_of(const tab_ahead_error *v, size_t n, size_t origins, tab_ahead_band *ret);
bool tab_ahead_bands_of(const tab_ahead_error *v, const double *base, size_t n, size_t origins,
                        const tab_ahead_answers *past, tab_ahead_bands *ret);
/* How far the quantile of a level, and a standard deviation, are from the value at a distance. */
double tab_ahead_quantile(const tab_ahead_bands *b, double distance, size_t level);
double tab_ahead_deviation(const tab_ahead_bands *b, double distance);
#endif
