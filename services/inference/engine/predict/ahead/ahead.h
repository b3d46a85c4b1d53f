/* Answers for rows that come later than all labelled ones (decision 0390).
 *
 *   history.c    what the past of a series says of a moment some distance after it
 *   ahead_cut.c  members fitted on the rows up to a cut, which answer the rows after it
 *   ahead_pool.c weights of the members, and bands by distance, from the errors at earlier cuts
 *   ahead_few.c  closed forms for a handful of values
 *   later.c      what is kept of that to answer rows that are served (later.h)
 *   ahead.c      the cuts (rolling origins: Tashman, International Journal of Forecasting 2000), the last of
 *                which is the end of the labelled rows
 *
 * A training row at time t is read as if it were asked at a distance drawn from those that are asked: what
 * is told of its past ends there (direct forecasts, Ben Taieb & Hyndman 2012). Errors are told in the scale
 * of their own series, so that series of unlike scales are pooled. */
#ifndef TAB_AHEAD_H
#define TAB_AHEAD_H

#include "services/inference/engine/learn/stack/stack.h"
#include "services/inference/engine/predict/asked/regime.h"
#include "services/inference/engine/predict/interval/interval.h"

/* What is learned from. Rows are the table's. */
typedef struct {
    const tab_profile *p;
    const bool *use; /* (cols) columns that may explain the target */
    bool classification;
    size_t classes;
    const uint32_t *label; /* (rows) classification; TAB_NULL: asked */
    const double *y;       /* (rows) regression, in the target's units; NaN: asked */
    const tab_asked *asked;
    const uint64_t
        *hash; /* (rows) of a row's cells: what is drawn of a row does not depend on where it stands */
    uint64_t seed;
    bool served; /* nobody knows yet what will be asked: any distance may be (later.c) */
} tab_ahead_task;

/* How good the answers were at one range of distances. */
typedef struct {
    double distance; /* the mean, in steps */
    size_t judged, covered;
    double loss, baseline; /* sums: of squares, or of log-losses; of the last value or class */
} tab_ahead_quality;
enum { TAB_AHEAD_RANGES = 4 };

/* Rows of the last known times that are unlike all before, and steps that they are of; rows that repeat the
 * last value of their series as none before did. */
typedef struct {
    size_t rows, stuck;
    double times;
} tab_ahead_apart;

typedef struct {
    bool *answered;   /* (rows) of the asked ones */
    double *value;    /* (rows) regression */
    double *quantile; /* (rows, TAB_LEVELS) */
    double *spread;   /* (rows) a standard deviation */
    double
        *probability; /* (rows, classes); what they lack of 1 is that of a class nobody knows (novelty.h) */
    double *distance; /* (rows) in steps */
    size_t origins, judged;
    uint32_t *row;           /* (judged) rows of the table that were judged, as the asked are answered: */
    double *judged_value;    /* (judged) */
    double *judged_quantile; /* (judged, TAB_LEVELS) from the errors of other cuts; NULL: one cut */
    double *judged_probability;
    tab_ahead_quality range[TAB_AHEAD_RANGES];
    size_t ranges;
    double mean_loss;      /* sum over the judged of what the mean before their cut, or the shares, lose */
    size_t novel;          /* judged rows of a class that no row before their cut is of */
    double unknown;        /* the most that an asked row's probabilities leave to such classes */
    tab_ahead_apart apart; /* rows that are not learned from: last_step.c */
    bool *unborne;         /* (rows) asked rows that nothing bears out: unjudged.c */
    size_t unbornes;       /* how many */
    bool banded;           /* coverage is told */
    const char *method;    /* the members that weigh most, for people */
} tab_ahead;

/* Takes the rows of the last times out of y (rows) where most series are off there as none of their values
 * was, to one side. pos (rows): times in steps. False: memory (last_step.c). */
bool tab_ahead_last_step(const tab_series *s, const double *pos, double *y, size_t rows,
                         tab_ahead_apart *ret) TAB_CHECKED;

/* Room for the answers to `rows` rows, of numbers, and `judged` judged ones. False: the arena is full. */
bool tab_ahead_numbers(tab_arena *a, size_t rows, size_t judged, tab_ahead *h) TAB_CHECKED;

/* Numbers of which the next steps are asked and fewer than a dozen are known: answers by closed forms
 * (ahead_few.c). *ret: NULL of other tables, and where no series has two values. Errors: INTERNAL. */
tab_status tab_ahead_few(tab_arena *a, const tab_ahead_task *t, tab_ahead **ret, tab_error *err) TAB_CHECKED;

/* *ret: NULL where the past is too short to tell anything by. All lives in a. Errors: CANCELLED, INTERNAL. */
tab_status tab_ahead_run(const tab_engine *e, tab_arena *a, const tab_ahead_task *t, tab_ahead **ret,
                         tab_error *err) TAB_CHECKED;
#endif
