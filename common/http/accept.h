/* Keeps a server of evhttp working when the process runs out of file descriptors. When accept fails with
 * EMFILE, libevent's listener is woken for the same connection again at once: it takes a whole processor and
 * writes a line each time. Here it
 *
 *   stops accepting while fewer than `reserve` descriptors are free, so that what the process opens itself
 *   (its servers, its health port) still finds some; gives up one of `spares` descriptors for a caller
 *   where none is free at all; looks again a tenth of a second later, and says so in the log, a line a
 *   second at most.
 *
 * Those who wait stay in the kernel's queue. A connection that says CONNECT is shut: evhttp would keep it
 * whatever was answered (decision 0230). */
#ifndef TAB_ACCEPT_H
#define TAB_ACCEPT_H

#include <event2/http.h>

#include "common/base/base.h"

struct bufferevent;
struct evbuffer;

typedef struct tab_accept tab_accept;

/* For a bound socket of `server`, before its loop runs; `name` is a literal. NULL: out of memory. Sets the
 * server's callback of new connections (evhttp_set_bevcb). */
tab_accept *tab_accept_new(struct event_base *base, struct evhttp *server, struct evhttp_bound_socket *socket,
                           const char *name, int reserve, int spares);
/* Before the loop runs, for one server of the process: what first comes over each new connection is shown to
 * fn. True: fn has drained `in` and goes on with a duplicate of the descriptor; evhttp reads no more of it
 * until reading is enabled again, which finds the other side closed. */
void tab_accept_first(tab_accept *a, bool (*fn)(void *arg, struct bufferevent *b, struct evbuffer *in),
                      void *arg);
/* On the loop's thread, once: no new connection is taken, then those that the kernel has taken already are
 * accepted, then `close` closes the socket, some hundredths of a second later. A socket that is closed with
 * connections in its queue resets them, and whoever sent a request there does not know what became of it. */
void tab_accept_end(tab_accept *a, void (*close)(void *arg), void *arg);
void tab_accept_free(tab_accept *a); /* after its loop, before its server */
TAB_DEFINE_AUTO(tab_accept)

#endif
