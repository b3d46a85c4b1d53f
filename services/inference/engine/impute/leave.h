/* Which missing cells stay missing, and why: identifying values, references, texts, points in time, rows of
 * totals, values of several rows that stand on the first of them, and columns that few rows have because the
 * others do not; marks that are there or not. Decisions 0292, 0555, 0641. */
#ifndef TAB_IMPUTE_LEAVE_H
#define TAB_IMPUTE_LEAVE_H

#include "services/inference/engine/features/encode.h"

/* Columns with a smaller share of present cells are left unless something speaks for filling them; others
 * with more than TAB_FILL_ABSENT of missing ones are left where all speaks against it. */
static const double TAB_FILL_PRESENT = 0.1, TAB_FILL_ABSENT = 0.2;
/* Standard errors by which the fill of such a column must beat the plain one: chance at 1 %. */
static const double TAB_FILL_TOLD = 2.58;

/* Whether absence is a value of its own: missing, the share of cells without one; known: the column's values
 * are told better than the plain answer does. Of few present cells one doubt is enough: nothing tells which
 * value, or the others tell which rows have one. Of more, both must hold; where most are missing it is
 * enough that the others tell it all but wholly, or of a category that nothing tells which value. In doubt
 * the cells are filled. *ret: why they are not; NULL. False: memory or cancelled. */
bool tab_absence_weigh(const tab_engine *e, const tab_profile *p, const tab_encoder *enc, const tab_data *d,
                       size_t column, double missing, bool known, char **ret);

/* Why no cell of the column is ever filled; NULL: it may be. */
const char *tab_leave_column(tab_arena *a, const tab_column_profile *c);

/* The row whose numbers are the sums of all other rows', or TAB_NULL. */
uint32_t tab_row_of_totals(const tab_profile *p);

#endif
