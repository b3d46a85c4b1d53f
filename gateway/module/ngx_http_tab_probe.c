/* Whether each server of an upstream answers, asked four times a second by each worker.
 *
 *   wait --time--> ask --an answer--> (up) wait
 *                   |----none within 0.4 s, or no connection--> missed once more --> wait
 *                   |----refused--> missed once more; nothing is cut --> wait
 *
 * A process that stands still, or whose node has gone, goes on taking connections, or nothing ever refuses
 * them: without questions nginx would learn of it from calls that wait for it (decision 0399). A server
 * that missed two questions in a row gets no calls until it answers one. The last one that is left keeps its
 * calls: where no server answers, it is more likely that all are slow than that all are gone.
 *
 * One whose machine refuses connections listens no more: it stops, and ends the calls that it has, or it has
 * died, and the kernel has ended their connections. So those calls are left alone (decision 0593). So are
 * those of one that answers 5xx: it is cut off from PostgreSQL while others reach it (decision 0591).
 *
 * Calls that are on their way to one that says nothing go to another: at once where they may be asked twice
 * (a GET, or one with an Idempotency-Key, which its taker claims), else they are answered 504 once it has
 * missed CUT_MOST (decision 0405).
 *
 * What is known is a worker's own, in the memory of nginx's round robin; workers agree within a second. */
#include "gateway/module/ngx_http_tab.h"

enum { PROBE_EVERY = 250, PROBE_LATE = 400, MISSED_MOST = 2, CUT_MOST = 8, ANSWER = 64 };

static const char question[] = "GET " TAB_LIVE_PATH " HTTP/1.1\r\nHost: tabella\r\nConnection: close\r\n\r\n";

typedef struct {
    ngx_http_upstream_rr_peers_t *peers;
    ngx_http_upstream_rr_peer_t *peer;
    ngx_connection_t *c;       /* while it is asked */
    size_t sent;               /* of the question */
    ngx_event_t timer;         /* the next question, or the answer to this one is late */
    ngx_uint_t missed, silent; /* in a row; silent: without being refused */
} tab_probe;

static void ask(tab_probe *p);

static bool others_are_up(const tab_probe *p)
{
    for (const ngx_http_upstream_rr_peer_t *o = p->peers->peer; o != NULL; o = o->next)
        if (o != p->peer && !o->down)
            return true;
    return false;
}

/* ---- calls that are on their way -------------------------------------------------------------- */

static ngx_queue_t under_way = { &under_way, &under_way };

void ngx_http_tab_under_way(ngx_http_request_t *r, tab_echo *echo)
{
    if (echo->request == NULL) {
        ngx_queue_insert_tail(&under_way, &echo->under_way);
    }
    echo->request = r;
}

void ngx_http_tab_over(tab_echo *echo)
{
    if (echo->request != NULL) {
        ngx_queue_remove(&echo->under_way);
    }
    echo->request = NULL;
}

static bool keyed(const ngx_http_request_t *r)
{
    static const char name[] = "idempotency-key";
    const ngx_list_part_t *part = &r->main->headers_in.headers.part;
    for (; part != NULL; part = part->next) {
        const ngx_table_elt_t *h = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++)
            if (h[i].key.len == sizeof name - 1 && ngx_memcmp(h[i].lowcase_key, name, sizeof name - 1) == 0)
                return true;
    }
    return false;
}

/* r is the request itself, or the question about its key, which is a GET. */
static bool may_repeat(const ngx_http_request_t *r)
{
    return r != r->main || (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) || keyed(r);
}

/* As if its time had passed, where nothing of an answer has come. nginx then asks the next server, or answers
 * 504. */
static void cut(const tab_probe *p, bool all)
{
    for (ngx_queue_t *q = ngx_queue_head(&under_way), *next; q != &under_way; q = next) {
        const tab_echo *echo = ngx_queue_data(q, tab_echo, under_way);
        ngx_http_upstream_t *u = echo->request->upstream;
        next = ngx_queue_next(q);
        if (u == NULL || u->peer.connection == NULL || u->peer.sockaddr != p->peer->sockaddr ||
            u->header_sent || (!all && !may_repeat(echo->request)))
            continue;
        ngx_event_t *ev = u->request_sent ? u->peer.connection->read : u->peer.connection->write;
        ev->timedout = 1;
        ngx_post_event(ev, &ngx_posted_events);
    }
}

/* ---- questions --------------------------------------------------------------------------------- */

/* REFUSED: it takes no more calls, or had better take none. */
typedef enum { ANSWERED, REFUSED, SILENT } tab_word;

static void judge(tab_probe *p, tab_word word)
{
    p->missed = word == ANSWERED ? 0 : ngx_min(p->missed + 1, CUT_MOST);
    p->silent = word == SILENT ? ngx_min(p->silent + 1, CUT_MOST) : 0;
    bool down = p->missed >= MISSED_MOST && others_are_up(p);
    if (down && p->silent >= MISSED_MOST)
        cut(p, p->silent == CUT_MOST);
    if (down == (p->peer->down != 0))
        return;
    p->peer->down = down;
    if (down) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "tab: %V does not answer and gets no calls",
                      &p->peer->name);
    } else {
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "tab: %V answers again", &p->peer->name);
    }
}

static void end(tab_probe *p, tab_word word)
{
    if (p->c != NULL)
        ngx_close_connection(p->c);
    p->c = NULL;
    judge(p, word);
    if (!ngx_exiting && !ngx_terminate && !ngx_quit)
        ngx_add_timer(&p->timer, PROBE_EVERY);
}

static void on_timer(ngx_event_t *ev)
{
    tab_probe *p = ev->data;
    if (p->c != NULL)
        end(p, SILENT); /* late */
    else
        ask(p);
}

static bool refused(const ngx_connection_t *c)
{
    int why = 0;
    socklen_t n = sizeof why;
    return getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && why == NGX_ECONNREFUSED;
}

static void on_readable(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    tab_probe *p = c->data;
    u_char answer[ANSWER];
    if (c->close) { /* nginx ends what is idle when a worker stops */
        p->c = NULL;
        ngx_close_connection(c);
        return;
    }
    bool closed = p->sent == 0 && refused(c);
    ssize_t n = closed ? 0 : c->recv(c, answer, sizeof answer);
    if (n == NGX_AGAIN && ngx_handle_read_event(c->read, 0) == NGX_OK)
        return;
    if (p->timer.timer_set)
        ngx_del_timer(&p->timer);
    static const char unable[] = "HTTP/1.1 5";
    bool refuses =
        closed || (n >= (ssize_t)sizeof unable && ngx_memcmp(answer, unable, sizeof unable - 1) == 0);
    end(p, refuses ? REFUSED : n > 0 ? ANSWERED : SILENT);
}

static void on_writable(ngx_event_t *ev)
{
    ngx_connection_t *c = ev->data;
    tab_probe *p = c->data;
    bool closed = p->sent == 0 && refused(c);
    while (!closed && p->sent < sizeof question - 1) {
        ssize_t n = c->send(c, (u_char *)(uintptr_t)question + p->sent, sizeof question - 1 - p->sent);
        if (n > 0) {
            p->sent += (size_t)n;
            continue;
        }
        if (n == NGX_AGAIN && ngx_handle_write_event(c->write, 0) == NGX_OK)
            return;
        break;
    }
    if (!closed && p->sent == sizeof question - 1)
        return;
    if (p->timer.timer_set)
        ngx_del_timer(&p->timer);
    end(p, closed ? REFUSED : SILENT);
}

static void ask(tab_probe *p)
{
    ngx_peer_connection_t pc = { .sockaddr = p->peer->sockaddr,
                                 .socklen = p->peer->socklen,
                                 .name = &p->peer->name,
                                 .get = ngx_event_get_peer,
                                 .log = ngx_cycle->log,
                                 .log_error = NGX_ERROR_INFO };
    ngx_int_t rc = ngx_event_connect_peer(&pc);
    p->c = pc.connection;
    p->sent = 0;
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        end(p, rc == NGX_DECLINED && ngx_socket_errno == NGX_ECONNREFUSED ? REFUSED : SILENT);
        return;
    }
    p->c->data = p;
    p->c->idle = 1;
    p->c->read->handler = on_readable;
    p->c->write->handler = on_writable;
    ngx_add_timer(&p->timer, PROBE_LATE);
    if (rc == NGX_OK)
        on_writable(p->c->write);
}

ngx_int_t ngx_http_tab_probe_start(ngx_cycle_t *cycle)
{
    ngx_http_upstream_main_conf_t *all = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_upstream_module);
    ngx_http_upstream_srv_conf_t **us = all->upstreams.elts;
    for (ngx_uint_t i = 0; i < all->upstreams.nelts; i++) {
        ngx_http_upstream_rr_peers_t *peers = us[i]->peer.data;
        const tab_srv_conf *conf =
            us[i]->srv_conf == NULL ? NULL : ngx_http_conf_upstream_srv_conf(us[i], ngx_http_tab_module);
        if (conf == NULL || conf->probe != 1)
            continue;
        for (ngx_http_upstream_rr_peer_t *peer = peers->peer; peer != NULL; peer = peer->next) {
            tab_probe *p = ngx_pcalloc(cycle->pool, sizeof *p);
            if (p == NULL)
                return NGX_ERROR;
            p->peers = peers;
            p->peer = peer;
            p->timer.handler = on_timer;
            p->timer.data = p;
            p->timer.log = cycle->log;
            p->timer.cancelable = 1;
            ngx_add_timer(&p->timer, PROBE_EVERY);
        }
    }
    return NGX_OK;
}

ngx_int_t ngx_http_tab_patience(ngx_http_request_t *r)
{
    const tab_loc_conf *conf = ngx_http_get_module_loc_conf(r, ngx_http_tab_module);
    ngx_http_upstream_t *u = r->upstream;
    bool reads = (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) && conf->get_timeout > 0 &&
                 conf->get_timeout < u->conf->read_timeout;
    if (!reads && !keyed(r))
        return NGX_OK;
    ngx_http_upstream_conf_t *own = ngx_palloc(r->pool, sizeof *own);
    if (own == NULL)
        return NGX_ERROR;
    *own = *u->conf;
    if (reads)
        own->read_timeout = conf->get_timeout;
    else
        own->next_upstream |= NGX_HTTP_UPSTREAM_FT_NON_IDEMPOTENT;
    u->conf = own;
    return NGX_OK;
}
