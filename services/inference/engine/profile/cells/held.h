/* What of persons stands within one text, by kind. Each is read where its form is narrow: what a check digit
 * or a mark proves, or words that stand as names and streets do. What else has such a form now and then is
 * weighed over the column (roles/held.c). */
#ifndef TAB_HELD_H
#define TAB_HELD_H

#include "common/base/base.h"

typedef enum {
    TAB_HELD_EMAIL,
    TAB_HELD_PHONE,
    TAB_HELD_NAME,
    TAB_HELD_ADDRESS,
    TAB_HELD_CARD,
    TAB_HELD_IBAN,
    TAB_HELD_NATIONAL, /* by its form alone: a number of social security in America, an Italian tax code */
    TAB_HELD_KINDS
} tab_held_kind;

/* Words of letters and digits that may be numbers of something else: the first few. */
enum { TAB_HELD_NUMBERS = 4 };

typedef struct {
    uint64_t hash[TAB_HELD_KINDS]; /* of the first that is such; 0: none */
    size_t words;
    bool unchecked; /* a number of a card's length and issuer whose check digit is wrong */
    tab_str number[TAB_HELD_NUMBERS];
    size_t numbers;
} tab_held;

void tab_held_in(tab_str text, tab_held *ret);
#endif
