/* Every pair of tables is linked on its own; pairs are shared out over threads. */
#include <stdlib.h>

#include "services/inference/engine/link/pairs/link.h"

/* A pair of tables, with what is found of it and where that lives. */
typedef struct {
    size_t ta, tb;
    tab_half_linked half;
    tab_arena *own;
    tab_status status;
    tab_error error;
} table_pair;

typedef struct {
    const tab_engine *e;
    tab_views *v;
    tab_link_table *tables;
    const tab_key_plan *plan;
    table_pair *pair;
    tab_linkage *link;
    size_t n; /* pairs that have an arena */
} linking;

/* Rows of a pair from which its own loops are worth sharing out, beside the loop over pairs: waking a thread
 * for a few rows costs more than they do. */
enum { SHARED_ROWS = 4000 };

static tab_engine engine_for(const linking *w, const table_pair *q)
{
    tab_engine own = *w->e;
    if (w->v->table[q->ta].rows + w->v->table[q->tb].rows < SHARED_ROWS)
        own.parallel_for = NULL;
    return own;
}

static void link_columns(void *ctx, size_t i)
{
    linking *w = ctx;
    table_pair *q = &w->pair[i];
    tab_engine own = engine_for(w, q);
    q->status = tab_link_columns(&own, w->v, w->tables, w->plan, q->ta, q->tb, q->own, &w->link[i], &q->half,
                                 &q->error);
}

static void link_rows(void *ctx, size_t i)
{
    linking *w = ctx;
    table_pair *q = &w->pair[i];
    tab_engine own = engine_for(w, q);
    q->status = tab_link_rows(&own, w->v, w->tables, w->plan, &q->half, q->own, &w->link[i], &q->error);
}

static tab_status first_failure(const linking *w, tab_error *err)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->pair[i].status != TAB_OK) {
            if (err != NULL)
                *err = w->pair[i].error;
            return w->pair[i].status;
        }
    return TAB_OK;
}

static void free_arenas(void *arg)
{
    linking *w = arg;
    for (size_t i = 0; i < w->n; i++)
        tab_arena_free(w->pair[i].own);
}

tab_status tab_link_pairs(const tab_engine *e, tab_views *v, tab_link_table *tables, const tab_key_plan *plan,
                          tab_arena *a, tab_linkage **ret, size_t *ret_n, tab_error *err)
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
    tab_engine_for(e, pairs, link_columns, w);
    TAB_TRY(first_failure(w, err));
    for (size_t i = 0; i < pairs; i++)
        TAB_TRY(tab_link_join(v, &link[i], err));
    tab_engine_for(e, pairs, link_rows, w);
    TAB_TRY(first_failure(w, err));
    *ret = link;
    *ret_n = pairs;
    return TAB_OK;
}
