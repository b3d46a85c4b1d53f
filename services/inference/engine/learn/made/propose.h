/* Which columns are worth making: those by which what boosted trees leave open still differs.
 *
 * The trees' out-of-fold residuals are summed over the groups of a candidate's values: sixteen of about as
 * many rows, or the pairs of two categories. Of residuals that do not follow it, the sum of squares between k
 * groups over their variance is chi-square with k - 1 degrees of freedom; a candidate counts where that is
 * rarer than what the columns that it is made of say alone. Of hundreds of candidates those are kept whose
 * share of false ones is bounded (Benjamini & Hochberg, JRSS B 1995), and of two that order the rows alike
 * the better one. Residuals of the rows that a fold holds have no say in what it reads. */
#ifndef TAB_PROPOSE_H
#define TAB_PROPOSE_H

#include "services/inference/engine/learn/made/made.h"

enum { TAB_RESIDUALS = 6 }; /* classes whose residuals are read */

typedef struct {
    const tab_problem *p;
    const float *gain;   /* (features) of the trees: which columns are paired where there are many */
    const uint32_t *row; /* (n) rows with residuals, ascending */
    const uint8_t *fold; /* (n) which fold holds them */
    const float *left[TAB_RESIDUALS]; /* (n) residuals, of `of` classes or of one number */
    size_t n, of, folds;
} tab_residuals;

/* Whether anything may be made of the problem's features. */
bool tab_propose_apt(const tab_problem *p);

/* list (folds + 1): what each fold reads, and last what all rows propose. False: memory or cancelled. */
bool tab_propose(const tab_engine *e, const tab_residuals *q, tab_made_list *list) TAB_CHECKED;
#endif
