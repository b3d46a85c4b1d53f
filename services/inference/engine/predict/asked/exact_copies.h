/* Corrects answers for rows that the fitted table holds already, cell for cell ("twins"). Tables often hold
 * copies, and a query may be one. How much the twins' targets add to the model's answer is learned from twins
 * inside the table, which share a fold:
 *
 *   regression       residuals of twins correlate by rho; a row with m twins of mean residual r moves by
 *                    w r, w = m rho / (1 + (m - 1) rho), and its scale shrinks by sqrt(1 - rho w)
 *                    (BLUP of a random effect: Robinson, Statistical Science 1991)
 *   classification   p <- (1 - a) p + a (share of the twins' labels), a = m alpha / (1 + (m - 1) alpha), with
 *                    alpha of greatest leave-one-out likelihood over the table's twins
 *
 * Both start from the out-of-fold answer of the twins, the model's opinion before it saw them; rows of one
 * group, which are unlike in all else, from their own. Where equal rows do not have equal targets, rho and
 * alpha come out near 0 and nothing changes. */
#ifndef TAB_PREDICT_EXACT_COPIES_H
#define TAB_PREDICT_EXACT_COPIES_H

#include "services/inference/engine/predict/interval/interval.h"

typedef struct {
    double strength; /* rho or alpha; 0: twins say nothing more */
    /* Rows by what makes them twins, sorted by it: their content; or, of rows that are one unit, the level
     * of the column that says so (features/units.h), which new rows may have and be unlike in all else. */
    const uint64_t *key; /* (n) */
    const uint32_t *row; /* (n) positions in the problem's data; NULL: the data's own order */
    size_t n;
} tab_twins;

tab_twins tab_twins_fit(const tab_problem *p, const tab_stack *s);
/* The same by other keys (rows of the data); 0: a row of none. key is read as long as the twins are. false:
 * the arena is full. */
bool tab_twins_fit_keys(tab_arena *a, const tab_problem *p, const tab_stack *s, const uint64_t *key,
                        tab_twins *ret);
/* Corrects one answer: out (outputs) as tab_stack_predict gives it, scale as tab_interval_scale does (v
 * may be NULL for classification). key: of the query row. */
void tab_twins_apply(const tab_twins *t, const tab_problem *p, const tab_stack *s, const tab_interval *v,
                     uint64_t key, float *out, float *scale);
#endif
