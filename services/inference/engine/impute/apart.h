/* How the missing cells of a column lie to the present ones, so that its learners are judged by rows that lie
 * alike: copies on one side, repeated measurements apart, whole groups kept apart where whole groups lack the
 * cell, later rows where the later ones do, stretches of time where stretches do (decisions 0390, 0391, 0446,
 * 0460). */
#ifndef TAB_IMPUTE_APART_H
#define TAB_IMPUTE_APART_H

#include "services/inference/engine/features/units.h"
#include "services/inference/engine/predict/asked/arrange.h"

typedef struct tab_apart tab_apart;

/* What is the same for every column of the table: copies, and the columns that could group rows or order
 * them. Lives in a. NULL: memory. */
tab_apart *tab_apart_new(tab_arena *a, const tab_profile *p) TAB_CHECKED;

/* Whether missing cells of the column (rows: a bool of each) may lie by groups, before or behind the others
 * in time, or in gaps of it: a look at few of them, since most columns lack cells here and there. */
bool tab_apart_looks(const tab_apart *t, size_t column, const bool *missing);

/* The numbers (rows) of a column that most of the missing cells' rows lie beyond, and the least and the most
 * of the rows that have the cell. NULL: there is none. */
const double *tab_apart_beyond(const tab_apart *t, size_t column, const bool *missing, double *ret_low,
                               double *ret_high);

/* The units of the table's rows. */
const tab_units *tab_apart_units(const tab_apart *t);
#endif
