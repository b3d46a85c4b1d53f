/* See cache.h. What gateways know of keys, and how a key that was revoked stays out.
 *
 * A gateway asks keys about few of its requests: what it needs (organization, scopes, limits, bounds) lies in
 * Redis under the hash of the secret, for KEYS_CACHE_ENTRY_S, signed so that Redis cannot make it up.
 * PostgreSQL alone is the truth: all that is here may be lost at any moment, and a lost entry costs one
 * question. What must not be lost is a "no":
 *
 *   entry      an open door, written by whoever was asked. A fill that was read before a change and written
 *              after it would open the door again: so each change takes a version from one sequence, and
 *              tab_key_put refuses a version below the one that is there.
 *   tombstone  a closed door, for a day. It outlives every entry that could still be on its way, and entries
 *              that gateways go by while Redis itself is away (TAB_PAST_S).
 *   fence      a tombstone for some seconds, ahead of a change that is not committed yet.
 *   epoch      the number of an organization's last revocation. An entry that was signed before it counts no
 *              more, even where Redis has lost the tombstone itself.
 *
 *   delete     commit ---------> tombstone ---> answer        503 until Redis confirms; the chores repeat it
 *   rotate     fence --> commit --> tombstone --> answer      a fence that cannot be written: nothing happens
 *   change     commit ---------> entry -------> answer        the old entry ends by itself
 *
 * Deleting may commit first: the row says that the key ended, and whoever asks again is told. A rotation may
 * not, because its answer holds the only copy of the new secret: if the call then failed, the caller would
 * have lost one key and not got the other. So the door is closed for seconds first, and opened again (lift)
 * where the commit is known to have failed.
 *
 * What holds: from the moment a delete or a rotation is answered with success, no gateway that reads this
 * Redis lets the old secret in. An entry is of the organization whose key signs it. No call here waits longer
 * than BURY_MS, and one that only fills not longer than FILL_MS: a slow Redis makes keys slow, not stuck. */
#include "services/keys/cache.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/base/point.h"
#include "common/base/time.h"
#include "common/redis/limits.h"

enum { FILL_MS = 50, BURY_MS = 500, COUNT_MS = 500 };

/* A tombstone outlives whatever could still let its key in, and a fence the question behind it. */
_Static_assert(KEYS_CACHE_TOMBSTONE_S > KEYS_CACHE_ENTRY_S + TAB_PAST_S, "a revoked key stays revoked");
_Static_assert(KEYS_CACHE_FENCE_S * 1000 > 2 * BURY_MS, "a fence stands until its rotation is committed");

/* g NULL: writes a tombstone. What was signed before `epoch` is worth nothing from then on. */
static tab_status put(const keys_cache *c, int timeout_ms, const uint8_t hash[TAB_SECRET_HASH],
                      const char *org, int64_t version, const tab_grant *g, uint64_t epoch, int64_t seconds,
                      tab_error *err)
{
    char hex[2 * TAB_SECRET_HASH + 1], name[80], revoked[80], v[24], ttl[24], epoch_ttl[16];
    char entry[TAB_ENTRY_TEXT] = "", number[TAB_EPOCH_TEXT] = "";
    assert(seconds > 0);
    assert(g == NULL || strcmp(g->org, org) == 0); /* an entry is of the organization that signs it */
    sodium_bin2hex(hex, sizeof hex, hash, TAB_SECRET_HASH);
    snprintf(name, sizeof name, "tab:g:%s", hex);
    snprintf(revoked, sizeof revoked, "tab:v:%s", org);
    snprintf(v, sizeof v, "%" PRId64, version);
    bool lasts =
        g != NULL && c->sign != NULL && (g->scopes & TAB_GRANT_SESSION) == 0; /* while nobody can be asked */
    snprintf(ttl, sizeof ttl, "%" PRId64, seconds + (lasts ? TAB_PAST_S : 0));
    snprintf(epoch_ttl, sizeof epoch_ttl, "%d", 2 * (KEYS_CACHE_ENTRY_S + TAB_PAST_S)); /* longer than that */
    if (g != NULL) {
        tab_entry e = { *g, epoch, tab_now_us() / 1000000 + seconds, c->sign != NULL };
        if (tab_entry_write(c->sign, tab_str_of(hex), &e, entry, sizeof entry) == 0)
            return tab_fail(err, TAB_INTERNAL, "", "a grant that does not fit");
    }
    bool with_epoch = c->sign != NULL && epoch > 0 &&
                      tab_epoch_write(c->sign, tab_str_of(org), epoch, number, sizeof number) > 0;
    const char *plain[] = { "tab_key_put", "1", name, v, ttl, entry };
    const char *full[] = { "tab_key_put", "2", name, revoked, v, ttl, entry, number, epoch_ttl };
    redisReply *reply = NULL;
    tab_status s = with_epoch ? tab_limits_call(c->redis, timeout_ms, &reply, err, 9, full)
                              : tab_limits_call(c->redis, timeout_ms, &reply, err, 6, plain);
    if (s == TAB_OK)
        freeReplyObject(reply);
    return s;
}

tab_status keys_cache_fill(const keys_cache *c, const uint8_t hash[TAB_SECRET_HASH], const keys_granted *k,
                           tab_error *err)
{
    tab_error why = { 0 };
    const tab_grant *g = &k->grant;
    int64_t left = k->ends_us == 0 ? KEYS_CACHE_ENTRY_S : (k->ends_us - tab_now_us()) / 1000000;
    if (left < 1)
        return TAB_OK; /* it is over within the second: nothing that could outlive it */
    if (put(c, err != NULL ? BURY_MS : FILL_MS, hash, g->org, (int64_t)g->version, g, k->epoch,
            left < KEYS_CACHE_ENTRY_S ? left : KEYS_CACHE_ENTRY_S, &why) == TAB_OK)
        return TAB_OK;
    tab_log_fields(TAB_DEBUG, "key not cached", "why", why.message, NULL);
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "The change is recorded, but cannot be confirmed at the moment. Retry.");
}

tab_status keys_cache_revoke(const keys_cache *c, const keys_tombstone *t, tab_error *err)
{
    tab_error why = { 0 };
    if (!TAB_POINT_FAILS("keys.tombstone") &&
        put(c, BURY_MS, t->hash, t->org, t->version, NULL, (uint64_t)t->version, KEYS_CACHE_TOMBSTONE_S,
            &why) == TAB_OK)
        return TAB_OK;
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "The change is recorded, but cannot be confirmed at the moment. Retry.");
}

tab_status keys_cache_writable(const keys_cache *c, tab_error *err)
{
    redisReply *reply = NULL;
    tab_error why = { 0 };
    if (tab_redis_command(c->redis, BURY_MS, &reply, &why, "SET tab:g:writable 1 PX 1") != TAB_OK)
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "The change cannot be confirmed at the moment and was not made. Retry.");
    freeReplyObject(reply);
    return TAB_OK;
}

tab_status keys_cache_fence(const keys_cache *c, const keys_tombstone *t, tab_error *err)
{
    tab_error why = { 0 };
    if (put(c, BURY_MS, t->hash, t->org, t->version, NULL, 0, KEYS_CACHE_FENCE_S, &why) == TAB_OK)
        return TAB_OK;
    return tab_fail(err, TAB_UNAVAILABLE, "",
                    "The change cannot be confirmed at the moment and was not made. Retry.");
}

void keys_cache_lift(const keys_cache *c, const keys_tombstone *t)
{
    (void)!put(c, BURY_MS, t->hash, t->org, t->version, NULL, 0, 1, NULL); /* or it ends by itself */
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
        u.text = tab_arena_new_of(a, tab_str, n);
        for (size_t i = 0; i < n && !tab_arena_full(a); i++) {
            u.key_id[i] = tab_arena_copy(a, tab_str_of(reply->element[1 + 2 * i]->str)).p;
            u.text[i] = tab_arena_copy(a, tab_str_of(reply->element[2 + 2 * i]->str));
            if (!tab_integer_read(tab_str_of(reply->element[2 + 2 * i]->str), 0, INT32_MAX, &u.count[i]))
                u.count[i] = 0; /* a damaged counter still moves the date of its last use */
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
