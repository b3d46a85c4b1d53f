#include "services/inference/engine/link/cross_tables.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/link/evidence/across_model.h"
#include "services/inference/engine/link/groups/confirm.h"
#include "services/inference/engine/link/groups/duplicate_groups.h"
#include "services/inference/engine/link/groups/relations.h"
#include "services/inference/engine/link/pairs/geo.h"
#include "services/inference/engine/message.h"
#include "services/inference/engine/profile/roles/roles.h"
#include "services/inference/engine/unify/children.h"

typedef struct {
    const tab_engine *e;
    tab_views *v;
    tab_arena *work;   /* dies with the call */
    tab_linkage *link; /* one a pair of tables */
    size_t links;
    tab_twins *twins; /* one a table */
    tab_key_plan plan;
    double threshold;
    tab_shared_attribute *attr;
    size_t attrs, shared;
    uint32_t **attr_of; /* [table][column] -> attribute */
} crossing;

static ProtobufCBinaryData bytes_of(tab_str s)
{
    return (ProtobufCBinaryData){ s.n, (uint8_t *)(uintptr_t)s.p };
}

static const tab_table *table_of(const crossing *x, size_t t)
{
    return x->v->table[t].profile->table;
}

static tab_str full_address(const crossing *x, size_t t, size_t col)
{
    tab_str c = tab_column_address(x->e->arena, table_of(x, t), col);
    return tab_str_of(tab_arena_printf(x->e->arena, "%.*s.%.*s", TAB_STR(table_of(x, t)->id), TAB_STR(c)));
}

static Tabella__ColumnRef *column_ref(const crossing *x, size_t t, size_t col)
{
    Tabella__ColumnRef *r = tab_arena_new_of(x->e->arena, Tabella__ColumnRef, 1);
    if (r == NULL)
        return NULL;
    tabella__column_ref__init(r);
    r->table = (uint32_t)t;
    r->column = (uint32_t)col;
    r->address = bytes_of(full_address(x, t, col));
    return r;
}

/* ---- attributes: columns joined across all pairs of tables ----------------------------------- */

typedef struct {
    float p;
    uint32_t link, a, b;
} column_link;

static int likeliest_first(const void *a, const void *b)
{
    const column_link *x = a, *y = b;
    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return (x->a > y->a) - (x->a < y->a);
}

static int by_text(const void *a, const void *b)
{
    const tab_str *x = *(tab_str *const *)a, *y = *(tab_str *const *)b;
    size_t n = x->n < y->n ? x->n : y->n;
    int d = n == 0 ? 0 : memcmp(x->p, y->p, n);
    return d != 0 ? d : (x->n > y->n) - (x->n < y->n);
}

/* Names are for people: the first table's column name; where two attributes would share one, both are
 * written with their table. */
static tab_status name_attributes(crossing *x, tab_error *err)
{
    tab_str **order = tab_arena_new_of(x->work, tab_str *, x->attrs);
    bool *twice = tab_arena_new_of(x->work, bool, x->attrs);
    if (order == NULL || twice == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t k = 0; k < x->attrs; k++) {
        size_t t = 0;
        while (x->attr[k].col[t] == TAB_NULL)
            t++;
        x->attr[k].name = tab_column_address(x->e->arena, table_of(x, t), x->attr[k].col[t]);
        order[k] = &x->attr[k].name;
    }
    qsort(order, x->attrs, sizeof *order, by_text);
    for (size_t i = 0; i + 1 < x->attrs; i++)
        if (tab_str_eq(*order[i], *order[i + 1])) {
            size_t p = (size_t)((tab_shared_attribute *)(void *)order[i] - x->attr);
            size_t q = (size_t)((tab_shared_attribute *)(void *)order[i + 1] - x->attr);
            twice[p] = twice[q] = true;
        }
    for (size_t k = 0; k < x->attrs; k++) {
        if (!twice[k])
            continue;
        size_t t = 0;
        while (x->attr[k].col[t] == TAB_NULL)
            t++;
        x->attr[k].name = full_address(x, t, x->attr[k].col[t]);
    }
    return tab_arena_full(x->e->arena) ? tab_fail(err, TAB_INTERNAL, "", "out of memory") : TAB_OK;
}

static tab_status join_attributes(crossing *x, tab_error *err)
{
    const tab_views *v = x->v;
    size_t cols = 0, n = 0;
    for (size_t t = 0; t < v->n; t++)
        cols += v->table[t].cols;
    for (size_t l = 0; l < x->links; l++)
        n += x->link[l].cols_a;
    column_link *c = tab_arena_new_of(x->work, column_link, n);
    tab_shared_attribute *group = tab_arena_new_of(x->work, tab_shared_attribute, cols);
    x->attr = tab_arena_new_of(x->e->arena, tab_shared_attribute, cols);
    x->attr_of = tab_arena_new_of(x->work, uint32_t *, v->n);
    for (size_t t = 0; t < v->n && !tab_arena_full(x->work); t++)
        x->attr_of[t] = tab_arena_new_of(x->work, uint32_t, v->table[t].cols);
    if (tab_arena_full(x->work) || x->attr == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    size_t groups = 0;
    for (size_t t = 0; t < v->n; t++)
        for (size_t i = 0; i < v->table[t].cols; i++) {
            tab_shared_attribute *g = &group[groups];
            g->col = tab_arena_new_of(x->e->arena, uint32_t, v->n);
            if (g->col == NULL)
                return tab_fail(err, TAB_INTERNAL, "", "out of memory");
            for (size_t k = 0; k < v->n; k++)
                g->col[k] = TAB_NULL;
            g->col[t] = (uint32_t)i;
            g->sources = 1;
            x->attr_of[t][i] = (uint32_t)groups++;
        }
    n = 0;
    for (size_t l = 0; l < x->links; l++)
        for (size_t i = 0; i < x->link[l].cols_a; i++) {
            uint32_t j = x->link[l].match[i];
            float p = j == TAB_NULL ? 0 : x->link[l].column_p[i * x->link[l].cols_b + j];
            if (j != TAB_NULL && (double)p >= x->threshold)
                c[n++] = (column_link){ p, (uint32_t)l, (uint32_t)i, j };
        }
    qsort(c, n, sizeof *c, likeliest_first);
    for (size_t i = 0; i < n; i++) {
        const tab_linkage *l = &x->link[c[i].link];
        uint32_t ga = x->attr_of[l->ta][c[i].a], gb = x->attr_of[l->tb][c[i].b];
        bool clash = ga == gb;
        for (size_t t = 0; t < v->n; t++)
            clash = clash || (group[ga].col[t] != TAB_NULL && group[gb].col[t] != TAB_NULL);
        if (clash)
            continue;
        uint32_t to = ga < gb ? ga : gb, from = ga < gb ? gb : ga;
        for (size_t t = 0; t < v->n; t++)
            if (group[from].col[t] != TAB_NULL) {
                group[to].col[t] = group[from].col[t];
                x->attr_of[t][group[from].col[t]] = to;
            }
        group[to].sources += group[from].sources;
        group[from].sources = 0;
    }
    uint32_t *at = tab_arena_new_of(x->work, uint32_t, groups);
    if (at == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (int shared = 1; shared >= 0; shared--) /* shared ones first */
        for (size_t g = 0; g < groups; g++)
            if (group[g].sources > 0 && (group[g].sources > 1) == (shared == 1)) {
                at[g] = (uint32_t)x->attrs;
                x->attr[x->attrs++] = group[g];
                x->shared += shared == 1;
            }
    for (size_t t = 0; t < v->n; t++)
        for (size_t i = 0; i < v->table[t].cols; i++)
            x->attr_of[t][i] = at[x->attr_of[t][i]];
    return name_attributes(x, err);
}

/* ---- the map --------------------------------------------------------------------------------- */

static tab_str cell_text(const crossing *x, size_t t, size_t col, size_t row)
{
    tab_cell c = tab_cell_at(&table_of(x, t)->col[col], row);
    if (c.text.n > 0 || c.kind == TAB_CELL_NULL)
        return c.text;
    char buf[32];
    return tab_arena_copy(x->e->arena, (tab_str){ buf, tab_number_text(c.num, buf) });
}

static bool secret(const crossing *x, size_t t, size_t col)
{
    return x->v->table[t].col[col].profile->role == TAB_ROLE_PASSWORD;
}

/* One value in both formats: matched rows that agree after normalisation and differ in writing, else
 * matched rows that agree, else a value that both columns hold. */
static bool find_example(const crossing *x, const tab_linkage *l, size_t i, size_t j, uint32_t *ra,
                         uint32_t *rb)
{
    const tab_view *wa = &x->v->table[l->ta].col[i], *wb = &x->v->table[l->tb].col[j];
    int best = 0;
    for (size_t k = 0; k < l->c.n && best < 2; k++) {
        if (!l->c.kept[k] || l->c.p[k] < 0.7f)
            continue;
        uint32_t p = wa->code[l->c.a[k]], q = wb->code[l->c.b[k]];
        if (p == TAB_NULL || q == TAB_NULL)
            continue;
        bool same = wa->value[p].key == wb->value[q].key;
        int rank = same ? 1 : 0;
        if (same) {
            tab_cell s = tab_cell_at(wa->profile->column, l->c.a[k]);
            tab_cell t = tab_cell_at(wb->profile->column, l->c.b[k]);
            rank += !tab_str_eq(s.text, t.text);
        } else {
            rank = best == 0 && *ra == TAB_NULL ? 0 : -1;
        }
        if (rank > best || (rank == 0 && *ra == TAB_NULL)) {
            best = rank;
            *ra = l->c.a[k];
            *rb = l->c.b[k];
        }
    }
    if (*ra != TAB_NULL)
        return true;
    for (uint32_t p = 0; p < wa->values && p < 200; p++)
        for (uint32_t q = 0; q < wb->values && q < 200; q++)
            if (wa->value[p].key == wb->value[q].key) {
                *ra = wa->value[p].first;
                *rb = wb->value[q].first;
                return true;
            }
    return false;
}

static tab_status write_alignments(const crossing *x, Tabella__CrossTableMap *m, tab_error *err)
{
    size_t most = 0;
    for (size_t l = 0; l < x->links; l++)
        most += x->link[l].cols_a;
    m->column_alignment = tab_arena_new_of(x->e->arena, Tabella__ColumnAlignment *, most);
    if (m->column_alignment == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t k = 0; k < x->links; k++) {
        const tab_linkage *l = &x->link[k];
        for (size_t i = 0; i < l->cols_a; i++) {
            uint32_t j = l->match[i];
            if (j == TAB_NULL || (double)l->column_p[i * l->cols_b + j] < x->threshold)
                continue;
            Tabella__ColumnAlignment *c = tab_arena_new_of(x->e->arena, Tabella__ColumnAlignment, 1);
            if (c == NULL)
                return tab_fail(err, TAB_INTERNAL, "", "out of memory");
            tabella__column_alignment__init(c);
            c->a = column_ref(x, l->ta, i);
            c->b = column_ref(x, l->tb, j);
            c->attribute = bytes_of(x->attr[x->attr_of[l->ta][i]].name);
            c->confidence = (double)l->column_p[i * l->cols_b + j];
            uint32_t ra = TAB_NULL, rb = TAB_NULL;
            if (!secret(x, l->ta, i) && !secret(x, l->tb, j) && find_example(x, l, i, j, &ra, &rb)) {
                c->has_example = 1;
                c->example_a = bytes_of(cell_text(x, l->ta, i, ra));
                c->example_b = bytes_of(cell_text(x, l->tb, j, rb));
            }
            if (tab_arena_full(x->e->arena))
                return tab_fail(err, TAB_INTERNAL, "", "out of memory");
            m->column_alignment[m->n_column_alignment++] = c;
        }
    }
    return TAB_OK;
}

enum { CHUNKS = 64 };

typedef struct {
    const crossing *x;
    const tab_clusters *cl;
    Tabella__EntityMatches *em;
    const size_t *from; /* (matches) of each match, in matched_on, similarity and weight */
    uint32_t *n;        /* (matches) attributes written there */
} evidence;

/* What each attribute says of a match: those with a value on both sides. */
static void evidence_chunk(void *ctx, size_t chunk)
{
    evidence *w = ctx;
    const crossing *x = w->x;
    size_t n = w->cl->matches;
    for (size_t i = n * chunk / CHUNKS; i < n * (chunk + 1) / CHUNKS; i++) {
        const tab_match *q = &w->cl->match[i];
        const tab_linkage *l = &x->link[q->link];
        const tab_table_view *A = &x->v->table[l->ta], *B = &x->v->table[l->tb];
        size_t to = w->from[i];
        for (size_t k = 0; k < l->attrs; k++) {
            const tab_attribute *t = &l->attr[k];
            tab_agreement g = tab_agree(x->v, A, B, t, q->a, q->b, NULL);
            if (g.level == TAB_MISSING)
                continue;
            const tab_view *wa = &A->col[t->a], *wb = &B->col[t->b];
            double like = tab_similarity(x->v, t, &wa->value[wa->code[q->a]], &wb->value[wb->code[q->b]]);
            if (t->other != NULL)
                tab_geo_compare(A, B, t, q->a, q->b, &like);
            w->em->similarity[to] = like;
            w->em->weight[to] = tab_evidence(l, k, &g) / M_LN2;
            w->em->matched_on[to++] = x->attr_of[l->ta][wa->chief];
        }
        w->n[i] = (uint32_t)(to - w->from[i]);
    }
}

/* The chunks' evidence, end to end. */
static void close_ranks(const evidence *w, Tabella__EntityMatches *em)
{
    size_t n = 0;
    for (size_t i = 0; i < w->cl->matches; i++) {
        for (size_t from = w->from[i], k = from; k < from + w->n[i]; k++, n++) {
            em->similarity[n] = em->similarity[k];
            em->weight[n] = em->weight[k];
            em->matched_on[n] = em->matched_on[k];
        }
        em->matched_on_end[i] = (uint32_t)n;
    }
    em->n_similarity = em->n_weight = em->n_matched_on = n;
}

static tab_status write_matches(const crossing *x, const tab_clusters *cl, Tabella__CrossTableMap *m,
                                tab_error *err)
{
    tab_arena *a = x->e->arena;
    Tabella__EntityMatches *em = tab_arena_new_of(a, Tabella__EntityMatches, 1);
    size_t n = cl->matches, most = 0;
    size_t *from = tab_arena_new_of(x->work, size_t, n);
    uint32_t *written = tab_arena_new_of(x->work, uint32_t, n);
    for (size_t i = 0; i < n && from != NULL; i++) {
        from[i] = most;
        most += x->link[cl->match[i].link].attrs;
    }
    if (em == NULL || from == NULL || written == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    tabella__entity_matches__init(em);
    em->a_table = tab_arena_new_of(a, uint32_t, n);
    em->b_table = tab_arena_new_of(a, uint32_t, n);
    em->a_row = tab_arena_new_of(a, uint32_t, n);
    em->b_row = tab_arena_new_of(a, uint32_t, n);
    em->confidence = tab_arena_new_of(a, double, n);
    em->matched_on_end = tab_arena_new_of(a, uint32_t, n);
    em->matched_on = tab_arena_new_of(a, uint32_t, most);
    em->similarity = tab_arena_new_of(a, double, most);
    em->weight = tab_arena_new_of(a, double, most);
    em->attributes = tab_arena_new_of(a, ProtobufCBinaryData, x->attrs);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (size_t k = 0; k < x->attrs; k++)
        em->attributes[em->n_attributes++] = bytes_of(x->attr[k].name);
    for (size_t i = 0; i < n; i++) {
        const tab_match *q = &cl->match[i];
        em->a_table[i] = q->ta;
        em->b_table[i] = q->tb;
        em->a_row[i] = q->a;
        em->b_row[i] = q->b;
        em->confidence[i] = (double)q->p;
    }
    evidence w = { x, cl, em, from, written };
    tab_engine_for(x->e, CHUNKS, evidence_chunk, &w);
    close_ranks(&w, em);
    em->n_a_table = em->n_b_table = em->n_a_row = em->n_b_row = n;
    em->n_confidence = em->n_matched_on_end = n;
    m->entity_matches = em;
    return TAB_OK;
}

/* keys_used: the attributes by which tables refer to one another. */
static tab_status write_keys(const crossing *x, Tabella__CrossTableMap *m, tab_error *err)
{
    const char *used = "";
    bool *told = tab_arena_new_of(x->work, bool, x->attrs);
    for (size_t i = 0; told != NULL && used != NULL && i < x->plan.keys.n; i++) {
        const tab_reference *q = &x->plan.keys.ref[i];
        uint32_t attr = x->attr_of[q->parent_table][q->parent];
        if (q->p < x->threshold || told[attr] || !tab_reference_plain(q))
            continue;
        told[attr] = true;
        used = tab_arena_printf(x->e->arena, "%s%s%.*s", used, *used == 0 ? "" : ", ",
                                TAB_STR(x->attr[attr].name));
    }
    if (told == NULL || used == NULL)
        return tab_no_memory(err);
    m->keys_used = tab_text(*used == 0 ? "none" : used);
    return TAB_OK;
}

static int by_row(const void *a, const void *b)
{
    const tab_twin *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static tab_status write_duplicates(const crossing *x, Tabella__CrossTableMap *m, tab_error *err)
{
    tab_arena *a = x->e->arena;
    Tabella__Duplicates *d = tab_message(a, Tabella__Duplicates, TABELLA__DUPLICATES__INIT);
    size_t n = 0;
    for (size_t t = 0; t < x->v->n; t++)
        n += x->twins[t].n;
    if (d == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    d->table = tab_arena_new_of(a, uint32_t, n);
    d->row = tab_arena_new_of(a, uint32_t, n);
    d->other_row = tab_arena_new_of(a, uint32_t, n);
    d->confidence = tab_arena_new_of(a, double, n);
    if (tab_arena_full(a))
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    for (uint32_t t = 0; t < x->v->n; t++) {
        tab_twins *w = &x->twins[t];
        if (w->n > 0)
            qsort(w->twin, w->n, sizeof *w->twin, by_row);
        for (size_t i = 0; i < w->n; i++) {
            d->table[d->n_table++] = t;
            d->row[d->n_row++] = w->twin[i].a;
            d->other_row[d->n_other_row++] = w->twin[i].b;
            d->confidence[d->n_confidence++] = (double)w->twin[i].p;
        }
    }
    m->duplicates = d;
    return TAB_OK;
}

static tab_status write_schema(const crossing *x, Tabella__CrossTableMap *m, tab_error *err)
{
    tab_arena *a = x->e->arena;
    m->shared = tab_arena_new_of(a, Tabella__SharedAttribute *, x->shared);
    m->only = tab_arena_new_of(a, Tabella__TableOnly *, x->v->n);
    for (size_t k = 0; k < x->shared && !tab_arena_full(a); k++) {
        Tabella__SharedAttribute *s = tab_arena_new_of(a, Tabella__SharedAttribute, 1);
        if (s == NULL)
            break;
        tabella__shared_attribute__init(s);
        s->attribute = bytes_of(x->attr[k].name);
        s->from = tab_arena_new_of(a, Tabella__ColumnRef *, x->attr[k].sources);
        for (size_t t = 0; t < x->v->n && s->from != NULL; t++)
            if (x->attr[k].col[t] != TAB_NULL)
                s->from[s->n_from++] = column_ref(x, t, x->attr[k].col[t]);
        m->shared[m->n_shared++] = s;
    }
    for (size_t t = 0; t < x->v->n && !tab_arena_full(a); t++) {
        Tabella__TableOnly *o = tab_arena_new_of(a, Tabella__TableOnly, 1);
        if (o == NULL)
            break;
        tabella__table_only__init(o);
        o->table = bytes_of(table_of(x, t)->id);
        o->columns = tab_arena_new_of(a, ProtobufCBinaryData, x->v->table[t].cols);
        for (size_t c = 0; c < x->v->table[t].cols && o->columns != NULL; c++)
            if (x->attr_of[t][c] >= x->shared)
                o->columns[o->n_columns++] = bytes_of(full_address(x, t, c));
        m->only[m->n_only++] = o;
    }
    return tab_arena_full(a) ? tab_fail(err, TAB_INTERNAL, "", "out of memory") : TAB_OK;
}

/* ---- in order -------------------------------------------------------------------------------- */

static tab_status cross(crossing *x, Tabella__Bundle *ret, tab_error *err)
{
    tab_clusters cl;
    tab_children children;
    for (size_t i = 0; i < x->links; i++)
        TAB_TRY(tab_link_confirm(x->v, &x->link[i], x->threshold, err));
    tab_status st = join_attributes(x, err);
    if (st == TAB_OK)
        st = tab_clusters_build(x->v, x->link, x->links, x->twins, x->threshold, x->e->arena, &cl, err);
    Tabella__CrossTableMap *m = tab_arena_new_of(x->e->arena, Tabella__CrossTableMap, 1);
    if (st == TAB_OK && m == NULL)
        st = tab_fail(err, TAB_INTERNAL, "", "out of memory");
    if (st != TAB_OK)
        return st;
    tabella__cross_table_map__init(m);
    tab_relations said = { x->e, x->v, &x->plan, x->link, x->links, &cl, x->threshold };
    st = write_alignments(x, m, err);
    if (st == TAB_OK)
        st = write_matches(x, &cl, m, err);
    if (st == TAB_OK)
        st = tab_relations_write(&said, m, err);
    if (st == TAB_OK)
        st = write_keys(x, m, err);
    if (st == TAB_OK)
        st = write_duplicates(x, m, err);
    if (st == TAB_OK)
        st = write_schema(x, m, err);
    if (st == TAB_OK) /* rows that are matched are entities of their own */
        for (size_t t = 0; t < x->v->n; t++)
            if (x->plan.under[t] != TAB_NULL && tab_relations_same(&said, x->plan.under[t]))
                x->plan.under[t] = TAB_NULL;
    if (st == TAB_OK)
        st = tab_children_hang(x->v, &x->plan.keys, &x->plan, x->e->arena, &cl.entities, &children, err);
    if (st == TAB_OK)
        st = tab_unify(x->e, x->v, x->attr, x->attrs, &cl.entities, x->threshold, &ret->unified_rows, err);
    if (st != TAB_OK)
        return st;
    tab_children_write(&children, ret->unified_rows);
    m->entities_matched = ret->unified_rows->matched;
    ret->cross_table_map = m;
    ret->records_linked = cl.linked;
    return TAB_OK;
}

/* (cols) columns of table t by which another table refers to its rows. */
static bool *referred(const crossing *x, size_t t)
{
    bool *is = tab_arena_new_of(x->work, bool, x->v->table[t].cols);
    for (size_t i = 0; is != NULL && i < x->plan.keys.n; i++) {
        const tab_reference *q = &x->plan.keys.ref[i];
        if (q->p >= 0.5 && !q->one_to_one && q->also == 0 && q->parent_table == t && q->child_table != t)
            is[q->parent] = true;
    }
    return is;
}

tab_status tab_cross_tables(const tab_engine *e, tab_profile *const *profiles, size_t n, double threshold,
                            Tabella__Bundle *ret, tab_references *ret_references, tab_error *err)
{
    TAB_AUTO(tab_views) *v = NULL;
    TAB_AUTO(tab_arena) *work = tab_arena_new(SIZE_MAX / 2);
    tab_link_table *tables = NULL;
    if (work == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    tab_status st = tab_views_new(e, profiles, n, &v, err);
    if (st == TAB_OK)
        st = tab_link_tables_new(e, v, work, &tables, err);
    if (st != TAB_OK)
        return st;
    crossing x = { .e = e, .v = v, .work = work, .threshold = threshold };
    const tab_voice **voice = tab_arena_new_of(work, const tab_voice *, n);
    const bool **keys = tab_arena_new_of(work, const bool *, n);
    st = tab_key_plan_new(e, v, threshold, work, &x.plan, err);
    x.twins = tab_arena_new_of(work, tab_twins, n);
    if (st == TAB_OK && (x.twins == NULL || voice == NULL || keys == NULL))
        st = tab_no_memory(err);
    for (size_t i = 0; st == TAB_OK && i < n; i++)
        if ((voice[i] = tab_voices_of(v, &x.plan.keys, &x.plan.grain[i], i, work)) == NULL ||
            (keys[i] = referred(&x, i)) == NULL)
            st = tab_no_memory(err);
    if (st == TAB_OK)
        st = tab_link_tables(e, v, tables, &x.plan, tab_across_model_shipped(), threshold, voice, keys, work,
                             &x.link, &x.links, x.twins, err);
    if (st == TAB_OK)
        st = tab_duplicates_write(e, v, x.twins, &ret->duplicates, &ret->n_duplicates, err);
    if (st == TAB_OK && n > 1)
        st = cross(&x, ret, err);
    if (st == TAB_OK && ret_references != NULL &&
        (!tab_references_of(&x.plan.keys, e->arena, ret_references) ||
         (ret_references->grain = tab_grains_copy(e->arena, x.plan.grain, n)) == NULL))
        st = tab_no_memory(err);
    tab_link_tables_free(tables, n);
    return st;
}
