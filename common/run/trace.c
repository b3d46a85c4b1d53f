/* See trace.h: a bounded queue of spans, already JSON, and a thread that posts them in batches. */
#include "common/run/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/time.h"
#include "common/json/json.h"
#include "common/security/crypto.h"

enum { QUEUE = 2048, BATCH = 256, FLUSH_MS = 1000, POST_MS = 5000, HEX_TRACE = 32, HEX_SPAN = 16 };

static struct {
    bool on, stop;
    char host[256], port[8], path[256];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char *span[QUEUE];
    size_t first, n;
    tab_metric *sent, *dropped;
} out = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

const char *tab_trace_here(void)
{
    return tab_log_traced();
}

/* ---- contexts -------------------------------------------------------------------------------- */

static bool hex(const char *p, size_t n)
{
    return strspn(p, "0123456789abcdef") >= n;
}

static bool well_formed(const char *c)
{
    return strlen(c) == TAB_TRACE_TEXT - 1 && hex(c, HEX_TRACE) && c[HEX_TRACE] == '-' &&
           hex(c + HEX_TRACE + 1, HEX_SPAN) && c[HEX_TRACE + 1 + HEX_SPAN] == '-' &&
           hex(c + HEX_TRACE + 1 + HEX_SPAN + 1, 2);
}

static void random_hex(char *p, size_t n)
{
    char text[HEX_TRACE + 1];
    uint8_t bytes[HEX_TRACE / 2];
    randombytes_buf(bytes, n / 2);
    tab_hex(bytes, n / 2, text);
    memcpy(p, text, n);
}

tab_span tab_span_begin(const char *context)
{
    tab_span s = { .from_us = 0 };
    if (context == NULL || context[0] == 0 || !well_formed(context))
        return s;
    s.from_us = tab_now_us();
    memcpy(s.context, context, sizeof s.context);
    memcpy(s.parent, context + HEX_TRACE + 1, HEX_SPAN);
    if (strspn(s.parent, "0") == HEX_SPAN)
        s.parent[0] = 0;
    random_hex(s.context + HEX_TRACE + 1, HEX_SPAN);
    tab_span_enter(&s);
    return s;
}

tab_span tab_span_first(double share)
{
    char context[TAB_TRACE_TEXT] = "00000000000000000000000000000000-0000000000000000-00";
    uint32_t draw;
    if (!out.on)
        return (tab_span){ .from_us = 0 };
    random_hex(context, HEX_TRACE);
    randombytes_buf(&draw, sizeof draw);
    context[TAB_TRACE_TEXT - 2] = draw / (UINT32_MAX + 1.0) < share ? '1' : '0';
    return tab_span_begin(context);
}

void tab_span_enter(const tab_span *s)
{
    tab_log_trace(s->context);
}

void tab_span_leave(void)
{
    tab_log_trace("");
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void attribute(tab_out *o, const char *name, const char *value)
{
    tab_out_open(o, '{');
    tab_out_key(o, "key");
    tab_out_cstr(o, name);
    tab_out_key(o, "value");
    tab_out_open(o, '{');
    tab_out_key(o, "stringValue");
    tab_out_cstr(o, value);
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

static void text(tab_out *o, const char *key, const char *p, size_t n)
{
    tab_out_key(o, key);
    tab_out_str(o, (tab_str){ p, n });
}

static void nanoseconds(tab_out *o, const char *key, int64_t us)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld000", (long long)us);
    text(o, key, digits, strlen(digits));
}

static void queue(char *json)
{
    pthread_mutex_lock(&out.lock);
    bool fits = out.n < QUEUE && !out.stop;
    if (fits)
        out.span[(out.first + out.n++) % QUEUE] = json;
    if (out.n >= BATCH)
        pthread_cond_signal(&out.wake);
    pthread_mutex_unlock(&out.lock);
    if (!fits) {
        tab_metric_add(out.dropped, 1);
        free(json);
    }
}

void tab_span_end(const tab_span *s, const char *name, bool failed, ...)
{
    if (s->context[0] == 0)
        return;
    bool sampled = strchr("13579bdf", s->context[TAB_TRACE_TEXT - 2]) != NULL;
    if (!out.on || !(sampled || failed))
        return;
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "traceId", s->context, HEX_TRACE);
    text(&o, "spanId", s->context + HEX_TRACE + 1, HEX_SPAN);
    if (s->parent[0] != 0)
        text(&o, "parentSpanId", s->parent, HEX_SPAN);
    text(&o, "name", name, strlen(name));
    tab_out_key(&o, "kind");
    tab_out_int(&o, 2); /* SERVER */
    nanoseconds(&o, "startTimeUnixNano", s->from_us);
    nanoseconds(&o, "endTimeUnixNano", tab_now_us());
    tab_out_key(&o, "attributes");
    tab_out_open(&o, '[');
    va_list ap;
    va_start(ap, failed);
    for (const char *key; (key = va_arg(ap, const char *)) != NULL;) {
        const char *value = va_arg(ap, const char *);
        if (value != NULL && value[0] != 0)
            attribute(&o, key, value);
    }
    va_end(ap);
    tab_out_close(&o, ']');
    tab_out_key(&o, "status");
    tab_out_open(&o, '{');
    tab_out_key(&o, "code");
    tab_out_int(&o, failed ? 2 : 0); /* ERROR, UNSET */
    tab_out_close(&o, '}');
    tab_out_close(&o, '}');
    char *json = o.failed ? NULL : strndup(o.p, o.n);
    tab_out_free(&o);
    if (json != NULL)
        queue(json);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool ready(int fd, short what, tab_deadline until)
{
    struct pollfd p = { fd, what, 0 };
    return poll(&p, 1, (int)tab_left_ms(until, POST_MS)) == 1 && (p.revents & (what | POLLHUP)) != 0;
}

static int dial(tab_deadline until)
{
    struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (getaddrinfo(out.host, out.port, &hint, &found) != 0)
        return -1;
    int fd = -1;
    for (const struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
        int error = 0;
        socklen_t n = sizeof error;
        fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && ((connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) ||
                        !ready(fd, POLLOUT, until) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0 ||
                        error != 0)) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static bool say(int fd, const char *p, size_t n, tab_deadline until)
{
    while (n > 0) {
        ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
        if (w < 0 && (errno == EAGAIN || errno == EINTR) && ready(fd, POLLOUT, until))
            continue;
        if (w <= 0)
            return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* True: the collector's status is 2xx. Of its answer only the first line is read. */
static bool post(const tab_out *body, int64_t ms)
{
    tab_deadline until = tab_in_ms(ms);
    char head[1024], line[16] = "";
    int n = snprintf(
        head, sizeof head,
        "POST %s HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n",
        out.path, out.host, out.port, body->n);
    int fd = dial(until);
    bool ok = fd >= 0 && say(fd, head, (size_t)n, until) && say(fd, body->p, body->n, until);
    for (size_t got = 0; ok && got < sizeof line - 1;) {
        ok = ready(fd, POLLIN, until);
        ssize_t r = ok ? recv(fd, line + got, sizeof line - 1 - got, 0) : -1;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    if (fd >= 0)
        close(fd);
    return ok && strncmp(line, "HTTP/1.", 7) == 0 && strncmp(line + 8, " 2", 2) == 0;
}

static bool send_batch(char **span, size_t n, int64_t ms)
{
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_out_key(&o, "resourceSpans");
    tab_out_open(&o, '[');
    tab_out_open(&o, '{');
    tab_out_key(&o, "resource");
    tab_out_open(&o, '{');
    tab_out_key(&o, "attributes");
    tab_out_open(&o, '[');
    attribute(&o, "service.name", tab_log_daemon());
    attribute(&o, "service.namespace", "tabella");
    attribute(&o, "service.version", TAB_VERSION);
    attribute(&o, "vcs.ref.head.revision", tab_commit);
    tab_out_close(&o, ']');
    tab_out_close(&o, '}');
    tab_out_key(&o, "scopeSpans");
    tab_out_open(&o, '[');
    tab_out_open(&o, '{');
    tab_out_key(&o, "scope");
    tab_out_open(&o, '{');
    text(&o, "name", "tabella", 7);
    tab_out_close(&o, '}');
    tab_out_key(&o, "spans");
    tab_out_open(&o, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_raw(&o, tab_str_of(span[i]));
    tab_out_close(&o, ']');
    tab_out_close(&o, '}');
    tab_out_close(&o, ']');
    tab_out_close(&o, '}');
    tab_out_close(&o, ']');
    tab_out_close(&o, '}');
    bool taken = !o.failed && post(&o, ms);
    tab_metric_add(taken ? out.sent : out.dropped, (double)n);
    tab_out_free(&o);
    return taken;
}

static void *sender(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&out.lock);
    for (bool last = false; !last;) {
        if (!out.stop && out.n < BATCH)
            tab_cond_wait(&out.wake, &out.lock, tab_in_ms(FLUSH_MS));
        bool stop = out.stop;
        last = stop && out.n <= BATCH;
        char *span[BATCH];
        size_t n = 0;
        for (; n < BATCH && out.n > 0; out.n--) {
            span[n++] = out.span[out.first];
            out.first = (out.first + 1) % QUEUE;
        }
        pthread_mutex_unlock(&out.lock);
        if (n > 0 && !send_batch(span, n, stop ? FLUSH_MS : POST_MS) && stop)
            last = true; /* nobody waits for a collector that is away */
        for (size_t i = 0; i < n; i++)
            free(span[i]);
        pthread_mutex_lock(&out.lock);
    }
    pthread_mutex_unlock(&out.lock);
    return NULL;
}

/* At the end of the process: what there is is sent, for a second at most. */
static void close_it(void)
{
    if (!out.on)
        return;
    pthread_mutex_lock(&out.lock);
    out.stop = true;
    pthread_cond_signal(&out.wake);
    pthread_mutex_unlock(&out.lock);
    pthread_join(out.thread, NULL);
    out.on = false;
}

/* http://HOST[:PORT]/PATH; a collector beside the process, so no TLS, and no user or password. */
static bool read_url(const char *url)
{
    static const char http[] = "http://";
    if (strncmp(url, http, sizeof http - 1) != 0 || strpbrk(url, " \r\n@") != NULL)
        return false;
    const char *host = url + sizeof http - 1, *path = strchr(host, '/');
    if (path == NULL)
        return false;
    const char *colon = memchr(host, ':', (size_t)(path - host)), *end = colon == NULL ? path : colon;
    snprintf(out.port, sizeof out.port, "%.*s", colon == NULL ? 2 : (int)(path - colon - 1),
             colon == NULL ? "80" : colon + 1);
    snprintf(out.host, sizeof out.host, "%.*s", (int)(end - host), host);
    snprintf(out.path, sizeof out.path, "%s", path);
    return end > host && (size_t)(end - host) < sizeof out.host && strlen(path) < sizeof out.path &&
           out.port[0] != 0 && strspn(out.port, "0123456789") == strlen(out.port);
}

bool tab_trace_open(const char *url)
{
    if (url[0] == 0)
        return true;
    if (!read_url(url)) {
        tab_log(TAB_ERROR, "TAB_OTLP is no URL of the form http://HOST:PORT/v1/traces");
        return false;
    }
    out.sent = tab_counter("tabella_spans_sent_total", "Spans that the collector took", NULL);
    out.dropped = tab_counter("tabella_spans_dropped_total", "Spans that were not sent, or not taken", NULL);
    out.on = pthread_create(&out.thread, NULL, sender, NULL) == 0;
    return out.on && atexit(close_it) == 0;
}
