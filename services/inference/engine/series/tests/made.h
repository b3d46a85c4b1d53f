/* Tables with a known time structure, made from a seed, for series_test.c and tests/bench/series. */
#ifndef TAB_SERIES_MADE_H
#define TAB_SERIES_MADE_H

#include "services/inference/engine/series/series.h"

enum { MADE_KEYS = 3 };

typedef struct {
    const char *group; /* what is hard about it, by which figures are printed */
    char *text;        /* CSV; free it */
    size_t n;
    tab_time_kind kind;
    const char *time[TAB_TIME_COLUMNS];
    size_t times;
    const char *key[MADE_KEYS], *or_key[MADE_KEYS]; /* or_key: a column that says the same */
    size_t keys;
    tab_step_unit unit;
    double step;   /* 0: not asked after */
    double season; /* 0: not asked after */
    bool after;    /* the asked rows are later than the labelled ones */
    bool fresh;    /* the asked rows are of new series */
} made_table;

enum { MADE_WITH_TIME = 220, MADE_WITHOUT = 80 };

/* Table i of MADE_WITH_TIME + MADE_WITHOUT. Its target is the column y. Seeds from MADE_OTHER on have other
 * values: other layouts of dates, keys, counts, noise and covariates. */
enum { MADE_OTHER = 1000 };
void made_series(uint64_t seed, size_t i, made_table *ret);
#endif
