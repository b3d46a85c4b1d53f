/* Streets' addresses, in the languages of some forty countries. */
#ifndef TAB_STREET_H
#define TAB_STREET_H

#include "common/base/base.h"

/* Whether a text with a digit in it holds a house number (up to five digits, "12b", "3/14") and a word for
 * street, square, quay or quarter, or one that ends so: "12 Hill Rd", "Lindenstraße 4", "ul. Długa 7/3",
 * "南京路100号". */
bool tab_is_street(tab_str s);

/* A name and a house number behind it ("Novotného 413", "Opatička 4b", "Λεωφ. Παρανύμφων 26"): the name's
 * hash, 0 where the text has another form; *ret_house: the number's. One such text proves nothing ("Boeing
 * 747"); a column of them whose names and numbers differ is one of addresses. */
uint64_t tab_housed(tab_str s, uint64_t *ret_house);

/* A street with its house number among the words of a text, where the words are capitalized as names are: "12
 * Hill Rd", "via Roma 3", "Lindenstraße 4". Its hash, 0 where there is none. */
uint64_t tab_holds_street(tab_str s);
#endif
