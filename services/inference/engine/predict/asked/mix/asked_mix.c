/* See fitted_parts.h: rows that are asked are like known ones, but in other shares: all of one plant, say, or
 * all with a large x, whose rows err more.
 *
 * Known rows are weighed by the odds of being asked (odds.h). Intervals are calibrated on rows that are
 * weighed so. Probabilities take a temperature that is fitted on them, drawn to none by how few of them
 * there are as good as unweighed (decision 0541). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/asked/mix/label_shift.h"
#include "services/inference/engine/predict/asked/mix/odds.h"
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

/* Classes that may come in other shares: f->moved. False: the arena is full. */
static bool fit_shares(tab_fitted *f, const bool *asked)
{
    double moved[TAB_LABEL_SHIFTS] = { 0 };
    size_t k = f->stack->outputs;
    bool may = false;
    if (!tab_label_shift(&f->problem, f->stack, asked, moved, &may))
        return false;
    if (!may)
        return true;
    f->moved = tab_arena_new_of(f->arena, float, k + 1);
    for (size_t c = 0; f->moved != NULL && c < k; c++)
        f->moved[c] = (float)moved[c];
    const char *says = tab_arena_printf(
        f->arena,
        "rows to predict may be otherwise in the shares of their classes alone, or in what tells the "
        "classes: where that makes a difference, confidence is lower");
    f->unlike =
        f->unlike == NULL || says == NULL ? says : tab_arena_printf(f->arena, "%s; %s", f->unlike, says);
    return f->moved != NULL && f->unlike != NULL;
}

void tab_asked_shares(const tab_fitted *f, float *out)
{
    double p[TAB_LABEL_SHIFTS], q[TAB_LABEL_SHIFTS], all = 0, most[2] = { 0 };
    if (f->moved == NULL)
        return;
    for (size_t k = 0; k < f->stack->outputs; k++) {
        p[k] = exp((double)out[k]);
        all += q[k] = p[k] * exp((double)f->moved[k]);
    }
    for (size_t k = 0; k < f->stack->outputs; k++) {
        q[k] = (p[k] + q[k] / all) / 2;
        most[0] = fmax(most[0], p[k]), most[1] = fmax(most[1], q[k]);
    }
    for (size_t k = 0; most[1] < most[0] && k < f->stack->outputs; k++)
        out[k] = (float)log(q[k] + 1e-12);
}

bool tab_asked_mix(const tab_engine *e, tab_fitted *f)
{
    if (f->asked.asked == 0 || f->asked.asked == f->rows || f->split.kind != TAB_SPLIT_RANDOM)
        return true;
    bool *asked = malloc(f->data->rows + 1), classes = f->task == TAB_TASK_CLASSIFICATION;
    for (size_t i = 0; asked != NULL && i < f->data->rows; i++)
        asked[i] = !known(f, i);
    bool ok = asked != NULL && (!classes || fit_shares(f, asked)) &&
              tab_asked_odds(e, f->arena, &f->problem, asked, FEWEST, &f->mix) &&
              (f->mix == NULL || !classes || fit_heat(f));
    free(asked);
    return ok;
}
