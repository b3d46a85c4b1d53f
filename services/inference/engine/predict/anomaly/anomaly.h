/* Which rows are unlike the others, without labels. Three detectors that fail differently, each in standard
 * deviations of the fitted rows' readings (Kriegel et al., SDM 2011). With z the mean of the three, the
 * anomaly score is (1 + z / sqrt(1 + z^2)) / 2: 0.5 for an ordinary row, 0.97 at three standard deviations.
 *
 *   isolation   how few random cuts separate the row               (Liu, Ting & Zhou, ICDM 2008)
 *   distance    mean distance to the nearest twentieth of a sample  (Angiulli & Pizzuti, PKDD 2002)
 *   ellipse     log of the Mahalanobis distance from the bulk, the covariance reweighed without its farthest
 *               rows */
#ifndef TAB_ANOMALY_H
#define TAB_ANOMALY_H

#include "services/inference/engine/features/encode.h"

typedef struct tab_anomaly_parts tab_anomaly_parts;

typedef struct {
    float *score;          /* (rows) of the fitted rows, 0..1 */
    double threshold;      /* rows at or above it are anomalies */
    double expected_share; /* of the fitted rows, and of rows like them */
    tab_anomaly_parts *parts;
} tab_anomaly;

tab_pack_fn tab_pack_anomaly; /* context: how many rows, a size_t */

/* NULL: the arena is full or the pass was cancelled. */
tab_anomaly *tab_anomaly_fit(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_data *d,
                             size_t trees, tab_anomaly_cut cut, uint64_t seed);
/* out (n): scores of rows row[0..n) of q, each as if it came alone. False: out of memory. */
bool tab_anomaly_scores(const tab_anomaly *m, const tab_encoder *enc, const tab_data *q, const uint32_t *row,
                        size_t n, float *out);
/* part (features): what each feature adds to the row's squared Mahalanobis distance; they sum to it. */
bool tab_anomaly_parts_of(const tab_anomaly *m, const tab_encoder *enc, const tab_data *q, uint32_t row,
                          double *part);
#endif
