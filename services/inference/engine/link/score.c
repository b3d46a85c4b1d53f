/* Weights without labels. Fellegi and Sunter's model with levels of agreement, its m from rows believed
 * matched and then from its own posterior (EM, rows competing for partners), its u from random pairs and,
 * for equal values, from how often the value occurs (term-frequency adjustment). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/text.h"
#include "services/inference/engine/link/link.h"

enum { CHUNKS = 64, RANDOM_PAIRS = 6000, ROUNDS = 6 };

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_table_view *a, *b;
    const tab_attribute *attr;
    size_t attrs, n;
    const uint32_t *ra, *rb;
    uint8_t *level;
    const tab_sparse *wa, *wb;
    float *cosine;
    tab_token_match *token;
    float *elsewhere;
} comparing;

/* Evidence of words that two rows share in any columns, above what a pair of aligned columns explains. A
 * word in another column is worth less, and a common one nothing. */
static float shared_elsewhere(const comparing *c, size_t i)
{
    const tab_sparse *a = c->wa, *b = c->wb;
    uint64_t p = a->at[c->ra[i]], pn = a->at[c->ra[i] + 1], q = b->at[c->rb[i]], qn = b->at[c->rb[i] + 1];
    double sum = 0, explained = 0;
    while (p < pn && q < qn && a->id[p] < c->v->terms && b->id[q] < c->v->terms) {
        uint32_t x = a->id[p], y = b->id[q];
        if (x == y)
            sum += fmax(0, (double)c->v->rarity[x] - 2.5);
        p += x <= y;
        q += y <= x;
    }
    for (size_t k = 0; k < c->attrs; k++)
        explained += (double)c->token[i * c->attrs + k].exact - 2.5 * c->token[i * c->attrs + k].shared;
    sum -= fmax(explained, 0);
    return sum <= 0 ? 0 : (float)(0.5 * sum / (1 + 0.05 * sum));
}

static void compare_chunk(void *ctx, size_t chunk)
{
    comparing *c = ctx;
    for (size_t i = c->n * chunk / CHUNKS; i < c->n * (chunk + 1) / CHUNKS; i++) {
        if ((i & 1023) == 0 && tab_engine_cancelled(c->e))
            return;
        for (size_t k = 0; k < c->attrs; k++) {
            const tab_view *x = &c->a->col[c->attr[k].a], *y = &c->b->col[c->attr[k].b];
            uint32_t p = x->code[c->ra[i]], q = y->code[c->rb[i]];
            c->level[i * c->attrs + k] =
                p == TAB_NULL || q == TAB_NULL
                    ? TAB_MISSING
                    : tab_compare(c->v, &c->attr[k], &x->value[p], &y->value[q],
                                  c->token == NULL ? NULL : &c->token[i * c->attrs + k]);
        }
        if (c->elsewhere != NULL)
            c->elsewhere[i] = shared_elsewhere(c, i);
        if (c->cosine != NULL)
            c->cosine[i] = tab_sparse_dot(c->wa, c->ra[i], c->wb, c->rb[i]);
    }
}

/* How rare the value is on which both sides agree: log of its share of both columns. */
static double log_share(const tab_attribute *t, const tab_view *x, const tab_view *y, uint32_t p, uint32_t q)
{
    (void)t;
    double n = (double)(x->present + y->present);
    return log((x->value[p].rows + y->value[q].rows) / n);
}

/* Probability of the candidate under competition: its odds against no partner and against every other
 * candidate of its two rows (one_to_one), or against no partner alone. */
static void compete(const tab_candidates *c, size_t na, size_t nb, const double *s, double log_none,
                    bool one_to_one, double *sum_a, double *sum_b, float *p)
{
    memset(sum_a, 0, na * sizeof *sum_a);
    memset(sum_b, 0, nb * sizeof *sum_b);
    for (size_t i = 0; one_to_one && i < c->n; i++) {
        double w = exp(fmin(s[i] - log_none, 300));
        sum_a[c->a[i]] += w;
        sum_b[c->b[i]] += w;
    }
    for (size_t i = 0; i < c->n; i++) {
        double w = exp(fmin(s[i] - log_none, 300));
        double rest = one_to_one ? fmax(sum_a[c->a[i]] - w, 0) + fmax(sum_b[c->b[i]] - w, 0) : 0;
        p[i] = (float)(w / (1 + w + rest));
    }
}

double tab_evidence(const tab_linkage *l, size_t attr, uint8_t level, const tab_token_match *t,
                    double log_share)
{
    size_t n = (size_t)t->shared + t->left_a + t->left_b;
    if (level == TAB_MISSING)
        return 0;
    if (n <= 1 || (t->shared + t->left_a <= 1 && t->shared + t->left_b <= 1))
        return level == TAB_EQUAL ? l->log_m[attr * TAB_LEVELS + level] - log_share
                                  : l->weight[attr * TAB_LEVELS + level];
    double ka = l->kept_token[2 * attr], kb = l->kept_token[2 * attr + 1];
    double damp = 1 / (1 + 0.15 * (double)(n - 1));
    double e = damp * ((double)t->gain + t->shared * log((ka + kb) / 2) + 0.6 * (t->left_a * log(1 - ka) +
                       t->left_b * log(1 - kb)));
    /* an equal value is at least as telling as its frequency says */
    if (level == TAB_EQUAL)
        e = fmax(e, l->log_m[attr * TAB_LEVELS + level] - log_share);
    return e;
}

typedef struct {
    float p;
    uint32_t i;
} ranked;

static int likeliest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* One-to-one: the likeliest candidates whose rows are both free; otherwise every candidate stands. */
static tab_status choose(tab_candidates *c, size_t na, size_t nb, bool one_to_one, tab_error *err)
{
    ranked *r = malloc((c->n + 1) * sizeof *r);
    bool *used = calloc(na + nb + 1, 1);
    if (r == NULL || used == NULL) {
        free(r);
        free(used);
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");
    }
    for (size_t i = 0; i < c->n; i++)
        r[i] = (ranked){ c->p[i], (uint32_t)i };
    qsort(r, c->n, sizeof *r, likeliest_first);
    for (size_t i = 0; i < c->n; i++) {
        uint32_t x = c->a[r[i].i], y = c->b[r[i].i];
        c->kept[r[i].i] = !one_to_one || (!used[x] && !used[na + y]);
        if (c->kept[r[i].i])
            used[x] = used[na + y] = true;
    }
    free(r);
    free(used);
    return TAB_OK;
}

/* 0 for tables of short fields, 1 for tables of texts: by the words of a row. */
static double text_share(const tab_sparse *a, const tab_sparse *b, size_t words)
{
    double least = 1e9;
    const tab_sparse *side[] = { a, b };
    for (int k = 0; k < 2; k++) {
        size_t n = 0, total = side[k]->at[side[k]->rows];
        for (size_t i = 0; i < total; i++)
            n += side[k]->id[i] < words;
        least = fmin(least, (double)n / (double)side[k]->rows);
    }
    return fmin(fmax((least - 10) / 6, 0), 1);
}

static const double SEEN_SHARE = 0.42; /* of best pairs, in the fit of blend */

static double log_odds(double p)
{
    p = fmin(fmax(p, 1e-6), 1 - 1e-6);
    return log(p / (1 - p));
}

/* The model's odds and the odds by the gap to rivals for short fields, whose values are independent
 * enough. The words of a text are not, and its evidence is inflated by an unknown factor: there only
 * what does not depend on that factor counts: which candidate is best, by how much of the row's possible
 * evidence, and by how much the whole-row cosine exceeds that of the rivals. The weights are
 * rounded by hand from a logistic fit over the benchmark's cases (tests/bench/match, README), on which
 * they were also chosen: the figures there are of development, not held out. */
static void blend(tab_linkage *l, double text)
{
    tab_candidates *c = &l->c;
    for (size_t i = 0; i < c->n; i++) {
        const float *f = c->feature + i * TAB_PAIR_FEATURES;
        double x = log_odds((double)c->p[i]), y = log_odds((double)c->chance[i]);
        double field = l->rate_known ? 0.8 * x + 0.2 * fmin(fmax(y, -4), 4) : x;
        double cosine = (double)f[6];
        double words = tanh(x / 4) + 0.8 * tanh(10 * (double)f[2] / 3) + 2.9 * tanh(5 * fmax(cosine, 0)) -
                       8.3 * fmax(-cosine, 0) + 2.2 * (double)f[13] - 3.0;
        c->p[i] = (float)((1 - text) * field + text * words);
    }
    /* How many of the best pairs match is the data set's own: the intercept follows by EM from the share
     * that the fit saw (Saerens, Latinne and Decaestecker, Neural Computation 2002). */
    double shift = 0;
    for (int round = 0; round < 8 && text > 0; round++) {
        double sum = 0, n = 0;
        for (size_t i = 0; i < c->n; i++) {
            if (c->feature[i * TAB_PAIR_FEATURES + 2] < 0)
                continue;
            sum += 1 / (1 + exp(-(double)c->p[i] - shift));
            n++;
        }
        shift = n > 0 ? fmin(fmax(log_odds(sum / n) - log_odds(SEEN_SHARE), -2), 2) : 0;
    }
    for (size_t i = 0; i < c->n; i++)
        c->p[i] = (float)(1 / (1 + exp(-(double)c->p[i] - text * shift)));
}

tab_status tab_score_pairs(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                           tab_linkage *l, const tab_row_pairs *seeds, const tab_own_near *own, tab_arena *a,
                           tab_error *err)
{
    tab_candidates *c = &l->c;
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    size_t attrs = l->attrs, na = A->rows, nb = B->rows;
    c->level = tab_arena_new_of(a, uint8_t, c->n * attrs);
    c->cosine = tab_arena_new_of(a, float, c->n);
    c->evidence = tab_arena_new_of(a, float, c->n);
    c->feature = tab_arena_new_of(a, float, c->n * TAB_PAIR_FEATURES);
    c->p = tab_arena_new_of(a, float, c->n);
    c->chance = tab_arena_new_of(a, float, c->n);
    c->kept = tab_arena_new_of(a, bool, c->n);
    c->token = tab_arena_new_of(a, tab_token_match, c->n * attrs);
    c->elsewhere = tab_arena_new_of(a, float, c->n);
    tab_token_match *seed_token = tab_arena_new_of(a, tab_token_match, seeds->n * attrs);
    l->kept_token = tab_arena_new_of(a, double, attrs * 2);
    l->weight = tab_arena_new_of(a, double, attrs * TAB_LEVELS);
    double *u = tab_arena_new_of(a, double, attrs * TAB_LEVELS);
    double *m = tab_arena_new_of(a, double, attrs * TAB_LEVELS);
    l->log_m = tab_arena_new_of(a, double, attrs * TAB_LEVELS);
    double *s = tab_arena_new_of(a, double, c->n), *rare = tab_arena_new_of(a, double, c->n * attrs);
    double *sum_a = tab_arena_new_of(a, double, na), *sum_b = tab_arena_new_of(a, double, nb);
    size_t r = RANDOM_PAIRS;
    uint32_t *ra = tab_arena_new_of(a, uint32_t, r), *rb = tab_arena_new_of(a, uint32_t, r);
    uint8_t *random_level = tab_arena_new_of(a, uint8_t, r * attrs);
    uint8_t *seed_level = tab_arena_new_of(a, uint8_t, seeds->n * attrs);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "memory is out");

    comparing job = { e, v, A, B, l->attr, attrs, c->n, c->a, c->b, c->level,
                      &tables[l->ta].whole, &tables[l->tb].whole, c->cosine, c->token, c->elsewhere };
    tab_engine_for(e, CHUNKS, compare_chunk, &job);
    for (size_t i = 0; i < r; i++) {
        ra[i] = (uint32_t)(tab_hash_mix(i, 11) % na);
        rb[i] = (uint32_t)(tab_hash_mix(i, 13) % nb);
    }
    comparing random = { e, v, A, B, l->attr, attrs, r, ra, rb, random_level, NULL, NULL, NULL, NULL, NULL };
    tab_engine_for(e, CHUNKS, compare_chunk, &random);
    comparing seeded = { e, v, A, B, l->attr, attrs, seeds->n, seeds->a, seeds->b, seed_level, NULL, NULL, NULL, seed_token, NULL };
    tab_engine_for(e, CHUNKS, compare_chunk, &seeded);
    if (tab_engine_cancelled(e))
        return tab_fail(err, TAB_CANCELLED, "", "cancelled");

    static const double prior_m[TAB_LEVELS] = { 0, 0.7, 0.06, 0.05, 0.04, 0.03, 0.03, 0.03, 0.03, 0.03 };
    for (size_t k = 0; k < attrs; k++) {
        double total = 0, *uk = u + k * TAB_LEVELS, *mk = m + k * TAB_LEVELS, seen = 0;
        for (size_t i = 0; i < r; i++) {
            uk[random_level[i * attrs + k]]++;
            total += random_level[i * attrs + k] != TAB_MISSING;
        }
        for (size_t i = 0; i < seeds->n; i++) {
            mk[seed_level[i * attrs + k]]++;
            seen += seed_level[i * attrs + k] != TAB_MISSING;
        }
        double hit = 12, left[2] = { 4, 4 };
        for (size_t i = 0; i < seeds->n; i++) {
            const tab_token_match *t = &seed_token[i * attrs + k];
            hit += t->shared;
            left[0] += t->left_a;
            left[1] += t->left_b;
        }
        l->kept_token[2 * k] = hit / (hit + left[0]);
        l->kept_token[2 * k + 1] = hit / (hit + left[1]);
        for (size_t q = 1; q < TAB_LEVELS; q++) {
            uk[q] = (uk[q] + 0.5) / (total + 0.5 * (TAB_LEVELS - 1));
            mk[q] = (mk[q] + 5 * prior_m[q]) / (seen + 5);
        }
    }
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < attrs; k++)
            if (c->level[i * attrs + k] == TAB_EQUAL) {
                const tab_view *x = &A->col[l->attr[k].a], *y = &B->col[l->attr[k].b];
                rare[i * attrs + k] = log_share(&l->attr[k], x, y, x->code[c->a[i]], y->code[c->b[i]]);
            }

    double least = (double)(na < nb ? na : nb), share = 0.5, log_none = 0;
    l->one_to_one = true;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < attrs; k++)
            for (size_t q = 1; q < TAB_LEVELS; q++) {
                l->weight[k * TAB_LEVELS + q] = log(m[k * TAB_LEVELS + q] / u[k * TAB_LEVELS + q]);
                l->log_m[k * TAB_LEVELS + q] = log(m[k * TAB_LEVELS + q]);
            }
        for (size_t i = 0; i < c->n; i++) {
            double sum = 0;
            for (size_t k = 0; k < attrs; k++) {
                uint8_t q = c->level[i * attrs + k];
                if (q != TAB_MISSING)
                    sum += tab_evidence(l, k, q, &c->token[i * attrs + k], rare[i * attrs + k]);
            }
            sum += (double)c->elsewhere[i];
            s[i] = sum;
            c->evidence[i] = (float)sum;
        }
        log_none = log((double)na * (double)nb / least * (1 - share) / share);
        compete(c, na, nb, s, log_none, l->one_to_one, sum_a, sum_b, c->p);
        for (size_t k = 0; k < attrs; k++) {
            double hit = 12, left[2] = { 4, 4 };
            for (size_t i = 0; i < c->n; i++) {
                const tab_token_match *t = &c->token[i * attrs + k];
                hit += (double)c->p[i] * t->shared;
                left[0] += (double)c->p[i] * t->left_a;
                left[1] += (double)c->p[i] * t->left_b;
            }
            l->kept_token[2 * k] = hit / (hit + left[0]);
            l->kept_token[2 * k + 1] = hit / (hit + left[1]);
        }
        double expected = 0;
        for (size_t i = 0; i < c->n; i++)
            expected += (double)c->p[i];
        share = fmin(fmax(expected / least, 0.002), 0.98);
        for (size_t k = 0; k < attrs; k++) {
            double count[TAB_LEVELS] = { 0 }, total = 0;
            for (size_t i = 0; i < c->n; i++)
                count[c->level[i * attrs + k]] += (double)c->p[i];
            for (size_t q = 1; q < TAB_LEVELS; q++)
                total += count[q];
            for (size_t q = 1; q < TAB_LEVELS; q++)
                m[k * TAB_LEVELS + q] = (count[q] + 5 * prior_m[q]) / (total + 5);
        }
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
    }
    l->share = share;
    tab_status st = tab_pair_features(e, v, l, log_none, own, a, err);
    /* Rows of both sides with several partners as good as partners are, and a cliff behind them. */
    if (st == TAB_OK && l->repeat_share >= 0.25 && l->rate <= 0.16) {
        l->one_to_one = false;
        compete(c, na, nb, s, log_none, false, sum_a, sum_b, c->p);
    } else if (st == TAB_OK) {
        blend(l, text_share(&tables[l->ta].whole, &tables[l->tb].whole, v->terms));
    }
    return st != TAB_OK ? st : choose(c, na, nb, l->one_to_one, err);
}
