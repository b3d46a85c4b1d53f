/* Which of the rows that anomaly.c has scored are called anomalies. */
#ifndef TAB_ANOMALY_CUT_H
#define TAB_ANOMALY_CUT_H

#include "services/inference/engine/engine.h"

/* score (rows, at least one) of the fitted rows, rising. *ret_threshold: rows at or above it are anomalies;
 * *ret_share: of the fitted rows, so many are. */
void tab_anomaly_cut_find(tab_anomaly_cut cut, const float *score, size_t rows, double *ret_threshold,
                          double *ret_share);
#endif
