/* A number given the other cells of its row (given.c), and the scale that it is seen on. Inside of suspects
 * only. */
#ifndef TAB_SUSPECTS_GIVEN_H
#define TAB_SUSPECTS_GIVEN_H

#include "services/inference/engine/suspects/parts.h"

enum {
    TAB_SUSPECT_NUMBERS = 24,     /* columns of numbers that take part in each other's fits */
    TAB_SUSPECT_AMOUNTS = 12,     /* with categories among them: what is tried grows with their cube */
    TAB_SUSPECT_SAMPLE = 4000,    /* rows that a model of a column is chosen on */
    TAB_SUSPECT_QUANTILES = 50000 /* rows that quantiles are taken of */
};

/* A column on its scale: what its middle and its tails are. */
typedef struct {
    bool log;
    double median, low, high;   /* quartiles */
    double tail_low, tail_high; /* where the outermost hundredth begins */
    double spread;              /* (high - low) as a standard deviation; 0: more than half are one number */
    double least, most;         /* 0.005 and 0.995 quantiles, in plain numbers */
    double far, index, beyond;  /* upper tail: numbers(x) = beyond (x / far)^-index; index 0: none */
    size_t n;                   /* cells that are numbers */
    bool whole, positive;
} tab_scale;

typedef struct {
    size_t col[TAB_SUSPECT_NUMBERS], n;
    tab_scale q[TAB_SUSPECT_NUMBERS];
    bool *
        confirmed[TAB_SUSPECT_NUMBERS]; /* (rows) a sum or a product holds of the cell; NULL: it is in none */
} tab_numbers;

/* Rows of one column's groups that stand for all: some groups, some rows of each. */
typedef struct {
    const uint32_t *row;   /* the sampled rows of the first group, of the second, ... */
    const uint32_t *start; /* (groups + 1) */
    size_t groups;
} tab_group_sample;

/* What is left over of a column by a model: residuals on the model's scale and their spread. */
typedef struct {
    const double *left;   /* (rows) NaN where the model says nothing; NULL: no model tells anything */
    double spread, whole; /* of the residuals, as a standard deviation; of the column on the same scale */
    bool log;
    uint32_t other; /* the column that it is given by, UINT32_MAX: several */
} tab_residuals;

/* q-quantile (0..1) of n > 0 sorted numbers, between neighbours by a line. */
double tab_quantile_of(const double *sorted, size_t n, double q);

/* x on the scale of q; NaN where it has no logarithm. */
double tab_on_scale(const tab_scale *q, double x);

/* The i-th of `most` rows that stand for `rows` of them: a row of the i-th of as many equal stretches, drawn
 * from i alone, so that a cycle of the rows meets no cycle of the sample. All of them where rows <= most. */
size_t tab_sampled_row(size_t rows, size_t most, size_t i);

/* Of x (rows), n of which are finite, those that stand for them, at most TAB_SUSPECT_QUANTILES, in their
 * order. How many these are. */
size_t tab_sampled_numbers(const double *x, size_t rows, size_t n, double *ret);

/* The columns of numbers that vary, and their scales. False: memory ran out. */
bool tab_suspects_scales(tab_search *s, tab_numbers *ret) TAB_CHECKED;

/* Behind those, the numbers of columns that are told as categories or names. False: memory ran out. */
bool tab_suspects_amounts(tab_search *s, tab_numbers *u) TAB_CHECKED;

/* The samples of every column that can group: (columns of the table), groups = 0 where it can not. In the
 * scratch arena; NULL: it is full. */
tab_group_sample *tab_group_samples(tab_search *s) TAB_CHECKED;

/* Finds numbers that others of their row make, and where they do not (identities.c). False: memory ran out.
 * */
bool tab_suspects_identities(tab_search *s, tab_numbers *u) TAB_CHECKED;

/* Finds dates and numbers that are never above others, and where they are (orders.c). False: memory ran out.
 */
bool tab_suspects_orders(tab_search *s, const tab_numbers *u, const tab_group_sample *g) TAB_CHECKED;

/* Finds numbers of column k that are in another unit than most, and which (units.c); m: what is left over of
 * the column. False: memory ran out. */
bool tab_suspects_units(tab_search *s, const tab_numbers *u, size_t k, const tab_residuals *m) TAB_CHECKED;

/* Finds dates of column k of which day and month are exchanged (unfitted/exchanged.c). */
void tab_suspects_exchanged(tab_search *s, const tab_numbers *u, size_t k, const tab_residuals *m);

/* The number with so many decimals. */
tab_str tab_suspects_number_text(tab_arena *a, double x, int decimals);

/* The model that leaves least of number k over, chosen on samples; its residuals are of all rows and live in
 * `a`. False: an arena is full. */
bool tab_best_given(tab_search *s, tab_arena *a, const tab_numbers *u, const tab_group_sample *g, size_t k,
                    tab_residuals *ret) TAB_CHECKED;
#endif
