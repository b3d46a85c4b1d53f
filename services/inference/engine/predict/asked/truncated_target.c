/* Targets that are missing because they lie beyond a limit (truncated.h), for fitted.c: of runs, where rows
 * are asked as the others lie but for that. */
#include <math.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* Whether most asked rows lie beyond a number that the known ones have: it tells why they are asked. */
static bool beyond_a_column(const tab_fitted *f)
{
    size_t asked = 0, far = 0;
    for (size_t r = 0; f->far != NULL && r < f->rows; r++)
        asked += isnan(f->y[r]), far += isnan(f->y[r]) && f->far[r] > 0;
    return 2 * far > asked;
}

bool tab_truncated_fit(tab_fitted *f)
{
    const tab_problem *p = &f->problem;
    size_t rows = f->rows, n = 0, k = 0;
    if (f->task != TAB_TASK_REGRESSION || f->split.kind != TAB_SPLIT_RANDOM || f->ahead != NULL ||
        beyond_a_column(f))
        return true;
    double *y = tab_arena_new_of(f->arena, double, rows + 1),
           *m = tab_arena_new_of(f->arena, double, rows + 1);
    double *asked = tab_arena_new_of(f->arena, double, rows + 1);
    double *score = tab_arena_new_of(f->arena, double, rows + 1);
    bool *known = tab_arena_new_of(f->arena, bool, rows + 1);
    bool *missing = tab_arena_new_of(f->arena, bool, rows + 1);
    if (tab_arena_full(f->arena))
        return false;
    for (size_t i = 0; i < rows; i++) {
        double at = tab_target_value(f, (double)f->stack->oof[i]);
        missing[i] = isnan(p->y[i]), known[i] = !missing[i];
        if (missing[i])
            asked[k++] = at;
        else
            y[n] = tab_target_value(f, (double)p->y[i]), m[n++] = at;
    }
    if (!tab_truncation_find(y, m, n, asked, k, f->whole, score, &f->truncated))
        return false;
    if (f->truncated.deviation > 0 && tab_truncation_by_column(f->data, known, missing) >= f->truncated.gain)
        f->truncated.deviation = 0;
    if (!(f->truncated.deviation > 0))
        return true;
    f->truncated_score = tab_arena_new_of(f->arena, double, rows + 1);
    for (size_t i = 0, j = 0; f->truncated_score != NULL && i < rows; i++)
        f->truncated_score[i] = isnan(p->y[i]) ? score[j++] : 0;
    f->cut_off = tab_arena_printf(
        f->arena,
        "the known values end abruptly at %.6g, and the rows to predict lie %s it: their values seem to be "
        "missing because they are %s this limit, so they are predicted there",
        f->truncated.end, f->truncated.above ? "towards and above" : "towards and below",
        f->truncated.above ? "above" : "below");
    return f->truncated_score != NULL && f->cut_off != NULL;
}

void tab_truncated_write(const tab_fitted *f, Tabella__Results *r, size_t i, size_t encoded)
{
    double quantile[TAB_LEVELS], mean, deviation, score = f->truncated_score[encoded];
    for (size_t l = 0; l < TAB_LEVELS; l++)
        quantile[l] = tab_truncation_quantile(&f->truncated, score, tab_quantile_level[l]);
    tab_truncation_moments(&f->truncated, score, &mean, &deviation);
    tab_write_number(f, r, i, mean, deviation, quantile);
}
