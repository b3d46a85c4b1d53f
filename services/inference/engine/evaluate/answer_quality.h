/* What a run's own answers are worth: those of rows whose target is known, which no answering model had seen,
 * beside that target. The figures of a picture: calibration, error by slice. */
#ifndef TAB_ANSWER_QUALITY_H
#define TAB_ANSWER_QUALITY_H

#include "services/inference/engine/profile/profile.h"

/* Fills m's slices, calibration, error, baseline and judged from answers for labelled rows, where twenty and
 * more of the rows are known: r, made as those for the rows that are asked (tab_fitted_judged), or NULL: m's
 * results. p: the predicted table; table: its number. False: the arena is full. */
bool tab_answer_quality(const tab_engine *e, const tab_profile *p, uint32_t table, size_t target,
                        const Tabella__Results *r, Tabella__Prediction *m) TAB_CHECKED;

/* The class of each row by the classes of a prediction; cells unknown to them get `count`. NULL: the arena is
 * full. */
uint32_t *tab_truth_of(tab_arena *a, const tab_column *target, size_t rows, const Tabella__Column *classes,
                       size_t count);

/* Tenths of the confidences, of three and more rows each: error is 1 where the answer was missed. */
bool tab_calibration_classes(tab_arena *a, const double *confidence, const double *error, size_t n,
                             Tabella__Calibration ***ret, size_t *ret_n) TAB_CHECKED;

/* By each quantile of the results r of m, whose rows have these truths; NaN: not known. n: rows that are
 * known. */
bool tab_calibration_quantiles(tab_arena *a, const double *truth, const Tabella__Prediction *m,
                               const Tabella__Results *r, size_t n, Tabella__Calibration ***ret,
                               size_t *ret_n) TAB_CHECKED;
#endif
