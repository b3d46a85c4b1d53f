/* See fitted_parts.h: room for answers; fitted.c and regime_quality.c fill it. */
#include "services/inference/engine/predict/fitted_parts.h"

#include <assert.h>

#include "services/inference/engine/message.h"

void tab_check_quantiles(const double *quantile)
{
    for (size_t l = 1; l < TAB_LEVELS; l++)
        assert(!(quantile[l - 1] > quantile[l]));
}

/* Room for n results of the task; the caller checks whether the arena is full. */
Tabella__Results *tab_results_new(tab_arena *a, const tab_fitted *f, size_t n)
{
    Tabella__Results *r = tab_message(a, Tabella__Results, TABELLA__RESULTS__INIT);
    if (r == NULL)
        return NULL;
    r->n_row = n;
    r->row = tab_arena_new_of(a, uint32_t, n + 1);
    if (f->task == TAB_TASK_CLASSIFICATION) {
        r->n_label = n;
        r->label = tab_arena_new_of(a, uint32_t, n + 1);
        r->n_probabilities = n * f->classes;
        r->probabilities = tab_arena_new_of(a, double, n * f->classes + 1);
    } else if (f->task == TAB_TASK_REGRESSION) {
        r->n_value = r->n_std = n;
        r->value = tab_arena_new_of(a, double, n + 1);
        r->std = tab_arena_new_of(a, double, n + 1);
        r->n_quantiles = n * TAB_LEVELS;
        r->quantiles = tab_arena_new_of(a, double, n *TAB_LEVELS + 1);
    } else {
        r->n_anomaly_score = n;
        r->anomaly_score = tab_arena_new_of(a, double, n + 1);
    }
    return r;
}
