#include "common/redis.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/integer.h"
#include "common/log.h"
#include "common/metrics.h"
#include "common/time.h"

enum { IDLE_MOST = 8, RETRY_FIRST = 100, RETRY_MOST = 3000 };

struct tab_redis {
    char *host;
    int port; /* 0: host is a socket's path */
    pthread_mutex_t lock;
    redisContext *idle[IDLE_MOST];
    size_t n;
    int64_t retry_at, retry_ms;
    tab_metric *calls[2], *seconds;
};

tab_redis *tab_redis_open(const char *address)
{
    const char *colon = strrchr(address, ':');
    bool path = strncmp(address, "unix:", 5) == 0;
    int64_t port = 0;
    if (!path && (colon == NULL || !tab_integer_read(tab_str_of(colon + 1), 1, 65535, &port))) {
        tab_log(TAB_ERROR, "TAB_REDIS is neither host:port nor unix:/path");
        return NULL;
    }
    tab_redis *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->host = path ? strdup(address + 5) : strndup(address, (size_t)(colon - address));
    r->port = (int)port;
    r->retry_ms = RETRY_FIRST;
    pthread_mutex_init(&r->lock, NULL);
    r->calls[0] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                              "dependency=\"redis\",outcome=\"ok\"");
    r->calls[1] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                              "dependency=\"redis\",outcome=\"error\"");
    r->seconds = tab_histogram("tabella_dependency_call_duration_seconds", "Duration of calls of servers",
                               "dependency=\"redis\"");
    return r;
}

void tab_redis_free(tab_redis *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->n; i++)
        redisFree(r->idle[i]);
    pthread_mutex_destroy(&r->lock);
    free(r->host);
    free(r);
}

static struct timeval timeval_of(int ms)
{
    return (struct timeval){ ms / 1000, (ms % 1000) * 1000 };
}

static redisContext *borrow(tab_redis *r, int timeout_ms, bool *ret_kept)
{
    pthread_mutex_lock(&r->lock);
    redisContext *c = r->n > 0 ? r->idle[--r->n] : NULL;
    bool wait = c == NULL && tab_mono_ms() < r->retry_at;
    pthread_mutex_unlock(&r->lock);
    *ret_kept = c != NULL;
    if (c != NULL || wait)
        return c;
    struct timeval t = timeval_of(timeout_ms);
    c = r->port == 0 ? redisConnectUnixWithTimeout(r->host, t) : redisConnectWithTimeout(r->host, r->port, t);
    bool ok = c != NULL && c->err == 0;
    pthread_mutex_lock(&r->lock);
    if (ok) {
        r->retry_ms = RETRY_FIRST;
    } else {
        r->retry_at = tab_mono_ms() + r->retry_ms;
        r->retry_ms = r->retry_ms * 2 > RETRY_MOST ? RETRY_MOST : r->retry_ms * 2;
    }
    pthread_mutex_unlock(&r->lock);
    if (!ok && c != NULL)
        redisFree(c);
    return ok ? c : NULL;
}

static void give_back(tab_redis *r, redisContext *c)
{
    pthread_mutex_lock(&r->lock);
    bool kept = r->n < IDLE_MOST;
    if (kept)
        r->idle[r->n++] = c;
    pthread_mutex_unlock(&r->lock);
    if (!kept)
        redisFree(c);
}

/* A kept connection may have died with the server's last restart: a command that was never answered on one
 * is sent again on the next. So commands here must stand being run twice. */
static tab_status run(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, const char *bytes,
                      int n)
{
    int64_t from = tab_mono_us(), until = tab_mono_ms() + timeout_ms;
    redisReply *reply = NULL;
    while (reply == NULL) {
        bool kept;
        int64_t left = until - tab_mono_ms();
        redisContext *c = left <= 0 ? NULL : borrow(r, (int)left, &kept);
        if (c == NULL)
            break;
        redisSetTimeout(c, timeval_of((int)left));
        redisAppendFormattedCommand(c, bytes, (size_t)n);
        if (redisGetReply(c, (void **)&reply) != REDIS_OK || reply == NULL) {
            redisFree(c);
            reply = NULL;
            if (!kept)
                break;
            continue;
        }
        give_back(r, c);
    }
    tab_metric_observe(r->seconds, (double)(tab_mono_us() - from) * 1e-6);
    bool refused = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    tab_metric_add(r->calls[reply == NULL || refused], 1);
    if (reply == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again");
    if (refused) {
        static const char *const passing[] = {
            "MISCONF", "OOM", "LOADING", "READONLY", "BUSY", "MASTERDOWN"
        };
        bool away = false;
        for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
            away = away || strncmp(reply->str, passing[i], strlen(passing[i])) == 0;
        char head[64];
        snprintf(head, sizeof head, "%s", reply->str);
        tab_log(away ? TAB_WARN : TAB_ERROR, "redis refused a command: %s", head);
        freeReplyObject(reply);
        return away ? tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is away, try again")
                    : tab_fail(err, TAB_INTERNAL, NULL, "an internal error");
    }
    if (ret != NULL)
        *ret = reply;
    else
        freeReplyObject(reply);
    return TAB_OK;
}

tab_status tab_redis_command(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, const char *fmt,
                             ...)
{
    char *bytes = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = redisvFormatCommand(&bytes, fmt, ap);
    va_end(ap);
    if (n < 0)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    tab_status s = run(r, timeout_ms, ret, err, bytes, n);
    redisFreeCommand(bytes);
    return s;
}

tab_status tab_redis_argv(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, int argc,
                          const char **argv, const size_t *argn)
{
    char *bytes = NULL;
    int n = (int)redisFormatCommandArgv(&bytes, argc, argv, argn);
    if (n < 0)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    tab_status s = run(r, timeout_ms, ret, err, bytes, n);
    redisFreeCommand(bytes);
    return s;
}

bool tab_redis_alive(void *arg)
{
    return tab_redis_command(arg, 500, NULL, NULL, "PING") == TAB_OK;
}
