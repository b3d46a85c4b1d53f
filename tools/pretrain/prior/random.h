/* A counter-based generator: the k-th draw is mix(key + k * golden), SplitMix64 (Steele et al., 2014) read as
 * a keyed stream; the key is a hash of who draws. And the distributions that the prior is made of. */
#ifndef TAB_PRIOR_RANDOM_H
#define TAB_PRIOR_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct {
    uint64_t key, count;
} tab_rand;

static inline uint64_t tab_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline tab_rand tab_rand_keyed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t k = tab_mix64(a + 0x9E3779B97F4A7C15u);
    k = tab_mix64(k ^ (b + 0xD1B54A32D192ED03u));
    k = tab_mix64(k ^ (c + 0x8CB92BA72F3D8DD7u));
    return (tab_rand){ k, 0 };
}

static inline uint64_t rnd_bits(tab_rand *r)
{
    return tab_mix64(r->key + ++r->count * 0x9E3779B97F4A7C15u);
}

static inline float rnd_unit(tab_rand *r) /* (0, 1) */
{
    return ((float)(rnd_bits(r) >> 41) + 0.5f) * 0x1p-23f;
}

static inline float rnd_range(tab_rand *r, float a, float b)
{
    return a + (b - a) * rnd_unit(r);
}

static inline int rnd_int(tab_rand *r, int n) /* 0..n-1 */
{
    return (int)(((rnd_bits(r) >> 32) * (uint64_t)n) >> 32);
}

static inline bool rnd_chance(tab_rand *r, float p)
{
    return rnd_unit(r) < p;
}

static inline float rnd_log(tab_rand *r, float a, float b) /* log-uniform */
{
    return expf(rnd_range(r, logf(a), logf(b)));
}

static inline int rnd_log_int(tab_rand *r, int a, int b) /* log-uniform over a..b */
{
    int v = (int)rnd_log(r, (float)a, (float)b + 1.0f);
    return v > b ? b : v;
}

static inline float rnd_normal(tab_rand *r) /* Box & Muller */
{
    float u = rnd_unit(r), v = rnd_unit(r);
    return sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * v);
}

static inline float rnd_cauchy(tab_rand *r)
{
    return tanf(3.1415926f * (rnd_unit(r) - 0.5f));
}

static inline float rnd_gamma(tab_rand *r, float shape) /* Marsaglia & Tsang 2000; scale 1 */
{
    float boost = 1.0f;
    if (shape < 1.0f) {
        boost = powf(rnd_unit(r), 1.0f / shape);
        shape += 1.0f;
    }
    float d = shape - 1.0f / 3.0f, c = 1.0f / sqrtf(9.0f * d);
    for (int k = 0; k < 64; k++) {
        float x = rnd_normal(r), v = 1.0f + c * x;
        if (v <= 0.0f)
            continue;
        v = v * v * v;
        if (logf(rnd_unit(r)) < 0.5f * x * x + d - d * v + d * logf(v))
            return boost * d * v;
    }
    return boost * d;
}

static inline float rnd_beta(tab_rand *r, float a, float b)
{
    float x = rnd_gamma(r, a), y = rnd_gamma(r, b);
    return x / (x + y + 1e-30f);
}

static inline void rnd_shuffle(tab_rand *r, int *v, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = rnd_int(r, i + 1), t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

/* An index drawn by weights w[0..n-1]. */
static inline int rnd_pick(tab_rand *r, const float *w, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += w[i];
    float u = rnd_unit(r) * sum;
    for (int i = 0; i < n; i++)
        if ((u -= w[i]) < 0.0f)
            return i;
    return n - 1;
}
#endif
