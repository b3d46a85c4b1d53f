/* See plan.h: from references between columns to what holds of whole tables. Tables that references join, at
 * once or through others, form a group (union-find); within a group rows of two tables are no entity in
 * common, unless a reference between the two is one to one and the child repeats the parent's attributes. */
#include "services/inference/engine/keys/plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/beyond_chance.h"
#include "services/inference/engine/align/union_find.h"

/* Whether column c of two tables counts the rows of one and identifies those of the other as well, or is the
 * moment of both. Two counters of as many rows do, whatever they count, and two sensors' readings by the
 * hour (decision 0708). */
static bool is_their_key(const tab_views *v, const tab_keys *k, size_t s, size_t t, size_t c)
{
    bool is = false, moment = v->table[s].col[c].kind == TAB_VIEW_DATE;
    for (size_t i = 0; i < k->n && !is; i++) {
        const tab_reference *r = &k->ref[i];
        bool there = r->child_table == s && r->parent_table == t,
             back = r->child_table == t && r->parent_table == s;
        is = (there || back) && r->one_to_one && (r->counted || moment) && r->also == 0 && r->child == c &&
             r->parent == c;
    }
    return is;
}

/* Two tables of one making, as the orders of two years: as many columns, four in five of one role and type,
 * one of which refers to the same key of a third in both. */
static bool alike(const tab_views *v, const tab_keys *k, size_t s, size_t t)
{
    const tab_table_view *a = &v->table[s], *b = &v->table[t];
    size_t same = 0, referring = 0;
    if (a->cols != b->cols || a->cols < 3)
        return false;
    for (size_t c = 0; c < a->cols; c++) {
        same += a->col[c].profile->role == b->col[c].profile->role &&
                a->col[c].profile->type == b->col[c].profile->type;
        referring +=
            k->domain[s][c] != TAB_NULL && k->domain[s][c] == k->domain[t][c] && !is_their_key(v, k, s, t, c);
    }
    return referring > 0 && same * 5 >= a->cols * 4;
}

/* Rows that are compared, and how many must have both values before a share is believed. */
enum { JOINED = 300, ENOUGH = 10 };

/* Whether one value repeats the other, or is a part of it, as a last name of a full one. */
static bool repeated(const tab_views *v, const tab_value *x, const tab_value *y)
{
    uint32_t least = x->tok_n < y->tok_n ? x->tok_n : y->tok_n, both = 0;
    for (uint32_t i = 0, j = 0; i < x->tok_n && j < y->tok_n;) {
        uint32_t p = v->tok[x->tok + i], q = v->tok[y->tok + j];
        both += p == q;
        i += p <= q;
        j += q <= p;
    }
    return x->key == y->key || (least > 0 && both == least);
}

/* Share of joined rows (at most JOINED) in which a value of one column repeats the other's, less that of rows
 * joined at random. */
static double copied(const tab_views *v, const tab_view *a, const tab_view *b, const uint32_t *ra,
                     const uint32_t *rb, size_t n)
{
    size_t same = 0, other = 0, seen = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t x = a->code[ra[i]], y = b->code[rb[i]], z = b->code[rb[(i + 1 + n / 3) % n]];
        if (x == TAB_NULL || y == TAB_NULL || z == TAB_NULL)
            continue;
        seen++;
        same += repeated(v, &a->value[x], &b->value[y]);
        other += repeated(v, &a->value[x], &b->value[z]);
    }
    return seen >= ENOUGH ? ((double)same - (double)other) / (double)seen : 0;
}

/* The share of so few joined rows in which a value repeats the other's, where chance does not explain it:
 * each that does is as telling as the parent's other rows (a sample of them) repeat it seldom; any two
 * columns might have been the ones that do (decision 0930). */
static double few_copied(const tab_views *v, const tab_view *a, const tab_table_view *B, const tab_view *b,
                         const uint32_t *ra, const uint32_t *rb, size_t n, double tried)
{
    double beyond = -log(tried);
    size_t same = 0, seen = 0, step = B->rows / JOINED + 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t x = a->code[ra[i]], y = b->code[rb[i]];
        if (x == TAB_NULL || y == TAB_NULL)
            continue;
        seen++;
        if (!repeated(v, &a->value[x], &b->value[y]))
            continue;
        double hit = 0.5, looked = 1;
        for (size_t r = 0; r < B->rows; r += step) {
            uint32_t z = b->code[r];
            looked += r != rb[i] && z != TAB_NULL;
            hit += r != rb[i] && z != TAB_NULL && repeated(v, &a->value[x], &b->value[z]);
        }
        same++;
        beyond -= log(hit / looked);
    }
    return beyond > TAB_BEYOND_CHANCE ? (double)same / (double)seen : 0;
}

/* Whether a child says of each row little but what the parent says of the row that it refers to. Such rows
 * are the parent's entities over again, as in a list of visitors with name and address. One to one a third
 * of the columns has to be the key and copies, as in two lists of customers under one number; half, where
 * hardly a value stands twice, as in a list that holds duplicates; two thirds of so few rows, which are one
 * to one whatever they are; else four in five, for an invoice that repeats its customer's address is no
 * customer. False also when out of memory: the rows then hang. */
static bool repeats(const tab_views *v, const tab_reference *r)
{
    const tab_table_view *A = &v->table[r->child_table], *B = &v->table[r->parent_table];
    uint32_t ra[JOINED], rb[JOINED], *to = tab_reference_rows(v, r);
    size_t n = 0, copies = 0, step = A->rows / JOINED + 1;
    double tried = (double)(A->cols * B->cols);
    for (size_t i = 0; to != NULL && i < A->rows && n < JOINED; i += step)
        if (to[i] != TAB_NULL) {
            ra[n] = (uint32_t)i;
            rb[n++] = to[i];
        }
    free(to);
    for (size_t i = 0; i < A->cols; i++) {
        double most = 0;
        for (size_t j = 0; j < B->cols && !tab_reference_child(r, i) && most < 0.5; j++)
            if (!tab_reference_parent(r, j))
                most = fmax(most, n < ENOUGH ? few_copied(v, &A->col[i], B, &B->col[j], ra, rb, n, tried)
                                             : copied(v, &A->col[i], &B->col[j], ra, rb, n));
        copies += most >= 0.5;
    }
    size_t same = copies + r->also + 1;
    if (n < ENOUGH)
        return copies > 0 && same * 3 >= A->cols * 2;
    bool nearly_once = A->rows * 4 <= (size_t)r->child_values * 5;
    if (r->one_to_one)
        return copies > 0 && same * 3 >= A->cols;
    return copies > 0 && (nearly_once ? same * 2 >= A->cols : same * 5 >= A->cols * 4);
}

typedef struct {
    size_t rows;
    double p;
    uint32_t at;
} ranked;

/* For qsort: the parent of most rows, then the likeliest. */
static int largest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows > y->rows ? -1 : 1;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* A parent for each table that refers to one. */
static void choose_parents(const tab_views *v, const tab_keys *k, const bool *again, double least,
                           ranked *order, tab_key_plan *ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < k->n; i++)
        if (k->ref[i].p >= least && !again[i])
            order[n++] = (ranked){ v->table[k->ref[i].parent_table].rows, k->ref[i].p, i };
    qsort(order, n, sizeof *order, largest_first);
    for (int once = 0; once < 2; once++) /* first those that are not one to one */
        for (size_t i = 0; i < n; i++) {
            const tab_reference *r = &k->ref[order[i].at];
            if (ret->under[r->child_table] != TAB_NULL || r->one_to_one != (once == 1))
                continue;
            uint32_t t = r->parent_table;
            while (t != r->child_table && ret->under[t] != TAB_NULL)
                t = k->ref[ret->under[t]].parent_table;
            assert(r->child_table < ret->tables && r->parent_table < ret->tables);
            if (t != r->child_table) /* a table is never above itself */
                ret->under[r->child_table] = order[i].at;
        }
}

/* Whether table t observes things that no table holds, and rows of s are things that others refer to: a day's
 * rate is no entry of that day, though both tell the day and the currency (decision 0598). */
static bool observes_others(const tab_keys *k, const tab_grain *g, uint32_t s, uint32_t t)
{
    bool referred = false, refers = false;
    for (size_t i = 0; i < k->n; i++) {
        const tab_reference *r = &k->ref[i];
        referred = referred || (r->parent_table == s && r->child_table != s && r->p >= 0.5 && r->also == 0);
        refers = refers || (r->child_table == t && r->parent_table != t && r->p >= 0.5);
    }
    return g[t].kind == TAB_GRAIN_OBSERVATION && g[s].kind == TAB_GRAIN_ENTITY && referred && !refers;
}

/* Fills keyed. Where the rows repeat one another's attributes as well they are compared, as any are. */
static void find_keyed(const tab_keys *k, const bool *again, double least, tab_key_plan *ret)
{
    size_t n = ret->tables;
    for (size_t i = 0; i < n * n; i++)
        ret->keyed[i] = TAB_NULL;
    for (uint32_t i = 0; n == 2 && i < k->n; i++) {
        const tab_reference *r = &k->ref[i];
        if (r->same && r->p >= least && !again[i] && ret->apart[1])
            ret->keyed[1] = ret->keyed[2] = i;
    }
}

tab_status tab_key_plan_new(const tab_engine *e, const tab_views *v, double threshold, tab_arena *a,
                            tab_key_plan *ret, tab_error *err)
{
    size_t n = v->n;
    double least = threshold > 0.5 ? threshold : 0.5;
    tab_keys keys;
    TAB_TRY(tab_keys_find(e, v, threshold < 0.5 ? threshold : 0.5, a, &keys, err));
    const tab_keys *k = &keys;
    tab_grain *grain;
    TAB_TRY(tab_grains_find(v, k, a, &grain, err));
    *ret = (tab_key_plan){ .grain = grain,
                           .keys = keys,
                           .tables = n,
                           .apart = tab_arena_new_of(a, bool, n *n),
                           .moments = tab_arena_new_of(a, bool, n *n),
                           .keyed = tab_arena_new_of(a, uint32_t, n * n),
                           .under = tab_arena_new_of(a, uint32_t, n) };
    uint32_t *any = malloc((n + 1) * sizeof *any);
    ranked *order = malloc((k->n + 1) * sizeof *order);
    bool *again = ret->again = tab_arena_new_of(a, bool, k->n);
    if (ret->apart == NULL || ret->moments == NULL || ret->keyed == NULL || ret->under == NULL ||
        any == NULL || order == NULL || again == NULL) {
        free(any);
        free(order);
        return tab_no_memory(err);
    }
    for (uint32_t t = 0; t < n; t++) {
        any[t] = t;
        ret->under[t] = TAB_NULL;
    }
    /* groups of tables, and which children repeat their parents */
    for (size_t i = 0; i < k->n; i++) {
        const tab_reference *r = &k->ref[i];
        if (r->p < least || r->child_table == r->parent_table)
            continue;
        any[tab_union_root(any, r->child_table)] = tab_union_root(any, r->parent_table);
        again[i] = repeats(v, r);
    }
    /* tables of one group are apart, unless they are alike or a reference between the two says otherwise */
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t t = 0; t < n; t++) {
            ret->apart[s * n + t] =
                s != t && tab_union_root(any, s) == tab_union_root(any, t) && !alike(v, k, s, t);
            ret->moments[s * n + t] = s < t ? tab_grains_other_moments(v, grain, s, t) ||
                                                  observes_others(k, grain, s, t) ||
                                                  observes_others(k, grain, t, s)
                                            : ret->moments[t * n + s];
        }
    for (size_t i = 0; i < k->n; i++) {
        const tab_reference *r = &k->ref[i];
        if (again[i])
            ret->apart[r->child_table * n + r->parent_table] =
                ret->apart[r->parent_table * n + r->child_table] = false;
    }
    find_keyed(k, again, least, ret);
    choose_parents(v, k, again, least, order, ret);
    free(any);
    free(order);
    return TAB_OK;
}

bool tab_keys_differ(const tab_keys *k, size_t ta, size_t i, size_t tb, size_t j)
{
    uint32_t a = k->domain[ta][i], b = k->domain[tb][j];
    if (a == b && a != TAB_NULL)
        return false;
    return (a != TAB_NULL && b != TAB_NULL) || k->counted[ta][i] || k->counted[tb][j];
}
