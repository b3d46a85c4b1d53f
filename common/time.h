/* Time: UTC for what people read, monotonic for deadlines. No decision of the engine reads either. */
#ifndef TAB_TIME_H
#define TAB_TIME_H

#include "common/base.h"

enum { TAB_TIME_TEXT = 32 };

int64_t tab_now_us(void);  /* microseconds since 1970, UTC */
int64_t tab_mono_ms(void); /* milliseconds on a clock that never jumps */

/* "2026-11-21T09:24:05.123456Z" and back; also reads without fraction, and offsets like +02:00. */
void tab_time_text(int64_t us, char buf[TAB_TIME_TEXT]);
void tab_time_text_s(int64_t us, char buf[TAB_TIME_TEXT]); /* whole seconds: "2026-11-21T09:24:05Z" */
bool tab_time_parse(tab_str text, int64_t *ret_us) TAB_CHECKED;

/* A deadline is a moment on tab_mono_ms()'s clock; TAB_NO_DEADLINE never comes. */
typedef int64_t tab_deadline;
#define TAB_NO_DEADLINE INT64_MAX
/* Transactions of small statements: a database that does not answer for so long does not answer its caller
 * either. */
enum { TAB_SMALL_TX_MS = 6000 };

static inline tab_deadline tab_in_ms(int64_t ms)
{
    return tab_mono_ms() + ms;
}
static inline tab_deadline tab_within_ms(tab_deadline d, int64_t ms) /* d, or so soon */
{
    tab_deadline soon = tab_in_ms(ms);
    return d < soon ? d : soon;
}
/* Milliseconds left, 0 when it has passed, at most `most`. */
int64_t tab_left_ms(tab_deadline d, int64_t most);

#endif
