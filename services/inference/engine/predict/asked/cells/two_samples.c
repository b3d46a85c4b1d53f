/* See two_samples.h. */
#include "services/inference/engine/predict/asked/cells/two_samples.h"

#include <assert.h>
#include <math.h>

double tab_two_samples(const double *a, size_t n, const double *b, size_t m, double by, double more)
{
    double most = 0;
    assert(n > 0 && m > 0 && by > 0);
    for (size_t i = 0, j = 0; i < n || j < m;) {
        double at = j == m || (i < n && a[i] <= b[j] * by + more) ? a[i] : b[j] * by + more;
        while (i < n && a[i] <= at)
            i++;
        while (j < m && b[j] * by + more <= at)
            j++;
        most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return most;
}

double tab_two_samples_errors(const double *a, size_t n, const double *b, size_t m, double by, double more)
{
    double k = (double)n * (double)m / ((double)n + (double)m);
    return tab_two_samples(a, n, b, m, by, more) * sqrt(k);
}
