/* The inside of ahead.h, shared by its files only. */
#ifndef TAB_AHEAD_PARTS_H
#define TAB_AHEAD_PARTS_H

#include "services/inference/engine/forecast/forecast.h"
#include "services/inference/engine/predict/ahead/ahead.h"
#include "services/inference/engine/predict/ahead/history.h"
#include "services/inference/engine/predict/ahead/novelty.h"

enum {
    TAB_AHEAD_MEMBERS = 9,
    TAB_AHEAD_COVARIATES = 12,
    TAB_AHEAD_CLASSES = 6,
    TAB_AHEAD_PERIOD = 96,
    TAB_AHEAD_LEAST = 12 /* examples that members learn from */
};
static const double TAB_AHEAD_FAR = 12; /* errors and changes beyond so many scales are no more */

/* Regression: simple forecasts, changes against the best of them, values. */
enum {
    TAB_AHEAD_BASE,   /* the simple forecast that was nearest in the past */
    TAB_AHEAD_LAST,   /* the last value */
    TAB_AHEAD_MEAN,   /* the mean of the series */
    TAB_AHEAD_LINE,   /* the line through its past, and its season about it */
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
    size_t rows, cols;
    double *pos; /* (rows) times in steps */
    double *y;   /* (rows) as learned: the logarithm where `logged` */
    bool logged;
    double least;     /* of y */
    double *distance; /* (distances) of the asked rows, ascending */
    size_t distances;
    double most;        /* distance */
    double first, year; /* of the labelled times, and how many steps it has; 0: it is not known */
    double reach;       /* the longest distance that was judged */
    bool *known, *lost; /* (cols) numbers that are known ahead and move; columns that no asked row has */
    size_t covariates;
    const tab_recipe *plain; /* of the own columns' model, where the fitted model itself is that; else NULL */
} tab_ahead_work;

/* What a member learned: a stack of the numbers (value - mean) / sd, or of classes. */
typedef struct {
    const tab_encoder *enc;
    const tab_stack *stack; /* NULL: the member is not fitted */
    double mean, sd;
} tab_ahead_model;

/* An error in its series' scale, at a distance. */
typedef struct {
    double error, distance; /* from the last row that its series has */
    uint32_t series, origin;
    double pos, tau;
} tab_ahead_error;

/* The answers of the members at one cut. */
typedef struct {
    size_t n, outputs, members;
    const tab_moment *moment; /* (n) */
    float *out;               /* (members)(n, outputs): values as learned, or log-probabilities */
    bool has[TAB_AHEAD_MEMBERS];
    double *scale;         /* (n) of the row's series */
    double *distance;      /* (n) from the last row of its series that is known, where bands are read */
    double *moved;         /* (n) the value, should a level that just moved stay; NaN: none did */
    double *low, *high;    /* (n) what bands reach to where nothing was judged; NaN: what was (unjudged.c) */
    double *instead;       /* (n) the answer there; NaN: as others */
    double *more;          /* (n) what the variance grows by there */
    uint32_t *last;        /* (n) classes: that of the last row of its series; TAB_NULL: none is judged */
    double stays;          /* how much of it is borne out; the rest is the shares */
    bool *novel;           /* (n) classes: no row up to the cut is of its class; NULL: nobody knows */
    tab_novelty novelty;   /* how often that was so before the cut */
    tab_ahead_error *past; /* (pasts) of the best simple forecast at all times before the cut */
    size_t pasts, past_rows, spans; /* of so many rows; spans of the longest distance that they fall in */
} tab_ahead_answers;

/* One cut at work: what is known up to it. */
typedef struct {
    tab_ahead_work *w;
    tab_arena *a; /* of this cut alone */
    double cut;
    tab_arena *keep; /* of the models and of what is read to answer by them */
    tab_history *h[TAB_AHEAD_CLASSES];
    size_t histories;
    tab_moment *moment; /* (n + asked) examples, then the moments that are asked */
    size_t n, asked, kinds;
    double *simple; /* (n + asked, kinds) */
    double *scale;  /* (series + 1) */
    double *mean;   /* (series + 1) */
    bool *moved;    /* (series + 1) whose last values are off as none before were */
    double *place;  /* (TAB_AHEAD_PERIOD) by place in the period: errors there beside all */
    size_t base;
    tab_profile wide;  /* own columns of the examples, then the made ones */
    tab_values *value; /* (cols) of the asked */
    size_t cols;
    const double **at, **before; /* (columns of the table) numbers of moments' rows; of those that h has */
    const double *pos;           /* of the latter */
    const float *plain;          /* (asked, outputs) what another model says by own columns, where */
    bool plain_elsewhere;        /* no member is fitted for that */
    tab_ahead_model model[TAB_AHEAD_MEMBERS];
    double *share[2]; /* (classes) log-shares of all rows and of the last */
    bool regular;     /* closed forms are a member */
    float *closed;    /* (series, horizon) theirs from one moment on; NULL: not made yet */
    size_t horizon;
} tab_ahead_view;

/* Labelled rows up to the cut, each at a distance drawn from those that are asked, and behind them the
 * moments m. False: memory, as below. */
bool tab_ahead_examples(tab_ahead_view *c, double cut, const tab_moment *m, size_t n);
/* The past of the values, or of each class's indicator. */
bool tab_ahead_past(tab_ahead_view *c, double cut);
/* c->simple of the first n moments. */
void tab_ahead_simple(tab_ahead_view *c, size_t n);
/* Simple forecasts of all moments, the best of them, and the scales. */
bool tab_ahead_look_back(tab_ahead_view *c);
/* The errors of the best simple forecast at all times, and c->moved, which they tell. False: memory. */
bool tab_ahead_past_errors(tab_ahead_view *c, tab_ahead_answers *ret);
/* Steps from the last row of the moment's series that is known at it. */
double tab_ahead_steps(const tab_ahead_view *c, const tab_moment *m);
/* The place of a time in the first period; 0 where there is none. */
size_t tab_ahead_place(const double *season, size_t seasons, double pos);

/* Columns that are made of one moment: how many, and those of moment i. */
size_t tab_ahead_made(const tab_ahead_view *c);
void tab_ahead_make(const tab_ahead_view *c, size_t i, double *out);
/* Looks back from the cut and fits the members on what was known then; c->n is below TAB_AHEAD_LEAST where
 * that
 * is too little. m (n): moments that will be asked. False: memory or cancelled, as below. */
bool tab_ahead_learn(tab_ahead_view *c, double cut, const tab_moment *m, size_t n);
/* Room for the members' answers to m (n). */
bool tab_ahead_room(tab_arena *a, const tab_ahead_task *t, const tab_moment *m, size_t n,
                    tab_ahead_answers *ret);
/* Closed forms of every series from tau on, into c->closed. */
bool tab_ahead_close(tab_ahead_view *c, double tau, size_t horizon);
/* Bands of rows at places of the year that the known times do not reach, farther than w->reach. */
void tab_ahead_unlived(const tab_ahead_view *c, tab_ahead_answers *r);
double tab_ahead_year(const tab_series *s);
/* The members' answers to the asked, whose columns are in c->value. */
bool tab_ahead_members(tab_ahead_view *c, tab_ahead_answers *r);

/* A cut, after which rows are judged up to a window's end, answered anew every step. */
typedef struct {
    double cut, window, step;
    tab_moment *moment;
    size_t n;
} tab_ahead_origin;
enum { TAB_AHEAD_ORIGINS = 3 };

/* Times, distances, the scale that is learned in, what is known ahead; *last: the last labelled time in
 * steps.
 * False: memory. */
bool tab_ahead_open(tab_ahead_work *w, double *last);
/* Opens, and again without the last times where these are unlike all before: then own->y is without them.
 * own: w's task. False: memory. */
bool tab_ahead_open_apart(tab_ahead_work *w, tab_ahead_task *own, double *last, tab_ahead_apart *ret);
/* The last value of each series (series + 1) of which the last rows were taken out of the task's, as learned;
 * NaN: none was. y (rows): with them. NULL: the arena is full. */
double *tab_ahead_stays(tab_arena *a, const tab_ahead_work *w, const double *y);
/* Bands of those series reach to what is if these rows stay. */
void tab_ahead_reach_apart(const double *stays, size_t series, tab_ahead_answers *at);
/* The cuts, the latest first: a span of the asked length each, at the same place of the period where there
 * is one; over short distances a whole period is judged, where it is short. */
size_t tab_ahead_origins(const tab_ahead_work *w, double last, tab_ahead_origin *o);
/* The labelled rows in the window of an origin, each at its moment. False: memory. */
bool tab_ahead_judged(tab_ahead_work *w, tab_ahead_origin *o);
/* Values of columns that no judged row had: what rows with them are off from their neighbours by, as learned;
 * values and days of the week that no row is of (unjudged.c). */
enum { TAB_AHEAD_EVENTS = 8, TAB_AHEAD_LEVELS = 20 };
typedef struct {
    size_t column;
    uint64_t key;   /* of its cell */
    double *effect; /* (series + 1) */
} tab_ahead_event;
typedef struct {
    size_t column, keys;
    uint64_t key[TAB_AHEAD_LEVELS]; /* of the cells that are known */
    double more;                    /* of another one, in squares of the unit */
} tab_ahead_rest;
typedef struct {
    size_t series, events, rests;
    tab_ahead_event event[TAB_AHEAD_EVENTS];
    tab_ahead_rest rest[TAB_AHEAD_EVENTS];
    unsigned weekdays; /* those that are known; 0: all, or none matter */
    double more;       /* of another, in squares of */
    double *unit;      /* (series + 1) */
} tab_ahead_unjudged;
/* o (origins): with their moments. What is kept lies in a. False: memory. */
bool tab_ahead_unjudged_find(tab_arena *a, const tab_ahead_work *w, const tab_ahead_origin *o, size_t origins,
                             tab_ahead_unjudged *ret) TAB_CHECKED;
/* values (columns of the table), row (at->n): of the moments; when (at->n): seconds since 1970. */
void tab_ahead_unjudged_apply(const tab_ahead_unjudged *v, const tab_values *values, const uint32_t *row,
                              const double *when, tab_ahead_answers *at);
/* A value as learned, in the target's units. */
double tab_ahead_back(const tab_ahead_work *w, double v);

/* Fits on rows with pos <= cut and answers the moments, all of which come later. False: memory or
 * cancelled. */
bool tab_ahead_cut(tab_ahead_work *w, double cut, const tab_moment *m, size_t n, tab_ahead_answers *ret);

/* Weights (members) of least summed loss on the answers of several cuts but `without`; SIZE_MAX: of all. */
bool tab_ahead_weigh(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                     double *weight, double *temperature);
void tab_ahead_combine(const tab_ahead_answers *at, size_t i, const double *weight, double temperature,
                       bool classification, double *out);

/* How squared errors grow with the distance d, in proportion: flat + slope d + curve d d, 1 at `at`. */
typedef struct {
    double flat, slope, curve, at;
} tab_ahead_growth;

/* The mean square of errors at a mean distance, of so many that are as good as independent. */
typedef struct {
    double distance, square, own;
} tab_ahead_square;

/* What mean squares at several distances say of the growth: sources (n) of `ranges` each, whose levels have
 * nothing to do with one another. span: the steps that are known. */
tab_ahead_growth tab_ahead_grows(const tab_ahead_square *v, size_t n, size_t ranges, double at, double span);

/* The same from errors at the cuts and from those of the past, each in ranges of distances with as many
 * errors. at: the longest distance of v. False: memory. */
bool tab_ahead_growth_of(const tab_ahead_error *v, size_t n, size_t origins, const tab_ahead_answers *past,
                         double at, double span, tab_ahead_growth *ret);

/* A band: the deviation by distance, sqrt(flat + slope d + curve d d) up to `reach`, the longest distance
 * that was judged, and its square on by `far` a step from there; and quantiles of errors in it. */
typedef struct {
    double flat, slope, curve, reach, far, spread;
    double quantile[TAB_LEVELS];
    double own; /* errors that are as good as independent */
} tab_ahead_band;

/* Of the errors at the cuts, and of those of the best simple forecast at all times before, times how much
 * better the members are; `share`: how much the first count. */
typedef struct {
    tab_ahead_band cuts, past;
    double share, gain;
    double better; /* what the members' errors are of the best simple forecast's, where both were judged */
} tab_ahead_bands;
/* g: the growth where it is known, at any distance; NULL: as the errors have it. */
bool tab_ahead_band_of(const tab_ahead_error *v, size_t n, size_t origins, const tab_ahead_growth *g,
                       tab_ahead_band *ret);
bool tab_ahead_bands_of(const tab_ahead_error *v, const double *base, size_t n, size_t origins,
                        const tab_ahead_growth *g, const tab_ahead_answers *past, tab_ahead_bands *ret);
/* The quantiles (TAB_LEVELS), as learned, of an answer at a distance from its bands' (off, in values); where
 * the level just moved they reach from those about the answer to those about what is if it stays, and so
 * where nothing was judged. */
void tab_ahead_reach(const tab_ahead_answers *at, size_t i, double value, const double *off, double *out);
/* How far the quantile of a level, and a standard deviation, are from the value at a distance. */
double tab_ahead_quantile(const tab_ahead_bands *b, double distance, size_t level);
double tab_ahead_deviation(const tab_ahead_bands *b, double distance);
/* Errors of the answers at the cuts but one, by weights (cuts, members) of each, and those of the best simple
 * forecast; gives how many. */
size_t tab_ahead_errors(const tab_ahead_work *w, const tab_ahead_answers *at, size_t cuts, size_t without,
                        const double *weight, tab_ahead_error *v, double *base);
#endif
