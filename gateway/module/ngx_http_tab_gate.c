/* One request's way to its verdict, in nginx's access phase.
 *
 *   START: form and checksum of the key --wrong--> 401
 *     |
 *   REDIS: tab_gate: key, scope, rates in one round trip --answered--> let in, 401, 403, 404 or 429
 *     |  no entry for the key, or Redis away
 *   ASK: the api asks keys (and the entry is filled) --unknown--> 401   --nobody knows--> 503
 *     |  granted
 *   REDIS again, which now counts; or, with Redis away, the limits of this node
 *
 * In place of a key a request may carry a session's cookie; what a page of another origin could send with
 * it is refused (decision 0337). An open route (TAB_ROUTE_OPEN) is let in with a grant of nothing.
 *
 * Order of checks: key, route, scope, rates. The route is decided from the raw path alone,
 * and only if nginx's own normalised path is byte for byte the same, so what is authorized, what
 * nginx forwards and what the api dispatches cannot be three different things. */
#include "gateway/module/ngx_http_tab.h"

#include "common/security/secret.h"

static const char unauthorized[] = "The API key is missing or invalid.";
enum { SIGN_INS = 60, LOGOUTS = 600 }; /* a minute from one address, at this node; logouts by a provider */

static const char too_many[] = "Too many requests. Retry after the time in Retry-After.";

static ngx_int_t refuse(ngx_http_request_t *r, tab_ctx *ctx, ngx_uint_t status, const char *type,
                        const char *message, const char *param, ngx_uint_t retry_s)
{
    ctx->step = TAB_STEP_REFUSED;
    ngx_http_finalize_request(r, ngx_http_tab_send(r, status, type, message, param, retry_s));
    return NGX_DONE;
}

static tab_limit_answer node_take(tab_main_conf *conf, const tab_limit *limits, size_t n, bool peek)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)conf->zone->shm.addr;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ngx_shmtx_lock(&pool->mutex);
    tab_limit_answer a = tab_limits_take(((tab_shared *)pool->data)->rates, limits, n,
                                         now.tv_sec * 1000000LL + now.tv_nsec / 1000, peek);
    ngx_shmtx_unlock(&pool->mutex);
    return a;
}

static ngx_uint_t seconds(int64_t ms)
{
    return ms <= 0 ? 0 : (ngx_uint_t)((ms + 999) / 1000);
}

/* ---- what strangers cost ---------------------------------------------------------------------
 *
 * A refused key is counted against its address. Past the limit the address' callers are told to wait, but
 * nobody is shut out for what others behind the same address do: a key that Redis knows, or that this node
 * has let in within a day, is looked up as ever; of the others one in a while is (STRANGERS). */
enum { GOOD_S = 24 * 3600, STRANGERS = 5 }; /* a fifth of the failures that an address has a minute */

static int64_t key_noted(tab_main_conf *conf, const tab_ctx *ctx, int64_t x)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)conf->zone->shm.addr;
    const tab_str hash = { ctx->hash, sizeof ctx->hash - 1 };
    ngx_shmtx_lock(&pool->mutex);
    int64_t noted = tab_limits_highest(((tab_shared *)pool->data)->good, hash, x);
    ngx_shmtx_unlock(&pool->mutex);
    return noted;
}

static int64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1;
}

static bool key_was_good(tab_main_conf *conf, const tab_ctx *ctx)
{
    int64_t noted = key_noted(conf, ctx, 0);
    return (noted & 1) != 0 && now_s() - noted / 2 < GOOD_S;
}

/* Only of a key that was good: strangers' keys take no place in the table. */
static void key_is_bad(tab_main_conf *conf, const tab_ctx *ctx)
{
    if ((key_noted(conf, ctx, 0) & 1) != 0)
        (void)key_noted(conf, ctx, 2 * (now_s() + 1));
}

static tab_limit address_limit(ngx_http_request_t *r, tab_main_conf *conf)
{
    tab_limit l = { 'a',
                    { (char *)r->connection->addr_text.data, r->connection->addr_text.len },
                    { NULL, 0 },
                    (uint32_t)conf->failures };
    return l;
}

static ngx_int_t refuse_key(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf, tab_failure why)
{
    tab_limit l = address_limit(r, conf);
    tab_limit_answer a = node_take(conf, &l, 1, false);
    ngx_http_tab_count_failure(r, a.let_in ? why : TAB_KEY_BLOCKED);
    if (!a.let_in)
        ngx_http_tab_count_limited(r, TAB_LIMITED_FAILURES);
    if (!a.let_in)
        return refuse(r, ctx, NGX_HTTP_TOO_MANY_REQUESTS, "rate_limit",
                      "Too many requests with an invalid key from this address.", NULL,
                      ngx_max(seconds(a.retry_ms), 1));
    return refuse(r, ctx, NGX_HTTP_UNAUTHORIZED, "auth_error", unauthorized, NULL, 0);
}

static ngx_int_t refuse_scope(ngx_http_request_t *r, tab_ctx *ctx)
{
    ngx_http_tab_count_failure(r, TAB_KEY_SCOPE);
    return refuse(r, ctx, NGX_HTTP_FORBIDDEN, "auth_error",
                  "The API key lacks the scope that this route needs.", NULL, 0);
}

/* What a person's role leaves of its scopes. NGX_OK: it may. */
static ngx_int_t refuse_role(ngx_http_request_t *r, tab_ctx *ctx, const tab_route *route)
{
    tab_bounds b;
    if (ctx->grant.bounds.n == 0)
        return NGX_OK;
    bool read = tab_bounds_read(ctx->grant.bounds, &b);
    if (read && b.role.p == NULL)
        return NGX_OK;
    tab_person_role role = read ? tab_role_named(b.role) : TAB_PERSON_NONE;
    if (role != TAB_PERSON_NONE && tab_person_role_allows(role, route))
        return NGX_OK;
    ngx_http_tab_count_failure(r, TAB_KEY_SCOPE);
    return refuse(r, ctx, NGX_HTTP_FORBIDDEN, "auth_error",
                  "Your role does not allow this. An admin of your organization can change it.", NULL, 0);
}

/* A good key that may not be used from here, or no longer. NGX_OK: it may. */
static ngx_int_t refuse_bounds(ngx_http_request_t *r, tab_ctx *ctx)
{
    tab_refusal no = ngx_http_tab_bounds(r, &ctx->grant);
    if (no.status == 0)
        return NGX_OK;
    ngx_http_tab_count_failure(r, no.why);
    return refuse(r, ctx, no.status, "auth_error", no.message, no.param, 0);
}

/* Over a limit. Of key and organization the tighter one is told, and it is empty if it is the one that
 * refuses; else it was the endpoint's. */
static ngx_int_t refuse_rate(ngx_http_request_t *r, tab_ctx *ctx, int64_t retry_ms)
{
    ngx_http_tab_count_limited(r, ctx->remaining > 0                 ? TAB_LIMITED_ENDPOINT
                                  : ctx->limit == ctx->grant.key_rpm ? TAB_LIMITED_KEY
                                                                     : TAB_LIMITED_ORG);
    return refuse(r, ctx, NGX_HTTP_TOO_MANY_REQUESTS, "rate_limit", too_many, NULL,
                  ngx_max(seconds(retry_ms), 1));
}

static ngx_int_t refuse_route(ngx_http_request_t *r, tab_ctx *ctx)
{
    if (ctx->route.allow != NULL && ctx->route.allow[0] != '\0') {
        ngx_table_elt_t *h = ngx_list_push(&r->headers_out.headers);
        if (h != NULL) {
            h->hash = 1;
            ngx_str_set(&h->key, "Allow");
            h->value.data = (u_char *)ctx->route.allow;
            h->value.len = ngx_strlen(ctx->route.allow);
        }
        return refuse(r, ctx, NGX_HTTP_NOT_FOUND, "not_found",
                      "This path does not support this method. Allow lists those that it does.", NULL, 0);
    }
    return refuse(r, ctx, NGX_HTTP_NOT_FOUND, "not_found", "No route matches this path.", NULL, 0);
}

/* Idempotency-Key: 1 to 255 printable ASCII characters, once. Checked here because nginx forwards only one
 * of two, and none that is empty. */
static bool idempotency_key_good(ngx_http_request_t *r)
{
    static const char name[] = "idempotency-key";
    ngx_uint_t seen = 0;
    ngx_list_part_t *part = &r->headers_in.headers.part;
    for (; part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++) {
            if (h[i].key.len != sizeof name - 1 || ngx_strncmp(h[i].lowcase_key, name, sizeof name - 1) != 0)
                continue;
            if (++seen > 1 || h[i].value.len == 0 || h[i].value.len > 255)
                return false;
            for (size_t k = 0; k < h[i].value.len; k++)
                if (h[i].value.data[k] < ' ' || h[i].value.data[k] > '~')
                    return false;
        }
    }
    return true;
}

static ngx_str_t header_of(ngx_http_request_t *r, const char *name)
{
    size_t n = ngx_strlen(name);
    ngx_str_t none = ngx_null_string;
    for (ngx_list_part_t *part = &r->headers_in.headers.part; part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == n && ngx_strncmp(h[i].lowcase_key, name, n) == 0)
                return h[i].value;
    }
    return none;
}

/* Whether the request comes from a page of ours, or from no page. A browser says it in Sec-Fetch-Site, and in
 * Origin, whose host is then the one that the request was sent to; scripts can set neither. */
static bool same_origin(ngx_http_request_t *r)
{
    ngx_str_t site = header_of(r, "sec-fetch-site"), origin = header_of(r, "origin");
    if (site.len > 0 && !(site.len == 11 && ngx_strncmp(site.data, "same-origin", 11) == 0) &&
        !(site.len == 4 && ngx_strncmp(site.data, "none", 4) == 0))
        return false;
    if (origin.len == 0)
        return true;
    u_char *host = ngx_strlchr(origin.data, origin.data + origin.len, '/');
    size_t skip = host == NULL ? 0 : (size_t)(host - origin.data) + 2;
    return r->headers_in.host != NULL && skip > 2 && skip <= origin.len &&
           r->headers_in.host->value.len == origin.len - skip &&
           ngx_strncasecmp(r->headers_in.host->value.data, origin.data + skip, origin.len - skip) == 0;
}

/* What a cookie can do that a key cannot: be sent by a page of somebody else. */
static const char *session_wrong(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    char want[TAB_CSRF_LENGTH + 1];
    if (!same_origin(r))
        return "A session cookie is accepted only in requests from the console's own origin.";
    if (r->method == NGX_HTTP_GET || r->method == NGX_HTTP_HEAD)
        return NULL;
    ngx_str_t token = header_of(r, "x-csrf-token");
    tab_csrf_token(&conf->identity_key, (tab_str){ ctx->hash, sizeof ctx->hash - 1 }, want);
    if (token.len != TAB_CSRF_LENGTH || sodium_memcmp(token.data, want, TAB_CSRF_LENGTH) != 0)
        return "Changes made with a session cookie need the session's token in the header X-CSRF-Token.";
    return NULL;
}

static ngx_int_t let_in(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf, ngx_str_t state)
{
    const tab_route *route = &tab_routes[ctx->route.id];
    if (!!(ctx->grant.scopes & TAB_GRANT_SESSION) != ctx->session)
        return refuse_key(r, ctx, conf, TAB_KEY_MISSING);
    const char *wrong = ctx->session ? session_wrong(r, ctx, conf) : NULL;
    if (wrong != NULL)
        return refuse(r, ctx, NGX_HTTP_FORBIDDEN, "auth_error", wrong, NULL, 0);
    if ((route->flags & TAB_ROUTE_IDEMPOTENT) && !idempotency_key_good(r))
        return refuse(r, ctx, NGX_HTTP_BAD_REQUEST, "validation_error",
                      "Idempotency-Key must be 1 to 255 printable ASCII characters, given once.",
                      "Idempotency-Key", 0);

    tab_identity id = {
        .time_ms = ngx_http_tab_clock_ms(),
        .request_id = { (char *)ctx->id, ctx->id_len },
        .route = tab_str_of(route->name),
        .path = { (char *)ctx->path.data, ctx->path.len },
        .state = state.len == 0 ? TAB_S("-") : (tab_str){ (char *)state.data, state.len },
        .grant = ctx->grant,
    };
    id.grant.bounds = tab_bounds_public(ctx->grant.bounds);
    ctx->grant.bounds = TAB_S(""); /* what it is a view into ends with this call */
    ctx->identity.data = ngx_pnalloc(r->pool, TAB_IDENTITY_TEXT);
    if (ctx->identity.data == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    ctx->identity.len =
        tab_identity_sign(&conf->identity_key, &id, (char *)ctx->identity.data, TAB_IDENTITY_TEXT);
    if (ctx->identity.len == 0)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    tab_bodies_verdict v = ngx_http_tab_body_quota_begin(r, ctx);
    if (v == TAB_BODIES_ORG)
        ngx_http_tab_count_limited(r, TAB_LIMITED_BYTES);
    if (v == TAB_BODIES_ORG)
        return refuse(r, ctx, NGX_HTTP_TOO_MANY_REQUESTS, "rate_limit", ngx_http_tab_body_quota_message, NULL,
                      1);
    if (v == TAB_BODIES_ALL)
        return refuse(r, ctx, NGX_HTTP_SERVICE_UNAVAILABLE, "internal",
                      "The service is receiving as many request bodies as it can. Retry with backoff.", NULL,
                      1);
    ctx->step = TAB_STEP_LET_IN;
    ngx_http_tab_let_in(ctx);
    return NGX_OK;
}

/* Redis is away: scope and rates are decided here, with the same numbers, for this node alone. */
static ngx_int_t decide_here(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    const tab_grant *g = &ctx->grant;
    ctx->node_rates = 1;
    ngx_http_tab_count_here(r);
    ngx_int_t rc = refuse_bounds(r, ctx);
    if (rc != NGX_OK)
        return rc;
    if (!ctx->routed)
        return refuse_route(r, ctx);
    const tab_route *route = &tab_routes[ctx->route.id];
    if ((g->scopes & (unsigned)route->scope) == 0)
        return refuse_scope(r, ctx);
    rc = refuse_role(r, ctx, route);
    if (rc != NGX_OK)
        return rc;
    tab_limit limits[3] = {
        { 'k', tab_str_of(g->key), { NULL, 0 }, g->key_rpm },
        { 'o', tab_str_of(g->org), { NULL, 0 }, g->org_rpm },
        { 'e', tab_str_of(g->org), ctx->route.param[0], g->endpoint_rpm },
    };
    tab_limit_answer a = node_take(conf, limits, (route->flags & TAB_ROUTE_ENDPOINT) ? 3 : 2, false);
    ctx->limit = a.limit;
    ctx->remaining = a.remaining;
    ctx->reset_s = seconds(a.reset_ms);
    ctx->rates = 1;
    if (!a.let_in)
        return refuse_rate(r, ctx, a.retry_ms);
    ngx_str_t none = ngx_null_string;
    return let_in(r, ctx, conf, none);
}

/* ---- asking the api -------------------------------------------------------------------------- */
static ngx_int_t on_asked(ngx_http_request_t *sub, void *data, ngx_int_t rc)
{
    tab_ctx *ctx = data;
    (void)rc;
    ctx->sub_status = sub->headers_out.status;
    ctx->sub = sub;
    return NGX_OK;
}

static ngx_int_t ask(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    tab_limit l = address_limit(r, conf);
    if (!node_take(conf, &l, 1, true).let_in && !key_was_good(conf, ctx)) {
        l.kind = 'u';
        l.per_minute = ngx_max(l.per_minute / STRANGERS, 1);
        if (!node_take(conf, &l, 1, false).let_in)
            return refuse_key(r, ctx, conf, TAB_KEY_BLOCKED);
    }

    tab_identity id = {
        .time_ms = ngx_http_tab_clock_ms(),
        .request_id = { (char *)ctx->id, ctx->id_len },
        .route = TAB_S(TAB_AUTHENTICATE_ROUTE),
        .path = TAB_S(TAB_AUTHENTICATE_PATH),
        .state = TAB_S("-"),
        .grant = { .org = "-", .plan = "-" },
    };
    ngx_memcpy(id.grant.key, ctx->hash, sizeof ctx->hash);
    ctx->question.data = ngx_pnalloc(r->pool, TAB_IDENTITY_TEXT);
    ngx_http_post_subrequest_t *ps = ngx_palloc(r->pool, sizeof *ps);
    if (ctx->question.data == NULL || ps == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    ctx->question.len =
        tab_identity_sign(&conf->identity_key, &id, (char *)ctx->question.data, TAB_IDENTITY_TEXT);
    ps->handler = on_asked;
    ps->data = ctx;
    ctx->sub = NULL;
    ctx->step = TAB_STEP_ASK;
    ngx_http_request_t *sub;
    if (ngx_http_subrequest(r, &conf->authenticate, NULL, &sub, ps, NGX_HTTP_SUBREQUEST_WAITED) != NGX_OK)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    /* An empty body of its own, so that the main request's body is neither read nor closed. */
    sub->request_body = ngx_pcalloc(r->pool, sizeof(ngx_http_request_body_t));
    if (sub->request_body == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    sub->headers_in.content_length_n = -1; /* a limit on the body does not apply to the question */
    sub->headers_in.content_length = NULL;
    sub->headers_in.chunked = 0;
    sub->header_only = 1;
    return NGX_AGAIN;
}

/* The grant outlives the text that it was read from. */
static bool keep_bounds(ngx_http_request_t *r, tab_grant *g)
{
    if (g->bounds.n == 0)
        return true;
    char *p = ngx_pnalloc(r->pool, g->bounds.n);
    if (p == NULL)
        return false;
    ngx_memcpy(p, g->bounds.p, g->bounds.n);
    g->bounds.p = p;
    return true;
}

static bool grant_header(ngx_http_request_t *sub, tab_grant *ret)
{
    static const char name[] = "x-tabella-grant";
    if (sub->upstream == NULL)
        return false;
    ngx_list_part_t *part = &sub->upstream->headers_in.headers.part;
    for (; part != NULL; part = part->next) {
        ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == sizeof name - 1 && ngx_strncmp(h[i].lowcase_key, name, sizeof name - 1) == 0)
                return tab_grant_read((tab_str){ (char *)h[i].value.data, h[i].value.len }, ret) &&
                       keep_bounds(sub, ret);
    }
    return false;
}

static tab_redis_answered answered;

static ngx_int_t on_answer_about_key(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    if (ctx->sub == NULL)
        return NGX_AGAIN; /* woken for another reason */
    if (ctx->sub_status == NGX_HTTP_UNAUTHORIZED) {
        key_is_bad(conf, ctx);
        return refuse_key(r, ctx, conf, TAB_KEY_UNKNOWN);
    }
    if (ctx->sub_status >= NGX_HTTP_INTERNAL_SERVER_ERROR && ctx->last_holds)
        ctx->grant = ctx->last;
    else if (ctx->sub_status != NGX_HTTP_NO_CONTENT || !grant_header(ctx->sub, &ctx->grant))
        return refuse(r, ctx, NGX_HTTP_SERVICE_UNAVAILABLE, "internal",
                      "The service cannot check API keys at the moment. Try again.", NULL, 1);
    ctx->granted = 1;
    (void)key_noted(conf, ctx, 2 * now_s() + 1);
    ngx_int_t rc = ngx_http_tab_redis_ask(ctx, answered);
    if (rc == NGX_AGAIN) {
        ctx->step = TAB_STEP_REDIS;
        r->read_event_handler = ngx_http_test_reading;
        return NGX_AGAIN;
    }
    return decide_here(r, ctx, conf);
}

/* ---- Redis' answer --------------------------------------------------------------------------- */
static int64_t highest_epoch(tab_main_conf *conf, tab_str org, uint64_t x)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)conf->zone->shm.addr;
    ngx_shmtx_lock(&pool->mutex);
    int64_t highest = tab_limits_highest(((tab_shared *)pool->data)->epochs, org, (int64_t)x);
    ngx_shmtx_unlock(&pool->mutex);
    return highest;
}

/* The organization of an entry or of a tombstone, as it stands there. */
static tab_str org_of(tab_str text)
{
    const char *p = text.p, *end = text.p + text.n;
    for (int words = text.n > 2 && memcmp(p, "x ", 2) == 0 ? 2 : 0; words > 0 && p < end; words--) {
        while (p < end && *p != ' ')
            p++;
        p += p < end;
    }
    size_t n = 0;
    while (p + n < end && p[n] != ' ')
        n++;
    return (tab_str){ p, n };
}

/* One whose time is over is asked about anew. It holds for TAB_PAST_S more where nobody can answer: what keys
 * is not there to say, it has not changed either, but for a revocation, which Redis tells of
 * (decision 0404). */
static bool in_time(tab_ctx *ctx, const tab_entry *e, int64_t now)
{
    if (now <= e->until_s)
        return true;
    ctx->last_holds = now <= e->until_s + TAB_PAST_S && (e->grant.scopes & TAB_GRANT_SESSION) == 0;
    if (ctx->last_holds)
        ctx->last = e->grant;
    ctx->last_holds = ctx->last_holds && keep_bounds(ctx->request, &ctx->last);
    return false;
}

/* An entry in Redis is not trusted as it is. It counts if the keys service signed it for this very key, if
 * its time is not over, and if no revocation of its organization is later: one that Redis tells of, or one
 * that this node has seen before (decision 0247). The time is this machine's, so Redis cannot lengthen it. */
static bool entry_good(tab_main_conf *conf, tab_ctx *ctx, const tab_redis_answer *a, tab_grant *ret)
{
    tab_str text = { (char *)a->grant.data, a->grant.len }, hash = { ctx->hash, sizeof ctx->hash - 1 };
    tab_str said = { (char *)a->epoch.data, a->epoch.len };
    tab_entry e;
    if (!conf->grant_key_set) {
        if (!tab_entry_read(NULL, hash, text, &e))
            return false;
        *ret = e.grant;
        return true;
    }
    uint64_t revoked = 0;
    tab_str org = org_of(text);
    bool told = said.n == 0 || tab_epoch_read(&conf->grant_key, org, said, &revoked);
    int64_t highest = highest_epoch(conf, org, revoked); /* noted even where the entry is refused */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!told || !tab_entry_read(&conf->grant_key, hash, text, &e) || (int64_t)e.epoch < highest)
        return false;
    (void)highest_epoch(conf, org, e.epoch);
    *ret = e.grant;
    return in_time(ctx, &e, now.tv_sec);
}

/* The same of an entry whose signatures held before: what is left are its time and later revocations. */
static bool word_good(tab_main_conf *conf, tab_ctx *ctx, const tab_ahead_word *w)
{
    if (!conf->grant_key_set)
        return true;
    uint64_t seen = w->entry.epoch > w->revoked ? w->entry.epoch : w->revoked;
    int64_t highest = highest_epoch(conf, tab_str_of(w->entry.grant.org), seen);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)w->entry.epoch >= highest && in_time(ctx, &w->entry, now.tv_sec);
}

static ngx_int_t judge(ngx_http_request_t *r, tab_ctx *ctx, const tab_redis_answer *a)
{
    tab_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_tab_module);
    const tab_ahead_word *told = a->told;
    tab_grant g;
    bool good = told != NULL ? word_good(conf, ctx, told) : a->code >= 0 && entry_good(conf, ctx, a, &g);
    if (a->code <= 0) { /* Redis is away, or has no entry */
        ctx->uncounted = a->code == 0;
        if (ctx->granted)
            return decide_here(r, ctx, conf);
        return ask(r, ctx, conf);
    }
    if (a->code == 2)
        return refuse_key(r, ctx, conf, TAB_KEY_REVOKED);
    if (!good)
        return ctx->granted ? decide_here(r, ctx, conf) : ask(r, ctx, conf);
    ctx->grant = told != NULL ? told->entry.grant : g;
    ctx->granted = 1;
    if (told == NULL) /* else it was noted when Redis counted it, not long ago (TAB_AHEAD_WORD_S) */
        (void)key_noted(conf, ctx, 2 * now_s() + 1);
    ngx_int_t rc = refuse_bounds(r, ctx);
    if (rc != NGX_OK)
        return rc;
    if (a->code == 5 || !ctx->routed)
        return refuse_route(r, ctx);
    if (a->code == 3 || (ctx->grant.scopes & (unsigned)tab_routes[ctx->route.id].scope) == 0)
        return refuse_scope(r, ctx);
    rc = refuse_role(r, ctx, &tab_routes[ctx->route.id]);
    if (rc != NGX_OK)
        return rc;
    ctx->limit = (ngx_uint_t)a->limit;
    ctx->remaining = (ngx_uint_t)a->remaining;
    ctx->reset_s = seconds(a->reset_ms);
    ctx->rates = 1;
    if (a->code != 1)
        return refuse_rate(r, ctx, a->retry_ms);
    return let_in(r, ctx, conf, a->state);
}

/* Redis' answer arrives outside of nginx's phases. The verdict is kept in the context, and the phases are
 * run again from it. */
static void answered(ngx_http_request_t *r, tab_ctx *ctx, const tab_redis_answer *a)
{
    ngx_connection_t *c = r->connection;
    r->read_event_handler = ngx_http_block_reading;
    ngx_int_t rc = judge(r, ctx, a);
    if (rc == NGX_OK)
        ngx_http_core_run_phases(r);
    else if (rc >= NGX_HTTP_SPECIAL_RESPONSE)
        ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}

/* ---- the phase handler ----------------------------------------------------------------------- */

/* The raw path, if nginx's normalised path is the same; "" otherwise. */
static ngx_str_t plain_path(ngx_http_request_t *r)
{
    ngx_str_t path = r->unparsed_uri, none = ngx_null_string;
    u_char *query = ngx_strlchr(path.data, path.data + path.len, '?');
    if (query != NULL)
        path.len = (size_t)(query - path.data);
    if (path.len != r->uri.len || ngx_memcmp(path.data, r->uri.data, path.len) != 0)
        return none;
    return path;
}

/* The key of the request or, where it has none, the token of its session. */
static bool credential(ngx_http_request_t *r, tab_ctx *ctx, tab_str *ret)
{
    ngx_str_t name = ngx_string(TAB_SESSION_COOKIE), value;
    ngx_table_elt_t *h = r->headers_in.authorization;
    if (h != NULL)
        return tab_bearer((tab_str){ (char *)h->value.data, h->value.len }, ret) && tab_secret_valid(*ret);
    if (ngx_http_parse_multi_header_lines(&r->headers_in.cookies, &name, &value) == NGX_DECLINED)
        return false;
    ctx->session = 1;
    *ret = (tab_str){ (char *)value.data, value.len };
    return tab_session_valid(*ret);
}

/* An open route: nobody's grant. A page of another origin may not use it, or it could sign somebody in. */
static ngx_int_t open_route(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    ngx_str_t none = ngx_null_string;
    ctx->grant = (tab_grant){ .org = "-", .key = "-", .plan = "-" };
    if (!same_origin(r))
        return refuse(r, ctx, NGX_HTTP_FORBIDDEN, "auth_error",
                      "Sign in from the console: a session starts only in a request from its own origin.",
                      NULL, 0);
    tab_limit l = address_limit(r, conf);
    bool logout = ctx->route.id == TAB_POST_PROVIDER_LOGOUT;
    l.kind = logout ? 'l' : 's';
    l.per_minute = logout ? LOGOUTS : SIGN_INS;
    tab_limit_answer a = node_take(conf, &l, 1, false);
    if (!a.let_in)
        return refuse(r, ctx, NGX_HTTP_TOO_MANY_REQUESTS, "rate_limit", too_many, NULL,
                      ngx_max(seconds(a.retry_ms), 1));
    return let_in(r, ctx, conf, none);
}

static ngx_int_t start(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    tab_str secret;
    ctx->path = plain_path(r);
    ctx->routed = tab_route_find((tab_str){ (char *)r->method_name.data, r->method_name.len },
                                 (tab_str){ (char *)ctx->path.data, ctx->path.len }, &ctx->route) == TAB_OK;
    if (ctx->routed && (tab_routes[ctx->route.id].flags & TAB_ROUTE_OPEN))
        return open_route(r, ctx, conf);
    if (!credential(r, ctx, &secret))
        return refuse_key(r, ctx, conf, TAB_KEY_MISSING);
    uint8_t hash[TAB_SECRET_HASH];
    tab_secret_hash(secret, hash);
    sodium_bin2hex(ctx->hash, sizeof ctx->hash, hash, sizeof hash);

    ngx_int_t rc = ngx_http_tab_redis_ask(ctx, answered);
    if (rc == NGX_AGAIN) {
        ctx->step = TAB_STEP_REDIS;
        r->read_event_handler = ngx_http_test_reading; /* notices a caller that leaves */
        return NGX_AGAIN;
    }
    return ask(r, ctx, conf);
}

static ngx_int_t verdict(ngx_http_request_t *r, tab_ctx *ctx, tab_main_conf *conf)
{
    switch (ctx->step) {
    case TAB_STEP_START:
        return start(r, ctx, conf);
    case TAB_STEP_REDIS:
        return NGX_AGAIN;
    case TAB_STEP_ASK:
        return on_answer_about_key(r, ctx, conf);
    case TAB_STEP_LET_IN:
        return NGX_OK;
    case TAB_STEP_REFUSED:
        break;
    }
    return NGX_DONE;
}

ngx_int_t ngx_http_tab_gate(ngx_http_request_t *r)
{
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    if (!loc->gate || r != r->main)
        return NGX_DECLINED;
    tab_main_conf *conf = ngx_http_get_module_main_conf(r, ngx_http_tab_module);
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (ctx == NULL)
        return NGX_HTTP_INTERNAL_SERVER_ERROR;

    ngx_int_t rc = verdict(r, ctx, conf);
    return rc == NGX_OK ? ngx_http_tab_body(r, ctx) : rc;
}
