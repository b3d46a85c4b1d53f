/* Draws by counter: a hash of where a draw stands and of its row (Salmon et al. 2011, "Parallel random
 * numbers: as easy as 1, 2, 3"), and the distributions made of it. */
#include <assert.h>
#include <math.h>

#include "services/inference/engine/generate/plan.h"

/* Two rounds of the finalizer of splitmix64 (Steele et al. 2014), key and counter mixed between. */
uint64_t generate_hash(uint64_t key, uint64_t row)
{
    uint64_t z = key + row * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    z = (z ^ (key << 7 | key >> 57)) * UINT64_C(0xd6e8feb86659fd93);
    return z ^ (z >> 32);
}

uint64_t generate_key(uint64_t key, tab_str name, uint64_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a: names are few and short */
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ (unsigned char)name.p[i]) * UINT64_C(0x100000001b3);
    return generate_hash(key ^ h, n + 1);
}

/* Wichura's PPND7 (AS 241, 1988): about seven digits. */
double generate_quantile(double u)
{
    double q = u - 0.5, r, x;
    assert(u > 0 && u < 1);
    if (fabs(q) <= 0.425) {
        r = 0.180625 - q * q;
        return q * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
    }
    r = sqrt(-log(q < 0 ? u : 1 - u));
    if (r <= 5) {
        r -= 1.6;
        x = (((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777) /
            ((0.12021132975 * r + 0.7370016425) * r + 1.0);
    } else {
        r -= 5;
        x = (((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115) /
            ((0.012258202635 * r + 0.24197894225) * r + 1.0);
    }
    return q < 0 ? -x : x;
}

/* Inversion; large means by the normal with its third moment (Cornish & Fisher 1938). */
double generate_poisson(uint64_t key, uint64_t row, double mean)
{
    double u = generate_unit(key, row);
    if (!(mean > 0))
        return 0;
    if (mean > 30) {
        double z = generate_quantile(u);
        return fmax(0, floor(mean + sqrt(mean) * z + (z * z - 1) / 6 + 0.5));
    }
    double p = exp(-mean), k = 0;
    for (double below = p; u > below && k < 200; below += p)
        p *= mean / ++k;
    return k;
}

static double knot(uint64_t key, int octave, int64_t at)
{
    return generate_quantile(generate_unit(key + (uint64_t)octave, (uint64_t)at));
}

static double between(uint64_t key, int octave, double x)
{
    double f = floor(x), t = x - f;
    int64_t at = (int64_t)f;
    t = t * t * (3 - 2 * t);
    double w = sqrt(t * t + (1 - t) * (1 - t)); /* so that the variance is 1 between knots too */
    return ((1 - t) * knot(key, octave, at) + t * knot(key, octave, at + 1)) / w;
}

double generate_smooth(uint64_t key, double x)
{
    return between(key, 0, x);
}

/* Noise at doubling lengths, amplitudes by their roots: increments like Brownian motion's up to some 8,000
 * steps. */
double generate_walk(uint64_t key, double x)
{
    double sum = 0, length = 1;
    for (int k = 0; k < 14; k++, length *= 2)
        sum += sqrt(length) * 0.45 * between(key, k + 1, x / length);
    return sum;
}
