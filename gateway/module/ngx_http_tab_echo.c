/* An answer of the api is passed on only to the request that it names.
 *
 * Connections to the api are shared by all callers. Were one ever out of step (an answer too many on it, an
 * answer of the request before), the next caller would be given another's answer. The api names in
 * X-Request-Id the request that it answers, and takes the name from the signed identity alone. The
 * name is 131 random bits that are drawn for each call and shown to its caller with the answer, not before:
 * nobody can prepare an answer for another's call (decision 0231).
 *
 * Checked where nginx reads the header of the answer, of requests and of questions about keys alike: before
 * any byte of it leaves, and whatever follows (a body, an error page, another try). */
#include "gateway/module/ngx_http_tab.h"

static tab_echo *echo_of(ngx_http_request_t *r)
{
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    return ctx == NULL ? NULL : &ctx->echo[r != r->main];
}

static bool names_us(ngx_http_request_t *r)
{
    static const char name[] = "x-request-id";
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    ngx_list_part_t *part = &r->upstream->headers_in.headers.part;
    for (; part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == sizeof name - 1 && ngx_memcmp(h[i].lowcase_key, name, sizeof name - 1) == 0)
                return h[i].value.len == ctx->id_len &&
                       ngx_memcmp(h[i].value.data, ctx->id, ctx->id_len) == 0;
    }
    return false; /* what is no answer at all is refused, too: nginx would pass its bytes on as HTTP/0.9 */
}

/* nginx's parser of the status line sets the parser of the header as the next step; ours is set in its
 * place. */
static void stay(ngx_http_request_t *r, tab_echo *echo, ngx_int_t (*ours)(ngx_http_request_t *r))
{
    if (r->upstream->process_header != ours)
        echo->process_header = r->upstream->process_header;
    r->upstream->process_header = ours;
}

/* "Invalid header" is nginx's 502: no second try, and the connection is closed. */
static ngx_int_t process_header(ngx_http_request_t *r)
{
    tab_echo *echo = echo_of(r);
    ngx_uint_t version = r->http_version;
    ngx_int_t rc = echo->process_header(r);
    stay(r, echo, process_header);
    if (rc != NGX_OK || names_us(r))
        return rc;
    r->http_version = version; /* bytes that are no answer made it 0.9, whose answers have no header */
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "tab: the api answered another request than this one; its connection is closed");
    return NGX_HTTP_UPSTREAM_INVALID_HEADER;
}

static ngx_int_t reinit_request(ngx_http_request_t *r)
{
    tab_echo *echo = echo_of(r);
    ngx_int_t rc = echo->reinit_request(r);
    stay(r, echo, process_header);
    return rc;
}

static ngx_int_t init_peer(ngx_http_request_t *r, ngx_http_upstream_srv_conf_t *us)
{
    tab_srv_conf *conf = ngx_http_conf_upstream_srv_conf(us, ngx_http_tab_module);
    tab_echo *echo = echo_of(r);
    if (echo == NULL || conf->init(r, us) != NGX_OK)
        return NGX_ERROR;
    echo->reinit_request = r->upstream->reinit_request;
    r->upstream->reinit_request = reinit_request;
    stay(r, echo, process_header);
    ngx_http_tab_under_way(r, echo);
    return ngx_http_tab_patience(r);
}

static ngx_int_t init_upstream(ngx_conf_t *cf, ngx_http_upstream_srv_conf_t *us)
{
    tab_srv_conf *conf = ngx_http_conf_upstream_srv_conf(us, ngx_http_tab_module);
    if (conf->init_upstream(cf, us) != NGX_OK)
        return NGX_ERROR;
    conf->init = us->peer.init;
    us->peer.init = init_peer;
    return NGX_OK;
}

char *ngx_http_tab_echo(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_srv_conf *conf = c;
    ngx_http_upstream_srv_conf_t *us = ngx_http_conf_get_module_srv_conf(cf, ngx_http_upstream_module);
    (void)cmd;
    if (conf->init_upstream != NULL)
        return "is duplicate";
    conf->init_upstream =
        us->peer.init_upstream != NULL ? us->peer.init_upstream : ngx_http_upstream_init_round_robin;
    us->peer.init_upstream = init_upstream;
    return NGX_CONF_OK;
}
