/* One sum or product, and what it says of a row (identities.c finds them, broken.c judges their rows). */
#include <math.h>

#include "services/inference/engine/suspects/identities.h"

bool tab_identity_adds(const tab_identity *d, size_t i)
{
    return d->sum || (d->added && i + 1 == d->n);
}

double tab_form_of(tab_form f, double x)
{
    switch (f) {
    case TAB_FORM_LESS:
        return 1 - x;
    case TAB_FORM_MORE:
        return 1 + x;
    case TAB_FORM_LESS_HUNDREDTHS:
        return 1 - x / 100;
    case TAB_FORM_MORE_HUNDREDTHS:
        return 1 + x / 100;
    case TAB_FORM_INVERSE:
        return 1 / x;
    default:
        return x;
    }
}

double tab_identity_made(const tab_identities *x, const tab_identity *d, size_t row, size_t with, double w)
{
    double v = d->sum ? 0 : d->k;
    for (size_t i = 0; i < d->n; i++) {
        double a = d->of[i] == with ? w : x->num[d->of[i]][row];
        if (tab_identity_adds(d, i))
            v += d->sign[i] * a;
        else
            v *= tab_form_of(d->form[i], a);
    }
    return v;
}

bool tab_identity_equal(const tab_identity *d, double y, double made)
{
    return fabs(y - made) <= d->unit + 1e-9 * fabs(made);
}

int tab_identity_holds(const tab_identities *x, const tab_identity *d, size_t row)
{
    double y = x->num[d->y][row], v = tab_identity_made(x, d, row, SIZE_MAX, 0);
    if (!isfinite(y) || !isfinite(v))
        return -1;
    return tab_identity_equal(d, y, v);
}
