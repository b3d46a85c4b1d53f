/* What http.c (arrivals, workers, start and stop) and http_answer.c (answers) share; not for anybody else. */
#ifndef TAB_API_HTTP_PARTS_H
#define TAB_API_HTTP_PARTS_H

#include <event2/event.h>
#include <event2/http.h>

#include "common/http/accept.h"
#include "common/rpc/fair_queue.h"
#include "services/api/http/http.h"
#include "services/api/http/stream.h"

/* One request between the loop and a worker. `req` belongs to the loop's thread; NULL once its
 * client left. */
typedef struct exchange {
    tab_turn turn; /* first: a turn is its exchange */
    struct exchange *next, *next_told;
    http *h;
    struct evhttp_request *req;
    struct evbuffer *input;
    struct event *closed; /* tells that the other side closed; a POST's alone */
    tab_str identity;
    request r;
} exchange;

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
    streams *streams;      /* requests whose bodies are taken as they come */
    tab_fair_queue *turns; /* what is to be worked on */
    exchange *done;        /* to be answered */
    size_t open;           /* from arrival to the end of the answer */
    bool stop;
    atomic_bool leaves;
    struct event *turn;           /* each second */
    struct event *hand_over;      /* of `soon`, at the end of the loop's turn */
    exchange *soon;               /* the loop's alone */
    struct event *tell;           /* while there are */
    exchange *telling;            /* requests whose progress is told; under the lock, taken out by the loop */
    _Atomic int64_t turned, came; /* tab_mono_ms of the loop's last turn, of the last request */
};

/* http_answer.c. On the loop's thread: */
void http_answer(exchange *x); /* sends it, where its client is still there, and frees x */
void http_exchange_free(exchange *x);
void http_watch_close(exchange *x);
void http_client_left(struct evhttp_connection *c, void *exchange);
void http_on_wake(evutil_socket_t fd, short what, void *http);
/* On any thread: the loop answers. */
void http_give_back(http *h, exchange *x);
/* http_events.c. On any thread: x's progress is told from now on, until the loop says http_told. */
void http_tell(exchange *x);
void http_on_tell(evutil_socket_t fd, short what, void *http);
void http_told(exchange *x);
bool http_events_end(exchange *x); /* the answer as the last event; false: none has left, it is a plain one */
/* One of http.open has been answered. */
void http_closed_one(void *http);

#endif
