#include "services/keys/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/integer.h"
#include "common/limits.h"
#include "common/log.h"

enum { FILL_MS = 50, BURY_MS = 500, COUNT_MS = 500 };

static void entry_name(const uint8_t hash[TAB_SECRET_HASH], char name[80])
{
    char hex[2 * TAB_SECRET_HASH + 1];
    sodium_bin2hex(hex, sizeof hex, hash, TAB_SECRET_HASH);
    snprintf(name, 80, "tab:g:%s", hex);
}

static tab_status put(tab_redis *redis, int timeout_ms, const uint8_t hash[TAB_SECRET_HASH], int64_t version,
                      int seconds, const tab_grant *g, tab_error *err)
{
    char name[80], v[24], ttl[16], grant[TAB_GRANT_TEXT] = "";
    entry_name(hash, name);
    snprintf(v, sizeof v, "%" PRId64, version);
    snprintf(ttl, sizeof ttl, "%d", seconds);
    if (g != NULL && tab_grant_write(g, grant, sizeof grant) == 0)
        return tab_fail(err, TAB_INTERNAL, "", "a grant that does not fit");
    const char *argv[] = { "tab_key_put", "1", name, v, ttl, grant };
    redisReply *reply = NULL;
    tab_status s = tab_limits_call(redis, timeout_ms, &reply, err, (int)(sizeof argv / sizeof *argv), argv);
    if (s == TAB_OK)
        freeReplyObject(reply);
    return s;
}

void keys_cache_fill(tab_redis *redis, const uint8_t hash[TAB_SECRET_HASH], const tab_grant *g)
{
    tab_error err = { 0 };
    if (put(redis, FILL_MS, hash, (int64_t)g->version, KEYS_CACHE_ENTRY_S, g, &err) != TAB_OK)
        tab_log_fields(TAB_DEBUG, "key not cached", "why", err.message, NULL);
}

tab_status keys_cache_bury(tab_redis *redis, const keys_tombstone *t, tab_error *err)
{
    tab_error why = { 0 };
    if (put(redis, BURY_MS, t->hash, t->version, KEYS_CACHE_TOMBSTONE_S, NULL, &why) == TAB_OK)
        return TAB_OK;
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "The change is recorded, but cannot be confirmed at the moment. Retry.");
}

tab_status keys_cache_take(tab_redis *redis, tab_arena *a, keys_uses *ret, tab_error *err)
{
    char batch[TAB_ID];
    redisReply *reply = NULL;
    keys_uses u = { 0 };
    tab_id_new(batch, "");
    const char *argv[] = { "tab_use_take", "0", batch };
    tab_status s = tab_limits_call(redis, COUNT_MS, &reply, err, 3, argv);
    if (s != TAB_OK)
        return s;
    bool good = reply->type == REDIS_REPLY_ARRAY && reply->elements % 2 == 1;
    for (size_t i = 0; good && i < reply->elements; i++)
        good = reply->element[i]->type == REDIS_REPLY_STRING;
    if (good) {
        size_t n = (reply->elements - 1) / 2;
        u.batch = tab_arena_copy(a, tab_str_of(reply->element[0]->str)).p;
        u.key_id = tab_arena_new_of(a, const char *, n);
        u.count = tab_arena_new_of(a, int64_t, n);
        for (size_t i = 0; i < n && !tab_arena_full(a); i++) {
            u.key_id[i] = tab_arena_copy(a, tab_str_of(reply->element[1 + 2 * i]->str)).p;
            if (!tab_integer_read(tab_str_of(reply->element[2 + 2 * i]->str), 0, INT32_MAX, &u.count[i]))
                u.count[i] = 0; /* a damaged counter: the date of its last use still moves */
        }
        u.n = n;
    }
    freeReplyObject(reply);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "the counters do not fit in memory");
    *ret = u;
    return TAB_OK;
}

void keys_cache_taken(tab_redis *redis, const char *batch)
{
    redisReply *reply = NULL;
    const char *argv[] = { "tab_use_taken", "0", batch };
    if (tab_limits_call(redis, COUNT_MS, &reply, NULL, 3, argv) == TAB_OK)
        freeReplyObject(reply);
}
