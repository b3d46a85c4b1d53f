/* One JSON object a line on stderr: ts, level, daemon, request_id, org, msg, and the fields of the call.
 * Never a cell's value, a secret or a body: the callers' duty, for the log cannot know. */
#ifndef TAB_LOG_H
#define TAB_LOG_H

#include "common/base/base.h"

typedef enum { TAB_DEBUG, TAB_INFO, TAB_WARN, TAB_ERROR } tab_log_level;

void tab_log_open(const char *daemon, tab_log_level level); /* before any thread; daemon is a literal */
const char *tab_log_daemon(void);
bool tab_log_level_of(const char *text, tab_log_level *ret) TAB_CHECKED; /* "debug" ... "error" */

void tab_log(tab_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* With fields: pairs of a name and a text, ended by NULL.
 *   tab_log_fields(TAB_INFO, "job taken", "job_id", id, "kind", kind, NULL); */
void tab_log_fields(tab_log_level level, const char *msg, ...) __attribute__((sentinel));

/* What this thread works on; every later line of the thread carries it. NULL or "" clears. Copied. */
void tab_log_context(const char *request_id, const char *org);

/* For a line that would come with every try: true the first time, and then once a minute. `said` starts as 0
 * and belongs to the line. */
bool tab_log_due(_Atomic int64_t *said);

/* The trace that it works in (common/run/trace.h): TRACE-SPAN-FLAGS, copied; "" clears. */
void tab_log_trace(const char *context);
const char *tab_log_traced(void);

#endif
