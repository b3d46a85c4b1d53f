/* What makes a column personal data besides its models' answer: check digits (decision 0489), and addresses of
 * mail and telephone numbers that stand within texts (decision 0492). */
#include <math.h>

#include "services/inference/engine/profile/roles/stages.h"

/* cells/identity.h says how many times likelier a column's values are where it is of a kind; Bayes' rule
 * multiplies the kind's role by it and scales. Books, goods and banks check their numbers alike (a Portuguese
 * tax number is an ISBN without its zero): what speaks for them multiplies every other role, so that where both
 * hold the models decide. */
void tab_hear_identity(const tab_staged *c, float *p)
{
    static const uint8_t role[TAB_IDENTITY_OTHER] = {
        [TAB_IDENTITY_PERSON] = TAB_ROLE_NATIONAL_ID,
        [TAB_IDENTITY_TAX] = TAB_ROLE_TAX_ID,
        [TAB_IDENTITY_PASSPORT] = TAB_ROLE_PASSPORT,
        [TAB_IDENTITY_LICENCE] = TAB_ROLE_DRIVER_LICENSE,
    };
    /* Digits that repeat or follow a form of their own are no draws: the best ratio counts for no more than
     * MOST_OF, the columns that were looked at and of which none passed a family by accident. LEAST: what the
     * models give a role at least, as in tab_restrict_roles. */
    static const double MOST_OF = 3227, LEAST = 1e-3;
    const double *proof = c->features.identity;
    double by[TAB_ROLES], sum = 0, most = 0;
    for (int k = 0; k < TAB_IDENTITY_KINDS; k++)
        most = fmax(most, proof[k]);
    if (most <= 0)
        return;
    double over = fmax(0, most - log(MOST_OF)); /* taken off all, so that they stay as far apart */
    for (int r = 0; r < TAB_ROLES; r++)
        by[r] = exp(fmax(0, proof[TAB_IDENTITY_OTHER]) - over);
    for (int k = 0; k < TAB_IDENTITY_OTHER; k++)
        if (proof[k] > 0) {
            by[role[k]] = exp(proof[k] - over);
            p[role[k]] = fmaxf(p[role[k]], (float)LEAST);
        }
    for (int r = 0; r < TAB_ROLES; r++)
        sum += by[r] * (double)p[r];
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = (float)(by[r] * (double)p[r] / sum);
}

/* A test of CONTACT passes a cell that holds none once in a thousand (as TAB_CHECK_EMAIL), so that of n such
 * cells k pass with the tail of Poisson's law. What is left is the probability that the cells do hold some. */
static double holds_contacts(const tab_features *f)
{
    static const double CHANCE = 1e-3;
    double mean = CHANCE * (double)f->values, term = exp(-mean), below = 0;
    for (double j = 0; j < f->contacts; j++) {
        below += term;
        term *= mean / (j + 1);
    }
    return f->contacts > 0 ? fmin(1, below) : 0;
}

double tab_personal(const tab_staged *c, const float *p)
{
    double sum = 0;
    for (int r = 0; r < TAB_ROLES; r++)
        sum += tab_role_pii[r] != 0 ? (double)p[r] : 0;
    return fmin(1, fmax(sum, holds_contacts(&c->features)));
}
