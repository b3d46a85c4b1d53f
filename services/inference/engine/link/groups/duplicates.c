/* See duplicates.h: the pairs that a model finds likely, and the groups that they agree on. */
#include "services/inference/engine/link/groups/duplicates.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/link/evidence/twin_model.h"
#include "services/inference/engine/link/pairs/twin_rules.h"
#include "services/inference/engine/profile/lines.h"

/* ---- groups -----------------------------------------------------------------------------------
 *
 * Correlation clustering by greedy agglomeration: the likeliest pair first, two groups are joined where the
 * log-odds of all known pairs between them sum to more than nothing (Bansal, Blum, Chawla, "Correlation
 * clustering", 2004). */

static const float SURE = 0.97f; /* decision 0318 */

typedef struct {
    const tab_twin_pairs *s;
    uint32_t *up, *next, *size;
    double least; /* log-odds of the least that joins: of 0.5, or of what is asked for where that is lower */
} grouping;

int tab_twins_likeliest_first(const void *a, const void *b)
{
    const tab_twin *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static double log_odds(double p)
{
    double q = fmin(fmax(p, 1e-4), 1 - 1e-4);
    return log(q / (1 - q));
}

static double weight(const grouping *g, float p)
{
    static const double MOST = 5;
    return fmin(fmax(log_odds((double)p) - g->least, -MOST), MOST);
}

/* The sum over known pairs between two groups, at most MOST rows of the smaller one. */
static double between(grouping *g, uint32_t x, uint32_t y)
{
    enum { MOST = 64 };
    if (g->size[tab_root(g->up, x)] > g->size[tab_root(g->up, y)]) {
        uint32_t t = x;
        x = y;
        y = t;
    }
    const tab_twin_pairs *s = g->s;
    uint32_t other = tab_root(g->up, y), i = x;
    double sum = 0;
    int left = MOST;
    do {
        for (uint64_t k = s->at[i]; k < s->at[i + 1]; k++) {
            uint32_t q = s->pair[k], o = s->a[q] == i ? s->b[q] : s->a[q];
            if (tab_root(g->up, o) == other)
                sum += weight(g, s->p[q]);
        }
        i = g->next[i];
    } while (i != x && --left > 0);
    return sum;
}

static void join(grouping *g, uint32_t x, uint32_t y)
{
    uint32_t p = tab_root(g->up, x), q = tab_root(g->up, y);
    uint32_t to = p < q ? p : q, from = p < q ? q : p;
    g->up[from] = to;
    g->size[to] += g->size[from];
    tab_splice(g->next, x, y);
}

/* ---- what follows ----------------------------------------------------------------------------- */

typedef struct {
    tab_twin *twin;
    size_t n, cap;
    bool failed;
} found;

static void add(found *f, tab_twin t)
{
    if (f->n == f->cap) {
        size_t cap = f->cap * 2 + 256;
        tab_twin *grown = realloc(f->twin, cap * sizeof *grown);
        f->failed = f->failed || grown == NULL;
        if (f->failed)
            return;
        f->twin = grown;
        f->cap = cap;
    }
    f->twin[f->n++] = t;
}

static uint32_t other(const tab_twin_pairs *s, uint32_t pair, uint32_t row)
{
    return s->a[pair] == row ? s->b[pair] : s->a[pair];
}

/* Rows of one group that were no candidates: an entity of many rows has more than a row has neighbours. As
 * likely as the likeliest third row makes them. best (rows) and touched are scratch, best all zero. */
static void follow(grouping *g, float least, float *best, uint32_t *touched, found *f)
{
    const tab_twin_pairs *s = g->s;
    for (uint32_t i = 0; i < s->rows && !f->failed; i++) {
        size_t n = 0;
        uint32_t group = tab_root(g->up, i);
        if (g->size[group] < 3)
            continue;
        for (uint64_t k = s->at[i]; k < s->at[i + 1]; k++) {
            uint32_t third = other(s, s->pair[k], i);
            float p = s->p[s->pair[k]];
            if (p < least || tab_root(g->up, third) != group)
                continue;
            for (uint64_t q = s->at[third]; q < s->at[third + 1]; q++) {
                uint32_t j = other(s, s->pair[q], third);
                float both = p * s->p[s->pair[q]];
                if (j <= i || both < least || tab_root(g->up, j) != group)
                    continue;
                if (best[j] == 0)
                    touched[n++] = j;
                best[j] = fmaxf(best[j], both);
            }
        }
        for (uint64_t k = s->at[i]; k < s->at[i + 1]; k++)
            best[other(s, s->pair[k], i)] = 0;
        for (size_t k = 0; k < n; k++) {
            if (best[touched[k]] > 0)
                add(f, (tab_twin){ i, touched[k], best[touched[k]], best[touched[k]] >= SURE });
            best[touched[k]] = 0;
        }
    }
}

static void group(grouping *g, const found *f)
{
    for (uint32_t r = 0; r < g->s->rows; r++) {
        g->up[r] = g->next[r] = r;
        g->size[r] = 1;
    }
    for (size_t i = 0; i < f->n; i++) {
        const tab_twin *w = &f->twin[i];
        if (tab_root(g->up, w->a) != tab_root(g->up, w->b) && between(g, w->a, w->b) >= 0)
            join(g, w->a, w->b);
    }
}

tab_status tab_twin_groups(const tab_twin_pairs *s, float least, tab_arena *a, tab_twin **ret, size_t *ret_n,
                           tab_error *err)
{
    static const float NEVER = 0.001f; /* what is less likely than that is no answer, whatever is asked for */
    size_t rows = s->rows, kept = 0;
    found f = { 0 };
    least = fmaxf(least, NEVER);
    grouping g = { s, malloc((rows + 1) * 4), malloc((rows + 1) * 4), malloc((rows + 1) * 4),
                   log_odds(fmin((double)least, 0.5)) };
    float *best = calloc(rows + 1, sizeof *best);
    uint32_t *touched = malloc((rows + 1) * sizeof *touched);
    for (size_t i = 0; i < s->n && !f.failed; i++)
        if (s->p[i] >= least)
            add(&f,
                (tab_twin){ s->a[i], s->b[i], s->p[i], s->p[i] >= SURE || (s->copy != NULL && s->copy[i]) });
    f.failed =
        f.failed || g.up == NULL || g.next == NULL || g.size == NULL || best == NULL || touched == NULL;
    if (!f.failed && f.n > 0) {
        qsort(f.twin, f.n, sizeof *f.twin, tab_twins_likeliest_first);
        group(&g, &f);
        for (size_t i = 0; i < f.n; i++)
            if (tab_root(g.up, f.twin[i].a) == tab_root(g.up, f.twin[i].b))
                f.twin[kept++] = f.twin[i];
        f.n = kept;
        follow(&g, least, best, touched, &f);
        qsort(f.twin, f.n, sizeof *f.twin, tab_twins_likeliest_first);
    }
    *ret = f.failed ? NULL : tab_arena_new_of(a, tab_twin, f.n);
    bool ok = *ret != NULL;
    if (ok && f.n > 0)
        memcpy(*ret, f.twin, f.n * sizeof **ret);
    *ret_n = f.n;
    free(f.twin);
    free(g.up);
    free(g.next);
    free(g.size);
    free(best);
    free(touched);
    return ok ? TAB_OK : tab_no_memory(err);
}

/* Rows that differ in nothing but spelling are known by Bayes' rule alone (decision 0318): the model, which
 * has seen tables of look-alikes, may be less sure of them. Of rows that are equal no more are one than
 * chance leaves. */
static bool hear_copies(const tab_views *v, size_t table, tab_arena *a, tab_twin_pairs *s)
{
    const tab_twin_rules *told = tab_twin_rules_new(v, table, a);
    s->copy = tab_arena_new_of(a, bool, s->n);
    const float *beyond = told == NULL ? NULL : tab_twin_rules_beyond_chance(told, a);
    if (s->copy == NULL || beyond == NULL)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        float p = tab_twin_rules_p(told, s->a[i], s->b[i]);
        s->copy[i] = p >= 0.5f;
        s->p[i] = fmaxf(s->p[i], p);
        float most = beyond[s->a[i]];
        if (s->p[i] > most && tab_twin_rules_equal(told, s->a[i], s->b[i])) {
            s->p[i] = most;
            s->copy[i] = s->copy[i] && most >= 0.5f;
        }
    }
    return true;
}

/* Items of two orders are two, however alike: rows that differ in whose they are are not one. */
static void hear_whose(tab_twin_pairs *s)
{
    for (size_t c = 0; s->voice != NULL && c < s->t[0]->cols; c++) {
        const tab_view *w = &s->t[0]->col[c];
        for (size_t i = 0; s->voice[c] == TAB_VOICE_WHOSE && i < s->n; i++) {
            uint32_t x = w->code[s->a[i]], y = w->code[s->b[i]];
            if (x != TAB_NULL && y != TAB_NULL && w->value[x].key != w->value[y].key) {
                s->p[i] = 0;
                s->copy[i] = false;
            }
        }
    }
}

void tab_twins_hear_keys(tab_twin_pairs *s, const bool *keys)
{
    static const float ODDS = 0.001f;
    for (size_t c = 0; keys != NULL && c < s->t[0]->cols; c++) {
        const tab_view *w = &s->t[0]->col[c];
        for (size_t i = 0; keys[c] && i < s->n; i++) {
            uint32_t x = w->code[s->a[i]], y = w->code[s->b[i]];
            if (x == TAB_NULL || y == TAB_NULL || w->value[x].key == w->value[y].key)
                continue;
            s->p[i] = ODDS * s->p[i] / (1 - s->p[i] + ODDS * s->p[i]);
            s->copy[i] = false;
        }
    }
}

/* A table in which chance explains nearly all that is said has no twins. Of its pairs a likelihood ratio of w
 * and more comes by chance to at most one in w (Markov's inequality), so the odds of a pair are at most w
 * times the share of the pairs that are twins, which follows from what is then said of all
 * (expectation-maximisation): of numbers that agree now and then it falls to nothing. Where it does not, the
 * model has seen more than the columns' evidence, and stands (decision 0494). False: memory. */
static bool hear_chance(tab_twin_pairs *s)
{
    enum { ROUNDS = 20 };
    static const double NEARLY = 0.9;
    double pairs = (double)s->rows * ((double)s->rows - 1) / 2, said = 0, twins;
    float *own = malloc((s->n + 1) * sizeof *own);
    if (own == NULL)
        return false;
    for (size_t i = 0; i < s->n; i++)
        said += (double)s->p[i];
    twins = said;
    for (size_t round = 0; round < ROUNDS; round++) {
        double sum = 0;
        for (size_t i = 0; i < s->n; i++) {
            double odds = exp(fmin((double)s->evidence[i], 300)) * twins / pairs;
            own[i] = fminf(s->p[i], (float)(odds / (1 + odds)));
            sum += (double)own[i];
        }
        if (sum > 0.99 * twins)
            break;
        twins = sum;
    }
    if (twins < (1 - NEARLY) * said)
        memcpy(s->p, own, s->n * sizeof *own);
    free(own);
    return true;
}

tab_status tab_twins_judge(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                           size_t table, const tab_voice *voice, tab_arena *a, tab_twin_pairs *s,
                           tab_error *err)
{
    TAB_TRY(tab_twin_pairs_new(e, v, tables, table, voice, a, s, err));
    if (tab_lines_document(v->table[table].profile) != TAB_NULL)
        s->n = 0; /* lines of one document are alike by their nature, and the document's own values are few */
    TAB_TRY(tab_twin_model_run(e, tab_twin_model_shipped(), s, err));
    if (s->n > 0 && !hear_copies(v, table, a, s))
        return tab_no_memory(err);
    if (s->n > 0)
        hear_whose(s);
    if (s->n > 0 && (!hear_chance(s) || !tab_variants_part(s) ||
                     !tab_relatives_doubt(v, table, table, s->n, s->a, s->b, NULL, s->p) ||
                     !tab_movers_find(s, table, a)))
        return tab_no_memory(err);
    return TAB_OK;
}
