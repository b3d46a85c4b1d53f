/* See screen.h: a multiplier bootstrap of the score (Kline & Santos, A score based approach to wild bootstrap
 * inference, 2012) and the greatest of all statistics in each round (Westfall & Young, Resampling-based
 * multiple testing, 1993).
 *
 *   S[g][r] = sum over the rows of group g of   sign[unit][r] * left        r = 0: as it is; r > 0: drawn
 *   T[r]    = what the best split into two groups, and those without a value, take off its square
 *   z[r]    = T[r]'s cube root (Wilson & Hilferty 1931), by the mean and spread over r > 0
 *
 * so that features of two values and of many stand on one scale. If a feature tells nothing, what is left of
 * a unit is as likely to be of either sign whatever the feature says there: round 0 is one among the others.
 * The draws are those of a unit's key: neither the order of rows nor that of columns is in them. */
#include "services/inference/engine/relational/screen.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"

/* DRAWS: rounds and the one as it is. GROUPS: of a feature's values. */
enum { DRAWS = 200, GROUPS = 16 };

typedef struct {
    float s[GROUPS + 1][DRAWS]; /* the last: rows without a value */
    float n[GROUPS + 1];
} sums;

typedef struct {
    const tab_links_left *p;
    size_t list;
    const float *drawn; /* (rows, DRAWS) sign * left */
    double scale;       /* mean square of what is left */
    double *t;          /* (features, DRAWS) */
    atomic_bool failed;
} job;

/* The group of each bin: runs of bins with about as many rows; of codes the frequent ones. */
static void group_bins(const tab_links_left *p, size_t f, uint8_t group[256])
{
    const uint8_t *bin = p->data->bin[f];
    size_t count[256] = { 0 }, present = 0, before = 0;
    for (size_t i = 0; i < p->data->rows; i++)
        count[bin[i]]++;
    for (size_t b = 0; b < TAB_BIN_MISSING; b++)
        present += count[b];
    for (size_t b = 0; b < TAB_BIN_MISSING; b++) {
        bool code = p->enc->f[f].kind == TAB_FEATURE_CODE;
        size_t middle = before + count[b] / 2;
        size_t g = code ? b : present == 0 ? 0 : middle * GROUPS / present;
        group[b] = (uint8_t)(g < GROUPS ? g : GROUPS - 1);
        before += count[b];
    }
    group[TAB_BIN_MISSING] = GROUPS;
}

static double part(double s, double n)
{
    return n > 0 ? s * s / n : 0;
}

/* What the groups take off in one round. */
static double taken_off(const sums *x, size_t r, bool code)
{
    double all = 0, n = 0, best = 0, left = 0, left_n = 0, codes = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        all += (double)x->s[g][r];
        n += (double)x->n[g];
        codes += part((double)x->s[g][r], (double)x->n[g]);
    }
    for (size_t g = 0; !code && g + 1 < GROUPS; g++) {
        left += (double)x->s[g][r];
        left_n += (double)x->n[g];
        best = fmax(best, part(left, left_n) + part(all - left, n - left_n));
    }
    double none = (double)x->s[GROUPS][r], none_n = (double)x->n[GROUPS];
    return (code ? codes : best) + part(none, none_n) - part(all + none, n + none_n);
}

static void one_feature(void *ctx, size_t k)
{
    job *j = ctx;
    const tab_links_left *p = j->p;
    if (p->unit_of[k] != j->list)
        return;
    size_t f = p->feature[k];
    uint8_t group[256];
    sums *x = calloc(1, sizeof *x);
    if (x == NULL) {
        atomic_store(&j->failed, true);
        return;
    }
    group_bins(p, f, group);
    for (size_t i = 0; i < p->data->rows; i++) {
        uint8_t g = group[p->data->bin[f][i]];
        const float *restrict drawn = j->drawn + i * DRAWS;
        float *restrict s = x->s[g];
        x->n[g]++;
        for (size_t r = 0; r < DRAWS; r++)
            s[r] += drawn[r];
    }
    for (size_t r = 0; r < DRAWS; r++)
        j->t[k * DRAWS + r] += taken_off(x, r, p->enc->f[f].kind == TAB_FEATURE_CODE) / j->scale;
    free(x);
}

/* drawn (rows, DRAWS): what is left of one output with the signs of one list of units. */
static void draw(const tab_engine *e, const tab_links_left *p, size_t list, const float *left, float *drawn)
{
    for (size_t i = 0; i < p->data->rows; i++) {
        uint64_t bits = 0;
        for (size_t r = 0; r < DRAWS; r++) {
            if (r % 64 == 0)
                bits = tab_mix2(p->unit[list][i], e->seed + 0x5c4e + r / 64);
            bool flip = r > 0 && (bits >> (r % 64) & 1) != 0;
            drawn[i * DRAWS + r] = flip ? -left[i] : left[i];
        }
    }
}

/* z of a feature in each round; 0 where it never varies. */
static void standardise(double *t)
{
    double mean = 0, square = 0;
    for (size_t r = 0; r < DRAWS; r++)
        t[r] = cbrt(fmax(0, t[r]));
    for (size_t r = 1; r < DRAWS; r++)
        mean += t[r] / (DRAWS - 1);
    for (size_t r = 1; r < DRAWS; r++)
        square += (t[r] - mean) * (t[r] - mean) / (DRAWS - 1);
    double sd = sqrt(square);
    for (size_t r = 0; r < DRAWS; r++)
        t[r] = sd > 1e-9 ? (t[r] - mean) / sd : 0;
}

bool tab_links_screen(const tab_engine *e, tab_arena *a, const tab_links_left *p, bool *beyond)
{
    size_t rows = p->data->rows;
    double *t = tab_arena_new_of(a, double, p->features *DRAWS + 1), most = 0;
    float *drawn = tab_arena_new_of(a, float, rows *DRAWS + 1);
    if (t == NULL || drawn == NULL)
        return false;
    for (size_t k = 0; k < p->outputs; k++) {
        const float *left = p->left + k * rows;
        double square = 0;
        for (size_t i = 0; i < rows; i++)
            square += (double)left[i] * (double)left[i] / (double)rows;
        for (size_t list = 0; list < p->units && square > 0; list++) {
            job j = { .p = p, .list = list, .drawn = drawn, .scale = square, .t = t };
            atomic_init(&j.failed, false);
            draw(e, p, list, left, drawn);
            tab_engine_for(e, p->features, one_feature, &j);
            if (atomic_load(&j.failed) || tab_engine_cancelled(e))
                return false;
        }
    }
    for (size_t k = 0; k < p->features; k++) {
        standardise(t + k * DRAWS);
        for (size_t r = 1; r < DRAWS; r++)
            most = fmax(most, t[k * DRAWS + r]);
    }
    for (size_t k = 0; k < p->features; k++)
        beyond[k] = t[k * DRAWS] > most;
    return true;
}
