/* Directives and variables. The directives are described in nginx.conf.template, where they are used. */
#include "gateway/module/ngx_http_tab.h"

#include <sodium.h>

#include "gateway/module/tab_number.h"

enum { LIMIT_SETS = 1 << 14, EPOCH_SETS = 1 << 12, GOOD_SETS = 1 << 13 };

/* ---- nginx's own answers, in our form --------------------------------------------------------- */
static ngx_int_t envelope_handler(ngx_http_request_t *r)
{
    tab_loc_conf *loc = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    ngx_uint_t retry =
        loc->status == NGX_HTTP_SERVICE_UNAVAILABLE || loc->status == NGX_HTTP_TOO_MANY_REQUESTS;
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (loc->status == NGX_HTTP_TOO_MANY_REQUESTS)
        ngx_http_tab_count_limited(
            r, ctx != NULL && ctx->held.over == TAB_BODIES_ORG ? TAB_LIMITED_BYTES : TAB_LIMITED_CONNECTIONS);
    const char *message = ctx != NULL && ctx->held.over == TAB_BODIES_ORG ? ngx_http_tab_body_quota_message
                                                                          : (const char *)loc->message.data;
    return ngx_http_tab_send(r, loc->status, (const char *)loc->type.data, message,
                             (const char *)loc->param.data, retry);
}

/* ---- variables ------------------------------------------------------------------------------- */
enum {
    VAR_ID,
    VAR_IDENTITY,
    VAR_QUESTION,
    VAR_UNCOUNTED,
    VAR_ORG,
    VAR_KEY,
    VAR_ROUTE,
    VAR_SESSION,
    VAR_LIMIT,
    VAR_REMAINING,
    VAR_RESET
};

static ngx_int_t set_number(ngx_http_request_t *r, ngx_http_variable_value_t *v, ngx_uint_t x)
{
    v->data = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (v->data == NULL)
        return NGX_ERROR;
    v->len = (unsigned)(tab_number_put(v->data, x) - v->data) & 0xfffffff;
    return NGX_OK;
}

static ngx_int_t variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t which)
{
    tab_ctx *ctx = ngx_http_tab_ctx(r);
    if (ctx == NULL)
        return NGX_ERROR;
    const char *text = "";
    size_t n = 0;
    v->valid = 1;
    v->no_cacheable = which != VAR_ID;
    v->not_found = 0;
    switch (which) {
    case VAR_ID:
        text = (char *)ctx->id;
        n = ctx->id_len;
        break;
    case VAR_IDENTITY:
        text = (char *)ctx->identity.data;
        n = ctx->identity.len;
        break;
    case VAR_QUESTION:
        text = (char *)ctx->question.data;
        n = ctx->question.len;
        break;
    case VAR_UNCOUNTED:
        text = "1";
        n = ctx->uncounted; /* an empty header is not sent */
        break;
    case VAR_ORG:
    case VAR_KEY:
        if (ctx->granted) {
            text = which == VAR_ORG ? ctx->grant.org : ctx->grant.key;
            n = ngx_strlen(text);
        }
        break;
    case VAR_ROUTE:
        if (ctx->routed) {
            text = tab_routes[ctx->route.id].name;
            n = ngx_strlen(text);
        }
        break;
    case VAR_SESSION:
        if (ctx->session && ctx->step == TAB_STEP_LET_IN) {
            text = ctx->hash;
            n = sizeof ctx->hash - 1;
        }
        break;
    case VAR_LIMIT:
    case VAR_REMAINING:
    case VAR_RESET:
        if (ctx->rates)
            return set_number(r, v,
                              which == VAR_LIMIT       ? ctx->limit
                              : which == VAR_REMAINING ? ctx->remaining
                                                       : ctx->reset_s);
        break;
    }
    v->data = (u_char *)text;
    v->len = n & 0xfffffff;
    return NGX_OK;
}

static ngx_http_variable_t variables[] = {
    { ngx_string("tab_request_id"), NULL, variable, VAR_ID, 0, 0 },
    { ngx_string("tab_identity"), NULL, variable, VAR_IDENTITY, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_question"), NULL, variable, VAR_QUESTION, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_uncounted"), NULL, variable, VAR_UNCOUNTED, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_org"), NULL, variable, VAR_ORG, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_key"), NULL, variable, VAR_KEY, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_route"), NULL, variable, VAR_ROUTE, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_session"), NULL, variable, VAR_SESSION, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_limit"), NULL, variable, VAR_LIMIT, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_remaining"), NULL, variable, VAR_REMAINING, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    { ngx_string("tab_reset"), NULL, variable, VAR_RESET, NGX_HTTP_VAR_NOCACHEABLE, 0 },
    ngx_http_null_variable
};

static ngx_int_t add_variables(ngx_conf_t *cf)
{
    for (ngx_http_variable_t *v = variables; v->name.len > 0; v++) {
        ngx_http_variable_t *var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL)
            return NGX_ERROR;
        var->get_handler = v->get_handler;
        var->data = v->data;
    }
    return ngx_http_tab_log_variables(cf);
}

/* ---- configuration --------------------------------------------------------------------------- */
static void *create_main(ngx_conf_t *cf)
{
    tab_main_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);
    if (conf != NULL) {
        conf->failures = NGX_CONF_UNSET_UINT;
        conf->redis_timeout = NGX_CONF_UNSET_MSEC;
        conf->rates_ahead = NGX_CONF_UNSET_UINT;
        conf->rates_settle = NGX_CONF_UNSET_MSEC;
        conf->redis_tls = NGX_CONF_UNSET;
        conf->trace = NGX_CONF_UNSET_UINT;
        conf->trace_share = NGX_CONF_UNSET_UINT;
    }
    return conf;
}

static tab_limits *new_limits(ngx_slab_pool_t *pool, size_t sets)
{
    unsigned char seed[16];
    tab_limits *t = ngx_slab_alloc(pool, tab_limits_size(sets));
    randombytes_buf(seed, sizeof seed);
    if (t != NULL)
        tab_limits_init(t, sets, seed);
    return t;
}

static ngx_int_t init_zone(ngx_shm_zone_t *zone, void *old)
{
    ngx_slab_pool_t *pool = (ngx_slab_pool_t *)zone->shm.addr;
    (void)old;
    if (pool->data != NULL)
        return NGX_OK; /* a reload keeps its counts */
    tab_shared *s = ngx_slab_alloc(pool, sizeof *s);
    if (s == NULL || (s->rates = new_limits(pool, LIMIT_SETS)) == NULL ||
        (s->epochs = new_limits(pool, EPOCH_SETS)) == NULL || (s->good = new_limits(pool, GOOD_SETS)) == NULL)
        return NGX_ERROR;
    pool->data = s;
    return NGX_OK;
}

/* The address' halves, each ending in NUL. */
static ngx_int_t split_redis(ngx_conf_t *cf, tab_main_conf *conf)
{
    ngx_str_t at = conf->redis;
    bool path = at.len > 5 && ngx_strncmp(at.data, "unix:", 5) == 0;
    u_char *text = ngx_pnalloc(cf->pool, at.len + sizeof "6379");
    if (text == NULL)
        return NGX_ERROR;
    ngx_memcpy(text, at.data, at.len);
    text[at.len] = '\0';
    conf->redis_host = (char *)text + (path ? 5 : 0);
    if (path)
        return NGX_OK;
    u_char *colon = (u_char *)strrchr((char *)text, ':');
    if (colon != NULL)
        *colon = '\0';
    conf->redis_port = colon != NULL ? (char *)colon + 1 : "6379";
    ngx_int_t port = ngx_atoi((u_char *)conf->redis_port, ngx_strlen(conf->redis_port));
    return port > 0 && port < 65536 ? NGX_OK : NGX_ERROR;
}

/* The certificate of Redis must come from a known authority; its name is checked at each handshake. nginx's
 * own ngx_ssl_trusted_certificate would accept a wrong one. */
static ngx_int_t open_tls(ngx_conf_t *cf, tab_main_conf *conf)
{
    ngx_ssl_t *ssl = ngx_pcalloc(cf->pool, sizeof *ssl);
    ngx_pool_cleanup_t *cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (ssl == NULL || cln == NULL)
        return NGX_ERROR;
    ssl->log = cf->log;
    if (ngx_ssl_create(ssl, NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3, NULL) != NGX_OK)
        return NGX_ERROR;
    cln->handler = ngx_ssl_cleanup_ctx;
    cln->data = ssl;
    int known = 1;
    if (conf->redis_ca.len == 0)
        known = SSL_CTX_set_default_verify_paths(ssl->ctx);
    else if (ngx_conf_full_name(cf->cycle, &conf->redis_ca, 1) != NGX_OK)
        return NGX_ERROR;
    else
        known = SSL_CTX_load_verify_locations(ssl->ctx, (char *)conf->redis_ca.data, NULL);
    if (known != 1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" holds no certificates", &conf->redis_ca);
        return NGX_ERROR;
    }
    if (conf->redis_cert.len > 0 &&
        ngx_ssl_certificate(cf, ssl, &conf->redis_cert, &conf->redis_cert_key, NULL) != NGX_OK)
        return NGX_ERROR;
    SSL_CTX_set_verify(ssl->ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(ssl->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    conf->redis_ssl = ssl;
    return NGX_OK;
}

static char *init_main(ngx_conf_t *cf, void *c)
{
    tab_main_conf *conf = c;
    ngx_str_t name = ngx_string("tab_limits");
    ngx_conf_init_uint_value(conf->failures, 300);
    ngx_conf_init_msec_value(conf->redis_timeout, 100);
    ngx_conf_init_uint_value(conf->rates_ahead, 100);
    ngx_conf_init_msec_value(conf->rates_settle, 200);
    ngx_conf_init_value(conf->redis_tls, 0);
    ngx_conf_init_uint_value(conf->trace, TAB_TRACE_OFF);
    ngx_conf_init_uint_value(conf->trace_share, 100);
    if (sodium_init() < 0)
        return NGX_CONF_ERROR;
    if (conf->redis.len == 0)
        return NGX_CONF_OK; /* the module is loaded, but not used */
    if (!conf->identity_key_set || conf->authenticate.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "tab_redis needs tab_secret_file and tab_authenticate beside it");
        return NGX_CONF_ERROR;
    }
    if (split_redis(cf, conf) != NGX_OK || (conf->redis_tls && conf->redis_port == NULL)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "tab_redis is neither host:port nor, without TLS, unix:path");
        return NGX_CONF_ERROR;
    }
    if (conf->redis_tls && open_tls(cf, conf) != NGX_OK)
        return NGX_CONF_ERROR;
    if (!conf->grant_key_set)
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "grants in Redis are taken unsigned (tab_grant_secret_file)");
    if (conf->redis_password.len == 0)
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "Redis is used without a password (tab_redis_password_file)");
    conf->zone = ngx_shared_memory_add(cf, &name,
                                       tab_limits_size(LIMIT_SETS) + tab_limits_size(EPOCH_SETS) +
                                           tab_limits_size(GOOD_SETS) + 64 * 1024,
                                       &ngx_http_tab_module);
    if (conf->zone == NULL)
        return NGX_CONF_ERROR;
    conf->zone->init = init_zone;
    return ngx_http_tab_body_quota_zone(cf, conf) == NGX_OK && ngx_http_tab_metrics_zone(cf, conf) == NGX_OK
               ? NGX_CONF_OK
               : NGX_CONF_ERROR;
}

static void *create_srv(ngx_conf_t *cf)
{
    tab_srv_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);
    if (conf != NULL)
        conf->probe = NGX_CONF_UNSET;
    return conf;
}

static void *create_loc(ngx_conf_t *cf)
{
    tab_loc_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);
    if (conf != NULL) {
        conf->gate = NGX_CONF_UNSET;
        conf->count = NGX_CONF_UNSET;
        conf->body_rate = NGX_CONF_UNSET_SIZE;
        conf->get_timeout = NGX_CONF_UNSET_MSEC;
    }
    return conf;
}

static char *merge_loc(ngx_conf_t *cf, void *parent, void *child)
{
    tab_loc_conf *prev = parent, *conf = child;
    (void)cf;
    ngx_conf_merge_value(conf->gate, prev->gate, 0);
    ngx_conf_merge_value(conf->count, prev->count, 0);
    ngx_conf_merge_size_value(conf->body_rate, prev->body_rate, 16 * 1024);
    ngx_conf_merge_msec_value(conf->get_timeout, prev->get_timeout, 0);
    if (!conf->bodies_set)
        conf->bodies = prev->bodies_set ? prev->bodies : (tab_bodies_limits){ 256 << 20, 1 << 30 };
    conf->bodies_set = 1;
    return NGX_CONF_OK;
}

/* The first line of a file into buf; NULL: read, else what is wrong (logged). */
static char *first_line(ngx_conf_t *cf, ngx_str_t *path, u_char *buf, size_t size, ngx_str_t *ret)
{
    if (ngx_conf_full_name(cf->cycle, path, 1) != NGX_OK)
        return NGX_CONF_ERROR;
    ngx_fd_t fd = ngx_open_file(path->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    ssize_t n = fd == NGX_INVALID_FILE ? -1 : ngx_read_fd(fd, buf, size);
    if (n < 0)
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "cannot read \"%V\"", path);
    if (fd != NGX_INVALID_FILE)
        (void)ngx_close_file(fd);
    if (n < 0)
        return NGX_CONF_ERROR;
    ret->data = buf;
    ret->len = 0;
    while (ret->len < (size_t)n && buf[ret->len] != '\n' && buf[ret->len] != '\r')
        ret->len++;
    return NGX_CONF_OK;
}

/* A secret that the gateway shares with a daemon: 32 characters or more. */
static char *set_key(ngx_conf_t *cf, tab_identity_key *key)
{
    ngx_str_t *args = cf->args->elts, line;
    u_char text[4096];
    char *wrong = first_line(cf, &args[1], text, sizeof text, &line);
    if (wrong != NGX_CONF_OK)
        return wrong;
    bool good = tab_identity_key_set(key, (tab_str){ (char *)line.data, line.len });
    sodium_memzero(text, sizeof text);
    return good ? NGX_CONF_OK : "needs a first line of 32 characters or more";
}

static char *set_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_main_conf *conf = c;
    (void)cmd;
    if (conf->identity_key_set)
        return "is duplicate";
    char *wrong = set_key(cf, &conf->identity_key);
    conf->identity_key_set = wrong == NGX_CONF_OK;
    return wrong;
}

static char *set_grant_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_main_conf *conf = c;
    (void)cmd;
    if (conf->grant_key_set)
        return "is duplicate";
    char *wrong = set_key(cf, &conf->grant_key);
    conf->grant_key_set = wrong == NGX_CONF_OK;
    return wrong;
}

static char *set_redis_password(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_main_conf *conf = c;
    ngx_str_t *args = cf->args->elts, line;
    u_char text[4096];
    (void)cmd;
    if (conf->redis_password.len > 0)
        return "is duplicate";
    char *wrong = first_line(cf, &args[1], text, sizeof text, &line);
    if (wrong != NGX_CONF_OK)
        return wrong;
    conf->redis_password.len = line.len;
    conf->redis_password.data = ngx_pstrdup(cf->pool, &line);
    sodium_memzero(text, sizeof text);
    if (conf->redis_password.data == NULL)
        return NGX_CONF_ERROR;
    return line.len > 0 ? NGX_CONF_OK : "has an empty first line";
}

/* "1%", "0.25%": of a limit. */
static char *set_rates_ahead(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_main_conf *conf = c;
    ngx_str_t *args = cf->args->elts;
    (void)cmd;
    if (conf->rates_ahead != NGX_CONF_UNSET_UINT)
        return "is duplicate";
    size_t n = args[1].len;
    ngx_int_t share = n > 1 && args[1].data[n - 1] == '%' ? ngx_atofp(args[1].data, n - 1, 2) : NGX_ERROR;
    if (share < 0 || share > 10000)
        return "needs a percentage, 0% to 100%";
    conf->rates_ahead = (ngx_uint_t)share;
    return NGX_CONF_OK;
}

static char *set_envelope(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    tab_loc_conf *conf = c;
    ngx_str_t *args = cf->args->elts;
    ngx_int_t status = ngx_atoi(args[1].data, args[1].len);
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    (void)cmd;
    if (status < 400 || status > 599)
        return "needs a status of 400 to 599";
    conf->status = (ngx_uint_t)status;
    conf->type = args[2]; /* nginx ends its arguments with NUL */
    conf->message = args[3];
    if (cf->args->nelts > 4)
        conf->param = args[4];
    core->handler = envelope_handler;
    return NGX_CONF_OK;
}

static char *set_metrics(ngx_conf_t *cf, ngx_command_t *cmd, void *c)
{
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    (void)cmd;
    (void)c;
    core->handler = ngx_http_tab_metrics;
    return NGX_CONF_OK;
}

static ngx_conf_enum_t traces[] = { { ngx_string("off"), TAB_TRACE_OFF },
                                    { ngx_string("make"), TAB_TRACE_MAKE },
                                    { ngx_string("take"), TAB_TRACE_TAKE },
                                    { ngx_null_string, 0 } };

static ngx_command_t commands[] = {
    { ngx_string("tab_redis"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis), NULL },
    { ngx_string("tab_redis_user"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_user), NULL },
    { ngx_string("tab_redis_password_file"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_redis_password,
      NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_redis_tls"), NGX_HTTP_MAIN_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_tls), NULL },
    { ngx_string("tab_redis_trusted_certificate"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_ca), NULL },
    { ngx_string("tab_redis_certificate"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_cert), NULL },
    { ngx_string("tab_redis_certificate_key"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_cert_key), NULL },
    { ngx_string("tab_redis_timeout"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_msec_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, redis_timeout), NULL },
    { ngx_string("tab_rates_ahead"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_rates_ahead,
      NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_rates_settle"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_msec_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, rates_settle), NULL },
    { ngx_string("tab_authenticate"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, authenticate), NULL },
    { ngx_string("tab_failures_per_minute"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_num_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, failures), NULL },
    { ngx_string("tab_secret_file"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_secret,
      NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_grant_secret_file"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_grant_secret,
      NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_gate"), NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
      ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(tab_loc_conf, gate), NULL },
    { ngx_string("tab_count"), NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_FLAG,
      ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET, offsetof(tab_loc_conf, count), NULL },
    { ngx_string("tab_metrics"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_metrics, NGX_HTTP_LOC_CONF_OFFSET,
      0, NULL },
    { ngx_string("tab_trace"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
      NGX_HTTP_MAIN_CONF_OFFSET, offsetof(tab_main_conf, trace), traces },
    { ngx_string("tab_trace_share"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, ngx_http_tab_trace_share,
      NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_probe"), NGX_HTTP_UPS_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
      NGX_HTTP_SRV_CONF_OFFSET, offsetof(tab_srv_conf, probe), NULL },
    { ngx_string("tab_get_timeout"),
      NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET, offsetof(tab_loc_conf, get_timeout), NULL },
    { ngx_string("tab_echo"), NGX_HTTP_UPS_CONF | NGX_CONF_NOARGS, ngx_http_tab_echo,
      NGX_HTTP_SRV_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_body_bytes"),
      NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE2,
      ngx_http_tab_body_quota_bytes, NGX_HTTP_LOC_CONF_OFFSET, 0, NULL },
    { ngx_string("tab_body_rate"),
      NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, ngx_conf_set_size_slot,
      NGX_HTTP_LOC_CONF_OFFSET, offsetof(tab_loc_conf, body_rate), NULL },
    { ngx_string("tab_envelope"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE3 | NGX_CONF_TAKE4, set_envelope,
      NGX_HTTP_LOC_CONF_OFFSET, 0, NULL },
    ngx_null_command
};

static ngx_int_t install(ngx_conf_t *cf)
{
    ngx_http_core_main_conf_t *core = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    ngx_http_handler_pt *h = ngx_array_push(&core->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (h == NULL)
        return NGX_ERROR;
    *h = ngx_http_tab_gate;
    if ((h = ngx_array_push(&core->phases[NGX_HTTP_LOG_PHASE].handlers)) == NULL)
        return NGX_ERROR;
    *h = ngx_http_tab_count;
    if ((h = ngx_array_push(&core->phases[NGX_HTTP_LOG_PHASE].handlers)) == NULL)
        return NGX_ERROR;
    *h = ngx_http_tab_level;
    ngx_http_tab_body_quota_install();
    return NGX_OK;
}

static ngx_int_t init_process(ngx_cycle_t *cycle)
{
    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
        return NGX_OK;
    tab_main_conf *conf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_tab_module);
    if (conf == NULL || conf->redis.len == 0)
        return NGX_OK;
    ngx_http_tab_body_quota_start(conf);
    if (ngx_http_tab_level_start(cycle, conf) != NGX_OK)
        return NGX_ERROR;
    return ngx_http_tab_probe_start(cycle) == NGX_OK ? ngx_http_tab_redis_start(cycle, conf) : NGX_ERROR;
}

static void exit_process(ngx_cycle_t *cycle)
{
    (void)cycle;
    ngx_http_tab_level_stop();
    ngx_http_tab_redis_stop();
}

static ngx_http_module_t module_ctx = { add_variables, install, create_main, init_main,
                                        create_srv,    NULL,    create_loc,  merge_loc };

ngx_module_t ngx_http_tab_module = { NGX_MODULE_V1, &module_ctx,  commands,     NGX_HTTP_MODULE,
                                     NULL,          NULL,         init_process, NULL,
                                     NULL,          exit_process, NULL,         NGX_MODULE_V1_PADDING };
