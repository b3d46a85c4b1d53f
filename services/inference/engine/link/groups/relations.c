#include "services/inference/engine/link/groups/relations.h"

#include <stdlib.h>

#include "services/inference/engine/message.h"

/* Matches between the two tables of a reference. */
static size_t matches_of(const tab_clusters *cl, const tab_reference *q)
{
    size_t n = 0;
    for (size_t i = 0; i < cl->matches; i++)
        n += (cl->match[i].ta == q->child_table && cl->match[i].tb == q->parent_table) ||
             (cl->match[i].tb == q->child_table && cl->match[i].ta == q->parent_table);
    return n;
}

bool tab_relations_same(const tab_relations *x, size_t i)
{
    const tab_reference *q = &x->plan->keys.ref[i];
    return x->plan->again[i] || matches_of(x->clusters, q) * 5 > x->v->table[q->child_table].rows;
}

/* One column or two; second may be TAB_NULL. */
static bool add_columns(const tab_relations *x, size_t table, uint32_t col, uint32_t second, size_t *n,
                        Tabella__ColumnRef ***to)
{
    const tab_table *t = x->v->table[table].profile->table;
    *to = tab_arena_new_of(x->e->arena, Tabella__ColumnRef *, 2);
    if (*to == NULL)
        return false;
    (*to)[(*n)++] = tab_column_ref(x->e->arena, t, (uint32_t)table, col);
    if (second != TAB_NULL)
        (*to)[(*n)++] = tab_column_ref(x->e->arena, t, (uint32_t)table, second);
    return (*to)[0] != NULL && (*to)[*n - 1] != NULL;
}

/* One reference, told from the table that was supplied first; within a table from the column that refers. */
static bool write_reference(const tab_relations *x, const tab_reference *q, Tabella__TableRelation *r)
{
    bool child_first = q->child_table <= q->parent_table;
    uint32_t *to = tab_reference_rows(x->v, q);
    for (size_t i = 0; to != NULL && i < x->v->table[q->child_table].rows; i++)
        r->matches += to[i] != TAB_NULL;
    bool ok = to != NULL;
    free(to);
    r->a_table = child_first ? q->child_table : q->parent_table;
    r->b_table = child_first ? q->parent_table : q->child_table;
    r->relation = tab_text(q->one_to_one ? "one_to_one" : child_first ? "many_to_one" : "one_to_many");
    r->key = 1;
    r->confidence = q->p;
    r->evidence = tab_reference_words(x->e->arena, x->v, q);
    uint32_t mine[] = { q->child, q->child2 }, theirs[] = { q->parent, q->parent2 };
    const uint32_t *a = child_first ? mine : theirs, *b = child_first ? theirs : mine;
    return ok && r->evidence != NULL &&
           add_columns(x, r->a_table, a[0], a[1], &r->n_a_columns, &r->a_columns) &&
           add_columns(x, r->b_table, b[0], b[1], &r->n_b_columns, &r->b_columns);
}

/* Two tables that share entities; of exactly two tables without a reference also that they share none. */
static bool write_shared(const tab_relations *x, size_t link, size_t matches, double sum,
                         Tabella__TableRelation *r)
{
    static const char *const name[2][2] = { { "one_to_one", "one_to_many" },
                                            { "many_to_one", "many_to_many" } };
    const tab_linkage *l = &x->link[link];
    r->a_table = (uint32_t)l->ta;
    r->b_table = (uint32_t)l->tb;
    r->relation = tab_text(name[l->many_a][l->many_b]);
    r->matches = matches;
    r->confidence = matches > 0 ? sum / (double)matches : 0;
    r->evidence = tab_arena_printf(x->e->arena, "%zu pairs of rows of %.*s and %.*s are one entity", matches,
                                   TAB_STR(x->v->table[l->ta].profile->table->id),
                                   TAB_STR(x->v->table[l->tb].profile->table->id));
    return r->evidence != NULL;
}

tab_status tab_relations_write(const tab_relations *x, Tabella__CrossTableMap *m, tab_error *err)
{
    tab_arena *a = x->e->arena;
    size_t said = 0;
    size_t *matches = calloc(x->links + 1, sizeof *matches);
    double *sum = calloc(x->links + 1, sizeof *sum);
    m->relation = tab_arena_new_of(a, Tabella__TableRelation *, x->links + x->plan->keys.n);
    bool ok = matches != NULL && sum != NULL && m->relation != NULL;
    for (size_t i = 0; ok && i < x->clusters->matches; i++) {
        matches[x->clusters->match[i].link]++;
        sum[x->clusters->match[i].link] += (double)x->clusters->match[i].p;
    }
    for (size_t i = 0; ok && i < x->plan->keys.n + x->links; i++) {
        bool key = i < x->plan->keys.n;
        size_t k = i - x->plan->keys.n;
        if (key ? x->plan->keys.ref[i].p < x->threshold || tab_relations_same(x, i)
                : matches[k] == 0 && (x->v->n > 2 || said > 0))
            continue;
        Tabella__TableRelation *r = tab_message(a, Tabella__TableRelation, TABELLA__TABLE_RELATION__INIT);
        ok = r != NULL &&
             (key ? write_reference(x, &x->plan->keys.ref[i], r) : write_shared(x, k, matches[k], sum[k], r));
        m->relation[m->n_relation++] = r;
        said++;
    }
    free(matches);
    free(sum);
    return ok ? TAB_OK : tab_no_memory(err);
}
