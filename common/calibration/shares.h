/* Shares of classes that follow their outcomes: temperature and prior shift, online.
 *
 * Of the model's shares p an expert makes  p'_k ~ p_k^(1/T) exp(b_k).  Experts are TEMPERATURES of T, a
 * fixed grid about 1, by SHIFTS ways in which b follows the classes: not at all, slowly, fast (gradient
 * steps on the log-loss, whose gradient is  [class is k] - p'_k). What is served is the mixture of all by
 * their weights: a posterior by Bayes' rule that begins at the model as it is, with a small equal share to
 * each so that none is forgotten (Herbster & Warmuth, Machine Learning 1998). So over any stretch the
 * log-loss is that of the best expert and a constant; the model as it is, T = 1 and b = 0, is one of them.
 * No step is chosen, and nothing can diverge. */
#ifndef TAB_CALIBRATION_SHARES_H
#define TAB_CALIBRATION_SHARES_H

#include "common/base/base.h"

enum { TAB_SHARES_TEMPERATURES = 7, TAB_SHARES_SHIFTS = 3, TAB_SHARES_CLASSES = 64 };

typedef struct {
    size_t classes;                     /* that have come, the first TAB_SHARES_CLASSES */
    uint64_t known[TAB_SHARES_CLASSES]; /* by their hashes */
    float shift[TAB_SHARES_SHIFTS][TAB_SHARES_CLASSES];
    double weight[TAB_SHARES_SHIFTS][TAB_SHARES_TEMPERATURES];
} tab_shares;

/* Classes of a row and their shares, and `others` more that have `rest` together. */
typedef struct {
    size_t n;
    const uint64_t *hash;
    const double *share;
    uint32_t others;
    double rest;
} tab_shares_row;

void tab_shares_begin(tab_shares *s);
/* Whether what was stored may have been written by these functions. */
bool tab_shares_sound(const tab_shares *s) TAB_CHECKED;
/* The row's class at `is` came true; row->n: one of the others. At most TAB_SHARES_CLASSES in the row. */
void tab_shares_tell(tab_shares *s, const tab_shares_row *row, size_t is);
/* What is served: ret (n) by class, of sum 1. place (n): of each class among those known, as tab_shares_place
 * gives it. scratch (2 n). */
void tab_shares_move(const tab_shares *s, const size_t *place, const double *share, size_t n, double *scratch,
                     double *ret);
size_t tab_shares_place(const tab_shares *s, uint64_t hash); /* SIZE_MAX: unknown */

#endif
