/* Keys of requests: one answer for each, whoever asks again (decision 0238). */
#ifndef TAB_API_IDEMPOTENCY_H
#define TAB_API_IDEMPOTENCY_H

#include "services/api/api.h"

/* idempotency_wait.c. Claims the request's Idempotency-Key. r->replayed: the answer of the first request is
 * in r->out. PARKED: the first request with the key is still at work. Then the handler returns at once and
 * does not touch the request again; it is called anew, from its beginning, if the first request fails. A
 * parked request holds no thread. */
tab_status idempotency_begin(request *r, tab_error *err) TAB_CHECKED;
struct idempotency_wait *idempotency_wait_open(api *a);
void idempotency_wait_free(struct idempotency_wait *j);

/* idempotency.c: the rows of keys. */
tab_status idempotency_key_check(const request *r, tab_error *err) TAB_CHECKED; /* the header's form */
/* One try. The key is claimed, or answered already (replayed), or in flight (neither). */
tab_status idempotency_claim(request *r, tab_error *err) TAB_CHECKED;
tab_status idempotency_complete(request *r, tab_tx *tx,
                                tab_error *err) TAB_CHECKED; /* in the work's transaction */
bool idempotency_claims(api *a, tab_out *o); /* a JSON list of the rows that requests hold; false: none */
tab_status idempotency_finish(request *r, tab_error *err) TAB_CHECKED; /* in one of its own */
void idempotency_done(request *r); /* after the commit of the transaction that completed it */
void idempotency_release(request *r, tab_status why);
#define IDEMPOTENCY_LEASE "interval '5 seconds'" /* of the rows of requests at work */

#endif
