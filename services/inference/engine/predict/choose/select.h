/* Which column to predict, and as what: the most predictable eligible column, and a plain reason for every
 * column that might have been. */
#ifndef TAB_SELECT_H
#define TAB_SELECT_H

#include "services/inference/engine/profile/profile.h"

typedef struct {
    bool none;            /* no prediction: asked for, or nothing is eligible */
    size_t table, column; /* the target, or an anomaly task's labels; without them the table's width */
    tab_task task;        /* never AUTO unless none */
    Tabella__TargetSelection *target;
    Tabella__TaskSelection *how;
} tab_selection;

/* Labels of anomalies are a column of two values. The rarer one says "anomaly"; of two equally frequent
 * ones it is the one that appears later. ret (rows): 1 there, 0 for the other value, TAB_NULL where it is
 * missing. False: there are not two values. */
bool tab_anomaly_labels(const tab_profile *p, size_t column, uint32_t *ret);

/* Reads o->target, o->target_column and o->task. refers [table][column]: which columns refer to rows of
 * another table, or NULL: none. Where nothing is told by other columns beyond chance, no target is chosen;
 * where tables refer to each other, their columns may tell, and one is. Where the next steps are asked
 * (o->horizon) a column's own past may tell, and a number of a table with a time is chosen (decision 0842).
 * All memory is e->arena's. Errors:
 * VALIDATION on "target.column" (unknown, ambiguous between tables, or no labels of anomalies) or
 * "task.type", CANCELLED, INTERNAL. */
tab_status tab_select(const tab_engine *e, tab_profile *const *p, size_t n, const bool *const *refers,
                      const tab_run_options *o, tab_selection *ret, tab_error *err) TAB_CHECKED;
#endif
