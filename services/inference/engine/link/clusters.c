#include "services/inference/engine/link/clusters.h"

#include <stdlib.h>

static int likeliest_first(const void *a, const void *b)
{
    const tab_match *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

static int in_order(const void *a, const void *b)
{
    const tab_match *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static uint32_t root(uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* rows of all tables are nodes; of[t] is the first node of table t. In an entity the rows form a ring
 * through next[], so that two entities are joined and walked without lists. */
typedef struct {
    const tab_views *v;
    uint32_t *up, *next, *table, *first;
} forest;

static bool shares_table(const forest *f, uint32_t x, uint32_t y)
{
    uint64_t seen = 0; /* at most 64 tables a request */
    uint32_t i = x;
    do {
        seen |= (uint64_t)1 << (f->table[i] & 63);
        i = f->next[i];
    } while (i != x);
    i = y;
    do {
        if (seen >> (f->table[i] & 63) & 1)
            return true;
        i = f->next[i];
    } while (i != y);
    return false;
}

tab_status tab_clusters_build(const tab_views *v, const tab_linkage *links, size_t n_links,
                              double threshold, tab_arena *out, tab_clusters *ret, tab_error *err)
{
    size_t nodes = v->total_rows, n = 0;
    for (size_t l = 0; l < n_links; l++)
        for (size_t i = 0; i < links[l].c.n; i++)
            n += links[l].c.kept[i] && (double)links[l].c.p[i] >= threshold;
    forest f = { v, malloc((nodes + 1) * 4), malloc((nodes + 1) * 4), malloc((nodes + 1) * 4),
                 malloc((v->n + 1) * 4) };
    tab_match *all = malloc((n + 1) * sizeof *all);
    bool *used = calloc(nodes + 1, 1);
    *ret = (tab_clusters){ .match = tab_arena_new_of(out, tab_match, n) };
    tab_status st = TAB_OK;
    if (!f.up || !f.next || !f.table || !f.first || !all || !used || ret->match == NULL) {
        st = tab_fail(err, TAB_INTERNAL, "", "memory is out");
        goto done;
    }
    uint32_t node = 0;
    for (uint32_t t = 0; t < v->n; t++) {
        f.first[t] = node;
        for (size_t r = 0; r < v->table[t].rows; r++, node++) {
            f.up[node] = f.next[node] = node;
            f.table[node] = t;
        }
    }
    n = 0;
    for (size_t l = 0; l < n_links; l++)
        for (size_t i = 0; i < links[l].c.n; i++)
            if (links[l].c.kept[i] && (double)links[l].c.p[i] >= threshold)
                all[n++] =
                    (tab_match){ (uint32_t)links[l].ta, (uint32_t)links[l].tb, links[l].c.a[i],
                                 links[l].c.b[i],       (uint32_t)l,           (uint32_t)i,
                                 links[l].c.p[i] };
    qsort(all, n, sizeof *all, likeliest_first);

    /* entities hold one row a table; a match that would break that joins nothing, and in one-to-one
     * data is dropped: the likelier ones came first */
    for (size_t i = 0; i < n; i++) {
        uint32_t x = f.first[all[i].ta] + all[i].a, y = f.first[all[i].tb] + all[i].b;
        uint32_t rx = root(f.up, x), ry = root(f.up, y);
        if (rx != ry && !shares_table(&f, x, y)) {
            f.up[rx > ry ? rx : ry] = rx > ry ? ry : rx;
            uint32_t t = f.next[x];
            f.next[x] = f.next[y];
            f.next[y] = t;
            ret->match[ret->matches++] = all[i];
        } else if (rx == ry || !links[all[i].link].one_to_one) {
            ret->match[ret->matches++] = all[i];
        }
    }
    qsort(ret->match, ret->matches, sizeof *ret->match, in_order);

    size_t count = 0;
    for (uint32_t i = 0; i < nodes; i++)
        count += root(f.up, i) == i;
    tab_entities *n_of = &ret->entities;
    n_of->row = tab_arena_new_of(out, uint32_t, count * v->n);
    n_of->confidence = tab_arena_new_of(out, double, count);
    uint32_t *entity = malloc((nodes + 1) * 4);
    if (n_of->row == NULL || n_of->confidence == NULL || entity == NULL) {
        free(entity);
        st = tab_fail(err, TAB_INTERNAL, "", "memory is out");
        goto done;
    }
    for (size_t i = 0; i < count * v->n; i++)
        n_of->row[i] = TAB_NULL;
    for (uint32_t i = 0; i < nodes; i++) { /* numbered by their first row, in table order */
        if (root(f.up, i) != i)
            continue;
        uint32_t k = i;
        do {
            n_of->row[n_of->n * v->n + f.table[k]] = k - f.first[f.table[k]];
            entity[k] = (uint32_t)n_of->n;
            k = f.next[k];
        } while (k != i);
        n_of->confidence[n_of->n++] = 1;
    }
    for (size_t i = 0; i < ret->matches; i++) {
        const tab_match *m = &ret->match[i];
        uint32_t x = f.first[m->ta] + m->a, y = f.first[m->tb] + m->b;
        used[x] = used[y] = true;
        if (entity[x] == entity[y] && (double)m->p < n_of->confidence[entity[x]])
            n_of->confidence[entity[x]] = (double)m->p;
    }
    for (uint32_t i = 0; i < nodes; i++)
        ret->linked += used[i];
    free(entity);
done:
    free(f.up);
    free(f.next);
    free(f.table);
    free(f.first);
    free(all);
    free(used);
    return st;
}
