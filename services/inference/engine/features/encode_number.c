/* How a number is read (encode.h): its scale, its bins and its knots, from the values of its present cells.
 * encode.c calls it for each numeric feature, impute/ for those it adds.
 *
 *   x      (value - median) / robust scale, limited to +-1e6
 *   bins   edges between distinct values while they fit, else so that bins hold about equal counts;
 *          a fifth of the values at most: the scan over bins is most of a small table's time
 *   knots  quantiles of x, from which normal scores (van der Waerden scores) are read by straight
 *          lines */
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"
#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/features/normal.h"

enum {
    SORT_SAMPLE = 200 * 1000
}; /* values that quantiles are read from: 200,000 put a quantile within a thousandth */

/* The limit keeps squares of scaled values within a float. */
float tab_number_scaled(const tab_feature *f, double v)
{
    if (isnan(v))
        return NAN;
    double x = (v - f->shift) / f->scale;
    return (float)(x > 1e6 ? 1e6 : x < -1e6 ? -1e6 : x);
}

/* The bin of a scaled value. */
uint8_t tab_number_bin(const tab_feature *f, float x)
{
    if (isnan(x))
        return TAB_BIN_MISSING;
    /* the count of edges <= x, by halving: how often is known before, and nothing is guessed */
    const float *edge = f->edge;
    size_t n = f->edges;
    for (size_t half; n > 1; n -= half) {
        half = n / 2;
        edge += half & -(size_t)(edge[half - 1] <= x);
    }
    return (uint8_t)(edge - f->edge + (n == 1 && *edge <= x));
}

/* Bin edges between distinct values while they fit, else so that bins hold about equal counts. x (n)
 * sorted; most: bins at most. */
static void fit_edges(tab_feature *f, const float *x, size_t n, size_t most)
{
    size_t distinct = n > 0;
    for (size_t i = 1; i < n; i++)
        distinct += x[i] != x[i - 1];
    f->edges = 0;
    /* `next` is the position at which the next bin is full */
    double want = (double)n / (double)most, next = want;
    for (size_t i = 1; i < n; i++) {
        if (x[i] == x[i - 1])
            continue;
        if (distinct > most && (double)i < next)
            continue;
        /* Halves are added, since a sum could overflow. Where two values are neighbouring floats, the edge is
         * the upper. */
        float mid = x[i - 1] / 2 + x[i] / 2;
        f->edge[f->edges++] = mid > x[i - 1] ? mid : x[i];
        if (f->edges == most - 1)
            break;
        while (next <= (double)i)
            next += want;
    }
    f->bins = f->edges + 1;
}

/* The scale is the interquartile range over 1.349, which is the standard deviation of a normal sample. Where
 * half of the values are equal it is 0: then the range of the inner 98 %, then of all. Bins: a fifth of the
 * values, at least 32 (decision 0050). skewed: the third or fourth moment is far from a normal's (0 and 3);
 * limits of 0.5 and 4, and of 1.8 and 12, move log-loss by 0.003 and RMSE by 0.005 of tuned XGBoost's
 * (decision 0307). */
bool tab_number_fit(tab_feature *f, double *value, size_t n)
{
    if (n == 0)
        return true;
    float *x = malloc(n * sizeof *x);
    if (x == NULL)
        return false;
    if (n > SORT_SAMPLE) { /* by value hash: neither the order of rows nor a period in it matters */
        uint64_t cut = UINT64_MAX / n * SORT_SAMPLE;
        size_t kept = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t bits;
            memcpy(&bits, &value[i], 8);
            if (tab_mix2(bits, i) < cut)
                value[kept++] = value[i];
        }
        n = kept > 0 ? kept : n;
    }
    qsort(value, n, sizeof *value, tab_ascending_double);
    f->shift = value[n / 2];
    double scale = (value[(n - 1) * 3 / 4] / 2 - value[(n - 1) / 4] / 2) * 2 / 1.349;
    if (!(scale > 0))
        scale = (value[n - 1 - n / 100] / 2 - value[n / 100] / 2) / 2;
    if (!(scale > 0))
        scale = value[n - 1] / 4 - value[0] / 4;
    f->scale = scale > 0 && isfinite(scale) ? scale : 1;
    for (size_t i = 0; i < n; i++)
        x[i] = tab_number_scaled(f, value[i]);
    size_t most = n / 5 < 32 ? 32 : n / 5 > TAB_BINS ? TAB_BINS : n / 5;
    qsort(x, n, sizeof *x, tab_ascending_float); /* already in order but for the limits */
    fit_edges(f, x, n, most);
    for (size_t k = 0; k < TAB_KNOTS; k++)
        f->knot[k] = x[(size_t)(((double)k + 0.5) / TAB_KNOTS * (double)n)];
    /* Mean and moments are of values within the outer knots and as far again from the median, so that an
     * outlier does not make them. */
    float low = 2 * f->knot[0] - f->knot[TAB_KNOTS / 2];
    float high = 2 * f->knot[TAB_KNOTS - 1] - f->knot[TAB_KNOTS / 2];
    double m = 0, s2 = 0, s3 = 0, s4 = 0;
    for (size_t i = 0; i < n; i++)
        m += (double)(x[i] < low ? low : x[i] > high ? high : x[i]);
    m /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = (double)(x[i] < low ? low : x[i] > high ? high : x[i]) - m, d2 = d * d;
        s2 += d2, s3 += d2 * d, s4 += d2 * d2;
    }
    s2 /= (double)n, s3 /= (double)n, s4 /= (double)n;
    f->mean = (float)m;
    f->sd = s2 > 1e-12 ? (float)sqrt(s2) : 1;
    f->skewed = f->bins > 8 && s2 > 1e-12 && (fabs(s3) > 0.9 * s2 * sqrt(s2) || s4 > 6 * s2 * s2);
    free(x);
    return true;
}

/* Normal scores of the knots. */
void tab_number_scores(float *score)
{
    for (size_t i = 0; i < TAB_KNOTS; i++)
        score[i] = (float)tab_normal_quantile(((double)i + 0.5) / TAB_KNOTS);
}

/* Beyond the outer knots scores grow with the logarithm, so that an outlier stays one. */
float tab_number_score(const tab_feature *f, const float *score, float x)
{
    const float *k = f->knot;
    if (x <= k[0] || x >= k[TAB_KNOTS - 1]) { /* beyond the outer knots: slowly outward */
        bool low = x <= k[0];
        float edge = low ? k[0] : k[TAB_KNOTS - 1];
        float unit = k[TAB_KNOTS - 1] - k[0];
        float over = unit > 0 ? fabsf(x - edge) / unit : 0;
        float s = score[TAB_KNOTS - 1] + logf(1 + over);
        return low ? -s : s;
    }
    size_t lo = 0, hi = TAB_KNOTS - 1; /* the run of knots equal to x takes the middle of its scores */
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (k[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    /* a value that fills several knots stands at the middle of their scores */
    if (k[lo] == x) {
        size_t first = lo;
        while (first > 0 && k[first - 1] == x)
            first--;
        if (first < lo)
            return (score[first] + score[lo]) / 2;
    }
    return score[lo] + (score[hi] - score[lo]) * (x - k[lo]) / (k[hi] - k[lo]);
}

/* The inverse of tab_number_score, for answers that are found as scores (imputation). */
float tab_number_of_score(const tab_feature *f, const float *score, float z)
{
    const float *k = f->knot;
    const float top = score[TAB_KNOTS - 1];
    /* the inverse of the logarithm beyond the outer knots; at most 1 beyond, a step of e - 1 ranges */
    if (!(fabsf(z) < top))
        return z < 0 ? k[0] - (k[TAB_KNOTS - 1] - k[0]) * (expf(fminf(-z, top + 1) - top) - 1)
                     : k[TAB_KNOTS - 1] + (k[TAB_KNOTS - 1] - k[0]) * (expf(fminf(z, top + 1) - top) - 1);
    size_t lo = 0;
    while (lo + 2 < TAB_KNOTS && score[lo + 1] <= z)
        lo++;
    return k[lo] + (k[lo + 1] - k[lo]) * (z - score[lo]) / (score[lo + 1] - score[lo]);
}
