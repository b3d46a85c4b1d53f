/* Shared by the files that fill missing cells (impute.h): impute.c says which columns are filled, in which
 * order and at what cost; fill_column.c fills a column by learners; fill_target.c takes the answers of the
 * prediction for the target's own column. */
#ifndef TAB_IMPUTE_FILL_H
#define TAB_IMPUTE_FILL_H

#include <math.h>

#include "services/inference/engine/impute/apart.h"
#include "services/inference/engine/impute/fill_quality.h"
#include "services/inference/engine/impute/impute.h"
#include "services/inference/engine/impute/joint.h"
#include "services/inference/engine/suspects/made.h"

/* A filled number counts as right within this many standard deviations of its column (impute.h). */
static const double TAB_FILL_TOLERANCE = 0.5;

/* Rows that a column is learned from at most: a bound of cost. No column of tests/bench/predict reaches
 * it. */
enum { TAB_FILL_ROWS = 20000 };

/* How much a column may cost: no learner (median or commonest class), the light recipe, the whole one. */
typedef enum { TAB_FILL_PLAIN, TAB_FILL_LIGHTLY, TAB_FILL_WHOLLY } tab_fill_effort;

/* One column to fill, and what it was filled with. The arrays live in the engine's arena. */
typedef struct {
    size_t column;
    double missing; /* share of the rows without a cell */
    bool numeric;   /* filled with numbers; else with copies of cells */
    tab_fill_effort effort;
    size_t n;         /* cells filled */
    uint32_t *row;    /* (n) rising */
    double *value;    /* (n) numbers */
    uint32_t *source; /* (n) classes: a row of the table whose cell this one repeats, or TAB_NULL */
    float *confidence;
    bool *made;             /* (n) by arithmetic (suspects/made.h); NULL: none is */
    const char *method;     /* one of the message's method names */
    tab_fill_quality grade; /* by its answers for cells that were hidden */
    bool apart;             /* whole groups, or stretches of time, lack the cell, and it was graded so */
    const char *left;       /* why nothing was filled after all; NULL: it was */
} tab_column_fill;

/* What the columns of one table are filled from. */
typedef struct {
    const tab_engine *e;
    const tab_profile *p;
    const tab_encoder *enc;
    const tab_data *data;
    uint32_t total;         /* a row of totals, which is neither filled nor learned from, or TAB_NULL */
    const tab_joint *joint; /* NULL: the table does not carry one */
    const tab_apart *apart;
    const tab_number_made *made; /* (mades) */
    size_t mades;
    tab_joint_filled *filled; /* (knowns) numbers of the columns that came before */
    size_t knowns;
} tab_fill_pass;

/* Whether the cell is null; marks like "?" are none here and keep their cell. */
static inline bool tab_fill_missing(const tab_column *c, size_t row)
{
    return c->layout == TAB_NUMBERS ? isnan(c->num[row]) : c->code[row] == TAB_NULL;
}

/* The most confidence that a class can have after n cells: the next one may be the first of a class of its
 * own (Laplace's rule of succession, decision 0180). */
static inline float tab_fill_surest(size_t n)
{
    return (float)((double)(n + 1) / (double)(n + 2));
}

/* Room in arena a for n rows, confidences and, by f->numeric, values or sources. False: the arena is
 * full. */
static inline bool tab_fill_room(tab_arena *a, tab_column_fill *f, size_t n)
{
    f->row = tab_arena_new_of(a, uint32_t, n + 1);
    f->confidence = tab_arena_new_of(a, float, n + 1);
    f->value = f->numeric ? tab_arena_new_of(a, double, n + 1) : NULL;
    f->source = f->numeric ? NULL : tab_arena_new_of(a, uint32_t, n + 1);
    return !tab_arena_full(a);
}

/* Fills column f->column, whose f->n missing cells were counted. False: memory or cancelled. */
bool tab_fill_column(const tab_fill_pass *t, tab_column_fill *f);

/* Fills the target's column with the answers of its prediction. False: the arena is full. */
bool tab_fill_target(const tab_engine *e, const Tabella__Prediction *m, const tab_profile *p,
                     tab_column_fill *f);
#endif
