/* See limits.h: loads the functions into Redis and calls one. Where Redis has lost them, a daemon whose user
 * may load functions loads them again. */
#include "common/redis/limits.h"

#include "common/redis/limits_lua.h"

tab_status tab_limits_load(tab_redis *redis, int timeout_ms, tab_error *err)
{
    const char *load[] = { "FUNCTION", "LOAD", "REPLACE", tab_limits_lua };
    const size_t load_len[] = { 8, 4, 7, sizeof tab_limits_lua - 1 };
    return tab_redis_argv(redis, timeout_ms, NULL, err, 4, load, load_len);
}

tab_status tab_limits_call(tab_redis *redis, int timeout_ms, redisReply **ret, tab_error *err, int argc,
                           const char **argv)
{
    const char *all[TAB_LIMITS_ARGS + 1] = { "FCALL" };
    size_t len[TAB_LIMITS_ARGS + 1] = { 5 };
    for (int i = 0; i < argc && i < TAB_LIMITS_ARGS; i++) {
        all[i + 1] = argv[i];
        len[i + 1] = strlen(argv[i]);
    }
    tab_status s = tab_redis_argv(redis, timeout_ms, ret, err, argc + 1, all, len);
    if (s != TAB_NOT_FOUND)
        return s;
    s = tab_limits_load(redis, timeout_ms, err);
    if (s != TAB_OK) /* not ours to load (decision 0246): another daemon soon has */
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
    return tab_redis_argv(redis, timeout_ms, ret, err, argc + 1, all, len);
}
