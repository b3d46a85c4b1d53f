/* The Idempotency-Key of a serve call (decision 0406).
 *
 *   Redis, tab:i:ORG:HASH   at work (who, until when) --> answered: the bytes, for ten minutes
 *   the bill                its event has an id made from organization, path, key, body and the week of the
 *                           first use; it names the ids of the weeks before and after, too. The ledger takes
 *                           one of the three, so for 7 days the call is billed once, however often it is
 *                           computed (decision 0590)
 *
 * A serve call changes nothing but the ledger. So where Redis is away, or has forgotten, the call is computed
 * again, with the same answer as long as the endpoint is the same, and billed once all the same. */
#ifndef TAB_API_SERVE_ONCE_H
#define TAB_API_SERVE_ONCE_H

#include "services/api/api.h"

enum { SERVE_ONCE_IDS = 3 };

/* In the request's arena, with the call. */
typedef struct {
    bool claimed;
    char key[96], token[TAB_ID];
    int64_t began;                  /* seconds, when the key was first used */
    char event[SERVE_ONCE_IDS][64]; /* the id of its bill, then those of its neighbours; "": no key */
    char *also[SERVE_ONCE_IDS - 1]; /* the neighbours */
} serve_once;

/* Every id of such an event begins so; it is never summed with others. */
#define SERVE_ONCE "serve_once_"

/* Claims the request's key, if it has one. r->replayed: the answer of the first call is in r->out. CONFLICT:
 * the key was used with another body. Waits while the first call is at work. */
tab_status serve_once_begin(request *r, serve_once *o, tab_error *err) TAB_CHECKED;
/* The call was answered by r->out, and its bill is certain. r->out becomes the answer that was given first
 * where that is another. */
void serve_once_done(request *r, serve_once *o);
void serve_once_failed(request *r, serve_once *o); /* a retry may begin */

#endif
