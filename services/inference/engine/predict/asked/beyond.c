/* In which regime a served row is asked, for fitted.c. Rows beyond the fitted range of times or numbers are
 * marked. Those beyond the times are answered by later.c, which knows what other numbers lose that move with
 * time; where the past is too short for that, and beyond a number's range, answers of numbers stay as they
 * are and their intervals widen as if the target might move by its own spread while the number, or time,
 * moves by its range, or as far as the straight line through both, or through the end that it leaves by where
 * that is steeper (decisions 0294, 0473, 0653). Classes are drawn
 * to their shares as far as they follow the number within its range: no fitted row says what lies beyond. */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/predict/asked/hot_deck.h"
#include "services/inference/engine/predict/fitted_parts.h"
#include "services/inference/engine/predict/follows.h"

/* A number within a tenth of the range beyond its ends is no news; farther than FARTHEST ranges counts as
 * that. Chosen by hand, not measured. */
static const double MARGIN = 0.1, FARTHEST = 10;
/* LEAST_BEND: rows of an outer third that tell of a bend, SURE: standard errors. By hand. */
enum { LEAST_BEND = 10 };
static const double SURE = 2;

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

/* The slope of the line through the rows from lo to hi, less SURE of its standard errors, and *slope itself.
 * */
static double sure_slope(const tab_fitted *f, const double *x, double lo, double hi, double *slope)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0, rows = 0;
    for (size_t i = 0; i < f->rows; i++) {
        if (!(x[i] >= lo && x[i] <= hi) || isnan(f->y[i]))
            continue;
        double dx = x[i] - mean_x, dy = (double)f->y[i] - mean_y;
        rows++;
        mean_x += dx / rows, mean_y += dy / rows;
        xx += dx * (x[i] - mean_x), xy += dx * ((double)f->y[i] - mean_y);
        yy += dy * ((double)f->y[i] - mean_y);
    }
    *slope = xx > 0 ? fabs(xy / xx) : 0;
    return xx > 0 && rows > 2 ? *slope - SURE * sqrt(fmax(0, yy - xy * xy / xx) / (rows - 2) / xx) : 0;
}

/* Where the target bends it moves on as at the end that it leaves by: the slope of the outer third of the
 * rows, where it is surely steeper than all have it. ret: [0] below, [1] above. False: memory. */
static bool bends(const tab_fitted *f, const double *x, double range, double ret[2])
{
    double *v = malloc((f->rows + 1) * sizeof *v), slope;
    size_t n = 0;
    if (v == NULL)
        return false;
    for (size_t r = 0; r < f->rows; r++)
        if (!isnan(x[r]) && !isnan(f->y[r]))
            v[n++] = x[r];
    qsort(v, n, sizeof *v, tab_ascending_double);
    for (size_t side = 0; n >= 3 * LEAST_BEND && side < 2; side++) {
        double lo = side == 0 ? v[0] : v[n - 1 - n / 3], hi = side == 0 ? v[n / 3] : v[n - 1];
        if (sure_slope(f, x, lo, hi, &slope) * range > ret[side])
            ret[side] = slope * range;
    }
    free(v);
    return true;
}

bool tab_beyond_of(const tab_fitted *f, const double *x, double least, double most, double ret[2])
{
    bool classes = f->task == TAB_TASK_CLASSIFICATION;
    double follows = 0, sd = 0;
    if (!tab_follows(x, classes ? f->label : NULL, classes ? NULL : f->y, f->rows, f->classes, &follows, &sd))
        return false;
    ret[0] = ret[1] = classes ? follows : sd > 0 ? fmax(1, follows * (most - least) / sd) : 1;
    return classes || bends(f, x, most - least, ret);
}

bool tab_beyond_fit(const tab_profile *p, tab_fitted *f)
{
    bool ok = true;
    for (size_t c = 0; ok && c < f->cols; c++) {
        tab_fitted_column *own = &f->column[c];
        tab_values values = tab_values_of(&p->col[c]);
        const double *number;
        ok = tab_numbers_read(f->arena, own->levels, &values, f->rows, &number);
        if (ok && number != NULL && own->most > own->least)
            ok = tab_beyond_of(f, number, own->least, own->most, own->beyond);
    }
    return ok;
}

float tab_beyond_classes(double unknown, double off)
{
    return (float)(1 - pow(1 - unknown, 1 + off));
}

/* What row r is answered by, `off` ranges beyond a column, above it or below. */
static void doubt_row(const tab_fitted_column *c, double off, bool above, size_t r, tab_scoring *ret)
{
    if (ret->left != NULL)
        ret->left[r] = fminf(ret->left[r], 1 - tab_beyond_classes(c->beyond[above], off));
    off *= c->beyond[above];
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

/* Rows with another word than the one that all fitted rows have: nothing is known of how these differ.
 * False: the arena is full. */
static bool mark_words(tab_arena *a, const tab_fitted *f, const tab_values *values, tab_scoring *ret,
                       uint32_t *regime, uint32_t *doubt)
{
    Tabella__Prediction *m = ret->m;
    bool number = f->task == TAB_TASK_REGRESSION;
    double usual = number ? tab_groups_usual(f->stack->loss) : 0;
    for (size_t c = 0; c < f->cols; c++) {
        const tab_fitted_column *own = &f->column[c];
        const tab_values *v = &values[c];
        bool any = false;
        for (size_t r = 0; own->only.n > 0 && v->code != NULL && r < ret->d->rows; r++) {
            if (v->code[r] == TAB_NULL || tab_str_eq(v->level[v->code[r]], own->only))
                continue;
            regime[r] = TAB_REGIME_NEW_GROUP;
            ret->beyond[r] = fmaxf(ret->beyond[r], (float)usual);
            if (doubt[r] == 0)
                doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
        }
        if (any &&
            (m->doubts[m->n_doubts++] = tab_arena_printf(
                 a,
                 "%.*s has one value in all rows seen in fitting and another one here: how they differ "
                 "is not known",
                 TAB_STR(own->address))) == NULL)
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
        if (regime[r] != TAB_REGIME_LATER && ret->side[r] == 0)
            doubt_row(&f->column[c], d, number[r] > f->column[c].most, r, ret);
        if (doubt[r] == 0)
            doubt[r] = (uint32_t)ret->m->n_doubts + 1, any = true;
    }
    return any;
}

/* Rows after all labelled ones, or before them, by the column `time`, as read_column. */
static bool read_times(const tab_fitted *f, size_t time, const tab_values *values, tab_scoring *ret,
                       uint32_t *regime, uint32_t *doubt)
{
    const tab_clock *k = &f->clock;
    const double *number = k->s == NULL ? values[f->split.time].number : NULL;
    bool any = false;
    for (size_t r = 0; r < ret->d->rows; r++) {
        double d = 0, before = 0;
        if (k->s != NULL) {
            double when = tab_clock_when(k, values, r);
            d = (when - k->last) / (k->last - k->first);
            before = (k->first - when) / (k->last - k->first);
        } else if (number != NULL) {
            d = distance(&f->column[f->split.time], number[r], true);
        }
        if (!(d > 0) && !(before > 0))
            continue;
        size_t side = d > 0 ? TAB_LATER : TAB_EARLIER;
        if (side == TAB_LATER)
            regime[r] = TAB_REGIME_LATER;
        if (f->later[side] != NULL)
            ret->side[r] = (uint8_t)(side + 1), ret->later[side]++;
        else if (side == TAB_LATER || ret->left == NULL) /* classes of before are as those of the first */
            doubt_row(&f->column[time], fmin(fmax(d, before), FARTHEST), d > 0, r, ret);
        doubt[r] = (uint32_t)ret->m->n_doubts + 1, any = true;
    }
    return any;
}

/* Rows outside the fitted times of a series that no fitted row is of. False: the arena is full. */
static bool mark_series(tab_arena *a, const tab_fitted *f, const tab_values *values, tab_scoring *ret,
                        uint32_t *doubt)
{
    Tabella__Prediction *m = ret->m;
    bool any = false;
    for (size_t r = 0; f->fresh != NULL && r < ret->d->rows; r++)
        if (ret->side[r] > 0 && tab_clock_series(&f->clock, values, r) == TAB_NULL)
            doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
    if (!any)
        return true;
    m->doubts[m->n_doubts] = tab_arena_printf(
        a, "no row seen in fitting is of this series (%.*s), so it is predicted as a new group",
        TAB_STR(f->column[f->clock.s->key[0]].address));
    return m->doubts[m->n_doubts++] != NULL;
}

bool tab_beyond_read(tab_arena *a, const tab_fitted *f, const tab_values *values, size_t rows,
                     tab_scoring *ret)
{
    Tabella__Prediction *m = ret->m;
    ret->beyond = tab_arena_new_of(a, float, rows + 1);
    uint32_t *doubt = tab_arena_new_of(a, uint32_t, rows + 1);
    uint32_t *regime = tab_arena_new_of(a, uint32_t, rows + 1);
    m->doubts = tab_arena_new_of(a, char *, 2 * f->cols + 2 * f->enc->n + f->pairs + 1);
    ret->left = f->task == TAB_TASK_CLASSIFICATION ? tab_arena_new_of(a, float, rows + 1) : NULL;
    ret->side = tab_arena_new_of(a, uint8_t, rows + 1);
    for (size_t r = 0; ret->left != NULL && r < rows; r++)
        ret->left[r] = 1;
    if (tab_arena_full(a) || f->task == TAB_TASK_ANOMALY)
        return !tab_arena_full(a);
    mark_groups(f, ret->d, regime);
    if (!mark_levels(a, f, ret, regime, doubt) || !mark_words(a, f, values, ret, regime, doubt) ||
        !tab_new_pairs_mark(a, f, ret, regime, doubt) || !tab_hot_deck_mark(a, f, ret, doubt))
        return false;
    /* the times first: what other numbers lose that move with them is in what answers later rows */
    size_t time = f->clock.s != NULL ? f->clock.s->time[0] : f->split.time;
    if (time < f->cols && read_times(f, time, values, ret, regime, doubt) &&
        (m->doubts[m->n_doubts++] = words(a, &f->column[time], true)) == NULL)
        return false;
    for (size_t c = 0; c < f->cols; c++) {
        const tab_fitted_column *own = &f->column[c];
        const double *number;
        if (!tab_numbers_read(a, own->levels, &values[c], rows, &number))
            return false;
        if (c == time || !own->used || number == NULL || own->type == TAB_BOOLEAN ||
            !read_column(f, c, number, ret, regime, doubt))
            continue;
        if ((m->doubts[m->n_doubts++] = words(a, own, false)) == NULL)
            return false;
    }
    if (!mark_series(a, f, values, ret, doubt))
        return false;
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
