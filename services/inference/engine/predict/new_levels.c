/* See fitted_parts.h: what it matters that a served row is of a level that no fitted row has.
 *
 * Where rows drawn at random would hardly have one (the share of levels seen once tells: Good, Biometrika
 * 1953), the row is of another kind than those by which intervals were judged. Its level's own effect is
 * unknown: the squared error grows by the variance between levels, as the analysis of variance says it
 * (Searle, Casella & McCulloch, Variance Components, 1992; decision 0390). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* GROUPS: of fewer levels nothing is told of another. RARE: the share of rows alone at their level from
 * which on new levels were among the rows judged. SURE: standard deviations by which levels must differ
 * beyond chance. MOST: sums of a feature. By hand. */
enum { GROUPS = 3, MOST = 1 << 22 };
static const double RARE = 0.05, SURE = 3;

/* Sums of one feature's levels, of the target or of each class. */
typedef struct {
    size_t outs, used; /* used: levels with labelled rows */
    double *sum;       /* (levels, outs) */
    double *count;     /* (levels) */
    double n, square;  /* labelled rows; their targets' squares */
} level_sums;

static void add_row(const tab_problem *p, size_t row, uint32_t level, level_sums *s)
{
    if (p->classification ? p->label[row] == TAB_NULL : isnan(p->y[row]))
        return;
    double y = p->classification ? 1 : (double)p->y[row];
    s->sum[level * s->outs + (p->classification ? p->label[row] : 0)] += y;
    s->square += y * y;
    s->count[level]++;
    s->n++;
}

/* The squared sums of each level by its rows, less those of all: the squares between levels. total: the
 * squares in all. */
static double between(level_sums *s, size_t levels, double *total)
{
    double of_levels = 0, of_all = 0;
    for (size_t o = 0; o < s->outs; o++) {
        double all = 0;
        for (size_t l = 0; l < levels; l++) {
            double sum = s->sum[l * s->outs + o];
            all += sum;
            of_levels += s->count[l] > 0 ? sum * sum / s->count[l] : 0;
        }
        of_all += all * all / s->n;
    }
    *total = s->square - of_all;
    return of_levels - of_all;
}

/* What the squared error of a row of a new level grows by; 0: levels do not differ, or new ones were
 * judged. */
static double growth(level_sums *s, size_t levels)
{
    double alone = 0, squares = 0, total = 0;
    for (size_t l = 0; l < levels; l++) {
        s->used += s->count[l] > 0;
        alone += s->count[l] == 1;
        squares += s->count[l] * s->count[l];
    }
    double k = (double)s->used;
    if (s->used < GROUPS || s->n <= k || alone > RARE * s->n)
        return 0;
    double ms = between(s, levels, &total) / (k - 1), within = fmax(0, total - ms * (k - 1)) / (s->n - k);
    if (ms <= within * (1 + SURE * sqrt(2 / (k - 1) + 2 / (s->n - k))))
        return 0;
    double rows = (s->n - squares / s->n) / (k - 1); /* of a level, in the mean */
    return (ms - within) / rows * (1 + 1 / k);
}

/* Feature j's figure. False: memory. */
static bool read_feature(const tab_fitted *f, size_t j, float *ret)
{
    const tab_feature *x = &f->enc->f[j];
    const uint32_t *code = f->data->code[j];
    level_sums s = { .outs = f->problem.outputs };
    s.sum = calloc(x->levels * s.outs + 1, sizeof *s.sum);
    s.count = calloc(x->levels + 1, sizeof *s.count);
    bool ok = s.sum != NULL && s.count != NULL;
    for (size_t r = 0; ok && r < f->data->rows; r++)
        if (code[r] < x->levels)
            add_row(&f->problem, r, code[r], &s);
    *ret = ok ? (float)growth(&s, x->levels) : 0;
    free(s.sum);
    free(s.count);
    return ok;
}

bool tab_new_levels(tab_fitted *f)
{
    f->unknown = tab_arena_new_of(f->arena, float, f->enc->n + 1);
    bool ok = f->unknown != NULL;
    for (size_t j = 0; ok && j < f->enc->n && f->split.kind != TAB_SPLIT_GROUP; j++) {
        const tab_feature *x = &f->enc->f[j];
        tab_type type = f->column[x->source].type;
        bool by_units = f->units.kind == TAB_UNITS_GROUPS && f->units.column == x->source;
        if (x->kind == TAB_FEATURE_CODE && (type == TAB_CATEGORICAL || type == TAB_TEXT) && !by_units &&
            x->levels <= f->data->rows / 2 && x->levels * f->problem.outputs <= MOST)
            ok = read_feature(f, j, &f->unknown[j]);
    }
    return ok;
}
