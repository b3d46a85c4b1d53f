/* Which of the character sets of old a text without a mark is in that is no UTF-8. */
#ifndef TAB_FILES_CHARSET_H
#define TAB_FILES_CHARSET_H

#include "common/base/arena.h"

/* Its name as iconv has it, from the bytes at the beginning (decision 0366):
 *
 *   letters beside letters of the upper half           Cyrillic: windows-1251, koi8-r
 *   pairs of bytes of the upper half                   gb18030, euc-kr; shift_jis by its kana
 *   single letters between those of ASCII              macintosh, windows-1250, else windows-1252
 */
const char *tab_charset_of(tab_str s);

/* The text as UTF-8 in the arena; what is no character of the set becomes U+FFFD. p NULL: out of memory, or
 * the set is not known to this system. */
tab_str tab_charset_utf8(tab_arena *a, tab_str s, const char *charset);

#endif
