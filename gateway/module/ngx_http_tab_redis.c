/* hiredis inside nginx's event loop: one connection a worker, pipelined.
 *
 *   away --connect--> loading --functions loaded--> up
 *     ^                                              |
 *     +---- closed, or 3 time-outs in a row ---------+
 *
 * While up, a time-out opens the breaker for a second: requests go to the fallback at once, and then one
 * of them tries again. So a frozen Redis costs one request a second its time-out, and nobody else anything. */
#include "gateway/module/ngx_http_tab.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "common/limits_lua.h"

enum {
    FIRST_BACKOFF = 100,
    LAST_BACKOFF = 3000,
    CONNECT_TIMEOUT = 1000,
    BREAKER = 1000,
    MOST_TIMEOUTS = 3
};

static struct {
    tab_main_conf *conf;
    redisAsyncContext *ac;
    ngx_connection_t *conn;
    ngx_event_t timer; /* next connect, or the one under way runs out */
    ngx_event_t drop;  /* posted: free ac outside of its own callbacks */
    ngx_msec_t backoff;
    ngx_msec_t open_until; /* breaker */
    ngx_uint_t timeouts;
    unsigned up : 1, stopping : 1, breaker : 1;
} redis;

/* One command in flight. On the heap, since its request may go away first. */
struct tab_call {
    ngx_http_request_t *request; /* NULL: gone, or answered by the time-out */
    tab_ctx *ctx;
    ngx_event_t timer;
};

static void connect_redis(void);

static void again_later(void)
{
    if (redis.stopping)
        return;
    ngx_add_timer(&redis.timer, redis.backoff);
    redis.backoff = ngx_min(redis.backoff * 2, LAST_BACKOFF);
}

/* ---- the adapter ----------------------------------------------------------------------------- */
static void on_readable(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    redisAsyncHandleRead(c->data);
}

static void on_writable(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    redisAsyncHandleWrite(c->data);
}

static void add_read(void *privdata)
{
    ngx_connection_t *c = privdata;
    if (!c->read->active)
        (void)ngx_add_event(c->read, NGX_READ_EVENT,
                            NGX_LEVEL_EVENT); /* hiredis reads once a wake */
}

static void del_read(void *privdata)
{
    ngx_connection_t *c = privdata;
    if (c->read->active)
        (void)ngx_del_event(c->read, NGX_READ_EVENT, 0);
}

static void add_write(void *privdata)
{
    ngx_connection_t *c = privdata;
    if (!c->write->active)
        (void)ngx_add_event(c->write, NGX_WRITE_EVENT, NGX_LEVEL_EVENT);
}

static void del_write(void *privdata)
{
    ngx_connection_t *c = privdata;
    if (c->write->active)
        (void)ngx_del_event(c->write, NGX_WRITE_EVENT, 0);
}

static void cleanup(void *privdata)
{
    ngx_connection_t *c = privdata;
    if (c == NULL)
        return;
    del_read(c);
    del_write(c);
    if (c->read->posted) {
        ngx_delete_posted_event(c->read);
    }
    if (c->write->posted) {
        ngx_delete_posted_event(c->write);
    }
    c->fd = (ngx_socket_t)-1; /* hiredis closes it */
    ngx_free_connection(c);
    redis.conn = NULL;
}

static ngx_int_t attach(redisAsyncContext *ac)
{
    ngx_connection_t *c = ngx_get_connection(ac->c.fd, ngx_cycle->log);
    if (c == NULL)
        return NGX_ERROR;
    c->data = ac;
    c->log = c->read->log = c->write->log = ngx_cycle->log;
    c->read->handler = on_readable;
    c->write->handler = on_writable;
    redis.conn = c;
    ac->ev.addRead = add_read;
    ac->ev.delRead = del_read;
    ac->ev.addWrite = add_write;
    ac->ev.delWrite = del_write;
    ac->ev.cleanup = cleanup;
    ac->ev.data = c;
    return NGX_OK;
}

/* ---- the connection -------------------------------------------------------------------------- */
static void drop_redis(ngx_event_t *ev)
{
    (void)ev;
    redisAsyncContext *ac = redis.ac;
    if (ac == NULL)
        return;
    redis.ac = NULL;
    redis.up = 0;
    redisAsyncFree(ac); /* answers what is in flight with NULL */
    if (!redis.timer.timer_set)
        again_later();
}

static void drop_soon(void)
{
    redis.up = 0;
    if (!redis.drop.posted) {
        ngx_post_event(&redis.drop, &ngx_posted_events);
    }
}

static void on_disconnected(const redisAsyncContext *ac, int status)
{
    if (redis.ac != ac)
        return; /* we freed it ourselves */
    redis.ac = NULL;
    redis.up = 0;
    if (!redis.stopping)
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: redis went away (%d): %s", status,
                      ac->errstr == NULL ? "" : ac->errstr);
    if (redis.timer.timer_set)
        ngx_del_timer(&redis.timer);
    again_later();
}

static void on_loaded(redisAsyncContext *ac, void *reply, void *privdata)
{
    redisReply *r = reply;
    (void)privdata;
    if (redis.ac != ac || r == NULL)
        return;
    if (r->type == REDIS_REPLY_ERROR) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis refused the functions: %s",
                      r->str);
        drop_soon();
        return;
    }
    if (redis.timer.timer_set)
        ngx_del_timer(&redis.timer);
    redis.up = 1;
    redis.breaker = 0;
    redis.timeouts = 0;
    redis.backoff = FIRST_BACKOFF;
    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "tab: redis is up");
}

static void on_connected(const redisAsyncContext *ac, int status)
{
    if (status == REDIS_OK || redis.ac != ac)
        return;
    /* hiredis frees the context after this call. */
    redis.ac = NULL;
    redis.up = 0;
    if (redis.timer.timer_set)
        ngx_del_timer(&redis.timer);
    again_later();
}

static void on_timer(ngx_event_t *ev)
{
    (void)ev;
    if (redis.stopping)
        return;
    if (redis.ac != NULL) /* the connect, or the loading, took too long */
        drop_redis(NULL);
    else
        connect_redis();
}

static void connect_redis(void)
{
    ngx_str_t *at = &redis.conf->redis;
    redisAsyncContext *ac;
    if (at->len > 5 && ngx_strncmp(at->data, "unix:", 5) == 0) {
        ac = redisAsyncConnectUnix((const char *)at->data + 5);
    } else {
        char host[256];
        u_char *colon = ngx_strlchr(at->data, at->data + at->len, ':');
        size_t n = colon == NULL ? at->len : (size_t)(colon - at->data);
        ngx_int_t port = colon == NULL ? 6379 : ngx_atoi(colon + 1, at->len - n - 1);
        if (n >= sizeof host || port == NGX_ERROR)
            return;
        ngx_memcpy(host, at->data, n);
        host[n] = '\0';
        ac = redisAsyncConnect(host, (int)port);
    }
    if (ac == NULL || ac->err != 0) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, ngx_errno, "tab: cannot connect to redis: %s",
                      ac == NULL || ac->errstr == NULL ? "" : ac->errstr);
        if (ac != NULL)
            redisAsyncFree(ac);
        again_later();
        return;
    }
    if (attach(ac) != NGX_OK) {
        redisAsyncFree(ac);
        again_later();
        return;
    }
    redis.ac = ac;
    ngx_add_timer(&redis.timer, CONNECT_TIMEOUT);
    (void)redisAsyncSetConnectCallback(ac, on_connected);
    (void)redisAsyncSetDisconnectCallback(ac, on_disconnected);
    const char *argv[] = { "FUNCTION", "LOAD", "REPLACE", tab_limits_lua };
    size_t len[] = { 8, 4, 7, sizeof tab_limits_lua - 1 };
    (void)redisAsyncCommandArgv(ac, on_loaded, NULL, 4, argv, len);
}

ngx_int_t ngx_http_tab_redis_start(ngx_cycle_t *cycle, tab_main_conf *conf)
{
    ngx_memzero(&redis, sizeof redis);
    redis.conf = conf;
    redis.backoff = FIRST_BACKOFF;
    redis.timer.handler = on_timer;
    redis.timer.log = cycle->log;
    redis.timer.cancelable = 1; /* a graceful exit does not wait for it */
    redis.timer.data = &redis;
    redis.drop.handler = drop_redis;
    redis.drop.log = cycle->log;
    connect_redis();
    return NGX_OK;
}

void ngx_http_tab_redis_stop(void)
{
    redis.stopping = 1;
    if (redis.ac != NULL)
        redisAsyncFree(redis.ac);
    redis.ac = NULL;
}

/* ---- one call -------------------------------------------------------------------------------- */
static void give(tab_call *call, const tab_redis_answer *a)
{
    ngx_http_request_t *r = call->request;
    tab_ctx *ctx = call->ctx;
    call->request = NULL;
    ctx->call = NULL;
    if (call->timer.timer_set)
        ngx_del_timer(&call->timer);
    ngx_http_tab_answered(r, ctx, a);
}

static void on_timeout(ngx_event_t *ev)
{
    tab_call *call = ev->data;
    tab_redis_answer none = { .code = -1 };
    redis.breaker = 1;
    redis.open_until = ngx_current_msec + BREAKER;
    if (++redis.timeouts >= MOST_TIMEOUTS)
        drop_soon();
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: redis did not answer in time (%ui)",
                  redis.timeouts);
    if (call->request != NULL)
        give(call, &none); /* the record stays until hiredis gives it back */
}

static int64_t integer_at(redisReply *r, size_t i)
{
    return i < r->elements && r->element[i]->type == REDIS_REPLY_INTEGER ? r->element[i]->integer
                                                                         : 0;
}

static void string_at(redisReply *r, size_t i, ngx_str_t *ret)
{
    ngx_str_null(ret);
    if (i < r->elements && r->element[i]->type == REDIS_REPLY_STRING) {
        ret->data = (u_char *)r->element[i]->str;
        ret->len = (size_t)r->element[i]->len;
    }
}

static void on_reply(redisAsyncContext *ac, void *reply, void *privdata)
{
    tab_call *call = privdata;
    redisReply *r = reply;
    tab_redis_answer a = { .code = -1 };
    (void)ac;
    if (r == NULL) {
        redis.up = 0; /* the connection is going; nothing new on it */
    } else if (r->type == REDIS_REPLY_ARRAY && r->elements > 0) {
        redis.timeouts = 0;
        redis.breaker = 0;
        a.code = (int)integer_at(r, 0);
        string_at(r, 1, &a.grant);
        a.limit = integer_at(r, 2);
        a.remaining = integer_at(r, 3);
        a.reset_ms = integer_at(r, 4);
        a.retry_ms = integer_at(r, 5);
        string_at(r, 6, &a.state);
    } else if (r->type == REDIS_REPLY_ERROR) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis answers: %s", r->str);
        redis.breaker = 1; /* memory or disk full: try again in a second */
        redis.open_until = ngx_current_msec + BREAKER;
        if (ngx_strncmp(r->str, "ERR Function not found", 22) == 0)
            drop_soon(); /* connecting loads the functions */
    }
    if (call->request != NULL)
        give(call, &a);
    ngx_free(call);
}

ngx_int_t ngx_http_tab_redis_ask(ngx_http_request_t *r, tab_ctx *ctx)
{
    if (!redis.up || redis.ac == NULL)
        return NGX_DECLINED;
    if (redis.breaker) {
        if ((ngx_msec_int_t)(redis.open_until - ngx_current_msec) > 0)
            return NGX_DECLINED;
        redis.open_until = ngx_current_msec + BREAKER; /* this one tries; the others go on */
    }

    tab_str endpoint = { "", 0 };
    char scope[12] = "0";
    if (ctx->routed) {
        const tab_route *route = &tab_routes[ctx->route.id];
        (void)ngx_sprintf((u_char *)scope, "%ud%Z", (unsigned)route->scope);
        if (route->flags & TAB_ROUTE_ENDPOINT)
            endpoint = ctx->route.param[0];
    }
    u_char cmd[512], *p;
    p = ngx_sprintf(cmd,
                    "*6\r\n$5\r\nFCALL\r\n$8\r\ntab_gate\r\n$1\r\n1\r\n$70\r\ntab:k:%s\r\n"
                    "$%uz\r\n%s\r\n$%uz\r\n",
                    ctx->hash, ngx_strlen(scope), scope, endpoint.n);
    p = ngx_cpymem(p, endpoint.p, endpoint.n);
    *p++ = '\r';
    *p++ = '\n';

    tab_call *call = ngx_calloc(sizeof *call, r->connection->log);
    if (call == NULL)
        return NGX_DECLINED;
    call->request = r;
    call->ctx = ctx;
    call->timer.handler = on_timeout;
    call->timer.data = call;
    call->timer.log = ngx_cycle->log;
    if (redisAsyncFormattedCommand(redis.ac, on_reply, call, (char *)cmd, (size_t)(p - cmd)) !=
        REDIS_OK) {
        ngx_free(call);
        return NGX_DECLINED;
    }
    ctx->call = call;
    ngx_add_timer(&call->timer, redis.conf->redis_timeout);
    return NGX_AGAIN;
}

void ngx_http_tab_redis_forget(tab_ctx *ctx)
{
    tab_call *call = ctx->call;
    if (call == NULL)
        return;
    call->request = NULL;
    ctx->call = NULL;
    if (call->timer.timer_set)
        ngx_del_timer(&call->timer);
}
