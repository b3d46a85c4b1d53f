/* Redis for daemons: synchronous commands on a small pool, each with a timeout; any thread may call.
 *
 * What is in Redis may be lost at any moment (a cache, a counter). After a failure nobody connects again
 * before a back-off has passed (0.1 s to 3 s), so that a missing Redis costs callers nothing.
 * The api daemon's event loop uses hiredis' async form on its own. */
#ifndef TAB_REDIS_H
#define TAB_REDIS_H

#include <hiredis/hiredis.h>

#include "common/base/access.h"

typedef struct tab_redis tab_redis;

/* address: "host:port" or "unix:/path". Does not wait. NULL: it or a certificate is wrong (logged). */
tab_redis *tab_redis_open(const tab_access *a);
void tab_redis_free(tab_redis *r);
TAB_DEFINE_AUTO(tab_redis)
bool tab_redis_alive(void *r);

/* One command in hiredis' format ("SET %s %b"). The caller frees *ret with freeReplyObject. Errors:
 * UNAVAILABLE (Redis is away, slow, refuses writes or refuses our user), NOT_FOUND (it has no such
 * function), INTERNAL (the command is wrong, or our user may not run it). */
tab_status tab_redis_command(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, const char *fmt,
                             ...) TAB_CHECKED;
tab_status tab_redis_argv(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, int argc,
                          const char **argv, const size_t *argn) TAB_CHECKED;

#endif
