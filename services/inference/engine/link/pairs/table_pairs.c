/* Every pair of tables is linked on its own; pairs are shared out over threads. */
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"

/* A pair of tables, with what is found of it and where that lives. */
typedef struct {
    size_t ta, tb;
    tab_arena *own;
    tab_status status;
    tab_error error;
} table_pair;

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    tab_link_table *tables;
    const tab_key_plan *plan;
    table_pair *pair;
    tab_linkage *link;
    size_t n; /* pairs that have an arena */
} linking;

/* Rows of a pair from which its own loops are worth sharing out, beside the loop over pairs: waking a thread
 * for a few rows costs more than they do. */
enum { SHARED_ROWS = 4000 };

static void link_one(void *ctx, size_t i)
{
    linking *w = ctx;
    table_pair *q = &w->pair[i];
    tab_engine own = *w->e;
    if (w->v->table[q->ta].rows + w->v->table[q->tb].rows < SHARED_ROWS)
        own.parallel_for = NULL;
    q->status = tab_link_pair(&own, w->v, w->tables, w->plan, q->ta, q->tb, q->own, &w->link[i], &q->error);
}

static void free_arenas(void *arg)
{
    linking *w = arg;
    for (size_t i = 0; i < w->n; i++)
        tab_arena_free(w->pair[i].own);
}

tab_status tab_link_pairs(const tab_engine *e, const tab_views *v, tab_link_table *tables,
                          const tab_key_plan *plan, tab_arena *a, tab_linkage **ret, size_t *ret_n,
                          tab_error *err)
{
    size_t pairs = v->n * (v->n - 1) / 2;
    linking *w = tab_arena_new_of(a, linking, 1);
    table_pair *q = tab_arena_new_of(a, table_pair, pairs);
    tab_linkage *link = tab_arena_new_of(a, tab_linkage, pairs);
    if (w == NULL || q == NULL || link == NULL)
        return tab_no_memory(err);
    *w = (linking){ .e = e, .v = v, .tables = tables, .plan = plan, .pair = q, .link = link };
    if (!tab_arena_defer(a, free_arenas, w))
        return tab_no_memory(err);
    for (size_t i = 0; i < v->n; i++)
        for (size_t j = i + 1; j < v->n; j++) {
            q[w->n] = (table_pair){ .ta = i, .tb = j, .own = tab_arena_new(SIZE_MAX / 2) };
            if (q[w->n].own == NULL)
                return tab_no_memory(err);
            w->n++;
        }
    tab_engine_for(e, pairs, link_one, w);
    for (size_t i = 0; i < pairs; i++)
        if (q[i].status != TAB_OK) {
            if (err != NULL)
                *err = q[i].error;
            return q[i].status;
        }
    *ret = link;
    *ret_n = pairs;
    return TAB_OK;
}
