/* Missing numbers that sums and products of their row make to the last digit: a total of price and quantity,
 * a price of total and quantity, a part of a sum (identities.c finds what holds). */
#ifndef TAB_SUSPECTS_MADE_H
#define TAB_SUSPECTS_MADE_H

#include "services/inference/engine/profile/profile.h"

typedef struct {
    uint32_t row, column;
    double value;      /* with the decimals of its column */
    uint32_t like;     /* a row that has this number in this column; TAB_NULL: none has */
    double confidence; /* share of the rows in which what makes it holds (Laplace's rule of succession) */
} tab_number_made;

/* By row and column, in `a`. Of a short table, and of one without numbers, none. TAB_INTERNAL, TAB_CANCELLED.
 */
tab_status tab_numbers_made(const tab_engine *e, tab_arena *a, const tab_profile *p, tab_number_made **ret,
                            size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The number of that cell; NULL: nothing makes it. */
const tab_number_made *tab_number_made_at(const tab_number_made *of, size_t n, uint32_t row, uint32_t column);
#endif
