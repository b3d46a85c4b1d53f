/* Receipts of the rows of an answer (common/security/receipt.h). */
#ifndef TAB_API_RENDER_RECEIPTS_H
#define TAB_API_RENDER_RECEIPTS_H

#include "common/bundle/bundle_json.h"
#include "common/calibration/follow.h"
#include "common/security/receipt.h"
#include "proto/inference.pb-c.h"
#include "proto/jobs.pb-c.h"
#include "services/api/api.h"

/* What all receipts of an answer have in common; read by the threads that write it. */
typedef struct {
    const Tabella__Endpoint *e;
    const Tabella__Prediction *p;
    const tab_followed *own; /* NULL: the answer is as the model says */
    const char *event;       /* of the call: what it is billed under */
    int64_t at_us;
    size_t classes, low, median, high; /* places of these quantiles; SIZE_MAX: not there */
    uint64_t *class_hash;              /* (classes) */
    const Tabella__ServePart *slices;  /* to which each row belongs; NULL: nothing is said of it */
} serve_receipts;

/* own: what was moved, or NULL.
 * Has the view write them, of what work is billed: the same call again, under its key, has the same ids.
 * An answer without a prediction has none. ret, part and work outlive the view. */
tab_status serve_receipts_begin(serve_receipts *ret, tab_arena *a, const Tabella__Endpoint *e,
                                const Tabella__WorkDone *work, const Tabella__ServePart *part,
                                const tab_followed *own, tab_bundle_view *view, tab_error *err) TAB_CHECKED;

#endif
