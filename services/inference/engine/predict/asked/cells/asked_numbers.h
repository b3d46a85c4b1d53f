/* Numbers of asked rows that are not those of their column: filled in, or another column's (decision
 * 0790). */
#ifndef TAB_PREDICT_ASKED_NUMBERS_H
#define TAB_PREDICT_ASKED_NUMBERS_H

#include "common/base/base.h"

enum { TAB_ASKED_PLACES = 12, TAB_ASKED_LEAST = 20 /* asked numbers that tell of either */ };

/* The value that was filled in for many of the asked numbers, open (m), which known ones (n) hardly have: the
 * others are distributed as the known ones are, or as those on its one side, where all that would lie beyond
 * is cut to it. Both ascend. NaN: there is none. */
double tab_asked_filled(const double *known, size_t n, const double *open, size_t m);

/* A column whose asked numbers lie apart from its known ones; all ascend. */
typedef struct {
    size_t column;
    double *known, *open;
    size_t n, m;
    size_t as; /* the place of the column whose numbers these are; its own: none is found */
} tab_asked_place;

/* Which of k columns hold each other's numbers where they are asked: as is set where the asked numbers are
 * distributed as another's known ones, and those are another's again, so that a circle closes. */
void tab_asked_exchanged(tab_asked_place *of, size_t k);
#endif
