#include "common/http/accept.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CALLERS = 8, STOPS = 5 };

typedef struct {
    struct event_base *base;
    struct evhttp *http;
    struct evhttp_bound_socket *socket;
    tab_accept *accept;
    uint16_t port;
    atomic_bool closed;
    atomic_int answered, refused, lost;
} server;

static void answer(struct evhttp_request *req, void *arg)
{
    (void)arg;
    evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
    evhttp_send_reply(req, 200, "OK", NULL);
}

static void close_socket(void *arg)
{
    server *s = arg;
    evhttp_del_accept_socket(s->http, s->socket);
    atomic_store(&s->closed, true);
}

static void end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    server *s = arg;
    tab_accept_end(s->accept, close_socket, s);
}

static void *loop(void *arg)
{
    event_base_loop(arg, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

/* One call after the other, each on a connection of its own, until one is refused. */
static void *call(void *arg)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    server *s = arg;
    for (;;) {
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(s->port) };
        char text[256];
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
            atomic_fetch_add(errno == ECONNREFUSED ? &s->refused : &s->lost, 1);
            close(fd);
            return NULL;
        }
        bool good = send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == sizeof ask - 1 &&
                    recv(fd, text, sizeof text, 0) > 0;
        atomic_fetch_add(good ? &s->answered : &s->lost, 1);
        close(fd);
    }
}

static void one_stop(server *s)
{
    pthread_t loops, caller[CALLERS];
    struct sockaddr_in at;
    socklen_t n = sizeof at;
    s->base = event_base_new();
    s->http = evhttp_new(s->base);
    s->socket = evhttp_bind_socket_with_handle(s->http, "127.0.0.1", 0);
    evhttp_set_gencb(s->http, answer, s);
    s->accept = tab_accept_new(s->base, s->http, s->socket, "a test", 0, 0);
    getsockname(evhttp_bound_socket_get_fd(s->socket), (struct sockaddr *)&at, &n);
    s->port = ntohs(at.sin_port);
    pthread_create(&loops, NULL, loop, s->base);
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&caller[i], NULL, call, s);
    while (atomic_load(&s->answered) < 20 * CALLERS)
        usleep(1000);
    event_base_once(s->base, -1, EV_TIMEOUT, end, s, NULL);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(caller[i], NULL);
    event_base_loopbreak(s->base);
    pthread_join(loops, NULL);
    cr_expect(atomic_load(&s->closed));
    tab_accept_free(s->accept);
    evhttp_free(s->http);
    event_base_free(s->base);
}

Test(accept, a_stop_answers_every_connection_that_was_taken)
{
    evthread_use_pthreads();
    for (int i = 0; i < STOPS; i++) {
        server s = { 0 };
        one_stop(&s);
        cr_expect_eq(atomic_load(&s.lost), 0, "%d of %d calls were lost", atomic_load(&s.lost),
                     atomic_load(&s.answered) + atomic_load(&s.lost));
        cr_expect_eq(atomic_load(&s.refused), CALLERS);
    }
}
