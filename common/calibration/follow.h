/* Answers of an endpoint that follows outcomes (decision 0477): intervals and shares are moved as its
 * calibration says, before anything is written of them. The api does so with a call's, jobs with those of a
 * scored dataset, whose calibration is the one of the moment it was asked for (decision 0891). */
#ifndef TAB_CALIBRATION_FOLLOW_H
#define TAB_CALIBRATION_FOLLOW_H

#include "common/bundle/bundle_json.h"
#include "common/calibration/intervals.h"
#include "proto/jobs.pb-c.h"

/* What of a moved answer a receipt says besides. */
typedef struct {
    uint64_t state;        /* calibration_state */
    tab_bands bands;       /* numbers */
    double *quantiles;     /* of results, the model's own; as Results.quantiles */
    double *probabilities; /* the same of shares */
} tab_followed;

/* Moves the results of the bundle's prediction. c NULL: as the model says. *ret: NULL where nothing is
 * predicted; lives in the arena. */
tab_status tab_follow_outcomes(tab_arena *a, const Tabella__LiveCalibration *c, Tabella__Bundle *b,
                               const tab_followed **ret, tab_error *err) TAB_CHECKED;

/* Place of a quantile among the prediction's levels; SIZE_MAX: it is not there. */
size_t tab_quantile_place(const Tabella__Prediction *p, double level);
/* The n classes of the prediction, each as receipts call it. */
tab_status tab_class_hashes(tab_arena *a, const Tabella__Prediction *p, size_t n, uint64_t **ret,
                            tab_error *err) TAB_CHECKED;

#endif
