/* See mongo_wire.h.
 *
 *   message   int32 length, request, response to, 2013; uint32 flags; sections; [checksum]
 *   section   0, a document (what servers answer with); 1, a list of them */
#include "services/data-connector/protocols/mongo_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/security/tls.h"

enum { HEAD = 16, OP_MSG = 2013, MESSAGE_MOST = 48000000 + HEAD, IDLE_MS = 30000 };
enum { CHECKSUM = 1 };

struct mongo_wire {
    const source *s;
    int fd;
    tab_tls *tls;
    SSL *ssl; /* NULL: plain */
    uint32_t requests;
    int64_t received;
    char *message;
    size_t room;
};

static void drop(void *arg)
{
    mongo_wire *w = arg;
    SSL_free(w->ssl);
    tab_tls_free(w->tls);
    if (w->fd >= 0)
        close(w->fd);
    free(w->message);
}

/* ---- the connection ---------------------------------------------------------------------------------- */

static tab_status reach(mongo_wire *w, tab_error *err)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *to = NULL;
    char port[8];
    int why = 0;
    socklen_t n = sizeof why;
    snprintf(port, sizeof port, "%u", w->s->ref->port);
    if (getaddrinfo(w->s->address, port, &hints, &to) != 0)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.");
    w->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (w->fd >= 0 && connect(w->fd, to->ai_addr, to->ai_addrlen) != 0)
        why = errno;
    freeaddrinfo(to);
    struct pollfd p = { w->fd, POLLOUT, 0 };
    int wait = (int)source_left_ms(w->s, (w->s->connect_s < 1 ? 1 : w->s->connect_s) * 1000);
    if (why == EINPROGRESS &&
        (poll(&p, 1, wait) != 1 || getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &why, &n) != 0))
        why = ETIMEDOUT;
    if (why == ECONNREFUSED)
        return source_not_listening(err);
    if (w->fd < 0 || why != 0)
        return tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.");
    return TAB_OK;
}

/* From here on calls wait, each for its time. */
static bool patience(const mongo_wire *w, int64_t most)
{
    int64_t ms = source_left_ms(w->s, most);
    struct timeval t = { ms / 1000, ms % 1000 * 1000 };
    return ms > 0 && setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0 &&
           setsockopt(w->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) == 0;
}

static tab_status handshake(mongo_wire *w, tab_error *err)
{
    const char *ca = credential(w->s, "ca");
    const tab_access access = { .tls = true, .ca = ca };
    char why[256];
    if (ca[0] != '\0' && strstr(ca, "-----BEGIN CERTIFICATE-----") == NULL)
        return tab_fail(err, TAB_VALIDATION, "credentials.ca",
                        "`ca` must be one or more certificates in PEM form.");
    w->tls = tab_tls_new(&access, w->s->ref->host, "the source");
    if (w->tls == NULL)
        return tab_fail(err, TAB_VALIDATION, "credentials.ca",
                        "`ca` must be one or more certificates in PEM form.");
    w->ssl = tab_tls_connect(w->tls, w->fd, why, sizeof why);
    return w->ssl != NULL ? TAB_OK : source_without_tls(err);
}

tab_status mongo_connect(const source *s, tab_arena *a, mongo_wire **ret, tab_error *err)
{
    mongo_wire *w = tab_arena_new_of(a, mongo_wire, 1);
    bool plain;
    if (w == NULL)
        return tab_no_memory(err);
    *w = (mongo_wire){ .s = s, .fd = -1 };
    TAB_TRY(source_plain(s, &plain, err));
    if (!tab_arena_defer(a, drop, w))
        return tab_no_memory(err);
    TAB_TRY(reach(w, err));
    if (!patience(w, s->connect_s < 1 ? 1000 : s->connect_s * 1000))
        return source_too_late(err);
    int flags = 0; /* blocking: the socket's own time-outs hold */
    if (ioctl(w->fd, FIONBIO, &flags) != 0)
        return tab_fail(err, TAB_INTERNAL, "", "a socket cannot wait");
    *ret = w;
    return plain ? TAB_OK : handshake(w, err);
}

/* ---- messages ---------------------------------------------------------------------------------------- */

static tab_status silent(const mongo_wire *w, tab_error *err)
{
    if (source_left_ms(w->s, 1) == 0)
        return source_too_late(err);
    return errno == EAGAIN ? tab_fail(err, TAB_UNAVAILABLE, "", "The source does not respond.")
                           : source_broke(err);
}

static tab_status put(mongo_wire *w, const char *p, size_t n, tab_error *err)
{
    while (n > 0) {
        size_t m = n < 1 << 16 ? n : 1 << 16;
        errno = 0;
        ssize_t done = !patience(w, IDLE_MS) ? -1
                       : w->ssl != NULL      ? SSL_write(w->ssl, p, (int)m)
                                             : send(w->fd, p, m, MSG_NOSIGNAL);
        if (done <= 0)
            return silent(w, err);
        p += done;
        n -= (size_t)done;
    }
    return TAB_OK;
}

static tab_status take(mongo_wire *w, char *p, size_t n, tab_error *err)
{
    w->received += (int64_t)n;
    if (w->received > w->s->read_mib << 20)
        return source_too_large(err);
    while (n > 0) {
        errno = 0;
        ssize_t done = !patience(w, IDLE_MS) ? -1
                       : w->ssl != NULL      ? SSL_read(w->ssl, p, (int)(n < 1 << 30 ? n : 1 << 30))
                                             : recv(w->fd, p, n, 0);
        if (done <= 0)
            return silent(w, err);
        p += done;
        n -= (size_t)done;
    }
    return TAB_OK;
}

static void put32(char *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(x >> (8 * i));
}

static uint32_t get32(const char *p)
{
    uint32_t x = 0;
    for (int i = 0; i < 4; i++)
        x |= (uint32_t)(uint8_t)p[i] << (8 * i);
    return x;
}

static tab_status not_mongo(tab_error *err)
{
    return tab_fail(err, TAB_VALIDATION, "source", "The source does not speak MongoDB's protocol.");
}

static tab_status answer(mongo_wire *w, tab_str *ret, tab_error *err)
{
    char head[HEAD];
    TAB_TRY(take(w, head, sizeof head, err));
    size_t n = get32(head);
    if (n < HEAD + 4 + 1 + 5 || n > MESSAGE_MOST || get32(head + 8) != w->requests ||
        get32(head + 12) != OP_MSG)
        return not_mongo(err);
    n -= HEAD;
    if (n > w->room) {
        char *more = realloc(w->message, n);
        if (more == NULL)
            return tab_no_memory(err);
        w->message = more;
        w->room = n;
    }
    TAB_TRY(take(w, w->message, n, err));
    uint32_t flags = get32(w->message);
    size_t body = n - 5 - (flags & CHECKSUM ? 4 : 0);
    if ((flags & ~(uint32_t)CHECKSUM) != 0 || w->message[4] != 0 || body < 5 || body > n ||
        !bson_document((tab_str){ w->message + 5, body }, ret) || ret->n != body)
        return not_mongo(err);
    return TAB_OK;
}

tab_status mongo_call(mongo_wire *w, bson_writer *command, tab_str *ret, tab_error *err)
{
    char head[HEAD + 5] = { 0 };
    bson_close(command);
    if (command->out.failed) {
        tab_out_free(&command->out);
        return tab_no_memory(err);
    }
    put32(head, (uint32_t)(sizeof head + command->out.n));
    put32(head + 4, ++w->requests);
    put32(head + 12, OP_MSG);
    tab_status st = put(w, head, sizeof head, err);
    if (st == TAB_OK)
        st = put(w, command->out.p, command->out.n, err);
    tab_out_free(&command->out);
    TAB_TRY(st);
    return answer(w, ret, err);
}
