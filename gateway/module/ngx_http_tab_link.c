/* The connection to Redis: nginx's own, by TLS or not, one a worker; hiredis reads the replies.
 *
 *   away --connect--> (TLS) --who we are, functions--> up
 *     ^                                                 |
 *     +-------- closed, refused, late, dropped ---------+
 *
 * hiredis 0.14 knows no TLS, and its asynchronous half owns the socket: so only its parser is used here
 * (decision 0246). Replies come in the order of what was sent. */
#include "gateway/module/ngx_http_tab.h"

#include <hiredis/hiredis.h>
#include <netdb.h>

#include "common/redis/limits_lua.h"

enum {
    FIRST_BACKOFF = 100,
    LAST_BACKOFF = 3000,
    CONNECT_TIMEOUT = 1000,
    OUT_MOST = 1 << 20,
    READ = 16 * 1024
};

/* Until the connection is up: what the next reply answers. */
typedef enum { GREET_PASSWORD, GREET_FUNCTIONS, GREET_DONE } tab_greet;

static struct {
    tab_main_conf *conf;
    ngx_connection_t *c;
    redisReader *reader;
    u_char *out; /* bytes to write: from out_at to out_n */
    size_t out_at, out_n, out_room;
    ngx_event_t timer; /* next connect, or the one under way is late */
    ngx_event_t drop;  /* posted: close outside of its own callbacks */
    ngx_msec_t backoff;
    tab_greet greet;
    void (*replied)(redisReply *r);
    void (*lost)(void);
    unsigned up : 1, stopping : 1;
} redis;

static void connect_redis(void);

/* ---- closing --------------------------------------------------------------------------------- */
static void close_connection(void)
{
    ngx_connection_t *c = redis.c;
    redis.c = NULL;
    redis.up = 0;
    redis.out_at = redis.out_n = 0;
    if (redis.reader != NULL)
        redisReaderFree(redis.reader);
    redis.reader = NULL;
    if (c == NULL)
        return;
    if (c->ssl != NULL) {
        c->ssl->no_wait_shutdown = 1;
        c->ssl->no_send_shutdown = 1;
        (void)ngx_ssl_shutdown(c);
    }
    ngx_pool_t *pool = c->pool;
    ngx_close_connection(c);
    ngx_destroy_pool(pool);
}

static void lose(void)
{
    close_connection();
    if (redis.stopping)
        return;
    ngx_add_timer(&redis.timer, redis.backoff); /* moves it where it runs */
    redis.backoff = ngx_min(redis.backoff * 2, LAST_BACKOFF);
    redis.lost();
}

static void on_drop(ngx_event_t *ev)
{
    (void)ev;
    if (redis.c != NULL)
        lose();
}

void ngx_http_tab_link_drop(void)
{
    redis.up = 0;
    if (!redis.drop.posted) {
        ngx_post_event(&redis.drop, &ngx_posted_events);
    }
}

bool ngx_http_tab_link_up(void)
{
    return redis.up;
}

/* ---- writing --------------------------------------------------------------------------------- */
static ngx_int_t flush_out(void)
{
    ngx_connection_t *c = redis.c;
    while (redis.out_at < redis.out_n) {
        ssize_t n = c->send(c, redis.out + redis.out_at, redis.out_n - redis.out_at);
        if (n == NGX_ERROR)
            return NGX_ERROR;
        if (n <= 0)
            return ngx_handle_write_event(c->write, 0);
        redis.out_at += (size_t)n;
    }
    redis.out_at = redis.out_n = 0;
    return NGX_OK;
}

static ngx_int_t put(const void *p, size_t n)
{
    if (redis.out_n + n > redis.out_room) {
        size_t room = redis.out_n + n + 16 * 1024;
        u_char *more = room > OUT_MOST ? NULL : ngx_alloc(room, ngx_cycle->log);
        if (more == NULL)
            return NGX_ERROR;
        if (redis.out_n > 0)
            ngx_memcpy(more, redis.out, redis.out_n);
        if (redis.out != NULL)
            ngx_free(redis.out);
        redis.out = more;
        redis.out_room = room;
    }
    ngx_memcpy(redis.out + redis.out_n, p, n);
    redis.out_n += n;
    return NGX_OK;
}

ngx_int_t ngx_http_tab_link_send(const u_char *p, size_t n)
{
    if (put(p, n) == NGX_OK && flush_out() == NGX_OK)
        return NGX_OK;
    ngx_http_tab_link_drop();
    return NGX_ERROR;
}

/* ---- saying who we are ----------------------------------------------------------------------- */
static ngx_int_t put_command(int argc, const char **argv, const size_t *len)
{
    char *bytes = NULL;
    int n = (int)redisFormatCommandArgv(&bytes, argc, argv, len);
    ngx_int_t rc = n < 0 ? NGX_ERROR : put(bytes, (size_t)n);
    if (n > 0)
        ngx_memzero(bytes, (size_t)n);
    redisFreeCommand(bytes);
    return rc;
}

static void greet(void)
{
    ngx_str_t *user = &redis.conf->redis_user, *password = &redis.conf->redis_password;
    const char *load[] = { "FUNCTION", "LOAD", "REPLACE", tab_limits_lua };
    const size_t load_len[] = { 8, 4, 7, sizeof tab_limits_lua - 1 };
    const char *auth[] = { "AUTH", (char *)user->data, (char *)password->data };
    size_t auth_len[] = { 4, user->len, password->len };
    ngx_int_t rc = NGX_OK;
    if (password->len > 0 && user->len > 0) {
        rc = put_command(3, auth, auth_len);
    } else if (password->len > 0) {
        auth[1] = auth[2];
        auth_len[1] = auth_len[2];
        rc = put_command(2, auth, auth_len);
    }
    redis.greet = password->len > 0 ? GREET_PASSWORD : GREET_FUNCTIONS;
    if (rc == NGX_OK)
        rc = put_command(4, load, load_len);
    if (rc != NGX_OK || flush_out() != NGX_OK)
        ngx_http_tab_link_drop();
}

/* NGX_ERROR: nothing more of this connection. */
static ngx_int_t greeted(redisReply *r)
{
    bool refused = r->type == REDIS_REPLY_ERROR;
    if (redis.greet == GREET_PASSWORD) {
        redis.greet = GREET_FUNCTIONS;
        if (refused)
            ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis refuses our user or password");
        return refused ? NGX_ERROR : NGX_OK;
    }
    /* Our user may not load functions: the keys service loads them. */
    if (refused && ngx_strncmp(r->str, "NOPERM", 6) != 0) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: redis refused the functions: %s", r->str);
        return NGX_ERROR;
    }
    redis.greet = GREET_DONE;
    redis.up = 1;
    redis.backoff = FIRST_BACKOFF;
    if (redis.timer.timer_set)
        ngx_del_timer(&redis.timer);
    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "tab: redis is up");
    return NGX_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */
static ngx_int_t take_replies(void)
{
    void *reply = NULL;
    for (;;) {
        if (redisReaderGetReply(redis.reader, &reply) != REDIS_OK)
            return NGX_ERROR;
        if (reply == NULL)
            return NGX_OK;
        ngx_int_t rc = NGX_OK;
        if (redis.greet == GREET_DONE)
            redis.replied(reply);
        else
            rc = greeted(reply);
        freeReplyObject(reply);
        if (rc != NGX_OK)
            return rc;
    }
}

static void on_readable(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    u_char buf[READ];
    for (;;) {
        ssize_t n = c->recv(c, buf, sizeof buf);
        if (n == NGX_AGAIN)
            break;
        if (n > 0 && redisReaderFeed(redis.reader, (char *)buf, (size_t)n) == REDIS_OK &&
            take_replies() == NGX_OK)
            continue;
        if (n <= 0)
            ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: redis went away");
        lose();
        return;
    }
    if (ngx_handle_read_event(c->read, 0) != NGX_OK)
        lose();
}

static void on_writable(ngx_event_t *ev)
{
    (void)ev;
    if (flush_out() != NGX_OK)
        lose();
}

static void use_connection(ngx_connection_t *c)
{
    c->read->handler = on_readable;
    c->write->handler = on_writable;
    greet();
}

static void on_handshake(ngx_connection_t *c)
{
    if (c->ssl->handshaked) {
        use_connection(c);
    } else {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: no TLS with redis");
        lose();
    }
}

static void shake_hands(ngx_connection_t *c)
{
    char *host = redis.conf->redis_host;
    u_char ip[16];
    bool address = inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1;
    if (ngx_ssl_create_connection(redis.conf->redis_ssl, c, NGX_SSL_BUFFER | NGX_SSL_CLIENT) != NGX_OK) {
        lose();
        return;
    }
    SSL *ssl = c->ssl->connection;
    bool named = address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
                         : SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
    if (!named) {
        lose();
        return;
    }
    c->ssl->handler = on_handshake;
    if (ngx_ssl_handshake(c) != NGX_AGAIN)
        on_handshake(c);
}

/* The first event of a connection: it stands, or it failed. */
static void on_connected(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    int err = 0;
    socklen_t len = sizeof err;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len) == -1)
        err = ngx_socket_errno;
    if (err != 0) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, err, "tab: cannot connect to redis");
        lose();
        return;
    }
    if (redis.conf->redis_ssl != NULL)
        shake_hands(c);
    else
        use_connection(c);
}

/* ---- connecting ------------------------------------------------------------------------------ */
static ngx_int_t connect_to(struct sockaddr *at, socklen_t len)
{
    ngx_peer_connection_t peer;
    ngx_memzero(&peer, sizeof peer);
    peer.sockaddr = at;
    peer.socklen = len;
    peer.name = &redis.conf->redis;
    peer.get = ngx_event_get_peer;
    peer.log = ngx_cycle->log;
    peer.log_error = NGX_ERROR_ERR;
    ngx_int_t rc = ngx_event_connect_peer(&peer);
    ngx_connection_t *c = peer.connection;
    if ((rc != NGX_OK && rc != NGX_AGAIN) || c == NULL)
        return NGX_ERROR;
    redis.c = c;
    c->log = c->read->log = c->write->log = ngx_cycle->log;
    c->read->handler = c->write->handler = on_connected;
    c->pool = ngx_create_pool(512, ngx_cycle->log);
    redis.reader = redisReaderCreate();
    if (c->pool == NULL || redis.reader == NULL) {
        if (c->pool == NULL) {
            redis.c = NULL;
            ngx_close_connection(c);
        }
        return NGX_ERROR;
    }
    if (at->sa_family != AF_UNIX)
        (void)ngx_tcp_nodelay(c);
    ngx_add_timer(&redis.timer, CONNECT_TIMEOUT);
    if (rc == NGX_OK)
        on_connected(c->write);
    return NGX_OK;
}

static ngx_int_t connect_by_name(void)
{
    const char *host = redis.conf->redis_host, *port = redis.conf->redis_port;
    struct addrinfo *all = NULL, v4 = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM },
                    any = { .ai_socktype = SOCK_STREAM };
    if (getaddrinfo(host, port, &v4, &all) != 0 && getaddrinfo(host, port, &any, &all) != 0) {
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0, "tab: %V has no address", &redis.conf->redis);
        return NGX_ERROR;
    }
    ngx_int_t rc = NGX_ERROR;
    for (struct addrinfo *a = all; a != NULL && rc != NGX_OK; a = a->ai_next)
        rc = connect_to(a->ai_addr, a->ai_addrlen);
    freeaddrinfo(all);
    return rc;
}

static void connect_redis(void)
{
    struct sockaddr_un path = { .sun_family = AF_UNIX };
    ngx_int_t rc;
    if (redis.conf->redis_port == NULL) {
        ngx_cpystrn((u_char *)path.sun_path, (u_char *)redis.conf->redis_host, sizeof path.sun_path);
        rc = connect_to((struct sockaddr *)&path, sizeof path);
    } else {
        rc = connect_by_name();
    }
    if (rc != NGX_OK)
        lose();
}

static void on_timer(ngx_event_t *ev)
{
    (void)ev;
    if (redis.stopping)
        return;
    if (redis.c == NULL) {
        connect_redis();
        return;
    }
    bool greets = redis.c->ssl != NULL && !redis.c->ssl->handshaked;
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                  greets ? "tab: no TLS with redis"
                         : "tab: redis accepts the connection and answers nothing");
    lose();
}

void ngx_http_tab_link_start(ngx_cycle_t *cycle, tab_main_conf *conf, void (*replied)(redisReply *r),
                             void (*lost)(void))
{
    ngx_memzero(&redis, sizeof redis);
    redis.conf = conf;
    redis.replied = replied;
    redis.lost = lost;
    redis.backoff = FIRST_BACKOFF;
    redis.timer.handler = on_timer;
    redis.timer.log = cycle->log;
    redis.timer.cancelable = 1; /* a graceful exit does not wait for it */
    redis.timer.data = &redis;
    redis.drop.handler = on_drop;
    redis.drop.log = cycle->log;
    connect_redis();
}

void ngx_http_tab_link_stop(void)
{
    redis.stopping = 1;
    close_connection();
}
