/* The bases: named, frozen recipes. A better engine is a new base; an old one answers as it always did. */
#ifndef TAB_RECIPES_H
#define TAB_RECIPES_H

#include "services/inference/engine/learn/stack/stack.h"

typedef struct {
    const char *name;
    bool retired;
    bool is_default;
    tab_recipe recipe;     /* the learners, in the order in which the budget admits them */
    size_t anomaly_trees;  /* of the isolation forest */
    bool scaled_residuals; /* intervals follow a fitted local scale, not one width for all rows */
} tab_base;

const tab_base *tab_bases(size_t *n);
/* NULL name: the default. Errors: VALIDATION on `base` (unknown), CAPABILITY (retired). */
tab_status tab_base_find(const char *name, const tab_base **ret, tab_error *err) TAB_CHECKED;
#endif
