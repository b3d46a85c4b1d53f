/* See odds.h. */
#include "services/inference/engine/predict/asked/mix/odds.h"

#include <assert.h>
#include <math.h>

/* SURE: standard errors beyond chance, as one column of 30,000 has them by chance. ALIKE: those of features
 * that are as others but by chance. RELATIVE: the share of
 * asked rows in what ratios are held against. By hand. */
enum { PARTS = 10 };
static const double SURE = 4, RELATIVE = 0.1, ALIKE = 3;
static const tab_recipe SMALL = { .learner = { &tab_learn_boost_quick }, .n = 1, .folds = 5, .work = 1e12 };

typedef struct {
    double known[256], asked[256]; /* rows of a cell */
    double n, m, cells;            /* all known and asked ones; cells that have known rows */
} mix;

static bool known(const tab_problem *p, size_t i)
{
    return p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]);
}

/* The cell of each bin: a level's own, or a tenth of a number's known rows; where it is missing is one. */
static void cells_of(const tab_problem *p, size_t j, uint8_t *cell)
{
    const uint8_t *bin = p->data->bin[j];
    double count[256] = { 0 }, all = 0, before = 0;
    bool number = p->enc->f[j].kind != TAB_FEATURE_CODE;
    for (size_t i = 0; number && i < p->data->rows; i++)
        if (known(p, i) && bin[i] != TAB_BIN_MISSING)
            count[bin[i]]++, all++;
    for (size_t b = 0; b < 256; b++) {
        cell[b] = (uint8_t)b;
        if (number && b != TAB_BIN_MISSING && all > 0)
            cell[b] = (uint8_t)fmin(PARTS - 1, floor(PARTS * (before + count[b] / 2) / all));
        before += count[b];
    }
}

/* weight: of known rows, which count as many as unweighed ones tell as much; NULL: 1. */
static void count(const tab_problem *p, const bool *asked, const float *weight, size_t j, mix *c)
{
    uint8_t cell[256];
    double w = 0, ww = 0;
    cells_of(p, j, cell);
    *c = (mix){ 0 };
    for (size_t i = 0; i < p->data->rows; i++) {
        uint8_t at = cell[p->data->bin[j][i]];
        double own = !known(p, i) ? 0 : weight == NULL ? 1 : (double)weight[i];
        c->known[at] += own;
        c->asked[at] += asked[i];
        w += own, ww += own * own;
    }
    for (size_t b = 0; weight != NULL && ww > 0 && b < 256; b++)
        c->known[b] *= w / ww;
    for (size_t b = 0; b < 256; b++) {
        c->n += c->known[b], c->cells += c->known[b] > 0;
        c->m += c->known[b] > 0 ? c->asked[b] : 0; /* levels that nobody knows are another regime's */
    }
}

/* How far beyond chance the asked rows' shares of the cells are: their chi-square as a normal score (Wilson
 * & Hilferty 1931). */
static double beyond(const mix *c)
{
    double chi = 0, all = c->n + c->m, v = 2 / (9 * (c->cells - 1));
    if (c->cells < 2 || !(c->m > 0))
        return -1;
    for (size_t b = 0; b < 256; b++) {
        double rows = c->known[b] + c->asked[b], off = c->asked[b] - c->m * rows / all;
        if (c->known[b] > 0)
            chi += off * off / (c->m * c->n / all * rows / all);
    }
    return (cbrt(chi / (c->cells - 1)) - (1 - v)) / sqrt(v);
}

static bool shifted(const tab_problem *p, const bool *asked)
{
    mix c;
    for (size_t j = 0; j < p->enc->n; j++) {
        count(p, asked, NULL, j, &c);
        if (beyond(&c) > SURE)
            return true;
    }
    return false;
}

bool tab_asked_weighed_alike(const tab_problem *p, const bool *asked, const float *weight)
{
    mix c;
    for (size_t j = 0; j < p->enc->n; j++) {
        count(p, asked, weight, j, &c);
        if (beyond(&c) > ALIKE)
            return false;
    }
    return true;
}

/* The stack that tells asked rows (1) from known ones (0); n: of which how many. NULL: memory or
 * cancelled. */
static tab_stack *tell(const tab_engine *e, tab_arena *a, const tab_problem *p, const bool *asked, double *n)
{
    size_t rows = p->data->rows;
    uint32_t *label = tab_arena_new_of(a, uint32_t, rows + 1);
    if (label == NULL)
        return NULL;
    for (size_t i = 0; i < rows; i++) {
        label[i] = asked[i] ? 1 : known(p, i) ? 0 : TAB_NULL;
        if (label[i] != TAB_NULL)
            n[label[i]]++;
    }
    tab_engine own = *e;
    own.progress = NULL, own.arena = a;
    tab_problem q = { .enc = p->enc,
                      .data = p->data,
                      .label = label,
                      .unit = p->unit,
                      .seed = p->seed ^ 0x51f7,
                      .classification = true,
                      .outputs = 2 };
    return tab_stack_fit(&own, a, &q, &SMALL);
}

bool tab_asked_odds(const tab_engine *e, tab_arena *a, const tab_problem *p, const bool *asked, double fewest,
                    float **ret)
{
    size_t rows = p->data->rows;
    double n[2] = { 0 }, w = 0, ww = 0;
    *ret = NULL;
    if (!shifted(p, asked))
        return true;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)4 << 30);
    float *weight = tab_arena_new_of(a, float, rows + 1);
    tab_stack *s = work == NULL || weight == NULL ? NULL : tell(e, work, p, asked, n);
    if (s == NULL)
        return false;
    for (size_t i = 0; i < rows; i++) {
        double odds = exp(fmin(50, (double)(s->oof[2 * i + 1] - s->oof[2 * i]))) * n[0] / n[1];
        weight[i] = (float)(odds / (RELATIVE * odds + 1 - RELATIVE));
        if (known(p, i))
            w += (double)weight[i], ww += (double)weight[i] * (double)weight[i];
    }
    assert(n[0] > 0 && n[1] > 0 && !(w <= 0)); /* shifted() saw rows of both kinds */
    for (size_t i = 0; i < rows; i++)
        weight[i] = (float)((double)weight[i] * n[0] / w);
    if (ww > 0 && w * w / ww >= fewest)
        *ret = weight;
    return true;
}
