/* Text as look-ups see it: trimmed, of one case and width, Latin letters without accents. */
#ifndef TAB_LEXICON_FOLD_TEXT_H
#define TAB_LEXICON_FOLD_TEXT_H

#include "common/base/base.h"

/* Decode one code point and step past it. Broken UTF-8 gives U+FFFD and steps one byte. s->n > 0. */
uint32_t tab_utf8_next(tab_str *s);

/* Without white space (also NBSP, ideographic space, BOM, zero width) at both ends. */
tab_str tab_trim(tab_str s);

/* s folded into buf of size n (cut there, never inside a code point), runs of white space as one blank,
 * trimmed. Returns the folded view of buf. */
tab_str tab_fold(tab_str s, char *buf, size_t n);

/* A value that stands for "not known": "?", "N/A", "-", "null", "unknown" ... (s is trimmed).
 * Strict ones can be nothing else; the others ("none", "unknown") may be a category of their own. */
typedef enum { TAB_FOREIGN_NO, TAB_FOREIGN_WORD, TAB_FOREIGN_STRICT } tab_foreign;
tab_foreign tab_foreign_mark(tab_str s);

/* 64-bit hash of bytes (wyhash's mixing step); good in all bits, the same on every machine. */
uint64_t tab_wyhash(const void *p, size_t n, uint64_t seed);

/* s is the word; most words of a list are turned away by their first byte. */
static inline bool tab_str_is(tab_str s, const char *word)
{
    for (size_t i = 0; i < s.n; i++)
        if (word[i] == 0 || s.p[i] != word[i])
            return false;
    return word[s.n] == 0;
}
#endif
