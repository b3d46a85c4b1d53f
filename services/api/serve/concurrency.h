/* Realtime calls of an organization under way at once: as many as its plan says, over all api processes
 * (decision 0237). A process counts its own and tells Redis (tab_calls of common/redis/limits.lua) under a
 * lease, so that the calls of a process that died are forgotten; while Redis is away each process counts for
 * itself. */
#ifndef TAB_API_CONCURRENCY_H
#define TAB_API_CONCURRENCY_H

#include "services/api/api.h"

/* Held between concurrency_take and concurrency_release; its memory is the caller's and does not move. */
typedef struct concurrent {
    struct concurrent *next;
    struct org_calls *of; /* NULL: it holds none */
    uint32_t n;
    int64_t ends;
} concurrent;

/* n calls that end by `ends` (tab_mono_ms) at the latest, as far as is known. False: the organization has as
 * many under way as it may; r->retry_after is when one of them ends at the latest. */
bool concurrency_take(request *r, concurrent *p, uint32_t n, int64_t ends) TAB_CHECKED;
/* n of its calls have ended; nothing where it holds none. */
void concurrency_release(api *a, concurrent *p, uint32_t n);
void concurrency_renew(api *a); /* once a second */

#endif
