/* A body where the route takes none.
 *
 * Two servers that disagree about where a request ends take its rest for the next one, of whoever comes next
 * on that connection. So what goes to the api on such a route has neither body nor Content-Length, whatever
 * the client sent: a GET or HEAD with a body is refused; every other method may carry what clients send when
 * they have nothing to say (nothing, white space, {}), which is read and dropped
 * (decision 0230). */
#include "gateway/module/ngx_http_tab.h"

enum { NOTHING_MOST = 1024 }; /* bytes that still may say nothing */

static ngx_int_t refuse(ngx_http_request_t *r, tab_ctx *ctx)
{
    ctx->step = TAB_STEP_REFUSED;
    ngx_http_finalize_request(r, ngx_http_tab_send(r, NGX_HTTP_BAD_REQUEST, "validation_error",
                                                   "This route takes no body.", "body", 0));
    return NGX_DONE;
}

static bool says_nothing(const ngx_chain_t *in)
{
    static const char object[] = "{}";
    size_t bytes = 0, seen = 0;
    for (; in != NULL; in = in->next) {
        if (in->buf->in_file)
            return false;
        for (const u_char *p = in->buf->pos; p < in->buf->last; p++) {
            if (++bytes > NOTHING_MOST)
                return false;
            if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
                continue;
            if (seen == 2 || *p != (u_char)object[seen++])
                return false;
        }
    }
    return seen != 1;
}

/* Nothing is passed on: neither the bytes nor a header that announces some. */
static void drop(ngx_http_request_t *r)
{
    r->headers_in.content_length_n = -1;
    r->headers_in.content_length = NULL;
    r->headers_in.chunked = 0;
    if (r->request_body != NULL)
        r->request_body->bufs = NULL;
}

static void on_read(ngx_http_request_t *r)
{
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (ctx == NULL) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    } else if (!says_nothing(r->request_body->bufs)) {
        (void)refuse(r, ctx);
    } else {
        drop(r);
        r->write_event_handler = ngx_http_core_run_phases;
        ngx_http_core_run_phases(r);
    }
}

ngx_int_t ngx_http_tab_body(ngx_http_request_t *r, tab_ctx *ctx)
{
    if (ctx->body_seen || (tab_routes[ctx->route.id].flags & TAB_ROUTE_BODY))
        return NGX_OK;
    ctx->body_seen = 1;
    if (r->headers_in.content_length_n <= 0 && !r->headers_in.chunked) {
        drop(r);
        return NGX_OK;
    }
    bool reads = r->method == NGX_HTTP_GET || r->method == NGX_HTTP_HEAD;
    if (reads || r->headers_in.content_length_n > NOTHING_MOST)
        return refuse(r, ctx);
    ngx_int_t rc = ngx_http_read_client_request_body(r, on_read);
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE)
        return rc;
    ngx_http_finalize_request(r, NGX_DONE); /* reading holds the request */
    return NGX_DONE;
}
