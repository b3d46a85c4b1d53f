/* One request's context, and the JSON envelope of what the gateway itself answers. */
#include "gateway/module/ngx_http_tab.h"

#include "common/security/secret.h"

/* ---- one request's context ------------------------------------------------------------------- */
enum { ALIVE_MS = 60000 };

/* nginx ends a worker that was told to stop once no timer is left that it must wait for, and an answer that
 * is being passed on may have none for a moment: its rest was cut off. This timer, one a worker, is such a
 * one while there are requests. */
static struct {
    ngx_event_t timer;
    ngx_connection_t none; /* of whose number nginx's debug log speaks */
    ngx_uint_t requests;
} alive;

static void stand(ngx_event_t *timer)
{
    if (alive.requests > 0)
        ngx_add_timer(timer, ALIVE_MS);
}

static void one_more(void)
{
    alive.timer.cancelable = 0;
    if (alive.requests++ > 0 || alive.timer.timer_set)
        return;
    alive.timer.handler = stand;
    alive.timer.data = &alive.none;
    alive.none.fd = -1;
    alive.timer.log = ngx_cycle->log;
    ngx_add_timer(&alive.timer, ALIVE_MS);
}

static void one_less(void)
{
    alive.timer.cancelable = --alive.requests == 0;
}

/* Random bytes are fetched from the kernel for some forty requests at once; what was given is wiped. */
void ngx_http_tab_random(void *p, size_t n)
{
    static u_char drawn[1024];
    static size_t left;
    if (left < n) {
        randombytes_buf(drawn, sizeof drawn);
        left = sizeof drawn;
    }
    left -= n;
    ngx_memcpy(p, drawn + left, n);
    sodium_memzero(drawn + left, n);
}

static void on_cleanup(void *data)
{
    tab_ctx *ctx = data;
    one_less();
    ngx_http_tab_over(&ctx->echo[0]);
    ngx_http_tab_over(&ctx->echo[1]);
    ngx_http_tab_redis_forget(data);
    ngx_http_tab_body_quota_end(data);
}

tab_ctx *ngx_http_tab_ctx(ngx_http_request_t *r)
{
    r = r->main;
    tab_ctx *ctx = ngx_http_get_module_ctx(r, ngx_http_tab_module);
    if (ctx != NULL)
        return ctx;
    if (r->internal || r->filter_finalize) {
        for (ngx_pool_cleanup_t *cln = r->pool->cleanup; cln != NULL; cln = cln->next)
            if (cln->handler == on_cleanup) {
                ngx_http_set_ctx(r, cln->data, ngx_http_tab_module);
                return cln->data;
            }
    }
    ngx_pool_cleanup_t *cln = ngx_pool_cleanup_add(r->pool, sizeof *ctx);
    if (cln == NULL)
        return NULL;
    ctx = cln->data;
    ngx_memzero(ctx, sizeof *ctx);
    cln->handler = on_cleanup;
    ctx->request = r;
    one_more();
    tab_random_id_from(ngx_http_tab_random, "req_", 22, (char *)ctx->id);
    ctx->id_len = 26;
    ngx_http_set_ctx(r, ctx, ngx_http_tab_module);
    return ctx;
}

/* ---- the envelope ---------------------------------------------------------------------------- */
static ngx_int_t push_header(ngx_http_request_t *r, const char *name, u_char *value, size_t len)
{
    ngx_table_elt_t *h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL)
        return NGX_ERROR;
    h->hash = 1;
    h->key.data = (u_char *)name;
    h->key.len = ngx_strlen(name);
    h->value.data = value;
    h->value.len = len;
    return NGX_OK;
}

/* type, message and param are our own constants: nothing in them needs escaping. */
ngx_int_t ngx_http_tab_send(ngx_http_request_t *r, ngx_uint_t status, const char *type, const char *message,
                            const char *param, ngx_uint_t retry_s)
{
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (ctx == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    size_t room = 160 + ngx_strlen(type) + ngx_strlen(message) + (param ? ngx_strlen(param) : 0);
    ngx_buf_t *b = ngx_create_temp_buf(r->pool, room);
    u_char *retry = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (b == NULL || retry == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    b->last = ngx_sprintf(b->last, "{\"error\":{\"type\":\"%s\",\"message\":\"%s\",", type, message);
    if (param != NULL && param[0] != '\0')
        b->last = ngx_sprintf(b->last, "\"param\":\"%s\",", param);
    b->last = ngx_sprintf(b->last, "\"request_id\":\"%*s\"}}\n", ctx->id_len, ctx->id);
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;

    ctx->error_type = type;
    ngx_http_tab_body_quota_quiet(ctx);
    if (ngx_http_discard_request_body(r) != NGX_OK)
        r->keepalive = 0;
    r->err_status = 0; /* set by the error_page that led here; the verdict's status is kept */
    r->headers_out.status = status;
    r->headers_out.status_line.len = 0;
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "application/json");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    if (status == NGX_HTTP_UNAUTHORIZED &&
        push_header(r, "WWW-Authenticate", (u_char *)"Bearer", 6) != NGX_OK)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    if (retry_s > 0 &&
        push_header(r, "Retry-After", retry, (size_t)(ngx_sprintf(retry, "%ui", retry_s) - retry)) != NGX_OK)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;

    ngx_int_t rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only)
        return rc;
    ngx_chain_t out = { b, NULL };
    return ngx_http_output_filter(r, &out);
}
