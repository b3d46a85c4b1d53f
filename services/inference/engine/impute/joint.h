/* A joint normal model of a table's columns. It says what to expect of a cell, given the other cells of its
 * row.
 *
 * Each feature gives coordinates: a number its z-score or normal score, a category one indicator a level.
 * Mean and covariance are fitted to rows with gaps by expectation-maximisation (Dempster, Laird & Rubin,
 * JRSS B 1977; Little & Rubin, Statistical Analysis with Missing Data, chapter 11), once for each of a few
 * folds. */
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

/* Cells of other columns that rows of a view are read without. */
typedef struct {
    size_t n;
    const size_t *column;    /* (n) */
    const bool *const *gone; /* (n)(rows of the view) */
} tab_joint_gaps;

/* Completes (enc, data), a view without column `source` (tab_encode_without) of the rows at[0..data->rows) of
 * the joint model's own, rising; at NULL: of all of them. Missing numbers of other
 * columns become their expectations, and the expected coordinates of `source` are added as features.
 *
 * Every expectation is given the row's present cells except that of `source`, under a model that was
 * fitted without the row: rows with and without the cell read alike. In rows where `source` is missing,
 * filled[0..n) replaces the expectation where a gap was filled already: the learners that filled it did
 * not know the cell either. gaps: what the view lacks of the joint model's rows, NULL: nothing. False: the
 * arena is full. */
bool tab_joint_complete(const tab_engine *e, tab_arena *a, const tab_joint *j, size_t source,
                        const tab_joint_filled *filled, size_t n, const uint32_t *at,
                        const tab_joint_gaps *gaps, tab_encoder *enc, tab_data *data);
#endif
