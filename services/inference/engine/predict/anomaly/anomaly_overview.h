/* What is said of a whole table's anomaly scores, beside each row's: enough for a picture and for a look at
 * the rows that score most, however many pages the results have
 * (decision 0660). */
#ifndef TAB_ANOMALY_OVERVIEW_H
#define TAB_ANOMALY_OVERVIEW_H

#include "common/base/arena.h"
#include "proto/bundle.pb-c.h"

/* SHOWN: rows that score most. BINS: equal parts of 0 to 1. */
enum { TAB_ANOMALY_SHOWN = 10, TAB_ANOMALY_BINS = 20 };

/* Fills anomalies, score_bins and most_unusual of an anomaly prediction from its results. False: the arena is
 * full. */
bool tab_anomaly_overview(tab_arena *a, Tabella__Prediction *p) TAB_CHECKED;

#endif
