/* Inside inclusions.h: inclusions.c finds and compares pairs of columns, compete.c compares the pairs; what
 * sets.c and within.c ask of two columns. */
#ifndef TAB_INCLUSIONS_INTERNAL_H
#define TAB_INCLUSIONS_INTERNAL_H

#include "services/inference/engine/keys/inclusions.h"

/* Fills the features that only all candidates together tell; x is by child, then parent. columns: of all
 * tables. False: out of memory. */
bool tab_inclusions_compete(const tab_key_columns *k, tab_inclusion *x, size_t n, size_t columns);

/* Whether columns are of one kind and the parent holds most of the child's values. */
bool tab_key_holds_most(const tab_key_column *child, const tab_key_column *parent);
/* Distinct values of the child that the parent holds; 0 where it does not hold most of them. */
uint32_t tab_key_held(const tab_key_column *child, const tab_key_column *parent);
/* Whether the child says when, and the parent's moments are a calendar's. */
bool tab_key_timed(const tab_key_column *child, const tab_key_column *parent);
/* The share of the whole numbers that lie in the range of both columns which the parent holds. */
double tab_key_density(const tab_key_column *child, const tab_key_column *parent);

/* accident.c: the logarithm of how many other sets of as many values the parts of a column's values make:
 * 144 codes of 12 letters and 12 numbers give choose(144, 12) sets of twelve. 0 where values are counted
 * (1 to 15, A1 to A15), or words of which everybody makes the same list (months, countries). *ret is
 * untouched where memory lacks. False: out of memory. */
bool tab_key_other_sets(const tab_views *v, const tab_key_column *c, double *ret) TAB_CHECKED;

#endif
