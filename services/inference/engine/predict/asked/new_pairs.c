/* See fitted_parts.h: what it matters that a served row holds two levels, each known, that no fitted row has
 * together: a known product in a known shop that never sold it, a known plant's first night shift.
 *
 * Rows drawn at random mostly have pairs that others have as well, and by such rows intervals were judged.
 * How much more a row of a new pair errs is seen where whole pairs are left out, beside rows left out at
 * random. Which pairs of columns are worth that is told by the analysis of variance of what two columns leave
 * when each has its own effects (Searle, Casella & McCulloch, Variance Components, 1992; decision 0780). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/predict/fitted_parts.h"

/* COLUMNS: whose pairs are looked at, those with fewest levels; TRIED: pairs that are left out. CELLS: of a
 * pair. FEWEST: pairs with rows. SWEEPS: of the fit by both columns. SURE: standard deviations by which pairs
 * must differ beyond chance. By hand. */
enum { COLUMNS = 12, TRIED = 2, CELLS = 1 << 16, FEWEST = 6, SWEEPS = 20 };
static const double SURE = 3;

/* Two features at work, by encoded row. */
typedef struct {
    const uint32_t *code[2];
    size_t j[2], levels[2];
    uint32_t *rows; /* (cells) labelled rows; NULL: not counted */
} pair;

static bool labelled(const tab_problem *p, size_t i)
{
    return p->classification ? p->label[i] != TAB_NULL : !isnan(p->y[i]);
}

static bool held(const pair *x, size_t i, size_t *cell)
{
    *cell = (size_t)x->code[0][i] * x->levels[1] + x->code[1][i];
    return x->code[0][i] < x->levels[0] && x->code[1][i] < x->levels[1];
}

/* Takes each level's mean off what is left, of one column after the other. sum, n (levels). */
static void sweep(const tab_problem *p, const pair *x, size_t side, double *left, double *sum, double *n)
{
    size_t cell;
    memset(sum, 0, x->levels[side] * sizeof *sum);
    memset(n, 0, x->levels[side] * sizeof *n);
    for (size_t i = 0; i < p->data->rows; i++)
        if (labelled(p, i) && held(x, i, &cell))
            sum[x->code[side][i]] += left[i], n[x->code[side][i]]++;
    for (size_t i = 0; i < p->data->rows; i++)
        if (labelled(p, i) && held(x, i, &cell))
            left[i] -= sum[x->code[side][i]] / n[x->code[side][i]];
}

/* By how much the mean square between cells exceeds that within, beyond chance, where `left` is what both
 * columns leave; 0: it does not. sum (cells). */
static double excess(const tab_problem *p, const pair *x, const double *left, double *sum)
{
    size_t cells = x->levels[0] * x->levels[1], cell;
    double all = 0, k = 0, n = 0, between = 0;
    memset(sum, 0, cells * sizeof *sum);
    for (size_t i = 0; i < p->data->rows; i++)
        if (labelled(p, i) && held(x, i, &cell))
            sum[cell] += left[i], all += left[i] * left[i], n++;
    for (size_t c = 0; c < cells; c++)
        if (x->rows[c] > 0)
            between += sum[c] * sum[c] / x->rows[c], k++;
    double free = k - (double)(x->levels[0] + x->levels[1]) + 1;
    if (free < 1 || n - k < 1)
        return 0;
    double within = fmax(0, all - between) / (n - k), over = between / free;
    return over > within * (1 + SURE * sqrt(2 / free + 2 / (n - k))) ? over - within : 0;
}

/* Counts the pair's cells. False: it hardly repeats, or leaves no cell open, or memory (*full). */
static bool count(const tab_problem *p, pair *x, bool *full)
{
    size_t cells = x->levels[0] * x->levels[1], used = 0, rows = 0, cell;
    x->rows = calloc(cells + 1, sizeof *x->rows);
    *full = x->rows == NULL;
    for (size_t i = 0; !*full && i < p->data->rows; i++)
        if (labelled(p, i) && held(x, i, &cell))
            used += x->rows[cell]++ == 0, rows++;
    return used >= FEWEST && used < cells && rows >= 2 * used;
}

/* How much the pair says beyond what its columns say. False: memory. */
static bool weigh(const tab_problem *p, pair *x, double *ret)
{
    size_t cells = x->levels[0] * x->levels[1], room = cells + x->levels[0] + x->levels[1] + 1;
    bool full;
    *ret = 0;
    if (!count(p, x, &full))
        return !full;
    double *left = malloc((p->data->rows + 1) * sizeof *left), *sum = malloc(2 * room * sizeof *sum);
    bool ok = left != NULL && sum != NULL;
    for (size_t o = 0; ok && o < p->outputs; o++) {
        for (size_t i = 0; i < p->data->rows; i++)
            left[i] = p->classification ? (double)(p->label[i] == o) : (double)p->y[i];
        for (size_t s = 0; s < SWEEPS; s++)
            sweep(p, x, s % 2, left, sum, sum + room);
        *ret += excess(p, x, left, sum);
    }
    free(left);
    free(sum);
    return ok;
}

/* The features whose pairs are looked at, fewest levels first. */
static size_t choose(const tab_fitted *f, size_t *j)
{
    size_t n = 0;
    for (size_t k = 0; k < f->enc->n; k++) {
        const tab_feature *x = &f->enc->f[k];
        tab_type type = f->column[x->source].type;
        if (x->kind != TAB_FEATURE_CODE || (type != TAB_CATEGORICAL && type != TAB_TEXT) || x->levels < 2 ||
            4 * x->levels > f->data->rows || f->column[x->source].made)
            continue;
        size_t at = n;
        while (at > 0 && f->enc->f[j[at - 1]].levels > x->levels)
            at--;
        if (at == COLUMNS)
            continue;
        n += n < COLUMNS;
        memmove(&j[at + 1], &j[at], (n - at - 1) * sizeof *j);
        j[at] = k;
    }
    return n;
}

/* What is lost of rows whose pair was left out; kept in f where there is something. False: memory or
 * cancelled. */
static bool leave_out(const tab_engine *e, const tab_profile *p, tab_fitted *f, const pair *x)
{
    size_t cells = x->levels[0] * x->levels[1], used = 0, cell;
    uint32_t *level = malloc((f->rows + 1) * sizeof *level);
    tab_new_pair *own = &f->pair[f->pairs];
    double lost = 0, left = 1;
    for (size_t i = 0; level != NULL && i < f->rows; i++)
        level[f->data->row[i]] = held(x, i, &cell) ? (uint32_t)cell : TAB_NULL;
    bool ok = level != NULL && tab_known_of_new(e, p, &f->problem, level, &lost, &left);
    free(level);
    if (!ok || lost <= 0)
        return ok;
    *own = (tab_new_pair){ .feature = { x->j[0], x->j[1] }, .cells = cells, .left = (float)left };
    own->seen = tab_arena_new_of(f->arena, bool, cells + 1);
    for (size_t c = 0; own->seen != NULL && c < cells; c++)
        used += own->seen[c] = x->rows[c] > 0;
    if (!f->problem.classification)
        own->unknown = (float)tab_groups_reach(lost * f->stack->prior_loss, f->stack->loss, (double)used);
    f->pairs += own->seen != NULL;
    return own->seen != NULL;
}

bool tab_new_pairs(const tab_engine *e, const tab_profile *p, bool served, tab_fitted *f)
{
    size_t j[COLUMNS + 1], n = choose(f, j);
    pair best[TRIED] = { 0 };
    double most[TRIED] = { 0 };
    bool ok = true;
    f->pair = tab_arena_new_of(f->arena, tab_new_pair, TRIED);
    if (f->pair == NULL)
        return false;
    if (!served || f->split.kind == TAB_SPLIT_GROUP)
        return true;
    for (size_t i = 0; ok && i < n * n; i++) {
        size_t a = j[i / n], b = j[i % n];
        pair x = { .code = { f->data->code[a], f->data->code[b] },
                   .j = { a, b },
                   .levels = { f->enc->f[a].levels, f->enc->f[b].levels } };
        double says;
        if (i / n >= i % n || x.levels[0] * x.levels[1] > CELLS)
            continue;
        ok = weigh(&f->problem, &x, &says);
        size_t at = TRIED;
        while (at > 0 && says > most[at - 1])
            at--;
        if (!ok || at == TRIED) {
            free(x.rows);
            continue;
        }
        free(best[TRIED - 1].rows);
        memmove(&best[at + 1], &best[at], (TRIED - at - 1) * sizeof *best);
        memmove(&most[at + 1], &most[at], (TRIED - at - 1) * sizeof *most);
        best[at] = x, most[at] = says;
    }
    for (size_t k = 0; k < TRIED; k++) {
        if (ok && best[k].rows != NULL)
            ok = leave_out(e, p, f, &best[k]);
        free(best[k].rows);
    }
    return ok;
}

bool tab_new_pairs_mark(tab_arena *a, const tab_fitted *f, tab_scoring *ret, uint32_t *regime,
                        uint32_t *doubt)
{
    Tabella__Prediction *m = ret->m;
    for (size_t k = 0; k < f->pairs; k++) {
        const tab_new_pair *own = &f->pair[k];
        const tab_feature *x = f->enc->f + own->feature[0], *y = f->enc->f + own->feature[1];
        const uint32_t *first = ret->d->code[own->feature[0]], *second = ret->d->code[own->feature[1]];
        bool any = false;
        for (size_t r = 0; r < ret->d->rows; r++) {
            if (first[r] >= x->levels || second[r] >= y->levels ||
                own->seen[(size_t)first[r] * y->levels + second[r]])
                continue;
            regime[r] = TAB_REGIME_NEW_GROUP;
            ret->beyond[r] = fmaxf(ret->beyond[r], own->unknown);
            if (ret->left != NULL)
                ret->left[r] = fminf(ret->left[r], own->left);
            if (doubt[r] == 0)
                doubt[r] = (uint32_t)m->n_doubts + 1, any = true;
        }
        if (any &&
            (m->doubts[m->n_doubts++] = tab_arena_printf(
                 a, "%.*s and %.*s have values that no row seen in fitting has together",
                 TAB_STR(f->column[x->source].address), TAB_STR(f->column[y->source].address))) == NULL)
            return false;
    }
    return true;
}
