/* Which column to predict, and as what: the most predictable eligible column, and a plain reason for every
 * column that might have been. */
#ifndef TAB_SELECT_H
#define TAB_SELECT_H

#include "services/inference/engine/profile/profile.h"

typedef struct {
    bool none; /* no prediction: asked for, or nothing is eligible */
    size_t table,
        column; /* the target; column is the table's width for an anomaly task without a target */
    tab_task task; /* never AUTO unless none */
    Tabella__TargetSelection *target;
    Tabella__TaskSelection *how;
} tab_selection;

/* Reads o->target, o->target_column and o->task. All memory is e->arena's. Errors: VALIDATION on
 * "target.column" (unknown, or ambiguous between tables) or "task.type", CANCELLED, INTERNAL. */
tab_status tab_select(const tab_engine *e, tab_profile *const *p, size_t n,
                      const tab_run_options *o, tab_selection *ret, tab_error *err) TAB_CHECKED;
#endif
