/* When a served row is, and of which series: its cells are read as those of the fitted rows were. */
#ifndef TAB_CLOCK_H
#define TAB_CLOCK_H

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/predict/asked/regime.h"

typedef struct {
    uint64_t key;
    uint32_t series;
} tab_clock_key;

typedef struct {
    const tab_series *s; /* of the fitted rows; NULL: no column tells times that rows are ordered by */
    double first, last;  /* the labelled times */
    tab_clock_key *key;  /* (keys) ascending */
    size_t keys;
} tab_clock;

/* Of p's rows; asked is kept. s is NULL where times are not in columns, or where rows came in another
 * order and
 * stand by no series: then a time is what a row is about (the year of a house), not when it came. False: the
 * arena is full. */
bool tab_clock_fit(tab_arena *a, const tab_profile *p, const tab_asked *asked, tab_clock *ret) TAB_CHECKED;

/* When row r of values (columns of the table) is; NaN: not known. */
double tab_clock_when(const tab_clock *c, const tab_values *values, size_t r);
/* Its series; TAB_NULL: a new one, or not known. */
uint32_t tab_clock_series(const tab_clock *c, const tab_values *values, size_t r);
#endif
