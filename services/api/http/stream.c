/* See stream.h. */
#include "services/api/http/stream.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "services/api/dispatch.h"
#include "services/api/http/http_head.h"

enum {
    HEAD_MOST = 32 * 1024, /* as of evhttp here */
    IN = 64 * 1024,
    LOOK_MS = 200,             /* how often a waiting one looks whether it is still wanted */
    WINDOW_MS = 15000,         /* of waiting, in which at least */
    WINDOW_BYTES = 240 * 1024, /* come: the gateway's tab_body_rate */
    ANSWER_MS = 30000,
    LINGER_MS = 5000 /* for what the other side still sends, so that it reads the answer */
};

struct streams {
    api *a;
    struct event_base *base;
    streams_hooks hooks;
    pthread_mutex_t lock;
    pthread_cond_t none;
    struct stream *first;
    size_t n;
    atomic_bool stop;
};

struct stream {
    request r;
    struct stream *next;
    streams *of;
    struct bufferevent *b; /* evhttp's, which waits; the loop's alone */
    int fd;
    char org[sizeof((tab_grant *)0)->org]; /* that it counts for; under of->lock */
    char in[IN];
    size_t from, to;
    /* the body's framing */
    bool chunked, in_body, over; /* within a chunk or a body of known length; all of it has come */
    uint64_t left;               /* of the chunk, or of the body */
    int64_t waited_ms, came;     /* of the window */
    /* parked */
    pthread_mutex_t lock;
    pthread_cond_t turn;
    bool ended;
    bool download; /* its answer is what is long */
    bool begun;    /* the head of its answer has left */
};

/* ---- bytes in -------------------------------------------------------------------------------- */

static tab_status left_or_stops(struct stream *s, tab_error *err)
{
    atomic_store(&s->r.gone, true);
    return tab_fail(err, TAB_CANCELLED, "", "the request body ended early");
}

/* Waits for bytes behind those that are here; none may be here that fill the buffer. */
static tab_status fill(struct stream *s, tab_error *err)
{
    if (s->from > 0) {
        memmove(s->in, s->in + s->from, s->to - s->from);
        s->to -= s->from;
        s->from = 0;
    }
    for (;;) {
        struct pollfd p = { s->fd, POLLIN, 0 };
        int64_t since = tab_mono_ms();
        int got = poll(&p, 1, LOOK_MS);
        s->waited_ms += tab_mono_ms() - since;
        if (atomic_load(&s->of->stop))
            return left_or_stops(s, err);
        if (s->waited_ms >= WINDOW_MS) {
            if (s->came < WINDOW_BYTES)
                return tab_fail(err, TAB_VALIDATION, "body", "the request body arrived too slowly");
            s->waited_ms = s->came = 0;
        }
        if (got <= 0)
            continue;
        ssize_t n = recv(s->fd, s->in + s->to, IN - s->to, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return left_or_stops(s, err);
        s->to += (size_t)n;
        s->came += n;
        return TAB_OK;
    }
}

/* A line without its end, at most HEAD_MOST bytes; a view of the buffer until the next fill. */
static tab_status read_line(struct stream *s, tab_str *ret, tab_error *err)
{
    for (;;) {
        char *at = s->in + s->from, *end = memmem(at, s->to - s->from, "\r\n", 2);
        if (end != NULL) {
            *ret = (tab_str){ at, (size_t)(end - at) };
            s->from += ret->n + 2;
            return TAB_OK;
        }
        if (s->to - s->from >= HEAD_MOST)
            return tab_fail(err, TAB_VALIDATION, "body", "the length of the request body is ambiguous");
        TAB_TRY(fill(s, err));
    }
}

static tab_status unclear(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "body", "the length of the request body is ambiguous");
}

/* The head of the next chunk; after the last one, its trailer. */
static tab_status next_chunk(struct stream *s, tab_error *err)
{
    tab_str line;
    uint64_t n = 0;
    size_t digits = 0;
    if (s->in_body) { /* behind the chunk before */
        TAB_TRY(read_line(s, &line, err));
        if (line.n > 0)
            return unclear(err);
    }
    TAB_TRY(read_line(s, &line, err));
    for (; digits < line.n && digits < 15; digits++) {
        char c = line.p[digits];
        if (c >= '0' && c <= '9')
            n = n * 16 + (uint64_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            n = n * 16 + (uint64_t)((c | 32) - 'a' + 10);
        else
            break;
    }
    if (digits == 0 || (digits < line.n && line.p[digits] != ';'))
        return unclear(err);
    s->in_body = true;
    s->left = n;
    if (n > 0)
        return TAB_OK;
    s->over = true;
    do
        TAB_TRY(read_line(s, &line, err));
    while (line.n > 0);
    return TAB_OK;
}

tab_status stream_pull(void *stream, char *to, size_t most, size_t *ret_n, tab_error *err)
{
    struct stream *s = stream;
    *ret_n = 0;
    if (s->left == 0 && !s->over && s->chunked)
        TAB_TRY(next_chunk(s, err));
    s->over |= s->left == 0;
    if (s->over)
        return TAB_OK;
    if (s->from == s->to)
        TAB_TRY(fill(s, err));
    size_t n = s->to - s->from;
    n = n < most ? n : most;
    n = n < s->left ? n : (size_t)s->left;
    memcpy(to, s->in + s->from, n);
    s->from += n;
    s->left -= n;
    *ret_n = n;
    return TAB_OK;
}

/* ---- the head -------------------------------------------------------------------------------- */

/* A header that says where the body ends; both kinds, or one twice, say nothing. */
static bool framing(struct stream *s, const char *name, tab_str value, unsigned *declared)
{
    int64_t n = 0;
    bool length = strcasecmp(name, "Content-Length") == 0;
    if (!length && strcasecmp(name, "Transfer-Encoding") != 0)
        return true;
    if (++*declared > 1)
        return false;
    if (!length) {
        s->chunked = value.n == 7 && strncasecmp(value.p, "chunked", 7) == 0;
        return s->chunked;
    }
    if (value.n > 18 || !tab_integer_read(value, 0, INT64_MAX, &n))
        return false;
    s->left = (uint64_t)n;
    return true;
}

static tab_status read_headers(struct stream *s, tab_str *identity, tab_error *err)
{
    unsigned declared = 0;
    size_t bytes = 0;
    for (;;) {
        tab_str line;
        TAB_TRY(read_line(s, &line, err));
        if (line.n == 0) {
            s->over = declared == 0; /* as a GET has none */
            return declared == 1 || s->download ? TAB_OK : unclear(err);
        }
        const char *colon = memchr(line.p, ':', line.n);
        if ((bytes += line.n) > HEAD_MOST || colon == NULL || colon == line.p)
            return unclear(err);
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(colon - line.p), line.p);
        tab_str value = { colon + 1, line.n - (size_t)(colon + 1 - line.p) };
        while (value.n > 0 && (*value.p == ' ' || *value.p == '\t'))
            value = (tab_str){ value.p + 1, value.n - 1 };
        while (value.n > 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t'))
            value.n--;
        if (memchr(line.p, 0, line.n) != NULL || !framing(s, name, value, &declared))
            return unclear(err);
        if (!http_header_in(&s->r, name, value, identity))
            return tab_no_memory(err);
    }
}

static tab_status read_head(struct stream *s, tab_str *identity, tab_error *err)
{
    tab_str line;
    TAB_TRY(read_line(s, &line, err));
    const char *from = memchr(line.p, ' ', line.n);
    const char *end = memrchr(line.p, ' ', line.n);
    static const char version[] = " HTTP/1.1";
    if (from == NULL || end == from || (size_t)(line.p + line.n - end) != sizeof version - 1 ||
        memcmp(end, version, sizeof version - 1) != 0)
        return unclear(err);
    if (!http_target_in(&s->r, (tab_str){ from + 1, (size_t)(end - from) - 1 }))
        return tab_no_memory(err);
    return read_headers(s, identity, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* False: it does not read on, or has left. */
static bool send_all(struct stream *s, tab_str text)
{
    tab_deadline until = tab_in_ms(ANSWER_MS);
    while (text.n > 0) {
        struct pollfd p = { s->fd, POLLOUT, 0 };
        ssize_t n = send(s->fd, text.p, text.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n > 0) {
            text = (tab_str){ text.p + n, text.n - (size_t)n };
            until = tab_in_ms(ANSWER_MS);
        } else if (tab_left_ms(until, 1) == 0 || atomic_load(&s->of->stop)) {
            return false;
        } else {
            (void)poll(&p, 1, LOOK_MS);
        }
    }
    return true;
}

static void add_header(void *to, const char *name, const char *value)
{
    tab_out *o = to;
    tab_out_bytes(o, name, strlen(name));
    tab_out_bytes(o, ": ", 2);
    tab_out_bytes(o, value, strlen(value));
    tab_out_bytes(o, "\r\n", 2);
}

/* The head of an answer: `length` bytes follow; LONG: as many as there are, in chunks. */
enum { LONG = SIZE_MAX };
static bool send_head(struct stream *s, size_t length, const char *name)
{
    request *r = &s->r;
    tab_out head = { 0 };
    char line[256];
    snprintf(line, sizeof line, "HTTP/1.1 %d -\r\n", r->status);
    tab_out_bytes(&head, line, strlen(line));
    http_headers_out(r, add_header, &head);
    snprintf(line, sizeof line, "%zu", length);
    add_header(&head, length == LONG ? "Transfer-Encoding" : "Content-Length",
               length == LONG ? "chunked" : line);
    snprintf(line, sizeof line, "attachment; filename=\"%s\"", name == NULL ? "" : name);
    if (name != NULL)
        add_header(&head, "Content-Disposition", line);
    add_header(&head, "Connection", "close");
    tab_out_bytes(&head, "\r\n", 2);
    bool sent = !head.failed && send_all(s, tab_out_text(&head));
    tab_out_free(&head);
    return sent;
}

static void answer(struct stream *s)
{
    if (send_head(s, s->r.out.n, NULL))
        (void)send_all(s, tab_out_text(&s->r.out));
}

static tab_status sent(struct stream *s, bool good, tab_error *err)
{
    if (good)
        return TAB_OK;
    atomic_store(&s->r.gone, true);
    return tab_fail(err, TAB_CANCELLED, "", "the client stopped reading the response");
}

tab_status stream_begin(struct stream *s, const char *name, tab_error *err)
{
    s->begun = true;
    return sent(s, send_head(s, LONG, name), err);
}

static tab_status stream_push(struct stream *s, tab_str bytes, tab_error *err)
{
    char size[24];
    if (bytes.n == 0)
        return TAB_OK;
    int n = snprintf(size, sizeof size, "%zx\r\n", bytes.n);
    return sent(s,
                send_all(s, (tab_str){ size, (size_t)n }) && send_all(s, bytes) && send_all(s, TAB_S("\r\n")),
                err);
}

tab_status stream_finish(struct stream *s, tab_error *err)
{
    return sent(s, send_all(s, TAB_S("0\r\n\r\n")), err);
}

tab_status stream_send(request *r, tab_str bytes, tab_error *err)
{
    enum { HELD_MOST = 64 << 20 };
    if (r->stream != NULL)
        return stream_push(r->stream, bytes, err);
    if (strcmp(r->method, "HEAD") == 0)
        return TAB_OK;
    if (r->out.n + bytes.n > HELD_MOST) /* the gateway sends each on a connection of its own */
        return tab_fail(err, TAB_UNAVAILABLE, "",
                        "a download of this size must be the first request on its connection");
    tab_out_bytes(&r->out, bytes.p, bytes.n);
    return TAB_OK;
}

/* What still comes is read and dropped, so that no reset overtakes the answer. */
static void linger(struct stream *s)
{
    tab_deadline until = tab_in_ms(LINGER_MS);
    shutdown(s->fd, SHUT_WR);
    while (tab_left_ms(until, 1) > 0 && !atomic_load(&s->of->stop)) {
        struct pollfd p = { s->fd, POLLIN, 0 };
        if (poll(&p, 1, LOOK_MS) <= 0)
            continue;
        if (recv(s->fd, s->in, IN, MSG_DONTWAIT) <= 0)
            return;
    }
}

/* ---- one request ----------------------------------------------------------------------------- */

/* A place among those at once; else why there is none. */
static tab_status find_place(struct stream *s, tab_error *err)
{
    streams *of = s->of;
    const api_config *cfg = &of->a->cfg;
    int64_t all = 0, org = 0, most = s->download ? cfg->downloads : cfg->uploads,
            most_org = s->download ? cfg->downloads_org : cfg->uploads_org;
    pthread_mutex_lock(&of->lock);
    for (struct stream *x = of->first; x != NULL; x = x->next) {
        all += x->org[0] != 0 && x->download == s->download;
        org += strcmp(x->org, s->r.who.org) == 0 && x->download == s->download;
    }
    bool room = all < most && org < most_org;
    if (room)
        snprintf(s->org, sizeof s->org, "%s", s->r.who.org);
    pthread_mutex_unlock(&of->lock);
    if (room)
        return TAB_OK;
    const char *what = s->download ? "downloads" : "uploads";
    return org >= most_org
               ? tab_fail(err, TAB_RATE_LIMIT, "",
                          "the organization %s as many files at once as it may: %lld", what,
                          (long long)most_org)
               : tab_fail(err, TAB_UNAVAILABLE, "", "too many %s are in progress; retry with backoff", what);
}

void stream_end(request *r, tab_status status, tab_error *err)
{
    struct stream *s = r->stream;
    request_finish(r, status, err);
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_signal(&s->turn);
    pthread_mutex_unlock(&s->lock);
}

void stream_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    struct stream *s = r->stream;
    pthread_mutex_lock(&s->lock);
    r->again = fn;
    r->again_arg = arg;
    pthread_cond_signal(&s->turn);
    pthread_mutex_unlock(&s->lock);
}

/* Until a parked request has ended. */
static void see_through(struct stream *s)
{
    request *r = &s->r;
    for (;;) {
        tab_error err = { 0 };
        pthread_mutex_lock(&s->lock);
        while (!s->ended && r->again == NULL)
            pthread_cond_wait(&s->turn, &s->lock);
        bool ended = s->ended;
        tab_status (*fn)(void *, tab_error *) = r->again;
        r->again = NULL;
        pthread_mutex_unlock(&s->lock);
        if (ended)
            return;
        tab_log_context(r->request_id, r->who.org);
        tab_span_enter(&r->span);
        tab_status status = fn(r->again_arg, &err);
        if (status != PARKED) {
            request_finish(r, status, &err);
            return;
        }
        api_leave();
    }
}

static void serve(struct stream *s)
{
    tab_str identity = TAB_S("");
    tab_error err = { 0 };
    request *r = &s->r;
    tab_status head = read_head(s, &identity, &err);
    if (head == TAB_CANCELLED)
        return;
    api_arrived(r, identity);
    if (head == TAB_OK && r->who_status == TAB_OK)
        head = find_place(s, &err);
    if (head != TAB_OK && r->who_status == TAB_OK) { /* a stranger hears that it is one, and no more */
        r->who_status = head;
        r->who_error = err;
    }
    if (!api_dispatch(r))
        see_through(s);
    if (s->begun || atomic_load(&r->gone))
        return;
    answer(s);
    linger(s);
}

/* On the loop's thread: evhttp reads again, and finds the end. */
static void give_back(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    bufferevent_enable(arg, EV_READ);
}

static void *work(void *arg)
{
    struct stream *s = arg;
    streams *of = s->of;
    serve(s);
    shutdown(s->fd, SHUT_RDWR);
    close(s->fd);
    event_base_once(of->base, -1, EV_TIMEOUT, give_back, s->b, NULL);
    pthread_mutex_lock(&of->lock);
    for (struct stream **at = &of->first; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&of->lock);
    of->hooks.ended(of->hooks.arg);
    tab_out_free(&s->r.out);
    tab_arena_free(s->r.arena);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->turn);
    free(s);
    pthread_mutex_lock(&of->lock);
    if (--of->n == 0)
        pthread_cond_broadcast(&of->none);
    pthread_mutex_unlock(&of->lock);
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Under the lock. */
static bool start(streams *of, struct stream *s)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 * 1024);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool good = pthread_create(&thread, &attr, work, s) == 0;
    pthread_attr_destroy(&attr);
    if (good) {
        s->next = of->first;
        of->first = s;
        of->n++;
    }
    return good;
}

/* Whether the path goes on with this behind an id. */
static bool below(const char *id, const char *end, const char *what)
{
    const char *slash = memchr(id, '/', (size_t)(end - id));
    size_t n = strlen(what);
    return slash != NULL && (size_t)(end - slash) >= n && memcmp(slash, what, n) == 0;
}

/* What kind the request is whose first bytes these are. */
typedef enum { OTHER, UPLOAD, PART, DOWNLOAD } kind_of;
static kind_of kind_first(const char *first, size_t n)
{
    static const char upload[] = "POST /platform/v1/data/upload", part[] = "PUT /platform/v1/uploads/",
                      job[] = "GET /v2/jobs/", data[] = "GET /platform/v1/data/",
                      export[] = "GET /platform/v1/exports/";
    if (n >= sizeof part && memcmp(first, part, sizeof part - 1) == 0)
        return PART;
    if (n >= sizeof upload && memcmp(first, upload, sizeof upload - 1) == 0)
        return first[sizeof upload - 1] == ' ' || first[sizeof upload - 1] == '?' ? UPLOAD : OTHER;
    if (n >= sizeof data && memcmp(first, data, sizeof data - 1) == 0)
        return below(first + sizeof data - 1, first + n, "/stored") ? DOWNLOAD : OTHER;
    if (n >= sizeof export && memcmp(first, export, sizeof export - 1) == 0)
        return DOWNLOAD;
    if (n < sizeof job || memcmp(first, job, sizeof job - 1) != 0)
        return OTHER;
    return below(first + sizeof job - 1, first + n, "/result/") ? DOWNLOAD : OTHER;
}

bool streams_take(void *arg, struct bufferevent *b, struct evbuffer *in)
{
    streams *of = arg;
    char first[256];
    size_t n = evbuffer_get_length(in);
    ev_ssize_t got = evbuffer_copyout(in, first, sizeof first);
    kind_of kind = got > 0 && n <= IN ? kind_first(first, (size_t)got) : OTHER;
    if (kind == OTHER)
        return false;
    struct stream *s = calloc(1, sizeof *s);
    if (s == NULL || (s->fd = dup(bufferevent_getfd(b))) < 0) {
        free(s);
        return false;
    }
    s->of = of;
    s->b = b;
    s->r.api = of->a;
    s->r.stream = s;
    s->download = kind == DOWNLOAD;
    s->r.method = s->download ? "GET" : kind == PART ? "PUT" : "POST";
    s->r.arena = tab_arena_new(s->download ? (size_t)2 << 30 : (size_t)256 << 20);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->turn, NULL);
    s->to = (size_t)evbuffer_copyout(in, s->in, n);
    of->hooks.began(of->hooks.arg);
    pthread_mutex_lock(&of->lock); /* those beyond the limits are told so, but not any number of them */
    bool good = s->r.arena != NULL && !atomic_load(&of->stop) &&
                of->n < 2 * (size_t)(of->a->cfg.uploads + of->a->cfg.downloads) + 1 && start(of, s);
    pthread_mutex_unlock(&of->lock);
    if (good) {
        evbuffer_drain(in, n);
        return true;
    }
    of->hooks.ended(of->hooks.arg);
    close(s->fd);
    tab_arena_free(s->r.arena);
    free(s);
    return false;
}

streams *streams_open(api *a, struct event_base *base, streams_hooks hooks)
{
    streams *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->a = a;
    s->base = base;
    s->hooks = hooks;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->none, NULL);
    return s;
}

void streams_end(streams *s)
{
    if (s == NULL)
        return;
    atomic_store(&s->stop, true);
    pthread_mutex_lock(&s->lock);
    for (struct stream *x = s->first; x != NULL; x = x->next)
        atomic_store(&x->r.gone, true);
    while (s->n > 0)
        pthread_cond_wait(&s->none, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

void streams_free(streams *s)
{
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->none);
    free(s);
}
