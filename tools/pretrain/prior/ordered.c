/* Tables whose rows are moments in order, of which later ones are asked about: prices rise, sensors age, what
 * people do changes. Moreno-Torres et al. (Pattern Recognition 2012) name what can move: the columns (with or
 * without the target), the target by itself, and the effect of a column on it. */
#include "tools/pretrain/prior/internal.h"

#include <string.h>

/* v (n): a standardised course along the rows: a trend, a bend, a step, a season or a walk. */
static void course(tab_rand *r, float *v, int n)
{
    static const float kinds[] = { 40, 15, 15, 15, 15 };
    int kind = rnd_pick(r, kinds, 5);
    float power = rnd_log(r, 0.4f, 3.0f), at = rnd_unit(r), turns = rnd_log(r, 1.0f, 20.0f), walk = 0.0f;
    for (int i = 0; i < n; i++) {
        float u = ((float)i + 0.5f) / (float)n;
        walk += rnd_normal(r);
        v[i] = kind == 0   ? u
               : kind == 1 ? powf(u, power)
               : kind == 2 ? (u > at ? 1.0f : 0.0f)
               : kind == 3 ? sinf(6.2831853f * (turns * u + at))
                           : walk;
    }
    tab_prior_standardise(v, n);
}

/* The moment as a column: as it is, in steps (days, months), or its place in a cycle. */
static void clock_of(tab_rand *r, float *v, int n)
{
    float how = rnd_unit(r), steps = rnd_log(r, 4.0f, 200.0f);
    for (int i = 0; i < n; i++) {
        float u = ((float)i + 0.5f) / (float)n;
        v[i] = how < 0.5f ? u : how < 0.8f ? floorf(u * steps) : steps * u - floorf(steps * u);
    }
}

void tab_prior_order(tab_prior *p, tab_rand *r, const tab_prior_shape *s, int dims)
{
    int n = s->rows;
    float *common = p->work, *own = p->work + n, drifting = rnd_range(r, 0.0f, 0.6f);
    course(r, common, n);
    for (int d = 0; d < dims; d++)
        tab_prior_standardise(p->target + (size_t)d * (size_t)n, n);
    for (int c = 0; c < s->cols; c++) {
        float *v = p->table + (size_t)c * (size_t)n;
        if (p->cat[c] || !rnd_chance(r, drifting))
            continue;
        if (rnd_chance(r, 0.5f))
            memcpy(own, common, (size_t)n * sizeof *own);
        else
            course(r, own, n);
        tab_prior_standardise(v, n);
        float a = rnd_log(r, 0.1f, 2.0f) * (rnd_chance(r, 0.5f) ? 1.0f : -1.0f);
        float b = rnd_chance(r, 0.5f) ? 0.5f * rnd_normal(r) : 0.0f; /* the target goes along */
        bool effect = rnd_chance(r, 0.3f);                           /* its effect changes */
        float w = 0.7f * rnd_normal(r);
        for (int i = 0; i < n; i++) {
            p->target[i] += b * own[i] + (effect ? w * own[i] * v[i] : 0.0f);
            v[i] += a * own[i];
        }
    }
    if (rnd_chance(r, 0.6f))
        for (int d = 0; d < dims; d++) {
            float w = rnd_log(r, 0.1f, 1.5f) * (rnd_chance(r, 0.5f) ? 1.0f : -1.0f);
            for (int i = 0; i < n; i++)
                p->target[(size_t)d * (size_t)n + (size_t)i] += w * common[i];
        }
    if (s->cols > 1 && rnd_chance(r, 0.7f)) {
        int c = rnd_int(r, s->cols);
        clock_of(r, p->table + (size_t)c * (size_t)n, n);
        p->cat[c] = 0;
    }
}
