/* Registration plates, by country: forms, letters that are not given out, and districts. A code of another
 * scheme may have such a form, and then all of its column has; so what counts is not how many values pass but
 * how many different letters do, each a draw that a country's rule could have refused (decision 0770). */
#ifndef TAB_PLATE_H
#define TAB_PLATE_H

#include "common/base/base.h"

enum { TAB_PLATE_COUNTRIES = 32, TAB_PLATE_LETTERS = 64 };

/* What a column's values say. All zero at first; at most 60,000 values are shown. */
typedef struct {
    uint16_t shown, most;                   /* values; the most that are of one country */
    uint16_t strings;                       /* different letters among those that are of any country */
    uint16_t pass[TAB_PLATE_COUNTRIES];     /* values of each country */
    uint32_t alphabet[TAB_PLATE_COUNTRIES]; /* letters A to Z that stand in them, a bit each */
    uint64_t strung[TAB_PLATE_LETTERS];     /* the different letters, hashed; */
    uint32_t of[TAB_PLATE_LETTERS];         /* the countries that they are of, a bit each */
} tab_plates;

/* Shows one value, trimmed. */
void tab_plates_show(tab_plates *t, tab_str value);

/* The natural logarithm of how many times likelier the values are as plates of one country than as codes of
 * the same form; 0 where nothing is known. */
double tab_plates_weigh(const tab_plates *t);

/* Whether the value is a plate of that country ("DE"); for tests. */
bool tab_plate_is(const char *country, tab_str value);
#endif
