/* Time: UTC for what people read, monotonic for deadlines. No decision of the engine reads either. */
#ifndef TAB_TIME_H
#define TAB_TIME_H

#include <pthread.h>

#include "common/base/base.h"

enum { TAB_TIME_TEXT = 32 };

int64_t tab_now_us(void);  /* microseconds since 1970, UTC */
int64_t tab_mono_ms(void); /* milliseconds on a clock that never jumps */
int64_t tab_mono_us(void); /* the same in microseconds */

/* "2026-11-21T09:24:05.123456Z" and back; also reads without fraction, and offsets like +02:00. */
void tab_time_text(int64_t us, char buf[TAB_TIME_TEXT]);
void tab_time_text_s(int64_t us, char buf[TAB_TIME_TEXT]); /* whole seconds: "2026-11-21T09:24:05Z" */
bool tab_time_parse(tab_str text, int64_t *ret_us) TAB_CHECKED;

/* A deadline is a moment on tab_mono_ms()'s clock; TAB_NO_DEADLINE never comes. */
typedef int64_t tab_deadline;
#define TAB_NO_DEADLINE INT64_MAX
/* For transactions of small statements: a database that takes longer than this counts as away. */
enum { TAB_SMALL_TX_MS = 6000 };

/* The moment ms milliseconds from now. Never overflows; what is too far is TAB_NO_DEADLINE. */
static inline tab_deadline tab_in_ms(int64_t ms)
{
    tab_deadline d;
    return __builtin_add_overflow(tab_mono_ms(), ms, &d) ? TAB_NO_DEADLINE : d;
}
static inline tab_deadline tab_in_s(int64_t s)
{
    int64_t ms;
    return __builtin_mul_overflow(s, 1000, &ms) ? TAB_NO_DEADLINE : tab_in_ms(ms);
}
static inline tab_deadline tab_within_ms(tab_deadline d, int64_t ms) /* d, or so soon */
{
    tab_deadline soon = tab_in_ms(ms);
    return d < soon ? d : soon;
}
/* pthread_cond_timedwait on the clock of deadlines, whatever the condition was made with. False: the
 * deadline has passed. */
bool tab_cond_wait(pthread_cond_t *c, pthread_mutex_t *locked, tab_deadline d);
/* Milliseconds left, 0 when it has passed, at most `most`. */
int64_t tab_left_ms(tab_deadline d, int64_t most);

#endif
