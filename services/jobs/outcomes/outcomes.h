/* What became true of rows that endpoints answered (decisions 0421 and 0422). */
#ifndef TAB_JOBS_OUTCOMES_H
#define TAB_JOBS_OUTCOMES_H

#include "common/rpc/rpc.h"

enum { OUTCOMES_MOST = 10000 }; /* rows of a call */

/* RPC Outcomes: rows whose receipts hold count, once over all calls and instances; the others are refused,
 * each with its reason. VALIDATION: more than OUTCOMES_MOST rows. NOT_FOUND: no such endpoint. */
tab_status outcomes_put(void *self, tab_call *call, tab_error *err);
/* RPC ForgetOutcomes (forget.c): rows that were kept with their cells under these receipts are gone from what
 * a refresh reads. NOT_FOUND on receipts[i]: it is none of this endpoint's, and nothing is forgotten. */
tab_status outcomes_forget(void *self, tab_call *call, tab_error *err);
/* RPC OutcomeQuality. */
tab_status outcomes_read(void *self, tab_call *call, tab_error *err);

#endif
