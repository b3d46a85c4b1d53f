/* Whether an endpoint serves other rows than it pins, a test a column (decision 0322).
 *
 * A column has drifted where a two-sample chi-square test's tail is below ALPHA over the number of
 * columns, so that of endpoints that serve what they pin at most a share ALPHA shows any; and where the
 * population stability index is at least SMALL, for with many rows the least difference is none of chance. */
#ifndef TAB_CALIBRATION_DRIFT_H
#define TAB_CALIBRATION_DRIFT_H

#include "common/base/base.h"
#include "proto/jobs.pb-c.h"

typedef struct {
    uint64_t served;
    double stability; /* population stability index */
    double p;         /* of such a difference by chance */
    double threshold; /* that p must be below */
    bool drifted;
} tab_drift_test;

/* columns: how many are tested together. */
tab_drift_test tab_drift_tested(const Tabella__DriftColumn *c, size_t columns);
/* Served cells of a bin, of both windows that are kept. */
uint64_t tab_drift_served(const Tabella__DriftColumn *c, size_t bin);

#endif
