/* See clock.h; beyond.c asks. Parts are compared from the coarsest on, which is exact. How far apart two
 * times are is the weighted sum of their parts' differences, by weights fitted to the times that series/
 * read: off by a few days a month, which is nothing beside how far errors look ahead. */
#include "services/inference/engine/predict/clock.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/learn/linear/solve.h"

enum { PART_TEXT = 24 };

static double part_of(const tab_values *v, size_t r)
{
    char text[PART_TEXT], *end;
    if (v->number != NULL)
        return v->number[r];
    if (v->code == NULL || v->code[r] == TAB_NULL)
        return (double)NAN;
    tab_str level = v->level[v->code[r]];
    if (level.n == 0 || level.n >= sizeof text)
        return (double)NAN;
    memcpy(text, level.p, level.n);
    text[level.n] = '\0';
    double x = strtod(text, &end);
    return *end == '\0' ? x : (double)NAN;
}

/* The parts of row r; false where one is not known. */
static bool read_parts(const tab_clock *c, const tab_values *values, size_t r, double *x)
{
    bool known = c->parts > 0;
    for (size_t k = 0; k < c->parts; k++) {
        x[k] = part_of(&values[c->column[k]], r);
        known = known && !isnan(x[k]);
    }
    return known;
}

static bool is_after(const double *x, const double *last, size_t parts)
{
    for (size_t k = 0; k < parts; k++)
        if (x[k] < last[k] || x[k] > last[k])
            return x[k] > last[k];
    return false;
}

/* Sums over the fitted rows for the weights' normal equations. */
typedef struct {
    double n, when;
    double x[TAB_TIME_COLUMNS], xx[TAB_TIME_COLUMNS][TAB_TIME_COLUMNS], xw[TAB_TIME_COLUMNS];
} sums;

static void add_row(sums *s, const double *x, double when, size_t parts)
{
    s->n++;
    double dw = when - s->when, d[TAB_TIME_COLUMNS];
    s->when += dw / s->n;
    for (size_t k = 0; k < parts; k++) {
        d[k] = x[k] - s->x[k];
        s->x[k] += d[k] / s->n;
    }
    for (size_t k = 0; k < parts; k++) {
        s->xw[k] += d[k] * (when - s->when);
        for (size_t j = 0; j < parts; j++)
            s->xx[k][j] += d[k] * (x[j] - s->x[j]);
    }
}

tab_clock tab_clock_fit(const tab_profile *p, const tab_series *s)
{
    tab_clock c = { .parts = s->kind == TAB_TIME_PARTS ? s->times : 0 };
    tab_values values[TAB_TIME_COLUMNS];
    tab_clock own = { .parts = c.parts }; /* whose columns are those of `values` */
    sums all = { 0 };
    double first = INFINITY, last = -INFINITY, x[TAB_TIME_COLUMNS];
    for (size_t k = 0; k < c.parts; k++) {
        c.column[k] = s->time[k];
        own.column[k] = k;
        values[k] = tab_values_of(&p->col[s->time[k]]);
    }
    for (size_t r = 0; c.parts > 0 && r < p->table->rows; r++) {
        if (isnan(s->when[r]) || !read_parts(&own, values, r, x))
            continue;
        if (all.n == 0 || is_after(x, c.last, c.parts))
            memcpy(c.last, x, c.parts * sizeof *x);
        first = fmin(first, s->when[r]), last = fmax(last, s->when[r]);
        add_row(&all, x, s->when[r], c.parts);
    }
    double a[TAB_TIME_COLUMNS * TAB_TIME_COLUMNS];
    for (size_t k = 0; k < c.parts; k++) {
        c.weight[k] = all.xw[k];
        for (size_t j = 0; j < c.parts; j++)
            a[k * TAB_TIME_COLUMNS + j] = all.xx[k][j] + (k == j ? 1e-9 * all.n : 0);
    }
    c.span = last - first;
    if (!(c.span > 0))
        return (tab_clock){ 0 };
    tab_eliminate(a, TAB_TIME_COLUMNS, c.weight, c.parts);
    return c;
}

double tab_clock_ahead(const tab_clock *c, const tab_values *values, size_t r)
{
    double x[TAB_TIME_COLUMNS], far = 0;
    if (!read_parts(c, values, r, x) || !is_after(x, c->last, c->parts))
        return 0;
    for (size_t k = 0; k < c->parts; k++)
        far += c->weight[k] * (x[k] - c->last[k]);
    return isfinite(far) ? fmax(far / c->span, 1e-6) : 1e-6;
}
