/* Outcomes that came with the cells of their rows, as a table for a refresh (decision 0515). No server:
 * rows.c keeps and reads them. */
#ifndef TAB_JOBS_OUTCOME_TABLE_H
#define TAB_JOBS_OUTCOME_TABLE_H

#include "services/jobs/outcomes/calibration.h"

enum { OUTCOME_COLUMNS = 2000 }; /* cells of others are left out */

/* An outcome that counts is of what the endpoint predicts now, and its cells are told. */
bool outcome_is_kept(const Tabella__Endpoint *e, const Tabella__OutcomeRow *row, const counted *c);

typedef struct outcome_table outcome_table;
outcome_table *outcome_table_new(tab_arena *a) TAB_CHECKED; /* NULL: out of memory */
/* One row more: the outcome, then its cells by their columns, each where it was told first. */
tab_status outcome_table_add(outcome_table *x, const Tabella__OutcomeRow *o, tab_error *err) TAB_CHECKED;
/* Ends it, whatever came (s, which is given back unless it is OK). *ret: the table; NULL: no row came. */
tab_status outcome_table_end(outcome_table *x, tab_status s, const tab_table **ret,
                             tab_error *err) TAB_CHECKED;

#endif
