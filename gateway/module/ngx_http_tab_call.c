/* See ngx_http_tab_call.h: calls in Redis' protocol, by hand into one buffer. */
#include "gateway/module/ngx_http_tab_call.h"

#include "gateway/module/tab_number.h"

tab_str ngx_http_tab_endpoint_of(const tab_ctx *ctx)
{
    bool has = ctx->routed && (tab_routes[ctx->route.id].flags & TAB_ROUTE_ENDPOINT);
    return has ? ctx->route.param[0] : TAB_S("");
}

unsigned ngx_http_tab_scope_of(const tab_ctx *ctx)
{
    return ctx->routed ? (unsigned)tab_routes[ctx->route.id].scope : 0;
}

size_t ngx_http_tab_call_keys(const tab_call *call, ngx_uint_t g)
{
    return call->group[g].endpoint ? 3 : 2;
}

static u_char *put_length(u_char *p, size_t n)
{
    *p++ = '$';
    return ngx_cpymem(tab_number_put(p, n), "\r\n", 2);
}

static u_char *put_text(u_char *p, const void *text, size_t n)
{
    p = put_length(p, n);
    p = ngx_cpymem(p, text, n);
    return ngx_cpymem(p, "\r\n", 2);
}

static u_char *put_number(u_char *p, uint64_t x)
{
    u_char number[TAB_NUMBER_TEXT];
    return put_text(p, number, (size_t)(tab_number_put(number, x) - number));
}

static u_char *put_words(u_char *p, tab_str a, tab_str b, tab_str c)
{
    p = put_length(p, a.n + b.n + c.n);
    p = ngx_cpymem(p, a.p, a.n);
    p = ngx_cpymem(p, b.p, b.n);
    p = ngx_cpymem(p, c.p, c.n);
    return ngx_cpymem(p, "\r\n", 2);
}

static u_char *write_count(u_char *p, const tab_call *call)
{
    p = ngx_sprintf(p, "*%ui\r\n$5\r\nFCALL\r\n$8\r\ntab_gate\r\n", 3 + 4 * call->groups);
    p = put_number(p, call->groups);
    for (ngx_uint_t g = 0; g < call->groups; g++)
        p = put_words(p, TAB_S("tab:g:"), (tab_str){ call->group[g].first->hash, 64 }, TAB_S(""));
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        tab_str endpoint = ngx_http_tab_endpoint_of(call->group[g].first);
        p = put_number(p, ngx_http_tab_scope_of(call->group[g].first));
        p = put_text(p, endpoint.p, endpoint.n);
        p = put_number(p, call->group[g].n);
    }
    return p;
}

static u_char *write_read(u_char *p, const tab_call *call)
{
    size_t keys = 0;
    for (ngx_uint_t g = 0; g < call->groups; g++)
        keys += ngx_http_tab_call_keys(call, g);
    p = ngx_sprintf(p, "*%uz\r\n$4\r\nMGET\r\n", 1 + keys);
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        tab_str org = tab_str_of(tab_ahead_told(call->group[g].caller)->entry.grant.org);
        tab_str endpoint = tab_ahead_endpoint(call->group[g].caller);
        p = put_words(p, TAB_S("tab:g:"), (tab_str){ call->group[g].first->hash, 64 }, TAB_S(""));
        p = put_words(p, TAB_S("tab:v:"), org, TAB_S(""));
        if (!call->group[g].endpoint)
            continue;
        p = put_length(p, 7 + org.n + endpoint.n);
        p = ngx_cpymem(p, "tab:s:", 6);
        p = ngx_cpymem(p, org.p, org.n);
        *p++ = ':';
        p = ngx_cpymem(p, endpoint.p, endpoint.n);
        p = ngx_cpymem(p, "\r\n", 2);
    }
    return p;
}

static u_char *write_settle(u_char *p, const tab_call *call)
{
    p = ngx_sprintf(p, "*%ui\r\n$5\r\nFCALL\r\n$10\r\ntab_settle\r\n$1\r\n0\r\n", 3 + 7 * call->groups);
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        const tab_grant *grant = &tab_ahead_told(call->group[g].caller)->entry.grant;
        tab_str endpoint = tab_ahead_endpoint(call->group[g].caller);
        p = put_text(p, grant->org, ngx_strlen(grant->org));
        p = put_text(p, grant->key, ngx_strlen(grant->key));
        p = put_text(p, endpoint.p, endpoint.n);
        p = put_number(p, grant->key_rpm);
        p = put_number(p, grant->org_rpm);
        p = put_number(p, grant->endpoint_rpm);
        p = put_number(p, call->group[g].n);
    }
    return p;
}

/* "level DAY ORG", a field of tab:use, and its counts. */
static u_char *write_level(u_char *p, const tab_call *call)
{
    enum { FIELD = 24 + TAB_LEVEL_ORG, COUNTS = TAB_LEVEL_COUNTS * (TAB_NUMBER_TEXT + 1) };
    u_char field[FIELD], counts[COUNTS];
    p = ngx_sprintf(p, "*%ui\r\n$5\r\nFCALL\r\n$9\r\ntab_level\r\n$1\r\n0\r\n", 3 + 2 * call->groups);
    for (ngx_uint_t g = 0; g < call->groups; g++) {
        const tab_level_entry *e = &call->level[g];
        u_char *end = ngx_snprintf(field, FIELD, "level %uD %s", e->day, e->org), *at = counts;
        p = put_text(p, field, (size_t)(end - field));
        for (ngx_uint_t i = 0; i < TAB_LEVEL_COUNTS; i++) {
            at = tab_number_put(at, e->count[i]);
            *at++ = ' ';
        }
        p = put_text(p, counts, (size_t)(at - counts - 1));
    }
    return p;
}

u_char *ngx_http_tab_call_write(u_char *p, const tab_call *call)
{
    switch (call->kind) {
    case TAB_CALL_COUNT:
        return write_count(p, call);
    case TAB_CALL_READ:
        return write_read(p, call);
    case TAB_CALL_SETTLE:
        return write_settle(p, call);
    case TAB_CALL_LEVEL:
        break;
    }
    return write_level(p, call);
}
