/* The family of levels: shops, towns, products, doctors. Some columns hold many levels, most of them rare,
 * and every level has an effect of its own, drawn around its group's; a column beside may tell the group,
 * or something measured of the level. Effects of levels hardly seen can only be learnt by shrinking them to
 * what groups and other levels tell (the random effects of Laird & Ware, Biometrics 1982). */
#include "tools/pretrain/prior/internal.h"

#include <string.h>

enum { MOST = 300, GROUPS = 24, FINE = 150 };

/* Levels with their popularity (0 first) and effects. */
typedef struct {
    int levels, groups, group[MOST];
    float cumulative[MOST], effect[MOST];
} family;

static void draw_family(tab_rand *r, family *f)
{
    float zipf = rnd_range(r, 0.0f, 1.5f), tau = rnd_log(r, 0.1f, 2.0f), alike = rnd_range(r, 0.0f, 1.0f);
    float mean[GROUPS], sum = 0.0f;
    f->levels = rnd_log_int(r, 8, MOST);
    f->groups = rnd_log_int(r, 2, GROUPS);
    for (int g = 0; g < f->groups; g++)
        mean[g] = tau * rnd_normal(r);
    for (int l = 0; l < f->levels; l++) {
        sum += powf((float)(l + 1), -zipf);
        f->cumulative[l] = sum;
        f->group[l] = rnd_int(r, f->groups);
        f->effect[l] = sqrtf(alike) * mean[f->group[l]] + sqrtf(1.0f - alike) * tau * rnd_normal(r);
    }
}

static int level_of(const family *f, tab_rand *r)
{
    float u = rnd_unit(r) * f->cumulative[f->levels - 1];
    int lo = 0, hi = f->levels - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (f->cumulative[mid] < u)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Column c becomes the codes of a family of levels, the target gets their effects; column `beside`, if it is
 * another one, may become the levels' group or a value of theirs. */
static void add_levels(tab_prior *p, tab_rand *r, int n, int c, int beside)
{
    family f;
    draw_family(r, &f);
    float *v = p->table + (size_t)c * (size_t)n, *w = p->table + (size_t)beside * (size_t)n, own[MOST];
    float told = beside == c ? 1.0f : rnd_unit(r), noise = rnd_log(r, 0.1f, 1.0f);
    bool crossed = beside != c && told >= 0.5f && rnd_chance(r, 0.6f);
    for (int l = 0; l < f.levels; l++)
        own[l] = f.effect[l] + noise * rnd_normal(r);
    for (int i = 0; i < n; i++) {
        int l = level_of(&f, r);
        p->target[i] += f.effect[l] * (crossed ? tab_prior_clip(w[i], 3.0f) : 1.0f);
        v[i] = (float)l;
        if (told < 0.25f)
            w[i] = (float)f.group[l];
        else if (told < 0.5f)
            w[i] = own[l] + noise * rnd_normal(r);
    }
    p->cat[c] = 1; /* codes by frequency; the table step permutes them */
    if (told < 0.5f)
        p->cat[beside] = told < 0.25f;
}

drawn tab_prior_levels(tab_prior *p, tab_rand *r, const tab_prior_shape *s)
{
    int n = s->rows, some = s->cols < 4 ? s->cols : 4, most = rnd_chance(r, 0.3f) ? (s->cols + 1) / 2 : some;
    int wide = rnd_log_int(r, 1, most);
    float noise = rnd_log(r, 0.05f, s->easy ? 0.2f : 1.0f);
    tab_prior_inputs(p, r, s);
    tab_prior_mix(r, p->table, s->cols < 24 ? s->cols : 24, p->target, 1, n);
    tab_prior_standardise(p->target, n);
    for (int i = 0; i < n; i++)
        p->target[i] += noise * rnd_normal(r);
    for (int k = 0; k < wide; k++) {
        int c = rnd_int(r, s->cols), beside = (c + 1) % s->cols;
        add_levels(p, r, n, c, p->cat[beside] ? c : beside);
    }
    return (drawn){ 1, 0 };
}

void tab_prior_fine_codes(tab_rand *r, float *v, int n)
{
    int levels = rnd_log_int(r, 10, n / 2 < FINE ? n / 2 : FINE), count[FINE] = { 0 }, name[FINE];
    float cut[FINE];
    tab_prior_cut(r, v, n, cut, levels);
    for (int i = 0; i < n; i++)
        count[(int)v[i]]++;
    for (int k = 0; k < levels; k++) { /* rank by frequency */
        name[k] = 0;
        for (int j = 0; j < levels; j++)
            name[k] += count[j] > count[k] || (count[j] == count[k] && j < k);
    }
    for (int i = 0; i < n; i++)
        v[i] = (float)name[(int)v[i]];
}
