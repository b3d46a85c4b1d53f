/* The family of sums: every column that matters adds its own effect, a slope more often than not, and the
 * noise is as large as in what people measure. Most of what small real tables hold is of this kind (Hastie
 * & Tibshirani, Generalized Additive Models, 1990), and the other families hardly ever draw it over many
 * columns. */
#include "tools/pretrain/prior/internal.h"

#include <string.h>

enum { LEVELS = 12, DIMS = 3, FACTORS = 8 };

/* Some causes behind many columns: x += a (loadings of the causes). */
static void correlate(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, factors = rnd_log_int(r, 1, FACTORS);
    float pull = rnd_range(r, 0.3f, 2.0f);
    tab_prior_roots(r, p->pool, factors, n);
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n;
        tab_prior_standardise(v, n);
        for (int k = 0; k < factors; k++) {
            const float *f = p->pool + (size_t)k * (size_t)n;
            float a = pull * rnd_normal(r) / sqrtf((float)factors);
            for (int i = 0; i < n; i++)
                v[i] += a * f[i];
        }
    }
}

/* The column becomes codes 0..levels-1 of the intervals between some of its own values. */
static int to_levels(tab_rand *r, float *v, int n)
{
    int levels = rnd_log_int(r, 2, LEVELS);
    float cut[LEVELS];
    tab_prior_cut(r, v, n, cut, levels);
    return levels;
}

/* out += w g(v), g standardised */
static void add_effect(tab_prior *p, tab_rand *r, const float *v, int levels, int dims, int n)
{
    static const float kinds[] = { 65, 10, 10, 10, 5 };
    float *g = p->work, scale = rnd_log(r, 0.5f, 3.0f), at = v[rnd_int(r, n)];
    int kind = rnd_pick(r, kinds, 5);
    float spread = expf(0.7f * rnd_normal(r));
    for (int d = 0; d < dims; d++) {
        float *t = p->target + (size_t)d * (size_t)n, w = spread * rnd_normal(r), effect[LEVELS];
        for (int k = 0; k < LEVELS; k++)
            effect[k] = rnd_normal(r);
        for (int i = 0; i < n; i++) {
            if (levels > 0)
                g[i] = effect[(int)v[i]];
            else
                g[i] = kind == 0   ? v[i]
                       : kind == 1 ? tanhf(scale * v[i])
                       : kind == 2 ? fabsf(v[i] - at)
                       : kind == 3 ? (v[i] > at ? 1.0f : 0.0f)
                                   : sinf(scale * v[i]);
        }
        tab_prior_standardise(g, n);
        for (int i = 0; i < n; i++)
            t[i] += w * g[i];
    }
}

drawn tab_prior_additive(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, dims = rnd_chance(r, 0.6f) ? 1 : DIMS, only = rnd_int(r, s->cols);
    float matters = rnd_range(r, 0.15f, 1.0f), coded = rnd_range(r, -0.4f, 0.8f),
          noise = rnd_log(r, 0.1f, s->easy ? 0.2f : 2.0f);
    tab_prior_inputs(p, r, s);
    if (s->cols > 2 && rnd_chance(r, 0.6f))
        correlate(p, r, s);
    memset(p->target, 0, (size_t)dims * (size_t)n * sizeof *p->target);
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n;
        int levels = 0;
        tab_prior_standardise(v, n);
        if (rnd_chance(r, coded)) {
            levels = to_levels(r, v, n);
            p->cat[c] = 1; /* the table step permutes codes */
        }
        if (c == only || rnd_chance(r, matters))
            add_effect(p, r, v, levels, dims, n);
    }
    for (int d = 0; d < dims; d++) {
        float *t = p->target + (size_t)d * (size_t)n;
        tab_prior_standardise(t, n);
        for (int i = 0; i < n; i++)
            t[i] += noise * rnd_normal(r);
    }
    return (drawn){ dims, 0 };
}
