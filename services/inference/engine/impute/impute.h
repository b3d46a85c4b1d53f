/* Missing cells of numeric, boolean and categorical columns; what is left missing says why (leave.h).
 * Each incomplete column is learned from all others where it is present, and filled where it is not, columns
 * with few missing cells first. Cells that were supplied are never touched. */
#ifndef TAB_IMPUTE_H
#define TAB_IMPUTE_H

#include "services/inference/engine/profile/profile.h"

/* A prediction's own target: its missing cells are filled with the prediction (missing_target_results). */
typedef struct {
    size_t table, column;
    const Tabella__Prediction *prediction; /* NULL: none */
} tab_impute_target;

/* What a cell can have been filled by; method_of[] of the message points into this list. */
enum { TAB_FILL_METHODS = 4 };
extern const char *const tab_fill_methods[TAB_FILL_METHODS];

/* Room for n cells, and the list of methods. False: the arena is full. */
bool tab_imputation_room(tab_arena *a, size_t n, Tabella__Imputation *m) TAB_CHECKED;

/* ret lives in e->arena. key: [table][column] why a column is a reference or a key and stays as it is, or
 * NULL; the whole or a table's list may be NULL. A numeric cell counts as right within half of its column's
 * standard deviation, far values held within its fences (fill_quality.h); a row's confidence is the expected
 * share of its filled cells that are right. */
tab_status tab_impute(const tab_engine *e, tab_profile *const *p, size_t n, const char *const *const *key,
                      const tab_impute_target *target, Tabella__Imputation **ret, tab_error *err) TAB_CHECKED;
#endif
