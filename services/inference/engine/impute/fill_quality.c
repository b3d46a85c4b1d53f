/* See fill_quality.h. fill_column.c grades its out-of-fold answers, serve_impute.c those of its models. */
#include "services/inference/engine/impute/fill_quality.h"

#include <math.h>

/* A larger share of cells beyond the fences is the column's shape; chosen by hand, not measured. */
static const double EXCEPTIONS = 0.02;

/* Order statistic at a share of the way. */
static double at_share(const double *sorted, size_t n, double share)
{
    return sorted[(size_t)(share * (double)(n - 1) + 0.5)];
}

/* A column that is one value mostly has no width in its middle half: its middle 90 % are taken, then that
 * value alone. */
void tab_fences(const double *sorted, size_t n, double widths, double *lo, double *hi)
{
    double low = at_share(sorted, n, 0.25), high = at_share(sorted, n, 0.75);
    size_t beyond = 0;
    if (!(high > low))
        low = at_share(sorted, n, 0.05), high = at_share(sorted, n, 0.95);
    double width = widths * (high - low);
    double least = low - width, most = high + width;
    for (size_t i = 0; i < n; i++)
        beyond += sorted[i] < least || sorted[i] > most;
    bool few = n >= 5 && (beyond <= 1 || (double)beyond <= EXCEPTIONS * (double)n);
    *lo = few && least > sorted[0] ? least : sorted[0];
    *hi = few && most < sorted[n - 1] ? most : sorted[n - 1];
}

static double within(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* A mean gain in its own standard errors. One is asked for (the one-standard-error rule: Breiman et al.,
 * Classification and Regression Trees, 1984). */
static double in_errors(double sum, double square, size_t n)
{
    double mean = sum / (double)n, var = square / (double)n - mean * mean;
    double error = n > 1 ? sqrt(fmax(var, 0) / (double)(n - 1)) : 0;
    return !(mean > 0) || n < 2 ? 0 : error > 1e-9 * mean ? mean / error : 1e9;
}

tab_fill_quality tab_fill_quality_numbers(const double *truth, const double *answer, const double *sorted,
                                          size_t n)
{
    tab_fill_quality g = { .metric = "r2", .score = (double)NAN, .baseline = (double)NAN };
    double lo, hi, mean = 0, all = 0, plain = 0, own = 0, gain = 0, square = 0;
    if (n == 0)
        return g;
    tab_fences(sorted, n, TAB_FENCE_GRADED, &lo, &hi);
    double unit = fmax(fabs(lo), fabs(hi)), median = tab_lower_median(sorted, n);
    unit = unit > 0 ? unit : 1; /* squares of x / unit stay finite */
    median = within(median, lo, hi) / unit;
    for (size_t i = 0; i < n; i++)
        mean += within(truth[i], lo, hi) / unit / (double)n;
    for (size_t i = 0; i < n; i++) {
        double t = within(truth[i], lo, hi) / unit, d = within(answer[i], lo, hi) / unit - t;
        double won = (t - mean) * (t - mean) - d * d;
        all += (t - mean) * (t - mean);
        plain += (t - median) * (t - median);
        own += d * d;
        gain += won, square += won * won;
    }
    g.gain = own < plain ? in_errors(gain, square, n) : 0;
    g.better = g.gain > 1;
    g.baseline = all > 0 ? 1 - plain / all : 1;
    g.score = all > 0 ? 1 - own / all : 1;
    return g;
}

tab_fill_quality tab_fill_quality_classes(const uint32_t *truth, const uint32_t *answer, size_t n,
                                          uint32_t commonest)
{
    tab_fill_quality g = { .metric = "accuracy", .score = (double)NAN, .baseline = (double)NAN };
    double hits = 0, plain = 0, square = 0;
    if (n == 0)
        return g;
    for (size_t i = 0; i < n; i++) {
        double won = (double)(answer[i] == truth[i]) - (double)(commonest == truth[i]);
        hits += answer[i] == truth[i];
        plain += commonest == truth[i];
        square += won * won;
    }
    g.gain = in_errors(hits - plain, square, n);
    g.better = g.gain > 1;
    g.baseline = plain / (double)n;
    g.score = hits / (double)n;
    return g;
}
