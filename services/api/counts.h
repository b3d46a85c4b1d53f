/* What the api counts of its answers. Labels are routes' patterns, types and limits: never who asked. */
#ifndef TAB_API_COUNTS_H
#define TAB_API_COUNTS_H

#include "services/api/api.h"

void counts_start(void); /* what alerts look at is there with 0 */
void count_answer(const request *r);
void count_error(const request *r, const tab_error *err); /* before its envelope is written */

/* A limit that refused a request. Requests a minute are the gateway's. */
typedef enum { LIMIT_CELLS, LIMIT_ORG_CALLS, LIMIT_ENDPOINT_CALLS, LIMIT_ALLOWANCE, LIMIT_BYTES } count_limit;
void count_limited(count_limit which);
void count_meter(int64_t began); /* tab_mono_us when a serve call began to wait for the meter */

#endif
