/* See label_shift.h; asked_mix.c asks. With q_k the share of class k among the asked rows, p_k among the
 * known and P(k | x) what the stack says, the likelihood of the asked rows is that of the mixture
 *
 *     sum over asked x of log(sum_k P(k | x) q_k / p_k)
 *
 * which is 0 at q = p and greatest where EM ends; twice of it is chi-square with as many degrees of freedom
 * as there are classes but one. That features come in one mixture of their classes' distributions (label
 * shift: Lipton, Wang & Smola, ICML 2018) is held against every feature. */
#include "services/inference/engine/predict/asked/mix/label_shift.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/predict/asked/mix/odds.h"

/* LEAST: known rows of each class, and asked rows. STEPS: of EM. By hand. */
enum { LEAST = 20, STEPS = 200 };
/* BEYOND: what twice the likelihood is over its expectation, in its deviations. WORTH: the logarithm
 * of the ratio by which a share moves, at least. FEWEST: the least share that a
 * class is given. By hand. */
static const double BEYOND = 5, WORTH = 0.2, FEWEST = 1e-3;

/* The shares of the known rows; false: too few of a class. */
static bool known_shares(const tab_problem *p, size_t classes, double *share)
{
    double all = 0;
    memset(share, 0, classes * sizeof *share);
    for (size_t i = 0; i < p->data->rows; i++)
        if (p->label[i] != TAB_NULL)
            share[p->label[i]]++, all++;
    for (size_t k = 0; k < classes; k++) {
        if (share[k] < LEAST)
            return false;
        share[k] /= all;
    }
    return true;
}

/* One step: q from the asked rows' classes by q. Twice the likelihood over that of the known shares. */
static double step(const tab_problem *p, const tab_stack *s, const bool *asked, const double *known,
                   double *q)
{
    size_t classes = s->outputs;
    double sum[TAB_LABEL_SHIFTS] = { 0 }, likelihood = 0, n = 0, all = 0;
    for (size_t i = 0; i < p->data->rows; i++) {
        double own[TAB_LABEL_SHIFTS], total = 0;
        if (!asked[i])
            continue;
        for (size_t k = 0; k < classes; k++)
            total += own[k] = exp((double)s->oof[i * classes + k]) * q[k] / known[k];
        assert(total > 0); /* probabilities sum to one, and shares are at least FEWEST */
        for (size_t k = 0; k < classes; k++)
            sum[k] += own[k] / total;
        likelihood += 2 * log(total), n++;
    }
    for (size_t k = 0; k < classes; k++)
        all += q[k] = fmax(FEWEST, sum[k] / n);
    for (size_t k = 0; k < classes; k++)
        q[k] /= all;
    return likelihood;
}

bool tab_label_shift(const tab_problem *p, const tab_stack *s, const bool *asked,
                     double moved[TAB_LABEL_SHIFTS], bool *may)
{
    size_t classes = s->outputs, open = 0;
    double known[TAB_LABEL_SHIFTS], q[TAB_LABEL_SHIFTS], likelihood = 0, most = 0;
    *may = false;
    for (size_t i = 0; i < p->data->rows; i++)
        open += asked[i];
    if (classes < 2 || classes > TAB_LABEL_SHIFTS || open < LEAST || !known_shares(p, classes, known))
        return true;
    memcpy(q, known, classes * sizeof *q);
    for (size_t k = 0; k < STEPS; k++)
        likelihood = step(p, s, asked, known, q);
    for (size_t k = 0; k < classes; k++) {
        moved[k] = log(q[k] / known[k]);
        most = fmax(most, fabs(moved[k]));
    }
    double degrees = (double)(classes - 1);
    if (likelihood < degrees + BEYOND * sqrt(2 * degrees) || most < WORTH)
        return true;
    float *own = malloc((p->data->rows + 1) * sizeof *own);
    for (size_t i = 0; own != NULL && i < p->data->rows; i++)
        own[i] = p->label[i] == TAB_NULL ? 1 : (float)exp(moved[p->label[i]]);
    *may = own != NULL && tab_asked_weighed_alike(p, asked, own);
    bool ok = own != NULL;
    free(own);
    return ok;
}
