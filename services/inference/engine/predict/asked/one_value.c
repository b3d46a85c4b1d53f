/* See fitted_parts.h. A number that all asked rows have alike, where known rows have many: it may be the
 * question (at a price of 50), or what a form sets before the number is known (nothing paid back yet). Known
 * rows of that value cannot tell which: where it is set for all, those that keep it were chosen by what came
 * after. Answers stand, and are doubted by what the column tells (decision 0791).
 *
 * Numbers of one group, or of one time, are alike for a reason that the group or the time names: where a
 * column of words or keys is alike as well, and of rows that are later or of new groups, nothing is done. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"
#include "services/inference/engine/predict/follows.h"

/* LEAST: asked rows, and values of known rows. By hand. */
enum { LEAST = 20 };

/* Whether all asked rows have one number, *ret. */
static bool same(const tab_fitted *f, const double *x, double *ret)
{
    size_t n = 0;
    for (size_t r = 0; r < f->rows; r++) {
        if (!f->asked.open[r])
            continue;
        if (isnan(x[r]) || (n > 0 && x[r] != *ret)) // NOLINT: the very number
            return false;
        *ret = x[r], n++;
    }
    return n >= LEAST;
}

/* Whether all asked rows have one level, which not all known ones have. */
static bool same_level(const tab_fitted *f, const uint32_t *code)
{
    uint32_t level = TAB_NULL;
    bool other = false;
    for (size_t r = 0; r < f->rows; r++) {
        if (!f->asked.open[r])
            continue;
        if (code[r] == TAB_NULL || (level != TAB_NULL && code[r] != level))
            return false;
        level = code[r];
    }
    for (size_t r = 0; r < f->rows; r++)
        other = other || (!f->asked.open[r] && code[r] != level);
    return other;
}

/* Whether asked rows are of one kind that is named, or of another regime. */
static bool named(const tab_profile *p, const tab_fitted *f)
{
    if (f->asked.rows[TAB_REGIME_LATER] + f->asked.rows[TAB_REGIME_NEW_GROUP] > 0)
        return true;
    for (size_t c = 0; c < f->cols; c++)
        if (c != f->target && p->col[c].code != NULL && p->col[c].number == NULL &&
            same_level(f, p->col[c].code))
            return true;
    return false;
}

/* How much of what is told is told by a number that is `value` in all asked rows: of classes the share, of
 * numbers what their squared error grows by, which is more where value lies far off. False: memory. */
static bool told_by(const tab_fitted *f, const double *x, double value, double *ret)
{
    bool classes = f->task == TAB_TASK_CLASSIFICATION;
    double follows, sd, mean = 0, n = 0;
    if (!tab_follows(x, classes ? f->label : NULL, classes ? NULL : f->y, f->rows, f->classes, &follows, &sd))
        return false;
    for (size_t r = 0; r < f->rows; r++)
        if (!f->asked.open[r] && !isnan(x[r]))
            mean += (x[r] - mean) / ++n;
    double off = sd > 0 ? (value - mean) / sd : 0;
    *ret = classes ? follows : follows * follows * (1 + off * off);
    return true;
}

bool tab_one_value(const tab_profile *p, tab_fitted *f)
{
    if (f->asked.asked < LEAST || f->far == NULL || named(p, f))
        return true;
    for (size_t c = 0; c < f->cols; c++) {
        const tab_column_profile *own = &p->col[c];
        double value = 0, told;
        if (!f->column[c].used || own->number == NULL || own->type != TAB_NUMERIC || own->distinct < LEAST ||
            !same(f, own->number, &value) || value < f->column[c].least || value > f->column[c].most)
            continue;
        if (!told_by(f, own->number, value, &told))
            return false;
        for (size_t r = 0; r < f->rows; r++)
            if (f->asked.open[r])
                f->far[r] = f->task == TAB_TASK_CLASSIFICATION ? fmaxf(f->far[r], (float)told)
                                                               : f->far[r] + (float)told;
        const char *says = tab_arena_printf(
            f->arena,
            "`%.*s` is %.6g in all rows to predict: whether that is what it is in each, or what is written "
            "until it is known, cannot be told, so confidence is lower by what it tells",
            TAB_STR(own->column->name), value);
        if (says == NULL)
            return false;
        f->unlike = f->unlike == NULL ? says : tab_arena_printf(f->arena, "%s; %s", f->unlike, says);
        if (f->unlike == NULL)
            return false;
    }
    return true;
}
