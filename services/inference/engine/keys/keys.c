/* See keys.h. References between tables, from values alone: no names are read, no constraint is known.
 *
 *   key_columns.c   sorted sets of values, a column each
 *   inclusions.c    pairs of columns in which one holds the other's values, with features (compete.c: of
 *                   rivals)
 *   score.c         a probability for each, by two stages of trees; choose.c leaves one parent a column
 *   sets.c          sets of columns that name rows, and those that hold them; within.c: references within a
 *                   table
 *   here            references, and the columns that references join: one domain
 *
 * A reference is an inclusion (nearly each value of the child stands in the parent) of which the parent is
 * unique. The converse does not hold: in small tables most inclusions are chance. Ages from 18 to 80 lie
 * within the numbers of a hundred customers; two tables that both count their rows from 1 include one
 * another. So an inclusion is only a candidate, and what tells a reference from chance is learned (decision
 * 0280): how dense the parent's values are, how much of the parent is used and how evenly, which rivals hold
 * the same values, what else the two tables share, how the child's values repeat. The trees were fitted on
 * public schemas, whole schemas left out; a second stage sees the first one's answers for all columns, since
 * a schema is decided as a whole: a column has one parent, and a table that is a parent of one is likelier
 * one of others.
 *
 * Counters are the trap. A column that only numbers rows holds any other counter's values. Where every table
 * leads with one it is each table's key, or an index that was written along (a data frame's): references are
 * found once with and once without them, and where most are found without, it is an index (score, decision
 * 0415).
 *
 * What holds:
 *
 *   - A column has at most one parent among references of one column; of references that lead the same rows
 *     to the same rows, one is said (leave_copies).
 *   - p is a probability and not a score: it is calibrated on schemas that taught nothing.
 *   - Columns that likely references join are one domain, and whatever matches rows reads a domain as one
 *     attribute; `counted` marks those whose equality proves little.
 *   - Cost: sets are sorted once; most candidates are dropped after a few values were looked up; the search
 *     for sets of columns has a budget of its own and is cancelled within it. */
#include "services/inference/engine/keys/keys.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/union_find.h"
#include "services/inference/engine/keys/score.h"
#include "services/inference/engine/keys/sets.h"
#include "services/inference/engine/keys/within.h"

/* HALF: probability from which a reference counts for domains, and share of a range from which a unique
 * column of whole numbers is a counter of rows. DENSE: share of a range from which a parent's numbers are
 * counted ones. INDEX: share of the references that are found without counters where these are indexes.
 * SAME: share of rows that two references lead to the same row. BELOW: of what is no reference after all. */
static const double HALF = 0.5, DENSE = 0.05, INDEX = 0.6, SAME = 0.95;
static const float BELOW = 0.49f;
enum { MOST_COPIES = 12 }; /* references that one is compared with */

/* A reference of columns c and q, all but its values. */
static tab_reference between(const tab_key_column *c, const tab_key_column *q, double p)
{
    return (tab_reference){ .child_table = c->table,
                            .child = c->column,
                            .parent_table = q->table,
                            .parent = q->column,
                            .child_values = c->n,
                            .parent_values = q->n,
                            .p = p,
                            .one_to_one = c->unique };
}

/* Whether two references between the same tables lead each row to the same one. False also when out of
 * memory. */
static bool same_rows(const tab_views *v, const tab_reference *a, const tab_reference *b)
{
    uint32_t *x = tab_reference_rows(v, a), *y = tab_reference_rows(v, b);
    size_t rows = v->table[a->child_table].rows, same = 0, both = 0;
    for (size_t i = 0; x != NULL && y != NULL && i < rows; i++)
        if (x[i] != TAB_NULL && y[i] != TAB_NULL) {
            both++;
            same += x[i] == y[i];
        }
    free(x);
    free(y);
    return both > 0 && (double)same >= SAME * (double)both;
}

/* Leaves of references between the same tables that lead to the same rows the one to the first column of
 * the parent: the others repeat the parent's attributes beside its key (decision 0416). A few are compared
 * with each, so that wide tables cost no more. False: out of memory. */
static bool leave_copies(const tab_views *v, const tab_key_columns *k, const tab_inclusion *x, size_t n,
                         float *p)
{
    size_t m = 0, *likely = malloc((n + 1) * sizeof *likely);
    for (size_t i = 0; likely != NULL && i < n; i++)
        if ((double)p[i] >= HALF)
            likely[m++] = i;
    for (size_t i = 0; i < m; i++) {
        const tab_inclusion *r = &x[likely[i]];
        const tab_key_column *c = &k->col[r->child], *q = &k->col[r->parent];
        size_t asked = 0;
        for (size_t o = 0; o < m && asked < MOST_COPIES && (double)p[likely[i]] >= HALF; o++) {
            const tab_inclusion *other = &x[likely[o]];
            bool first = other->parent < r->parent || (other->parent == r->parent && o < i);
            if (!first || (double)p[likely[o]] < HALF || k->col[other->child].table != c->table ||
                k->col[other->parent].table != q->table)
                continue;
            tab_reference one = between(c, q, 1),
                          two = between(&k->col[other->child], &k->col[other->parent], 1);
            asked++;
            if (same_rows(v, &one, &two))
                p[likely[i]] = BELOW;
        }
    }
    assert(m <= n);
    free(likely);
    return likely != NULL;
}

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
            bool counter = q->counter || (q->kind == TAB_KEY_WHOLE && q->unique && q->n > 1 &&
                                          q->n > HALF * (q->most - q->least + 1));
            ret->counted[t][c] = counter || (any[i] && counted[tab_union_root(up, i)]);
        }
    }
    free(up);
    free(any);
    free(counted);
    return ok;
}

/* The sum of the probabilities of references. */
static double said(const float *p, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)p[i] >= HALF ? (double)p[i] : 0;
    return sum;
}

/* Probabilities p of the inclusions x. Where every table leads with a counter of its rows, it is each one's
 * key, or an index that was written along: then most references are found without it as well, and it is left
 * out (decision 0415). False: out of memory. */
static bool score(const tab_views *v, tab_key_columns *k, tab_arena *work, tab_inclusion *x, size_t *n,
                  float *p)
{
    const tab_key_model *m = tab_key_model_shipped();
    size_t columns = k->at[v->n];
    if (!tab_keys_score(m, k, columns, x, *n, p))
        return false;
    if (!tab_key_columns_lead(v, k))
        return true;
    tab_inclusion *y = tab_arena_new_of(work, tab_inclusion, *n + 1);
    float *q = tab_arena_new_of(work, float, *n + 1);
    if (y == NULL || q == NULL)
        return false;
    if (*n > 0)
        memcpy(y, x, *n * sizeof *y);
    bool ok;
    tab_key_columns_index(v, k, true);
    size_t left = tab_inclusions_drop(v, k, y, *n, &ok);
    if (!ok || !tab_keys_score(m, k, columns, y, left, q))
        return false;
    if (said(q, left) >= INDEX * said(p, *n)) {
        memcpy(x, y, left * sizeof *x);
        memcpy(p, q, left * sizeof *p);
        *n = left;
    } else {
        tab_key_columns_index(v, k, false);
    }
    return true;
}

/* Adds references of several columns and those within a table to ret, whose list moves to a. */
static tab_status add_others(const tab_engine *e, const tab_views *v, const tab_key_columns *k,
                             tab_arena *work, tab_arena *a, tab_keys *ret, tab_error *err)
{
    tab_key_set *set;
    tab_key_within *own;
    size_t sets = 0, owns = 0;
    bool *taken = tab_arena_new_of(work, bool, k->at[v->n]);
    if (taken == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < ret->n; i++)
        if (ret->ref[i].p >= HALF)
            taken[k->at[ret->ref[i].child_table] + ret->ref[i].child] = true;
    TAB_TRY(tab_key_sets_find(e, v, k, ret, work, &set, &sets, err));
    TAB_TRY(tab_key_within_find(e, v, k, taken, work, &own, &owns, err));
    tab_reference *all = tab_arena_new_of(a, tab_reference, ret->n + sets + owns);
    if (all == NULL)
        return tab_no_memory(err);
    if (ret->n > 0)
        memcpy(all, ret->ref, ret->n * sizeof *all);
    ret->ref = all;
    assert(sets == 0 || set != NULL);
    for (size_t i = 0; i < sets; i++) {
        const tab_key_set *x = &set[i];
        tab_reference *r = &all[ret->n++];
        *r = between(&k->col[x->child[0]], &k->col[x->parent[0]], x->p);
        for (r->also = 0; r->also + 1 < x->n; r->also++) {
            r->child_also[r->also] = k->col[x->child[r->also + 1]].column;
            r->parent_also[r->also] = k->col[x->parent[r->also + 1]].column;
        }
        r->child_values = x->tuples;
        r->parent_values = x->parent_tuples;
        r->held = x->held;
        r->one_to_one = x->once;
    }
    for (size_t i = 0; i < owns; i++) {
        if (own[i].p < HALF)
            continue;
        all[ret->n] = between(&k->col[own[i].child], &k->col[own[i].parent], own[i].p);
        all[ret->n++].held = own[i].held;
    }
    return TAB_OK;
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
    if (p == NULL || !score(v, &k, work, x, &n, p))
        return tab_no_memory(err);
    if (!leave_copies(v, &k, x, n, p) || !domains(v, &k, x, n, p, a, ret))
        return tab_no_memory(err);
    /* inclusions are sorted by child, and so are the references */
    ret->ref = tab_arena_new_of(work, tab_reference, n);
    if (ret->ref == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] > 0 && (double)p[i] >= least))
            continue;
        tab_reference *r = &ret->ref[ret->n++];
        *r = between(&k.col[x[i].child], &k.col[x[i].parent], (double)p[i]);
        r->held = x[i].held;
        r->counted = (double)x[i].f[TAB_KEY_F_PARENT_DENSE] > DENSE;
        r->same = x[i].others > 0 && (double)tab_key_same_rows(x[i].others) >= HALF;
    }
    return add_others(e, v, &k, work, a, ret, err);
}

bool tab_references_of(const tab_keys *k, tab_arena *a, tab_references *ret)
{
    *ret = (tab_references){ .ref = tab_arena_new_of(a, tab_reference, k->n + 1) };
    for (size_t i = 0; ret->ref != NULL && i < k->n; i++)
        if (k->ref[i].p >= HALF && k->ref[i].child_table != k->ref[i].parent_table)
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

/* "table.column", of several columns "table.column, table.other and table.third". */
static char *addresses(tab_arena *a, const tab_views *v, uint32_t table, uint32_t column,
                       const uint32_t *also, uint32_t n)
{
    char *all = address(a, v, table, column);
    for (uint32_t i = 0; all != NULL && i < n; i++) {
        char *next = address(a, v, table, also[i]);
        all = next == NULL ? NULL : tab_arena_printf(a, i + 1 < n ? "%s, %s" : "%s and %s", all, next);
    }
    return all;
}

char *tab_reference_words(tab_arena *a, const tab_views *v, const tab_reference *r)
{
    const char *child = addresses(a, v, r->child_table, r->child, r->child_also, r->also);
    const char *parent = addresses(a, v, r->parent_table, r->parent, r->parent_also, r->also);
    if (child == NULL || parent == NULL)
        return NULL;
    const char *of = r->also == 0   ? "values"
                     : r->also == 1 ? "pairs of values"
                                    : "sets of values",
               *end = r->child_table == r->parent_table ? "; no row refers back to itself"
                      : r->one_to_one                   ? "; each occurs once in both"
                                                        : "",
               *identify = r->also == 0 ? "identify" : "together identify";
    if (r->held == r->child_values)
        return tab_arena_printf(a, "all %u %s of %s occur among the %u of %s, which %s its rows%s",
                                r->child_values, of, child, r->parent_values, parent, identify, end);
    return tab_arena_printf(a, "%u of the %u %s of %s occur among the %u of %s, which %s its rows%s", r->held,
                            r->child_values, of, child, r->parent_values, parent, identify, end);
}

uint32_t *tab_reference_rows(const tab_views *v, const tab_reference *r)
{
    const tab_table_view *A = &v->table[r->child_table], *B = &v->table[r->parent_table];
    const tab_view *c = &A->col[r->child], *p = &B->col[r->parent];
    if (r->also > 0) {
        uint32_t mine[TAB_KEY_ALSO + 1] = { r->child }, theirs[TAB_KEY_ALSO + 1] = { r->parent };
        memcpy(mine + 1, r->child_also, sizeof r->child_also);
        memcpy(theirs + 1, r->parent_also, sizeof r->parent_also);
        return tab_key_set_rows(A, mine, B, theirs, r->also + 1);
    }
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
