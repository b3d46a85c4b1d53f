/* What bodies and answers may hold of this machine's memory, and for how long (decision 0234).
 *
 *   body with a length    its length is held from the verdict to the end of the request, or it is refused
 *                         before a byte of it is read
 *   chunked body          what has come is held, in steps; the one that does not fit refuses it on its way
 *   answer                what nginx may buffer of it is held besides; never refused, for it is paid for
 *
 *   over the organization's: 429 rate_limit      over all: 503 internal      both with Retry-After
 *
 * A body that stops arriving, or trickles, gives its place up: in every client_body_timeout it brings
 * tab_body_rate bytes for each second of it, or all that was missing. A client_body_timeout alone is content
 * with one byte.
 *
 * The pieces in which a body comes lie behind one another in one buffer here. nginx keeps a record of 112
 * bytes for each piece and walks all of them for each new one: chunks of two bytes cost 56 times as much, and
 * time that grows with their square. */
#include "gateway/module/ngx_http_tab.h"

enum {
    HOLDS = 1 << 14,
    SMALL = 16 * 1024, /* a body no larger than what a request's headers may take is not counted */
    STEP = 64 * 1024   /* of a chunked body's hold */
};

const char ngx_http_tab_body_quota_message[] =
    "Your organization is sending too many bytes at once. Retry when other uploads have finished.";

static ngx_http_request_body_filter_pt next_body_filter;
static ngx_http_output_header_filter_pt next_header_filter;

/* ---- the table ------------------------------------------------------------------------------- */
static ngx_int_t init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)zone->shm.addr;
    unsigned char seed[16];
    (void)old;
    if (pool->data != NULL)
        return NGX_OK; /* a reload keeps what is held */
    void *memory = ngx_slab_alloc(pool, tab_bodies_size(HOLDS));
    if (memory == NULL)
        return NGX_ERROR;
    randombytes_buf(seed, sizeof seed);
    pool->data = tab_bodies_init(memory, HOLDS, seed);
    return NGX_OK;
}

ngx_int_t ngx_http_tab_body_quota_zone(ngx_conf_t *cf, tab_main_conf *conf)
{
    ngx_str_t name = ngx_string("tab_bodies");
    conf->bodies = ngx_shared_memory_add(cf, &name, tab_bodies_size(HOLDS) + 64 * 1024, &ngx_http_tab_module);
    if (conf->bodies == NULL)
        return NGX_ERROR;
    conf->bodies->init = init_zone;
    return NGX_OK;
}

static ngx_slab_pool_t *lock(ngx_http_request_t *r)
{
    tab_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_tab_module);
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)conf->bodies->shm.addr;
    ngx_shmtx_lock(&pool->mutex);
    return pool;
}

/* A worker that was killed gave nothing back. The worker that takes its slot among nginx's processes gives
 * it back. */
void ngx_http_tab_body_quota_start(tab_main_conf *conf)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)conf->bodies->shm.addr;
    ngx_shmtx_lock(&pool->mutex);
    tab_bodies_forget(pool->data, (uint32_t)ngx_process_slot + 1);
    ngx_shmtx_unlock(&pool->mutex);
}

/* The request holds so many bytes from now on, if the limits let it. */
static tab_bodies_verdict hold(ngx_http_request_t *r, tab_ctx *ctx, uint64_t bytes, tab_bodies_limits most)
{
    tab_body_quota *f = &ctx->held;
    ngx_slab_pool_t *pool = lock(r);
    tab_bodies_verdict v = f->hold == 0
                               ? tab_bodies_take(pool->data, tab_str_of(ctx->grant.org),
                                                 (uint32_t)ngx_process_slot + 1, bytes, most, &f->hold)
                               : tab_bodies_resize(pool->data, f->hold, bytes, most);
    ngx_shmtx_unlock(&pool->mutex);
    if (v == TAB_BODIES_GOOD)
        f->bytes = bytes;
    return v;
}

void ngx_http_tab_body_quota_end(tab_ctx *ctx)
{
    tab_body_quota *f = &ctx->held;
    ngx_http_tab_body_quota_quiet(ctx);
    if (f->hold == 0)
        return;
    ngx_slab_pool_t *pool = lock(ctx->request);
    tab_bodies_give(pool->data, f->hold);
    ngx_shmtx_unlock(&pool->mutex);
    f->hold = 0;
}

/* ---- how fast it comes ----------------------------------------------------------------------- */
static void on_tick(ngx_event_t *ev)
{
    tab_ctx *ctx = ev->data;
    ngx_http_request_t *r = ctx->request;
    ngx_connection_t *c = r->connection;
    tab_body_quota *f = &ctx->held;
    const ngx_http_request_body_t *rb = r->request_body;
    if (rb != NULL && rb->rest == 0 && rb->last_saved)
        return; /* all is here */
    off_t come = r->request_length - f->come;
    if (rb == NULL || come >= f->least) {
        f->come = r->request_length;
        ngx_add_timer(&f->tick, f->every);
        return;
    }
    ngx_log_error(NGX_LOG_INFO, c->log, 0, "tab: a body comes too slowly (%O bytes in %M ms)", come,
                  f->every);
    c->read->timedout = 1; /* from here on as after nginx's own time-out */
    c->read->handler(c->read);
}

void ngx_http_tab_body_quota_quiet(tab_ctx *ctx)
{
    if (ctx->held.tick.timer_set)
        ngx_del_timer(&ctx->held.tick);
}

static void watch(ngx_http_request_t *r, tab_ctx *ctx)
{
    ngx_http_core_loc_conf_t *core = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    if (loc->body_rate == 0)
        return;
    tab_body_quota *f = &ctx->held;
    f->every = core->client_body_timeout;
    f->least = (off_t)(loc->body_rate / 1000 * f->every + loc->body_rate % 1000 * f->every / 1000);
    f->tick.handler = on_tick;
    f->tick.data = ctx;
    f->tick.log = r->connection->log;
    f->tick.cancelable = 1;
    f->come = r->request_length;
    ngx_add_timer(&f->tick, f->every);
}

/* ---- bodies ---------------------------------------------------------------------------------- */
tab_bodies_verdict ngx_http_tab_body_quota_begin(ngx_http_request_t *r, tab_ctx *ctx)
{
    ngx_http_core_loc_conf_t *core = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    off_t n = r->headers_in.content_length_n;
    if ((n <= 0 && !r->headers_in.chunked) || ctx->held.tick.timer_set)
        return TAB_BODIES_GOOD;
    if (core->client_max_body_size > 0 && n > core->client_max_body_size)
        return TAB_BODIES_GOOD; /* already refused; its answer is on its way */
    if (n > SMALL) {
        tab_bodies_verdict v = hold(r, ctx, (uint64_t)n, loc->bodies);
        if (v != TAB_BODIES_GOOD)
            return v;
    }
    if (r->headers_in.chunked || n > r->header_in->last - r->header_in->pos)
        watch(r, ctx);
    return TAB_BODIES_GOOD;
}

/* 0, or the status with which a chunked body ends here. */
static ngx_int_t count_chunked(ngx_http_request_t *r, tab_ctx *ctx)
{
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    const ngx_http_request_body_t *rb = r->request_body;
    size_t come = rb->buf == NULL ? 0 : (size_t)(rb->buf->last - rb->buf->start);
    if (rb->rest > 0 && rb->buf != NULL && rb->buf->last == rb->buf->end)
        return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE; /* full of chunk headers: nginx would spill to a file */
    if (come <= SMALL || come <= ctx->held.bytes)
        return 0;
    ctx->held.over = hold(r, ctx, (come + STEP - 1) / STEP * STEP, loc->bodies);
    return ctx->held.over == TAB_BODIES_GOOD  ? 0
           : ctx->held.over == TAB_BODIES_ORG ? NGX_HTTP_TOO_MANY_REQUESTS
                                              : NGX_HTTP_SERVICE_UNAVAILABLE;
}

/* like NULL: the end of the body. */
static ngx_buf_t *add_piece(ngx_http_request_t *r, ngx_chain_t ***at, const ngx_buf_t *like)
{
    ngx_chain_t *link = ngx_alloc_chain_link(r->pool);
    ngx_buf_t *b = ngx_alloc_buf(r->pool);
    if (link == NULL || b == NULL)
        return NULL;
    *b = like != NULL ? *like : (ngx_buf_t){ .last_buf = 1 };
    b->tag = (ngx_buf_tag_t)&ngx_http_tab_module; /* not nginx's: it recycles its own */
    *link = (ngx_chain_t){ b, NULL };
    **at = link;
    *at = &link->next;
    return b;
}

/* Appends each piece to the one before it, where both lie in one buffer; else it begins another. Bytes are
 * moved only over the headers of chunks, and the space is given back to nginx as read. */
static ngx_int_t put_together(ngx_http_request_t *r, tab_body_quota *f, ngx_chain_t *in, ngx_chain_t **ret)
{
    ngx_chain_t **at = ret;
    if (r->request_body->bufs == NULL)
        f->tail = NULL;
    *ret = NULL;
    for (; in != NULL; in = in->next) {
        ngx_buf_t *b = in->buf;
        size_t n = (size_t)(b->last - b->pos);
        if (n > 0 && f->tail != NULL && f->tail->end == b->end && b->pos >= f->tail->last) {
            if (b->pos != f->tail->last)
                ngx_memmove(f->tail->last, b->pos, n);
            f->tail->last += n;
        } else if (n > 0 && (f->tail = add_piece(r, &at, b)) == NULL) {
            return NGX_ERROR;
        }
        if (n > 0)
            f->tail->last_buf = 0;
        b->pos = b->last;
        if (b->last_buf && add_piece(r, &at, NULL) == NULL)
            return NGX_ERROR;
    }
    return NGX_OK;
}

static ngx_int_t body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    tab_ctx *ctx = ngx_http_get_module_ctx(r, ngx_http_tab_module);
    if (ctx == NULL || r != r->main || ctx->step != TAB_STEP_LET_IN || r->request_body_no_buffering)
        return next_body_filter(r, in);
    ngx_int_t rc = r->headers_in.chunked ? count_chunked(r, ctx) : 0; /* with the chunk headers */
    if (rc != 0) {
        r->keepalive = 0; /* the unread rest must not be read as a request */
        r->lingering_close = 1;
        return rc;
    }
    ngx_chain_t *out = NULL;
    if (in != NULL && put_together(r, &ctx->held, in, &out) != NGX_OK)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    return next_body_filter(r, out);
}

/* ---- answers --------------------------------------------------------------------------------- */
static ngx_int_t header_filter(ngx_http_request_t *r)
{
    static const tab_bodies_limits any = { 0, 0 };
    tab_ctx *ctx = ngx_http_get_module_ctx(r, ngx_http_tab_module);
    if (ctx != NULL && r == r->main && ctx->step == TAB_STEP_LET_IN && r->upstream != NULL &&
        r->method != NGX_HTTP_HEAD && !ctx->held.answered) {
        const ngx_bufs_t *bufs = &r->upstream->conf->bufs;
        off_t n = r->headers_out.content_length_n, most = (off_t)bufs->size * bufs->num;
        n = n < 0 || n > most ? most : n;
        ctx->held.answered = 1;
        if (n > SMALL) /* a table that is full counts it not */
            (void)!hold(r, ctx, ctx->held.bytes + (uint64_t)n, any);
    }
    return next_header_filter(r);
}

void ngx_http_tab_body_quota_install(void)
{
    next_body_filter = ngx_http_top_request_body_filter;
    ngx_http_top_request_body_filter = body_filter;
    next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = header_filter;
}

/* tab_body_bytes ORGANIZATION ALL; */
char *ngx_http_tab_body_quota_bytes(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_loc_conf *conf = c;
    ngx_str_t *args = cf->args->elts;
    off_t org = ngx_parse_offset(&args[1]), all = ngx_parse_offset(&args[2]);
    (void)cmd;
    if (conf->bodies_set)
        return "is duplicate";
    if (org < 0 || all < 0)
        return "needs two sizes: of an organization, and of all";
    conf->bodies = (tab_bodies_limits){ (uint64_t)org, (uint64_t)all };
    conf->bodies_set = 1;
    return NGX_CONF_OK;
}
