/* Telephone numbers by the numbering plans of ITU-T E.164 and of countries. */
#ifndef TAB_NUMBERING_H
#define TAB_NUMBERING_H

#include "common/base/base.h"

/* The PHONE_* bits (checksum.h) of the plans that the 9 to 16 digits of a text fit, whatever blanks,
 * dashes, points, brackets, slashes and signs stand between; 0 for any other text. One fit says little
 * (half of all numbers of ten digits fit North America's plan); the share of a column that fits does. */
uint64_t tab_numbering_plans(tab_str s);

#endif
