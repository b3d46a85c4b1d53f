/* A serve call of an endpoint with several tables: its rows aligned and matched against the pinned tables,
 * and with each other where it brings several tables (decision 0110).
 *
 *   request row ──near──> pinned rows of the other tables, the likest few
 *   pinned rows, evenly spaced, and the likest rows to them: what alignment and matching learn from
 *   both, table by table ──> tab_cross_tables ──> what a request row takes part in
 *
 * The engine that links whole tables links these small ones, so that a call costs by the request's rows
 * and not by the endpoint's. */
#include <stdlib.h>

#include "common/bundle/bundle_json.h"
#include "services/inference/engine/link/cross_tables.h"
#include "services/inference/engine/message.h"
#include "services/inference/serve/request.h"
#include "services/inference/serve/row_index.h"

enum {
    CONTEXT = 200,  /* evenly spaced rows of a pinned table, and their likest in the others */
    NEAR_MOST = 8,  /* pinned rows that a request row is compared with, in each other table ... */
    NEAR_ALL = 4000 /* ... fewer where the request is long */
};

/* One table of the call: request rows first, then chosen pinned rows, ascending. */
typedef struct {
    size_t pinned;         /* which table of the state */
    const tab_table *rows; /* the request's; NULL: not sent */
    bool *chosen, *own;    /* (pinned rows) taken in; likest to a request row of this very table */
    uint32_t *from;        /* (n_pinned) */
    size_t n_rows, n_pinned;
    const tab_row_index *index;
    tab_row_index_space *space;
} side;

/* The pinned rows that the call needs. A pinned row that is a request row over again would compete with it
 * for the same partner: the likest row of the request row's own table stays out. */
static void choose(const serve_state *st, side *side_of, size_t n)
{
    uint32_t near[NEAR_MOST];
    size_t asked = 0;
    for (size_t i = 0; i < n; i++)
        asked += side_of[i].n_rows;
    size_t most = asked == 0 ? NEAR_MOST : NEAR_ALL / asked;
    most = most < 2 ? 2 : most > NEAR_MOST ? NEAR_MOST : most;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < side_of[i].n_rows; r++)
            for (size_t k = 0; k < n; k++) {
                size_t found = tab_row_index_rows(side_of[k].index, side_of[k].space, side_of[i].rows, r,
                                                  k == i ? 1 : most, near);
                for (size_t m = 0; m < found; m++)
                    (k == i ? side_of[k].own : side_of[k].chosen)[near[m]] = true;
            }
    for (size_t i = 0; i < n; i++) {
        const tab_table *t = st->table[side_of[i].pinned];
        size_t step = t->rows / CONTEXT + 1;
        for (size_t r = 0; r < t->rows; r += step) {
            if (side_of[i].own[r])
                continue;
            side_of[i].chosen[r] = true;
            for (size_t k = 0; k < n; k++)
                if (k != i && tab_row_index_rows(side_of[k].index, side_of[k].space, t, r, 1, near) == 1)
                    side_of[k].chosen[near[0]] = true;
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < st->table[side_of[i].pinned]->rows; r++)
            if (side_of[i].chosen[r] && !side_of[i].own[r])
                side_of[i].from[side_of[i].n_pinned++] = (uint32_t)r;
}

static const tab_table *joined(tab_arena *a, const serve_state *st, const side *s)
{
    const tab_table *pinned = st->table[s->pinned];
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, pinned->cols + 1);
    if (t == NULL || col == NULL)
        return NULL;
    for (size_t c = 0; c < pinned->cols; c++) {
        tab_builder *b = tab_builder_new(a, pinned->col[c].name);
        if (b == NULL)
            return NULL;
        for (size_t r = 0; r < s->n_rows; r++)
            tab_builder_cell(b, tab_cell_at(&s->rows->col[c], r));
        for (size_t r = 0; r < s->n_pinned; r++)
            tab_builder_cell(b, tab_cell_at(&pinned->col[c], s->from[r]));
        if (!tab_builder_finish(b, &col[c]))
            return NULL;
    }
    *t = (tab_table){ .id = pinned->id, .rows = s->n_rows + s->n_pinned, .cols = pinned->cols, .col = col };
    return t;
}

/* ---- what a request row takes part in -------------------------------------------------------- */

static uint32_t moved(const side *s, uint32_t row, bool *pinned)
{
    *pinned = row >= s->n_rows;
    return *pinned ? s->from[row - s->n_rows] : row;
}

static bool keep_matches(tab_arena *a, const side *side_of, Tabella__EntityMatches *m)
{
    size_t n = 0, on = 0, from = 0;
    m->pinned = tab_arena_new_of(a, uint32_t, m->n_a_row + 1);
    if (m->pinned == NULL)
        return false;
    for (size_t i = 0; i < m->n_a_row; i++) {
        size_t end = m->matched_on_end[i];
        bool pa, pb;
        uint32_t ra = moved(&side_of[m->a_table[i]], m->a_row[i], &pa),
                 rb = moved(&side_of[m->b_table[i]], m->b_row[i], &pb);
        if (!pa || !pb) {
            m->a_table[n] = m->a_table[i];
            m->b_table[n] = m->b_table[i];
            m->a_row[n] = ra;
            m->b_row[n] = rb;
            m->confidence[n] = m->confidence[i];
            m->pinned[n] = (pa ? 1u : 0u) | (pb ? 2u : 0u);
            for (size_t k = from; k < end; k++, on++) {
                m->matched_on[on] = m->matched_on[k];
                m->similarity[on] = m->similarity[k];
                m->weight[on] = m->weight[k];
            }
            m->matched_on_end[n++] = (uint32_t)on;
        }
        from = end;
    }
    m->n_a_table = m->n_b_table = m->n_a_row = m->n_b_row = m->n_confidence = m->n_matched_on_end =
        m->n_pinned = n;
    m->n_matched_on = m->n_similarity = m->n_weight = on;
    return true;
}

static bool keep_duplicates(tab_arena *a, const side *side_of, Tabella__Duplicates *d)
{
    size_t n = 0;
    d->pinned = tab_arena_new_of(a, uint32_t, d->n_row + 1);
    if (d->pinned == NULL)
        return false;
    for (size_t i = 0; i < d->n_row; i++) {
        bool pa, pb;
        uint32_t ra = moved(&side_of[d->table[i]], d->row[i], &pa),
                 rb = moved(&side_of[d->table[i]], d->other_row[i], &pb);
        if (pa && pb)
            continue;
        d->table[n] = d->table[i];
        d->row[n] = ra;
        d->other_row[n] = rb;
        d->confidence[n] = d->confidence[i];
        d->pinned[n++] = (pa ? 1u : 0u) | (pb ? 2u : 0u);
    }
    d->n_table = d->n_row = d->n_other_row = d->n_confidence = d->n_pinned = n;
    return true;
}

/* Of one table's groups those that hold a row of the request, where they are. */
static bool keep_table_groups(tab_arena *a, const side *s, Tabella__DuplicateGroups *d)
{
    size_t n = 0, rows = 0, told = 0, row = 0, k = 0;
    d->pinned = tab_arena_new_of(a, uint32_t, d->n_row + 1);
    if (d->pinned == NULL)
        return false;
    for (size_t i = 0; i < d->n_row_end; i++) {
        size_t from = rows, end = d->row_end[i], told_end = d->evidence_end[i];
        bool asked = false, pinned;
        for (; row < end; row++) {
            d->row[rows] = moved(s, d->row[row], &pinned);
            d->pinned[rows++] = pinned;
            asked = asked || !pinned;
        }
        if (!asked)
            rows = from;
        for (; k < told_end; k++) {
            d->column[told] = d->column[k];
            d->similarity[told] = d->similarity[k];
            d->weight[told] = d->weight[k];
            told += asked;
        }
        if (!asked)
            continue;
        d->confidence[n] = d->confidence[i];
        d->row_end[n] = (uint32_t)rows;
        d->evidence_end[n++] = (uint32_t)told;
    }
    d->n_row = d->n_pinned = rows;
    d->n_row_end = d->n_evidence_end = d->n_confidence = n;
    d->n_column = d->n_similarity = d->n_weight = told;
    return true;
}

static bool keep_groups(tab_arena *a, const side *side_of, Tabella__Bundle *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_duplicates; i++) {
        if (!keep_table_groups(a, &side_of[b->duplicates[i]->table], b->duplicates[i]))
            return false;
        if (b->duplicates[i]->n_row > 0)
            b->duplicates[n++] = b->duplicates[i];
    }
    b->n_duplicates = n;
    return true;
}

/* Matches of each pair of tables, of those that are kept. */
static void count_matches(Tabella__CrossTableMap *m)
{
    const Tabella__EntityMatches *e = m->entity_matches;
    for (size_t r = 0; r < m->n_relation; r++) {
        if (m->relation[r]->key)
            continue; /* of the rows that the call looked at */
        m->relation[r]->matches = 0;
        for (size_t i = 0; i < e->n_a_row; i++)
            m->relation[r]->matches +=
                e->a_table[i] == m->relation[r]->a_table && e->b_table[i] == m->relation[r]->b_table;
    }
}

/* The cells of the kept rows, in their order. */
static void keep_cells(Tabella__Column *c, const uint32_t *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c->coded)
            memcpy(c->codes.data + i * sizeof(uint32_t), c->codes.data + kept[i] * sizeof(uint32_t),
                   sizeof(uint32_t));
        else
            memcpy(c->numbers.data + i * sizeof(double), c->numbers.data + kept[i] * sizeof(double),
                   sizeof(double));
    if (c->coded)
        c->codes.len = n * sizeof(uint32_t);
    else
        c->numbers.len = n * sizeof(double);
}

/* Walks the entities of the unified rows, which their further rows and their children follow in order. */
typedef struct {
    const side *side_of;
    Tabella__UnifiedRows *u;
    size_t tables;
    size_t kept, also_kept, child_kept; /* how many of each are written so far */
} keeper;

/* Writes the entity's row in each table, its further rows [also, also_end) and its children [child,
 * child_end) behind what is kept. Nothing is overwritten that is still to be read: no more is kept than was
 * read. */
static void keep_entity(keeper *k, const uint32_t *from, size_t also, size_t also_end, size_t child,
                        size_t child_end)
{
    Tabella__UnifiedRows *u = k->u;
    bool pinned;
    for (size_t t = 0; t < k->tables; t++) {
        pinned = false;
        uint32_t row = from[t] == TAB_NULL ? TAB_NULL : moved(&k->side_of[t], from[t], &pinned);
        u->from_row[k->kept * k->tables + t] = row;
        u->from_pinned[k->kept * k->tables + t] = pinned;
    }
    for (; also < also_end; also++, k->also_kept++) {
        pinned = false;
        u->also_entity[k->also_kept] = (uint32_t)k->kept;
        u->also_row[k->also_kept] = moved(&k->side_of[u->also_table[also]], u->also_row[also], &pinned);
        u->also_table[k->also_kept] = u->also_table[also];
        u->also_pinned[k->also_kept] = pinned;
    }
    for (; child < child_end; child++, k->child_kept++) {
        pinned = false;
        u->child_entity[k->child_kept] = (uint32_t)k->kept;
        u->child_row[k->child_kept] = moved(&k->side_of[u->child_table[child]], u->child_row[child], &pinned);
        u->child_table[k->child_kept] = u->child_table[child];
        u->child_pinned[k->child_kept] = pinned;
    }
}

/* The columns of the unified rows, cut to the entities kept (n). */
static void keep_columns(Tabella__UnifiedRows *u, const uint32_t *kept, size_t n)
{
    for (size_t c = 0; c < u->records->n_columns; c++)
        keep_cells(u->records->columns[c], kept, n);
    u->records->rows = n;
    for (size_t v = 0; v < u->n_shared_variants; v++)
        keep_cells(u->shared_variants[v]->values, kept, n);
}

/* Keeps the entities that a row of the request is part of, or hangs under. *ret_linked: rows of the request
 * that are one entity with another row. False: out of memory. */
static bool keep_entities(tab_arena *a, const side *side_of, Tabella__UnifiedRows *u, uint64_t *ret_linked)
{
    size_t tables = u->n_from_tables, all = tables == 0 ? 0 : u->n_from_row / tables, also = 0, child = 0;
    uint32_t *kept = tab_arena_new_of(a, uint32_t, all + 1);
    keeper k = { .side_of = side_of, .u = u, .tables = tables };
    u->from_pinned = tab_arena_new_of(a, uint32_t, u->n_from_row + 1);
    u->also_pinned = tab_arena_new_of(a, uint32_t, u->n_also_row + 1);
    u->child_pinned = tab_arena_new_of(a, uint32_t, u->n_child_row + 1);
    if (kept == NULL || u->from_pinned == NULL || u->also_pinned == NULL || u->child_pinned == NULL)
        return false;
    *ret_linked = u->matched = 0;
    for (size_t t = 0; t < u->n_unmatched; t++)
        u->unmatched[t] = 0;
    for (size_t e = 0; e < all; e++) {
        const uint32_t *from = u->from_row + e * tables;
        size_t asked = 0, rows = 0, only = 0, first = also, first_child = child;
        for (; also < u->n_also_row && u->also_entity[also] == e; also++)
            asked += u->also_row[also] < side_of[u->also_table[also]].n_rows;
        for (size_t t = 0; t < tables; t++) {
            rows += from[t] != TAB_NULL;
            asked += from[t] != TAB_NULL && from[t] < side_of[t].n_rows;
            only = from[t] != TAB_NULL ? t : only;
        }
        size_t below = asked;
        for (; child < u->n_child_row && u->child_entity[child] == e; child++)
            below += u->child_row[child] < side_of[u->child_table[child]].n_rows;
        if (below == 0)
            continue;
        if (rows > 1) {
            u->matched++;
            *ret_linked += asked;
        } else if (only < u->n_unmatched) {
            u->unmatched[only]++;
        }
        keep_entity(&k, from, first, also, first_child, child);
        u->confidence[k.kept] = u->confidence[e];
        kept[k.kept++] = (uint32_t)e;
    }
    u->n_child_entity = u->n_child_table = u->n_child_row = u->n_child_pinned = k.child_kept;
    u->n_from_row = u->n_from_pinned = k.kept * tables;
    u->n_also_entity = u->n_also_table = u->n_also_row = u->n_also_pinned = k.also_kept;
    u->n_confidence = k.kept;
    keep_columns(u, kept, k.kept);
    return true;
}

/* ---- in order -------------------------------------------------------------------------------- */

tab_status serve_cross(const tab_engine *e, const serve_state *st, const serve_request *r, Tabella__Bundle *b,
                       tab_error *err)
{
    tab_arena *a = e->arena;
    size_t n = st->n;
    side *s = tab_arena_new_of(a, side, n);
    tab_profile **p = tab_arena_new_of(a, tab_profile *, n);
    bool *sent = tab_arena_new_of(a, bool, n);
    if (s == NULL || p == NULL || sent == NULL)
        return tab_no_memory(err);
    size_t at = 0;
    for (; at < r->n; at++) {
        s[at] = (side){ .pinned = r->pinned[at], .rows = r->table[at], .n_rows = r->table[at]->rows };
        sent[r->pinned[at]] = true;
    }
    for (size_t t = 0; t < n; t++)
        if (!sent[t])
            s[at++] = (side){ .pinned = t };
    for (size_t i = 0; i < n; i++) {
        size_t rows = st->table[s[i].pinned]->rows;
        s[i].index = st->near[s[i].pinned];
        s[i].chosen = tab_arena_new_of(a, bool, rows + 1);
        s[i].own = tab_arena_new_of(a, bool, rows + 1);
        s[i].from = tab_arena_new_of(a, uint32_t, rows + 1);
        s[i].space = tab_row_index_scratch(a, s[i].index);
        if (s[i].space == NULL)
            return tab_no_memory(err);
    }
    choose(st, s, n);
    tab_status status = TAB_OK;
    for (size_t i = 0; status == TAB_OK && i < n; i++) {
        const tab_table *t = joined(a, st, &s[i]);
        status = t == NULL ? tab_no_memory(err) : tab_profile_table(e, t, &p[i], err);
    }
    if (status == TAB_OK)
        status = tab_cross_tables(e, p, n, st->threshold, b, NULL, err);
    if (status != TAB_OK)
        return status;
    if (!keep_matches(a, s, b->cross_table_map->entity_matches) ||
        !keep_duplicates(a, s, b->cross_table_map->duplicates) || !keep_groups(a, s, b) ||
        !keep_entities(a, s, b->unified_rows, &b->records_linked))
        return tab_no_memory(err);
    count_matches(b->cross_table_map);
    b->cross_table_map->entities_matched = b->unified_rows->matched;
    b->shared_attributes = (uint32_t)b->cross_table_map->n_shared;
    /* Tables that were not sent stand behind those that were: the answer speaks of their pinned rows. */
    for (size_t i = r->n; i < n; i++) {
        Tabella__TableUnderstanding *m =
            tab_message(a, Tabella__TableUnderstanding, TABELLA__TABLE_UNDERSTANDING__INIT);
        if (m == NULL)
            return tab_no_memory(err);
        *m = *st->seen[s[i].pinned];
        m->pinned_rows = m->rows;
        m->rows = 0;
        b->tables[b->n_tables++] = m;
    }
    return TAB_OK;
}
