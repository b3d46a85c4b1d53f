/* A made table read, its time found, and held against what is known of it. */
#ifndef TAB_SERIES_HELD_H
#define TAB_SERIES_HELD_H

#include "services/inference/engine/series/tests/made.h"

enum { HELD_KIND, HELD_COLUMNS, HELD_KEYS, HELD_STEP, HELD_SEASON, HELD_PLACE, HELD_PARTS };

typedef struct {
    bool is[HELD_PARTS], right;
    char said[400]; /* what was found, and what was to be */
    double seconds; /* of CPU, the search alone */
} held;

bool hold_series(const made_table *m, held *ret); /* false: memory, or no table */
#endif
