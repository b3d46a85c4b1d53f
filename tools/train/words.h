/* Single texts: a person, a street, a product, a sentence; and the lists that classes come from. Texts
 * live in the maker's arena. */
#ifndef TAB_TRAIN_WORDS_H
#define TAB_TRAIN_WORDS_H

#include "tools/train/maker.h"

enum { MOST_LISTED = 96 };

/* The parts of "a|b|c" into set (MOST_LISTED); gives their number. */
size_t split_list(maker *m, const char *p, tab_str *set);

/* A copy in capitals or in small letters; bytes beyond ASCII stay. */
tab_str change_case(maker *m, tab_str w, bool upper);

/* The name of the sector's list in the lexicon, in buf (n). */
const char *sector_list(const maker *m, char *buf, size_t n);

/* One value of a role whose rows are drawn one by one, in t (size); set (n): the plan's own words, or
 * none. False: the role's values are not made one by one. */
bool one_text(maker *m, const spec *s, const tab_str *set, size_t n, size_t way, char *t, size_t size);

#endif
