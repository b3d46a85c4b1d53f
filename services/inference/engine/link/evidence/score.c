/* Weights without labels. Fellegi and Sunter's model with levels of agreement (agreement.c), its m from rows
 * believed matched and then from its own posterior (EM, rows competing for partners), its u from random pairs
 * and, for equal values, from how often the value occurs (term-frequency adjustment). Then what lies above
 * one candidate: rows_per_entity.c, calibrate.c, tied_matches.c, within_table_null.c. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text/normalize_text.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/link/pairs/link.h"

enum { CHUNKS = 64, RANDOM_PAIRS = 2500, ROUNDS = 6 };

/* How two values of an attribute agree, and what of it is exact (tab_agree). */
typedef struct {
    tab_agreement g;
    double exact;
} agreeing;

/* Pairs to compare, and where the outcome goes. */
typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_table_view *a, *b;
    const tab_attribute *attr;
    agreeing *const *of_values; /* (attrs) each (values of a, values of b), or NULL: by row */
    size_t attrs, n;
    const uint32_t *ra, *rb;
    tab_agreement *agree;
    const tab_sparse *wa, *wb; /* whole rows, for the two below; else all NULL */
    float *cosine, *elsewhere;
} comparing;

/* The value of attribute k on either side of pair i; NULL: none. */
static const tab_value *side_value(const comparing *c, size_t i, size_t k, bool second)
{
    const tab_view *w = second ? &c->b->col[c->attr[k].b] : &c->a->col[c->attr[k].a];
    uint32_t code = w->code[second ? c->rb[i] : c->ra[i]];
    return code == TAB_NULL ? NULL : &w->value[code];
}

/* A pair's codes, values, texts and tokens lie anywhere in memory: each is asked for some pairs before it
 * is read, when what it is found by has come. end: pairs of this chunk. */
static void fetch(const comparing *c, size_t i, size_t end)
{
    enum { CODES = 12, VALUES = 8, WORDS = 4 };
    for (size_t k = 0; k < c->attrs && i + CODES < end; k++) {
        __builtin_prefetch(&c->a->col[c->attr[k].a].code[c->ra[i + CODES]]);
        __builtin_prefetch(&c->b->col[c->attr[k].b].code[c->rb[i + CODES]]);
    }
    for (size_t k = 0; k < 2 * c->attrs && i + VALUES < end; k++) {
        const char *x = (const char *)side_value(c, i + VALUES, k / 2, k & 1);
        if (x != NULL) {
            __builtin_prefetch(x);
            __builtin_prefetch(x + sizeof(tab_value) - 1);
        }
    }
    for (size_t k = 0; k < 2 * c->attrs && i + WORDS < end; k++) {
        const tab_value *x = side_value(c, i + WORDS, k / 2, k & 1);
        if (x != NULL) {
            __builtin_prefetch(c->v->text + x->text);
            __builtin_prefetch(c->v->tok + x->tok);
        }
    }
}

static tab_agreement agree(const comparing *c, size_t k, uint32_t ra, uint32_t rb, double *exact)
{
    const tab_attribute *t = &c->attr[k];
    const tab_view *x = &c->a->col[t->a], *y = &c->b->col[t->b];
    uint32_t p = x->code[ra], q = y->code[rb];
    if (c->of_values[k] == NULL || p == TAB_NULL || q == TAB_NULL)
        return tab_agree(c->v, c->a, c->b, t, ra, rb, exact);
    const agreeing *known = &c->of_values[k][(size_t)p * y->values + q];
    *exact += known->exact;
    return known->g;
}

static void compare_chunk(void *ctx, size_t chunk)
{
    comparing *c = ctx;
    size_t end = c->n * (chunk + 1) / CHUNKS;
    for (size_t i = c->n * chunk / CHUNKS; i < end; i++) {
        if ((i & 1023) == 0 && tab_engine_cancelled(c->e))
            return;
        fetch(c, i, end);
        double explained = 0;
        for (size_t k = 0; k < c->attrs; k++)
            c->agree[i * c->attrs + k] = agree(c, k, c->ra[i], c->rb[i], &explained);
        if (c->cosine != NULL)
            c->elsewhere[i] =
                (float)tab_elsewhere(c->v, c->wa, c->wb, c->ra[i], c->rb[i], explained, &c->cosine[i]);
    }
}

/* Probability of the candidate under competition: its odds against no partner and against every other
 * candidate of those of its two rows that have but one partner. */
static void compete(const tab_linkage *l, size_t na, size_t nb, double *sum_a, double *sum_b, float *p)
{
    const tab_candidates *c = &l->c;
    memset(sum_a, 0, na * sizeof *sum_a);
    memset(sum_b, 0, nb * sizeof *sum_b);
    for (size_t i = 0; i < c->n; i++) {
        double w = exp(fmin((double)c->evidence[i] - l->log_none, 300));
        sum_a[c->a[i]] += w;
        sum_b[c->b[i]] += w;
    }
    for (size_t i = 0; i < c->n; i++) {
        double w = exp(fmin((double)c->evidence[i] - l->log_none, 300));
        double rest =
            (l->many_b ? 0 : fmax(sum_a[c->a[i]] - w, 0)) + (l->many_a ? 0 : fmax(sum_b[c->b[i]] - w, 0));
        p[i] = (float)(w / (1 + w + rest));
    }
}

/* ---- expectation and maximisation ------------------------------------------------------------ */

typedef struct {
    const tab_engine *e;
    tab_linkage *l;
    tab_tally *part; /* (CHUNKS, attrs) */
} fitting;

static void evidence_chunk(void *ctx, size_t chunk)
{
    fitting *f = ctx;
    tab_candidates *c = &f->l->c;
    for (size_t i = c->n * chunk / CHUNKS; i < c->n * (chunk + 1) / CHUNKS; i++) {
        double sum = (double)c->elsewhere[i];
        for (size_t k = 0; k < c->attrs; k++)
            sum += tab_evidence(f->l, k, &c->agree[i * c->attrs + k]);
        c->evidence[i] = (float)sum;
    }
}

void tab_tally_add(tab_tally *t, const tab_agreement *g, double p)
{
    t->level[g->level] += p;
    t->shared += p * g->shared;
    t->left_a += p * g->left_a;
    t->left_b += p * g->left_b;
}

static void tally_chunk(void *ctx, size_t chunk)
{
    fitting *f = ctx;
    tab_candidates *c = &f->l->c;
    tab_tally *t = f->part + chunk * c->attrs;
    memset(t, 0, c->attrs * sizeof *t);
    for (size_t i = c->n * chunk / CHUNKS; i < c->n * (chunk + 1) / CHUNKS; i++)
        for (size_t k = 0; k < c->attrs && c->p[i] > 1e-4f; k++)
            tab_tally_add(&t[k], &c->agree[i * c->attrs + k], (double)c->p[i]);
}

/* As many matches say beforehand how matches agree (decision 0646). */
static const double BEFOREHAND = 40;

void tab_weights_learn(tab_linkage *l, size_t k, const tab_tally *t, const double *u)
{
    static const double usual[TAB_LEVELS] = { 0, 0.7, 0.06, 0.05, 0.04, 0.03, 0.03, 0.03, 0.03, 0.03 };
    double total = 0, hit = 12 + t->shared, miss_a = 4 + t->left_a, miss_b = 4 + t->left_b;
    for (size_t q = 1; q < TAB_LEVELS; q++)
        total += t->level[q];
    for (size_t q = 1; q < TAB_LEVELS; q++) {
        double m = (t->level[q] + BEFOREHAND * usual[q]) / (total + BEFOREHAND);
        l->log_m[k * TAB_LEVELS + q] = log(m);
        l->weight[k * TAB_LEVELS + q] = log(m / u[k * TAB_LEVELS + q]);
    }
    l->log_kept[3 * k] = log((hit / (hit + miss_a) + hit / (hit + miss_b)) / 2);
    l->log_kept[3 * k + 1] = log(miss_a / (hit + miss_a));
    l->log_kept[3 * k + 2] = log(miss_b / (hit + miss_b));
}

/* 0 for tables of short fields, 1 for tables of texts: by the words of a row's longest value. */
static double text_share(const tab_table_view *a, const tab_table_view *b)
{
    double least = 1e9;
    const tab_table_view *side[] = { a, b };
    for (int k = 0; k < 2; k++) {
        size_t sum = 0;
        for (size_t r = 0; r < side[k]->rows; r++) {
            size_t most = 0;
            for (size_t c = 0; c < side[k]->cols; c++) {
                const tab_view *w = &side[k]->col[c];
                if (w->code[r] != TAB_NULL && w->value[w->code[r]].tok_n > most)
                    most = w->value[w->code[r]].tok_n;
            }
            sum += most;
        }
        least = fmin(least, (double)sum / (double)side[k]->rows);
    }
    return fmin(fmax((least - 5) / 3, 0), 1);
}

/* What the steps of scoring one pair of tables share. */
typedef struct {
    const tab_table_view *A, *B;
    double *u;                      /* (attrs, TAB_LEVELS): how often pairs by chance agree so far */
    double *sum_a, *sum_b;          /* (rows) */
    uint32_t *ra, *rb;              /* (r): pairs by chance */
    size_t r;                       /* small tables: all pairs */
    tab_agreement *random, *seeded; /* (r, attrs), (seeds, attrs) */
    agreeing **of_values;           /* (attrs) */
    fitting fit;
} scoring;

/* Columns of few values: each two of them are compared once, however many pairs of rows hold them. Places are
 * not: two columns make one. */
static bool agree_values(const tab_engine *e, const tab_views *v, const tab_linkage *l, scoring *s,
                         tab_arena *a)
{
    enum { MOST = 1 << 14 };
    size_t pairs = l->c.n + s->r;
    s->of_values = tab_arena_new_of(a, agreeing *, l->attrs);
    for (size_t k = 0; k < l->attrs && !tab_arena_full(a) && !tab_engine_cancelled(e); k++) {
        const tab_attribute *t = &l->attr[k];
        const tab_view *x = &s->A->col[t->a], *y = &s->B->col[t->b];
        size_t n = x->values * y->values;
        s->of_values[k] = NULL;
        if (t->other != NULL || n > MOST || n > pairs / 2)
            continue;
        s->of_values[k] = tab_arena_new_of(a, agreeing, n);
        for (size_t i = 0; s->of_values[k] != NULL && i < n; i++) {
            agreeing *q = &s->of_values[k][i];
            q->exact = 0;
            q->g = tab_agree_values(v, s->A, s->B, t, (uint32_t)(i / y->values), (uint32_t)(i % y->values),
                                    &q->exact);
        }
    }
    return !tab_arena_full(a);
}

static bool scoring_new(const tab_engine *e, const tab_views *v, tab_linkage *l, const tab_row_pairs *seeds,
                        tab_arena *a, scoring *k)
{
    tab_candidates *c = &l->c;
    size_t attrs = l->attrs, na = v->table[l->ta].rows, nb = v->table[l->tb].rows;
    *k = (scoring){ .A = &v->table[l->ta],
                    .B = &v->table[l->tb],
                    .r = na * nb < RANDOM_PAIRS ? na * nb : RANDOM_PAIRS };
    c->agree = tab_arena_new_of(a, tab_agreement, c->n * attrs);
    c->cosine = tab_arena_new_of(a, float, c->n);
    c->elsewhere = tab_arena_new_of(a, float, c->n);
    c->evidence = tab_arena_new_of(a, float, c->n);
    c->p = tab_arena_new_of(a, float, c->n);
    c->kept = tab_arena_new_of(a, bool, c->n);
    l->weight = tab_arena_new_of(a, double, attrs *TAB_LEVELS);
    l->log_m = tab_arena_new_of(a, double, attrs *TAB_LEVELS);
    l->log_kept = tab_arena_new_of(a, double, attrs * 3);
    k->u = tab_arena_new_of(a, double, attrs *TAB_LEVELS);
    k->sum_a = tab_arena_new_of(a, double, na);
    k->sum_b = tab_arena_new_of(a, double, nb);
    k->ra = tab_arena_new_of(a, uint32_t, k->r);
    k->rb = tab_arena_new_of(a, uint32_t, k->r);
    k->random = tab_arena_new_of(a, tab_agreement, k->r * attrs);
    k->seeded = tab_arena_new_of(a, tab_agreement, seeds->n * attrs);
    k->fit = (fitting){ e, l, tab_arena_new_of(a, tab_tally, CHUNKS * attrs) };
    return !tab_arena_full(a) && agree_values(e, v, l, k, a);
}

/* How candidates, pairs by chance and seeds agree, by attribute. */
static void compare_all(const tab_engine *e, const tab_views *v, const tab_link_table *tables, tab_linkage *l,
                        const tab_row_pairs *seeds, scoring *k)
{
    tab_candidates *c = &l->c;
    size_t na = k->A->rows, nb = k->B->rows;
    comparing job = { e,
                      v,
                      k->A,
                      k->B,
                      l->attr,
                      k->of_values,
                      l->attrs,
                      c->n,
                      c->a,
                      c->b,
                      c->agree,
                      &tables[l->ta].whole,
                      &tables[l->tb].whole,
                      c->cosine,
                      c->elsewhere };
    tab_engine_for(e, CHUNKS, compare_chunk, &job);
    for (size_t i = 0; i < k->r; i++) {
        k->ra[i] = (uint32_t)(k->r < RANDOM_PAIRS ? i / nb : tab_hash_mix(i, 11) % na);
        k->rb[i] = (uint32_t)(k->r < RANDOM_PAIRS ? i % nb : tab_hash_mix(i, 13) % nb);
    }
    comparing chance = { e,     v,     k->A,      k->B, l->attr, k->of_values, l->attrs, k->r,
                         k->ra, k->rb, k->random, NULL, NULL,    NULL,         NULL };
    tab_engine_for(e, CHUNKS, compare_chunk, &chance);
    comparing sure = { e,        v,        k->A,      k->B, l->attr, k->of_values, l->attrs, seeds->n,
                       seeds->a, seeds->b, k->seeded, NULL, NULL,    NULL,         NULL };
    tab_engine_for(e, CHUNKS, compare_chunk, &sure);
}

/* The first weights: u by pairs by chance, m by the seeds. */
static void weigh_first(tab_linkage *l, const tab_row_pairs *seeds, scoring *s)
{
    size_t attrs = l->attrs;
    for (size_t k = 0; k < attrs; k++) {
        double total = 0, *uk = s->u + k * TAB_LEVELS;
        tab_tally t = { 0 };
        for (size_t i = 0; i < s->r; i++) {
            uk[s->random[i * attrs + k].level]++;
            total += s->random[i * attrs + k].level != TAB_MISSING;
        }
        for (size_t q = 1; q < TAB_LEVELS; q++)
            uk[q] = (uk[q] + 0.5) / (total + 0.5 * (TAB_LEVELS - 1));
        for (uint8_t q = 2; q < TAB_LEVELS && l->attr[k].other != NULL; q++)
            uk[q] = tab_geo_chance(q) > 0 ? tab_geo_chance(q) : uk[q];
        for (size_t i = 0; i < seeds->n; i++)
            tab_tally_add(&t, &s->seeded[i * attrs + k], 1);
        tab_weights_learn(l, k, &t, s->u);
    }
}

/* The weights again, by how the candidates agree as far as they are matches. */
static void weigh_again(tab_linkage *l, const scoring *s)
{
    size_t attrs = l->attrs;
    for (size_t k = 0; k < attrs; k++) {
        tab_tally t = s->fit.part[k];
        for (size_t p = 1; p < CHUNKS; p++) {
            const tab_tally *x = &s->fit.part[p * attrs + k];
            for (size_t q = 0; q < TAB_LEVELS; q++)
                t.level[q] += x->level[q];
            t.shared += x->shared;
            t.left_a += x->left_a;
            t.left_b += x->left_b;
        }
        tab_weights_learn(l, k, &t, s->u);
    }
}

/* Evidence, competition, weights, share: in rounds. */
static tab_status fit_rounds(const tab_engine *e, tab_linkage *l, scoring *s, tab_error *err)
{
    tab_candidates *c = &l->c;
    size_t na = s->A->rows, nb = s->B->rows;
    double least = (double)(na < nb ? na : nb), share = 0.5;
    l->many_a = l->many_b = false;
    for (int round = 0; round < ROUNDS; round++) {
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        tab_engine_for(e, CHUNKS, evidence_chunk, &s->fit);
        l->log_none = log((double)na * (double)nb / least * (1 - share) / share);
        compete(l, na, nb, s->sum_a, s->sum_b, c->p);
        if (round + 1 == ROUNDS)
            break;
        tab_engine_for(e, CHUNKS, tally_chunk, &s->fit);
        double expected = 0;
        for (size_t i = 0; i < c->n; i++)
            expected += (double)c->p[i];
        share = fmin(fmax(expected / least, 0.002), 0.98);
        weigh_again(l, s);
    }
    l->share = share;
    return TAB_OK;
}

tab_status tab_score_pairs(const tab_engine *e, const tab_views *v, tab_link_table *tables, tab_linkage *l,
                           const tab_row_pairs *seeds, tab_arena *a, tab_error *err)
{
    tab_candidates *c = &l->c;
    scoring s;
    if (!scoring_new(e, v, l, seeds, a, &s))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    compare_all(e, v, tables, l, seeds, &s);
    weigh_first(l, seeds, &s);
    TAB_TRY(fit_rounds(e, l, &s, err));
    float *self = NULL;
    double text = text_share(s.A, s.B);
    tab_status st = tab_rows_per_entity(e, v, l, &self, err);
    if (st == TAB_OK && (l->many_a || l->many_b))
        compete(l, s.A->rows, s.B->rows, s.sum_a, s.sum_b, c->p);
    if (st == TAB_OK && l->many_a && l->many_b)
        for (size_t i = 0; i < c->n; i++)
            c->kept[i] = true;
    else if (st == TAB_OK)
        st = tab_calibrate(e, v, l, self, text, err);
    if (st == TAB_OK && !(l->many_a && l->many_b) && !tab_tied_matches(v, l, self))
        st = tab_fail(err, TAB_INTERNAL, "", "out of memory");
    if (st == TAB_OK && !l->many_a && !l->many_b)
        st = tab_link_doubt(e, v, tables, l, self, text, err);
    free(self);
    return st;
}
