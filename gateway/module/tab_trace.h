/* W3C Trace Context's traceparent, as a caller sent it: VERSION-TRACE-PARENT-FLAGS in lower-case hex digits.
 * No allocation, no clock. */
#ifndef TAB_TRACE_H
#define TAB_TRACE_H

#include "common/base/base.h"

enum {
    TAB_HEX_TRACE = 32,
    TAB_HEX_SPAN = 16,
    TAB_TRACEPARENT = 2 + 1 + TAB_HEX_TRACE + 1 + TAB_HEX_SPAN + 1 + 2
};

/* Whether it is one of version 00, or of a later one as far as that begins alike; neither trace nor parent
 * are all zeros then. */
bool tab_traceparent_valid(const unsigned char *p, size_t n);
/* Whether a valid one's flags say that the trace is recorded. */
bool tab_traceparent_sampled(const unsigned char *p);

#endif
