/* See fitted_parts.h: rows that are asked are of known levels, but of other shares of them than the rows that
 * are known: all of one plant, say, whose rows err more.
 *
 * Residuals of known rows stand for those of the asked ones by the ratio of both shares (conformal prediction
 * under covariate shift: Tibshirani et al., NeurIPS 2019), of the one category in which the shares differ
 * most beyond chance. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* Standard errors beyond chance, as one table in a thousand has them of one of its columns by chance. By
 * hand. */
static const double SURE = 4;

typedef struct {
    double known[256], asked[256]; /* rows of a level */
    double n, m, levels;           /* all known and asked ones; levels that have known rows */
} mix;

static void count(const tab_fitted *f, size_t j, mix *c)
{
    *c = (mix){ 0 };
    for (size_t i = 0; i < f->data->rows; i++)
        *(isnan(f->problem.y[i]) ? &c->asked[f->data->bin[j][i]] : &c->known[f->data->bin[j][i]]) += 1;
    for (size_t b = 0; b < 256; b++) {
        c->n += c->known[b], c->levels += c->known[b] > 0;
        c->m += c->known[b] > 0 ? c->asked[b] : 0; /* levels that nobody knows are another regime's */
    }
}

/* How far beyond chance the asked rows' shares of the levels are: their chi-square as a normal score (Wilson
 * & Hilferty 1931). */
static double beyond(const mix *c)
{
    double chi = 0, all = c->n + c->m, v = 2 / (9 * (c->levels - 1));
    if (c->levels < 2 || !(c->m > 0))
        return -1;
    for (size_t b = 0; b < 256; b++) {
        double rows = c->known[b] + c->asked[b], off = c->asked[b] - c->m * rows / all;
        if (c->known[b] > 0)
            chi += off * off / (c->m * c->n / all * rows / all);
    }
    return (cbrt(chi / (c->levels - 1)) - (1 - v)) / sqrt(v);
}

bool tab_asked_mix(tab_fitted *f)
{
    mix best = { 0 }, c;
    double most = SURE;
    size_t of = f->enc->n;
    if (f->task != TAB_TASK_REGRESSION || f->asked.asked == 0 || f->split.kind != TAB_SPLIT_RANDOM)
        return true;
    for (size_t j = 0; j < f->enc->n; j++) {
        if (f->enc->f[j].kind != TAB_FEATURE_CODE)
            continue;
        count(f, j, &c);
        double z = beyond(&c);
        if (z > most)
            most = z, best = c, of = j;
    }
    if (of == f->enc->n)
        return true;
    f->mix = tab_arena_new_of(f->arena, float, f->data->rows + 1);
    for (size_t i = 0; f->mix != NULL && i < f->data->rows; i++) {
        size_t b = f->data->bin[of][i];
        double share = best.known[b] / best.n; /* one asked row more, as the known ones are */
        if (share > 0)
            f->mix[i] = (float)((best.asked[b] + share) / (best.m + 1) / share);
    }
    return f->mix != NULL;
}
