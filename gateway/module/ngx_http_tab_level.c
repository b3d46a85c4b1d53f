/* What became of serve calls, by organization and day: the service level as its own gateway sees it, calls
 * that no api answered included (decision 0685).
 *
 * Each worker counts in memory of its own, without a lock, and tells Redis every two seconds; keys takes it
 * from there with the counters of use. What Redis refuses waits here. What was on its way when the connection
 * broke is not told again, for it may have arrived: it is lost rather than counted twice, and said in
 * tabella_service_level_unkept_total.
 *
 * How long a call took is what was ours of it: until its verdict, and the apis' answers. The time in which
 * the caller sends its body is not. */
#include "gateway/module/ngx_http_tab.h"

#include <ctype.h>

enum {
    ORGS = 4096,
    ENDPOINTS = 4096,
    ENDPOINT_ID = 22,
    TELL_MS = 2000,
    REFUSED_MS = 30000,
    DAY_MS = 86400000
};

static struct {
    tab_main_conf *conf;
    tab_level *counts, *endpoints;
    ngx_event_t tell; /* a timer, while something is counted */
} level;

static void told(const tab_level_entry *e, uint32_t n, tab_level_fate fate)
{
    uint64_t lost = 0;
    if (fate == TAB_LEVEL_IS_REFUSED) /* those of a call are of one table */
        lost = tab_level_put_back(strchr(e->org, ' ') == NULL ? level.counts : level.endpoints, e, n);
    for (uint32_t i = 0; fate == TAB_LEVEL_IS_LOST && i < n; i++)
        for (unsigned k = 0; k < TAB_LEVEL_KINDS; k++)
            lost += e[i].count[k];
    ngx_http_tab_count_unkept(level.conf, lost);
    if (fate == TAB_LEVEL_IS_REFUSED && !ngx_exiting)
        ngx_add_timer(&level.tell, REFUSED_MS);
}

static bool tell_all(void)
{
    return ngx_http_tab_redis_levels(level.counts, told) && ngx_http_tab_redis_levels(level.endpoints, told);
}

static void on_tell(ngx_event_t *ev)
{
    if (!tell_all() && !ev->timer_set)
        ngx_add_timer(ev, TELL_MS);
}

static ngx_uint_t ours_ms(const ngx_http_request_t *r, const tab_ctx *ctx)
{
    ngx_uint_t ms = ctx->let_in ? ctx->gate_ms : 0;
    const ngx_http_upstream_state_t *s = r->upstream_states == NULL ? NULL : r->upstream_states->elts;
    for (ngx_uint_t i = 0; s != NULL && i < r->upstream_states->nelts; i++)
        if (s[i].response_time != (ngx_msec_t)-1)
            ms += s[i].response_time;
    return ms;
}

/* Of the endpoint that the api says it was: by no name of the caller's, which could be any number. */
static void count_endpoint(ngx_http_request_t *r, const char *org, uint32_t day, unsigned status)
{
    char key[TAB_LEVEL_ORG];
    ngx_str_t id = ngx_http_tab_answered(r, "x-tabella-endpoint");
    if (id.len != ENDPOINT_ID || strlen(org) + 1 + id.len >= sizeof key)
        return;
    for (size_t i = 0; i < id.len; i++)
        if (!isalnum(id.data[i]))
            return;
    (void)ngx_snprintf((u_char *)key, sizeof key, "%s %V%Z", org, &id);
    const tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (!tab_level_add(level.endpoints, key, day, tab_level_kind_of(status), ours_ms(r, ctx)))
        ngx_http_tab_count_unkept(level.conf, 1);
}

/* In the log phase. */
ngx_int_t ngx_http_tab_level(ngx_http_request_t *r)
{
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    tab_ctx *ctx = loc->count && level.counts != NULL ? ngx_http_tab_ctx(r) : NULL;
    if (ctx == NULL || !ctx->routed || ctx->route.id != TAB_POST_SERVE)
        return NGX_OK;
    unsigned status = (unsigned)ngx_http_tab_status(r);
    const char *org = ctx->granted ? ctx->grant.org : ctx->last.org;
    if (org[0] == 0) { /* a bad key is nobody's; of a good one nobody may have known whose it is */
        ngx_http_tab_count_unkept(level.conf, status >= NGX_HTTP_INTERNAL_SERVER_ERROR);
        return NGX_OK;
    }
    uint32_t day = (uint32_t)(ngx_http_tab_clock_ms() / DAY_MS);
    if (!tab_level_add(level.counts, org, day, tab_level_kind_of(status), ours_ms(r, ctx)))
        ngx_http_tab_count_unkept(level.conf, 1);
    count_endpoint(r, org, day, status);
    if (!level.tell.timer_set && !ngx_exiting)
        ngx_add_timer(&level.tell, TELL_MS);
    return NGX_OK;
}

ngx_int_t ngx_http_tab_level_start(ngx_cycle_t *cycle, tab_main_conf *conf)
{
    level.conf = conf;
    level.counts = tab_level_new(ORGS);
    level.endpoints = tab_level_new(ENDPOINTS);
    level.tell.handler = on_tell;
    level.tell.log = cycle->log;
    level.tell.cancelable = 1; /* a graceful exit does not wait for it: _stop tells */
    level.tell.data = &level;
    return level.counts == NULL || level.endpoints == NULL ? NGX_ERROR : NGX_OK;
}

void ngx_http_tab_level_stop(void)
{
    if (level.counts != NULL)
        (void)tell_all();
}
