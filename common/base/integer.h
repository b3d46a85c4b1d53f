/* Integers that came as text from outside: a header, a reply, the environment. strtol and its like
 * skip spaces, take what they can and say nothing of the rest; scanf overflows. */
#ifndef TAB_INTEGER_H
#define TAB_INTEGER_H

#include "common/base/base.h"

/* Decimal digits, with one '-' before them where least < 0, and nothing else. False, and *ret as it was,
 * where the text is another or the number lies outside of least..most. */
bool tab_integer_read(tab_str text, int64_t least, int64_t most, int64_t *ret) TAB_CHECKED;

#endif
