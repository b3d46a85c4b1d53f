/* A column's values in half a line, for people. */
#ifndef TABELLA_DISTRIBUTION_H
#define TABELLA_DISTRIBUTION_H

#include "services/inference/engine/profile/profile.h"

/* On stdout, without a line end: of numbers and times the ends, the median and a histogram of eight bars;
 * of classes the commonest with their shares; of text the number of distinct values and one of them.
 * Nothing for a column of nulls. */
void print_distribution(const tab_column_profile *p, size_t rows);

/* `s` on stdout, cut or filled with blanks to `width` columns of a terminal (wide characters of East Asia
 * take two), control characters as blanks. Width 0: cut at 40, not filled. */
void print_padded(tab_str s, int width);

#endif
