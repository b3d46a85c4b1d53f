/* Cases made of a case whose entities are known: the same rows, but fewer or no entities in both tables. A
 * model that sees each source with many entities in both tables, with few and with none has to tell from the
 * tables themselves how many there are, and cannot know it from the source. */
#ifndef TAB_TRAIN_VARIANTS_H
#define TAB_TRAIN_VARIANTS_H

#include "tests/bench/match/cases.h"

typedef enum {
    VARIANT_NONE,  /* of each entity in both tables one side's rows are left out */
    VARIANT_SOME,  /* of all but a few */
    VARIANT_PART,  /* of a half */
    VARIANT_HALF,  /* one table dealt into two, entity by entity: nobody is shared */
    VARIANT_DEALT, /* one table dealt into two, row by row: duplicates become matches */
    VARIANTS
} variant;

/* Reads dir/NAME/duplicates.csv where it is there, and makes the variant of the case's first two tables.
 * False: they are too small for it. Deterministic. */
bool variant_make(tab_arena *a, const char *dir, const match_case *m, variant kind, match_case *ret);

#endif
