/* See boost_slopes.h: leaves that are lines, not steps, for boost.c (Shi et al., Gradient Boosting with
 * Piece-Wise Linear Regression Trees, IJCAI 2019). A leaf of rows i with residuals r = y - F and readings z
 * of the numbers that its path splits, nearest split first, adds
 *
 *   v + eta b'(z - mean z),   b = (S + R)^-1 s,   S = sum (z - mean z)(z - mean z)',  s = sum r (z - mean z)
 *
 * where v is its constant. R is diagonal: a tenth of S's, and that of five rows. A row beyond the leaf's own
 * is answered as the nearest of them: lines that go on lose where numbers have tails (decision 0379). */
#include "services/inference/engine/learn/boost/boost_slopes.h"

#include <math.h>

#include "services/inference/engine/learn/linear/solve.h"

/* Leaves of fewer rows stay constant, as do numbers of fewer bins. Tried as they stand (decision 0379). */
enum { LEAST_ROWS = 20, LEAST_EDGES = 4 };
static const double SHARE = 0.1, ROWS = 5;

void tab_slope_numbers(const tab_encoder *enc, tab_slope_number *number)
{
    for (size_t i = 0; i < enc->n; i++) {
        const tab_feature *f = &enc->f[i];
        number[i] = (tab_slope_number){ .feature = (uint32_t)i };
        if (f->kind == TAB_FEATURE_NUMBER) /* the limits within which the encoder takes the mean */
            number[i].low = 2 * f->knot[0] - f->knot[TAB_KNOTS / 2],
            number[i].high = 2 * f->knot[TAB_KNOTS - 1] - f->knot[TAB_KNOTS / 2], number[i].mean = f->mean;
    }
}

/* The numbers that the path from a leaf up to the root splits, nearest first; how many. */
static size_t path_numbers(const tab_slope_fit *t, uint32_t root, uint32_t at, uint32_t *feature)
{
    const tab_grower *g = t->grow;
    size_t n = 0;
    while (at != root && n < TAB_SLOPES) {
        uint32_t parent = root; /* nodes of a tree stand together, children in pairs behind their parent */
        while (g->node[parent].feature < 0 || g->node[parent].left != at - (at - root + 1) % 2)
            parent++;
        uint32_t f = (uint32_t)g->node[parent].feature;
        bool apt = t->p->enc->f[f].kind == TAB_FEATURE_NUMBER && t->p->enc->f[f].edges >= LEAST_EDGES;
        for (size_t i = 0; i < n; i++)
            apt = apt && feature[i] != f;
        if (apt)
            feature[n++] = f;
        at = parent;
    }
    return n;
}

/* How far the leaf's rows reach, missing cells aside; at 0 where all are missing. */
static void reach(const tab_slope_fit *t, const uint32_t *order, uint32_t rows, size_t n,
                  const uint32_t *feature, tab_leaf_slopes *ret)
{
    for (size_t j = 0; j < n; j++) {
        float low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < rows; i++) {
            float x = t->p->data->x[feature[j]][t->row[order[i]]];
            float z = isnan(x) ? low : tab_slope_reading(&t->number[feature[j]], x);
            low = z < low ? z : low;
            high = !isnan(x) && z > high ? z : high;
        }
        ret->low[j] = low <= high ? low : 0;
        ret->high[j] = low <= high ? high : 0;
    }
}

void tab_slopes_fit(const tab_slope_fit *t, uint32_t root, const tab_grow_leaf *l, tab_leaf_slopes *ret)
{
    uint32_t feature[TAB_SLOPES];
    *ret = (tab_leaf_slopes){ 0 };
    size_t n = l->count < LEAST_ROWS ? 0 : path_numbers(t, root, l->node, feature);
    if (n == 0)
        return;
    /* sums over the leaf's rows, then about their means */
    const uint32_t *order = t->grow->order + l->at;
    double rows = (double)l->count, sum_r = 0, sum[TAB_SLOPES] = { 0 }, b[TAB_SLOPES] = { 0 };
    double a[TAB_SLOPES][TAB_SLOPES] = { 0 };
    reach(t, order, l->count, n, feature, ret);
    for (uint32_t i = 0; i < l->count; i++) {
        double z[TAB_SLOPES], r = (double)(t->y[order[i]] - t->margin[order[i]]);
        sum_r += r;
        for (size_t j = 0; j < n; j++) {
            float x = t->p->data->x[feature[j]][t->row[order[i]]];
            z[j] = (double)tab_slope_within(ret, j, tab_slope_reading(&t->number[feature[j]], x));
            sum[j] += z[j];
            b[j] += r * z[j];
            for (size_t k = 0; k <= j; k++)
                a[j][k] += z[j] * z[k];
        }
    }
    for (size_t j = 0; j < n; j++) {
        b[j] -= sum_r * sum[j] / rows;
        for (size_t k = 0; k <= j; k++)
            a[k][j] = a[j][k] -= sum[j] * sum[k] / rows;
    }
    for (size_t j = 0; j < n; j++)
        a[j][j] += (SHARE + ROWS / rows) * a[j][j] + 1e-6;
    tab_eliminate(&a[0][0], TAB_SLOPES, b, n);
    for (size_t j = 0; j < n; j++) {
        ret->number[j] = feature[j];
        ret->slope[j] = isfinite(b[j]) ? (float)(b[j] * t->eta) : 0;
        ret->mid[j] = (float)(sum[j] / rows);
    }
}
