/* See recipes.h: the bases, which are all that a caller can choose of how answers are made. A base is a row
 * of this table and is frozen once released: a better recipe is a new row. What its learners are is decision
 * 0050, why the transformer is not in the default decision 0081. */
#include "services/inference/engine/recipes.h"

#include <stdio.h>

/* What base-2 is made of; base-3 adds to it. */
#define BASE_2                                                                                           \
    &tab_learn_boost, &tab_learn_boost_shallow, &tab_learn_linear, &tab_learn_kernel, &tab_learn_forest, \
        &tab_learn_forest_fine, &tab_learn_knn, &tab_learn_mlp

/* The budget is in rows x features (or multiply-adds) of all fits together; see decision 0051. */
static const tab_base bases[] = {
    { .name = "base-1",
      .recipe = { .learner = { &tab_learn_boost_brisk, &tab_learn_linear },
                  .n = 2,
                  .folds = 4,
                  .work = 4e12 },
      .anomaly_trees = 100 },
    { .name = "base-2",
      .is_default = true,
      .recipe = { .learner = { BASE_2 }, .n = 8, .work = 4e13, .makes = true },
      .anomaly_trees = 200,
      .scaled_residuals = true },
    { .name = "base-3", /* base-2 and the in-context transformer; decision 0081 says why not the default */
      .recipe = { .learner = { BASE_2, &tab_learn_pfn }, .n = 9, .work = 4e13, .makes = true },
      .anomaly_trees = 200,
      .scaled_residuals = true },
};

/* All bases in the order in which they are offered. */
const tab_base *tab_bases(size_t *n)
{
    *n = sizeof bases / sizeof *bases;
    return bases;
}

/* NULL asks for the default. Errors: CAPABILITY for a retired base, VALIDATION for a name that is none. */
tab_status tab_base_find(const char *name, const tab_base **ret, tab_error *err)
{
    char known[160] = "";
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        const tab_base *b = &bases[i];
        size_t n = strlen(known);
        if (!b->retired)
            snprintf(known + n, sizeof known - n, "%s%s", n > 0 ? ", " : "", b->name);
        if (name == NULL ? !b->is_default : strcmp(b->name, name) != 0)
            continue;
        if (b->retired)
            return tab_fail(err, TAB_CAPABILITY, "base", "base %s is retired", b->name);
        *ret = b;
        return TAB_OK;
    }
    return tab_fail(err, TAB_VALIDATION, "base", "no such base; the bases are %s", known);
}
