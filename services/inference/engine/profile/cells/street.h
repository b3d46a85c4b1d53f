/* Streets' addresses, in the languages of some forty countries. */
#ifndef TAB_STREET_H
#define TAB_STREET_H

#include "common/base/base.h"

/* Whether a text with a digit in it holds a house number (up to five digits, "12b", "3/14") and a word for street, square, quay or
 * quarter, or one that ends so: "12 Hill Rd", "Lindenstraße 4", "ul. Długa 7/3", "南京路100号". */
bool tab_is_street(tab_str s);
#endif
