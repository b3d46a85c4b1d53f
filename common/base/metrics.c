/* See metrics.h: a list of metrics that only grows. Values change by atomics; the lock is for the list. */
#include "common/base/metrics.h"

#include <event2/buffer.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum { COUNTER, GAUGE, HISTOGRAM } kind;
static const char *const kind_names[] = { "counter", "gauge", "histogram" };
static const double bounds[] = { .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30 };
enum { BOUNDS = sizeof bounds / sizeof *bounds };

struct tab_metric {
    tab_metric *next; /* next metric of the same name, so that its lines stand together */
    kind kind;
    char *name, *help, *labels;
    _Atomic double value; /* histogram: the sum */
    atomic_uint_fast64_t bucket[BOUNDS + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tab_metric *first;

static tab_metric *metric(kind k, const char *name, const char *help, const char *labels)
{
    if (labels == NULL)
        labels = "";
    pthread_mutex_lock(&lock);
    tab_metric **at = &first, **after = NULL;
    for (; *at != NULL; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            if (strcmp((*at)->labels, labels) == 0)
                break;
            after = &(*at)->next;
        }
    tab_metric *m = *at;
    if (m == NULL) {
        m = calloc(1, sizeof *m);
        if (m == NULL || (m->name = strdup(name)) == NULL || (m->help = strdup(help)) == NULL ||
            (m->labels = strdup(labels)) == NULL)
            abort(); /* a daemon that cannot count at its start cannot work */
        m->kind = k;
        if (after == NULL)
            after = at;
        m->next = *after;
        *after = m;
    }
    pthread_mutex_unlock(&lock);
    return m;
}

tab_metric *tab_counter(const char *name, const char *help, const char *labels)
{
    return metric(COUNTER, name, help, labels);
}

tab_metric *tab_gauge(const char *name, const char *help, const char *labels)
{
    return metric(GAUGE, name, help, labels);
}

tab_metric *tab_histogram(const char *name, const char *help, const char *labels)
{
    return metric(HISTOGRAM, name, help, labels);
}

void tab_metric_add(tab_metric *m, double by)
{
    double was = atomic_load_explicit(&m->value, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&m->value, &was, was + by, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

void tab_metric_set(tab_metric *m, double to)
{
    atomic_store_explicit(&m->value, to, memory_order_relaxed);
}

void tab_metric_observe(tab_metric *m, double seconds)
{
    size_t b = 0;
    while (b < BOUNDS && seconds > bounds[b])
        b++;
    atomic_fetch_add_explicit(&m->bucket[b], 1, memory_order_relaxed);
    tab_metric_add(m, seconds);
}

/* Of a histogram how many were observed. */
static double value_of(const tab_metric *m)
{
    if (m->kind != HISTOGRAM)
        return atomic_load_explicit(&m->value, memory_order_relaxed);
    uint64_t n = 0;
    for (size_t i = 0; i <= BOUNDS; i++)
        n += atomic_load_explicit(&m->bucket[i], memory_order_relaxed);
    return (double)n;
}

static void write_histogram(const tab_metric *m, struct evbuffer *out)
{
    uint64_t n = 0;
    const char *comma = m->labels[0] == 0 ? "" : ",";
    for (size_t i = 0; i <= BOUNDS; i++) {
        char le[32];
        if (i < BOUNDS)
            snprintf(le, sizeof le, "%g", bounds[i]);
        else
            snprintf(le, sizeof le, "+Inf");
        n += atomic_load_explicit(&m->bucket[i], memory_order_relaxed);
        evbuffer_add_printf(out, "%s_bucket{%s%sle=\"%s\"} %llu\n", m->name, m->labels, comma, le,
                            (unsigned long long)n);
    }
    const char *open = m->labels[0] == 0 ? "" : "{", *close = m->labels[0] == 0 ? "" : "}";
    evbuffer_add_printf(out, "%s_sum%s%s%s %.9g\n%s_count%s%s%s %llu\n", m->name, open, m->labels, close,
                        atomic_load(&m->value), m->name, open, m->labels, close, (unsigned long long)n);
}

static struct {
    pthread_mutex_t lock; /* held while it runs */
    void (*fn)(void *ctx);
    void *ctx;
} before = { .lock = PTHREAD_MUTEX_INITIALIZER };

void tab_metrics_before(void (*fn)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&before.lock);
    before.fn = fn;
    before.ctx = ctx;
    pthread_mutex_unlock(&before.lock);
}

void tab_metrics_write(struct evbuffer *out)
{
    const char *last = "";
    pthread_mutex_lock(&before.lock);
    if (before.fn != NULL)
        before.fn(before.ctx);
    pthread_mutex_unlock(&before.lock);
    pthread_mutex_lock(&lock);
    for (const tab_metric *m = first; m != NULL; m = m->next) {
        if (strcmp(last, m->name) != 0)
            evbuffer_add_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
                                kind_names[m->kind]);
        last = m->name;
        if (m->kind == HISTOGRAM)
            write_histogram(m, out);
        else
            evbuffer_add_printf(out, m->labels[0] == 0 ? "%s%s %.17g\n" : "%s{%s} %.17g\n", m->name,
                                m->labels, value_of(m));
    }
    pthread_mutex_unlock(&lock);
}
