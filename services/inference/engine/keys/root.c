/* See root.h. A country's economy and its politics are tables of their own, each keyed by the country, and
 * whatever refers to a country finds its values in all of them. By values they are one key, so the trees
 * share a reference among them, and none gets one half. What tells the country's own table is that it names
 * its rows: it has other columns of texts that are unique. Where one table alone has such a column, the
 * references are its own. Counted numbers are left out: tables of as many rows hold the same ones by
 * chance. */
#include "services/inference/engine/keys/root.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/union_find.h"

/* ALIKE: share of both columns' values from which they are the same. COUNTED: share of a range from which
 * whole numbers may be the same by chance. MOST: what a probability is at the most. */
static const double ALIKE = 0.98, COUNTED = 0.5;
static const float MOST = 0.99f;

/* What is known of each column. */
typedef struct {
    uint32_t *up;    /* columns of the same values */
    uint32_t *root;  /* by the first of these: the one that is referred to, or TAB_NULL */
    uint32_t *names; /* by table: unique columns of texts */
    float *sum;      /* of one child's parents, by the first of these; zero between children, as the next */
    bool *there;
} standing;

/* Whether the child is unique and holds the same values as the parent, beyond chance. */
static bool same_values(const tab_key_columns *k, const tab_inclusion *x)
{
    const tab_key_column *c = &k->col[x->child], *q = &k->col[x->parent];
    return c->unique && x->held >= ALIKE * q->n && x->held >= ALIKE * c->n &&
           !(q->kind == TAB_KEY_WHOLE && (double)x->f[TAB_KEY_F_PARENT_DENSE] > COUNTED);
}

/* Whether column c's table has a unique column of texts beside it. */
static bool is_named(const tab_key_columns *k, const uint32_t *names, uint32_t c)
{
    const tab_key_column *q = &k->col[c];
    return names[q->table] > (uint32_t)(q->kind == TAB_KEY_TEXT);
}

/* Fills root: TAB_NULL - 1, which is no column, where several tables name their rows. */
static void find_roots(const tab_key_columns *k, const tab_inclusion *x, size_t n, const standing *s)
{
    for (size_t i = 0; i < n; i++) {
        if (!same_values(k, &x[i]))
            continue;
        uint32_t two[] = { x[i].child, x[i].parent };
        for (int q = 0; q < 2; q++) {
            uint32_t *root = &s->root[tab_union_root(s->up, two[q])];
            if (is_named(k, s->names, two[q]) && *root != two[q])
                *root = *root == TAB_NULL ? two[q] : TAB_NULL - 1;
        }
    }
}

/* Moves the probabilities of one child's parents, x[0..n), to the root of those with the same values, where
 * it is one of them. */
static void move(const tab_inclusion *x, size_t n, const standing *s, float *p)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t same = tab_union_root(s->up, x[i].parent);
        s->sum[same] += p[i];
        s->there[same] = s->there[same] || s->root[same] == x[i].parent;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t same = tab_union_root(s->up, x[i].parent);
        if (s->there[same])
            p[i] = s->root[same] == x[i].parent ? fmaxf(p[i], fminf(s->sum[same], MOST)) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t same = tab_union_root(s->up, x[i].parent);
        s->sum[same] = 0;
        s->there[same] = false;
    }
}

/* Fills up, root and names. */
static void say_same(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n,
                     const standing *s)
{
    for (uint32_t i = 0; i < columns; i++) {
        s->up[i] = i;
        s->root[i] = TAB_NULL;
        s->names[i] = 0;
    }
    for (size_t i = 0; i < columns; i++) /* there are no more tables than columns */
        s->names[k->col[i].table] += k->col[i].unique && k->col[i].kind == TAB_KEY_TEXT;
    for (size_t i = 0; i < n; i++)
        if (same_values(k, &x[i])) {
            uint32_t a = tab_union_root(s->up, x[i].child), b = tab_union_root(s->up, x[i].parent);
            s->up[a > b ? a : b] = a > b ? b : a;
        }
    find_roots(k, x, n, s);
}

bool tab_keys_root(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n, float *p)
{
    uint32_t *all = malloc((3 * columns + 1) * sizeof *all);
    float *sum = calloc(columns + 1, sizeof *sum);
    bool *there = calloc(columns + 1, sizeof *there), ok = all != NULL && sum != NULL && there != NULL;
    standing s = { all, all + columns, all + 2 * columns, sum, there };
    if (ok)
        say_same(k, columns, x, n, &s);
    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from; to < n && x[to].child == x[from].child; to++)
            ;
        move(x + from, to - from, &s, p + from);
    }
    free(all);
    free(sum);
    free(there);
    return ok;
}
