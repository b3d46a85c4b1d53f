/* Is the time in an identity near enough to now? The gateway dates what it signs by the clock of Redis,
 * which both see, so neither machine's own clock needs to be right (decision 0233). As long as this
 * machine's agrees, nobody is asked. Where it does not, Redis is, and the monotonic clock carries its
 * answer on. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "services/api/api.h"
#include "services/api/http/clock.h"

enum { ASK_AGAIN_MS = 1000, SAY_AGAIN_MS = 60000 };

static struct {
    pthread_mutex_t lock;
    bool known;
    int64_t ahead_ms;   /* of Redis, before tab_mono_ms() */
    int64_t asked_at;   /* tab_mono_ms; 0: never */
    int64_t said_at[2]; /* the two lines of the log */
} redis_clock = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ask(api *a)
{
    const char *argv[] = { "TIME" };
    const size_t len[] = { 4 };
    redisReply *y = NULL;
    int64_t s, us;
    redis_clock.asked_at = tab_mono_ms();
    if (tab_redis_argv(a->redis, (int)a->cfg.redis_ms, &y, NULL, 1, argv, len) != TAB_OK)
        return;
    if (y->type == REDIS_REPLY_ARRAY && y->elements == 2 && y->element[0]->type == REDIS_REPLY_STRING &&
        y->element[1]->type == REDIS_REPLY_STRING &&
        tab_integer_read(tab_str_of(y->element[0]->str), 0, INT64_MAX / 2000, &s) &&
        tab_integer_read(tab_str_of(y->element[1]->str), 0, 999999, &us)) {
        redis_clock.ahead_ms = s * 1000 + us / 1000 - tab_mono_ms();
        redis_clock.known = true;
    }
    freeReplyObject(y);
}

/* Once a minute is enough to be found, and does not fill a disk. */
static bool may_say(int line)
{
    int64_t now = tab_mono_ms();
    if (redis_clock.said_at[line] != 0 && now - redis_clock.said_at[line] < SAY_AGAIN_MS)
        return false;
    redis_clock.said_at[line] = now;
    return true;
}

static bool timely_by_redis(int64_t signed_ms)
{
    return redis_clock.known &&
           tab_identity_timely(&(tab_identity){ .time_ms = signed_ms }, tab_mono_ms() + redis_clock.ahead_ms);
}

bool clock_agrees(int64_t signed_ms)
{
    return tab_identity_timely(&(tab_identity){ .time_ms = signed_ms }, tab_now_us() / 1000);
}

bool clock_timely(api *a, int64_t signed_ms)
{
    int64_t own = tab_now_us() / 1000;
    if (clock_agrees(signed_ms))
        return true;
    pthread_mutex_lock(&redis_clock.lock);
    if (!timely_by_redis(signed_ms) &&
        (redis_clock.asked_at == 0 || tab_mono_ms() - redis_clock.asked_at >= ASK_AGAIN_MS))
        ask(a);
    bool good = timely_by_redis(signed_ms), said = may_say(good ? 0 : 1);
    pthread_mutex_unlock(&redis_clock.lock);
    long long seconds = (long long)(own / 1000 - signed_ms / 1000);
    if (said && good)
        tab_log(TAB_WARN,
                "this machine's clock is %lld s from the gateway's and that of Redis, "
                "which serve in its place: set it",
                seconds);
    else if (said)
        tab_log(TAB_ERROR,
                "requests are answered 503: the time that the gateway signed is %lld s from this machine's "
                "clock, and not that of Redis: a clock is wrong, or an old request was sent again",
                seconds);
    return good;
}
