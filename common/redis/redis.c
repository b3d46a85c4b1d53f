/* See redis.h. hiredis connects and parses; bytes are read and written here, each step with what is left
 * of one deadline, because hiredis' own time-out begins again with each read. */
#include "common/redis/redis.h"

#include <limits.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/time.h"
#include "common/base/wait_time.h"
#include "common/security/tls.h"

/* IDLE_MOST: as many as threads ask at once, or each call above it connects and says who it is
 * (decision 0384). */
enum {
    IDLE_MOST = 64,
    RETRY_FIRST = 100,
    RETRY_MOST = 3000,
    RENEW_MS = 3000,
    READ = 16 * 1024,
    SLACK_MS = 10
};

/* hiredis connects, writes commands and reads replies; the bytes between go through here, since hiredis 0.14
 * knows no TLS and no deadline of a whole reply. */
typedef struct {
    redisContext *c; /* NULL: no connection */
    SSL *ssl;        /* NULL: plain */
    int64_t waits;   /* milliseconds that its socket waits at most */
    unsigned of;     /* number of the login that it was made with */
} wire;

/* How we log in, made of texts of the configuration; `texts` tells whether they are still the newest. */
typedef struct {
    tab_access texts;
    char *hello; /* the command that says who we are; NULL: none */
    int hello_n;
    tab_tls *tls; /* NULL: plain */
    int users;    /* under the lock of its redis */
    unsigned number;
} login;

struct tab_redis {
    char *host;
    int port; /* 0: host is a socket's path */
    tab_access given;
    tab_config_listener told;
    pthread_mutex_t lock;
    login *login; /* the one that served last (decision 0481) */
    wire idle[IDLE_MOST];
    size_t n;
    int64_t retry_at, retry_ms;
    tab_metric *calls[2], *seconds, *breaker;
    _Atomic int64_t said_away;
};

/* ---- logins ---------------------------------------------------------------------------------- */

static void login_free(login *l)
{
    if (l == NULL)
        return;
    tab_tls_free(l->tls);
    if (l->hello != NULL) {
        OPENSSL_cleanse(l->hello, (size_t)l->hello_n);
        redisFreeCommand(l->hello);
    }
    free(l);
}
TAB_DEFINE_AUTO(login)

static login *login_new(const tab_redis *r, const tab_access *a)
{
    TAB_AUTO(login) *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->texts = *a;
    l->users = 1;
    if (tab_access_has(a->password))
        l->hello_n = tab_access_has(a->user)
                         ? redisFormatCommand(&l->hello, "AUTH %s %s", a->user, a->password)
                         : redisFormatCommand(&l->hello, "AUTH %s", a->password);
    if (l->hello_n < 0 || (a->tls && (l->tls = tab_tls_new(a, r->host, "Redis")) == NULL))
        return NULL;
    return tab_take(&l);
}

static login *login_use(tab_redis *r)
{
    pthread_mutex_lock(&r->lock);
    login *l = r->login;
    l->users++;
    pthread_mutex_unlock(&r->lock);
    return l;
}

static void login_unuse(tab_redis *r, login *l)
{
    pthread_mutex_lock(&r->lock);
    bool last = --l->users == 0;
    pthread_mutex_unlock(&r->lock);
    if (last)
        login_free(l);
}

/* Of the newest texts; NULL: they are those of `old`, or cannot be used. */
static login *login_other(const tab_redis *r, const login *old)
{
    tab_access now = tab_access_now(&r->given);
    const tab_access *was = &old->texts;
    bool same = now.user == was->user && now.password == was->password && now.ca == was->ca &&
                now.cert == was->cert && now.key == was->key;
    return same ? NULL : login_new(r, &now);
}

static void wire_close(wire *w)
{
    SSL_free(w->ssl);
    if (w->c != NULL)
        redisFree(w->c);
    *w = (wire){ NULL, NULL, 0, 0 };
}

/* ---- one connection -------------------------------------------------------------------------- */

static struct timeval timeval_of(int64_t ms)
{
    return (struct timeval){ ms / 1000, (ms % 1000) * 1000 };
}

/* False once the deadline has passed; else the socket waits no longer than that, or than SLACK_MS more: the
 * system need not be told with each step. */
static bool in_time(wire *w, tab_deadline until)
{
    int64_t left = tab_left_ms(until, 1 << 30);
    if (left > 0 && w->waits >= left && w->waits <= left + SLACK_MS)
        return true;
    w->waits = left;
    return left > 0 && redisSetTimeout(w->c, timeval_of(left)) == REDIS_OK;
}

static bool wire_write(wire *w, const char *bytes, size_t n, tab_deadline until)
{
    while (n > 0) {
        if (!in_time(w, until))
            return false;
        ssize_t k = w->ssl != NULL ? SSL_write(w->ssl, bytes, n > INT_MAX ? INT_MAX : (int)n)
                                   : send(w->c->fd, bytes, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        bytes += k;
        n -= (size_t)k;
    }
    return true;
}

static redisReply *wire_reply(wire *w, tab_deadline until)
{
    void *reply = NULL;
    char buf[READ];
    while (redisReaderGetReply(w->c->reader, &reply) == REDIS_OK && reply == NULL) {
        ssize_t k = !in_time(w, until) ? -1
                    : w->ssl != NULL   ? SSL_read(w->ssl, buf, sizeof buf)
                                       : read(w->c->fd, buf, sizeof buf);
        if (k <= 0 || redisReaderFeed(w->c->reader, buf, (size_t)k) != REDIS_OK)
            return NULL;
    }
    return reply;
}

static redisReply *wire_ask(wire *w, const char *bytes, size_t n, tab_deadline until)
{
    return wire_write(w, bytes, n, until) ? wire_reply(w, until) : NULL;
}

/* TLS and who we are. What the server or its certificate says against us is for the log alone; quiet: not
 * even that. */
static bool greet(tab_redis *r, const login *l, wire *w, tab_deadline until, bool quiet)
{
    char why[160];
    if (l->tls != NULL &&
        (!in_time(w, until) || (w->ssl = tab_tls_connect(l->tls, w->c->fd, why, sizeof why)) == NULL)) {
        if (!quiet && tab_log_due(&r->said_away))
            tab_log_fields(TAB_ERROR, "no TLS with Redis", "why", why, NULL);
        return false;
    }
    if (l->hello == NULL)
        return true;
    redisReply *reply = wire_ask(w, l->hello, (size_t)l->hello_n, until);
    bool known = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    if (!known && !quiet && tab_log_due(&r->said_away))
        tab_log(TAB_ERROR, reply == NULL ? "Redis does not let us log in"
                                         : "Redis refuses our user or password: TAB_REDIS_USER and "
                                           "TAB_REDIS_PASSWORD are to be those of its configuration");
    if (reply != NULL)
        freeReplyObject(reply);
    return known;
}

/* *ret_reached: there is a server, whatever it says. */
static wire wire_with(tab_redis *r, const login *l, tab_deadline until, bool quiet, bool *ret_reached)
{
    struct timeval t = timeval_of(tab_left_ms(until, 1 << 30));
    wire w = { r->port == 0 ? redisConnectUnixWithTimeout(r->host, t)
                            : redisConnectWithTimeout(r->host, r->port, t),
               NULL, 0, 0 };
    *ret_reached = w.c != NULL && w.c->err == 0;
    if (!*ret_reached && tab_log_due(&r->said_away)) {
        char server[160];
        snprintf(server, sizeof server, r->port == 0 ? "%s" : "%s:%d", r->host, r->port);
        tab_log_fields(TAB_WARN, "no connection to Redis", "server", server, "why",
                       w.c == NULL ? "memory is out" : w.c->errstr, "do",
                       "see whether it runs where TAB_REDIS says", NULL);
    }
    if (!*ret_reached || !greet(r, l, &w, until, quiet))
        wire_close(&w);
    return w;
}

/* Takes l, with which w was made: it serves from now on, and what others made is used no more. */
static void serve_with(tab_redis *r, login *l, wire *w)
{
    wire old[IDLE_MOST];
    pthread_mutex_lock(&r->lock);
    login *before = r->login;
    size_t n = r->n;
    r->login = l;
    w->of = l->number = before->number + 1;
    memcpy(old, r->idle, n * sizeof *old);
    r->n = 0;
    pthread_mutex_unlock(&r->lock);
    for (size_t i = 0; i < n; i++)
        wire_close(&old[i]);
    login_unuse(r, before);
}

/* With what served last; where that is refused, with what the files say by now. */
static wire wire_open(tab_redis *r, tab_deadline until)
{
    bool reached;
    login *last = login_use(r);
    wire w = wire_with(r, last, until, true, &reached);
    w.of = last->number;
    if (w.c == NULL && reached) {
        tab_config_again();
        login *other = login_other(r, last);
        w = wire_with(r, other != NULL ? other : last, until, false, &reached);
        if (w.c != NULL && other != NULL)
            serve_with(r, other, &w);
        else
            login_free(other);
    }
    login_unuse(r, last);
    return w;
}

/* ---- the pool -------------------------------------------------------------------------------- */

static wire borrow(tab_redis *r, tab_deadline until, bool *ret_kept)
{
    wire w = { NULL, NULL, 0, 0 };
    pthread_mutex_lock(&r->lock);
    if (r->n > 0)
        w = r->idle[--r->n];
    bool wait = w.c == NULL && tab_mono_ms() < r->retry_at;
    pthread_mutex_unlock(&r->lock);
    *ret_kept = w.c != NULL;
    if (w.c != NULL || wait)
        return w;
    w = wire_open(r, until);
    pthread_mutex_lock(&r->lock);
    if (w.c != NULL) {
        r->retry_ms = RETRY_FIRST;
        tab_metric_set(r->breaker, 0);
    } else {
        tab_metric_set(r->breaker, 1);
        r->retry_at = tab_mono_ms() + r->retry_ms;
        r->retry_ms = r->retry_ms * 2 > RETRY_MOST ? RETRY_MOST : r->retry_ms * 2;
    }
    pthread_mutex_unlock(&r->lock);
    return w;
}

static void give_back(tab_redis *r, wire w)
{
    pthread_mutex_lock(&r->lock);
    bool kept = r->n < IDLE_MOST && w.of == r->login->number;
    if (kept)
        r->idle[r->n++] = w;
    pthread_mutex_unlock(&r->lock);
    if (!kept)
        wire_close(&w);
}

/* SIGHUP. Where the newest texts log in, they serve from now on; else all goes on as it is. */
static void renew(void *arg)
{
    tab_redis *r = arg;
    bool reached;
    login *last = login_use(r), *other = login_other(r, last);
    login_unuse(r, last);
    if (other == NULL)
        return;
    wire w = wire_with(r, other, tab_in_ms(RENEW_MS), false, &reached);
    if (w.c == NULL) {
        login_free(other);
        tab_log(TAB_WARN, "Redis is used as before: what its files say now does not log in");
        return;
    }
    serve_with(r, other, &w);
    give_back(r, w);
    tab_log(TAB_INFO, "Redis is connected anew");
}

/* ---- open and close -------------------------------------------------------------------------- */

void tab_redis_free(tab_redis *r)
{
    if (r == NULL)
        return;
    tab_config_forget(&r->told);
    for (size_t i = 0; i < r->n; i++)
        wire_close(&r->idle[i]);
    pthread_mutex_destroy(&r->lock);
    login_free(r->login);
    free(r->host);
    free(r);
}

tab_redis *tab_redis_open(const tab_access *a)
{
    const char *address = a->address, *colon = strrchr(address, ':');
    bool path = strncmp(address, "unix:", 5) == 0;
    int64_t port = 0;
    bool good = path ? !a->tls : colon != NULL && tab_integer_read(tab_str_of(colon + 1), 1, 65535, &port);
    if (!good) {
        tab_log(TAB_ERROR, "TAB_REDIS is neither host:port nor, without TLS, unix:/path");
        return NULL;
    }
    tab_redis *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->host = path ? strdup(address + 5) : strndup(address, (size_t)(colon - address));
    r->port = (int)port;
    r->retry_ms = RETRY_FIRST;
    r->given = *a;
    if (!tab_access_has(a->password))
        tab_log(TAB_WARN, "Redis is used without a password (TAB_REDIS_PASSWORD)");
    if (r->host == NULL || (r->login = login_new(r, a)) == NULL) {
        tab_redis_free(r);
        return NULL;
    }
    r->told = (tab_config_listener){ .told = renew, .arg = r };
    tab_config_listen(&r->told);
    r->calls[0] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                              "dependency=\"redis\",outcome=\"ok\"");
    r->calls[1] = tab_counter("tabella_dependency_calls_total", "Calls of servers",
                              "dependency=\"redis\",outcome=\"error\"");
    r->seconds = tab_histogram("tabella_dependency_call_duration_seconds", "Duration of calls of servers",
                               "dependency=\"redis\"");
    r->breaker = tab_gauge("tabella_breaker_open", "1: a server refused, and is tried again later",
                           "dependency=\"redis\"");
    return r;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static tab_status refused(const char *text, tab_error *err)
{
    static const char *const passing[] = { "MISCONF", "OOM",        "LOADING", "READONLY",
                                           "BUSY",    "MASTERDOWN", "NOAUTH" };
    char head[64];
    bool away = false;
    if (begins(text, "ERR Function not found"))
        return tab_fail(err, TAB_NOT_FOUND, NULL, "Redis has no such function");
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        away = away || begins(text, passing[i]);
    snprintf(head, sizeof head, "%s", text);
    static _Atomic int64_t full;
    if (begins(text, "MISCONF") && tab_log_due(&full))
        tab_log(TAB_ERROR,
                "Redis cannot write to its disk: free space there; until then it is served without");
    tab_log(away ? TAB_WARN : TAB_ERROR, "redis refused a command: %s", head);
    return away ? tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again")
                : tab_fail(err, TAB_INTERNAL, NULL, "an internal error");
}

/* A kept connection may have died with the server's last restart. A command that got no answer on such a
 * connection is sent again on another, so every command here may run twice. */
static tab_status run(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, const char *bytes,
                      int n)
{
    int64_t from = tab_mono_us();
    tab_deadline until = tab_in_ms(timeout_ms);
    redisReply *reply = NULL;
    while (reply == NULL && tab_left_ms(until, 1) > 0) {
        bool kept;
        wire w = borrow(r, until, &kept);
        if (w.c == NULL)
            break;
        reply = wire_ask(&w, bytes, (size_t)n, until);
        if (reply != NULL)
            give_back(r, w);
        else
            wire_close(&w);
        if (reply == NULL && !kept)
            break;
    }
    int64_t took = tab_mono_us() - from;
    tab_wait_time_of_thread.redis_us += took;
    tab_metric_observe(r->seconds, (double)took * 1e-6);
    bool error = reply != NULL && reply->type == REDIS_REPLY_ERROR;
    tab_metric_add(r->calls[reply == NULL || error], 1);
    if (reply == NULL)
        return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
    if (error) {
        tab_status s = refused(reply->str, err);
        freeReplyObject(reply);
        return s;
    }
    if (ret != NULL)
        *ret = reply;
    else
        freeReplyObject(reply);
    return TAB_OK;
}

tab_status tab_redis_command(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, const char *fmt,
                             ...)
{
    char *bytes = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = redisvFormatCommand(&bytes, fmt, ap);
    va_end(ap);
    if (n < 0)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    tab_status s = run(r, timeout_ms, ret, err, bytes, n);
    redisFreeCommand(bytes);
    return s;
}

tab_status tab_redis_argv(tab_redis *r, int timeout_ms, redisReply **ret, tab_error *err, int argc,
                          const char **argv, const size_t *argn)
{
    char *bytes = NULL;
    int n = (int)redisFormatCommandArgv(&bytes, argc, argv, argn);
    if (n < 0)
        return tab_fail(err, TAB_INTERNAL, NULL, "out of memory");
    tab_status s = run(r, timeout_ms, ret, err, bytes, n);
    redisFreeCommand(bytes);
    return s;
}

bool tab_redis_alive(void *arg)
{
    return tab_redis_command(arg, 500, NULL, NULL, "PING") == TAB_OK;
}
