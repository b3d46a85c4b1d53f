/* Cases made of a case whose entities are known: the same rows, but fewer or no entities in both tables. The
 * model learns from those that share somebody; those that share nobody judge when it is believed. */
#ifndef TAB_TRAIN_VARIANTS_H
#define TAB_TRAIN_VARIANTS_H

#include "tests/bench/match/cases.h"

typedef enum {
    VARIANT_NONE = 0,  /* of each entity in both tables one side's rows are left out */
    VARIANT_PART = 2,  /* of a half; the number is a seed of what is drawn */
    VARIANT_HALF = 3,  /* one table dealt into two, entity by entity: nobody is shared */
    VARIANT_DEALT = 4, /* one table dealt into two, row by row: duplicates become matches */
    VARIANTS
} variant;

/* Reads dir/NAME/duplicates.csv where it is there, and makes the variant of the case's first two tables.
 * False: they are too small for it. Deterministic. */
bool variant_make(tab_arena *a, const char *dir, const match_case *m, variant kind, match_case *ret);

#endif
