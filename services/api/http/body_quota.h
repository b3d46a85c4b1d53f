/* Bytes of bodies and answers that are here. */
#ifndef TAB_API_BODY_QUOTA_H
#define TAB_API_BODY_QUOTA_H

#include "services/api/api.h"

bool body_quota_open(void) TAB_CHECKED;
/* A body of n bytes of r->who arrives: RATE_LIMIT or UNAVAILABLE where too many are held. body_quota_give
 * ends it. */
tab_status body_quota_arrive(request *r, size_t bytes) TAB_CHECKED;
uint32_t body_quota_answer(request *r); /* counts r->out from now on; gives what body_quota_give takes */
void body_quota_give(uint32_t held);    /* 0: nothing */

#endif
