#include "services/inference/engine/sketch/distinct.h"

#include <math.h>
#include <stddef.h>

/* Ertl 2017, algorithm 6: m^2 / (2 ln 2 (m sigma(C_0/m) + sum C_k 2^-k + m tau(1 - C_(q+1)/m) 2^-q)). */
enum { Q = 64 - TAB_DISTINCT_BITS };

static double sigma(double x)
{
    double y = 1, z = x, before;
    if (x >= 1)
        return INFINITY;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z > before);
    return z;
}

static double tau(double x)
{
    double y = 1, z = 1 - x, before;
    if (x <= 0 || x >= 1)
        return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z < before);
    return z / 3;
}

double tab_distinct_estimate(const tab_distinct *d)
{
    const double m = TAB_DISTINCT_REGISTERS;
    double count[Q + 2] = { 0 };
    for (size_t i = 0; i < TAB_DISTINCT_REGISTERS; i++)
        count[d->rank[i]]++;
    double z = m * tau(1 - count[Q + 1] / m);
    for (size_t k = Q; k >= 1; k--)
        z = 0.5 * (z + count[k]);
    z += m * sigma(count[0] / m);
    return m * m / (2 * log(2) * z);
}
