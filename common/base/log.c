/* See log.h: a line is made in a buffer on the stack and leaves in one write, so that lines of threads do
 * not mix. */
#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/metrics.h"
#include "common/base/time.h"

enum { LINE = 8192, FIELD = 1024 }; /* a longer text is cut, so that a line is one write */

static const char *daemon_name = "tabella";
static _Atomic int least = TAB_INFO;
static _Thread_local char at_request[64], at_org[64], at_trace[64];
static const char *const level_names[] = { "debug", "info", "warn", "error" };

static void set_level(tab_log_level level)
{
    atomic_store(&least, (int)level);
}

void tab_log_open(const char *daemon, tab_log_level level)
{
    daemon_name = daemon;
    set_level(level);
}

const char *tab_log_daemon(void)
{
    return daemon_name;
}

bool tab_log_level_of(const char *text, tab_log_level *ret)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++)
        if (strcmp(text, level_names[i]) == 0) {
            *ret = (tab_log_level)i;
            return true;
        }
    return false;
}

static void keep(char *to, size_t size, const char *text)
{
    size_t n = text == NULL ? 0 : strnlen(text, size - 1);
    if (n > 0)
        memcpy(to, text, n);
    to[n] = 0;
}

void tab_log_trace(const char *context)
{
    keep(at_trace, sizeof at_trace, context);
}

const char *tab_log_traced(void)
{
    return at_trace;
}

void tab_log_context(const char *request_id, const char *org)
{
    keep(at_request, sizeof at_request, request_id);
    keep(at_org, sizeof at_org, org);
}

typedef struct {
    char at[LINE];
    size_t n;
} line;

static void put(line *l, const char *s)
{
    size_t n = strlen(s), room = LINE - 8 - l->n;
    if (n > room)
        n = room;
    memcpy(l->at + l->n, s, n);
    l->n += n;
}

/* A JSON string. A byte that is no printable ASCII and not part of valid UTF-8 is escaped. */
static void put_text(line *l, const char *s)
{
    put(l, "\"");
    for (size_t i = 0; s[i] != 0 && i < FIELD; i++) {
        unsigned char c = (unsigned char)s[i];
        char e[8];
        if (c == '"' || c == '\\')
            snprintf(e, sizeof e, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            snprintf(e, sizeof e, "\\u%04x", c);
        else
            snprintf(e, sizeof e, "%c", c);
        put(l, e);
    }
    put(l, "\"");
}

static void put_pair(line *l, const char *name, const char *value)
{
    put(l, ",");
    put_text(l, name);
    put(l, ":");
    put_text(l, value);
}

static void start(line *l, tab_log_level level, const char *msg)
{
    char ts[TAB_TIME_TEXT];
    tab_time_text(tab_now_us(), ts);
    l->n = 0;
    put(l, "{\"ts\":");
    put_text(l, ts);
    put_pair(l, "level", level_names[level]);
    put_pair(l, "daemon", daemon_name);
    if (at_request[0] != 0)
        put_pair(l, "request_id", at_request);
    const char *trace = at_trace; /* TRACE-SPAN-FLAGS */
    if (trace[0] != 0) {
        char part[33];
        snprintf(part, sizeof part, "%.32s", trace);
        put_pair(l, "trace_id", part);
        snprintf(part, sizeof part, "%.16s", trace + 33);
        put_pair(l, "span_id", part);
    }
    if (at_org[0] != 0)
        put_pair(l, "org", at_org);
    put_pair(l, "msg", msg);
}

/* A full log disk must not stop the daemon: the line is dropped and counted. */
static void finish(line *l)
{
    memcpy(l->at + l->n, "}\n", 2);
    l->n += 2;
    ssize_t w;
    do
        w = write(STDERR_FILENO, l->at, l->n);
    while (w < 0 && errno == EINTR);
    if (w != (ssize_t)l->n) {
        static tab_metric *dropped;
        if (dropped == NULL)
            dropped = tab_counter("tabella_log_lines_dropped_total", "Log lines not written", NULL);
        tab_metric_add(dropped, 1);
    }
}

void tab_log(tab_log_level level, const char *fmt, ...)
{
    if ((int)level < atomic_load_explicit(&least, memory_order_relaxed))
        return;
    char msg[FIELD];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    line l;
    start(&l, level, msg);
    finish(&l);
}

void tab_log_fields(tab_log_level level, const char *msg, ...)
{
    if ((int)level < atomic_load_explicit(&least, memory_order_relaxed))
        return;
    line l;
    start(&l, level, msg);
    va_list ap;
    va_start(ap, msg);
    for (const char *name; (name = va_arg(ap, const char *)) != NULL;) {
        const char *value = va_arg(ap, const char *);
        put_pair(&l, name, value == NULL ? "" : value);
    }
    va_end(ap);
    finish(&l);
}

bool tab_log_due(_Atomic int64_t *said)
{
    enum { AGAIN_MS = 60000 };
    int64_t now = tab_mono_ms(), before = atomic_load(said);
    return (before == 0 || now - before >= AGAIN_MS) && atomic_compare_exchange_strong(said, &before, now);
}
