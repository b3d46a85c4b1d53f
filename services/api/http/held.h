/* Bytes of bodies and answers that are here. */
#ifndef TAB_API_HELD_H
#define TAB_API_HELD_H

#include "services/api/api.h"

bool held_open(void) TAB_CHECKED;
/* A body of n bytes of r->who arrives: RATE_LIMIT or UNAVAILABLE where too many are held. held_give ends
 * it. */
tab_status held_arrive(request *r, size_t bytes) TAB_CHECKED;
uint32_t held_answer(request *r); /* counts r->out from now on; gives what held_give takes */
void held_give(uint32_t held);    /* 0: nothing */

#endif
