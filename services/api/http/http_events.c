/* Answers that leave in pieces: progress as server-sent events, and the answer itself as the last one. A
 * request that has ended before the loop first looked has a plain answer. All on the loop's thread but
 * http_tell. */
#include <event2/buffer.h>
#include <stdio.h>

#include "services/api/http/http_end.h"
#include "services/api/http/http_parts.h"
#include "services/api/http/progress.h"

enum { LOOK_US = 250000, QUIET_MS = 10000 }; /* a silent stream says that it is there */

static const struct timeval LOOK = { 0, LOOK_US };

void http_tell(exchange *x)
{
    http *h = x->h;
    pthread_mutex_lock(&h->lock);
    bool first = h->telling == NULL;
    x->next_told = h->telling;
    h->telling = x;
    pthread_mutex_unlock(&h->lock);
    if (first)
        event_add(h->tell, &LOOK);
}

static void begin(exchange *x)
{
    struct evkeyvalq *head = evhttp_request_get_output_headers(x->req);
    evhttp_add_header(head, "X-Request-Id", x->r.request_id);
    evhttp_add_header(head, "Content-Type", "text/event-stream");
    evhttp_add_header(head, "Cache-Control", "no-cache");
    evhttp_add_header(head, "X-Accel-Buffering", "no");
    http_close_after(x->req);
    evhttp_send_reply_start(x->req, 200, NULL);
    x->r.progress->begun = true;
}

static void send_event(exchange *x, const char *before, const tab_out *text, const char *after)
{
    struct evbuffer *b = evbuffer_new();
    if (b != NULL && evbuffer_add_printf(b, "%s", before) >= 0 && evbuffer_add(b, text->p, text->n) == 0 &&
        evbuffer_add_printf(b, "%s", after) >= 0)
        evhttp_send_reply_chunk(x->req, b);
    if (b != NULL)
        evbuffer_free(b);
}

static void tell(exchange *x)
{
    progress *p = x->r.progress;
    char phase[40];
    int percent;
    tab_out o = { 0 };
    if (x->req == NULL || atomic_load(&x->r.gone))
        return;
    bool any = progress_new(&x->r, &percent, phase);
    if (!any && tab_mono_ms() - p->told_ms < QUIET_MS)
        return;
    if (!p->begun)
        begin(x);
    p->told_ms = tab_mono_ms();
    if (any) {
        p->told = percent;
        p->write(&o, &x->r, percent, phase);
    }
    if (!o.failed)
        send_event(x, any ? "event: message\ndata: " : ":", &o, "\n\n");
    tab_out_free(&o);
}

void http_on_tell(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    http *h = arg;
    pthread_mutex_lock(&h->lock);
    exchange *first = h->telling; /* what is behind it changes on this thread alone */
    pthread_mutex_unlock(&h->lock);
    for (exchange *x = first; x != NULL; x = x->next_told)
        tell(x);
    if (first != NULL)
        event_add(h->tell, &LOOK);
}

void http_told(exchange *x)
{
    http *h = x->h;
    if (x->r.progress == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    for (exchange **at = &h->telling; *at != NULL; at = &(*at)->next_told)
        if (*at == x) {
            *at = x->next_told;
            break;
        }
    pthread_mutex_unlock(&h->lock); /* the timer ends by itself where none is left */
}

bool http_events_end(exchange *x)
{
    if (x->r.progress == NULL || !x->r.progress->begun)
        return false;
    send_event(x, "event: message\ndata: ", &x->r.out, "\n\n");
    evhttp_send_reply_end(x->req);
    return true;
}
