/* The gateway's key cache and the counters of use in Redis, through the functions of
 * common/redis/limits.lua. All of it may be lost: a missing entry is asked for again; only tombstones are
 * waited for. */
#ifndef KEYS_CACHE_H
#define KEYS_CACHE_H

#include "common/base/arena.h"
#include "common/redis/redis.h"
#include "common/security/entry.h"
#include "services/keys/store.h"

enum { KEYS_CACHE_ENTRY_S = 600, KEYS_CACHE_TOMBSTONE_S = 86400, KEYS_CACHE_FENCE_S = 10 };

/* sign: the key that the gateway checks entries with; NULL: they are not signed. */
typedef struct {
    tab_redis *redis;
    const tab_identity_key *sign;
} keys_cache;

/* Writes an entry, once and, where err is NULL, briefly; if it fails, the next request looks the key up
 * again. That of a session ends with it. UNAVAILABLE: the entry before may stand. */
tab_status keys_cache_fill(const keys_cache *c, const uint8_t hash[TAB_SECRET_HASH], const keys_granted *k,
                           tab_error *err);

/* Writes a tombstone. TAB_OK: from now on no gateway that reads this Redis lets the secret in. */
tab_status keys_cache_revoke(const keys_cache *c, const keys_tombstone *t, tab_error *err) TAB_CHECKED;

/* Whether Redis takes what is written now. UNAVAILABLE: it does not, and nothing was changed. */
tab_status keys_cache_writable(const keys_cache *c, tab_error *err) TAB_CHECKED;

/* A tombstone ahead of the change that it stands for, for KEYS_CACHE_FENCE_S: whatever becomes of Redis
 * between the change and its lasting tombstone, the secret is not let in by what Redis had of it.
 * UNAVAILABLE: Redis does not take it, and nothing was changed. */
tab_status keys_cache_fence(const keys_cache *c, const keys_tombstone *t, tab_error *err) TAB_CHECKED;
/* The change was not made: the fence ends within a second. */
void keys_cache_lift(const keys_cache *c, const keys_tombstone *t);

/* Takes the uses counted since the last batch; n 0: none. Confirm the batch once it is stored. Texts live in
 * the arena. */
typedef struct {
    const char *batch;
    size_t n;
    const char **key_id;
    int64_t *count;
    tab_str *text; /* the count as it was written: of a service level several numbers */
} keys_uses;
tab_status keys_cache_take(tab_redis *redis, tab_arena *a, keys_uses *ret, tab_error *err) TAB_CHECKED;
void keys_cache_taken(tab_redis *redis, const char *batch);

#endif
