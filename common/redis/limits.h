/* The functions of common/redis/limits.lua, for daemons. */
#ifndef TAB_LIMITS_CALL_H
#define TAB_LIMITS_CALL_H

#include "common/redis/redis.h"

/* Puts the functions of this build into Redis, over those of another one. */
tab_status tab_limits_load(tab_redis *redis, int timeout_ms, tab_error *err) TAB_CHECKED;

/* FCALL argv..., each ending in NUL, at most TAB_LIMITS_ARGS of them. Where Redis has no functions yet (a
 * daemon that is up before any gateway, a Redis that lost them) they are loaded first; where that is not
 * this daemon's to do, UNAVAILABLE. Errors as tab_redis_argv. */
enum { TAB_LIMITS_ARGS = 16 };
tab_status tab_limits_call(tab_redis *redis, int timeout_ms, redisReply **ret, tab_error *err, int argc,
                           const char **argv) TAB_CHECKED;

#endif
