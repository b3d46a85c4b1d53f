/* What the gateway asks Redis: one round at a time, for all requests that became ready meanwhile.
 *
 * Requests that become ready wait for the end of the loop's turn, or for the answers of the round that is
 * under way, and go to Redis together; those that are alike (key, scope, endpoint) are one group with a
 * count. So the busier the gateway, the less a request costs Redis; a lone request waits for nobody. A round
 * is
 *
 *   settle   what those of the count owe, if they have used up what may be let in ahead
 *   read     groups that may be let in ahead (tab_ahead.h): do their entries stand as they were?
 *   count    the others, and those of a read whose entry has changed: key, scope and rates by Redis
 *
 * Every request reads its key's entry and its organization's last revocation, ahead or not. What is owed is
 * settled after tab_rates_settle at the latest, and when the worker ends.
 *
 * While the connection (ngx_http_tab_link.c) is up, a time-out opens the breaker for a second: requests go to
 * the fallback at once, and then one of them tries again. So a frozen Redis costs one request a second its
 * time-out, and nobody else anything; after 3 time-outs in a row the connection is made anew. */
#include "gateway/module/ngx_http_tab.h"
#include "gateway/module/ngx_http_tab_call.h"

enum { BREAKER = 1000, MOST_TIMEOUTS = 3 };

static struct {
    tab_main_conf *conf;
    tab_ahead *ahead;
    ngx_event_t turn;      /* posted: the turn of the loop ends, send what waits */
    ngx_event_t settle;    /* a timer, while something is owed */
    ngx_queue_t waiting;   /* tab_ctx.asked, in order of arrival, of requests not sent yet */
    ngx_queue_t sent;      /* tab_call.sent: what replies are still to come for, in their order */
    ngx_uint_t under_way;  /* calls of this round, sent, and neither answered nor late */
    ngx_msec_t open_until; /* breaker */
    ngx_uint_t timeouts;
    unsigned breaker : 1;
    unsigned counts_all : 1; /* nothing is let in ahead: on this connection nothing can be settled */
} redis;

static void on_turn(ngx_event_t *ev);
static void on_settle(ngx_event_t *ev);
static void settle_all(void);
static void replied(redisReply *r);
static void lost(void);

ngx_int_t ngx_http_tab_redis_start(ngx_cycle_t *cycle, tab_main_conf *conf)
{
    ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    ngx_memzero(&redis, sizeof redis);
    redis.conf = conf;
    redis.ahead = tab_ahead_new((uint32_t)conf->rates_ahead, (uint32_t)core->worker_processes,
                                conf->grant_key_set ? &conf->grant_key : NULL);
    if (redis.ahead == NULL)
        return NGX_ERROR;
    redis.turn.handler = on_turn;
    redis.turn.log = cycle->log;
    redis.settle.handler = on_settle;
    redis.settle.log = cycle->log;
    redis.settle.cancelable = 1; /* a graceful exit does not wait for it: _stop settles */
    redis.settle.data = &redis;
    ngx_queue_init(&redis.waiting);
    ngx_queue_init(&redis.sent);
    ngx_http_tab_link_start(cycle, conf, replied, lost);
    return NGX_OK;
}

void ngx_http_tab_redis_stop(void)
{
    if (redis.ahead == NULL)
        return;
    if (ngx_http_tab_link_up())
        settle_all();
    ngx_http_tab_link_stop();
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
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

/* Nobody waits for the call any more: none of its groups is let in ahead. */
static void give_up(tab_call *call)
{
    for (ngx_uint_t g = 0; call->kind == TAB_CALL_READ && g < call->groups; g++) {
        if (call->group[g].caller != NULL)
            tab_ahead_return(redis.ahead, call->group[g].caller, call->group[g].n);
        call->group[g].caller = NULL;
    }
    redis.under_way -= call->waited;
    call->waited = 0;
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
    give_up(call); /* the record stays until its reply has come */
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

static tab_group counted(redisReply *r)
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

/* ---- replies --------------------------------------------------------------------------------- */
static void send_waiting(void);

static tab_call *next_sent(void)
{
    ngx_queue_t *q = ngx_queue_head(&redis.sent);
    tab_call *call = ngx_queue_data(q, tab_call, sent);
    ngx_queue_remove(q);
    if (call->timer.timer_set)
        ngx_del_timer(&call->timer);
    redis.under_way -= call->waited;
    call->waited = 0;
    return call;
}

/* The ticks of the function, from element i on, as microseconds. */
static bool full_at(redisReply *r, size_t i, int64_t ret_us[TAB_AHEAD_BUCKETS])
{
    if (i + TAB_AHEAD_BUCKETS > r->elements)
        return false; /* another version's function */
    for (size_t k = 0; k < TAB_AHEAD_BUCKETS; k++)
        ret_us[k] = 10 * integer_at(r, i + k);
    return true;
}

enum { CHANGED = -2 }; /* a code: the entry is not what it was when this caller was counted, so count again */

static void take_counts(const tab_call *call, redisReply *r, tab_group *group)
{
    bool learnt[TAB_CALL_GROUPS] = { false };
    int64_t full_us[TAB_AHEAD_BUCKETS], now = now_us();
    for (size_t g = 0; g < r->elements; g++)
        group[g] = counted(r->element[g]);
    for (ngx_queue_t *q = ngx_queue_head(&call->asked); q != ngx_queue_sentinel(&call->asked);
         q = ngx_queue_next(q)) {
        const tab_ctx *ctx = ngx_queue_data(q, tab_ctx, asked);
        const tab_redis_answer *a = &group[ctx->group].answer;
        if (learnt[ctx->group] || (a->code != 1 && a->code != 4))
            continue;
        learnt[ctx->group] = true;
        if (full_at(r->element[ctx->group], 10, full_us))
            tab_ahead_learn(redis.ahead, ctx->hash, ngx_http_tab_endpoint_of(ctx),
                            (tab_str){ (char *)a->grant.data, a->grant.len },
                            (tab_str){ (char *)a->epoch.data, a->epoch.len }, full_us, now);
    }
}

/* The keys of a group: entry, last revocation, and the state of the endpoint where there is one. */
static void take_reads(tab_call *call, redisReply *r, tab_group *group)
{
    int64_t now = now_us();
    size_t at = 0;
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        tab_ahead_caller *c = call->group[g].caller;
        tab_redis_answer *a = &group[g].answer;
        string_at(r, at, &a->grant);
        string_at(r, at + 1, &a->epoch);
        if (call->group[g].endpoint)
            string_at(r, at + 2, &a->state);
        at += ngx_http_tab_call_keys(call, g);
        a->code = CHANGED;
        if (c == NULL) /* too late */
            continue;
        call->group[g].caller = NULL;
        if (!tab_str_eq((tab_str){ (char *)a->grant.data, a->grant.len }, tab_ahead_entry(c)) ||
            !tab_str_eq((tab_str){ (char *)a->epoch.data, a->epoch.len }, tab_ahead_revoked(c))) {
            tab_ahead_return(redis.ahead, c, call->group[g].n);
            tab_ahead_forget(redis.ahead, c);
            continue;
        }
        tab_ahead_keep(redis.ahead, c, call->group[g].n);
        tab_ahead_rates left = tab_ahead_left(c, now);
        a->code = 1;
        a->told = tab_ahead_told(c);
        a->limit = left.limit;
        a->remaining = left.remaining;
        a->reset_ms = left.reset_ms;
        group[g].let_in = call->group[g].n;
    }
    if (!redis.settle.timer_set)
        ngx_add_timer(&redis.settle, redis.conf->rates_settle);
}

static void take_settled(tab_call *call, redisReply *r)
{
    int64_t full_us[TAB_AHEAD_BUCKETS], now = now_us();
    if (r != NULL)
        ngx_http_tab_clock_heard(integer_at(r, 0));
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        bool known = r != NULL && full_at(r, 1 + 3 * g, full_us);
        tab_ahead_paid(redis.ahead, call->group[g].caller, call->group[g].n, known ? full_us : NULL, now);
    }
    call->groups = 0;
}

/* Those whose entry has changed wait again, before the others and in their order. */
static void wait_again(tab_call *call, const tab_group *group)
{
    for (ngx_queue_t *q = ngx_queue_last(&call->asked), *before; q != ngx_queue_sentinel(&call->asked);
         q = before) {
        const tab_ctx *ctx = ngx_queue_data(q, tab_ctx, asked);
        before = ngx_queue_prev(q);
        if (group[ctx->group].answer.code == CHANGED) {
            ngx_queue_remove(q);
            ngx_queue_insert_head(&redis.waiting, q);
        }
    }
}

static bool understood(tab_call *call, redisReply *r, tab_group *group)
{
    size_t want = call->kind == TAB_CALL_SETTLE ? 1 : 0;
    for (ngx_uint_t g = 0; g < call->groups; g++)
        want += call->kind == TAB_CALL_COUNT  ? 1
                : call->kind == TAB_CALL_READ ? ngx_http_tab_call_keys(call, g)
                                              : TAB_AHEAD_BUCKETS;
    if (r->type != REDIS_REPLY_ARRAY || r->elements != want) {
        if (r->type == REDIS_REPLY_ERROR)
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis answers: %s", r->str);
        if (call->kind == TAB_CALL_SETTLE && r->type == REDIS_REPLY_ERROR &&
            ngx_strncmp(r->str, "NOPERM", 6) == 0) {
            redis.counts_all = 1; /* its users are older than this gateway */
            return false;
        }
        redis.breaker = 1; /* memory or disk full: try again in a second */
        redis.open_until = ngx_current_msec + BREAKER;
        if (r->type == REDIS_REPLY_ERROR && ngx_strncmp(r->str, "ERR Function not found", 22) == 0)
            ngx_http_tab_link_drop(); /* connecting loads the functions */
        return false;
    }
    redis.timeouts = 0;
    redis.breaker = 0;
    if (call->kind == TAB_CALL_COUNT)
        take_counts(call, r, group);
    else if (call->kind == TAB_CALL_READ)
        take_reads(call, r, group);
    else
        take_settled(call, r);
    return true;
}

/* What was seen of serve calls is Redis' now, or was refused, which says nothing of other calls. */
static void levels_told(tab_call *call, const redisReply *r)
{
    if (r->type == REDIS_REPLY_ERROR)
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: redis takes no service levels: %s", r->str);
    call->told(call->level, (uint32_t)call->groups,
               r->type == REDIS_REPLY_ERROR ? TAB_LEVEL_IS_REFUSED : TAB_LEVEL_IS_KEPT);
    ngx_free(call);
}

static void replied(redisReply *r)
{
    tab_group group[TAB_CALL_GROUPS];
    ngx_memzero(group, sizeof group);
    if (ngx_queue_empty(&redis.sent))
        return;
    tab_call *call = next_sent();
    if (call->kind == TAB_CALL_LEVEL) {
        levels_told(call, r);
        return;
    }
    bool good = understood(call, r, group);
    if (good) {
        wait_again(call, group);
        send_waiting(); /* Redis works on them while these go on */
    } else if (call->kind == TAB_CALL_SETTLE) {
        take_settled(call, NULL);
    } else {
        give_up(call);
    }
    if (redis.under_way == 0 && !ngx_queue_empty(&redis.waiting))
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
    redis.counts_all = 0;
    while (!ngx_queue_empty(&redis.sent)) {
        tab_call *call = next_sent();
        give_up(call);
        if (call->kind == TAB_CALL_SETTLE)
            take_settled(call, NULL);
        else if (call->kind == TAB_CALL_LEVEL)
            call->told(call->level, (uint32_t)call->groups, TAB_LEVEL_IS_LOST);
        give_all(&call->asked);
        ngx_free(call);
    }
    give_all(&redis.waiting);
}

/* ---- sending --------------------------------------------------------------------------------- */
static bool alike(const tab_ctx *a, const tab_ctx *b)
{
    return ngx_memcmp(a->hash, b->hash, sizeof a->hash) == 0 &&
           ngx_http_tab_scope_of(a) == ngx_http_tab_scope_of(b) &&
           tab_str_eq(ngx_http_tab_endpoint_of(a), ngx_http_tab_endpoint_of(b));
}

/* What waits, by kinds of requests that are alike: up to TAB_CALL_GROUPS of them. */
typedef struct {
    ngx_queue_t asked; /* tab_ctx.asked, their `group` the index of their kind */
    ngx_uint_t n;
    struct {
        tab_ctx *first;
        uint32_t count;
        tab_call *call; /* that it goes with, as its group `at` */
        ngx_uint_t at;
    } kind[TAB_CALL_GROUPS];
} tab_round;

static void gather(tab_round *round)
{
    round->n = 0;
    ngx_queue_init(&round->asked);
    while (!ngx_queue_empty(&redis.waiting)) {
        tab_ctx *ctx = first_of(&redis.waiting);
        ngx_uint_t k = 0;
        while (k < round->n && !alike(round->kind[k].first, ctx))
            k++;
        if (k == TAB_CALL_GROUPS)
            break;
        if (k == round->n) {
            round->kind[k].first = ctx;
            round->kind[k].count = 0;
            round->n++;
        }
        round->kind[k].count++;
        ctx->group = k;
        ngx_queue_remove(&ctx->asked);
        ngx_queue_insert_tail(&round->asked, &ctx->asked);
    }
}

static tab_call *new_call(tab_call_kind kind)
{
    size_t levels = kind == TAB_CALL_LEVEL ? TAB_CALL_GROUPS * sizeof(tab_level_entry) : 0;
    tab_call *call = ngx_alloc(sizeof *call + levels, ngx_cycle->log);
    if (call == NULL)
        return NULL;
    ngx_queue_init(&call->asked);
    call->kind = kind;
    call->groups = 0;
    call->waited = 0;
    ngx_memzero(&call->timer, sizeof call->timer);
    call->timer.handler = on_timeout;
    call->timer.data = call;
    call->timer.log = ngx_cycle->log;
    return call;
}

static ngx_uint_t put_group(tab_call *call, tab_ctx *first, tab_ahead_caller *caller, uint32_t n)
{
    call->group[call->groups].first = first;
    call->group[call->groups].caller = caller;
    call->group[call->groups].n = n;
    call->group[call->groups].endpoint = first != NULL && ngx_http_tab_endpoint_of(first).n > 0;
    return call->groups++;
}

/* Each kind goes with the reads if all of it may be let in ahead, else with the counts, and what its caller
 * owes with the settlement. */
static void sort(tab_round *round, tab_call *settle, tab_call *read, tab_call *count)
{
    int64_t now = now_us();
    for (ngx_uint_t k = 0; k < round->n; k++) {
        tab_ctx *ctx = round->kind[k].first;
        uint32_t n = round->kind[k].count, owed = 0;
        tab_ahead_caller *c = tab_ahead_find(redis.ahead, ctx->hash, ngx_http_tab_endpoint_of(ctx));
        bool ahead = c != NULL && !redis.counts_all &&
                     (tab_ahead_told(c)->entry.grant.scopes & ngx_http_tab_scope_of(ctx)) != 0 &&
                     tab_ahead_take(redis.ahead, c, n, now);
        round->kind[k].call = ahead ? read : count;
        round->kind[k].at = put_group(round->kind[k].call, ctx, ahead ? c : NULL, n);
        if (c != NULL && !ahead && (owed = tab_ahead_of(redis.ahead, c)) > 0)
            (void)put_group(settle, NULL, c, owed);
    }
    while (!ngx_queue_empty(&round->asked)) {
        tab_ctx *ctx = first_of(&round->asked);
        tab_call *call = round->kind[ctx->group].call;
        ctx->group = round->kind[ctx->group].at;
        ngx_queue_remove(&ctx->asked);
        ngx_queue_insert_tail(&call->asked, &ctx->asked);
    }
}

/* Writes the call behind p and takes it into the queue of what was sent; one of no groups is freed. */
static u_char *put_call(u_char *p, tab_call *call)
{
    if (call->groups == 0) {
        ngx_free(call);
        return p;
    }
    ngx_queue_insert_tail(&redis.sent, &call->sent);
    if (call->kind == TAB_CALL_SETTLE || call->kind == TAB_CALL_LEVEL)
        return ngx_http_tab_call_write(p, call);
    call->waited = 1;
    redis.under_way++;
    ngx_add_timer(&call->timer, redis.conf->redis_timeout);
    return ngx_http_tab_call_write(p, call);
}

static u_char text[3 * TAB_CALL_TEXT];

static void send_waiting(void)
{
    tab_round round;
    if (ngx_queue_empty(&redis.waiting) || redis.under_way > 0 || !ngx_http_tab_link_up())
        return;
    tab_call *settle = new_call(TAB_CALL_SETTLE), *read = new_call(TAB_CALL_READ),
             *count = new_call(TAB_CALL_COUNT);
    if (settle == NULL || read == NULL || count == NULL) {
        ngx_free(settle);
        ngx_free(read);
        ngx_free(count);
        return;
    }
    gather(&round);
    sort(&round, settle, read, count);
    u_char *p = put_call(put_call(put_call(text, settle), read), count);
    /* where it cannot, the connection is lost soon, and so are these calls */
    (void)ngx_http_tab_link_send(text, (size_t)(p - text));
}

/* All that is owed, in calls of TAB_CALL_GROUPS. */
static void settle_all(void)
{
    uint32_t n;
    tab_ahead_caller *c = tab_ahead_next(redis.ahead, &n);
    while (c != NULL) {
        tab_call *call = new_call(TAB_CALL_SETTLE);
        if (call == NULL) {
            tab_ahead_paid(redis.ahead, c, n, NULL, now_us());
            return;
        }
        for (; c != NULL; c = call->groups < TAB_CALL_GROUPS ? tab_ahead_next(redis.ahead, &n) : NULL)
            (void)put_group(call, NULL, c, n);
        u_char *p = put_call(text, call);
        if (ngx_http_tab_link_send(text, (size_t)(p - text)) != NGX_OK)
            return;
        c = tab_ahead_next(redis.ahead, &n);
    }
}

bool ngx_http_tab_redis_levels(tab_level *from, ngx_http_tab_level_told *told)
{
    bool sent = ngx_http_tab_link_up() && !redis.breaker;
    while (sent) {
        tab_call *call = new_call(TAB_CALL_LEVEL);
        if (call == NULL)
            return false;
        call->told = told;
        call->groups = tab_level_take(from, call->level, TAB_CALL_GROUPS);
        if (call->groups == 0) {
            ngx_free(call);
            return true;
        }
        u_char *p = put_call(text, call);
        sent = ngx_http_tab_link_send(text, (size_t)(p - text)) == NGX_OK;
    }
    return false;
}

/* While Redis is away, what is owed waits. */
static void on_settle(ngx_event_t *ev)
{
    if (ngx_http_tab_link_up() && !redis.breaker)
        settle_all();
    else
        ngx_add_timer(ev, redis.conf->rates_settle);
}

/* Requests that cannot be sent, although no call is in flight, do not wait: they go on without Redis. */
static void on_turn(ngx_event_t *ev)
{
    (void)ev;
    send_waiting();
    if (redis.under_way == 0)
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
    if (redis.under_way == 0)
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
