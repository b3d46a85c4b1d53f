/* See health.h: evhttp on a thread of its own, so that a busy daemon still answers, and so does one whose
 * servers, or whose name server, do not. */
#include "common/run/health.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/thread.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/time.h"
#include "common/http/accept.h"

enum { WATCHED = 16, LOOPS = 4, ROUND_MS = 1000, OLD_MS = 10000, SPARES = 4 };

static int64_t started_us; /* of the process, tab_now_us; set before any thread reads it */

struct tab_health {
    struct event_base *base;
    struct evhttp *http;
    tab_accept *accept;
    pthread_t thread, asker;
    int port;
    atomic_bool ready;
    pthread_mutex_t lock; /* of what is watched, and of the loops */
    pthread_cond_t changed;
    bool asks, stop;
    size_t n, n_loops;
    struct {
        const char *name;
        bool (*alive)(void *);
        void *arg;
        bool was;
        int64_t answered; /* tab_mono_ms; 0: not yet */
    } watched[WATCHED];
    struct {
        const char *name;
        const _Atomic int64_t *turned;
    } loops[LOOPS];
};

static void answer(struct evhttp_request *r, int code, const char *type, struct evbuffer *body)
{
    evhttp_add_header(evhttp_request_get_output_headers(r), "Content-Type", type);
    evhttp_send_reply(r, code, code == 200 ? "OK" : "Service Unavailable", body);
    evbuffer_free(body);
}

static void livez(struct evhttp_request *r, void *arg)
{
    tab_health *h = arg;
    struct evbuffer *b = evbuffer_new();
    const char *stuck = NULL;
    int64_t now = tab_mono_ms();
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->n_loops; i++)
        if (now - atomic_load(h->loops[i].turned) >= TAB_LOOP_STUCK_MS)
            stuck = h->loops[i].name;
    pthread_mutex_unlock(&h->lock);
    if (stuck == NULL)
        evbuffer_add_printf(b, "{\"alive\":true}\n");
    else
        evbuffer_add_printf(b, "{\"alive\":false,\"stuck\":\"%s\"}\n", stuck);
    answer(r, stuck == NULL ? 200 : 503, "application/json", b);
}

/* The lock is not held while a server is asked: nobody waits for it but this thread. */
static void *ask_servers(void *arg)
{
    tab_health *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        for (size_t i = 0; i < h->n && !h->stop; i++) {
            pthread_mutex_unlock(&h->lock);
            bool is = h->watched[i].alive(h->watched[i].arg);
            pthread_mutex_lock(&h->lock);
            h->watched[i].was = is;
            h->watched[i].answered = tab_mono_ms();
        }
        if (!h->stop)
            tab_cond_wait(&h->changed, &h->lock, tab_in_ms(ROUND_MS));
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void readyz(struct evhttp_request *r, void *arg)
{
    tab_health *h = arg;
    struct evbuffer *b = evbuffer_new(), *servers = evbuffer_new();
    bool all = atomic_load(&h->ready);
    evbuffer_add_printf(servers, "%s", "");
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->n; i++) {
        bool ok = h->watched[i].was && tab_mono_ms() - h->watched[i].answered < OLD_MS;
        all = all && ok;
        evbuffer_add_printf(servers, "%s\"%s\":\"%s\"", i == 0 ? "" : ",", h->watched[i].name,
                            ok ? "ok" : "away");
    }
    pthread_mutex_unlock(&h->lock);
    evbuffer_add_printf(b, "{\"ready\":%s,\"servers\":{", all ? "true" : "false");
    evbuffer_add_buffer(b, servers);
    evbuffer_free(servers);
    evbuffer_add_printf(b, "}}\n");
    answer(r, all ? 200 : 503, "application/json", b);
}

static void say(struct evbuffer *b, const char *kind, const char *name, const char *help, double value)
{
    evbuffer_add_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, kind, name, value);
}

static double open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    double n = 0;
    for (const struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d))
        n += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return d == NULL ? 0 : n - 1; /* without the folder's own */
}

/* What process_* of the client libraries give, from /proc and the kernel's clocks. */
static void process_metrics(struct evbuffer *b)
{
    long size = 0, resident = 0, page = sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL && fscanf(f, "%ld %ld", &size, &resident) == 2) {
        say(b, "gauge", "process_resident_memory_bytes", "Resident memory", (double)resident * (double)page);
        say(b, "gauge", "process_virtual_memory_bytes", "Address space", (double)size * (double)page);
    }
    if (f != NULL)
        fclose(f);
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0)
        say(b, "counter", "process_cpu_seconds_total", "Processor time",
            (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
    say(b, "gauge", "process_start_time_seconds", "When the health port was opened",
        (double)started_us * 1e-6);
    struct rlimit files;
    say(b, "gauge", "process_open_fds", "Open descriptors", open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        say(b, "gauge", "process_max_fds", "Most descriptors", (double)files.rlim_cur);
}

static void say_build(void)
{
    char labels[160];
    snprintf(labels, sizeof labels, "daemon=\"%s\",version=\"" TAB_VERSION "\",commit=\"%s\"",
             tab_log_daemon(), tab_commit);
    tab_metric_set(tab_gauge("tabella_build_info", "What runs", labels), 1);
    tab_counter("tabella_log_lines_dropped_total", "Log lines not written", NULL);
    started_us = tab_now_us();
}

static void metrics(struct evhttp_request *r, void *arg)
{
    (void)arg;
    struct evbuffer *b = evbuffer_new();
    tab_metrics_write(b);
    process_metrics(b);
    answer(r, 200, "text/plain; version=0.0.4", b);
}

static void *turn(void *arg)
{
    tab_health *h = arg;
    event_base_loop(h->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

tab_health *tab_health_open(int64_t port)
{
    evthread_use_pthreads();
    tab_health *h = calloc(1, sizeof *h);
    if (h == NULL || port > 65535)
        goto bad;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    h->base = event_base_new();
    h->http = h->base == NULL ? NULL : evhttp_new(h->base);
    if (h->http == NULL)
        goto bad;
    evhttp_set_timeout(h->http, 10);
    evhttp_set_max_body_size(h->http, 0);
    evhttp_set_max_headers_size(h->http, 8192);
    evhttp_set_cb(h->http, "/livez", livez, h);
    evhttp_set_cb(h->http, "/healthz", livez, h);
    evhttp_set_cb(h->http, "/readyz", readyz, h);
    evhttp_set_cb(h->http, "/metrics", metrics, h);
    const char *at = getenv("TAB_HEALTH_BIND"); /* a pod binds all; a developer's machine loopback */
    struct evhttp_bound_socket *s =
        evhttp_bind_socket_with_handle(h->http, at == NULL ? "127.0.0.1" : at, (uint16_t)port);
    struct sockaddr_in addr = { 0 };
    socklen_t n = sizeof addr;
    if (s == NULL || getsockname(evhttp_bound_socket_get_fd(s), (struct sockaddr *)&addr, &n) != 0)
        goto bad;
    h->port = ntohs(addr.sin_port);
    h->accept = tab_accept_new(h->base, h->http, s, "the health port", 0, SPARES);
    if (h->accept == NULL)
        goto bad;
    say_build();
    if (pthread_create(&h->thread, NULL, turn, h) != 0)
        goto bad;
    tab_config_log();
    tab_log(TAB_INFO, "health on port %d", h->port);
    return h;
bad:
    tab_log(TAB_ERROR, "cannot listen on health port %lld", (long long)port);
    if (h != NULL)
        tab_accept_free(h->accept);
    if (h != NULL && h->http != NULL)
        evhttp_free(h->http);
    if (h != NULL && h->base != NULL)
        event_base_free(h->base);
    free(h);
    return NULL;
}

void tab_health_free(tab_health *h)
{
    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    if (h->asks)
        pthread_join(h->asker, NULL);
    event_base_loopexit(h->base, NULL); /* kept even if the thread has not entered its loop yet */
    pthread_join(h->thread, NULL);
    tab_accept_free(h->accept);
    evhttp_free(h->http);
    event_base_free(h->base);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

int tab_health_port(const tab_health *h)
{
    return h->port;
}

void tab_health_watch(tab_health *h, const char *name, bool (*alive)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    if (h->n < WATCHED) {
        h->watched[h->n].name = name;
        h->watched[h->n].alive = alive;
        h->watched[h->n].arg = arg;
        h->n++;
    }
    if (!h->asks)
        h->asks = pthread_create(&h->asker, NULL, ask_servers, h) == 0;
    pthread_cond_signal(&h->changed); /* the new one at once */
    pthread_mutex_unlock(&h->lock);
}

void tab_health_loop(tab_health *h, const char *name, const _Atomic int64_t *turned)
{
    pthread_mutex_lock(&h->lock);
    if (h->n_loops < LOOPS) {
        h->loops[h->n_loops].name = name;
        h->loops[h->n_loops].turned = turned;
        h->n_loops++;
    }
    pthread_mutex_unlock(&h->lock);
}

void tab_health_ready(tab_health *h, bool ready)
{
    atomic_store(&h->ready, ready);
}

void tab_health_leave(tab_health *h, int64_t seconds)
{
    tab_health_ready(h, false);
    for (tab_deadline end = tab_in_s(seconds); tab_left_ms(end, 1) > 0;)
        poll(NULL, 0, (int)tab_left_ms(end, 1000));
}
