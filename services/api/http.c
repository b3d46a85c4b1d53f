#include "services/api/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/thread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/accept.h"
#include "common/integer.h"
#include "common/log.h"

/* One request between the loop and a worker. `req` belongs to the loop's thread; NULL once its
 * client left. */
typedef struct exchange {
    struct exchange *next;
    http *h;
    struct evhttp_request *req;
    struct evbuffer *input;
    struct event *closed; /* tells that the other side closed; a POST's alone */
    tab_str identity;
    request r;
} exchange;

/* Not for callers: the health port, and what the process opens to its servers. */
enum { KEPT_DESCRIPTORS = 64 };

struct http {
    api *a;
    struct event_base *base;
    struct evhttp *server;
    struct evhttp_bound_socket *socket;
    tab_accept *accept;
    struct event *wake;
    int wake_fd;
    pthread_t loop;
    bool loop_runs;
    pthread_t *worker;
    size_t workers;
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    exchange *first, **last; /* to be worked on */
    exchange *done;          /* to be answered */
    size_t queued, open;     /* open: from arrival to the end of the answer */
    bool stop, draining;
};

/* ---- on the loop's thread -------------------------------------------------------------------- */

static void exchange_free(exchange *x)
{
    if (x == NULL)
        return;
    if (x->closed != NULL)
        event_free(x->closed);
    if (x->input != NULL)
        evbuffer_free(x->input);
    held_give(x->r.held);
    free(x->r.body);
    tab_out_free(&x->r.out);
    tab_arena_free(x->r.arena);
    free(x);
}

static void free_text(const void *data, size_t n, void *arg)
{
    (void)n;
    held_give((uint32_t)(uintptr_t)arg);
    free((void *)(uintptr_t)data);
}

static void header(struct evhttp_request *req, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

static void client_left(struct evhttp_connection *c, void *arg)
{
    (void)c;
    exchange *x = arg;
    x->req = NULL;
    if (x->closed != NULL)
        event_del(x->closed);
    atomic_store(&x->r.gone, true);
}

/* evhttp does not read while a request is worked on, so it learns too late that nobody waits. */
static void on_closed(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    exchange *x = arg;
    atomic_store(&x->r.gone, true);
}

static void watch_close(exchange *x)
{
    struct bufferevent *b = evhttp_connection_get_bufferevent(evhttp_request_get_connection(x->req));
    if (evhttp_request_get_command(x->req) != EVHTTP_REQ_POST)
        return;
    x->closed = event_new(x->h->base, bufferevent_getfd(b), EV_CLOSED, on_closed, x);
    if (x->closed != NULL)
        event_add(x->closed, NULL);
}

static void answer(exchange *x)
{
    http *h = x->h;
    request *r = &x->r;
    if (x->req != NULL) {
        char number[16];
        if (x->closed != NULL)
            event_del(x->closed); /* before the descriptor can be another's */
        struct evbuffer *body = evbuffer_new();
        evhttp_connection_set_closecb(evhttp_request_get_connection(x->req), NULL, NULL);
        header(x->req, "X-Request-Id", r->request_id);
        if (r->status != 204)
            header(x->req, "Content-Type", "application/json");
        if (r->grant[0] != 0)
            header(x->req, TAB_GRANT_HEADER, r->grant);
        if (r->retry_after > 0) {
            snprintf(number, sizeof number, "%u", r->retry_after);
            header(x->req, "Retry-After", number);
        }
        if (h->draining)
            header(x->req, "Connection", "close");
        r->held = held_answer(r);
        if (body != NULL && r->out.n > 0 &&
            evbuffer_add_reference(body, r->out.p, r->out.n, free_text, (void *)(uintptr_t)r->held) == 0) {
            r->out = (tab_out){ 0 };
            r->held = 0; /* the buffer's, until the last byte has left */
        }
        evhttp_send_reply(x->req, r->status, NULL, body);
        if (body != NULL)
            evbuffer_free(body);
    }
    exchange_free(x);
    pthread_mutex_lock(&h->lock);
    if (--h->open == 0)
        pthread_cond_broadcast(&h->idle);
    pthread_mutex_unlock(&h->lock);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    http *h = arg;
    uint64_t n;
    if (read(fd, &n, sizeof n) < 0)
        return;
    pthread_mutex_lock(&h->lock);
    exchange *x = h->done;
    h->done = NULL;
    pthread_mutex_unlock(&h->lock);
    for (exchange *next; x != NULL; x = next) {
        next = x->next;
        answer(x);
    }
}

static const char *method_name(enum evhttp_cmd_type t)
{
    switch (t) {
    case EVHTTP_REQ_GET:
        return "GET";
    case EVHTTP_REQ_HEAD:
        return "HEAD";
    case EVHTTP_REQ_POST:
        return "POST";
    case EVHTTP_REQ_DELETE:
        return "DELETE";
    case EVHTTP_REQ_PATCH:
        return "PATCH";
    case EVHTTP_REQ_PUT:
        return "PUT";
    default:
        return "";
    }
}

static bool take_headers(exchange *x)
{
    request *r = &x->r;
    struct evkeyval *kv;
    struct evkeyvalq *in = evhttp_request_get_input_headers(x->req);
    for (kv = in->tqh_first; kv != NULL; kv = kv->next.tqe_next) {
        tab_str value = tab_arena_copy(r->arena, tab_str_of(kv->value));
        if (value.p == NULL)
            return false;
        if (strcasecmp(kv->key, TAB_IDENTITY_HEADER) == 0)
            x->identity = value;
        else if (strcasecmp(kv->key, "Content-Type") == 0)
            r->content_type = value.p;
        else if (strcasecmp(kv->key, "Content-Encoding") == 0)
            r->content_encoding = value.p;
        else if (strcasecmp(kv->key, "X-Tabella-Uncounted") == 0)
            r->uncounted = value.n == 1 && value.p[0] == '1';
        else if (strcasecmp(kv->key, "Idempotency-Key") == 0) {
            r->idempotency_key = value.p;
            r->idempotency_headers++;
        }
    }
    /* The raw path, as the gateway signed it: evhttp's own splitting would decode it. */
    const char *uri = evhttp_request_get_uri(x->req), *q = strchr(uri, '?');
    r->path = tab_arena_copy(r->arena, (tab_str){ uri, q != NULL ? (size_t)(q - uri) : strlen(uri) });
    r->query = q != NULL ? tab_arena_copy(r->arena, tab_str_of(q + 1)) : TAB_S("");
    return r->path.p != NULL && r->query.p != NULL;
}

static void on_request(struct evhttp_request *req, void *arg)
{
    http *h = arg;
    exchange *x = calloc(1, sizeof *x);
    if (x == NULL || (x->r.arena = tab_arena_new((size_t)4 << 30)) == NULL ||
        (x->input = evbuffer_new()) == NULL) {
        exchange_free(x);
        evhttp_send_reply(req, 503, NULL, NULL);
        return;
    }
    x->h = h;
    x->req = req;
    x->r.api = h->a;
    x->r.method = method_name(evhttp_request_get_command(req));
    evbuffer_add_buffer(x->input, evhttp_request_get_input_buffer(req));
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), client_left, x);
    watch_close(x);
    bool fits = take_headers(x) && held_arrive(&x->r, evbuffer_get_length(x->input));
    pthread_mutex_lock(&h->lock);
    h->open++;
    bool full = h->queued >= (size_t)h->a->cfg.queue;
    if (!full && fits) {
        x->r.arrives = strncmp(x->r.path.p, "/v2/serve/", 10) == 0;
        atomic_fetch_add(&h->a->arriving, x->r.arrives);
        *h->last = x;
        h->last = &x->next;
        h->queued++;
    }
    pthread_mutex_unlock(&h->lock);
    if (!full && fits)
        pthread_cond_signal(&h->work); /* outside the lock, which it would run into */
    if (full || !fits) {
        tab_id_new(x->r.request_id, "req_");
        x->r.status = 503;
        x->r.retry_after = 1;
        char text[256];
        int n = snprintf(text, sizeof text,
                         "{\"error\":{\"type\":\"internal\",\"message\":\"too many requests are waiting; "
                         "retry with backoff\",\"request_id\":\"%s\"}}",
                         x->r.request_id);
        tab_out_bytes(&x->r.out, text, (size_t)n);
        answer(x);
    }
}

/* ---- on a worker's thread -------------------------------------------------------------------- */

/* The body as one text with a 0 behind it; the buffer's pieces go as they are copied. */
static bool take_body(exchange *x)
{
    size_t n = evbuffer_get_length(x->input);
    char *p = malloc(n + 1);
    if (p == NULL)
        return false;
    for (size_t at = 0; at < n;) {
        size_t piece = n - at < 65536 ? n - at : 65536;
        int got = evbuffer_remove(x->input, p + at, piece);
        if (got <= 0) {
            free(p);
            return false;
        }
        at += (size_t)got;
    }
    p[n] = 0;
    x->r.body = p;
    x->r.body_n = n;
    evbuffer_free(x->input);
    x->input = NULL;
    return true;
}

/* Wakes the loop where it has not been woken already, outside the lock, which it takes first. */
static void give_back(http *h, exchange *x)
{
    uint64_t one = 1;
    pthread_mutex_lock(&h->lock);
    bool woken = h->done != NULL;
    x->next = h->done;
    h->done = x;
    pthread_mutex_unlock(&h->lock);
    if (!woken && write(h->wake_fd, &one, sizeof one) < 0)
        tab_log(TAB_ERROR, "the loop cannot be woken");
}

static exchange *exchange_of(request *r)
{
    return (exchange *)(void *)((char *)r - offsetof(exchange, r));
}

void request_end(request *r, tab_status s, tab_error *err)
{
    exchange *x = exchange_of(r);
    http *h = x->h;
    request_finish(r, s, err);
    give_back(h, x);
}

/* In front of what waits: it has waited already, and is in no bound's way. */
void request_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    exchange *x = exchange_of(r);
    http *h = x->h;
    r->again = fn;
    r->again_arg = arg;
    pthread_mutex_lock(&h->lock);
    x->next = h->first;
    h->first = x;
    if (x->next == NULL)
        h->last = &x->next;
    h->queued++;
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
}

/* False: parked. */
static bool worked_on(exchange *x)
{
    tab_error err = { 0 };
    if (x->r.again != NULL) {
        request_finish(&x->r, x->r.again(x->r.again_arg, &err), &err);
        return true;
    }
    if (!take_body(x))
        x->identity = TAB_S("");
    if (!api_dispatch(&x->r, x->identity))
        return false;
    request_body_drop(&x->r);
    return true;
}

static void *work(void *arg)
{
    http *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->first == NULL && !h->stop)
            pthread_cond_wait(&h->work, &h->lock);
        exchange *x = h->first;
        if (x == NULL)
            break;
        h->first = x->next;
        if (h->first == NULL)
            h->last = &h->first;
        h->queued--;
        pthread_mutex_unlock(&h->lock);
        if (worked_on(x))
            give_back(h, x);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void *run_loop(void *arg)
{
    http *h = arg;
    event_base_loop(h->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static bool listen_at(http *h, const char *address)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    int64_t port;
    if (colon == NULL || (size_t)(colon - address) >= sizeof host ||
        !tab_integer_read(tab_str_of(colon + 1), 0, 65535, &port))
        return false;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = 0;
    h->socket = evhttp_bind_socket_with_handle(h->server, host, (uint16_t)port);
    if (h->socket != NULL)
        h->accept = tab_accept_new(h->base, h->server, h->socket, address, KEPT_DESCRIPTORS, 0);
    return h->accept != NULL;
}

http *http_open(api *a)
{
    http *h = calloc(1, sizeof *h);
    if (h == NULL || evthread_use_pthreads() != 0) {
        free(h);
        return NULL;
    }
    h->a = a;
    h->last = &h->first;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    pthread_cond_init(&h->idle, NULL);
    h->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    h->base = event_base_new();
    h->server = h->base != NULL ? evhttp_new(h->base) : NULL;
    h->worker = calloc((size_t)a->cfg.workers, sizeof *h->worker);
    if (h->wake_fd < 0 || h->server == NULL || h->worker == NULL)
        goto fail;
    evhttp_set_max_headers_size(h->server, 32768);
    evhttp_set_max_body_size(h->server, (ssize_t)a->cfg.body_most + 65536);
    evhttp_set_timeout(h->server, 120);
    evhttp_set_default_content_type(h->server, NULL);
    evhttp_set_allowed_methods(h->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                              EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH | EVHTTP_REQ_PUT);
    evhttp_set_gencb(h->server, on_request, h);
    h->wake = event_new(h->base, h->wake_fd, EV_READ | EV_PERSIST, on_wake, h);
    if (h->wake == NULL || event_add(h->wake, NULL) != 0)
        goto fail;
    if (!listen_at(h, a->cfg.http)) {
        tab_log(TAB_ERROR, "cannot listen on %s", a->cfg.http);
        goto fail;
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 * 1024);
    for (; h->workers < (size_t)a->cfg.workers; h->workers++)
        if (pthread_create(&h->worker[h->workers], &small, work, h) != 0)
            break;
    pthread_attr_destroy(&small);
    h->loop_runs = h->workers > 0 && pthread_create(&h->loop, NULL, run_loop, h) == 0;
    if (h->loop_runs)
        return h;
fail:
    tab_log(TAB_ERROR, "the HTTP server does not start");
    http_free(h);
    return NULL;
}

static void stop_accepting(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    http *h = arg;
    h->draining = true;
    tab_accept_stop(h->accept);
    evhttp_del_accept_socket(h->server, h->socket);
    h->socket = NULL;
}

bool http_drain(http *h, int64_t seconds)
{
    event_base_once(h->base, -1, EV_TIMEOUT, stop_accepting, h, NULL);
    usleep(300000); /* what the gateway had already sent on its kept connections */
    tab_deadline until = tab_in_s(seconds);
    pthread_mutex_lock(&h->lock);
    while (h->open > 0 && tab_cond_wait(&h->idle, &h->lock, until))
        continue;
    bool all = h->open == 0;
    pthread_mutex_unlock(&h->lock);
    usleep(100000); /* the last answers leave */
    return all;
}

void http_free(http *h)
{
    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->work);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < h->workers; i++)
        pthread_join(h->worker[i], NULL);
    if (h->loop_runs) {
        event_base_loopbreak(h->base);
        pthread_join(h->loop, NULL);
    }
    for (exchange *x = h->done, *next; x != NULL; x = next) {
        next = x->next;
        exchange_free(x);
    }
    tab_accept_free(h->accept);
    if (h->wake != NULL)
        event_free(h->wake);
    if (h->server != NULL)
        evhttp_free(h->server);
    if (h->base != NULL)
        event_base_free(h->base);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    free(h->worker);
    free(h);
}
