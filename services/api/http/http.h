/* HTTP in front of the workers: libevent's evhttp on one thread, requests handed to worker threads
 * and their answers taken back. Nothing else of the api knows libevent. */
#ifndef TAB_API_HTTP_H
#define TAB_API_HTTP_H

#include "services/api/api.h"

typedef struct http http;

/* Listens on cfg.http and starts the loop and the workers; NULL after logging why. */
http *http_open(api *a);
const _Atomic int64_t *http_turned(const http *h); /* when its loop turned last, tab_mono_ms */
/* Every answer closes its connection from now on, so that the gateway makes new ones, elsewhere in time. */
void http_leave(http *h);
/* Accepts no more, waits for the requests at work, at most so long; true when all were answered. */
bool http_drain(http *h, int64_t seconds);
/* No handler runs after this. Requests that are parked get no answer. */
void http_end(http *h);
void http_free(http *h);
TAB_DEFINE_AUTO(http)

#endif
