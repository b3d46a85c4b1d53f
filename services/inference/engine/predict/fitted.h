/* A fitted model: everything that scoring a row of one table for one target needs, in memory of its own, so
 * that it outlives the request that made it and may be cached and shared.
 *
 *   tab_fit     learns from a profiled table; its own rows' results are out of fold
 *   tab_score   answers for new rows of the same columns, in microseconds to milliseconds a row
 *
 * A fitted model is read-only: any number of threads may score with it at once. */
#ifndef TAB_FITTED_H
#define TAB_FITTED_H

#include "services/inference/engine/pack/pack.h"
#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/recipes.h"

typedef struct tab_fitted tab_fitted;

typedef struct {
    const char *base;    /* NULL: the default */
    tab_task task;       /* AUTO: by the target's type; ANOMALY: unsupervised */
    size_t target;       /* column of the table */
    bool labels;         /* ANOMALY: target holds the labels, which do not explain; else it is not read */
    uint32_t table;      /* which table of the run this is: stands in column references */
    tab_split split;     /* how rows are kept apart: AUTO decides (arrange.h) */
    tab_anomaly_cut cut; /* ANOMALY: which rows are flagged */
    const bool *use;     /* (cols) columns that may explain the target; NULL: all that tab_explains */
    size_t own;          /* columns from here on are made of linked tables, and go by their names; 0: none */
    bool served;         /* rows will be scored: what answers those that come later is kept, too */
} tab_fit_options;

/* Fits on p's rows. p and its table are not kept. Errors: VALIDATION ("target.column", "task.type",
 * "base"), CAPABILITY, CANCELLED, INTERNAL (memory). */
tab_status tab_fit(const tab_engine *e, const tab_profile *p, const tab_fit_options *o, tab_fitted **ret,
                   tab_error *err) TAB_CHECKED;
void tab_fitted_free(tab_fitted *f); /* NULL is fine */
TAB_DEFINE_AUTO(tab_fitted)
size_t tab_fitted_bytes(const tab_fitted *f); /* memory it holds, for a cache's bound */

/* A pointer to one in few bytes (fitted_pack.c). What is read gives the same bytes for every row, and belongs
 * to the arena that it is read into: tab_fitted_free does nothing. */
void tab_pack_fitted(tab_pack *p, tab_fitted **at);

/* The results of the rows it was fitted on, in row order: out of fold where the target is present, by the
 * whole stack (missing_target_results) where not. Lives in e->arena. */
tab_status tab_fitted_results(const tab_engine *e, const tab_fitted *f, bool explain,
                              Tabella__Prediction **ret, tab_error *err) TAB_CHECKED;

/* Results of t's rows, every one, in their order. Columns are found by name where names are unique in both
 * tables, else by position; a column that is not there, or a value that cannot be of the column's type, is
 * VALIDATION ("tables[0].columns", "tables[0].rows[i][j]"). The target column's cells are not read. */
tab_status tab_score(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool explain,
                     Tabella__Prediction **ret, tab_error *err) TAB_CHECKED;

/* tab_score in three steps, so that rows of several calls share one pass over the model: read (on the
 * call's own engine), answer together, end. A row's answer does not depend on the rows beside it, so each
 * part's results are the bytes that tab_score gives. together: on e's threads, e->arena is scratch; false:
 * out of memory. */
typedef struct {
    const tab_data *d;
    Tabella__Prediction *m;
    float *beyond;            /* (rows) regression: what the squared error grows by beyond the fitted range */
    float *left;              /* (rows) classes: how much of them is told; the rest is the classes' shares */
    const tab_values *values; /* (columns of the fitted table) the rows' cells */
    uint8_t *side;   /* (rows) 1: after all fitted ones, 2: before them, where these rows' series answer */
    size_t later[2]; /* how many rows are so */
    uint64_t *group; /* (rows) the key of the group whose target is known; NULL: there are none */
    char **strange;  /* (stranges) sentences: cells that are unlike all fitted ones, by row and column */
    size_t stranges;
} tab_scoring;
tab_status tab_score_read(const tab_engine *e, const tab_fitted *f, const tab_table *t, tab_scoring *ret,
                          tab_error *err) TAB_CHECKED;
bool tab_score_together(const tab_engine *e, const tab_fitted *f, const tab_scoring *const *part,
                        size_t n) TAB_CHECKED;
tab_status tab_score_end(const tab_engine *e, const tab_fitted *f, const tab_scoring *s, bool explain,
                         Tabella__Prediction **ret, tab_error *err) TAB_CHECKED;

/* The same for rows that need not be clean (held-out rows of the fitted table): a value that cannot be of
 * its column's type reads as missing, as it does when fitting. */
tab_status tab_score_any(const tab_engine *e, const tab_fitted *f, const tab_table *t, bool explain,
                         Tabella__Prediction **ret, tab_error *err) TAB_CHECKED;

/* How sure it is of the rows that it was fitted on, out of fold: the probability of the answered class, or
 * the answer's standard deviation in the target's units. (*ret_n), NULL for anomaly and where the arena is
 * full. */
double *tab_fitted_sureness(tab_arena *a, const tab_fitted *f, size_t *ret_n);

/* How rows later than all labelled ones are answered, for people; NULL: as all others. */
const char *tab_fitted_ahead(const tab_fitted *f);

/* Which columns the rows to be answered lack more often than the others, for people; NULL: none. */
const char *tab_fitted_shift(const tab_fitted *f);
/* That all labelled rows have one target, for people; NULL: they differ. */
const char *tab_fitted_single(const tab_fitted *f);

/* That the rows to be answered lack their target because it lies beyond a limit, for people; NULL: not. */
const char *tab_fitted_cut_off(const tab_fitted *f);

/* Answers for labelled rows as those that are asked are answered, where these mostly come later: of rows
 * after earlier cuts, by what was fitted on the rows before. NULL: the results of the labelled rows are of
 * the same kind as those of the asked; or the arena is full. */
Tabella__Results *tab_fitted_judged(tab_arena *a, const tab_fitted *f);

/* What evaluation and benchmarks read beside the messages. */
const tab_stack *tab_fitted_stack(const tab_fitted *f); /* NULL for anomaly */
#endif
