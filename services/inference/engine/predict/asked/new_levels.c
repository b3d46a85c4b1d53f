/* See fitted_parts.h: what it matters that a served row is of a level that no fitted row has.
 *
 * Where rows drawn at random would hardly have one (the share of levels seen once tells: Good, Biometrika
 * 1953), the row is of another kind than those by which intervals were judged. Its level's own effect is
 * unknown: the squared error grows by the variance between levels, as the analysis of variance says it
 * (Searle, Casella & McCulloch, Variance Components, 1992; decision 0390).
 *
 * Probabilities are drawn to the classes' shares: of what the model tells of a row as much is left as a small
 * model tells of levels that were left out, beside rows left out at random; of few levels, of which hardly
 * any
 * can be left out, what the variance between them leaves of it (decision 0401). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* GROUPS: of fewer levels nothing is told of another; of numbers two tell (few_groups.c). RARE: the share of
 * rows alone at their level from which on new levels were among the rows judged. SURE: standard deviations by
 * which levels must differ beyond chance. MOST: sums of a feature. MANY: levels of one that can be left out;
 * TRIED: features that are, those that differ most. By hand. */
enum { GROUPS = 3, TWO = 2, MOST = 1 << 22, MANY = 20, TRIED = 2 };
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
 * judged. left: the error of numbers; 0: classes. *share: of the variance in all. */
static double growth(level_sums *s, size_t levels, double left, double *share)
{
    double alone = 0, squares = 0, total = 0;
    for (size_t l = 0; l < levels; l++) {
        s->used += s->count[l] > 0;
        alone += s->count[l] == 1;
        squares += s->count[l] * s->count[l];
    }
    double k = (double)s->used;
    if (s->used < (left > 0 ? TWO : GROUPS) || s->n <= k || alone > RARE * s->n)
        return 0;
    double ms = between(s, levels, &total) / (k - 1), within = fmax(0, total - ms * (k - 1)) / (s->n - k);
    if (ms <= within * (1 + SURE * sqrt(2 / (k - 1) + 2 / (s->n - k))))
        return 0;
    double rows = (s->n - squares / s->n) / (k - 1); /* of a level, in the mean */
    double variance = (ms - within) / rows;
    *share = total > 0 ? fmin(1, variance * s->n / total) : 0;
    return left > 0 ? tab_groups_reach(variance * (1 + 1 / k), left, k) : variance * (1 + 1 / k);
}

/* Feature j's figures. False: memory. */
static bool read_feature(const tab_fitted *f, size_t j, float *ret, double *share)
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
    *share = 0;
    *ret = ok ? (float)growth(&s, x->levels, f->problem.classification ? 0 : f->stack->loss, share) : 0;
    free(s.sum);
    free(s.count);
    return ok;
}

/* How much is told of a row of a new level of feature j, by rows whose levels were left out. False: memory or
 * cancelled. */
static bool leave_out(const tab_engine *e, const tab_profile *p, tab_fitted *f, size_t j)
{
    uint32_t *level = malloc((f->rows + 1) * sizeof *level);
    double lost, left = 1;
    for (size_t i = 0; level != NULL && i < f->rows; i++)
        level[f->data->row[i]] = f->data->code[j][i];
    bool ok = level != NULL && tab_known_of_new(e, p, &f->problem, level, &lost, &left);
    free(level);
    f->left[j] = (float)left;
    return ok;
}

/* The share of what the model tells that a new level leaves, by the share of the variance between levels. */
static float left_by_variance(const tab_stack *s, double share)
{
    double told = s->prior_loss > 0 ? 1 - s->loss / s->prior_loss : 0;
    return told > 0 ? (float)fmax(0, 1 - share / told) : 1;
}

bool tab_new_levels(const tab_engine *e, const tab_profile *p, bool served, tab_fitted *f)
{
    size_t n = f->enc->n;
    bool ok = true, *tried = tab_arena_new_of(f->arena, bool, n + 1);
    f->unknown = tab_arena_new_of(f->arena, float, n + 1);
    f->left = tab_arena_new_of(f->arena, float, n + 1);
    if (tab_arena_full(f->arena))
        return false;
    for (size_t j = 0; ok && j < n; j++) {
        const tab_feature *x = &f->enc->f[j];
        tab_type type = f->column[x->source].type;
        bool by_units = f->units.kind == TAB_UNITS_GROUPS && f->units.column == x->source;
        double share = 0;
        if (f->split.kind != TAB_SPLIT_GROUP && x->kind == TAB_FEATURE_CODE &&
            (type == TAB_CATEGORICAL || type == TAB_TEXT) && !by_units && x->levels <= f->data->rows / 2 &&
            x->levels * f->problem.outputs <= MOST)
            ok = read_feature(f, j, &f->unknown[j], &share);
        f->left[j] = left_by_variance(f->stack, share);
    }
    for (size_t k = 0; ok && served && f->problem.classification && k < TRIED; k++) {
        size_t best = n;
        for (size_t j = 0; j < n; j++)
            if (f->unknown[j] > 0 && f->enc->f[j].levels >= MANY && !tried[j] &&
                (best == n || f->unknown[j] > f->unknown[best]))
                best = j;
        if (best == n)
            break;
        tried[best] = true;
        ok = leave_out(e, p, f, best);
    }
    return ok;
}
