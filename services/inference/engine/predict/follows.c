/* See follows.h. Sums are about the means, so that large numbers of small spread lose no digits. */
#include "services/inference/engine/predict/follows.h"

#include <math.h>
#include <stdlib.h>

#include "common/table/table.h"

static bool is_pair(const double *x, const uint32_t *label, const float *y, size_t i)
{
    return !isnan(x[i]) && (y != NULL ? !isnan(y[i]) : label[i] != TAB_NULL);
}

bool tab_follows(const double *x, const uint32_t *label, const float *y, size_t n, size_t classes,
                 double *ret, double *ret_sd)
{
    double pairs = 0, mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0, between = 0;
    double *sum = calloc(2 * classes + 1, sizeof *sum), *count = sum == NULL ? NULL : sum + classes;
    if (sum == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        if (is_pair(x, label, y, i)) {
            mean_x += (x[i] - mean_x) / ++pairs;
            mean_y += y != NULL ? ((double)y[i] - mean_y) / pairs : 0;
        }
    for (size_t i = 0; i < n; i++) {
        if (!is_pair(x, label, y, i))
            continue;
        double dx = x[i] - mean_x, dy = y != NULL ? (double)y[i] - mean_y : 0;
        xx += dx * dx, yy += dy * dy, xy += dx * dy;
        if (y == NULL)
            sum[label[i]] += dx, count[label[i]]++;
    }
    for (size_t k = 0; k < classes; k++)
        between += count[k] > 0 ? sum[k] * sum[k] / count[k] : 0;
    free(sum);
    *ret_sd = xx > 0 ? sqrt(xx / pairs) : 0;
    if (!(xx > 0))
        *ret = 0;
    else if (y == NULL)
        *ret = sqrt(fmin(1, between / xx));
    else
        *ret = yy > 0 ? fmin(1, fabs(xy) / sqrt(xx * yy)) : 0;
    return true;
}
