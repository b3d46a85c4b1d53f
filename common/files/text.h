/* The text of a file, whatever its encoding: a byte order mark decides; else every other byte 0 means UTF-16;
 * else what is valid UTF-8 is UTF-8, and the rest Windows-1252, which holds Latin-1. */
#ifndef TAB_FILES_TEXT_H
#define TAB_FILES_TEXT_H

#include "common/base/arena.h"

/* UTF-8 without a mark: a part of s, or made in the arena (p NULL when that is full). *ret_encoding is
 * "utf-8", "utf-16le", "utf-16be" or "windows-1252". */
tab_str tab_text_utf8(tab_arena *a, tab_str s, const char **ret_encoding);
/* The same of a text whose encoding is known, NULL: it is not. What is no character of it is U+FFFD; p NULL
 * also where this system does not know it. */
tab_str tab_text_utf8_as(tab_arena *a, tab_str s, const char *encoding, const char **ret_encoding);

#endif
