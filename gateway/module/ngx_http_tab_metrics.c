/* Metrics of all workers, and /metrics for Prometheus.
 *
 * A table of counters in shared memory, indexed by what is counted: workers add to it by atomics, and
 * whichever of them is asked writes it out. Labels are routes' patterns, statuses, types and limits, all of
 * them lists that are known here, so the table has one size and nothing that a caller sends makes it grow. A
 * reload keeps it; a restart begins with 0, as counters may. */
#include "gateway/module/ngx_http_tab.h"

#include "commit.h"
#include "common/base/config.h"

enum { NO_ROUTE = TAB_ROUTE_COUNT, ROUTES = TAB_ROUTE_COUNT + 1, BOUNDS_MOST = 12 };
enum { LINE = 256, EVERY_LINES = 6000 };

static const ngx_uint_t codes[] = { 200, 201, 202, 204, 304, 400, 401, 403, 404, 409,
                                    410, 413, 422, 429, 499, 500, 502, 503, 504, 0 };
static const char *const types[] = { "validation_error", "auth_error", "not_found", "rate_limit",
                                     "internal" };
static const char *const reasons[] = { "missing", "unknown", "revoked", "scope",
                                       "blocked", "expired", "network" };
static const char *const limits[] = {
    "scope=\"key\",unit=\"requests\"",      "scope=\"org\",unit=\"requests\"",
    "scope=\"endpoint\",unit=\"requests\"", "scope=\"org\",unit=\"bytes\"",
    "scope=\"address\",unit=\"failures\"",  "scope=\"address\",unit=\"connections\""
};
enum { CODES = sizeof codes / sizeof *codes, TYPES = sizeof types / sizeof *types };
enum { REASONS = sizeof reasons / sizeof *reasons, LIMITS = sizeof limits / sizeof *limits };

typedef struct {
    const char *name, *help;
    double unit; /* the sum is kept in whole parts of it */
    double bound[BOUNDS_MOST];
    ngx_uint_t n;
} tab_scale;

/* clang-format off */
static const tab_scale scales[] = {
    { "tabella_http_request_duration_seconds", "From a request's first byte to the end of its answer", 1e-3,
      { .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30 }, 12 },
    { "tabella_http_request_size_bytes", "Head and body of a request", 1,
      { 1e3, 1e4, 1e5, 1e6, 4e6, 16e6, 64e6 }, 7 },
    { "tabella_http_response_size_bytes", "Head and body of an answer", 1,
      { 1e3, 1e4, 1e5, 1e6, 4e6, 16e6, 64e6 }, 7 },
};
/* clang-format on */
enum { SCALES = sizeof scales / sizeof *scales };

typedef struct {
    ngx_atomic_t bucket[BOUNDS_MOST + 1], sum;
} tab_histogram;

struct tab_counts {
    ngx_atomic_t requests[ROUTES][CODES], errors[ROUTES][TYPES], failures[REASONS], limited[LIMITS];
    ngx_atomic_t unkept;       /* serve calls that no organization's service level holds */
    ngx_atomic_t here, here_s; /* requests decided without Redis, and when the last one was, ngx_time() */
    tab_histogram of[SCALES][ROUTES];
};

static ngx_int_t init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)zone->shm.addr;
    (void)old;
    if (pool->data == NULL)
        pool->data = ngx_slab_calloc(pool, sizeof(tab_counts));
    return pool->data == NULL ? NGX_ERROR : NGX_OK;
}

ngx_int_t ngx_http_tab_metrics_zone(ngx_conf_t *cf, tab_main_conf *conf)
{
    ngx_str_t name = ngx_string("tab_metrics");
    conf->counts = ngx_shared_memory_add(cf, &name, sizeof(tab_counts) + 64 * 1024, &ngx_http_tab_module);
    if (conf->counts == NULL)
        return NGX_ERROR;
    conf->counts->init = init_zone;
    return NGX_OK;
}

static tab_counts *counts_of(ngx_http_request_t *r)
{
    tab_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_tab_module);
    return conf->counts == NULL ? NULL : ((ngx_slab_pool_t *)conf->counts->shm.addr)->data;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void add(ngx_atomic_t *at, ngx_uint_t by)
{
    (void)ngx_atomic_fetch_add(at, (ngx_atomic_int_t)by);
}

void ngx_http_tab_count_failure(ngx_http_request_t *r, tab_failure why)
{
    tab_counts *c = counts_of(r);
    if (c != NULL)
        add(&c->failures[why], 1);
}

void ngx_http_tab_count_limited(ngx_http_request_t *r, tab_limited which)
{
    tab_counts *c = counts_of(r);
    if (c != NULL)
        add(&c->limited[which], 1);
}

void ngx_http_tab_count_here(ngx_http_request_t *r)
{
    tab_counts *c = counts_of(r);
    if (c == NULL)
        return;
    add(&c->here, 1);
    c->here_s = (ngx_atomic_uint_t)ngx_time();
}

void ngx_http_tab_count_unkept(tab_main_conf *conf, uint64_t calls)
{
    if (conf->counts != NULL)
        add(&((tab_counts *)((ngx_slab_pool_t *)conf->counts->shm.addr)->data)->unkept, (ngx_uint_t)calls);
}

static void observe(tab_histogram *h, const tab_scale *s, ngx_uint_t units)
{
    ngx_uint_t b = 0;
    while (b < s->n && (double)units * s->unit > s->bound[b])
        b++;
    add(&h->bucket[b], 1);
    add(&h->sum, units);
}

ngx_uint_t ngx_http_tab_status(const ngx_http_request_t *r)
{
    return r->err_status ? r->err_status : r->headers_out.status;
}

ngx_uint_t ngx_http_tab_ms(const ngx_http_request_t *r)
{
    const ngx_time_t *now = ngx_timeofday();
    ngx_msec_int_t ms =
        (ngx_msec_int_t)((now->sec - r->start_sec) * 1000) + (ngx_msec_int_t)(now->msec - r->start_msec);
    return ms < 0 ? 0 : (ngx_uint_t)ms;
}

/* In the log phase, once for each request of a server with tab_count on. */
ngx_int_t ngx_http_tab_count(ngx_http_request_t *r)
{
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    tab_counts *c = counts_of(r);
    if (!loc->count || ctx == NULL || c == NULL)
        return NGX_OK;
    ngx_uint_t route = ctx->routed ? (ngx_uint_t)ctx->route.id : NO_ROUTE, i = 0;
    while (codes[i] != 0 && codes[i] != ngx_http_tab_status(r))
        i++;
    add(&c->requests[route][i], 1);
    observe(&c->of[0][route], &scales[0], ngx_http_tab_ms(r));
    observe(&c->of[1][route], &scales[1], (ngx_uint_t)r->request_length);
    observe(&c->of[2][route], &scales[2], (ngx_uint_t)r->connection->sent);
    for (i = 0; ctx->error_type != NULL && i < TYPES; i++)
        if (ngx_strcmp(types[i], ctx->error_type) == 0)
            add(&c->errors[route][i], 1);
    return NGX_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void head(ngx_buf_t *b, const char *name, const char *kind, const char *help)
{
    b->last = ngx_slprintf(b->last, b->end, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void line(ngx_buf_t *b, const char *name, const char *labels, ngx_uint_t value)
{
    b->last = labels == NULL ? ngx_slprintf(b->last, b->end, "%s %ui\n", name, value)
                             : ngx_slprintf(b->last, b->end, "%s{%s} %ui\n", name, labels, value);
}

static const char *path_of(ngx_uint_t route)
{
    return route < NO_ROUTE ? tab_routes[route].path : "none";
}

static const char *method_of(ngx_uint_t route)
{
    return route < NO_ROUTE ? tab_routes[route].method : "";
}

/* Of the statuses of a route: 200, and what there was. */
static void write_requests(ngx_buf_t *b, const tab_counts *c)
{
    static const char name[] = "tabella_http_requests_total";
    char labels[LINE];
    head(b, name, "counter", "Requests answered");
    for (ngx_uint_t route = 0; route < ROUTES; route++)
        for (ngx_uint_t i = 0; i < CODES; i++) {
            if (c->requests[route][i] == 0 && codes[i] != 200)
                continue;
            snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",code=\"%s%.0d\"", path_of(route),
                     method_of(route), codes[i] == 0 ? "other" : "", (int)codes[i]);
            line(b, name, labels, c->requests[route][i]);
        }
}

/* Of the types of a route: internal, and what there was. */
static void write_errors(ngx_buf_t *b, const tab_counts *c)
{
    static const char name[] = "tabella_errors_total";
    char labels[LINE];
    head(b, name, "counter", "Error envelopes made here, by type");
    for (ngx_uint_t route = 0; route < ROUTES; route++)
        for (ngx_uint_t i = 0; i < TYPES; i++) {
            if (c->errors[route][i] == 0 && i != TYPES - 1)
                continue;
            snprintf(labels, sizeof labels, "type=\"%s\",route=\"%s\"", types[i], path_of(route));
            line(b, name, labels, c->errors[route][i]);
        }
}

static void write_scale(ngx_buf_t *b, const tab_scale *s, const tab_histogram *of)
{
    head(b, s->name, "histogram", s->help);
    for (ngx_uint_t route = 0; route < ROUTES; route++) {
        ngx_uint_t n = 0;
        char text[LINE], le[32];
        for (ngx_uint_t i = 0; i <= s->n; i++) {
            n += of[route].bucket[i];
            snprintf(le, sizeof le, "%g", i < s->n ? s->bound[i] : 0.0);
            b->last = ngx_slprintf(b->last, b->end, "%s_bucket{route=\"%s\",method=\"%s\",le=\"%s\"} %ui\n",
                                   s->name, path_of(route), method_of(route), i < s->n ? le : "+Inf", n);
        }
        snprintf(text, sizeof text, "%.9g", (double)of[route].sum * s->unit);
        b->last = ngx_slprintf(
            b->last, b->end,
            "%s_sum{route=\"%s\",method=\"%s\"} %s\n%s_count{route=\"%s\",method=\"%s\"} %ui\n", s->name,
            path_of(route), method_of(route), text, s->name, path_of(route), method_of(route), n);
    }
}

static void write_connections(ngx_buf_t *b)
{
#if NGX_STAT_STUB
    head(b, "tabella_gateway_connections", "gauge", "Connections of clients, by what they do");
    line(b, "tabella_gateway_connections", "state=\"reading\"", *ngx_stat_reading);
    line(b, "tabella_gateway_connections", "state=\"writing\"", *ngx_stat_writing);
    line(b, "tabella_gateway_connections", "state=\"waiting\"", *ngx_stat_waiting);
    head(b, "tabella_gateway_connections_accepted_total", "counter", "Connections of clients");
    line(b, "tabella_gateway_connections_accepted_total", NULL, *ngx_stat_accepted);
    head(b, "tabella_gateway_connections_dropped_total", "counter",
         "Connections closed at once: no worker had a place for them");
    line(b, "tabella_gateway_connections_dropped_total", NULL, *ngx_stat_accepted - *ngx_stat_handled);
#endif
}

static void write_all(ngx_buf_t *b, const tab_counts *c)
{
    enum { FRESH_S = 60 };
    head(b, "tabella_build_info", "gauge", "What runs");
    line(b, "tabella_build_info",
         "daemon=\"gateway\",version=\"" TAB_VERSION "\",commit=\"" TAB_COMMIT "\",nginx=\"" NGINX_VERSION
         "\"",
         1);
    write_requests(b, c);
    write_errors(b, c);
    for (ngx_uint_t i = 0; i < SCALES; i++)
        write_scale(b, &scales[i], c->of[i]);
    head(b, "tabella_auth_failures_total", "counter", "Requests whose key was refused");
    for (ngx_uint_t i = 0; i < REASONS; i++) {
        char labels[LINE];
        snprintf(labels, sizeof labels, "reason=\"%s\"", reasons[i]);
        line(b, "tabella_auth_failures_total", labels, c->failures[i]);
    }
    head(b, "tabella_rate_limited_total", "counter", "Requests that a limit refused");
    for (ngx_uint_t i = 0; i < LIMITS; i++)
        line(b, "tabella_rate_limited_total", limits[i], c->limited[i]);
    head(b, "tabella_service_level_unkept_total", "counter",
         "Serve calls in no organization's service level: of keys nobody could look up, or lost underway");
    line(b, "tabella_service_level_unkept_total", NULL, c->unkept);
    head(b, "tabella_gateway_decided_here_total", "counter",
         "Requests whose rates this gateway counted by itself, for Redis was away");
    line(b, "tabella_gateway_decided_here_total", NULL, c->here);
    head(b, "tabella_gateway_limiter_fallback", "gauge", "1: there was such a request in the last minute");
    line(b, "tabella_gateway_limiter_fallback", NULL,
         c->here > 0 && (time_t)c->here_s + FRESH_S >= ngx_time());
    write_connections(b);
}

ngx_int_t ngx_http_tab_metrics(ngx_http_request_t *r)
{
    const tab_counts *c = counts_of(r);
    if (!(r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)))
        return NGX_HTTP_NOT_ALLOWED;
    if (c == NULL)
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    ngx_int_t rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK)
        return rc;
    ngx_buf_t *b = ngx_create_temp_buf(r->pool, EVERY_LINES * LINE);
    if (b == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    write_all(b, c);
    b->last_buf = (r == r->main);
    b->last_in_chain = 1;
    r->headers_out.status = NGX_HTTP_OK;
    r->headers_out.content_length_n = b->last - b->pos;
    ngx_str_set(&r->headers_out.content_type, "text/plain; version=0.0.4");
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;
    rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only)
        return rc;
    ngx_chain_t out = { b, NULL };
    return ngx_http_output_filter(r, &out);
}
