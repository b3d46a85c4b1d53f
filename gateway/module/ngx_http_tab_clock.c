/* The clock by which identities are dated: that of Redis, which gateway and api both can see, so that
 * neither's own needs to be right (decision 0233). Redis says it with its answers; between them, and
 * while it is away, this worker's monotonic clock carries it on. Until its first answer, the machine's own
 * clock serves. */
#include "gateway/module/ngx_http_tab.h"

enum { SAY_AT_MS = 5000 }; /* a difference of so much is logged, when it comes and when it goes */

static struct {
    int64_t ahead_ms; /* of the monotonic clock */
    unsigned known : 1, apart : 1;
} clock_of_redis;

static int64_t clock_ms(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

void ngx_http_tab_clock_heard(int64_t redis_ms)
{
    if (redis_ms <= 0) /* an older version's function answered: it does not tell the time */
        return;
    clock_of_redis.ahead_ms = redis_ms - clock_ms(CLOCK_MONOTONIC);
    clock_of_redis.known = 1;
    int64_t own = clock_ms(CLOCK_REALTIME) - redis_ms;
    unsigned apart = own > SAY_AT_MS || own < -SAY_AT_MS;
    if (apart != clock_of_redis.apart)
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                      "tab: this machine's clock is %L ms from that of redis, %s", own,
                      apart ? "which serves in its place" : "as it should be");
    clock_of_redis.apart = apart;
}

int64_t ngx_http_tab_clock_ms(void)
{
    return clock_of_redis.known ? clock_ms(CLOCK_MONOTONIC) + clock_of_redis.ahead_ms
                                : clock_ms(CLOCK_REALTIME);
}
