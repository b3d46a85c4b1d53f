/* See across.h: the pairs, what the rules say of them, and the rows' nearest in their own tables. */
#include "services/inference/engine/link/evidence/across.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNKS = 64, WANTED = 60000, SEEDS = 3000 };

static size_t neighbours(size_t rows)
{
    size_t k = WANTED / (rows + 1);
    return k > 10 ? 10 : k < 2 ? 2 : k;
}

/* The attributes of one side's table with itself. */
static tab_attribute *own_attributes(const tab_views *v, const tab_linkage *l, int side, tab_arena *a)
{
    size_t t = side ? l->tb : l->ta;
    tab_attribute *attr = tab_arena_new_of(a, tab_attribute, l->attrs);
    for (size_t k = 0; attr != NULL && k < l->attrs; k++) {
        attr[k] = l->attr[k];
        attr[k].a = attr[k].b = side ? l->attr[k].b : l->attr[k].a;
        attr[k].scale = 1;
        if (attr[k].other != NULL)
            attr[k].other = attr + (attr[k].other - l->attr);
        if (side && attr[k].numeric && l->attr[k].scale != 1) { /* in b's unit */
            attr[k].sorted = v->table[t].col[attr[k].b].sorted;
            attr[k].sorted_n = v->table[t].col[attr[k].b].sorted_n;
        }
    }
    return attr;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t key_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* Near rows both ways and the rules' candidates, each once; seeds are one another's nearest. */
static tab_status find_pairs(const tab_engine *e, const tab_link_table *tables, const tab_linkage *l,
                             tab_twin_pairs *s, tab_arena *a, tab_row_pairs *seeds, tab_error *err)
{
    size_t na = s->t[0]->rows, nb = s->t[1]->rows, k = neighbours(na + nb), n = 0, m = 0;
    const tab_link_table *A = &tables[l->ta], *B = &tables[l->tb];
    tab_near *ab = malloc((na * k + 1) * sizeof *ab), *ba = malloc((nb * k + 1) * sizeof *ba);
    uint64_t *key = malloc(((na + nb) * k + l->c.n + 1) * sizeof *key);
    uint32_t *sa = tab_arena_new_of(a, uint32_t, SEEDS), *sb = tab_arena_new_of(a, uint32_t, SEEDS);
    bool ok = ab != NULL && ba != NULL && key != NULL && !tab_arena_full(a);
    tab_status st =
        ok ? tab_rows_nearest(e, &A->whole, &B->whole, &B->index, k, ab, err) : tab_no_memory(err);
    if (st == TAB_OK)
        st = tab_rows_nearest(e, &B->whole, &A->whole, &A->index, k, ba, err);
    *seeds = (tab_row_pairs){ 0, sa, sb };
    for (size_t i = 0; st == TAB_OK && i < na; i++) {
        uint32_t o = ab[i * k].row;
        for (size_t j = 0; j < k && ab[i * k + j].row != TAB_NULL; j++)
            key[n++] = key_of((uint32_t)i, ab[i * k + j].row);
        if (o != TAB_NULL && ba[o * k].row == i && ab[i * k].score >= 0.3f && seeds->n < SEEDS) {
            sa[seeds->n] = (uint32_t)i;
            sb[seeds->n++] = o;
        }
    }
    for (size_t i = 0; st == TAB_OK && i < nb; i++)
        for (size_t j = 0; j < k && ba[i * k + j].row != TAB_NULL; j++)
            key[n++] = key_of(ba[i * k + j].row, (uint32_t)i);
    for (size_t i = 0; st == TAB_OK && i < l->c.n; i++)
        key[n++] = key_of(l->c.a[i], l->c.b[i]);
    free(ab);
    free(ba);
    if (st == TAB_OK) {
        qsort(key, n, sizeof *key, ascending);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || key[i] != key[i - 1])
                key[m++] = key[i];
        s->n = m;
        s->a = tab_arena_new_of(a, uint32_t, m);
        s->b = tab_arena_new_of(a, uint32_t, m);
        for (size_t i = 0; i < m && !tab_arena_full(a); i++) {
            s->a[i] = (uint32_t)(key[i] >> 32);
            s->b[i] = (uint32_t)key[i];
        }
    }
    free(key);
    return st == TAB_OK && tab_arena_full(a) ? tab_no_memory(err) : st;
}

/* ---- what the rules say ---------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    tab_across *x;
    const tab_twin_pairs *twins; /* of one side */
    int side;
    float *evidence; /* (twins->n) */
} working;

static void rule_chunk(void *ctx, size_t chunk)
{
    working *w = ctx;
    tab_across *x = w->x;
    const tab_twin_pairs *s = &x->s;
    for (size_t i = s->n * chunk / CHUNKS; i < s->n * (chunk + 1) / CHUNKS; i++) {
        double explained = 0, sum = 0;
        float cosine;
        for (size_t k = 0; k < s->l.attrs; k++) {
            tab_agreement g = tab_agree(s->v, s->t[0], s->t[1], &s->l.attr[k], s->a[i], s->b[i], &explained);
            sum += tab_evidence(x->rules, k, &g);
        }
        sum += tab_elsewhere(s->v, s->whole[0], s->whole[1], s->a[i], s->b[i], explained, &cosine);
        x->rule_evidence[i] = (float)(sum - x->rules->log_none);
    }
}

static void hear_rules(tab_across *x)
{
    const tab_candidates *c = &x->rules->c;
    const tab_twin_pairs *s = &x->s;
    for (size_t i = 0, k = 0; i < s->n; i++) {
        while (k < c->n && (c->a[k] < s->a[i] || (c->a[k] == s->a[i] && c->b[k] < s->b[i])))
            k++;
        if (k == c->n || c->a[k] != s->a[i] || c->b[k] != s->b[i] || !c->kept[k])
            continue;
        x->rule_p[i] = c->p[k];
        x->rule_kept[i] = true;
        tab_own_near *p = &x->own[s->a[i]], *q = &x->own[tab_twin_node(s, i)];
        p->rule = fmaxf(p->rule, c->p[k]);
        q->rule = fmaxf(q->rule, c->p[k]);
    }
}

/* ---- a row's nearest in its own table ---------------------------------------------------------- */

static void own_chunk(void *ctx, size_t chunk)
{
    working *w = ctx;
    const tab_twin_pairs *s = &w->x->s, *t = w->twins;
    for (size_t i = t->n * chunk / CHUNKS; i < t->n * (chunk + 1) / CHUNKS; i++) {
        double sum = 0;
        for (size_t k = 0; k < s->l.attrs; k++) {
            tab_agreement g = tab_agree(s->v, t->t[0], t->t[0], &s->own[w->side][k], t->a[i], t->b[i], NULL);
            sum += tab_evidence(&s->l, k, &g);
        }
        w->evidence[i] = (float)sum;
    }
}

static void near_one(tab_own_near *o, const tab_twin_pairs *t, size_t i, float evidence)
{
    o->cosine = fmaxf(o->cosine, t->cosine[i]);
    o->evidence = fmaxf(o->evidence, evidence);
    if (t->copy != NULL && t->copy[i]) {
        o->twins++;
        return;
    }
    o->other_cosine = fmaxf(o->other_cosine, t->cosine[i]);
    o->other_evidence = fmaxf(o->other_evidence, evidence);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The nearest of all nodes, by score and where they lie. */
static void rank_nodes(tab_across *x)
{
    const tab_twin_pairs *s = &x->s;
    float *cosine = x->best[0][0], *evidence = x->best[0][1];
    size_t nearer = 0;
    for (size_t r = 0; r < s->rows; r++) {
        const tab_own_near *o = &x->own[r];
        cosine[r] = 0;
        evidence[r] = -30;
        for (uint64_t k = s->at[r]; k < s->at[r + 1]; k++) {
            cosine[r] = fmaxf(cosine[r], s->cosine[s->pair[k]]);
            evidence[r] = fmaxf(evidence[r], s->evidence[s->pair[k]]);
        }
        nearer += evidence[r] > o->other_evidence;
        x->best[1][0][r] = o->cosine;
        x->best[1][1][r] = o->evidence;
        x->best[2][0][r] = o->other_cosine;
        x->best[2][1][r] = o->other_evidence;
    }
    for (int g = 0; g < 3; g++)
        for (int k = 0; k < 2; k++)
            qsort(x->best[g][k], s->rows, sizeof(float), by_value);
    x->nearer = (float)nearer / (float)s->rows;
}

tab_status tab_across_new(const tab_engine *e, const tab_views *v, const tab_link_table *tables,
                          const tab_linkage *l, const tab_twin_pairs *const twins[2], tab_arena *a,
                          tab_across *x, tab_error *err)
{
    *x = (tab_across){ .rules = l };
    tab_twin_pairs *s = &x->s;
    tab_row_pairs seeds;
    const tab_table_view *A = &v->table[l->ta], *B = &v->table[l->tb];
    *s = (tab_twin_pairs){ .v = v,
                           .t = { A, B },
                           .whole = { &tables[l->ta].whole, &tables[l->tb].whole },
                           .across = true,
                           .rows = A->rows + B->rows };
    if (A->rows == 0 || B->rows == 0 || l->attrs == 0)
        return TAB_OK;
    s->l.attr = l->attr;
    s->l.attrs = s->l.c.attrs = l->attrs;
    s->own[0] = own_attributes(v, l, 0, a);
    s->own[1] = own_attributes(v, l, 1, a);
    if (tab_arena_full(a))
        return tab_no_memory(err);
    TAB_TRY(find_pairs(e, tables, l, s, a, &seeds, err));
    TAB_TRY(tab_twin_pairs_between(e, s, &seeds, a, err));
    x->rule_evidence = tab_arena_new_of(a, float, s->n);
    x->rule_p = tab_arena_new_of(a, float, s->n);
    x->rule_kept = tab_arena_new_of(a, bool, s->n);
    x->own = tab_arena_new_of(a, tab_own_near, s->rows);
    for (int g = 0; g < 3; g++)
        for (int k = 0; k < 2; k++)
            x->best[g][k] = tab_arena_new_of(a, float, s->rows);
    float *evidence[2] = { tab_arena_new_of(a, float, twins[0]->n), tab_arena_new_of(a, float, twins[1]->n) };
    if (tab_arena_full(a))
        return tab_no_memory(err);
    working w = { .e = e, .x = x };
    tab_engine_for(e, CHUNKS, rule_chunk, &w);
    for (size_t r = 0; r < s->rows; r++)
        x->own[r] = (tab_own_near){ .evidence = -30, .other_evidence = -30 };
    for (w.side = 0; w.side < 2; w.side++) {
        const tab_twin_pairs *t = w.twins = twins[w.side];
        w.evidence = evidence[w.side];
        tab_engine_for(e, CHUNKS, own_chunk, &w);
        tab_own_near *own = x->own + (w.side ? A->rows : 0);
        for (size_t i = 0; i < t->n; i++) {
            near_one(&own[t->a[i]], t, i, w.evidence[i]);
            near_one(&own[t->b[i]], t, i, w.evidence[i]);
        }
    }
    hear_rules(x);
    rank_nodes(x);
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}
