/* The inside of a fitted model, shared by the files of predict/ only. */
#ifndef TAB_FITTED_PARTS_H
#define TAB_FITTED_PARTS_H

#include "services/inference/engine/features/units.h"
#include "services/inference/engine/predict/ahead/ahead.h"
#include "services/inference/engine/predict/ahead/clock.h"
#include "services/inference/engine/predict/ahead/later.h"
#include "services/inference/engine/predict/anomaly/anomaly.h"
#include "services/inference/engine/predict/asked/arrange.h"
#include "services/inference/engine/predict/asked/exact_copies.h"
#include "services/inference/engine/predict/asked/heat.h"
#include "services/inference/engine/predict/asked/truncated.h"
#include "services/inference/engine/predict/fitted.h"
#include "services/inference/engine/predict/interval/interval.h"

typedef struct {
    tab_str name;
    tab_str address; /* table.column */
    tab_type type;
    int role;
    bool used;          /* a feature reads it */
    bool made;          /* of linked tables */
    bool levels;        /* its levels are texts that are read as numbers, in no other way */
    tab_str only;       /* words: the one value that all fitted rows have; empty: there are more */
    bool told;          /* it tells when a row is, or of which series: it is read where it is there */
    double least, most; /* of numbers and times; NaN: none */
    double beyond[2];   /* what is not known below and above them: tab_beyond_of */
} tab_fitted_column;

/* Two columns of which a served row may hold levels that no fitted row has together (new_pairs.c). */
typedef struct {
    size_t feature[2], cells;
    bool *seen;    /* (cells) by the first one's level, then the second one's */
    float unknown; /* of numbers, what such a row's squared error grows by */
    float left;    /* of classes, how much of what is told of others is told of it, 0 to 1 */
} tab_new_pair;

struct tab_fitted {
    tab_arena *arena;
    const tab_base *base;
    tab_task task;
    uint32_t table;
    size_t rows, cols, target;
    tab_fitted_column *column; /* (cols) */
    Tabella__ColumnRef *address;

    /* the target, by row of the table */
    uint32_t *label; /* classification: class, TAB_NULL where missing */
    size_t classes;
    tab_column class_cells; /* (classes) each class's cell, as supplied */
    float *y;               /* regression: (value - shift) / scale; NaN where missing */
    double shift, scale;    /* of the target */
    double least, most;     /* answers stay within */
    bool whole;             /* every fitted target is a whole number */

    tab_encoder *enc;
    tab_data *data;
    tab_problem problem;
    tab_units units;
    tab_stack *stack;
    tab_interval *interval;
    tab_twins twins;
    tab_twins group;     /* rows of one level of units.column; strength 0: there is none */
    uint64_t *group_key; /* (rows) of the encoded rows' groups, or NULL */
    tab_anomaly *anomaly;
    tab_arrangement split; /* of the rows it was fitted on; without a target all zero */
    tab_clock clock;       /* when new rows are, and of which series */
    tab_asked asked;       /* its rows without a target; all zero where the split was told */
    float *unknown;     /* (enc->n) of a row of a new level, what its squared error grows by; new_levels.c */
    float *left;        /* (enc->n) classes: how much of what is told of others is told of it, 0 to 1 */
    tab_new_pair *pair; /* (pairs) whose new ones are told less well */
    size_t pairs;
    bool *computed;      /* (cols) left out: made of the targets of a group's rows (explain/group_means.h) */
    const char *unlike;  /* what asked_cells.c found, for people; NULL: nothing */
    const char *lacking; /* what missing_shift.c found, for people; NULL: nothing */
    const char *single;  /* of a target that all labelled rows have alike, for people; NULL: they differ */
    double sure;         /* classes: the most that is said of one; less than 1 where all rows are of one */
    bool *seldom;        /* (enc->n) hardly a labelled row lacks it; hot_deck.c */
    float *far;   /* (rows) of asked rows out of range: numbers, what their squared error grows by; classes,
                       * the share of what is told of others that is not known of them; or NULL */
    float *few;   /* (rows) of a level hardly seen: by what their squared error grows, or their temperature;
                 * 0: as others; NULL: all are */
    float *mix;   /* (encoded rows) how many asked rows each stands for; NULL: as many; asked_mix.c */
    float *moved; /* (classes) logarithms: by how much they may come in other shares; NULL: asked_mix.c */
    double wider[TAB_LEVELS];   /* of served rows of new groups, where rows are kept apart by them; 0: none */
    double heat[TAB_FOLDS + 1]; /* with mix: the temperature of a fold's rows by the others, behind them that
                                 * of the asked ones */
    bool alone;                 /* groups that nobody knows are asked, and one is known; few_groups.c */
    size_t unseen;              /* later rows of series that no labelled row is of */
    tab_truncation
        truncated;           /* of asked rows whose target is missing for what it is; deviation 0: none are */
    double *truncated_score; /* (encoded rows) */
    const char *cut_off;     /* the same for people; NULL: none are */
    tab_ahead *ahead;        /* answers of those that come later; NULL: there are none */
    tab_later *later[TAB_SIDES];  /* what answers served rows after all fitted ones, and before them; NULL:
                                  * as others, with a wider interval */
    tab_stack *fresh;             /* such rows of a series that no fitted row is of; NULL: as the others */
    tab_interval *fresh_interval; /* of numbers */
};

/* Fills f->column: what tab_score must know of the columns, names and how they are read. own: columns of p
 * that are the table's own; 0: all. False: the arena is full. */
bool tab_fitted_columns(tab_fitted *f, const tab_profile *p, size_t own) TAB_CHECKED;

/* Reads the target column into f: labels and classes, or standardised numbers; settles TAB_TASK_AUTO. */
tab_status tab_target_read(tab_fitted *f, const tab_profile *p, size_t col, tab_error *err) TAB_CHECKED;
double tab_target_value(const tab_fitted *f, double y); /* back to the target's units */

/* The parsed cells of new rows by the fitted table's columns (read_request.c). strict: a value that cannot
 * be of its column's type is an error. */
tab_status tab_serve_values(tab_arena *a, const tab_fitted *f, const tab_table *t, bool strict,
                            tab_values **ret, tab_error *err) TAB_CHECKED;

/* What is not known of rows beyond the range of the numbers x (rows), which goes from least to most: of
 * numbers how many of their deviations they may move by while x moves by its range, at least one, or as far
 * as the straight line through both, or through the end that x leaves by; of classes the share of what is
 * told of others, which is how far they follow x (beyond.c). ret: [0] below, [1] above. False: memory. */
bool tab_beyond_of(const tab_fitted *f, const double *x, double least, double most,
                   double ret[2]) TAB_CHECKED;
/* Of classes, what is not known `off` ranges out, of a number of which `unknown` is not known at its ends. */
float tab_beyond_classes(double unknown, double off);
/* The same of each column, for rows that will be served. False: memory. */
bool tab_beyond_fit(const tab_profile *p, tab_fitted *f) TAB_CHECKED;

/* Says of each row of a request whether it lies beyond what was fitted, and by how much its squared error
 * grows (beyond.c). values (cols). False: the arena is full. */
bool tab_beyond_read(tab_arena *a, const tab_fitted *f, const tab_values *values, size_t rows,
                     tab_scoring *ret);

/* Fills ret->strange (novel_cells.c). values (cols). False: the arena is full. */
bool tab_strange_cells(tab_arena *a, const tab_fitted *f, const tab_values *values,
                       tab_scoring *ret) TAB_CHECKED;

/* Fills f->unknown and, where rows are served, f->left, for rows of levels that no fitted row is of.
 * False: the arena is full, or memory. */
bool tab_new_levels(const tab_engine *e, const tab_profile *p, bool served, tab_fitted *f) TAB_CHECKED;
/* Fills f->pair where rows are served. False: the arena is full, memory or cancelled. */
bool tab_new_pairs(const tab_engine *e, const tab_profile *p, bool served, tab_fitted *f) TAB_CHECKED;
/* Rows of new pairs: their regime, and how far they are doubted. False: the arena is full. */
bool tab_new_pairs_mark(tab_arena *a, const tab_fitted *f, tab_scoring *ret, uint32_t *regime,
                        uint32_t *doubt) TAB_CHECKED;
/* Adds to f->far, which runs read, what a number tells that all asked rows have alike. False: memory. */
bool tab_one_value(const tab_profile *p, tab_fitted *f) TAB_CHECKED;
/* Writes f->few, which runs read. False: memory. */
bool tab_few_seen(tab_fitted *f) TAB_CHECKED;

/* Widens intervals of rows of new groups by how few are known, where rows are kept apart by them; of served
 * rows in f->wider. False: memory. */
bool tab_few_groups(const tab_profile *p, bool served, tab_fitted *f) TAB_CHECKED;
/* What a squared error grows by for the shift of a new group, of whose kind so few are known: what a normal
 * number would have to have for the 80 % intervals to hold. between: the variance of such shifts; within:
 * what is left of the error. usual: of one known group. */
double tab_groups_reach(double between, double within, double groups);
double tab_groups_usual(double within);
/* Quantiles (TAB_LEVELS) of residuals by level as much wider: those below the median never move up, nor those
 * above it down, where all residuals of few groups lie to one side. They do not fall from level to level. */
void tab_widen_quantiles(const double *wider, double *quantile);
/* The same of groups (rows of the table: member) by which p's rows were kept apart; *known: with labelled
 * rows. v: NULL of classes. */
bool tab_groups_widen(const tab_problem *p, const tab_stack *s, const uint32_t *member, tab_interval *v,
                      size_t *known) TAB_CHECKED;
/* Later rows of series that no labelled row is of, in f->ahead's place (unseen_series.c). False: memory or
 * cancelled. */
bool tab_unseen_series(const tab_engine *e, tab_fitted *f) TAB_CHECKED;

/* Finds f->truncated, of runs, and writes result i of such a row (truncated_target.c). False: memory. */
bool tab_truncated_fit(tab_fitted *f) TAB_CHECKED;
void tab_truncated_write(const tab_fitted *f, Tabella__Results *r, size_t i, size_t encoded);

/* Writes f->mix and, of classes, f->heat, before intervals are fitted. False: memory or cancelled. */
bool tab_asked_mix(const tab_engine *e, tab_fitted *f) TAB_CHECKED;

/* Draws the log-probabilities of an asked row half to what they are if the classes come in other shares,
 * where it is less sure then. */
void tab_asked_shares(const tab_fitted *f, float *out);

/* How the fitted rows were kept apart. NULL: the arena is full. */
Tabella__Split *tab_split_message(tab_arena *a, const tab_fitted *f);

/* Result i of a later row of the table, and the regime of each result (regime_quality.c). False: the arena
 * is full. */
void tab_ahead_write(const tab_fitted *f, Tabella__Results *r, size_t i, size_t row);
bool tab_regimes_write(tab_arena *a, const tab_fitted *f, Tabella__Results *r) TAB_CHECKED;

/* How the rows without a target lie to the others; and what answers those that come later, with the split's
 * score and reason by what earlier cuts bore out. */
tab_status tab_fit_regimes(const tab_profile *p, size_t own, bool served, tab_fitted *f,
                           tab_error *err) TAB_CHECKED;
tab_status tab_fit_ahead(const tab_engine *e, const tab_profile *p, const bool *use, bool served,
                         tab_fitted *f, tab_error *err) TAB_CHECKED;

/* Fits f->fresh. False: memory or cancelled. */
bool tab_fresh_fit(const tab_engine *e, const tab_recipe *r, tab_fitted *f) TAB_CHECKED;
/* Answers of the n rows of a request of which no fitted row is of the series: of numbers ret (n, TAB_LEVELS
 * + 2) value, spread and quantiles, the wider of these and those that are there; of classes ret (n, classes)
 * shares of what is there. False: memory. */
bool tab_fresh_answer(const tab_fitted *f, const tab_data *d, const uint32_t *row, size_t n,
                      double *ret) TAB_CHECKED;

/* A result in the target's units (regime_quality.c). p (classes), quantile (TAB_LEVELS). */
void tab_write_classes(const tab_fitted *f, Tabella__Results *r, size_t i, const double *p);
void tab_write_number(const tab_fitted *f, Tabella__Results *r, size_t i, double value, double spread,
                      const double *quantile);

/* Answers of the rows of a request that come later, or before, in place of those that are there
 * (served_ahead.c). False: memory. */
bool tab_later_write(const tab_engine *e, const tab_fitted *f, const tab_scoring *s) TAB_CHECKED;

/* The split's score is of the rows that all else is said of, out of fold. */
void tab_split_score(tab_fitted *f);

/* Of log-probabilities only `left` is borne out: the rest is the classes' shares. */
void tab_draw_to_shares(const tab_stack *s, double left, float *out);

/* What the squared error of an asked row grows by over that of rows kept apart as the fitted ones were: of
 * one out of range, or of a new group where most are not; classes are drawn to their shares: out,
 * log-probabilities. */
float tab_asked_beyond(const tab_fitted *f, size_t row, float *out);

/* By how many ranges x lies outside a column's numbers; 0 inside or near (beyond.c). */
double tab_beyond_range(double least, double most, double x);

/* How good the answers are for rows of each regime that are asked: m->regimes (regime_quality.c). False:
 * the arena is full. */
bool tab_regime_quality(tab_arena *a, const tab_fitted *f, Tabella__Prediction *m) TAB_CHECKED;

/* That quantiles (TAB_LEVELS) do not fall from level to level, wherever they are written. */
void tab_check_quantiles(const double *quantile);

/* p with the asked rows' cells as they are to be read (asked_cells.c). use (cols): columns that explain. *ret
 * is p itself where all cells stand as they are, else f->unlike says which do not. All lives in f's arena.
 * Errors: INTERNAL (memory). */
tab_status tab_asked_cells(const tab_profile *p, const bool *use, tab_fitted *f, const tab_profile **ret,
                           tab_error *err) TAB_CHECKED;

/* Room for n results of the task; the caller checks whether the arena is full. */
Tabella__Results *tab_results_new(tab_arena *a, const tab_fitted *f, size_t n);

/* Adds reasons to results (reasons.c). place (rows): where each row of the table stands among encoded
 * rows. */
bool tab_reasons_fitted(const tab_engine *e, const tab_fitted *f, const uint32_t *place,
                        Tabella__Prediction *m);
bool tab_reasons_rows(const tab_engine *e, const tab_fitted *f, const tab_data *d, Tabella__Results *r);
#endif
