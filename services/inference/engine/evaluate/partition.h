/* Which rows of a table are held out, and which of them are one another's likeness: the blocks that a score's
 * interval is drawn by. */
#ifndef TAB_PARTITION_H
#define TAB_PARTITION_H

#include "services/inference/engine/profile/profile.h"

typedef struct {
    const uint32_t *class; /* (rows) stratum; TAB_NULL: no target, on neither side */
    const uint32_t
        *unit; /* (rows) the first row of the copies or the group that a row is of (features/units.h) */
    const uint32_t *apart; /* (rows) entities or groups, which are held out without strata */
    const double *time;    /* (rows) the last rows are held out */
    size_t rows;
    uint64_t seed;
} tab_partition_by; /* unit, apart and time: NULL where there are none; time goes first */

typedef struct {
    bool *test;      /* (rows) */
    size_t held;     /* of them */
    uint32_t *block; /* (held) in the rows' order; NULL: each row is one of its own */
    size_t blocks;
} tab_partition;

/* A quarter of the rows with a target. False: memory. */
bool tab_partition_rows(tab_arena *a, const tab_partition_by *by, tab_partition *ret);

/* The rows with pick[row] == which, as a table of its own. NULL: the arena is full. */
tab_table *tab_partition_table(tab_arena *a, const tab_table *t, const bool *pick, bool which);
#endif
