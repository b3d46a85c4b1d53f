/* The end of a request: its answer leaves, or its client has left. See http_parts.h. */
#include "services/api/http/http_parts.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "services/api/http/body_quota.h"
#include "services/api/http/http_end.h"
#include "services/api/http/http_head.h"
#include "services/api/http/progress.h"

/* Wakes the loop, unless it has been woken already. The write is outside the lock, which the loop takes
 * first. */
void http_give_back(http *h, exchange *x)
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

void http_exchange_free(exchange *x)
{
    if (x == NULL)
        return;
    progress_end(&x->r);
    if (x->closed != NULL)
        event_free(x->closed);
    if (x->input != NULL)
        evbuffer_free(x->input);
    body_quota_give(x->r.held);
    free(x->r.body);
    tab_out_free(&x->r.out);
    tab_arena_free(x->r.arena);
    free(x);
}

static void free_text(const void *data, size_t n, void *arg)
{
    (void)n;
    body_quota_give((uint32_t)(uintptr_t)arg);
    free((void *)(uintptr_t)data);
}

static void header(void *req, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

void http_client_left(struct evhttp_connection *c, void *arg)
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

void http_watch_close(exchange *x)
{
    struct bufferevent *b = evhttp_connection_get_bufferevent(evhttp_request_get_connection(x->req));
    if (evhttp_request_get_command(x->req) != EVHTTP_REQ_POST)
        return;
    x->closed = event_new(x->h->base, bufferevent_getfd(b), EV_CLOSED, on_closed, x);
    if (x->closed != NULL)
        event_add(x->closed, NULL);
}

void http_closed_one(void *arg)
{
    http *h = arg;
    pthread_mutex_lock(&h->lock);
    if (--h->open == 0)
        pthread_cond_broadcast(&h->idle);
    pthread_mutex_unlock(&h->lock);
}

/* The last byte of an answer has left. */
static void answer_left(struct evhttp_request *req, void *arg)
{
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL, NULL);
    http_closed_one(arg);
}

/* Or its connection is gone. */
static void answer_lost(struct evhttp_connection *c, void *arg)
{
    (void)c;
    http_closed_one(arg);
}

static void send_whole(exchange *x)
{
    request *r = &x->r;
    struct evbuffer *body = evbuffer_new();
    char number[24];
    http_headers_out(r, header, x->req);
    if (atomic_load(&x->h->leaves) || http_more_has_come(x->req))
        http_close_after(x->req);
    /* evhttp would send the body of a HEAD along, and it would be read as the next answer. */
    bool head = evhttp_request_get_command(x->req) == EVHTTP_REQ_HEAD;
    if (head && r->status != 204) {
        snprintf(number, sizeof number, "%zu", r->out.n);
        header(x->req, "Content-Length", number);
    }
    r->held = body_quota_answer(r);
    if (body != NULL && r->out.n > 0 && !head &&
        evbuffer_add_reference(body, r->out.p, r->out.n, free_text, (void *)(uintptr_t)r->held) == 0) {
        r->out = (tab_out){ 0 };
        r->held = 0; /* the buffer's, until the last byte has left */
    }
    evhttp_send_reply(x->req, r->status, NULL, body);
    if (body != NULL)
        evbuffer_free(body);
}

void http_answer(exchange *x)
{
    http *h = x->h;
    bool leaves_later = x->req != NULL;
    http_told(x);
    if (x->req != NULL) {
        if (x->closed != NULL)
            event_del(x->closed); /* before the descriptor can be another's */
        evhttp_connection_set_closecb(evhttp_request_get_connection(x->req), answer_lost, h);
        evhttp_request_set_on_complete_cb(x->req, answer_left, h);
        if (!http_events_end(x))
            send_whole(x);
    }
    http_exchange_free(x);
    if (!leaves_later)
        http_closed_one(h);
}

void http_on_wake(evutil_socket_t fd, short what, void *arg)
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
        http_answer(x);
    }
}
