/* See fitted_parts.h: rows that are asked are like known ones, but in other shares: all of one plant, say, or
 * all with a large x, whose rows err more.
 *
 * Known rows are weighed by the odds of being asked (odds.h). Intervals are calibrated on rows that are
 * weighed so. Probabilities take a temperature that is fitted on them, drawn to none by how few of them
 * there are as good as unweighed (decision 0541). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/asked/odds.h"
#include "services/inference/engine/predict/fitted_parts.h"

/* Rows as good as unweighed, of which fewer tell nothing. By hand. */
enum { FEWEST = 30 };

static bool known(const tab_fitted *f, size_t i)
{
    return f->task == TAB_TASK_REGRESSION ? !isnan(f->problem.y[i]) : f->problem.label[i] != TAB_NULL;
}

/* f->heat of the asked rows, and that of each fold's rows, by the others. False: memory. */
static bool fit_heat(tab_fitted *f)
{
    const tab_stack *s = f->stack;
    size_t k = s->outputs;
    double loss[TAB_FOLDS + 1][TAB_HEATS] = { { 0 } }, w[TAB_FOLDS + 1] = { 0 }, ww[TAB_FOLDS + 1] = { 0 };
    float *out = malloc((k + 1) * sizeof *out);
    for (size_t i = 0; out != NULL && i < f->data->rows; i++) {
        if (!known(f, i) || s->fold[i] >= s->folds)
            continue;
        double weight = (double)f->mix[i], own[TAB_HEATS];
        tab_heat_losses(s, f->problem.label[i], i, out, own);
        for (size_t g = 0; g <= s->folds; g++) {
            if (g == s->fold[i])
                continue;
            w[g] += weight, ww[g] += weight * weight;
            for (size_t h = 0; h < TAB_HEATS; h++)
                loss[g][h] += weight * own[h];
        }
    }
    for (size_t g = 0; g <= s->folds; g++)
        f->heat[g] = ww[g] > 0 ? tab_heat_of_asked(loss[g], w[g] / ww[g]) : 1;
    bool ok = out != NULL;
    free(out);
    return ok;
}

bool tab_asked_mix(const tab_engine *e, tab_fitted *f)
{
    if (f->asked.asked == 0 || f->asked.asked == f->rows || f->split.kind != TAB_SPLIT_RANDOM)
        return true;
    bool *asked = malloc(f->data->rows + 1);
    for (size_t i = 0; asked != NULL && i < f->data->rows; i++)
        asked[i] = !known(f, i);
    bool ok = asked != NULL && tab_asked_odds(e, f->arena, &f->problem, asked, FEWEST, &f->mix) &&
              (f->mix == NULL || f->task == TAB_TASK_REGRESSION || fit_heat(f));
    free(asked);
    return ok;
}
