/* In which regime a served row is asked, for fitted.c. Rows beyond the fitted range of times or numbers are
 * marked. Those beyond the times are answered by later.c, which knows what other numbers lose that move with
 * time; where the past is too short for that, and beyond a number's range, answers of numbers stay as they
 * are and their intervals widen as if the target might move by its own spread while the number, or time,
 * moves by its range, or as far as the straight line through both (decisions 0294, 0473). Classes are drawn
 * to their shares as far as they follow the number within its range: no fitted row says what lies beyond. */
#include <math.h>

#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/asked/hot_deck.h"
#include "services/inference/engine/predict/fitted_parts.h"
#include "services/inference/engine/predict/follows.h"

/* A number within a tenth of the range beyond its ends is no news; farther than FARTHEST ranges counts as
 * that. Chosen by hand, not measured. */
static const double MARGIN = 0.1, FARTHEST = 10;

/* How far x lies outside, by the column's range; 0 where it is inside or near. */
static double distance(const tab_fitted_column *c, double x, bool time)
{
    double span = c->most - c->least, off = x > c->most ? x - c->most : c->least - x;
    if (!(off > 0) || !(span > 0) || !isfinite(span))
        return 0;
    return off / span < (time ? 0 : MARGIN) ? 0 : fmin(off / span, FARTHEST);
}

double tab_beyond_range(double least, double most, double x)
{
    tab_fitted_column c = { .least = least, .most = most };
    return distance(&c, x, false);
}

bool tab_beyond_of(const tab_fitted *f, const double *x, double least, double most, double *ret)
{
    bool classes = f->task == TAB_TASK_CLASSIFICATION;
    double follows = 0, sd = 0;
    if (!tab_follows(x, classes ? f->label : NULL, classes ? NULL : f->y, f->rows, f->classes, &follows, &sd))
        return false;
    *ret = classes ? follows : sd > 0 ? fmax(1, follows * (most - least) / sd) : 1;
    return true;
}

bool tab_beyond_fit(const tab_profile *p, tab_fitted *f)
{
    bool ok = true;
    for (size_t c = 0; ok && c < f->cols; c++) {
        tab_fitted_column *own = &f->column[c];
        if (p->col[c].number != NULL && own->most > own->least)
            ok = tab_beyond_of(f, p->col[c].number, own->least, own->most, &own->beyond);
    }
    return ok;
}

/* What row r is answered by, `off` ranges beyond a column. */
static void doubt_row(const tab_fitted_column *c, double off, size_t r, tab_scoring *ret)
{
    if (ret->left != NULL)
        ret->left[r] = fminf(ret->left[r], (float)(1 - c->beyond));
    off *= c->beyond;
    ret->beyond[r] += (float)(off * off);
}

/* The sentence for a column. NULL: the arena is full. */
static char *words(tab_arena *a, const tab_fitted_column *c, bool time)
{
    if (time || c->type == TAB_DATETIME)
        return tab_arena_printf(a, "%.*s is outside the times seen in fitting", TAB_STR(c->address));
    return tab_arena_printf(a, "%.*s is outside the range seen in fitting (%.6g to %.6g)",
                            TAB_STR(c->address), c->least, c->most);
}

/* Rows of a group that no fitted row is of, where rows were kept apart by groups. */
static void mark_groups(const tab_fitted *f, const tab_data *d, uint32_t *regime)
{
    for (size_t k = 0; f->split.kind == TAB_SPLIT_GROUP && k < f->enc->n; k++)
        for (size_t r = 0; f->enc->f[k].source == f->split.column && d->code[k] != NULL && r < d->rows; r++)
            if (d->code[k][r] != TAB_NULL && d->code[k][r] >= f->enc->f[k].levels)
                regime[r] = TAB_REGIME_NEW_GROUP;
}

/* Rows of a level that no fitted row is of, where such rows were not judged and levels matter: their
 * regime, and what their squared errors grow by. False: the arena is full. */
static bool mark_levels(tab_arena *a, const tab_fitted *f, tab_scoring *ret, uint32_t *regime,
                        uint32_t *doubt)
{
    Tabella__Prediction *m = ret->m;
    for (size_t k = 0; k < f->enc->n; k++) {
        bool any = false;
        const uint32_t *code = ret->d->code[k];
        for (size_t r = 0; f->unknown[k] > 0 && r < ret->d->rows; r++) {
            if (code[r] == TAB_NULL || code[r] < f->enc->f[k].levels)
                continue;
            regime[r] = TAB_REGIME_NEW_GROUP;
            ret->beyond[r] = fmaxf(ret->beyond[r], f->unknown[k]);
            if (ret->left != NULL)
                ret->left[r] = fminf(ret->left[r], f->left[k]);
            if (doubt[r] == 0)
                doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
        }
        tab_str column = f->column[f->enc->f[k].source].address;
        if (any && (m->doubts[m->n_doubts++] =
                        tab_arena_printf(a, "%.*s has a value not seen in fitting", TAB_STR(column))) == NULL)
            return false;
    }
    return true;
}

/* One column's rows that lie beyond what was fitted: their regime, and how far they are doubted. True: there
 * is one that is to be doubted by this column. */
static bool read_column(const tab_fitted *f, size_t c, const double *number, tab_scoring *ret,
                        uint32_t *regime, uint32_t *doubt)
{
    bool any = false;
    for (size_t r = 0; r < ret->d->rows; r++) {
        double d = distance(&f->column[c], number[r], false);
        if (!(d > 0))
            continue;
        if (regime[r] == TAB_REGIME_ALIKE)
            regime[r] = TAB_REGIME_OUT_OF_RANGE;
        if (regime[r] != TAB_REGIME_LATER)
            doubt_row(&f->column[c], d, r, ret);
        if (doubt[r] == 0)
            doubt[r] = (uint32_t)ret->m->n_doubts + 1, any = true;
    }
    return any;
}

/* Rows after all labelled ones, by the column `time`, as read_column. */
static bool read_times(const tab_fitted *f, size_t time, const tab_values *values, tab_scoring *ret,
                       uint32_t *regime, uint32_t *doubt)
{
    const tab_clock *k = &f->clock;
    const double *number = k->s == NULL ? values[f->split.time].number : NULL;
    bool any = false;
    for (size_t r = 0; r < ret->d->rows; r++) {
        double d = 0;
        if (k->s != NULL)
            d = (tab_clock_when(k, values, r) - k->last) / (k->last - k->first);
        else if (number != NULL)
            d = distance(&f->column[f->split.time], number[r], true);
        if (!(d > 0))
            continue;
        regime[r] = TAB_REGIME_LATER;
        ret->later += f->later != NULL;
        if (f->later == NULL)
            doubt_row(&f->column[time], fmin(d, FARTHEST), r, ret);
        doubt[r] = (uint32_t)ret->m->n_doubts + 1, any = true;
    }
    return any;
}

bool tab_beyond_read(tab_arena *a, const tab_fitted *f, const tab_values *values, size_t rows,
                     tab_scoring *ret)
{
    Tabella__Prediction *m = ret->m;
    ret->beyond = tab_arena_new_of(a, float, rows + 1);
    uint32_t *doubt = tab_arena_new_of(a, uint32_t, rows + 1);
    uint32_t *regime = tab_arena_new_of(a, uint32_t, rows + 1);
    m->doubts = tab_arena_new_of(a, char *, f->cols + 2 * f->enc->n + 1);
    ret->left = f->task == TAB_TASK_CLASSIFICATION ? tab_arena_new_of(a, float, rows + 1) : NULL;
    for (size_t r = 0; ret->left != NULL && r < rows; r++)
        ret->left[r] = 1;
    if (tab_arena_full(a) || f->task == TAB_TASK_ANOMALY)
        return !tab_arena_full(a);
    mark_groups(f, ret->d, regime);
    if (!mark_levels(a, f, ret, regime, doubt) || !tab_hot_deck_mark(a, f, ret, doubt))
        return false;
    /* the times first: what other numbers lose that move with them is in what answers later rows */
    size_t time = f->clock.s != NULL ? f->clock.s->time[0] : f->split.time;
    if (time < f->cols && read_times(f, time, values, ret, regime, doubt) &&
        (m->doubts[m->n_doubts++] = words(a, &f->column[time], true)) == NULL)
        return false;
    for (size_t c = 0; c < f->cols; c++) {
        const tab_fitted_column *own = &f->column[c];
        if (c == time || !own->used || values[c].number == NULL || own->type == TAB_BOOLEAN ||
            !read_column(f, c, values[c].number, ret, regime, doubt))
            continue;
        if ((m->doubts[m->n_doubts++] = words(a, own, false)) == NULL)
            return false;
    }
    bool any = false;
    for (size_t r = 0; r < rows; r++)
        any = any || regime[r] != TAB_REGIME_ALIKE;
    if (any) {
        m->results->regime = regime;
        m->results->n_regime = rows;
    }
    if (m->n_doubts > 0) {
        m->results->doubt = doubt;
        m->results->n_doubt = rows;
    }
    return true;
}
