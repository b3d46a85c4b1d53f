/* A column of values against a list of what values there are (a dictionary, a code list, an enumeration). */
#ifndef TAB_ALIGN_DOMAIN_H
#define TAB_ALIGN_DOMAIN_H

#include "services/inference/engine/align/view.h"

/* 0 to 1, the means over distinct values and over rows. */
typedef struct {
    double values, rows;
} tab_domain_match;

/* How well list's values explain w's: by equality, by the words that a value shares with its nearest in
 * the list ("r0 no residual tumor", "r0"), or by equality after a mark that all values of w begin with is
 * taken off ("pt1", "pt2": "t1", "t2"). words: whether the two have any in common. Long lists: 0. */
tab_domain_match tab_domain_soft(const tab_views *v, const tab_view *w, const tab_view *list, bool words);

/* The share of the whole numbers between w's least and greatest that a short list from 0 or 1 on holds:
 * how much of what it holds of w is chance. A list of 0 to 9 holds every small count; one of years is its
 * own. 0 where either is not of numbers. */
double tab_domain_chance(const tab_view *w, const tab_view *list);
#endif
