/* References within a table: an employee's manager is an employee, a category's parent a category (decision
 * 0349). */
#ifndef TAB_KEY_WITHIN_H
#define TAB_KEY_WITHIN_H

#include "services/inference/engine/keys/key_columns.h"

/* clang-format off */
#define TAB_KEY_WITHIN_FEATURE_LIST(X)                                                                  \
    X(EVIDENCE) /* -log of the chance to lead in no circle, or back, and to be held; at most BOUND */    \
    X(NONE)     /* rows end where they hold no value, and only there */                                   \
    X(SELVES)   /* some row leads to itself */
/* clang-format on */

enum {
#define TAB_X(name) TAB_KEY_WITHIN_F_##name,
    TAB_KEY_WITHIN_FEATURE_LIST(TAB_X)
#undef TAB_X
        TAB_KEY_WITHIN_FEATURES
};

/* Column child of a table refers to column parent of the same; columns are of tab_key_columns.col. */
typedef struct {
    uint32_t child, parent;
    uint32_t held; /* distinct values of the child that the parent holds */
    float f[TAB_KEY_WITHIN_FEATURES];
    double p;
} tab_key_within;

/* The probability that the features tell, by weights of each, the constant last (within_weights.h). */
double tab_key_within_p(const tab_key_within *x, const double *weights);

/* taken (columns): columns that refer to another table, which are not asked. One parent a column; by child.
 * Any probability. The result lives in a. Errors: CANCELLED, INTERNAL (out of memory). */
tab_status tab_key_within_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                               const bool *taken, tab_arena *a, tab_key_within **ret, size_t *ret_n,
                               tab_error *err) TAB_CHECKED;

#endif
