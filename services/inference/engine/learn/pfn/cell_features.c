/* See cell_features.h: what the network reads of a cell, for net.c. tools/pretrain computes the same features
 * when it trains. A cell is told by
 *
 *   0      5 tanh(z / 5), z the standardised value
 *   1      its mid-rank among the context's observed values, less 1/2
 *   2, 3   missing (or a level the context does not hold); a category
 *   4, 5   log(1 + equal values) / log(1 + n); log(1 + distinct values) / log(1 + n)
 *   6      1
 *   7..18  sin, cos of 2^k pi rank, k = 0..5
 *   19..23 zero
 *   24..47 sin of w z' then cos of w z' for 12 learned w, z' the squashed value of 0
 *
 * Ranks and counts are among the context's rows only: a query does not change what another reads. */
#include "services/inference/engine/learn/pfn/cell_features.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/learn/pfn/tensor_ops.h"

/* Mean, deviation, and the sorted values of one column of the context; x (n), NaN where missing. */
bool tab_pfn_stats_of(tab_arena *a, const float *x, size_t n, bool cat, tab_pfn_stats *s)
{
    *s = (tab_pfn_stats){ .cat = cat, .sorted = tab_arena_new_of(a, float, n + 1) };
    if (s->sorted == NULL)
        return false;
    double sum = 0.0, sq = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) {
            s->sorted[s->have++] = x[i];
            sum += (double)x[i];
        }
    /* two passes: the deviation is of values less their mean */
    double have = s->have > 0 ? (double)s->have : 1.0;
    s->mean = sum / have;
    for (size_t i = 0; i < s->have; i++) {
        double d = (double)s->sorted[i] - s->mean;
        sq += d * d;
    }
    s->sd = sqrt(sq / have);
    qsort(s->sorted, s->have, sizeof *s->sorted, tab_ascending_float);
    size_t distinct = 0;
    for (size_t i = 0; i < s->have; i++)
        distinct += i == 0 || s->sorted[i] != s->sorted[i - 1];
    s->ln = (float)log(1.0 + (double)n);
    s->distinct = (float)(log1p((double)distinct) / (double)s->ln);
    return true;
}

/* How many of the ascending v lie below x; equal: or are equal to it. */
static size_t count_below(const float *v, size_t n, float x, bool equal)
{
    size_t lo = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (v[lo + half] < x || (equal && v[lo + half] == x)) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* A level that the context does not hold counts as missing. */
void tab_pfn_cells(const tab_pfn *w, const tab_pfn_stats *s, const float *x, size_t n, float *out)
{
    float have = s->have > 0 ? (float)s->have : 1.0f;
    memset(out, 0, n * TAB_PFN_FEATURES * sizeof *out);
    for (size_t i = 0; i < n; i++, out += TAB_PFN_FEATURES) {
        bool known = !isnan(x[i]);
        float lo = 0.0f, hi = 0.0f, rank = 0.5f, z = 0.0f;
        /* how many values of the context are below the cell, and how many are not above it */
        if (known) {
            lo = (float)count_below(s->sorted, s->have, x[i], false);
            hi = (float)count_below(s->sorted, s->have, x[i], true);
            known = !s->cat || hi > lo;
        }
        if (known) {
            /* 1e-12 serves a constant column; 1e4 keeps the quotient within a float */
            double d = ((double)x[i] - s->mean) / (s->sd + 1e-12);
            z = (float)(d > 1e4 ? 1e4 : d < -1e4 ? -1e4 : d);
            rank = 0.5f * (lo + hi) / have;
        }
        /* 5 tanh(z / 5), by the exponential of the positive side */
        float e = expf(-0.4f * fabsf(z)), squashed = copysignf(5.0f * (1.0f - e) / (1.0f + e), z);
        out[0] = squashed;
        out[1] = rank - 0.5f;
        out[2] = known ? 0.0f : 1.0f;
        out[3] = s->cat ? 1.0f : 0.0f;
        out[4] = known ? log1pf(hi - lo) / s->ln : 0.0f;
        out[5] = s->distinct;
        out[6] = 1.0f;
        for (int k = 0; k < 6; k++)
            tab_pfn_sincos((float)M_PI * (float)(1 << k) * rank, &out[7 + 2 * k], &out[8 + 2 * k]);
        for (int k = 0; k < 12; k++)
            tab_pfn_sincos(w->freq[k] * squashed, &out[24 + k], &out[36 + k]);
    }
}

/* A numeric target as the network reads it. */
bool tab_pfn_targets(tab_arena *a, const float *z, size_t n, float *out)
{
    tab_pfn_stats s;
    if (!tab_pfn_stats_of(a, z, n, false, &s))
        return false;
    memset(out, 0, n * TAB_PFN_TARGET * sizeof *out);
    for (size_t i = 0; i < n; i++, out += TAB_PFN_TARGET) {
        /* the value, its rank, and waves of the rank */
        float lo = (float)count_below(s.sorted, n, z[i], false),
              hi = (float)count_below(s.sorted, n, z[i], true);
        float rank = 0.5f * (lo + hi) / (float)n;
        out[0] = z[i];
        out[1] = rank - 0.5f;
        for (int k = 0; k < 6; k++)
            tab_pfn_sincos((float)M_PI * (float)(1 << k) * rank, &out[2 + 2 * k], &out[3 + 2 * k]);
        out[14] = 1.0f;
    }
    return true;
}
