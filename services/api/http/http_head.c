/* See http_head.h. */
#include "services/api/http/http_head.h"

#include <stdio.h>
#include <strings.h>

bool http_header_in(request *r, const char *name, tab_str given, tab_str *identity)
{
    tab_str value = tab_arena_copy(r->arena, given);
    if (value.p == NULL)
        return false;
    if (strcasecmp(name, TAB_IDENTITY_HEADER) == 0)
        *identity = value;
    else if (strcasecmp(name, "Content-Type") == 0)
        r->content_type = value.p;
    else if (strcasecmp(name, "Content-Encoding") == 0)
        r->content_encoding = value.p;
    else if (strcasecmp(name, "Accept") == 0)
        r->accept = value.p;
    else if (strcasecmp(name, "MCP-Protocol-Version") == 0)
        r->mcp_header.version = value.p;
    else if (strcasecmp(name, "Mcp-Method") == 0)
        r->mcp_header.method = value.p;
    else if (strcasecmp(name, "Mcp-Name") == 0)
        r->mcp_header.name = value.p;
    else if (strcasecmp(name, "Origin") == 0)
        r->mcp_header.origin = value.p;
    else if (strcasecmp(name, "X-Tabella-Trace") == 0)
        r->trace = value.p;
    else if (strcasecmp(name, "X-Tabella-Address") == 0 && value.n < 46) /* INET6_ADDRSTRLEN */
        r->address = value.p;
    else if (strcasecmp(name, "User-Agent") == 0)
        r->agent = value.p;
    else if (strcasecmp(name, "X-Tabella-Session") == 0)
        r->session = value.p;
    else if (strcasecmp(name, "X-Tabella-Signin") == 0)
        r->signin = value.p;
    else if (strcasecmp(name, "X-Tabella-Uncounted") == 0)
        r->uncounted = value.n == 1 && value.p[0] == '1';
    else if (strcasecmp(name, "Idempotency-Key") == 0) {
        r->idempotency_key = value.p;
        r->idempotency_headers++;
    }
    return true;
}

bool http_target_in(request *r, tab_str target)
{
    const char *q = memchr(target.p, '?', target.n);
    size_t n = q != NULL ? (size_t)(q - target.p) : target.n;
    r->path = tab_arena_copy(r->arena, (tab_str){ target.p, n });
    r->query = q != NULL ? tab_arena_copy(r->arena, (tab_str){ q + 1, target.n - n - 1 }) : TAB_S("");
    return r->path.p != NULL && r->query.p != NULL;
}

void http_headers_out(const request *r, void (*add)(void *to, const char *name, const char *value), void *to)
{
    char number[24], parts[128];
    add(to, "X-Request-Id", r->request_id);
    if (r->status != 204)
        add(to, "Content-Type", r->media != NULL ? r->media : "application/json");
    if (r->grant[0] != 0)
        add(to, TAB_GRANT_HEADER, r->grant);
    if (r->arrived_us > 0) { /* for the gateway's log; it goes no further */
        snprintf(parts, sizeof parts, "queue=%.1f;postgres=%.1f;redis=%.1f;services=%.1f",
                 (double)r->spent.queue_us / 1e3, (double)r->spent.postgres_us / 1e3,
                 (double)r->spent.redis_us / 1e3, (double)r->spent.services_us / 1e3);
        add(to, "X-Tabella-Parts", parts);
    }
    if (r->error_type != NULL)
        add(to, "X-Tabella-Error", r->error_type);
    if (r->endpoint != NULL) /* the gateway counts by it, and keeps it */
        add(to, "X-Tabella-Endpoint", r->endpoint);
    if (r->cookie != NULL && r->status < 300)
        add(to, "Set-Cookie", r->cookie);
    if (r->location != NULL && r->status == 201)
        add(to, "Location", r->location);
    if (r->retry_after > 0) {
        snprintf(number, sizeof number, "%u", r->retry_after);
        add(to, "Retry-After", number);
    }
}
