/* What a key may not do although its scopes allow it: its time is over, or it calls from a network that is
 * not its own (common/security/bounds.h). Endpoints are the api's to check, which knows the id behind a name.
 * */
#include "gateway/module/ngx_http_tab.h"

enum { MESSAGE = 256 };

/* The caller's address, after set_real_ip_from; false for a socket of another family. */
static bool address_of(const struct sockaddr *sa, tab_network *ret)
{
    if (sa->sa_family == AF_INET) {
        *ret = tab_network_of((const uint8_t *)&((const struct sockaddr_in *)sa)->sin_addr, 4);
        return true;
    }
#if (NGX_HAVE_INET6)
    if (sa->sa_family == AF_INET6) {
        *ret = tab_network_of((const uint8_t *)&((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
        return true;
    }
#endif
    return false;
}

static const char *message(ngx_http_request_t *r, const char *format, void *arg)
{
    u_char *p = ngx_pnalloc(r->pool, MESSAGE);
    if (p == NULL)
        return "This API key is not allowed here.";
    *ngx_snprintf(p, MESSAGE - 1, format, arg) = '\0';
    return (const char *)p;
}

static tab_refusal ended(ngx_http_request_t *r, int64_t until_s)
{
    ngx_tm_t t;
    u_char text[32];
    ngx_str_t s = { 0, text };
    ngx_gmtime((time_t)until_s, &t);
    s.len = (size_t)(ngx_sprintf(text, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.ngx_tm_year, t.ngx_tm_mon,
                                 t.ngx_tm_mday, t.ngx_tm_hour, t.ngx_tm_min, t.ngx_tm_sec) -
                     text);
    return (tab_refusal){ NGX_HTTP_UNAUTHORIZED, TAB_KEY_EXPIRED, NULL,
                          message(r,
                                  "This API key expired at %V. Use the key that replaced it, or have its "
                                  "expiry changed.",
                                  &s) };
}

tab_refusal ngx_http_tab_bounds(ngx_http_request_t *r, const tab_grant *g)
{
    tab_bounds b;
    tab_network address;
    struct timespec now;
    tab_refusal none = { 0 };
    if (g->bounds.n == 0)
        return none;
    clock_gettime(CLOCK_REALTIME, &now);
    bool read = tab_bounds_read(g->bounds, &b);
    if (read && b.until_s > 0 && now.tv_sec > b.until_s)
        return ended(r, b.until_s);
    bool known = read && address_of(r->connection->sockaddr, &address);
    bool own = known && (b.key_networks.p == NULL || tab_bounds_has_address(b.key_networks, &address));
    if (read && own && (b.org_networks.p == NULL || tab_bounds_has_address(b.org_networks, &address)))
        return none;
    if (read && b.key_networks.p == NULL && b.org_networks.p == NULL)
        return none; /* any address, also that of a local socket */
    return (tab_refusal){
        NGX_HTTP_FORBIDDEN, TAB_KEY_NETWORK, "networks",
        message(r,
                own ? "Your organization accepts calls only from its listed networks, and %V is "
                      "in none of them. Call from a listed network, or have this one added."
                    : "This API key works only from its listed networks, and %V is in none of "
                      "them. Call from a listed network, or have this one added.",
                &r->connection->addr_text)
    };
}
