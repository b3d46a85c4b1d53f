/* See children.h. Every row of every table is a node; a row points to the row of the parent table that it
 * refers to. Following the pointers up to a row that is an entity gives the entity a row hangs under. */
#include "services/inference/engine/unify/children.h"

#include <stdlib.h>

/* Rows of all tables are nodes; first[t] is the first of table t. */
typedef struct {
    uint32_t *first;  /* (tables + 1) */
    uint32_t *up;     /* (nodes) the parent's row, as a node */
    uint32_t *entity; /* (nodes) */
    bool *hangs;      /* (nodes) */
} rows;

static void rows_free(rows *r)
{
    free(r->first);
    free(r->up);
    free(r->entity);
    free(r->hangs);
}

/* Each node's parent row, by the reference under which its table hangs; none where the table hangs under
 * none, or the cell refers to no row. False: out of memory. */
static bool rows_new(const tab_views *v, const tab_keys *k, const tab_key_plan *plan, rows *r)
{
    size_t nodes = v->total_rows;
    *r = (rows){ malloc((v->n + 1) * 4), malloc((nodes + 1) * 4), malloc((nodes + 1) * 4),
                 calloc(nodes + 1, 1) };
    if (r->first == NULL || r->up == NULL || r->entity == NULL || r->hangs == NULL)
        return false;
    r->first[0] = 0;
    for (size_t t = 0; t < v->n; t++)
        r->first[t + 1] = r->first[t] + (uint32_t)v->table[t].rows;
    for (size_t t = 0; t < v->n; t++) {
        const tab_reference *ref = plan->under[t] == TAB_NULL ? NULL : &k->ref[plan->under[t]];
        uint32_t *to = ref == NULL ? NULL : tab_reference_rows(v, ref);
        if (ref != NULL && to == NULL)
            return false;
        for (size_t i = 0; i < v->table[t].rows; i++)
            r->up[r->first[t] + i] =
                to == NULL || to[i] == TAB_NULL ? TAB_NULL : r->first[ref->parent_table] + to[i];
        free(to);
    }
    return true;
}

/* Whether all rows of entity i are of one table and refer to a parent. */
static bool all_refer(const tab_entities *n, const rows *r, size_t i)
{
    uint32_t table = n->member[n->at[i]].table;
    for (size_t m = n->at[i]; m < n->at[i + 1]; m++)
        if (n->member[m].table != table || r->up[r->first[table] + n->member[m].row] == TAB_NULL)
            return false;
    return true;
}

/* Moves the entities that do not hang to the front and numbers them. */
static void keep_others(const tab_views *v, tab_entities *n, rows *r)
{
    size_t kept = 0, member = 0;
    for (size_t i = 0; i < n->n; i++) {
        size_t from = n->at[i], end = n->at[i + 1];
        bool hangs = all_refer(n, r, i);
        for (size_t m = from; m < end; m++) {
            uint32_t node = r->first[n->member[m].table] + n->member[m].row;
            r->hangs[node] = hangs;
            r->entity[node] = (uint32_t)kept;
        }
        if (hangs)
            continue;
        memmove(n->row + kept * v->n, n->row + i * v->n, v->n * sizeof *n->row);
        n->confidence[kept] = n->confidence[i];
        n->at[kept++] = member;
        for (size_t m = from; m < end; m++)
            n->member[member++] = n->member[m];
    }
    n->at[kept] = member;
    n->n = kept;
}

tab_status tab_children_hang(const tab_views *v, const tab_keys *k, const tab_key_plan *plan, tab_arena *a,
                             tab_entities *n, tab_children *ret, tab_error *err)
{
    rows r;
    size_t nodes = v->total_rows, hanging = 0;
    *ret = (tab_children){ 0 };
    uint32_t *at = NULL;
    bool ok = rows_new(v, k, plan, &r);
    if (ok) {
        /* entities that hang are no entities any more; their rows are counted, to make room for them */
        keep_others(v, n, &r);
        for (size_t i = 0; i < nodes; i++)
            hanging += r.hangs[i];
        at = calloc(n->n + 2, sizeof *at);
        ret->entity = tab_arena_new_of(a, uint32_t, hanging);
        ret->table = tab_arena_new_of(a, uint32_t, hanging);
        ret->row = tab_arena_new_of(a, uint32_t, hanging);
        ok = at != NULL && ret->entity != NULL && ret->table != NULL && ret->row != NULL;
    }
    for (size_t i = 0; ok && i < nodes; i++) {
        if (!r.hangs[i])
            continue;
        /* references form no circle (plan.h), so the way up ends at a row that is an entity's */
        uint32_t top = (uint32_t)i;
        while (r.hangs[top])
            top = r.up[top];
        r.entity[i] = r.entity[top];
        at[r.entity[i] + 1]++;
    }
    /* counting sort: where each entity's children begin, then each child in its place, by table and row */
    for (size_t i = 0; ok && i < n->n; i++)
        at[i + 1] += at[i];
    for (uint32_t t = 0; ok && t < v->n; t++)
        for (uint32_t i = r.first[t]; i < r.first[t + 1]; i++) {
            if (!r.hangs[i])
                continue;
            uint32_t to = at[r.entity[i]]++;
            ret->entity[to] = r.entity[i];
            ret->table[to] = t;
            ret->row[to] = i - r.first[t];
        }
    ret->n = hanging;
    rows_free(&r);
    free(at);
    return ok ? TAB_OK : tab_no_memory(err);
}

void tab_children_write(const tab_children *c, Tabella__UnifiedRows *u)
{
    u->child_entity = c->entity;
    u->child_table = c->table;
    u->child_row = c->row;
    u->n_child_entity = u->n_child_table = u->n_child_row = c->n;
}
