/* See group_quantiles.h. A feature's groups are read off its bins, one byte a row: a category's are its
 * levels, a number's the fifths of its rows and those where it is missing. */
#include "services/inference/engine/predict/interval/group_quantiles.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/order.h"

enum {
    MOST_ROWS = 32768, /* rows stand in hash order: the first are a fair sample */
    LEAST_ROWS = 50,   /* a smaller group has no share worth reading */
    MOST_SHIFTS = 20   /* a quantile */
};
/* How far beyond chance the shares of a feature's groups must differ, in standard deviations; chosen by hand
 * among 2, 2.5 and 3, which do alike. */
static const double BEYOND = 2.5;

/* One feature's groups. */
typedef struct {
    const uint8_t *bin; /* (rows) */
    uint8_t cell[256];  /* a bin's group */
    double rows[256];   /* of a group */
} partition;

typedef struct {
    const tab_groups_task *t;
    size_t n;
    uint32_t *row;                 /* (n) those with a target */
    double *residual, *at, *apart; /* (n) at: the row's quantile; apart: scratch */
    partition *part;               /* (parts) */
    size_t parts;
    uint8_t *fifth[2];      /* (rows) of the answer and of the scale */
    tab_group_shift *shift; /* (levels, MOST_SHIFTS) room for what is found */
} groups;

/* What is seen of one feature at one quantile. */
typedef struct {
    double z;          /* how far beyond chance its groups differ */
    double between;    /* variance of their true shares around tau */
    double share[256]; /* below the quantile */
} finding;

static void groups_free(groups *g)
{
    free(g->row), free(g->residual), free(g->at), free(g->apart);
    free(g->part), free(g->fifth[0]), free(g->fifth[1]), free(g->shift);
}

static uint8_t fifth_of(const float *edge, float v)
{
    uint8_t k = 0;
    for (size_t i = 0; i < TAB_FIFTHS - 1; i++)
        k += edge[i] <= v;
    return k;
}

/* edge: where the fifths of v's rows end. sorted (n): scratch. */
static void fifths(const groups *g, const float *v, float *sorted, float *edge, uint8_t *fifth)
{
    for (size_t i = 0; i < g->n; i++)
        sorted[i] = v[g->row[i]];
    qsort(sorted, g->n, sizeof *sorted, tab_ascending_float);
    for (size_t k = 1; k < TAB_FIFTHS; k++)
        edge[k - 1] = sorted[g->n * k / TAB_FIFTHS];
    for (size_t i = 0; i < g->n; i++)
        fifth[g->row[i]] = fifth_of(edge, v[g->row[i]]);
}

/* The groups of a feature: levels are bins; fifths of a number's rows are runs of bins. */
static void divide(const groups *g, partition *p, bool number)
{
    size_t count[256] = { 0 }, present = 0, before = 0;
    for (size_t i = 0; i < g->n; i++)
        count[p->bin[g->row[i]]]++;
    present = g->n - count[TAB_BIN_MISSING];
    uint8_t cell = 0;
    size_t next = 1; /* the fifth that is to begin */
    for (size_t b = 0; b < 256; b++) {
        p->cell[b] = (uint8_t)b;
        if (!number || b == TAB_BIN_MISSING)
            continue;
        /* the bin that holds the first row of one fifth or of several begins a group */
        bool begins = false;
        for (; next < TAB_FIFTHS && before + count[b] > present * next / TAB_FIFTHS; next++)
            begins = true;
        cell += begins;
        assert(cell < TAB_FIFTHS);
        p->cell[b] = cell;
        before += count[b];
    }
    memset(p->rows, 0, sizeof p->rows);
    for (size_t b = 0; b < 256; b++)
        p->rows[p->cell[b]] += (double)count[b];
}

/* Row i is the one before it again: equal content, equal target. Equal rows stand together. */
static bool again(const tab_groups_task *t, size_t i)
{
    return i > 0 && t->data->hash[i] == t->data->hash[i - 1] && t->target[i] == t->target[i - 1];
}

/* Whether rows of equal content are copies of each other rather than measured again: their targets are equal,
 * and those of other rows are not. A copy says nothing new of how far groups differ. */
static bool copied(const tab_groups_task *t)
{
    size_t rows = t->data->rows, pairs = 0, equal = 0, others = 0, chance = 0;
    for (size_t i = 1; i < rows; i++) {
        if (isnan(t->target[i]) || isnan(t->target[i - 1]))
            continue;
        if (t->data->hash[i] == t->data->hash[i - 1]) {
            pairs++;
            equal += again(t, i);
        } else {
            others++;
            chance += t->target[i] == t->target[i - 1];
        }
    }
    return (double)equal > 0.9 * (double)pairs && (double)chance < 0.5 * (double)others;
}

static bool groups_new(groups *g, const tab_groups_task *t, tab_groups *ret)
{
    const tab_data *d = t->data;
    *g = (groups){ .t = t, .parts = d->n + 2 };
    size_t most = d->rows < MOST_ROWS ? d->rows : MOST_ROWS;
    g->row = malloc((most + 1) * sizeof *g->row);
    g->residual = malloc((most + 1) * sizeof *g->residual);
    g->at = malloc((most + 1) * sizeof *g->at);
    g->apart = malloc((most + 1) * sizeof *g->apart);
    g->part = malloc(g->parts * sizeof *g->part);
    g->fifth[0] = malloc(d->rows + 1);
    g->fifth[1] = malloc(d->rows + 1);
    g->shift = malloc(t->levels * MOST_SHIFTS * sizeof *g->shift);
    if (g->row == NULL || g->residual == NULL || g->at == NULL || g->apart == NULL || g->part == NULL ||
        g->fifth[0] == NULL || g->fifth[1] == NULL || g->shift == NULL)
        return false;
    bool once = copied(t);
    for (size_t i = 0; i < d->rows && g->n < most; i++)
        if (!isnan(t->residual[i]) && !(once && again(t, i))) {
            g->residual[g->n] = (double)t->residual[i];
            g->row[g->n++] = (uint32_t)i;
        }
    if (g->n < LEAST_ROWS)
        return true;
    float *sorted = malloc(g->n * sizeof *sorted);
    if (sorted == NULL)
        return false;
    fifths(g, t->answer, sorted, ret->answer, g->fifth[0]);
    fifths(g, t->scale, sorted, ret->scale, g->fifth[1]);
    free(sorted);
    for (size_t j = 0; j < g->parts; j++) {
        g->part[j].bin = j < d->n ? d->bin[j] : g->fifth[j - d->n];
        divide(g, &g->part[j], j < d->n && d->x[j] != NULL);
    }
    return true;
}

/* Shares below the quantile tau and their chi-square, read as a normal score (Wilson & Hilferty 1931). */
static void look(const groups *g, const partition *p, double tau, finding *ret)
{
    double below[256] = { 0 }, chi = 0, weights = 0, cells = 0;
    for (size_t i = 0; i < g->n; i++)
        below[p->cell[p->bin[g->row[i]]]] += g->residual[i] < g->at[i];
    for (size_t c = 0; c < 256; c++) {
        ret->share[c] = tau;
        if (p->rows[c] < LEAST_ROWS)
            continue;
        ret->share[c] = below[c] / p->rows[c];
        double w = p->rows[c] / (tau * (1 - tau));
        chi += w * (ret->share[c] - tau) * (ret->share[c] - tau);
        weights += w;
        cells++;
    }
    double v = cells > 0 ? 2 / (9 * cells) : 1;
    ret->z = cells > 0 ? (cbrt(chi / cells) - (1 - v)) / sqrt(v) : -1;
    ret->between = chi > cells ? (chi - cells) / weights : 0;
}

/* The quantile at level tau of x (n), which it sorts. */
static double quantile_of(double *x, size_t n, double tau)
{
    qsort(x, n, sizeof *x, tab_ascending_double);
    assert(n > 0);
    double at = tau * ((double)n + 1) - 1;
    if (at <= 0)
        return x[0];
    if (at >= (double)n - 1)
        return x[n - 1];
    size_t i = (size_t)at;
    return x[i] + (x[i + 1] - x[i]) * (at - (double)i);
}

/* Moves the quantile of each group of p as far as its share, shrunk, is off. shift (256): by bin. */
static void move(groups *g, const partition *p, double tau, const finding *f, float *shift)
{
    /* rows by group, so that each group's residuals are a run */
    size_t start[257] = { 0 }, end[256];
    for (size_t c = 0; c < 256; c++)
        start[c + 1] = start[c] + (size_t)p->rows[c];
    assert(start[256] == g->n);
    memcpy(end, start, sizeof end);
    for (size_t i = 0; i < g->n; i++)
        g->apart[end[p->cell[p->bin[g->row[i]]]]++] = g->residual[i] - g->at[i];
    double by[256] = { 0 };
    for (size_t c = 0; c < 256; c++) {
        if (p->rows[c] < LEAST_ROWS)
            continue;
        double chance = tau * (1 - tau) / p->rows[c];
        double shrunk = f->share[c] + f->between / (f->between + chance) * (tau - f->share[c]);
        assert(!(shrunk < 0 || shrunk > 1)); /* between the group's share and the level */
        by[c] = quantile_of(g->apart + start[c], end[c] - start[c], shrunk);
    }
    for (size_t b = 0; b < 256; b++)
        shift[b] = (float)by[p->cell[b]];
    for (size_t i = 0; i < g->n; i++)
        g->at[i] += (double)shift[p->bin[g->row[i]]];
}

/* The shifts of one quantile, behind those that are found already; returns how many there are then. */
static size_t fit_level(groups *g, size_t level, size_t found)
{
    double tau = g->t->level[level];
    for (size_t i = 0; i < g->n; i++)
        g->at[i] = g->t->quantile[level];
    for (size_t k = 0; k < MOST_SHIFTS; k++) {
        finding best = { .z = -1 }, f;
        size_t of = 0;
        for (size_t j = 0; j < g->parts; j++) {
            look(g, &g->part[j], tau, &f);
            if (f.z > best.z)
                best = f, of = j;
        }
        if (!(best.z > BEYOND))
            break;
        tab_group_shift *s = &g->shift[found++];
        *s = (tab_group_shift){ .of = (uint32_t)of, .level = (uint32_t)level };
        move(g, &g->part[of], tau, &best, s->shift);
    }
    return found;
}

bool tab_groups_fit(tab_arena *a, const tab_groups_task *t, tab_groups *ret)
{
    groups g;
    *ret = (tab_groups){ .features = t->data->n };
    bool ok = groups_new(&g, t, ret);
    for (size_t l = 0; ok && g.n >= LEAST_ROWS && l < t->levels; l++)
        ret->shifts = fit_level(&g, l, ret->shifts);
    if (ret->shifts > 0) {
        ret->shift = tab_arena_new_of(a, tab_group_shift, ret->shifts);
        ok = ret->shift != NULL;
        if (ok)
            memcpy(ret->shift, g.shift, ret->shifts * sizeof *ret->shift);
    }
    groups_free(&g);
    return ok;
}

/* Shifts of several quantiles may let them cross; put in order they are no worse (Chernozhukov,
 * Fernandez-Val & Galichon, Econometrica 2010). */
void tab_groups_shift(const tab_groups *g, const tab_data *q, size_t row, float answer, float scale,
                      double *quantile, size_t levels)
{
    for (size_t k = 0; k < g->shifts; k++) {
        const tab_group_shift *s = &g->shift[k];
        uint8_t bin = s->of < g->features    ? q->bin[s->of][row]
                      : s->of == g->features ? fifth_of(g->answer, answer)
                                             : fifth_of(g->scale, scale);
        quantile[s->level] += (double)s->shift[bin];
    }
    for (size_t l = 1; g->shifts > 0 && l < levels; l++)
        for (size_t k = l; k > 0 && quantile[k] < quantile[k - 1]; k--) {
            double swap = quantile[k];
            quantile[k] = quantile[k - 1], quantile[k - 1] = swap;
        }
}
