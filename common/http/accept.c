/* See accept.h. Holds libevent's listener back while descriptors are short; used by the api and by each
 * health port. */
#include "common/http/accept.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/time.h"

/* Of a closing: LEAST for handshakes whose first packet came before it, MOST while descriptors are short. */
enum { SPARES_MOST = 8, LOOK_AGAIN_MS = 100, SAY_AGAIN_MS = 1000, END_LEAST_MS = 20, END_MOST_MS = 1000 };

struct tab_accept {
    struct evconnlistener *listener;
    struct event *again;
    const char *name;
    int reserve, spares, spare[SPARES_MOST];
    bool paused, stopped;
    int64_t said_at; /* tab_mono_ms; 0: never */
    int64_t ends;    /* since when it ends, tab_mono_ms; 0: it does not */
    void (*close)(void *);
    void *close_arg;
    bool (*first)(void *arg, struct bufferevent *b, struct evbuffer *in); /* NULL: nobody asks */
    void *first_arg;
    tab_accept *next;
};

/* The one server of the process that is asked; a callback knows its connection alone. */
static tab_accept *asks;

/* libevent's error callback gets the listener alone, so the servers of the process (two at most) are found
 * by it. */
static tab_accept *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* A new descriptor gets the lowest free number: where that is near the limit, all below are in use. */
static bool room(int reserve)
{
    struct rlimit most;
    int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (lowest >= 0)
        close(lowest);
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur == RLIM_INFINITY)
        return lowest >= 0;
    rlim_t kept = (rlim_t)reserve < most.rlim_cur / 4 ? (rlim_t)reserve : most.rlim_cur / 4;
    return lowest >= 0 && (rlim_t)lowest < most.rlim_cur - kept;
}

static bool spares_whole(tab_accept *a)
{
    bool whole = true;
    for (int i = 0; i < a->spares; i++) {
        if (a->spare[i] < 0)
            a->spare[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        whole = whole && a->spare[i] >= 0;
    }
    return whole;
}

static bool give_spare(tab_accept *a)
{
    for (int i = 0; i < a->spares; i++)
        if (a->spare[i] >= 0) {
            close(a->spare[i]);
            a->spare[i] = -1;
            return true;
        }
    return false;
}

static void look_again(tab_accept *a)
{
    evtimer_add(a->again, &(struct timeval){ .tv_usec = (a->ends != 0 ? 5 : LOOK_AGAIN_MS) * 1000 });
}

/* Whether the listener's queue holds a connection. */
static bool waits(const tab_accept *a)
{
    struct pollfd p = { evconnlistener_get_fd(a->listener), POLLIN, 0 };
    return poll(&p, 1, 0) > 0;
}

static bool end_is_due(const tab_accept *a)
{
    int64_t since = tab_mono_ms() - a->ends;
    return since >= END_MOST_MS || (since >= END_LEAST_MS && !waits(a));
}

static void pause_accepting(tab_accept *a)
{
    int64_t now = tab_mono_ms();
    if (a->said_at == 0 || now - a->said_at >= SAY_AGAIN_MS) {
        a->said_at = now;
        tab_log(TAB_WARN,
                "descriptors run out: %s does not accept for a moment (raise the limit of open files)",
                a->name);
    }
    a->paused = true;
    evconnlistener_disable(a->listener);
    look_again(a);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    tab_accept *a = arg;
    bool whole = spares_whole(a), good = room(a->reserve);
    if (a->stopped)
        return;
    if (a->ends != 0 && end_is_due(a)) {
        a->stopped = true;
        a->close(a->close_arg);
        return;
    }
    if (a->paused && (good || give_spare(a))) {
        a->paused = false;
        evconnlistener_enable(a->listener);
    }
    if (a->paused || !whole || a->ends != 0)
        look_again(a);
}

/* Whatever the answer to a CONNECT says, evhttp keeps its connection and reads what is left of the request
 * as the next one. So the connection is closed (decision 0230). */
static void on_bytes(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    static const char connect[] = "CONNECT ";
    char first[sizeof connect - 1];
    if (info->n_added > 0 && evbuffer_copyout(in, first, sizeof first) == (ev_ssize_t)sizeof first &&
        memcmp(first, connect, sizeof first) == 0)
        shutdown(bufferevent_getfd(arg), SHUT_RDWR);
}

/* Once a connection: no later bytes are looked at, which may be of a body that somebody wrote to look like
 * the beginning of a request. */
static void on_first_bytes(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
    struct bufferevent *b = arg;
    if (info->n_added == 0)
        return;
    evbuffer_remove_cb(in, on_first_bytes, b);
    if (asks->first(asks->first_arg, b, in))
        bufferevent_disable(b, EV_READ);
}

/* After each accepted connection: accepts no more where descriptors are short. */
static struct bufferevent *on_accepted(struct event_base *base, void *arg)
{
    tab_accept *a = arg;
    if (!a->paused && a->reserve > 0 && !room(a->reserve))
        pause_accepting(a);
    struct bufferevent *b = bufferevent_socket_new(base, -1, 0); /* what evhttp would have made */
    if (b != NULL && evbuffer_add_cb(bufferevent_get_input(b), on_bytes, b) == NULL) {
        bufferevent_free(b);
        b = NULL;
    }
    if (b != NULL && a->first != NULL) /* where it cannot be added, the connection is as any other */
        (void)evbuffer_add_cb(bufferevent_get_input(b), on_first_bytes, b);
    return b;
}

static void on_error(struct evconnlistener *listener, void *arg)
{
    (void)arg; /* evhttp's */
    pthread_mutex_lock(&all_lock);
    tab_accept *a = all;
    while (a != NULL && a->listener != listener)
        a = a->next;
    pthread_mutex_unlock(&all_lock);
    if (a == NULL || a->paused)
        return;
    if (give_spare(a)) /* the caller that waits gets it, when the loop comes round */
        look_again(a);
    else
        pause_accepting(a);
}

tab_accept *tab_accept_new(struct event_base *base, struct evhttp *server, struct evhttp_bound_socket *socket,
                           const char *name, int reserve, int spares)
{
    tab_accept *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    *a = (tab_accept){ .listener = evhttp_bound_socket_get_listener(socket),
                       .name = name,
                       .reserve = reserve,
                       .spares = spares < SPARES_MOST ? spares : SPARES_MOST };
    for (int i = 0; i < SPARES_MOST; i++)
        a->spare[i] = -1;
    (void)spares_whole(a);
    a->again = evtimer_new(base, on_again, a);
    if (a->again == NULL) {
        tab_accept_free(a);
        return NULL;
    }
    pthread_mutex_lock(&all_lock);
    a->next = all;
    all = a;
    pthread_mutex_unlock(&all_lock);
    /* libevent writes 16 KiB at a time: without this the rest of an answer waits for the acknowledgement of
     * its beginning, 40 ms where the other side delays it. Connections have it from the listener (Linux). */
    int yes = 1;
    (void)setsockopt(evhttp_bound_socket_get_fd(socket), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    evconnlistener_set_error_cb(a->listener, on_error);
    evhttp_set_bevcb(server, on_accepted, a);
    return a;
}

void tab_accept_first(tab_accept *a, bool (*fn)(void *arg, struct bufferevent *b, struct evbuffer *in),
                      void *arg)
{
    a->first = fn;
    a->first_arg = arg;
    asks = a;
}

/* The kernel drops what would begin a connection, so that nobody is taken who cannot be served: the caller's
 * side sends it again a second later, is refused then, and goes elsewhere. Packets of handshakes under way
 * pass. Where that cannot be set, a connection may come between the last look and the closing. */
static void take_no_more(int fd)
{
    enum { FLAGS = 13, SYN_ACK = 0x12, SYN = 0x02 }; /* of the TCP header, where the filter's packet begins */
    static struct sock_filter no_syn[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS),      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN_ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = { sizeof no_syn / sizeof *no_syn, no_syn };
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

void tab_accept_end(tab_accept *a, void (*close)(void *arg), void *arg)
{
    take_no_more(evconnlistener_get_fd(a->listener));
    a->ends = tab_mono_ms();
    a->close = close;
    a->close_arg = arg;
    look_again(a);
}

void tab_accept_free(tab_accept *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&all_lock);
    for (tab_accept **at = &all; *at != NULL; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            break;
        }
    pthread_mutex_unlock(&all_lock);
    if (a->again != NULL)
        event_free(a->again);
    for (int i = 0; i < a->spares; i++)
        if (a->spare[i] >= 0)
            close(a->spare[i]);
    free(a);
}
