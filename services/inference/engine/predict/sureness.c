/* See fitted.h: for telling whether the rows that an endpoint serves are answered as surely as those it
 * pins. */
#include <math.h>

#include "services/inference/engine/predict/fitted_parts.h"

double *tab_fitted_sureness(tab_arena *a, const tab_fitted *f, size_t *ret_n)
{
    size_t k = f->stack == NULL ? 0 : f->stack->outputs;
    double *sure = tab_arena_new_of(a, double, f->rows + 1);
    *ret_n = 0;
    if (sure == NULL || f->stack == NULL)
        return NULL;
    for (size_t i = 0; i < f->rows; i++) {
        if (f->problem.classification) {
            double most = -INFINITY;
            for (size_t c = 0; c < k; c++)
                most = fmax(most, (double)f->stack->oof[i * k + c]);
            sure[i] = exp(most);
        } else {
            /* as a new row's would be, which the folds' models answer together */
            sure[i] = f->interval->spread * (double)f->interval->oof_scale[i] * f->scale;
            if (!isnan(f->problem.y[i]))
                sure[i] *= f->interval->narrow;
        }
    }
    *ret_n = f->rows;
    return sure;
}
