/* See sets.h: how likely a candidate is a reference, by a logistic regression over its features with the
 * weights of set_weights.h, and which ones are said (decision 0461). */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/set_weights.h"
#include "services/inference/engine/keys/sets.h"
#include "services/inference/engine/keys/tuple_set.h"

enum { ASKED = 24 /* columns of the child that may say what a candidate says */ };
/* TWICE: share of rows in which a column may lead elsewhere than a candidate that says the same. */
static const double HALF = 0.5, TWICE = 0.01;
/* Of a panel and a grid: schemas that the weights were fitted on have none (decisions 0640, 0661). */
static const double PANEL = 0.95, GRID = 0.9;
const double *tab_key_set_weights_shipped(void)
{
    return tab_key_set_weights;
}

double tab_key_set_p(const tab_key_set *x, const double *weights)
{
    double z = weights[TAB_KEY_SET_FEATURES];
    for (size_t i = 0; i < TAB_KEY_SET_FEATURES; i++)
        z += weights[i] * (double)x->f[i];
    double p = 1 / (1 + exp(-z)) / (1 + x->ways * exp(-TAB_KEY_SET_FREE * x->told));
    return x->panel ? fmax(p, PANEL) : x->grid ? fmax(p, GRID) : p;
}

/* For qsort: panels and grids last; the likeliest first, then the fewest columns and the smallest parent,
 * which has the least room for chance. */
static int likeliest_first(const void *a, const void *b)
{
    const tab_key_set *x = a, *y = b;
    bool last = x->panel || x->grid;
    if (last != (y->panel || y->grid))
        return last ? 1 : -1;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    if (x->parent_rows != y->parent_rows)
        return x->parent_rows < y->parent_rows ? -1 : 1;
    int c = memcmp(x->child, y->child, sizeof x->child);
    return c != 0 ? c : memcmp(x->parent, y->parent, sizeof x->parent);
}

/* Whether the child's columns repeat what one column of its table that refers elsewhere leads to: the name
 * and the date of a match, beside the match's number. False also when out of memory. */
static bool repeats(const tab_key_set_search *s, const tab_key_set *x)
{
    size_t table = s->k->col[x->child[0]].table;
    size_t asked = 0;
    for (size_t i = s->k->at[table]; i < s->k->at[table + 1] && asked < ASKED; i++) {
        uint32_t col[TAB_KEY_WIDEST], own = s->k->col[i].column;
        bool part = false;
        for (uint32_t c = 0; c < x->n; c++) {
            col[c] = s->k->col[x->child[c]].column;
            part = part || x->child[c] == i;
        }
        if (s->refers[i] < HALF || part)
            continue;
        asked++;
        const tab_table_view *t = &s->v->table[table];
        size_t values = t->col[own].values, other = 0, rows = 0;
        uint64_t *first = calloc(values + 1, sizeof *first), tuple;
        for (size_t r = 0; first != NULL && r < t->rows; r++) {
            uint32_t code = t->col[own].code[r];
            if (code == TAB_NULL || !tab_tuple_of(t, col, x->n, r, x->n, 0, &tuple))
                continue;
            rows++;
            if (first[code] == 0)
                first[code] = tuple + 1;
            other += first[code] != tuple + 1;
        }
        bool known = first != NULL && (double)other < TWICE * (double)rows && values * 2 < rows;
        free(first);
        if (known)
            return true;
    }
    return false;
}

/* For qsort: by child table, child columns. */
static int by_child(const void *a, const void *b)
{
    const tab_key_set *x = a, *y = b;
    for (int i = 0; i < TAB_KEY_WIDEST; i++)
        if (x->child[i] != y->child[i])
            return x->child[i] < y->child[i] ? -1 : 1;
    return 0;
}

/* How many columns of a are among those of b. */
static uint32_t shared(const uint32_t *a, uint32_t n, const uint32_t *b, uint32_t m)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++)
            same += a[i] == b[j];
    return same;
}

/* Whether a set says nothing beside one that was taken: the same columns of the child, or some of them; or
 * the same two tables, the other way round or by other columns of the parent. (A row may refer to two rows
 * of one table: the winner and the loser.) */
static bool said(const tab_key_columns *k, const tab_key_set *x, const tab_key_set *y)
{
    uint32_t child = k->col[x->child[0]].table, parent = k->col[x->parent[0]].table;
    uint32_t its_child = k->col[y->child[0]].table, its_parent = k->col[y->parent[0]].table;
    uint32_t same = shared(x->child, x->n, y->child, y->n);
    bool other = shared(x->parent, x->n, y->parent, y->n) < x->n || x->n != y->n;
    return (same == x->n && x->n <= y->n) || (child == its_parent && parent == its_child) ||
           (child == its_child && parent == its_parent && other);
}

/* Whether both join the same two tables. */
static bool joins(const tab_key_columns *k, const tab_key_set *x, const tab_key_set *y)
{
    uint32_t a = k->col[x->child[0]].table, b = k->col[x->parent[0]].table, c = k->col[y->child[0]].table,
             d = k->col[y->parent[0]].table;
    return (a == c && b == d) || (a == d && b == c);
}

/* What is taken moves to the front. */
size_t tab_key_sets_choose(const tab_key_set_search *s, const double *weights, tab_key_set *x, size_t n)
{
    size_t taken = 0;
    for (size_t i = 0; i < n; i++)
        x[i].p = tab_key_set_p(&x[i], weights);
    if (n > 0)
        qsort(x, n, sizeof *x, likeliest_first);
    for (size_t i = 0; i < n; i++) {
        bool known = x[i].p < HALF || repeats(s, &x[i]);
        for (size_t o = 0; o < taken && !known; o++)
            known = said(s->k, &x[i], &x[o]) || ((x[i].panel || x[i].grid) && joins(s->k, &x[i], &x[o]));
        if (!known)
            x[taken++] = x[i];
    }
    if (taken > 0)
        qsort(x, taken, sizeof *x, by_child);
    return taken;
}
