/* Requests whose bodies are taken as they come (decision 0365), and those whose answers leave as they are
 * made (0410): POST /platform/v1/data/upload, PUT /platform/v1/uploads/:id, GET /v2/jobs/:id/result/:part,
 * /platform/v1/data/:id/stored and /platform/v1/exports/:id, where it is the first request of its
 * connection, as the gateway sends it. evhttp has a whole body before its handler hears of it, and a whole
 * answer before it sends it; so the connection is taken from it before it has read a byte, and one thread
 * serves it from its head to its answer, in blocking calls.
 *
 *   accept.h: first bytes --> streams_take: a duplicate of the descriptor, a thread
 *   thread: head -> api_dispatch -> handler <- stream_pull -> answer, close
 *   loop: the connection that evhttp has is let read, finds its other side closed, and goes
 *
 * Memory is a buffer a request; how many there are at once is limited, also of one organization. */
#ifndef TAB_API_STREAM_H
#define TAB_API_STREAM_H

#include "services/api/api.h"

struct event_base;
struct bufferevent;
struct evbuffer;

typedef struct streams streams;

/* Called as one begins and as it has ended. */
typedef struct {
    void (*began)(void *arg), (*ended)(void *arg);
    void *arg;
} streams_hooks;

streams *streams_open(api *a, struct event_base *base, streams_hooks hooks); /* NULL: out of memory */
/* For tab_accept_first. */
bool streams_take(void *streams, struct bufferevent *b, struct evbuffer *in);
void streams_end(streams *s); /* gives up those that go on, waits for their ends; while the loop runs */
void streams_free(streams *s);

/* For the handler: the body's next bytes (tab_pull of multipart_stream.h). Errors: CANCELLED (the client
 * left, or this process stops), VALIDATION (it comes too slowly, or is not framed as it says). */
tab_status stream_pull(void *stream, char *to, size_t most, size_t *ret_n, tab_error *err) TAB_CHECKED;

/* For the handler: an answer of any length. begin: its head (status 200, r->media, a file of this name);
 * send: the next bytes; finish: that was all. An answer without its end is seen as such by who reads it.
 * CANCELLED: the client left, reads too slowly, or this process stops. */
tab_status stream_begin(struct stream *s, const char *name, tab_error *err) TAB_CHECKED;
tab_status stream_finish(struct stream *s, tab_error *err) TAB_CHECKED;
/* The next bytes of r's answer: pushed where it has a stream that was begun, else held in r->out, 64 MiB at
 * most; none of HEAD. UNAVAILABLE: more than can be held. */
tab_status stream_send(request *r, tab_str bytes, tab_error *err) TAB_CHECKED;

/* What http.c does with a request that was parked, for one of these. */
void stream_end(request *r, tab_status s, tab_error *err);
void stream_again(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg);

#endif
