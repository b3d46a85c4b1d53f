/* What can be said of columns as targets before any is tried. */
#ifndef TAB_FORESIGHT_H
#define TAB_FORESIGHT_H

#include "services/inference/engine/predict/choose/contenders.h"

/* Scores the eligible ones of c (cols, in the table's order) by predict/choose/rank.h, with the share of its
 * variance that the closest other column tells on a sample in place of the skill. For tables of so many
 * columns that not all can be tried. False: the arena is full. */
bool tab_foresee(tab_arena *a, const tab_profile *p, tab_contender *c) TAB_CHECKED;

/* Whether the numbers of a column are the year, quarter, month, day, weekday, hour or minute of a date in
 * another: *ret_of. */
bool tab_part_of_date(const tab_profile *p, size_t column, size_t *ret_of);
#endif
