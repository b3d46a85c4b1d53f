/* Metrics of held-out answers. All arrays are (n) unless shapes say otherwise. */
#ifndef TAB_QUALITY_METRICS_H
#define TAB_QUALITY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Area under the ROC curve of `score` for rows with positive[i]; ties count half; NaN without both kinds. */
double tab_auc(const double *score, const bool *positive, size_t n);
/* Average precision: sum over cuts of (recall gained) * (precision there), rows of one score taken
 * together; NaN without a positive row. */
double tab_average_precision(const double *score, const bool *positive, size_t n);
/* Mean over classes of one-vs-rest AUC (two classes: of the second). probability (n, classes). */
double tab_auc_classes(const double *probability, const uint32_t *truth, size_t n, size_t classes);
/* Expected calibration error of the top class in 15 equal-width bins. */
double tab_ece(const double *probability, const uint32_t *truth, size_t n, size_t classes);
double tab_log_loss(const double *probability, const uint32_t *truth, size_t n, size_t classes);
/* Spiegelhalter's z of top-class confidence: sum (hit - p) / sqrt(sum p (1 - p)); about N(0, 1) when every
 * confidence is the probability that it claims to be (Statistics in Medicine 1986). */
double tab_calibration_z(const double *probability, const uint32_t *truth, size_t n, size_t classes);
#endif
