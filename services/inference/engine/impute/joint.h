/* A joint normal model of a table's columns, from which each column is guessed by whatever else its row
 * holds.
 *
 * Each feature gives coordinates: a number its standard or normal score, a category an indicator a level.
 * Their mean and covariance are fitted to rows with gaps by expectation-maximisation (Dempster, Laird &
 * Rubin, JRSS B 1977; Little & Rubin, Statistical Analysis with Missing Data, chapter 11), once for each
 * of a few folds. */
#ifndef TAB_JOINT_H
#define TAB_JOINT_H

#include "services/inference/engine/features/encode.h"

typedef struct tab_joint tab_joint;

/* Models live in a. *ret is NULL when the table has too few rows or too many features for one. False:
 * memory or cancelled. */
bool tab_joint_fit(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                   tab_joint **ret);

/* Numbers that a column's missing cells were filled with. */
typedef struct {
    size_t column, n;
    const uint32_t *row; /* (n) of the table */
    const double *value; /* (n) */
} tab_joint_filled;

/* Makes (enc, data), a view without column `source` (tab_encode_without), see more: other columns' missing
 * numbers are replaced by their expectations, and the expectations of the column's own coordinates stand
 * as further features. All are given the row's present cells but that of `source`, under a model that was
 * fitted without the row, so that rows with and without the cell read alike. In the rows where `source` is
 * missing, gaps that are filled already, by filled[0..n), take that instead: their learners did not know
 * the cell either. */
bool tab_joint_complete(const tab_engine *e, tab_arena *a, const tab_joint *j, size_t source,
                        const tab_joint_filled *filled, size_t n, tab_encoder *enc, tab_data *data);
#endif
