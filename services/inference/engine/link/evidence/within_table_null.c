/* Do two tables share rows at all? What chance makes alike across two tables it makes alike within each of
 * them.
 *
 *   rows of a table ─> the nearest other row of the same table, by the score that ranks candidates: a null
 *                      that knows how the columns depend on one another (an e-mail on a name), which
 *                      evidence summed over columns does not
 *   pairs of both   ─> of na * nb pairs, chance makes no more alike than the geometric mean of what it
 *                      makes of na^2 / 2 and of nb^2 / 2, twice (Cauchy and Schwarz, for agreement that
 *                      is a kernel): decoys for each score
 *
 * Where far fewer matches stand above these decoys than are said, each is as likely as they allow
 * (target-decoy competition, Elias and Gygi 2007). Near rows that agree in nearly all that they say are
 * one entity written twice, and no decoys. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"

enum {
    CHUNKS = 64,
    ASKED = 1000 /* rows of a side */,
    CONTRADICT = 6 /* level of values that are not alike */
};

/* The nearest row of a row's own table. */
typedef struct {
    float key;
    float decoy; /* 0: one entity written twice; 1: chance */
} nearest;

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_linkage *l;
    const tab_link_table *table;
    const tab_table_view *t;
    tab_attribute *attr;  /* of the table with itself */
    const float *self;    /* of the table's rows */
    const double *chance; /* (columns) that two rows agree where the tables share nothing; or 0 */
    const tab_near *near;
    const uint32_t *row; /* (n) that ask */
    size_t n;
    tab_pair_scale scale;
    double text;
    nearest *best; /* (n) */
} asking;

static double ramp(double x, double from, double to)
{
    return fmin(fmax((x - from) / (to - from), 0), 1);
}

/* Log of how much likelier two rows are to agree as they do in the columns that the tables do not share if
 * they are one entity (which agree in SAME of them) than if they are two. A column without an equal pair says
 * nothing: it may number the rows. */
static double agree_elsewhere(const asking *q, uint32_t x, uint32_t y)
{
    static const double SAME = 0.8;
    double sum = 0;
    for (size_t c = 0; c < q->t->cols; c++) {
        const tab_view *w = &q->t->col[c];
        uint32_t p = w->code[x], r = w->code[y];
        if (q->chance[c] <= 0 || p == TAB_NULL || r == TAB_NULL)
            continue;
        sum += p == r ? log(SAME / q->chance[c]) : log((1 - SAME) / (1 - q->chance[c]));
    }
    return sum;
}

/* The chance that two rows agree in a column, 0 for those that are compared and those that say nothing. */
static void fill_chance(const tab_table_view *t, const tab_linkage *l, bool second, double *chance)
{
    for (size_t c = 0; c < t->cols; c++) {
        const tab_view *w = &t->col[c];
        double n = (double)w->present;
        chance[c] = 0;
        for (uint32_t i = 0; i < w->values; i++)
            chance[c] += (double)w->value[i].rows * (w->value[i].rows - 1.0) / fmax(n * (n - 1), 1);
    }
    for (size_t k = 0; k < l->attrs; k++)
        chance[t->col[second ? l->attr[k].b : l->attr[k].a].chief] = 0;
    for (size_t k = 0; k < l->joins; k++)
        for (uint32_t i = 0; l->joined[k].second == second && i < l->joined[k].parts; i++)
            chance[l->joined[k].part[i]] = 0;
}

/* How rare the value of two rows of one table is beside them, as that of two rows of two tables is: it does
 * not stand twice for being shared by these two. */
static float rare_without(const tab_view *w, uint32_t row)
{
    float rest = (float)w->value[w->code[row]].rows - 2 + w->once;
    return logf(fmaxf(rest, w->once) / (float)w->present);
}

static void ask_chunk(void *ctx, size_t chunk)
{
    asking *q = ctx;
    for (size_t i = q->n * chunk / CHUNKS; i < q->n * (chunk + 1) / CHUNKS; i++) {
        q->best[i] = (nearest){ -INFINITY, 0 };
        for (size_t k = 0; k < TAB_NEAR && !tab_engine_cancelled(q->e); k++) {
            uint32_t x = q->row[i], y = q->near[i * TAB_NEAR + k].row;
            if (y == TAB_NULL)
                break;
            double elsewhere = (1 - q->text) * ramp(-agree_elsewhere(q, x, y), 0, 1.5);
            double evidence = 0, explained = 0, compared = 0, contradict = 0;
            bool strangers = elsewhere >= 0.5;
            for (size_t j = 0; j < q->l->attrs; j++) {
                tab_agreement g = tab_agree(q->v, q->t, q->t, &q->attr[j], x, y, &explained);
                if (g.level == TAB_EQUAL && strangers)
                    g.rare = rare_without(&q->t->col[q->attr[j].a], x);
                evidence += tab_evidence(q->l, j, &g);
                compared += g.level != TAB_MISSING;
                contradict += g.level >= CONTRADICT;
            }
            float cosine;
            evidence += tab_elsewhere(q->v, &q->table->whole, &q->table->whole, x, y, explained, &cosine);
            double ratio = evidence / fmax((double)fminf(q->self[x], q->self[y]), 1);
            float key = tab_pair_key(&q->scale, evidence, (double)cosine, ratio);
            if (key <= q->best[i].key)
                continue;
            /* descriptions of one thing share half of their words */
            double other = 1 - ramp(ratio, 0.6 - 0.3 * q->text, 0.85 - 0.3 * q->text);
            double apart = (1 - q->text) * ramp(contradict / fmax(compared, 1), 0.2, 0.35);
            q->best[i] = (nearest){ key, (float)fmax(fmax(other, apart), elsewhere) };
        }
    }
}

static int highest_first(const void *a, const void *b)
{
    float x = ((const nearest *)a)->key, y = ((const nearest *)b)->key;
    return (x < y) - (x > y);
}

/* The nearest rows of a sample of a table's, nearest first. */
static tab_status ask(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                      const tab_linkage *l, bool second, const float *self, tab_pair_scale scale, double text,
                      tab_arena *a, nearest **ret, size_t *ret_n, tab_error *err)
{
    size_t t = second ? l->tb : l->ta, rows = v->table[t].rows, n = rows < ASKED ? rows : ASKED;
    tab_attribute *attr = tab_arena_new_of(a, tab_attribute, l->attrs);
    tab_near *near = tab_arena_new_of(a, tab_near, n * TAB_NEAR);
    uint32_t *row = tab_arena_new_of(a, uint32_t, n);
    double *chance = tab_arena_new_of(a, double, v->table[t].cols);
    *ret = tab_arena_new_of(a, nearest, n);
    *ret_n = n;
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t k = 0; k < l->attrs; k++) {
        attr[k] = l->attr[k];
        attr[k].a = attr[k].b = second ? l->attr[k].b : l->attr[k].a;
        attr[k].scale = 1;
        if (attr[k].other != NULL)
            attr[k].other = attr + (attr[k].other - l->attr);
        if (second && attr[k].numeric && l->attr[k].scale != 1) { /* in b's unit */
            attr[k].sorted = v->table[t].col[attr[k].b].sorted;
            attr[k].sorted_n = v->table[t].col[attr[k].b].sorted_n;
        }
    }
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)(rows * i / n);
    tab_status st = tab_rows_near(e, &tables[t].whole, row, n, &tables[t].whole, &tables[t].index, true,
                                  false, near, err);
    if (st != TAB_OK)
        return st;
    fill_chance(&v->table[t], l, second, chance);
    asking q = { e, v, l, &tables[t], &v->table[t], attr, self, chance, near, row, n, scale, text, *ret };
    tab_engine_for(e, CHUNKS, ask_chunk, &q);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    qsort(*ret, n, sizeof **ret, highest_first);
    return TAB_OK;
}

typedef struct {
    float key;
    uint32_t i;    /* candidate */
    double decoys; /* expected among pairs that are as alike and more */
} target;

static int best_first(const void *a, const void *b)
{
    const target *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

typedef struct {
    double fall, n;
} block;

/* p of the targets, best first, by the decoys that each score adds: they grow as scores fall (pool
 * adjacent violators). One decoy more than is expected is reckoned with above all. */
static void likelihood(const target *t, size_t n, float *p, block *stack)
{
    size_t top = 0;
    for (size_t k = 0; k < n; k++) {
        stack[top++] = (block){ k == 0 ? t[0].decoys + 1 : t[k].decoys - t[k - 1].decoys, 1 };
        while (top > 1 && stack[top - 2].fall * stack[top - 1].n >= stack[top - 1].fall * stack[top - 2].n) {
            top--;
            stack[top - 1].fall += stack[top].fall;
            stack[top - 1].n += stack[top].n;
        }
    }
    for (size_t b = 0, k = 0; b < top; b++)
        for (double i = 0; i < stack[b].n; i++)
            p[k++] = (float)fmin(fmax(1 - stack[b].fall / stack[b].n, 0), 1 - 0.5 / (double)(n + 1));
}

/* Fills t[].decoys; returns how many targets stand above what decoys explain, less two and a half standard
 * deviations. */
static double count_decoys(target *t, size_t n, const nearest *const own[2], const size_t asked[2],
                           const double rows[2])
{
    static const double PRIOR = 2, SURE = 2.5;
    double seen[2] = { 0, 0 }, pairs[2], all = rows[0] * rows[1], most = 0, excess = 0;
    size_t at[2] = { 0, 0 };
    for (int s = 0; s < 2; s++)
        pairs[s] = fmax(rows[s] * (rows[s] - 1) / 2, 1);
    for (size_t k = 0; k < n; k++) {
        double rate[2], decoys = 0, w[2];
        for (int s = 0; s < 2; s++) {
            for (; at[s] < asked[s] && own[s][at[s]].key >= t[k].key; at[s]++)
                seen[s] += (double)own[s][at[s]].decoy / 2; /* each of two rows finds the other */
            w[s] = seen[s] * rows[s] / (double)asked[s];
        }
        double pool = (w[0] + w[1]) / (pairs[0] + pairs[1]);
        for (int s = 0; s < 2 && pool > 0; s++) /* a small table has few pairs: drawn to what both say */
            rate[s] = (w[s] + PRIOR) / (pairs[s] + PRIOR / pool);
        if (pool > 0)
            decoys = all * sqrt(rate[0] * rate[1]);
        t[k].decoys = most = fmax(most, decoys);
        double noise = most + most * most / fmax(seen[0] + seen[1], 1e-9);
        excess = fmax(excess, (double)(k + 1) - most - SURE * sqrt(noise));
    }
    return excess;
}

static double log_odds(double p)
{
    p = fmin(fmax(p, 1e-6), 1 - 1e-6);
    return log(p / (1 - p));
}

tab_status tab_link_doubt(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                          tab_linkage *l, const float *self, double text, tab_error *err)
{
    /* of the smaller table's rows: so many are not chance where the model of score.c sees shared rows at
     * all */
    static const double MOST = 0.5, SHARED = 0.25;
    tab_candidates *c = &l->c;
    size_t n = 0, said = 0, na = v->table[l->ta].rows, nb = v->table[l->tb].rows;
    double sure = 0;
    for (size_t i = 0; i < c->n; i++) {
        n += c->kept[i];
        said += c->kept[i] && c->p[i] >= 0.5f;
        sure += c->kept[i] && c->p[i] >= 0.5f ? (double)c->p[i] : 0;
    }
    if (said == 0 || (l->share >= SHARED && (double)said >= MOST * (double)(na < nb ? na : nb)))
        return TAB_OK;
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    if (a == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    target *t = tab_arena_new_of(a, target, n);
    float *p = tab_arena_new_of(a, float, n);
    block *stack = tab_arena_new_of(a, block, n);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    tab_pair_scale scale = tab_pair_scale_of(c, self, na);
    nearest *own[2] = { NULL, NULL };
    size_t asked[2] = { 0, 0 };
    for (int s = 0; s < 2; s++) {
        tab_status st = ask(e, v, tables, l, s, self + (s ? na : 0), scale, text, a, &own[s], &asked[s], err);
        if (st != TAB_OK)
            return st;
    }
    n = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->kept[i])
            t[n++] = (target){ tab_pair_key(&scale, (double)c->evidence[i], (double)c->cosine[i],
                                            tab_pair_ratio(c, self, na, i)),
                               i, 0 };
    qsort(t, n, sizeof *t, best_first);
    double excess = count_decoys(t, n, (const nearest *const[2]){ own[0], own[1] }, asked,
                                 (const double[2]){ (double)na, (double)nb });
    likelihood(t, n, p, stack);
    double doubt = 1 - ramp(excess / sure, 0.5, 0.75);
    for (size_t k = 0; k < n; k++) {
        double z = log_odds((double)c->p[t[k].i]), other = log_odds((double)p[k]);
        if (c->p[t[k].i] > 0)
            c->p[t[k].i] = (float)(1 / (1 + exp(-(z - doubt * fmax(z - other, 0)))));
    }
    return TAB_OK;
}
