/* See keys.h: the steps in order.
 *
 *   key_columns.c   sorted sets of values, a column each
 *   inclusions.c    pairs of columns in which one holds the other's values, with features (compete.c: of
 *                   rivals)
 *   score.c         a probability for each, by two stages of trees; choose.c leaves one parent a column
 *   here            references, and the columns that references join: one domain */
#include "services/inference/engine/keys/keys.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/union_find.h"
#include "services/inference/engine/keys/score.h"

/* HALF: probability from which a reference counts for domains, and share of a range from which a unique
 * column of whole numbers is a counter of rows. DENSE: share of a range from which a parent's numbers are
 * counted ones. */
static const double HALF = 0.5, DENSE = 0.05;

/* Columns that references join have one domain, the number of its first column. */
static bool domains(const tab_views *v, const tab_key_columns *k, const tab_inclusion *x, size_t n,
                    const float *p, tab_arena *a, tab_keys *ret)
{
    size_t columns = k->at[v->n];
    uint32_t *up = malloc((columns + 1) * sizeof *up);
    bool *any = calloc(columns + 1, sizeof *any), *counted = calloc(columns + 1, sizeof *counted);
    ret->domain = tab_arena_new_of(a, uint32_t *, v->n);
    ret->counted = tab_arena_new_of(a, bool *, v->n);
    bool ok = up != NULL && any != NULL && counted != NULL && ret->domain != NULL && ret->counted != NULL;
    for (uint32_t i = 0; ok && i < columns; i++)
        up[i] = i;
    /* likely references join their columns */
    for (size_t i = 0; ok && i < n; i++)
        if ((double)p[i] >= HALF) {
            uint32_t r = tab_union_root(up, x[i].child), s = tab_union_root(up, x[i].parent);
            up[r > s ? r : s] = r > s ? s : r;
            any[x[i].child] = any[x[i].parent] = true;
        }
    /* a domain is of counted numbers where one of its parents is */
    for (size_t i = 0; ok && i < n; i++)
        if ((double)p[i] >= HALF && (double)x[i].f[TAB_KEY_F_PARENT_DENSE] > DENSE)
            counted[tab_union_root(up, x[i].child)] = true;
    for (size_t t = 0; ok && t < v->n; t++) {
        ret->domain[t] = tab_arena_new_of(a, uint32_t, v->table[t].cols);
        ret->counted[t] = tab_arena_new_of(a, bool, v->table[t].cols);
        ok = ret->domain[t] != NULL && ret->counted[t] != NULL;
        for (size_t c = 0; ok && c < v->table[t].cols; c++) {
            uint32_t i = (uint32_t)(k->at[t] + c);
            ret->domain[t][c] = any[i] ? tab_union_root(up, i) : TAB_NULL;
            /* a counter of the table's own rows: unique whole numbers that nearly fill their range */
            const tab_key_column *q = &k->col[i];
            bool counter =
                q->kind == TAB_KEY_WHOLE && q->unique && q->n > 1 && q->n > HALF * (q->most - q->least + 1);
            ret->counted[t][c] = counter || (any[i] && counted[tab_union_root(up, i)]);
        }
    }
    free(up);
    free(any);
    free(counted);
    return ok;
}

tab_status tab_keys_find(const tab_engine *e, const tab_views *v, double least, tab_arena *a, tab_keys *ret,
                         tab_error *err)
{
    TAB_AUTO(tab_arena) *work = tab_arena_new(SIZE_MAX / 2);
    tab_key_columns k;
    tab_inclusion *x = NULL;
    size_t n = 0;
    *ret = (tab_keys){ 0 };
    if (work == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_key_columns_new(e, v, work, &k, err));
    TAB_TRY(tab_inclusions_find(e, v, &k, work, &x, &n, err));
    float *p = tab_arena_new_of(work, float, n);
    if (p == NULL || !tab_keys_score(tab_key_model_shipped(), &k, k.at[v->n], x, n, p) ||
        !domains(v, &k, x, n, p, a, ret))
        return tab_no_memory(err);
    /* inclusions are sorted by child, and so are the references */
    ret->ref = tab_arena_new_of(a, tab_reference, n);
    if (ret->ref == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] > 0 && (double)p[i] >= least))
            continue;
        const tab_key_column *c = &k.col[x[i].child], *q = &k.col[x[i].parent];
        ret->ref[ret->n++] = (tab_reference){ .child_table = c->table,
                                              .child = c->column,
                                              .parent_table = q->table,
                                              .parent = q->column,
                                              .child_values = c->n,
                                              .parent_values = q->n,
                                              .held = x[i].held,
                                              .p = (double)p[i],
                                              .one_to_one = c->unique,
                                              .counted = (double)x[i].f[TAB_KEY_F_PARENT_DENSE] > DENSE };
    }
    return TAB_OK;
}

bool tab_references_of(const tab_keys *k, tab_arena *a, tab_references *ret)
{
    *ret = (tab_references){ .ref = tab_arena_new_of(a, tab_reference, k->n + 1) };
    for (size_t i = 0; ret->ref != NULL && i < k->n; i++)
        if (k->ref[i].p >= HALF)
            ret->ref[ret->n++] = k->ref[i];
    return ret->ref != NULL;
}

/* The views are made for this alone. */
tab_status tab_references_find(const tab_engine *e, tab_profile *const *p, size_t n, tab_references *ret,
                               tab_error *err)
{
    TAB_AUTO(tab_views) *v = NULL;
    TAB_AUTO(tab_arena) *work = tab_arena_new(SIZE_MAX / 2);
    tab_keys k = { 0 };
    *ret = (tab_references){ 0 };
    if (n < 2)
        return TAB_OK;
    if (work == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_views_new(e, p, n, &v, err));
    TAB_TRY(tab_keys_find(e, v, HALF, work, &k, err));
    return tab_references_of(&k, e->arena, ret) ? TAB_OK : tab_no_memory(err);
}

/* "table.column" */
static char *address(tab_arena *a, const tab_views *v, uint32_t table, uint32_t column)
{
    const tab_table *t = v->table[table].profile->table;
    tab_str c = tab_column_address(a, t, column);
    return tab_arena_printf(a, "%.*s.%.*s", TAB_STR(t->id), TAB_STR(c));
}

char *tab_reference_words(tab_arena *a, const tab_views *v, const tab_reference *r)
{
    const char *child = address(a, v, r->child_table, r->child);
    const char *parent = address(a, v, r->parent_table, r->parent);
    if (child == NULL || parent == NULL)
        return NULL;
    const char *stands = r->one_to_one ? "; each stands once in both" : "";
    if (r->held == r->child_values)
        return tab_arena_printf(a, "all %u values of %s are among the %u of %s, which identify its rows%s",
                                r->child_values, child, r->parent_values, parent, stands);
    return tab_arena_printf(a, "%u of the %u values of %s are among the %u of %s, which identify its rows%s",
                            r->held, r->child_values, child, r->parent_values, parent, stands);
}

uint32_t *tab_reference_rows(const tab_views *v, const tab_reference *r)
{
    const tab_table_view *A = &v->table[r->child_table], *B = &v->table[r->parent_table];
    const tab_view *c = &A->col[r->child], *p = &B->col[r->parent];
    uint32_t *to = malloc((A->rows + 1) * sizeof *to), *first = malloc((v->terms + 1) * sizeof *first);
    /* the first row of the parent that holds each term; then a look-up for each row of the child */
    for (size_t i = 0; first != NULL && i < v->terms; i++)
        first[i] = TAB_NULL;
    for (uint32_t i = 0; first != NULL && i < p->values; i++)
        if (first[p->value[i].key] == TAB_NULL || p->value[i].first < first[p->value[i].key])
            first[p->value[i].key] = p->value[i].first;
    for (size_t i = 0; to != NULL && first != NULL && i < A->rows; i++)
        to[i] = c->code[i] == TAB_NULL ? TAB_NULL : first[c->value[c->code[i]].key];
    if (first == NULL) {
        free(to);
        to = NULL;
    }
    free(first);
    return to;
}
