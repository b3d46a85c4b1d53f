/* The strict patterns among tab_checks_of's tests: what needs no arithmetic. */
#ifndef TAB_PATTERN_H
#define TAB_PATTERN_H

#include "common/base/base.h"

/* The bits of the patterns (checksum.h) that a text of 2 to 400 bytes matches; *any_digit: whether it
 * holds a digit. Linear in its length. */
uint64_t tab_patterns_of(tab_str s, bool *any_digit);

/* Whether a text of several words holds a mail address, or a telephone number with its country in front. */
bool tab_holds_contact(tab_str s);

bool tab_is_email(tab_str s);

/* The bytes of a telephone number with its country in front ("+49 170 1234567") at the text's beginning; 0:
 * there is none. */
size_t tab_phone_abroad(tab_str s);

/* A number behind a sign of comparison: "<5", ">= 1,000", "<=50K". */
bool tab_is_compared(tab_str s);
#endif
