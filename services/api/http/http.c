/* See http.h:
 *
 *   event thread: parse --> turns --> worker: handler --> done list --> event thread: send
 *                   |                   ^
 *                   +-- at once --soon--+    a serve call joins its batch here; one worker is woken for all
 *                                            that came in a turn of the loop (decision 0369)
 *
 * A request is an `exchange`. Only the event thread touches libevent: when the client leaves it drops
 * `req`, and the worker's answer goes nowhere. */
#include "services/api/http/http_parts.h"

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
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/base/integer.h"
#include "common/base/log.h"
#include "common/http/accept.h"
#include "common/rpc/fair_queue.h"
#include "services/api/counts.h"
#include "services/api/dispatch.h"
#include "services/api/http/body_quota.h"
#include "services/api/http/http_end.h"
#include "services/api/http/http_head.h"
#include "services/api/http/stream.h"

/* Worker threads of the lanes for short requests. A look-up of a key waits for the keys service alone. */
enum { LOOKUP_WORKERS = 8, READ_WORKERS = 16 };

/* Descriptors that callers may not take: the health port, and connections to servers. */
enum { KEPT_DESCRIPTORS = 64 };

enum { QUIET_MS = 300 };    /* without a request, before an end */
enum { CUT_OFF_MS = 4000 }; /* without PostgreSQL; longer than others need to say the same */

enum { AT_ONCE = 16 * 1024 }; /* bytes of a body that the loop's thread may read */

/* ---- on the loop's thread -------------------------------------------------------------------- */

static void opened_one(void *arg)
{
    http *h = arg;
    atomic_store(&h->came, tab_mono_ms());
    pthread_mutex_lock(&h->lock);
    h->open++;
    pthread_mutex_unlock(&h->lock);
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
    struct evkeyval *kv;
    struct evkeyvalq *in = evhttp_request_get_input_headers(x->req);
    for (kv = in->tqh_first; kv != NULL; kv = kv->next.tqe_next)
        if (!http_header_in(&x->r, kv->key, tab_str_of(kv->value), &x->identity))
            return false;
    return http_target_in(&x->r, tab_str_of(evhttp_request_get_uri(x->req))); /* not evhttp's decoded one */
}

/* Refuses a request on the loop's thread, before it is looked at. The answer still names the request that it
 * is for, or the gateway would not pass it on. */
static void refuse(exchange *x, tab_status status, const char *param, const char *message)
{
    request *r = &x->r;
    char text[256];
    if (r->request_id[0] == 0)
        tab_id_new(r->request_id, "req_");
    r->status = tab_status_http(status);
    r->error_type = tab_status_name(status);
    r->retry_after = status == TAB_UNAVAILABLE || status == TAB_RATE_LIMIT;
    int n = snprintf(text, sizeof text,
                     "{\"error\":{\"type\":\"%s\",\"message\":\"%s\",%s%s%s\"request_id\":\"%s\"}}",
                     tab_status_name(status), message, *param ? "\"param\":\"" : "", param,
                     *param ? "\"," : "", r->request_id);
    tab_out_bytes(&r->out, text, (size_t)n);
    http_answer(x);
}

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

/* Whose turn a request takes: its organization's. The gateway's questions about keys belong to nobody and
 * are answered in order of arrival. */
static const char *tenant_of(const request *r)
{
    return r->internal ? "" : r->who.org[0] == 0 ? "-" : r->who.org;
}

/* A gateway asks whether this process answers: it is no call, and is not counted as one. */
/* Whether PostgreSQL is there for others and not for us. Where it is away for all, they have said so before
 * CUT_OFF_MS are over, and each api serves what it knows. */
static bool cut_off(const http *h)
{
    int64_t since = atomic_load(&h->a->cut_since);
    return since != 0 && tab_mono_ms() - since > CUT_OFF_MS && tab_rpc_others_able(h->a->rpc);
}

/* The gateway gives new calls to others, where there are any that answer otherwise. */
static void on_probe(struct evhttp_request *req, void *arg)
{
    if (cut_off(arg))
        evhttp_send_reply(req, HTTP_SERVUNAVAIL, "Cut Off", NULL);
    else
        evhttp_send_reply(req, HTTP_NOCONTENT, "No Content", NULL);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    http *h = arg;
    bool plain = http_end_is_plain(req);
    atomic_store(&h->came, tab_mono_ms());
    exchange *x = calloc(1, sizeof *x);
    if (!plain)
        http_close_after(req);
    if (x == NULL || (x->r.arena = tab_arena_new((size_t)4 << 30)) == NULL ||
        (x->input = evbuffer_new()) == NULL) {
        http_exchange_free(x);
        evhttp_send_reply(req, 503, NULL, NULL);
        return;
    }
    x->h = h;
    x->req = req;
    x->r.api = h->a;
    x->r.method = method_name(evhttp_request_get_command(req));
    evbuffer_add_buffer(x->input, evhttp_request_get_input_buffer(req));
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), http_client_left, x);
    http_watch_close(x);
    bool fits = take_headers(x);
    if (fits)
        api_arrived(&x->r, x->identity);
    tab_status room = fits ? body_quota_arrive(&x->r, evbuffer_get_length(x->input)) : TAB_OK;
    pthread_mutex_lock(&h->lock);
    h->open++;
    pthread_mutex_unlock(&h->lock);
    bool good = plain && fits && room == TAB_OK, arrives = fits && x->r.route == TAB_POST_SERVE;
    if (good && evbuffer_get_length(x->input) <= AT_ONCE && take_body(x) && api_at_once(&x->r))
        return;
    pthread_mutex_lock(&h->lock);
    x->r.arrives = arrives;
    bool goes_on = good && tab_fair_queue_put(h->turns, x->r.lane, tenant_of(&x->r), &x->turn);
    atomic_fetch_add(&h->a->arriving, goes_on && arrives);
    pthread_mutex_unlock(&h->lock);
    if (goes_on) {
        pthread_cond_signal(&h->work); /* outside the lock, which it would run into */
        return;
    }
    x->r.arrives = false;
    if (!plain)
        refuse(x, TAB_VALIDATION, "body", "the length of the request body is ambiguous");
    else if (room == TAB_RATE_LIMIT) {
        count_limited(LIMIT_BYTES);
        refuse(x, room, "", "this organization has too many bytes of requests and responses in progress");
    } else
        refuse(x, TAB_UNAVAILABLE, "", "too many requests are waiting; retry with backoff");
}

/* ---- on a worker's thread -------------------------------------------------------------------- */

static exchange *exchange_of(request *r)
{
    return (exchange *)(void *)((char *)r - offsetof(exchange, r));
}

static void end_parked(request *r, tab_status s, tab_error *err)
{
    if (r->stream != NULL) {
        stream_end(r, s, err);
        return;
    }
    exchange *x = exchange_of(r);
    http *h = x->h;
    request_finish(r, s, err);
    http_give_back(h, x);
}

/* Puts the request before all that waits of its organization: it has waited already. */
static bool put_again(exchange *x)
{
    http *h = x->h;
    pthread_mutex_lock(&h->lock);
    bool waits = tab_fair_queue_put_first(h->turns, x->r.lane, tenant_of(&x->r), &x->turn);
    pthread_mutex_unlock(&h->lock);
    pthread_cond_signal(&h->work);
    return waits;
}

static void again_parked(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    if (r->stream != NULL) {
        stream_again(r, fn, arg);
        return;
    }
    r->again = fn;
    r->again_arg = arg;
    if (!put_again(exchange_of(r))) {
        tab_error err;
        end_parked(r, tab_no_memory(&err), &err);
    }
}

/* A request that has a thread of its own sends its answer itself. */
static void tell_parked(request *r)
{
    if (r->stream == NULL)
        http_tell(exchange_of(r));
}

/* On the loop's thread: put again when the events that came with this one have been seen to. */
static void soon_parked(request *r, tab_status (*fn)(void *arg, tab_error *err), void *arg)
{
    exchange *x = exchange_of(r);
    http *h = x->h;
    r->again = fn;
    r->again_arg = arg;
    x->next = h->soon;
    h->soon = x;
    if (x->next == NULL)
        event_active(h->hand_over, 0, 0);
}

/* False: parked. */
static bool worked_on(exchange *x)
{
    tab_error err = { 0 };
    request *r = &x->r;
    if (r->again != NULL) {
        api_resume(r);
        tab_status s = r->again(r->again_arg, &err);
        if (s == PARKED)
            api_leave();
        else
            request_finish(r, s, &err);
        if (s != PARKED)
            request_body_drop(r);
        return s != PARKED;
    }
    if (x->input != NULL && !take_body(x))
        r->who_status = tab_fail(&r->who_error, TAB_UNAVAILABLE, "", "out of memory; retry with backoff");
    if (!api_dispatch(r))
        return false;
    request_body_drop(r);
    return true;
}

/* Others may wait for what a request does next: out of memory, the loop does it. */
static void on_hand_over(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    http *h = arg;
    exchange *list = h->soon;
    h->soon = NULL;
    for (exchange *x = list, *next; x != NULL; x = next) {
        next = x->next;
        if (!put_again(x) && worked_on(x))
            http_give_back(h, x);
    }
}

static void *work(void *arg)
{
    http *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        tab_turn *next = NULL;
        while ((next = tab_fair_queue_take(h->turns)) == NULL && !h->stop)
            pthread_cond_wait(&h->work, &h->lock);
        if (next == NULL)
            break;
        tab_turn turn = *next;            /* parked, the request may have another before this one has ended */
        if (tab_fair_queue_any(h->turns)) /* an end may let more than one start */
            pthread_cond_signal(&h->work);
        pthread_mutex_unlock(&h->lock);
        exchange *x = (exchange *)(void *)next;
        bool ends = worked_on(x);
        pthread_mutex_lock(&h->lock);
        tab_fair_queue_end(h->turns, &turn);
        if (ends) {
            pthread_mutex_unlock(&h->lock);
            http_give_back(h, x);
            pthread_mutex_lock(&h->lock);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void note_turn(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    http *h = arg;
    atomic_store(&h->turned, tab_mono_ms());
}

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
    if (h->accept == NULL)
        return false;
    tab_accept_first(h->accept, streams_take, h->streams);
    return true;
}

/* What one turn of the loop changes of a descriptor's events is told to the system at once: no duplicate of
 * a descriptor is watched or outlives it (stream.h), so libevent's change list is safe. */
static struct event_base *base_new(void)
{
    struct event_config *c = event_config_new();
    struct event_base *base = NULL;
    if (c != NULL && event_config_set_flag(c, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0)
        base = event_base_new_with_config(c);
    if (c != NULL)
        event_config_free(c);
    return base;
}

http *http_open(api *a)
{
    http *h = calloc(1, sizeof *h);
    if (h == NULL || evthread_use_pthreads() != 0) {
        free(h);
        return NULL;
    }
    h->a = a;
    a->parked = (request_parked){ end_parked, again_parked, soon_parked, tell_parked };
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    pthread_cond_init(&h->idle, NULL);
    h->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    h->base = base_new();
    h->server = h->base != NULL ? evhttp_new(h->base) : NULL;
    const size_t places[] = {
        [LOOKUPS] = LOOKUP_WORKERS, [READS] = READ_WORKERS, [WORK] = (size_t)a->cfg.workers
    };
    size_t workers = places[LOOKUPS] + places[READS] + places[WORK];
    h->worker = calloc(workers, sizeof *h->worker);
    h->turns = tab_fair_queue_new(LANES, places, (size_t)a->cfg.queue);
    if (h->wake_fd < 0 || h->server == NULL || h->worker == NULL || h->turns == NULL)
        goto fail;
    evhttp_set_max_headers_size(h->server, 32768);
    evhttp_set_max_body_size(h->server, (ssize_t)a->cfg.body_most + 65536);
    evhttp_set_timeout(h->server, 120);
    evhttp_set_default_content_type(h->server, NULL);
    evhttp_set_allowed_methods(h->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                              EVHTTP_REQ_DELETE | EVHTTP_REQ_PATCH | EVHTTP_REQ_PUT);
    if (evhttp_set_cb(h->server, TAB_LIVE_PATH, on_probe, h) != 0)
        goto fail;
    evhttp_set_gencb(h->server, on_request, h);
    h->streams = streams_open(h->a, h->base, (streams_hooks){ opened_one, http_closed_one, h });
    if (h->streams == NULL)
        goto fail;
    h->wake = event_new(h->base, h->wake_fd, EV_READ | EV_PERSIST, http_on_wake, h);
    if (h->wake == NULL || event_add(h->wake, NULL) != 0)
        goto fail;
    atomic_store(&h->turned, tab_mono_ms());
    h->turn = event_new(h->base, -1, EV_PERSIST, note_turn, h);
    h->hand_over = event_new(h->base, -1, 0, on_hand_over, h);
    h->tell = event_new(h->base, -1, 0, http_on_tell, h);
    if (h->turn == NULL || h->hand_over == NULL || h->tell == NULL ||
        event_add(h->turn, &(struct timeval){ 1, 0 }) != 0)
        goto fail;
    if (!listen_at(h, a->cfg.http)) {
        tab_log(TAB_ERROR, "cannot listen on %s", a->cfg.http);
        goto fail;
    }
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 * 1024);
    for (; h->workers < workers; h->workers++)
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

const _Atomic int64_t *http_turned(const http *h)
{
    return &h->turned;
}

void http_leave(http *h)
{
    atomic_store(&h->leaves, true);
}

static void close_socket(void *arg)
{
    http *h = arg;
    evhttp_del_accept_socket(h->server, h->socket);
    h->socket = NULL;
}

static void stop_accepting(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    http *h = arg;
    tab_accept_end(h->accept, close_socket, h);
}

bool http_drain(http *h, int64_t seconds)
{
    tab_deadline until = tab_in_s(seconds);
    bool all;
    atomic_store(&h->leaves, true);
    atomic_store(&h->came, tab_mono_ms());
    event_base_once(h->base, -1, EV_TIMEOUT, stop_accepting, h, NULL);
    /* The gateway may send once more on each of its kept connections: until none did for a while. */
    pthread_mutex_lock(&h->lock);
    do {
        while (h->open > 0 && tab_cond_wait(&h->idle, &h->lock, until))
            continue;
        all = h->open == 0;
        tab_cond_wait(&h->idle, &h->lock, tab_within_ms(until, 50));
    } while (tab_left_ms(until, 1) > 0 && (h->open > 0 || tab_mono_ms() - atomic_load(&h->came) < QUIET_MS));
    pthread_mutex_unlock(&h->lock);
    usleep(100000); /* the last answers leave */
    return all;
}

void http_end(http *h)
{
    if (h == NULL)
        return;
    streams_end(h->streams);
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_broadcast(&h->work);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < h->workers; i++)
        pthread_join(h->worker[i], NULL);
    h->workers = 0;
    if (h->loop_runs) {
        event_base_loopbreak(h->base);
        pthread_join(h->loop, NULL);
    }
    h->loop_runs = false;
}

void http_free(http *h)
{
    if (h == NULL)
        return;
    http_end(h);
    for (exchange *x = h->done, *next; x != NULL; x = next) {
        next = x->next;
        http_exchange_free(x);
    }
    streams_free(h->streams);
    tab_accept_free(h->accept);
    if (h->turn != NULL)
        event_free(h->turn);
    if (h->hand_over != NULL)
        event_free(h->hand_over);
    if (h->tell != NULL)
        event_free(h->tell);
    if (h->wake != NULL)
        event_free(h->wake);
    if (h->server != NULL)
        evhttp_free(h->server);
    if (h->base != NULL)
        event_base_free(h->base);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    tab_fair_queue_free(h->turns);
    free(h->worker);
    free(h);
}
