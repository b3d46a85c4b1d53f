/* How an endpoint's answers follow outcomes (decision 0477): its row of jobs.calibration, read and moved
 * under the endpoint's row. A state belongs to the endpoint's revisions: a refresh or an edit begins anew. */
#ifndef TAB_JOBS_CALIBRATION_H
#define TAB_JOBS_CALIBRATION_H

#include "common/calibration/intervals.h"
#include "common/calibration/shares.h"
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

/* Whether it is of what the endpoint answers now; anomalies have nothing to follow. */
bool outcome_is_current(const Tabella__Endpoint *e, const tab_receipt *r);

/* A state as outcomes move it: `moved` of them since it had that number. */
typedef struct {
    tab_receipt_task task;
    uint64_t number, moved;
    tab_bands_state bands; /* numbers */
    tab_shares shares;     /* classes */
} live_calibration;

void calibration_begin(live_calibration *l, tab_receipt_task task, uint64_t number); /* before any outcome */
/* An outcome of l's task whose answer followed outcomes, later than those before it. One that says nothing
 * of the state, as of an answer without a width, does not move it. */
void calibration_tell(live_calibration *l, const counted *c);

/* Fills e->calibration of what is stored as `served`; that of other revisions is its number and no more. */
tab_status calibration_served(tab_arena *a, Tabella__Endpoint *e, tab_str served, tab_error *err) TAB_CHECKED;

/* Moves the state by outcomes in the order in which their rows were served, by those of the endpoint's
 * current revisions; where any did, the endpoint's state version rises and an audit event is written.
 * Fills e->calibration anew. *ret: how many did. */
tab_status calibration_move(tab_tx *tx, tab_call *call, Tabella__Endpoint *e, const counted *const *of,
                            size_t n, uint64_t *ret, tab_error *err) TAB_CHECKED;

#endif
