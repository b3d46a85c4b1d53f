/* What the gateway asks Redis: one call at a time, for all requests that became ready meanwhile.
 *
 * Requests that become ready wait for the end of the loop's turn, or for the answer of the call that is under
 * way, and go to Redis together; those that are alike (key, scope, endpoint) are one group with a count.
 * So the busier the gateway, the less a request costs Redis; a lone request waits for nobody.
 *
 * While the connection (ngx_http_tab_link.c) is up, a time-out opens the breaker for a second: requests go to
 * the fallback at once, and then one of them tries again. So a frozen Redis costs one request a second its
 * time-out, and nobody else anything; after 3 time-outs in a row the connection is made anew. */
#include "gateway/module/ngx_http_tab.h"

enum {
    BREAKER = 1000,
    MOST_TIMEOUTS = 3,
    MOST_GROUPS = 32,     /* of one call: Redis does nothing else meanwhile */
    KEY_TEXT = 6 + 64,    /* tab:g:<SHA-256 in hex> */
    GROUP_TEXT = 80 + 320 /* a group's key and its three arguments, on the wire */
};

/* One command in flight, until its reply has come or the connection is lost. */
typedef struct {
    ngx_queue_t sent;  /* in redis.sent */
    ngx_queue_t asked; /* tab_ctx.asked of those that still want the answer, in order of arrival */
    ngx_uint_t groups;
    ngx_event_t timer;
} tab_call;

static struct {
    tab_main_conf *conf;
    ngx_event_t turn;      /* posted: the turn of the loop ends, send what waits */
    ngx_queue_t waiting;   /* tab_ctx.asked, in order of arrival, of requests not sent yet */
    ngx_queue_t sent;      /* tab_call.sent: what replies are still to come for, in their order */
    tab_call *under_way;   /* sent, and neither answered nor late */
    ngx_msec_t open_until; /* breaker */
    ngx_uint_t timeouts;
    unsigned breaker : 1;
} redis;

static void on_turn(ngx_event_t *ev);
static void replied(redisReply *r);
static void lost(void);

ngx_int_t ngx_http_tab_redis_start(ngx_cycle_t *cycle, tab_main_conf *conf)
{
    ngx_memzero(&redis, sizeof redis);
    redis.conf = conf;
    redis.turn.handler = on_turn;
    redis.turn.log = cycle->log;
    ngx_queue_init(&redis.waiting);
    ngx_queue_init(&redis.sent);
    ngx_http_tab_link_start(cycle, conf, replied, lost);
    return NGX_OK;
}

void ngx_http_tab_redis_stop(void)
{
    ngx_http_tab_link_stop();
}

/* ---- calls ----------------------------------------------------------------------------------- */
static tab_ctx *first_of(ngx_queue_t *q)
{
    return ngx_queue_data(ngx_queue_head(q), tab_ctx, asked);
}

/* Takes the request out of its queue and goes on with it. */
static void give(tab_ctx *ctx, const tab_redis_answer *a)
{
    ngx_queue_remove(&ctx->asked);
    ctx->waits = 0;
    ctx->answered(ctx->request, ctx, a);
}

static void give_all(ngx_queue_t *q)
{
    tab_redis_answer none = { .code = -1 };
    while (!ngx_queue_empty(q))
        give(first_of(q), &none);
}

static void end_turn_soon(void)
{
    if (!redis.turn.posted) {
        ngx_post_event(&redis.turn, &ngx_posted_events);
    }
}

static void on_timeout(ngx_event_t *ev)
{
    tab_call *call = ev->data;
    redis.breaker = 1;
    redis.open_until = ngx_current_msec + BREAKER;
    if (++redis.timeouts >= MOST_TIMEOUTS) {
        redis.timeouts = 0;
        ngx_http_tab_link_drop();
    }
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: redis did not answer in time");
    redis.under_way = NULL; /* the record stays until its reply has come */
    give_all(&call->asked);
    give_all(&redis.waiting);
}

/* Counts and milliseconds. A value outside of 0 to 2^52 counts as none, so that sums do not overflow. */
static int64_t integer_at(redisReply *r, size_t i)
{
    if (i >= r->elements || r->element[i]->type != REDIS_REPLY_INTEGER)
        return 0;
    int64_t x = r->element[i]->integer;
    return x < 0 || x > (int64_t)1 << 52 ? 0 : x;
}

static void string_at(redisReply *r, size_t i, ngx_str_t *ret)
{
    ngx_str_null(ret);
    if (i < r->elements && r->element[i]->type == REDIS_REPLY_STRING) {
        ret->data = (u_char *)r->element[i]->str;
        ret->len = (size_t)r->element[i]->len;
    }
}

/* Redis' answer for a group, as each of its requests is told: the first let_in are let in, each with what
 * remains after those before it; the others are over the limit. */
typedef struct {
    tab_redis_answer answer;
    int64_t let_in;
} tab_group;

static tab_group read_group(redisReply *r)
{
    tab_group g = { .answer.code = -1 };
    if (r->type != REDIS_REPLY_ARRAY || r->elements == 0)
        return g;
    g.answer.code = (int)integer_at(r, 0);
    string_at(r, 1, &g.answer.grant);
    g.answer.limit = integer_at(r, 2);
    g.answer.remaining = integer_at(r, 3);
    g.answer.reset_ms = integer_at(r, 4);
    g.answer.retry_ms = integer_at(r, 5);
    string_at(r, 6, &g.answer.state);
    g.let_in = integer_at(r, 7);
    ngx_http_tab_clock_heard(integer_at(r, 8));
    string_at(r, 9, &g.answer.epoch);
    return g;
}

static tab_redis_answer next_of(tab_group *g)
{
    tab_redis_answer a = g->answer;
    if (a.code != 1)
        return a;
    if (g->let_in > 0)
        a.remaining += --g->let_in;
    else
        a.code = 4;
    return a;
}

static void send_waiting(void);

static tab_call *next_sent(void)
{
    ngx_queue_t *q = ngx_queue_head(&redis.sent);
    tab_call *call = ngx_queue_data(q, tab_call, sent);
    ngx_queue_remove(q);
    if (call->timer.timer_set)
        ngx_del_timer(&call->timer);
    if (redis.under_way == call)
        redis.under_way = NULL;
    return call;
}

static void replied(redisReply *r)
{
    tab_group group[MOST_GROUPS] = { { .answer.code = -1 } };
    bool good = false;
    if (ngx_queue_empty(&redis.sent))
        return;
    tab_call *call = next_sent();
    if (r->type == REDIS_REPLY_ARRAY && r->elements == call->groups) {
        redis.timeouts = 0;
        redis.breaker = 0;
        good = true;
        for (size_t i = 0; i < r->elements; i++)
            group[i] = read_group(r->element[i]);
    } else if (r->type == REDIS_REPLY_ERROR) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis answers: %s", r->str);
        redis.breaker = 1; /* memory or disk full: try again in a second */
        redis.open_until = ngx_current_msec + BREAKER;
        if (ngx_strncmp(r->str, "ERR Function not found", 22) == 0)
            ngx_http_tab_link_drop(); /* connecting loads the functions */
    }
    if (good)
        send_waiting(); /* Redis works on them while these go on */
    if (redis.under_way == NULL && !ngx_queue_empty(&redis.waiting))
        end_turn_soon();
    while (good && !ngx_queue_empty(&call->asked)) {
        tab_ctx *ctx = first_of(&call->asked);
        tab_redis_answer a = next_of(&group[ctx->group]);
        give(ctx, &a);
    }
    give_all(&call->asked);
    ngx_free(call);
}

static void lost(void)
{
    while (!ngx_queue_empty(&redis.sent)) {
        tab_call *call = next_sent();
        give_all(&call->asked);
        ngx_free(call);
    }
    give_all(&redis.waiting);
}

static tab_str endpoint_of(const tab_ctx *ctx)
{
    bool has = ctx->routed && (tab_routes[ctx->route.id].flags & TAB_ROUTE_ENDPOINT);
    return has ? ctx->route.param[0] : TAB_S("");
}

static unsigned scope_of(const tab_ctx *ctx)
{
    return ctx->routed ? (unsigned)tab_routes[ctx->route.id].scope : 0;
}

static bool alike(const tab_ctx *a, const tab_ctx *b)
{
    return ngx_memcmp(a->hash, b->hash, sizeof a->hash) == 0 && scope_of(a) == scope_of(b) &&
           tab_str_eq(endpoint_of(a), endpoint_of(b));
}

/* Moves waiting requests into the call, up to MOST_GROUPS kinds of them. */
static void gather(tab_call *call, tab_ctx *first[MOST_GROUPS], ngx_uint_t count[MOST_GROUPS])
{
    while (!ngx_queue_empty(&redis.waiting)) {
        tab_ctx *ctx = first_of(&redis.waiting);
        ngx_uint_t g = 0;
        while (g < call->groups && !alike(first[g], ctx))
            g++;
        if (g == MOST_GROUPS)
            break;
        if (g == call->groups) {
            first[g] = ctx;
            count[g] = 0;
            call->groups++;
        }
        count[g]++;
        ctx->group = g;
        ngx_queue_remove(&ctx->asked);
        ngx_queue_insert_tail(&call->asked, &ctx->asked);
    }
}

static size_t write_call(u_char *cmd, tab_call *call, tab_ctx **first, const ngx_uint_t *count)
{
    u_char number[NGX_INT_T_LEN], *p = cmd;
    size_t n = (size_t)(ngx_sprintf(number, "%ui", call->groups) - number);
    p = ngx_sprintf(p, "*%ui\r\n$5\r\nFCALL\r\n$8\r\ntab_gate\r\n$%uz\r\n%*s\r\n", 3 + 4 * call->groups, n, n,
                    number);
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        p = ngx_cpymem(p, "$70\r\ntab:g:", 11);
        p = ngx_cpymem(p, first[g]->hash, 64);
        p = ngx_cpymem(p, "\r\n", 2);
    }
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        tab_str endpoint = endpoint_of(first[g]);
        n = (size_t)(ngx_sprintf(number, "%ui", (ngx_uint_t)scope_of(first[g])) - number);
        p = ngx_sprintf(p, "$%uz\r\n%*s\r\n$%uz\r\n", n, n, number, endpoint.n);
        p = ngx_cpymem(p, endpoint.p, endpoint.n);
        n = (size_t)(ngx_sprintf(number, "%ui", count[g]) - number);
        p = ngx_sprintf(p, "\r\n$%uz\r\n%*s\r\n", n, n, number);
    }
    return (size_t)(p - cmd);
}

static void send_waiting(void)
{
    static u_char cmd[64 + MOST_GROUPS * GROUP_TEXT];
    tab_ctx *first[MOST_GROUPS];
    ngx_uint_t count[MOST_GROUPS];
    if (ngx_queue_empty(&redis.waiting) || redis.under_way != NULL || !ngx_http_tab_link_up())
        return;
    tab_call *call = ngx_calloc(sizeof *call, ngx_cycle->log);
    if (call == NULL)
        return;
    ngx_queue_init(&call->asked);
    gather(call, first, count);
    call->timer.handler = on_timeout;
    call->timer.data = call;
    call->timer.log = ngx_cycle->log;
    size_t n = write_call(cmd, call, first, count);
    ngx_queue_insert_tail(&redis.sent, &call->sent);
    redis.under_way = call;
    ngx_add_timer(&call->timer, redis.conf->redis_timeout);
    (void)ngx_http_tab_link_send(cmd,
                                 n); /* where it cannot, the connection is lost soon, and so is this call */
}

/* Requests that cannot be sent, although no call is in flight, do not wait: they go on without Redis. */
static void on_turn(ngx_event_t *ev)
{
    (void)ev;
    send_waiting();
    if (redis.under_way == NULL)
        give_all(&redis.waiting);
}

ngx_int_t ngx_http_tab_redis_ask(tab_ctx *ctx, tab_redis_answered *answered)
{
    if (!ngx_http_tab_link_up())
        return NGX_DECLINED;
    if (redis.breaker) {
        if ((ngx_msec_int_t)(redis.open_until - ngx_current_msec) > 0)
            return NGX_DECLINED;
        redis.open_until = ngx_current_msec + BREAKER; /* this one tries; the others go on */
    }
    ctx->answered = answered;
    ngx_queue_insert_tail(&redis.waiting, &ctx->asked);
    ctx->waits = 1;
    if (redis.under_way == NULL)
        end_turn_soon();
    return NGX_AGAIN;
}

void ngx_http_tab_redis_forget(tab_ctx *ctx)
{
    if (ctx->waits) {
        ngx_queue_remove(&ctx->asked); /* a macro of several statements */
    }
    ctx->waits = 0;
}
