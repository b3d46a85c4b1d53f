/* The engine: tables in, bundle out. A library with no server and no threads of its own.
 *
 * It is deterministic: one input, base and seed give one bundle, byte for byte, whatever the number of
 * threads that `parallel_for` uses. It never prints, exits, or reads the clock for a decision. */
#ifndef TAB_ENGINE_H
#define TAB_ENGINE_H

#include <stdatomic.h>

#include "common/table/table.h"
#include "proto/bundle.pb-c.h"

/* What the caller lends for one pass. Zeroed members are fine but `arena`. */
typedef struct {
    tab_arena *arena;          /* outputs live here; used by one thread at a time */
    const atomic_bool *cancel; /* when it turns true the pass ends with TAB_CANCELLED soon; may be NULL */
    /* Progress of the whole pass, 0 to 1, and the phase's name; may be NULL. Called by the calling thread. */
    void (*progress)(void *arg, const char *phase, double done);
    void *progress_arg;
    /* Runs fn(ctx, i) once for each i in 0..n-1, in any order, on any threads, and returns when all are
     * done. Each call writes only its own outputs. NULL: a plain loop. */
    void (*parallel_for)(void *arg, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);
    void *parallel_arg;
    uint64_t seed;
} tab_engine;

typedef enum { TAB_TARGET_AUTO, TAB_TARGET_NONE, TAB_TARGET_COLUMN } tab_target_mode;
typedef enum { TAB_TASK_AUTO, TAB_TASK_CLASSIFICATION, TAB_TASK_REGRESSION, TAB_TASK_ANOMALY } tab_task;

typedef enum { TAB_SPLIT_AUTO, TAB_SPLIT_RANDOM, TAB_SPLIT_TIME, TAB_SPLIT_GROUP } tab_split;

/* What the caller says of a column; it wins over what is read. */
typedef struct {
    tab_str table,
        column;         /* table: empty where there is one only; column: its address (common/table/table.h) */
    tab_str role, type; /* empty: as read */
    tab_str use;        /* "feature", "key", "ignore"; empty: as read */
} tab_column_option;

/* What the caller says of the tables' cells and columns. */
typedef struct {
    const tab_column_option *column; /* (columns) */
    size_t columns;
    bool missing_auto;           /* cells that are marks by evidence are missing */
    const tab_str *missing_text; /* (missing_texts) cells that equal one of these are missing */
    size_t missing_texts;
    const double *missing_number; /* (missing_numbers) */
    size_t missing_numbers;
} tab_given;

typedef struct {
    const char *base; /* "base-2"; NULL: the default base */
    tab_target_mode target;
    tab_str target_column; /* "table.column", or "column" where only one table holds it */
    tab_task task;
    double threshold; /* of reported alignments and matches, 0..1; the caller passes 0.5 by default */
    bool explain;     /* fill results[].reasons */
    tab_given given;
    tab_split split; /* how rows are kept apart where answers are judged */
    size_t horizon;  /* steps ahead of every series that are asked (1 to 10,000); 0: none */
    tab_str as_of;   /* a column of the target's table, whose time is each row's moment; "none": all rows of
                      * linked tables count; empty: by evidence */
} tab_run_options;

#define TAB_RUN_DEFAULTS \
    {                    \
        .threshold = 0.5 \
    }

/* The whole pass over n tables (1 to 64) with distinct ids. On success *ret lives in e->arena.
 * Errors: VALIDATION (param names the field: "target.column", "base", "task.type"), CAPABILITY (a retired
 * base), CANCELLED, INTERNAL (memory: the arena is full). */
tab_status tab_engine_run(const tab_engine *e, const tab_table *const *tables, size_t n,
                          const tab_run_options *o, Tabella__Bundle **ret, tab_error *err) TAB_CHECKED;

/* Helpers that every stage uses. */
static inline bool tab_engine_cancelled(const tab_engine *e)
{
    return e->cancel != NULL && atomic_load_explicit(e->cancel, memory_order_relaxed);
}

static inline void tab_engine_for(const tab_engine *e, size_t n, void (*fn)(void *, size_t), void *ctx)
{
    if (e->parallel_for != NULL)
        e->parallel_for(e->parallel_arg, n, fn, ctx);
    else
        for (size_t i = 0; i < n; i++)
            fn(ctx, i);
}

static inline void tab_engine_progress(const tab_engine *e, const char *phase, double done)
{
    if (e->progress != NULL)
        e->progress(e->progress_arg, phase, done);
}
#endif
