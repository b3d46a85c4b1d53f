/* See within.h. Who is above whom has no circle: following the managers up, one ends at somebody without
 * one. Values that are among the table's own keys by chance lead in circles. A random map of m values in
 * which a share r of the rows leads nowhere is free of circles with a chance of r; where a value may also
 * lead to itself, and ends there, of r + e / m (the forests among all maps, (m + 1)^(m - 1) / m^m). So
 *
 * the chance to have no circle speaks for a reference, and the chance to be held, by the share of the
 * numbers in the range of both that the key holds. Where every row leads to an earlier one, as of people who
 * were hired by whom they report to, the chance of that counts instead, if it is smaller: of all orders of
 * the column's values over its rows, the share in which each leads back. And nobody is above himself, and he
 * who is above all has no value. A logistic regression weighs these (within_weights.h, decision 0462). A
 * column that never falls from row to row numbers groups of rows, and points back by itself: there only what
 * is held by chance counts (a chart of accounts in their order). One that says the key again in many rows
 * tells nothing. */
#include "services/inference/engine/keys/within.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/inclusions_internal.h"
#include "services/inference/engine/keys/within_weights.h"

/* BOUND: what evidence counts at the most. */
static const double BOUND = 7, LEAST_HELD = 0.9, SELVES = 0.1;

/* Where rows lead to. */
typedef struct {
    size_t roots, selves; /* rows that lead nowhere, or to themselves */
    bool circle, falls;   /* some lead in a circle; some value is smaller than the one before */
} shape;

/* The row that each row leads to, itself where it ends: up (rows). first: by key. */
static void lead(const tab_view *c, const tab_view *p, size_t rows, uint32_t *first, uint32_t *up, shape *s)
{
    double before = -INFINITY;
    for (uint32_t i = 0; i < p->values; i++)
        first[p->value[i].key] = p->value[i].first;
    for (size_t r = 0; r < rows; r++) {
        uint32_t code = c->code[r], to = code == TAB_NULL ? TAB_NULL : first[c->value[code].key];
        if (code != TAB_NULL) {
            /* texts by their first appearance, of which a new one is the greatest so far */
            double x = isnan(c->value[code].number) ? (double)code : c->value[code].number;
            s->falls = s->falls || x < before;
            before = x;
        }
        s->roots += to == TAB_NULL;
        s->selves += to == r;
        up[r] = to == TAB_NULL ? (uint32_t)r : to;
    }
    for (uint32_t i = 0; i < p->values; i++)
        first[p->value[i].key] = TAB_NULL;
}

/* Whether rows lead in a circle of more than one. seen (rows): the walk, counted from 1, that came by. */
static bool circles(const uint32_t *up, size_t rows, uint32_t *seen)
{
    memset(seen, 0, rows * sizeof *seen);
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t at = r;
        while (seen[at] == 0 && up[at] != at) {
            seen[at] = r + 1;
            at = up[at];
        }
        if (up[at] != at && seen[at] == r + 1)
            return true;
        if (seen[at] == 0)
            seen[at] = r + 1;
    }
    return false;
}

static int falling(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* The logarithm of the share of all orders of a column's values over its rows in which each row leads to
 * an earlier one; 0 where not all do. Values are tried from the last row down: of the rows behind the
 * i-th, i are taken. up (rows): where each leads, itself where it ends; scratch (rows): to. */
static double leads_back(const uint32_t *up, size_t rows, uint32_t *to)
{
    size_t n = 0;
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        if (up[r] > r)
            return 0;
        if (up[r] < r)
            to[n++] = up[r];
    }
    qsort(to, n, sizeof *to, falling);
    size_t behind = 0, at = rows; /* rows at `at` and behind it that lead somewhere */
    for (size_t i = 0; i < n; i++) {
        while (at > (size_t)to[i] + 1) {
            at--;
            behind += up[at] != at;
        }
        sum += log((double)(behind - i) / (double)(n - i));
    }
    return sum;
}

double tab_key_within_p(const tab_key_within *x, const double *weights)
{
    double z = weights[TAB_KEY_WITHIN_FEATURES];
    for (size_t i = 0; i < TAB_KEY_WITHIN_FEATURES; i++)
        z += weights[i] * (double)x->f[i];
    return 1 / (1 + exp(-z));
}

/* What speaks for column c to refer to p, of the same table; held values in x. back: leads_back. */
static void say(const tab_key_column *c, const tab_key_column *p, size_t rows, const shape *s, double back,
                tab_key_within *x)
{
    double m = x->held, chance = (double)s->roots / (double)rows + (s->selves > 0 ? M_E / m : 0);
    double order = s->falls ? fmax(fmax(-log(fmax(chance, 1e-9)), -back), 0) : 0;
    double dense = c->kind == TAB_KEY_WHOLE ? tab_key_density(c, p) : 0;
    double lucky = -m * log(fmin(fmax(dense, 1e-9), 1));
    x->f[TAB_KEY_WITHIN_F_EVIDENCE] = (float)fmin(order + lucky, BOUND);
    x->f[TAB_KEY_WITHIN_F_NONE] = s->roots > 0 && s->roots == rows - c->present;
    x->f[TAB_KEY_WITHIN_F_SELVES] = s->selves > 0;
}

/* Whether c may refer to p. */
static bool may_refer(const tab_key_column *c, const tab_key_column *p)
{
    return c != p && p->unique && c->n > 1 && c->kind == p->kind &&
           (c->kind == TAB_KEY_TEXT || c->kind == TAB_KEY_WHOLE);
}

/* Fills r, for column `child` of the table, with its likeliest parent; p 0: none. Scratch: first by key,
 * up and seen (rows). */
static void find_parent(const tab_views *v, const tab_key_columns *k, uint32_t child, uint32_t *first,
                        uint32_t *up, uint32_t *seen, tab_key_within *r)
{
    const tab_key_column *c = &k->col[child];
    const tab_table_view *t = &v->table[c->table];
    *r = (tab_key_within){ .child = child };
    for (size_t q = k->at[c->table]; q < k->at[c->table + 1]; q++) {
        const tab_key_column *p = &k->col[q];
        uint32_t held;
        if (!may_refer(c, p) || (held = tab_key_held(c, p)) < LEAST_HELD * c->n)
            continue;
        shape s = { 0 };
        lead(&t->col[c->column], &t->col[p->column], t->rows, first, up, &s);
        /* without an end there is a circle */
        if (s.roots + s.selves == 0 || s.selves > SELVES * (double)t->rows || circles(up, t->rows, seen))
            continue;
        tab_key_within x = { .child = child, .parent = (uint32_t)q, .held = held };
        say(c, p, t->rows, &s, leads_back(up, t->rows, seen), &x);
        x.p = tab_key_within_p(&x, tab_key_within_weights);
        if (x.p > r->p)
            *r = x;
    }
}

tab_status tab_key_within_find(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                               const bool *taken, tab_arena *a, tab_key_within **ret, size_t *ret_n,
                               tab_error *err)
{
    size_t columns = k->at[v->n], rows = 0, n = 0;
    for (size_t t = 0; t < v->n; t++)
        rows = v->table[t].rows > rows ? v->table[t].rows : rows;
    uint32_t *first = malloc((v->terms + 1) * sizeof *first), *up = malloc((rows + 1) * sizeof *up),
             *seen = malloc((rows + 1) * sizeof *seen);
    tab_key_within *x = tab_arena_new_of(a, tab_key_within, columns);
    bool ok = first != NULL && up != NULL && seen != NULL && x != NULL;
    for (size_t i = 0; ok && i <= v->terms; i++)
        first[i] = TAB_NULL;
    for (uint32_t i = 0; ok && i < columns && !tab_engine_cancelled(e); i++) {
        if (taken[i])
            continue;
        find_parent(v, k, i, first, up, seen, &x[n]);
        n += x[n].p > 0;
    }
    free(first);
    free(up);
    free(seen);
    if (!ok)
        return tab_no_memory(err);
    *ret = x;
    *ret_n = n;
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}
