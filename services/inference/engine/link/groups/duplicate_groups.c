/* See duplicate_groups.h.
 *
 *   twins ─> groups (union-find, the likeliest pair first) ─> surest first ─> centre ─> evidence by column
 */
#include "services/inference/engine/link/groups/duplicate_groups.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/message.h"

enum { COMPARED = 32 }; /* rows of a group that its centre is compared with */

/* Groups of one table. Group g holds row[at[g]] .. row[at[g + 1] - 1], ascending. */
typedef struct {
    size_t n;
    size_t *at;
    uint32_t *row;
    double *confidence;
    double *held; /* (rows) of a row: the sum of p of its twins */
} groups;

typedef struct {
    double confidence;
    uint32_t first, root; /* row */
} grouped;

static int surest_first(const void *a, const void *b)
{
    const grouped *x = a, *y = b;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Scratch of group_rows, (rows) each. */
typedef struct {
    tab_twin *twin;
    uint32_t *up, *next, *size, *place;
    double *weakest;
    grouped *order;
} scratch;

static bool scratch_new(tab_arena *a, const tab_twins *w, size_t rows, scratch *s)
{
    *s = (scratch){ .twin = tab_arena_new_of(a, tab_twin, w->n),
                    .up = tab_arena_new_of(a, uint32_t, rows),
                    .next = tab_arena_new_of(a, uint32_t, rows),
                    .size = tab_arena_new_of(a, uint32_t, rows),
                    .place = tab_arena_new_of(a, uint32_t, rows),
                    .weakest = tab_arena_new_of(a, double, rows),
                    .order = tab_arena_new_of(a, grouped, rows) };
    return !tab_arena_full(a);
}

/* The pairs join their rows, the likeliest first: a group's confidence is that of the last that it needed. */
static void join_rows(const tab_twins *w, size_t rows, scratch *s, double *held)
{
    memcpy(s->twin, w->twin, w->n * sizeof *s->twin);
    qsort(s->twin, w->n, sizeof *s->twin, tab_twins_likeliest_first);
    for (uint32_t r = 0; r < rows; r++) {
        s->up[r] = s->next[r] = r;
        s->size[r] = 1;
        s->weakest[r] = 1;
    }
    for (size_t i = 0; i < w->n; i++) {
        const tab_twin *t = &s->twin[i];
        uint32_t x = tab_root(s->up, t->a), y = tab_root(s->up, t->b), to = x < y ? x : y;
        held[t->a] += (double)t->p;
        held[t->b] += (double)t->p;
        if (x == y)
            continue;
        s->up[x < y ? y : x] = to;
        s->size[to] = s->size[x] + s->size[y];
        s->weakest[to] = fmin(fmin(s->weakest[x], s->weakest[y]), (double)t->p);
    }
}

static bool group_rows(const tab_twins *w, size_t rows, tab_arena *a, groups *g)
{
    scratch s;
    size_t members = 0, n = 0;
    *g = (groups){ .held = tab_arena_new_of(a, double, rows) };
    if (!scratch_new(a, w, rows, &s) || g->held == NULL)
        return false;
    join_rows(w, rows, &s, g->held);
    for (uint32_t r = 0; r < rows; r++) /* a root is its group's first row */
        if (tab_root(s.up, r) == r && s.size[r] > 1) {
            s.order[g->n++] = (grouped){ s.weakest[r], r, r };
            members += s.size[r];
        }
    qsort(s.order, g->n, sizeof *s.order, surest_first);
    g->at = tab_arena_new_of(a, size_t, g->n + 1);
    g->row = tab_arena_new_of(a, uint32_t, members);
    g->confidence = tab_arena_new_of(a, double, g->n);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < g->n; i++) {
        s.place[s.order[i].root] = (uint32_t)n;
        g->confidence[i] = s.order[i].confidence;
        g->at[i] = n;
        n += s.size[s.order[i].root];
    }
    g->at[g->n] = n;
    for (uint32_t r = 0; r < rows; r++)
        if (s.size[tab_root(s.up, r)] > 1)
            g->row[s.place[tab_root(s.up, r)]++] = r;
    return true;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* The row that the others of its group are most like. */
static uint32_t centre_of(const groups *g, size_t i)
{
    uint32_t best = g->row[g->at[i]];
    for (size_t k = g->at[i] + 1; k < g->at[i + 1]; k++)
        if (g->held[g->row[k]] > g->held[best])
            best = g->row[k];
    return best;
}

static int by_column(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Writes what column `k` (an attribute of s) says of group i. */
static void tell_column(const tab_twin_pairs *s, const groups *g, size_t i, uint32_t centre, size_t k,
                        Tabella__DuplicateGroups *m)
{
    const tab_attribute *t = &s->l.attr[k];
    const tab_view *w = &s->t[0]->col[t->a];
    double like = 0, weight = 0, n = 0;
    for (size_t q = g->at[i]; q < g->at[i + 1] && q < g->at[i] + COMPARED; q++) {
        uint32_t row = g->row[q], x = w->code[centre], y = w->code[row];
        if (row == centre || x == TAB_NULL || y == TAB_NULL)
            continue;
        tab_agreement agree = tab_agree(s->v, s->t[0], s->t[0], t, centre, row, NULL);
        like += tab_similarity(s->v, t, &w->value[x], &w->value[y]);
        weight += tab_evidence(&s->l, k, &agree) / M_LN2;
        n++;
    }
    if (n == 0)
        return;
    m->column[m->n_column++] = (uint32_t)t->a;
    m->similarity[m->n_similarity++] = like / n;
    m->weight[m->n_weight++] = weight / n;
}

/* One table's message. order: the attributes of s, by column. */
static bool write_table(tab_arena *a, const tab_twin_pairs *s, const groups *g, const size_t *order,
                        Tabella__DuplicateGroups *m)
{
    size_t rows = g->at[g->n], told = g->n * s->l.attrs;
    m->row_end = tab_arena_new_of(a, uint32_t, g->n);
    m->row = tab_arena_new_of(a, uint32_t, rows);
    m->confidence = tab_arena_new_of(a, double, g->n);
    m->evidence_end = tab_arena_new_of(a, uint32_t, g->n);
    m->column = tab_arena_new_of(a, uint32_t, told);
    m->similarity = tab_arena_new_of(a, double, told);
    m->weight = tab_arena_new_of(a, double, told);
    if (tab_arena_full(a))
        return false;
    memcpy(m->row, g->row, rows * sizeof *m->row);
    memcpy(m->confidence, g->confidence, g->n * sizeof *m->confidence);
    m->n_row = rows;
    m->n_confidence = m->n_row_end = m->n_evidence_end = g->n;
    for (size_t i = 0; i < g->n; i++) {
        uint32_t centre = centre_of(g, i);
        for (size_t k = 0; k < s->l.attrs; k++)
            tell_column(s, g, i, centre, order[2 * k + 1], m);
        m->row_end[i] = (uint32_t)g->at[i + 1];
        m->evidence_end[i] = (uint32_t)m->n_column;
    }
    return true;
}

tab_status tab_duplicates_write(const tab_engine *e, const tab_views *v, const tab_twins *twins,
                                Tabella__DuplicateGroups ***ret, size_t *ret_n, tab_error *err)
{
    size_t n = 0;
    Tabella__DuplicateGroups **list = tab_arena_new_of(e->arena, Tabella__DuplicateGroups *, v->n);
    for (size_t t = 0; list != NULL && t < v->n; t++) {
        if (twins[t].n == 0)
            continue;
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        TAB_AUTO(tab_arena) *own = tab_arena_new(SIZE_MAX / 2);
        const tab_twin_pairs *s = twins[t].pairs;
        Tabella__DuplicateGroups *m =
            tab_message(e->arena, Tabella__DuplicateGroups, TABELLA__DUPLICATE_GROUPS__INIT);
        size_t *order = own == NULL ? NULL : tab_arena_new_of(own, size_t, 2 * s->l.attrs);
        groups g;
        if (m == NULL || order == NULL || !group_rows(&twins[t], v->table[t].rows, own, &g))
            return tab_no_memory(err);
        for (size_t k = 0; k < s->l.attrs; k++) {
            order[2 * k] = s->l.attr[k].a;
            order[2 * k + 1] = k;
        }
        qsort(order, s->l.attrs, 2 * sizeof *order, by_column);
        m->table = (uint32_t)t;
        if (!write_table(e->arena, s, &g, order, m))
            return tab_no_memory(err);
        list[n++] = m;
    }
    if (list == NULL)
        return tab_no_memory(err);
    *ret = list;
    *ret_n = n;
    return TAB_OK;
}
