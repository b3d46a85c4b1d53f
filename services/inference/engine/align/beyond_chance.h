/* How much two columns have in common beyond what chance gives columns that look like them.
 *
 * Whole numbers of one range, letters A to D, days of the same years: two columns of such hold the same
 * values whatever they tell of. What chance gives is read off each value's neighbours, the next on its
 * grid (41 and 43 of 42, 3100 and 3300 of 3200, KX-11 and KX-13 of KX-12): were the columns of unlike
 * attributes, they would hold one another's neighbours as often as one another's values. Two columns that
 * share 300 of 332.5, 198.6, ... and hardly a neighbour have one attribute. */
#ifndef TAB_ALIGN_BEYOND_CHANCE_H
#define TAB_ALIGN_BEYOND_CHANCE_H

#include "services/inference/engine/align/align.h"

typedef struct tab_held tab_held; /* what values a column holds, and their neighbours */

/* All of it lives in arena a; NULL: out of memory. */
tab_held *tab_held_new(const tab_views *v, const tab_view *w, tab_arena *a) TAB_CHECKED;

/* A likelihood that chance reaches once in twenty times. */
#define TAB_BEYOND_CHANCE 3.0

/* Whether chance explains that a and b hold values of one another: the evidence (natural logarithm) is less
 * than TAB_BEYOND_CHANCE one way or the other. Of a column with itself: whether any column's would be
 * explained. */
bool tab_held_by_chance(const tab_held *a, const tab_held *b);

/* The share of pairs of rows that agree in columns match[i] of b (TAB_NULL: none) of column i of a by more
 * than chance explains, less what chance may let do so. */
double tab_rows_beyond_chance(const tab_table_view *a, const tab_table_view *b, const tab_row_pairs *rows,
                              const uint32_t *match);

/* Evidence (natural logarithm) that the numbers and dates of b go up and down with one another as their
 * partners in a do: measures of one form depend on one another alike. False: out of memory. */
bool tab_alike_dependent(const tab_table_view *a, const tab_table_view *b, const uint32_t *match,
                         double *ret) TAB_CHECKED;
#endif
