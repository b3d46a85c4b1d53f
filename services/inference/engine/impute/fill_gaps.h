/* Cells that are empty together: in rows that lack the column to be filled others are empty more often than
 * in rows that have it (a page of a form that nobody filled in). What is learned of whole rows would be told
 * of empty ones (features/missingness.h, decision 0493). */
#ifndef TAB_FILL_GAPS_H
#define TAB_FILL_GAPS_H

#include "services/inference/engine/impute/joint.h"

/* How a row stands to the column that is filled. */
typedef enum { TAB_FILL_NEITHER, TAB_FILL_KNOWN, TAB_FILL_ASKED } tab_fill_row;

/* Gives known rows (row: (d->rows) tab_fill_row) of the view the gaps of asked ones where these differ beyond
 * chance; ret: which cells were taken. Rows stand in hash order. All lives in a. False: memory. */
bool tab_fill_gaps(tab_arena *a, const uint8_t *row, tab_encoder *enc, tab_data *d,
                   tab_joint_gaps *ret) TAB_CHECKED;
#endif
