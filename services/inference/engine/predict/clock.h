/* When a served row is, where its table tells times in parts (year, month, day in columns of their own):
 * whether it comes after all fitted rows, and how far. */
#ifndef TAB_CLOCK_H
#define TAB_CLOCK_H

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/series/series.h"

typedef struct {
    size_t column[TAB_TIME_COLUMNS]; /* of the parts, the coarsest first */
    size_t parts;                    /* 0: times are not told so */
    double last[TAB_TIME_COLUMNS];   /* the greatest fitted time, part by part */
    double weight
        [TAB_TIME_COLUMNS]; /* what one of each part adds to a time, nearly: months are unlike in length */
    double span;            /* of the fitted times, in the same unit */
} tab_clock;

/* A clock of p's rows; parts is 0 where s has no parts that are numbers. */
tab_clock tab_clock_fit(const tab_profile *p, const tab_series *s);

/* How far row r of values (cols) comes after the last fitted time, in spans of the fitted times; 0: not
 * after, or not known. */
double tab_clock_ahead(const tab_clock *c, const tab_values *values, size_t r);
#endif
