/* Traces (W3C trace context, OTLP over HTTP as JSON; decision 0335). Off, which costs a look at an empty
 * text for each call, unless the gateway sends contexts (tab_trace). A context is TRACE-SPAN-FLAGS in hex:
 * 32, 16, 2 digits.
 *
 *   gateway --X-Tabella-Trace--> api --Tab-Trace on NATS--> services      lines of the log carry
 *                                 |                            |          trace_id and span_id
 *                                 +--- spans, if TAB_OTLP ----+--> collector
 *
 * A span is sent if its trace is sampled, or if it failed. It never makes a caller wait: what does not fit
 * into the queue, or is not taken by the collector, is dropped and counted. */
#ifndef TAB_TRACE_H
#define TAB_TRACE_H

#include "common/base/base.h"

enum { TAB_TRACE_TEXT = 32 + 1 + 16 + 1 + 2 + 1 };

/* url: http://HOST:PORT/PATH of the collector; "": spans are not sent. False: no such URL (logged). Once,
 * before threads that work. At the end of the process what is left is sent, for a second at most. */
bool tab_trace_open(const char *url) TAB_CHECKED;

typedef struct {
    char context[TAB_TRACE_TEXT]; /* of this span, for what it calls; "": none */
    char parent[17];              /* "": it is the trace's first */
    int64_t from_us;              /* tab_now_us */
} tab_span;

/* A span below the caller's context, which may be of hostile form (then: none), NULL or "". It becomes the
 * thread's. */
tab_span tab_span_begin(const char *context);
/* The first of a trace of its own, sampled as often as given; nothing where spans are not sent. */
tab_span tab_span_first(double share);
void tab_span_enter(const tab_span *s); /* the thread goes on with it */
void tab_span_leave(void);
/* Sends it. name: a literal, or of the table of routes; attributes: pairs of literal names and texts, ended
 * by NULL. */
void tab_span_end(const tab_span *s, const char *name, bool failed, ...) __attribute__((sentinel));

const char *tab_trace_here(void); /* the thread's context; "": none */

#endif
