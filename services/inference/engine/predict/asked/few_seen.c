/* See fitted_parts.h: rows that are asked of levels of which hardly another row is known, a client seen once.
 *
 * Intervals are judged on rows most of whose levels have many others. A level seen once tells of itself what
 * one row can; how much more such rows err is seen on labelled rows that have no more than one other of their
 * level. They stand for the asked ones, and a little worse: some have none. Classes take the temperature that
 * these rows have (decision 0542). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* LEVELS: of fewer, none is seen once but by chance. FEWEST: labelled rows with hardly another. SURE:
 * standard errors by which they must err more. By hand. */
enum { LEVELS = 20, FEWEST = 20 };
static const double SURE = 2.58;
/* How likely it is beforehand that classes of such rows are to be doubted. By hand. */
static const double DOUBTED = 0.5;

typedef struct {
    double n, mean, square;
} squares;

static void add(squares *s, double v)
{
    double d = v - s->mean;
    s->mean += d / ++s->n;
    s->square += d * (v - s->mean);
}

/* What the squared error of a row with at most one other of its level is above that of all, each counted as
 * often as intervals count it: 0, not beyond chance. count (levels): labelled rows. */
static double more(const tab_fitted *f, const uint32_t *code, size_t levels, const uint32_t *count)
{
    squares few = { 0 }, rest = { 0 };
    double all = 0, weights = 0;
    for (size_t i = 0; i < f->data->rows; i++) {
        if (isnan(f->problem.y[i]) || code[i] >= levels)
            continue;
        double off = (double)(f->problem.y[i] - f->stack->oof[i]);
        double w = f->mix != NULL ? (double)f->mix[i] : 1;
        add(count[code[i]] <= 2 ? &few : &rest, off * off);
        all += w * off * off, weights += w;
    }
    if (few.n < FEWEST || rest.n < FEWEST)
        return 0;
    double error = sqrt(few.square / few.n / few.n + rest.square / rest.n / rest.n);
    return few.mean - rest.mean > SURE * error ? fmax(0, few.mean - all / weights) : 0;
}

/* The temperature of rows with at most one other of their level. False: memory. */
static bool heat_of(const tab_fitted *f, const uint32_t *code, size_t levels, const uint32_t *count,
                    double *ret)
{
    float *scratch = malloc((f->stack->outputs + 1) * sizeof *scratch);
    double loss[TAB_HEATS] = { 0 }, own[TAB_HEATS], n = 0;
    for (size_t i = 0; scratch != NULL && i < f->data->rows; i++) {
        if (f->problem.label[i] == TAB_NULL || code[i] >= levels || count[code[i]] > 2)
            continue;
        tab_heat_losses(f->stack, f->problem.label[i], i, scratch, own);
        for (size_t h = 0; h < TAB_HEATS; h++)
            loss[h] += own[h];
        n++;
    }
    *ret = n < FEWEST ? 0 : fmax(1, tab_heat_expected(loss, 1, DOUBTED, 0));
    bool ok = scratch != NULL;
    free(scratch);
    return ok;
}

static bool known(const tab_fitted *f, size_t i)
{
    return f->task == TAB_TASK_REGRESSION ? !isnan(f->problem.y[i]) : f->problem.label[i] != TAB_NULL;
}

bool tab_few_seen(tab_fitted *f)
{
    if (f->task == TAB_TASK_ANOMALY || f->asked.asked == 0 || f->split.kind != TAB_SPLIT_RANDOM)
        return true;
    f->few = tab_arena_new_of(f->arena, float, f->rows + 1);
    bool ok = f->few != NULL;
    for (size_t j = 0; ok && j < f->enc->n; j++) {
        const tab_feature *x = &f->enc->f[j];
        const uint32_t *code = f->data->code[j];
        if (x->kind != TAB_FEATURE_CODE || x->levels < LEVELS)
            continue;
        uint32_t *count = calloc(x->levels + 1, sizeof *count);
        ok = count != NULL;
        for (size_t i = 0; ok && i < f->data->rows; i++)
            if (code[i] < x->levels && known(f, i))
                count[code[i]]++;
        double beyond = 0;
        if (ok && f->task == TAB_TASK_REGRESSION)
            beyond = more(f, code, x->levels, count);
        else if (ok)
            ok = heat_of(f, code, x->levels, count, &beyond);
        for (size_t i = 0; beyond > 0 && i < f->data->rows; i++)
            if (!known(f, i) && code[i] < x->levels && count[code[i]] <= 1)
                f->few[f->data->row[i]] = fmaxf(f->few[f->data->row[i]], (float)beyond);
        free(count);
    }
    return ok;
}
