/* See keys.h: the columns by which tables are related, each with a phrase for people. bundle.c and the
 * serving of endpoints leave these columns as they are. */
#include "services/inference/engine/keys/keys.h"

/* A table's and a column's name, as an address. */
static const char *address(tab_arena *a, const tab_table *t, size_t column)
{
    tab_str c = tab_column_address(a, t, column);
    return c.p == NULL ? NULL : tab_arena_printf(a, "%.*s.%.*s", TAB_STR(t->id), TAB_STR(c));
}

tab_status tab_key_columns_named(const tab_engine *e, tab_profile *const *p, size_t n,
                                 const char *const *const **ret, tab_error *err)
{
    TAB_AUTO(tab_views) *v = NULL;
    TAB_AUTO(tab_arena) *work = tab_arena_new((size_t)8 << 30);
    const char ***why = tab_arena_new_of(e->arena, const char **, n + 1);
    tab_keys keys;
    if (work == NULL || why == NULL)
        return tab_no_memory(err);
    for (size_t t = 0; t < n; t++)
        why[t] = tab_arena_new_of(e->arena, const char *, p[t]->table->cols + 1);
    if (tab_arena_full(e->arena))
        return tab_no_memory(err);
    TAB_TRY(tab_views_new(e, p, n, &v, err));
    TAB_TRY(tab_keys_find(e, v, 0.5, work, &keys, err));
    for (size_t i = 0; i < keys.n; i++) {
        const tab_reference *r = &keys.ref[i];
        const tab_table *child = p[r->child_table]->table, *parent = p[r->parent_table]->table;
        const char *of = address(e->arena, parent, r->parent), *by = address(e->arena, child, r->child);
        if (of == NULL || by == NULL)
            return tab_no_memory(err);
        why[r->child_table][r->child] = tab_arena_printf(e->arena, "it refers to %s", of);
        for (uint32_t q = 0; q < r->also; q++) {
            const char *further = address(e->arena, parent, r->parent_also[q]);
            if (further == NULL)
                return tab_no_memory(err);
            why[r->child_table][r->child_also[q]] = tab_arena_printf(e->arena, "it refers to %s", further);
            if (why[r->parent_table][r->parent_also[q]] == NULL)
                why[r->parent_table][r->parent_also[q]] = tab_arena_printf(e->arena, "%s refers to it", by);
        }
        if (why[r->parent_table][r->parent] == NULL)
            why[r->parent_table][r->parent] = tab_arena_printf(e->arena, "%s refers to it", by);
    }
    if (tab_arena_full(e->arena))
        return tab_no_memory(err);
    *ret = (const char *const *const *)why;
    return TAB_OK;
}
