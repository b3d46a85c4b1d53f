/* Persons in texts: numbers to call that stand among words, and names with initials. */
#ifndef TAB_MENTIONS_H
#define TAB_MENTIONS_H

#include "common/base/base.h"

/* The hash of a telephone number without its country that stands among words, 0 where there is none. */
uint64_t tab_holds_phone(tab_str s);

/* A family name with initials before or behind it: "Шевченко О. І.", "Smith, J.R.", "A. Novák". */
bool tab_has_initials(tab_str s);

/* One to four words of which the last is capitalized and ends as names of families do: Jónsdóttir, Ólafsson,
 * Պետրոսյան, Hüseynzadə. */
bool tab_has_patronym(tab_str s);

/* Words of a name with a number of up to four digits behind each ("Ana45 Silva310"), as generators of
 * patients write them. Returns how many; *ret_lists: the lists (lexicon.h) that the first of them is in, and
 * those of the last. */
size_t tab_numbered_names(tab_str s, uint64_t ret_lists[2]);

/* Whether two neighbouring words of the text are written as names are ("Anna Becker") and are, by the lists,
 * a given and a family name, and neither a country, region, colour or firm nor of a street's name. */
bool tab_holds_name(tab_str s);

/* What the two above are made of. The bytes of a telephone number without its country at the beginning,
 * or 0; the lists (lexicon.h) that a word is in where it is written as a name is, or 0; and whether two
 * neighbouring words of these lists are a given and a family name. */
size_t tab_phone_at_home(tab_str s);
uint64_t tab_lists_of_name(tab_str word);
bool tab_is_pair_of_name(uint64_t first, uint64_t second);
#endif
