/* Intervals that follow their outcomes: dynamically tuned adaptive conformal inference (DtACI; Gibbs &
 * Candes, NeurIPS 2021 and JMLR 2024) on each of the levels 0.1, 0.5 and 0.9.
 *
 * A row's forecast is known by its quantiles low, median and high. The score of a value is its place among
 * them: 0 at the median, -1 at low, 1 at high, linear on each side and beyond. Of a calibrated forecast the
 * scores' quantiles are -1, 0 and 1; what is tracked is what they have become, and a served quantile is the
 * value at that score.
 *
 *   scores     ring of the last TAB_BANDS_SCORES; a normal distribution's to begin with
 *   threshold  of expert k at level t:  Q(scores, a[t][k]);   expert 0 stays at -1, 0, 1
 *   outcome    a[t][k] += g[k] (t - [score <= the threshold that k had when the row was served]), in [0, 1]
 *   weight     falls by exp(-eta pinball loss of that threshold, in ranks), then a small equal share
 *
 * Thresholds as they were served come back with the outcome, so experts are judged by what they said at the
 * time, however late the truth is. An integrator that hears of its errors d outcomes late oscillates unless
 * its step is below pi / 2 d; no step is above 1 / e (d + 1), where it is critically damped. */
#ifndef TAB_CALIBRATION_INTERVALS_H
#define TAB_CALIBRATION_INTERVALS_H

#include "common/base/base.h"

enum { TAB_BANDS_SCORES = 500, TAB_BANDS_LEVELS = 3, TAB_BANDS_EXPERTS = 8 };

/* Thresholds as rows are served with them: of the experts, and what they come to, ascending. */
typedef struct {
    float expert[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS];
    double at[TAB_BANDS_LEVELS];
} tab_bands;

typedef struct {
    float score[TAB_BANDS_SCORES];  /* a ring */
    float sorted[TAB_BANDS_SCORES]; /* the same, ascending */
    uint32_t next;                  /* place of the oldest */
    double level[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS], weight[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS];
} tab_bands_state;

/* As before any outcome: -1, 0 and 1. */
extern const tab_bands tab_bands_static;

void tab_bands_begin(tab_bands_state *s);
/* Fills `sorted` and says whether the rest may have been written by these functions: for what was stored. */
bool tab_bands_restore(tab_bands_state *s) TAB_CHECKED;
void tab_bands_of(const tab_bands_state *s, tab_bands *ret);
/* An outcome of that score. served: the row's experts; delay: outcomes that moved the state since. */
void tab_bands_tell(tab_bands_state *s, const float served[TAB_BANDS_LEVELS][TAB_BANDS_EXPERTS], double score,
                    uint64_t delay);

/* False: the forecast has no width, or is none; nothing can be told of it. */
bool tab_bands_score(double low, double median, double high, double value, double *ret) TAB_CHECKED;
/* The value that is served in place of x, one of the forecast's quantiles or values. Ascending in x; x itself
 * where thresholds are -1, 0, 1 or the forecast has no width. end: -1 for quantiles below the median, 1 for
 * those above, 0 for others: what x stands for where it is the median, since its side has no width. */
double tab_bands_move(const double at[TAB_BANDS_LEVELS], double low, double median, double high, double x,
                      int end);

#endif
