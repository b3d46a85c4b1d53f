/* How long a thread waited for others, since it last asked: what a request's time went into. The waits of
 * common/pg/pg.h, common/redis/redis.h and blocking calls of common/rpc/rpc.h add to it. */
#ifndef TAB_WAIT_TIME_H
#define TAB_WAIT_TIME_H

#include "common/base/base.h"

typedef struct {
    int64_t queue_us, postgres_us, redis_us, services_us;
} tab_wait_time;

extern _Thread_local tab_wait_time tab_wait_time_of_thread; /* queue_us is its owner's */

#endif
