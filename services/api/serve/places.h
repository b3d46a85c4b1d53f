/* Realtime calls of an organization under way at once: as many as its plan says, over all api processes
 * (decision 0237). A process counts its own and tells Redis (tab_calls of common/redis/limits.lua) under a
 * lease, so that the calls of a process that died are forgotten; while Redis is away each process counts for
 * itself. */
#ifndef TAB_API_PLACES_H
#define TAB_API_PLACES_H

#include "services/api/api.h"

/* Held between place_take and place_release; its memory is the caller's and does not move. */
typedef struct place {
    struct place *next;
    struct org_calls *of; /* NULL: it holds none */
    uint32_t n;
    int64_t ends;
} place;

/* n calls that end by `ends` (tab_mono_ms) at the latest, as far as is known. False: the organization has as
 * many under way as it may; r->retry_after is when one of them ends at the latest. */
bool place_take(request *r, place *p, uint32_t n, int64_t ends) TAB_CHECKED;
/* n of its calls have ended; nothing where it holds none. */
void place_release(api *a, place *p, uint32_t n);
void places_renew(api *a); /* once a second */

#endif
