/* How an endpoint's answers follow outcomes (decision 0477): its row of jobs.calibration, read and moved
 * under the endpoint's row. A state belongs to the endpoint's revisions: a refresh or an edit begins anew. */
#ifndef TAB_JOBS_CALIBRATION_H
#define TAB_JOBS_CALIBRATION_H

#include "common/rpc/rpc.h"
#include "common/security/receipt.h"
#include "proto/jobs.pb-c.h"
#include "services/jobs/outcomes/quality.h"
#include "services/jobs/store.h"

/* An outcome that counts. */
typedef struct {
    tab_receipt receipt;
    outcome outcome;
    int64_t delay_us;
    uint32_t row;
} counted;

/* Fills e->calibration of what is stored as `served`; that of other revisions is its number and no more. */
tab_status calibration_served(tab_arena *a, Tabella__Endpoint *e, tab_str served, tab_error *err) TAB_CHECKED;

/* Moves the state by outcomes in the order in which their rows were served, by those of the endpoint's
 * current revisions; where any did, the endpoint's state version rises and an audit event is written.
 * Fills e->calibration anew. *ret: how many did. */
tab_status calibration_move(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const counted *const *of,
                            size_t n, uint64_t *ret, tab_error *err) TAB_CHECKED;

#endif
