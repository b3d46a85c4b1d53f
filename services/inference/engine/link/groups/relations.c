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

/* The columns of one side of a reference. */
static bool add_columns(const tab_relations *x, size_t table, uint32_t first, const uint32_t *also,
                        uint32_t n, size_t *ret_n, Tabella__ColumnRef ***to)
{
    const tab_table *t = x->v->table[table].profile->table;
    *to = tab_arena_new_of(x->e->arena, Tabella__ColumnRef *, n + 1);
    for (uint32_t i = 0; *to != NULL && i <= n; i++) {
        (*to)[i] = tab_column_ref(x->e->arena, t, (uint32_t)table, i == 0 ? first : also[i - 1]);
        if ((*to)[i] == NULL)
            return false;
    }
    *ret_n = n + 1;
    return *to != NULL;
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
    if (!ok || r->evidence == NULL)
        return false;
    size_t *mine_n = child_first ? &r->n_a_columns : &r->n_b_columns,
           *their_n = child_first ? &r->n_b_columns : &r->n_a_columns;
    Tabella__ColumnRef ***mine = child_first ? &r->a_columns : &r->b_columns,
                       ***theirs = child_first ? &r->b_columns : &r->a_columns;
    return add_columns(x, q->child_table, q->child, q->child_also, q->also, mine_n, mine) &&
           add_columns(x, q->parent_table, q->parent, q->parent_also, q->also, their_n, theirs);
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
    tab_str a = x->v->table[l->ta].profile->table->id, b = x->v->table[l->tb].profile->table->id;
    r->evidence = matches == 0
                      ? tab_arena_printf(x->e->arena, "no row of %.*s is the same entity as a row of %.*s",
                                         TAB_STR(a), TAB_STR(b))
                      : tab_arena_printf(x->e->arena, "%zu %s of rows in %.*s and %.*s %s the same entity",
                                         matches, matches == 1 ? "pair" : "pairs", TAB_STR(a), TAB_STR(b),
                                         matches == 1 ? "is" : "are");
    return r->evidence != NULL;
}

/* Rows of the same things, of which neither table is a list: many to many through the thing (decisions 0417,
 * 0552). */
static bool write_things(const tab_relations *x, size_t s, size_t t, uint32_t a, uint32_t b, size_t n,
                         Tabella__TableRelation *r)
{
    const tab_table *p = x->v->table[s].profile->table, *q = x->v->table[t].profile->table;
    const tab_grain *g = x->plan->grain;
    tab_str by = tab_column_address(x->e->arena, p, a), of = tab_column_address(x->e->arena, q, b);
    r->a_table = (uint32_t)s;
    r->b_table = (uint32_t)t;
    r->relation = tab_text("many_to_many");
    r->confidence = g[s].confidence < g[t].confidence ? g[s].confidence : g[t].confidence;
    bool hosts = x->v->table[s].col[a].hosts || x->v->table[t].col[b].hosts;
    r->evidence = tab_arena_printf(
        x->e->arena,
        "no row of one table is a row of the other; %zu values occur in both %.*s.%.*s and %.*s.%.*s%s", n,
        TAB_STR(p->id), TAB_STR(by), TAB_STR(q->id), TAB_STR(of),
        hosts ? ", where hosts are read as names" : "");
    return r->evidence != NULL && add_columns(x, s, a, NULL, 0, &r->n_a_columns, &r->a_columns) &&
           add_columns(x, t, b, NULL, 0, &r->n_b_columns, &r->b_columns);
}

/* The columns that name what rows of tables s and t are of, where none is the other's row; *ret: how many
 * values they have in common. */
static bool same_things(const tab_relations *x, size_t s, size_t t, uint32_t *a, uint32_t *b, size_t *ret)
{
    if (x->plan->moments[s * x->v->n + t])
        return tab_grains_same_things(x->v, x->plan->grain, s, t, a, b, ret);
    for (size_t i = 0; i < x->links; i++) {
        const tab_linkage *l = &x->link[i];
        if (l->ta != s || l->tb != t || l->thing_a == TAB_NULL)
            continue;
        *a = l->thing_a;
        *b = l->thing_b;
        *ret = tab_shared_values(&x->v->table[s].col[*a], &x->v->table[t].col[*b], x->v->terms);
        return true;
    }
    return false;
}

/* Adds a relation to m for each two tables that tell of the same things. */
static bool add_things(const tab_relations *x, Tabella__CrossTableMap *m)
{
    for (size_t s = 0; s < x->v->n; s++)
        for (size_t t = s + 1; t < x->v->n; t++) {
            uint32_t a, b;
            size_t n;
            if (!same_things(x, s, t, &a, &b, &n))
                continue;
            Tabella__TableRelation *r =
                tab_message(x->e->arena, Tabella__TableRelation, TABELLA__TABLE_RELATION__INIT);
            if (r == NULL || !write_things(x, s, t, a, b, n, r))
                return false;
            m->relation[m->n_relation++] = r;
        }
    return true;
}

/* Whether reference i is told: not where its tables' rows are the same entities by what else they hold. */
static bool is_said(const tab_relations *x, size_t i)
{
    const tab_reference *q = &x->plan->keys.ref[i];
    bool key = x->plan->keyed[q->child_table * x->v->n + q->parent_table] == i;
    return q->p >= x->threshold && (key || !tab_relations_same(x, i));
}

tab_status tab_relations_write(const tab_relations *x, Tabella__CrossTableMap *m, tab_error *err)
{
    tab_arena *a = x->e->arena;
    size_t said = 0;
    size_t *matches = calloc(x->links + 1, sizeof *matches);
    double *sum = calloc(x->links + 1, sizeof *sum);
    m->relation =
        tab_arena_new_of(a, Tabella__TableRelation *, x->links + x->plan->keys.n + x->v->n * x->v->n);
    bool ok = matches != NULL && sum != NULL && m->relation != NULL && add_things(x, m);
    said = m->n_relation;
    for (size_t i = 0; ok && i < x->clusters->matches; i++) {
        matches[x->clusters->match[i].link]++;
        sum[x->clusters->match[i].link] += (double)x->clusters->match[i].p;
    }
    for (size_t i = 0; ok && i < x->plan->keys.n + x->links; i++) {
        bool key = i < x->plan->keys.n;
        size_t k = i - x->plan->keys.n;
        if (key ? !is_said(x, i) : x->link[k].keyed || (matches[k] == 0 && (x->v->n > 2 || said > 0)))
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
