/* See fitted_parts.h: rows of groups that nobody knows, told by few that are known.
 *
 * Residuals of groups that were left out say how far a new one may lie, but few groups say it badly, and
 * their rows, however many, say it no better. A residual is its group's shift and its own noise,
 *
 *   u = shift + noise,   shift ~ sqrt(B) t(K - 1),   noise ~ sqrt(W) normal
 *
 * where the analysis of variance tells B, by K groups, and W (Searle, Casella & McCulloch, Variance
 * Components, 1992). The quantiles of that sum, beside those of a normal number with the residuals' own mean
 * square, are by what intervals of new rows are wider. Of one group nothing can be left out: its B is what
 * columns of public tables have, whose ratio to W has the quantiles 0.012, 0.043 and 0.27 at 0.1, 0.5 and
 * 0.9; an inverse chi-square of one degree of freedom has these (decision 0585). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* CELLS: of the half circle that Student's distribution is summed over. MANY: groups that are as good as
 * all. USUAL: see above. AT: the quantile of which one figure is told. */
enum { CELLS = 500, MANY = 200 };
static const double USUAL = 0.04, QUARTER = 1.5707963267948966, AT = 0.9;

/* How likely shift + noise is below q: with t = sqrt(df) tan(angle) Student's density is cos^(df - 1). */
static double below(double q, double between, double within, double df)
{
    assert(between >= 0 && within > 0 && df >= 1);
    double all = 0, under = 0;
    for (int i = -CELLS; i < CELLS; i++) {
        double angle = ((double)i + 0.5) * QUARTER / CELLS, weight = pow(cos(angle), df - 1);
        double off = q - sqrt(between * df) * tan(angle);
        all += weight;
        under += weight * 0.5 * erfc(-off / sqrt(2 * within));
    }
    return under / all;
}

/* The quantile of shift + noise beside that of a normal number of variance 1. */
static double beside_normal(double tau, double between, double within, double df)
{
    double low[2] = { 0, 0 }, high[2] = { 10, 1000 * sqrt(between * df + within) };
    for (size_t k = 0; k < 2; k++)
        for (int i = 0; i < 60; i++) {
            double middle = (low[k] + high[k]) / 2;
            bool under = (k == 0 ? 0.5 * erfc(-middle / sqrt(2)) : below(middle, between, within, df)) < tau;
            *(under ? &low[k] : &high[k]) = middle;
        }
    return low[1] / low[0];
}

double tab_groups_reach(double between, double within, double groups)
{
    double at = within > 0 && between > 0 && groups < MANY
                    ? beside_normal(AT, between, within, fmax(1, groups - 1))
                    : 0;
    return fmax(between, at * at - within);
}

double tab_groups_usual(double within)
{
    return tab_groups_reach(USUAL * within, within, 1);
}

void tab_widen_quantiles(const double *wider, double *quantile)
{
    for (size_t l = 0; l < TAB_LEVELS; l++) {
        double own = quantile[l], by = own * wider[l], level = tab_quantile_level[l];
        quantile[l] = level < 0.5 ? fmin(own, by) : level > 0.5 ? fmax(own, by) : own;
    }
    for (size_t l = TAB_LEVELS / 2; l > 0; l--) /* outwards from the median */
        quantile[l - 1] = fmin(quantile[l - 1], quantile[l]);
    for (size_t l = TAB_LEVELS / 2 + 1; l < TAB_LEVELS; l++)
        quantile[l] = fmax(quantile[l], quantile[l - 1]);
}

/* Sums of one group's residuals, in units of their scale. */
typedef struct {
    double n, mean, square;
} own_sum;

/* What n sums (groups with rows; all rows) say of B and W. */
static void variances(const own_sum *v, size_t n, double groups, double rows, double *between, double *within)
{
    double squares = 0, mean = 0, about = 0;
    *within = 0;
    for (size_t k = 0; k < n; k++) {
        *within += v[k].square / (rows - groups);
        squares += v[k].n * v[k].n;
        mean += v[k].n * v[k].mean / rows;
    }
    for (size_t k = 0; k < n; k++)
        about += v[k].n * (v[k].mean - mean) * (v[k].mean - mean);
    *between = USUAL * *within;
    if (groups > 1) {
        double each = (rows - squares / rows) / (groups - 1); /* rows of a group, in the mean */
        *between = fmax(0, (about / (groups - 1) - *within) / each);
    }
}

/* The sums of each group's rows; of classes their counts alone. member (rows of the table). */
static void add_rows(const tab_problem *p, const tab_stack *s, const tab_interval *v, const uint32_t *member,
                     own_sum *sum)
{
    for (size_t i = 0; i < p->data->rows; i++) {
        uint32_t group = member[p->data->row[i]];
        bool open = p->classification ? p->label[i] == TAB_NULL : isnan(p->y[i]);
        if (open || group == TAB_NULL)
            continue;
        own_sum *own = &sum[group];
        double u = v == NULL ? 0 : (double)(p->y[i] - s->oof[i]) / (double)v->oof_scale[i], d = u - own->mean;
        own->mean += d / ++own->n;
        own->square += d * (u - own->mean);
    }
}

bool tab_groups_widen(const tab_problem *p, const tab_stack *s, const uint32_t *member, tab_interval *v,
                      size_t *known)
{
    size_t n = 0;
    double groups = 0, rows = 0, square = 0, between, within;
    for (size_t r = 0; r < p->data->rows; r++)
        n = member[r] != TAB_NULL && member[r] >= n ? member[r] + 1u : n;
    own_sum *sum = calloc(n + 1, sizeof *sum);
    if (sum == NULL)
        return false;
    add_rows(p, s, v, member, sum);
    for (size_t k = 0; k < n; k++) {
        groups += sum[k].n > 0;
        rows += sum[k].n;
        square += sum[k].square + sum[k].n * sum[k].mean * sum[k].mean;
    }
    *known = (size_t)groups;
    if (v != NULL && rows > groups && groups > 0 && groups < MANY && square > 0) {
        variances(sum, n, groups, rows, &between, &within);
        for (size_t l = 0; l < TAB_LEVELS && within > 0; l++) {
            double tau = fabs(tab_quantile_level[l] - 0.5) + 0.5;
            if (tau > 0.5)
                v->wider[l] =
                    fmax(1, beside_normal(tau, between, within, fmax(1, groups - 1)) / sqrt(square / rows));
        }
        tab_widen_quantiles(v->wider, v->quantile);
        v->spread *= v->wider[TAB_LEVELS - 2]; /* what widens by it keeps its share */
    }
    free(sum);
    return true;
}

/* Of rows that will be served those of known groups are as they were judged, and the others wider. */
static bool served_groups(const tab_profile *p, tab_fitted *f)
{
    size_t known = 0;
    if (f->split.kind != TAB_SPLIT_GROUP || f->split.column >= f->cols || f->interval == NULL)
        return true;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    uint32_t *member = a == NULL ? NULL : tab_groups_of(a, &p->col[f->split.column], f->rows, true);
    tab_interval own = *f->interval;
    if (member == NULL) /* it groups nothing */
        return a != NULL && !tab_arena_full(a);
    if (!tab_groups_widen(&f->problem, f->stack, member, &own, &known))
        return false;
    memcpy(f->wider, own.wider, sizeof f->wider);
    return true;
}

bool tab_few_groups(const tab_profile *p, bool served, tab_fitted *f)
{
    size_t known = 0;
    if (served && f->asked.member == NULL)
        return served_groups(p, f);
    if (f->asked.member == NULL || f->split.kind != TAB_SPLIT_GROUP || f->split.column != f->asked.group)
        return true;
    if (!tab_groups_widen(&f->problem, f->stack, f->asked.member, f->interval, &known))
        return false;
    f->alone = known == 1;
    return true;
}
