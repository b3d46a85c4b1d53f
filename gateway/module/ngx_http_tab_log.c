/* What the log says of a request, in the keys of the daemons' logs, and its trace context (decision 0334).
 *
 *   $tab_ts           now, RFC 3339, UTC
 *   $tab_ms           the whole of it          $tab_gate_ms  until its verdict
 *   $tab_api_ms       the api's answer         $tab_body_ms  from the verdict until it was sent to the api
 *   $tab_error_type   of an envelope made here, else what the api said
 *   $tab_trace_id     empty where tab_trace is off
 *   $tab_trace        for the api: TRACE-PARENT-FLAGS; the parent is 0s where the trace begins here
 *
 * A duration that does not exist is null. */
#include "gateway/module/ngx_http_tab.h"

#include "gateway/module/tab_number.h"
#include "gateway/module/tab_trace.h"

enum { HEX_TRACE = TAB_HEX_TRACE, HEX_SPAN = TAB_HEX_SPAN };

void ngx_http_tab_let_in(tab_ctx *ctx)
{
    ctx->gate_ms = ngx_http_tab_ms(ctx->request);
    ctx->let_in = 1;
}

/* ---- trace context --------------------------------------------------------------------------- */

static ngx_table_elt_t *traceparent(ngx_http_request_t *r)
{
    ngx_table_elt_t *found = NULL;
    for (ngx_list_part_t *part = &r->headers_in.headers.part; part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == 11 && ngx_strncmp(h[i].lowcase_key, "traceparent", 11) == 0) {
                if (found != NULL)
                    return NULL; /* twice: none */
                found = &h[i];
            }
    }
    return found;
}

/* Once a request: its own trace, or, with tab_trace take, its caller's. */
static void trace(ngx_http_request_t *r, tab_ctx *ctx, const tab_main_conf *conf)
{
    u_char bytes[HEX_TRACE / 2 + 4];
    if (ctx->trace_len > 0 || conf->trace == TAB_TRACE_OFF)
        return;
    ngx_table_elt_t *h = conf->trace == TAB_TRACE_TAKE ? traceparent(r->main) : NULL;
    ctx->trace_len = HEX_TRACE + 1 + HEX_SPAN + 1 + 2;
    if (h != NULL && tab_traceparent_valid(h->value.data, h->value.len)) {
        ngx_memcpy(ctx->trace, h->value.data + 3, HEX_TRACE + 1 + HEX_SPAN);
        ngx_memcpy(ctx->trace + HEX_TRACE + 1 + HEX_SPAN,
                   tab_traceparent_sampled(h->value.data) ? "-01" : "-00", 3);
        return;
    }
    uint32_t draw;
    ngx_http_tab_random(bytes, sizeof bytes);
    ngx_memcpy(&draw, bytes + HEX_TRACE / 2, sizeof draw);
    (void)ngx_hex_dump(ctx->trace, bytes, HEX_TRACE / 2);
    ngx_memcpy(ctx->trace + HEX_TRACE,
               draw % 10000 < conf->trace_share ? "-0000000000000000-01" : "-0000000000000000-00",
               1 + HEX_SPAN + 3);
}

/* ---- variables ------------------------------------------------------------------------------- */

enum { TS, WHOLE, GATE, BODY, API, ERROR_TYPE, TRACE_ID, TRACE };

static ngx_int_t number(ngx_http_request_t *r, ngx_http_variable_value_t *v, bool there, ngx_uint_t ms)
{
    v->data = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (v->data == NULL)
        return NGX_ERROR;
    u_char *end = there ? tab_number_put(v->data, ms) : ngx_cpymem(v->data, "null", 4);
    v->len = (unsigned)(end - v->data) & 0xfffffff;
    return NGX_OK;
}

/* RFC 3339 with microseconds, as the daemons write it; nginx's clock has milliseconds. The text of a second
 * serves for all of its requests. */
static ngx_int_t timestamp(ngx_http_request_t *r, ngx_http_variable_value_t *v)
{
    enum { SECOND = sizeof "0000-00-00T00:00:00" - 1, WHOLE_TEXT = SECOND + sizeof ".000000Z" - 1 };
    static u_char text[SECOND];
    static time_t of = -1;
    const ngx_time_t *now = ngx_timeofday();
    if (now->sec != of) {
        ngx_tm_t t;
        ngx_gmtime(now->sec, &t);
        (void)ngx_snprintf(text, SECOND, "%4d-%02d-%02dT%02d:%02d:%02d", t.ngx_tm_year, t.ngx_tm_mon,
                           t.ngx_tm_mday, t.ngx_tm_hour, t.ngx_tm_min, t.ngx_tm_sec);
        of = now->sec;
    }
    v->data = ngx_pnalloc(r->pool, WHOLE_TEXT);
    if (v->data == NULL)
        return NGX_ERROR;
    u_char *p = ngx_cpymem(v->data, text, SECOND);
    *p++ = '.';
    *p++ = (u_char)('0' + now->msec / 100);
    *p++ = (u_char)('0' + now->msec / 10 % 10);
    *p++ = (u_char)('0' + now->msec % 10);
    ngx_memcpy(p, "000Z", 4);
    v->len = WHOLE_TEXT;
    return NGX_OK;
}

/* The last try's, of those that there were; the others are in its beginning. */
static bool upstream(ngx_http_request_t *r, ngx_uint_t *ret_began, ngx_uint_t *ret_took)
{
    if (r->upstream_states == NULL || r->upstream_states->nelts == 0 || r->upstream == NULL)
        return false;
    ngx_http_upstream_state_t *s = r->upstream_states->elts, *last = &s[r->upstream_states->nelts - 1];
    if (last->response_time == (ngx_msec_t)-1)
        return false;
    ngx_uint_t all = ngx_http_tab_ms(r);
    *ret_took = last->response_time;
    *ret_began = all > last->response_time ? all - last->response_time : 0;
    return true;
}

static ngx_int_t text(ngx_http_variable_value_t *v, const u_char *p, size_t n)
{
    v->data = (u_char *)p;
    v->len = n & 0xfffffff;
    return NGX_OK;
}

ngx_str_t ngx_http_tab_answered(const ngx_http_request_t *r, const char *name)
{
    size_t n = strlen(name);
    for (ngx_list_part_t *part = r->upstream == NULL ? NULL : &r->upstream->headers_in.headers.part;
         part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == n && ngx_strncmp(h[i].lowcase_key, name, n) == 0)
                return h[i].value;
    }
    return (ngx_str_t)ngx_null_string;
}

static ngx_int_t error_type(ngx_http_request_t *r, tab_ctx *ctx, ngx_http_variable_value_t *v)
{
    if (ctx->error_type != NULL)
        return text(v, (const u_char *)ctx->error_type, ngx_strlen(ctx->error_type));
    ngx_str_t said = ngx_http_tab_answered(r, "x-tabella-error");
    return text(v, said.data, said.len);
}

static ngx_int_t variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t which)
{
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    tab_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_tab_module);
    if (ctx == NULL)
        return NGX_ERROR;
    ngx_uint_t began = 0, took = 0;
    bool api = which >= BODY && which <= API && upstream(r, &began, &took);
    v->valid = 1;
    v->no_cacheable = 1;
    v->not_found = 0;
    switch (which) {
    case TS:
        return timestamp(r, v);
    case WHOLE:
        return number(r, v, true, ngx_http_tab_ms(r));
    case GATE:
        return number(r, v, ctx->let_in, ctx->gate_ms);
    case BODY:
        return number(r, v, api && ctx->let_in, began > ctx->gate_ms ? began - ctx->gate_ms : 0);
    case API:
        return number(r, v, api, took);
    case ERROR_TYPE:
        return error_type(r, ctx, v);
    default:
        trace(r, ctx, conf);
        return text(v, ctx->trace, which == TRACE || ctx->trace_len == 0 ? ctx->trace_len : HEX_TRACE);
    }
}

static ngx_http_variable_t variables[] = {
    { ngx_string("tab_ts"), NULL, variable, TS, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_ms"), NULL, variable, WHOLE, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_gate_ms"), NULL, variable, GATE, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_body_ms"), NULL, variable, BODY, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_api_ms"), NULL, variable, API, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_error_type"), NULL, variable, ERROR_TYPE, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_trace_id"), NULL, variable, TRACE_ID, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_trace"), NULL, variable, TRACE, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    ngx_http_null_variable
};

ngx_int_t ngx_http_tab_log_variables(ngx_conf_t *cf)
{
    for (ngx_http_variable_t *v = variables; v->name.len > 0; v++) {
        ngx_http_variable_t *var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL)
            return NGX_ERROR;
        var->get_handler = v->get_handler;
        var->data = v->data;
    }
    return NGX_OK;
}

/* The share of requests whose own trace is sampled, 0 to 1, in ten-thousandths. */
char *ngx_http_tab_trace_share(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_main_conf *conf = c;
    ngx_str_t *args = cf->args->elts;
    (void)cmd;
    ngx_int_t x = ngx_atofp(args[1].data, args[1].len, 4);
    if (x < 0 || x > 10000)
        return "must be a number from 0 to 1 of at most four decimals";
    conf->trace_share = (ngx_uint_t)x;
    return NGX_CONF_OK;
}
