/* The output bundle as JSON, member by member in the order of the specification. The api calls it for
 * answers of runs and endpoints. The prediction is in bundle_prediction.c; arrays that grow with the rows
 * are in bundle_pages.c, for the api also serves them page by page. */
#include "common/bundle/bundle_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- small parts ----------------------------------------------------------------------------- */

static void summary(tab_out *o, const Tabella__Bundle *b, const tab_bundle_view *view)
{
    const Tabella__Prediction *p = b->prediction;
    const char *keys = b->cross_table_map == NULL ? "none" : b->cross_table_map->keys_used;
    tab_out_open(o, '{');
    MEMBER(o, "tables", tab_out_uint(o, b->n_tables));
    MEMBER(o, "records_linked", tab_out_uint(o, b->records_linked));
    MEMBER(o, "records_total", tab_out_uint(o, b->records_total));
    MEMBER(o, "keys_used", tab_out_cstr(o, *keys == 0 ? "none" : keys));
    MEMBER(o, "shared_attributes", tab_out_uint(o, b->shared_attributes));
    tab_out_key(o, "prediction");
    if (p == NULL) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '{');
        MEMBER(o, "target", bundle_address(o, p->target));
        MEMBER(o, "task", tab_out_cstr(o, p->task_type));
        MEMBER(o, "tier", tab_out_cstr(o, p->tier));
        MEMBER(o, "held_out",
               view != NULL && view->held_out.n > 0 ? tab_out_raw(o, view->held_out) : tab_out_null(o));
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
}

static void sector(tab_out *o, const Tabella__NameConfidence *s)
{
    tab_out_open(o, '{');
    MEMBER(o, "name", tab_out_cstr(o, s->name));
    MEMBER(o, "slug", tab_out_cstr(o, s->slug));
    MEMBER(o, "confidence", tab_out_fixed(o, s->confidence));
    tab_out_close(o, '}');
}

static void names(tab_out *o, size_t n, const ProtobufCBinaryData *name)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_str(o, bundle_bytes(name[i]));
    tab_out_close(o, ']');
}

static void pii_kinds(tab_out *o, const Tabella__ColumnProfile *c)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < c->n_pii_kinds; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "kind", tab_out_cstr(o, c->pii_kinds[i]->kind));
        MEMBER(o, "share", tab_out_fixed(o, c->pii_kinds[i]->share));
        MEMBER(o, "confidence", tab_out_fixed(o, c->pii_kinds[i]->confidence));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void sector_evidence(tab_out *o, const Tabella__TableUnderstanding *t)
{
    tab_out_key(o, "evidence");
    tab_out_open(o, '[');
    for (size_t i = 0; i < t->n_sector_evidence; i++) {
        const Tabella__SectorEvidence *v = t->sector_evidence[i];
        tab_out_open(o, '{');
        MEMBER(o, "column", tab_out_str(o, bundle_bytes(v->column)));
        MEMBER(o, "index", tab_out_uint(o, v->index));
        MEMBER(o, "role", tab_out_cstr(o, v->role));
        MEMBER(o, "words", names(o, v->n_words, v->words));
        MEMBER(o, "weight", tab_out_fixed(o, v->weight));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void grain(tab_out *o, const Tabella__Grain *g)
{
    tab_out_key(o, "grain");
    tab_out_open(o, '{');
    MEMBER(o, "kind", tab_out_cstr(o, g->kind));
    MEMBER(o, "of", bundle_addresses(o, g->n_of, g->of));
    MEMBER(o, "confidence", tab_out_fixed(o, g->confidence));
    MEMBER(o, "reason", tab_out_cstr(o, g->reason));
    tab_out_close(o, '}');
}

static void table(tab_out *o, const Tabella__TableUnderstanding *t)
{
    tab_out_open(o, '{');
    MEMBER(o, "id", tab_out_str(o, bundle_bytes(t->id)));
    MEMBER(o, "rows", tab_out_uint(o, t->rows));
    MEMBER(o, "cols", tab_out_uint(o, t->cols));
    if (t->pinned_rows > 0)
        MEMBER(o, "pinned_rows", tab_out_uint(o, t->pinned_rows));
    tab_out_key(o, "sector");
    tab_out_open(o, '{');
    MEMBER(o, "top1", t->n_sector_top5 > 0 ? sector(o, t->sector_top5[0]) : tab_out_null(o));
    tab_out_key(o, "top5");
    tab_out_open(o, '[');
    for (size_t i = 0; i < t->n_sector_top5; i++)
        sector(o, t->sector_top5[i]);
    tab_out_close(o, ']');
    sector_evidence(o, t);
    tab_out_close(o, '}');
    if (t->grain != NULL)
        grain(o, t->grain);
    if (t->reading.len > 0)
        MEMBER(o, "reading", tab_out_raw(o, bundle_bytes(t->reading)));
    tab_out_key(o, "column_profile");
    tab_out_open(o, '[');
    for (size_t i = 0; i < t->n_column_profile; i++) {
        const Tabella__ColumnProfile *c = t->column_profile[i];
        tab_out_open(o, '{');
        MEMBER(o, "name", tab_out_str(o, bundle_bytes(c->name)));
        MEMBER(o, "index", tab_out_uint(o, c->index));
        MEMBER(o, "role", tab_out_cstr(o, c->role));
        MEMBER(o, "role_confidence", tab_out_fixed(o, c->role_confidence));
        MEMBER(o, "type", tab_out_cstr(o, c->type));
        MEMBER(o, "type_confidence", tab_out_fixed(o, c->type_confidence));
        MEMBER(o, "missing_pct", tab_out_fixed(o, c->missing_pct));
        MEMBER(o, "missing_marks", names(o, c->n_missing_marks, c->missing_marks));
        MEMBER(o, "pii", tab_out_bool(o, c->pii));
        MEMBER(o, "pii_confidence", tab_out_fixed(o, c->pii_confidence));
        if (c->n_pii_kinds > 0)
            MEMBER(o, "pii_kinds", pii_kinds(o, c));
        if (c->spread != NULL)
            MEMBER(o, "spread", tab_spread_json(o, c->spread));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

/* ---- tables together ------------------------------------------------------------------------- */

static void entity_matches(tab_out *o, const Tabella__Bundle *b, const Tabella__EntityMatches *e)
{
    tab_out_open(o, '[');
    for (size_t i = 0, at = 0; e != NULL && i < e->n_a_row; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "a_table", tab_out_str(o, bundle_bytes(b->tables[e->a_table[i]]->id)));
        MEMBER(o, "b_table", tab_out_str(o, bundle_bytes(b->tables[e->b_table[i]]->id)));
        MEMBER(o, "a_row", tab_out_uint(o, e->a_row[i]));
        MEMBER(o, "b_row", tab_out_uint(o, e->b_row[i]));
        if (e->n_pinned > 0) {
            MEMBER(o, "a_pinned", tab_out_bool(o, (e->pinned[i] & 1) != 0));
            MEMBER(o, "b_pinned", tab_out_bool(o, (e->pinned[i] & 2) != 0));
        }
        MEMBER(o, "confidence", tab_out_fixed(o, e->confidence[i]));
        tab_out_key(o, "matched_on");
        tab_out_open(o, '[');
        for (size_t k = at; k < e->matched_on_end[i]; k++)
            if (bundle_thousandths(e->weight[k]) > 0)
                tab_out_str(o, bundle_bytes(e->attributes[e->matched_on[k]]));
        tab_out_close(o, ']');
        tab_out_key(o, "evidence");
        tab_out_open(o, '[');
        for (; at < e->matched_on_end[i]; at++) {
            tab_out_open(o, '{');
            MEMBER(o, "attribute", tab_out_str(o, bundle_bytes(e->attributes[e->matched_on[at]])));
            MEMBER(o, "similarity", tab_out_fixed(o, bundle_thousandths(e->similarity[at])));
            MEMBER(o, "weight", tab_out_fixed(o, bundle_thousandths(e->weight[at])));
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void duplicates(tab_out *o, const Tabella__Bundle *b, const Tabella__Duplicates *d)
{
    tab_out_open(o, '[');
    for (size_t i = 0; d != NULL && i < d->n_row; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(b->tables[d->table[i]]->id)));
        MEMBER(o, "row", tab_out_uint(o, d->row[i]));
        MEMBER(o, "other_row", tab_out_uint(o, d->other_row[i]));
        if (d->n_pinned > 0) {
            MEMBER(o, "pinned", tab_out_bool(o, (d->pinned[i] & 1) != 0));
            MEMBER(o, "other_pinned", tab_out_bool(o, (d->pinned[i] & 2) != 0));
        }
        MEMBER(o, "confidence", tab_out_fixed(o, d->confidence[i]));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void relations(tab_out *o, const Tabella__Bundle *b, const Tabella__CrossTableMap *m)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < m->n_relation; i++) {
        const Tabella__TableRelation *r = m->relation[i];
        tab_out_open(o, '{');
        MEMBER(o, "a", tab_out_str(o, bundle_bytes(b->tables[r->a_table]->id)));
        MEMBER(o, "b", tab_out_str(o, bundle_bytes(b->tables[r->b_table]->id)));
        MEMBER(o, "a_columns", bundle_addresses(o, r->n_a_columns, r->a_columns));
        MEMBER(o, "b_columns", bundle_addresses(o, r->n_b_columns, r->b_columns));
        MEMBER(o, "relation", tab_out_cstr(o, r->relation));
        MEMBER(o, "key", tab_out_bool(o, r->key != 0));
        MEMBER(o, "matches", tab_out_uint(o, r->matches));
        MEMBER(o, "confidence", tab_out_fixed(o, r->confidence));
        MEMBER(o, "evidence", tab_out_cstr(o, r->evidence));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void map_summary(tab_out *o, const Tabella__Bundle *b, const Tabella__CrossTableMap *m)
{
    tab_out_open(o, '{');
    MEMBER(o, "tables", tab_out_uint(o, b->n_tables));
    MEMBER(o, "shared_attributes", tab_out_uint(o, m->n_shared));
    MEMBER(o, "entities_matched", tab_out_uint(o, m->entities_matched));
    const Tabella__BundlePart *children = bundle_part(b, BUNDLE_CHILDREN);
    MEMBER(o, "children",
           tab_out_uint(o, children != NULL          ? children->total
                           : b->unified_rows == NULL ? 0
                                                     : b->unified_rows->n_child_row));
    if (m->n_only >= 2) {
        MEMBER(o, "columns_only_in_a", tab_out_uint(o, m->only[0]->n_columns));
        MEMBER(o, "columns_only_in_b", tab_out_uint(o, m->only[1]->n_columns));
    }
    tab_out_key(o, "columns_only_in");
    tab_out_open(o, '{');
    for (size_t i = 0; i < m->n_only; i++) {
        tab_out_key_str(o, bundle_bytes(m->only[i]->table));
        tab_out_uint(o, m->only[i]->n_columns);
    }
    tab_out_close(o, '}');
    MEMBER(o, "keys_used", tab_out_cstr(o, *m->keys_used == 0 ? "none" : m->keys_used));
    tab_out_close(o, '}');
}

void tab_alignment_members(tab_out *o, const Tabella__ColumnAlignment *c)
{
    MEMBER(o, "a", bundle_address(o, c->a));
    MEMBER(o, "b", bundle_address(o, c->b));
    MEMBER(o, "attribute", tab_out_str(o, bundle_bytes(c->attribute)));
    MEMBER(o, "confidence", tab_out_fixed(o, c->confidence));
}

static void column_alignment(tab_out *o, const Tabella__CrossTableMap *m)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < m->n_column_alignment; i++) {
        const Tabella__ColumnAlignment *c = m->column_alignment[i];
        tab_out_open(o, '{');
        tab_alignment_members(o, c);
        if (c->has_example) {
            tab_out_key(o, "example");
            tab_out_open(o, '{');
            MEMBER(o, "a", tab_out_str(o, bundle_bytes(c->example_a)));
            MEMBER(o, "b", tab_out_str(o, bundle_bytes(c->example_b)));
            tab_out_close(o, '}');
        }
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void unified_schema(tab_out *o, const Tabella__CrossTableMap *m)
{
    tab_out_open(o, '{');
    tab_out_key(o, "shared");
    tab_out_open(o, '[');
    for (size_t i = 0; i < m->n_shared; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "attribute", tab_out_str(o, bundle_bytes(m->shared[i]->attribute)));
        tab_out_key(o, "from");
        tab_out_open(o, '[');
        for (size_t k = 0; k < m->shared[i]->n_from; k++)
            bundle_address(o, m->shared[i]->from[k]);
        tab_out_close(o, ']');
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    if (m->n_only >= 2) {
        MEMBER(o, "a_only", names(o, m->only[0]->n_columns, m->only[0]->columns));
        MEMBER(o, "b_only", names(o, m->only[1]->n_columns, m->only[1]->columns));
    }
    tab_out_key(o, "only");
    tab_out_open(o, '{');
    for (size_t i = 0; i < m->n_only; i++) {
        tab_out_key_str(o, bundle_bytes(m->only[i]->table));
        names(o, m->only[i]->n_columns, m->only[i]->columns);
    }
    tab_out_close(o, '}');
    tab_out_close(o, '}');
}

static void cross_table_map(tab_out *o, const Tabella__Bundle *b)
{
    const Tabella__CrossTableMap *m = b->cross_table_map;
    if (m == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    MEMBER(o, "summary", map_summary(o, b, m));
    MEMBER(o, "column_alignment", column_alignment(o, m));
    MEMBER(o, "relations", relations(o, b, m));
    MEMBER(o, "entity_matches", entity_matches(o, b, m->entity_matches));
    MEMBER(o, "duplicates", duplicates(o, b, m->duplicates));
    MEMBER(o, "unified_schema", unified_schema(o, m));
    tab_out_close(o, '}');
}
/* ---- the larger members ---------------------------------------------------------------------- */

static void unified_rows(tab_out *o, const bundle_writer *w, const tab_bundle_view *view)
{
    const Tabella__UnifiedRows *u = w->b->unified_rows;
    if (u == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    tab_out_key(o, "schema");
    tab_out_open(o, '[');
    for (size_t k = 0; k < u->records->n_columns; k++)
        tab_out_str(o, w->record[k].name);
    tab_out_close(o, ']');
    tab_out_key(o, "provenance");
    tab_out_open(o, '{');
    tab_out_key(o, "tables");
    tab_out_open(o, '[');
    for (size_t t = 0; t < w->b->n_tables; t++) {
        tab_out_open(o, '{');
        MEMBER(o, "id", tab_out_str(o, bundle_bytes(w->b->tables[t]->id)));
        MEMBER(o, "rows", tab_out_uint(o, w->b->tables[t]->rows));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    MEMBER(o, "matched", tab_out_uint(o, u->matched));
    tab_out_key(o, "unmatched");
    tab_out_open(o, '{');
    for (size_t t = 0; t < u->n_unmatched; t++) {
        tab_out_key_str(o, bundle_bytes(u->from_tables[t]));
        tab_out_uint(o, u->unmatched[t]);
    }
    tab_out_close(o, '}');
    MEMBER(o, "confidence_threshold", tab_out_fixed(o, u->confidence_threshold));
    MEMBER(o, "survivorship", tab_out_cstr(o, u->survivorship));
    tab_out_close(o, '}');
    size_t shown = bundle_paged(o, w, TAB_PAGE_UNIFIED, "rows", "next_cursor", view);
    MEMBER(o, "total", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_UNIFIED)));
    MEMBER(o, "sample_shown", tab_out_uint(o, shown));
    tab_out_close(o, '}');
}

/* One entry a table that has any. */
static void duplicate_groups(tab_out *o, const bundle_writer *w, const tab_bundle_view *view)
{
    const Tabella__Bundle *b = w->b;
    tab_out_open(o, '[');
    for (size_t i = 0; i < b->n_duplicates; i++) {
        bundle_range p = { bundle_groups_before(b, i), bundle_groups_before(b, i + 1), i };
        tab_out_open(o, '{');
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(b->tables[b->duplicates[i]->table]->id)));
        bundle_paged_part(o, w, TAB_PAGE_DUPLICATES, p, "groups", view);
        MEMBER(o, "rows_in_groups", tab_out_uint(o, b->duplicates[i]->n_row));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void table_and_column(tab_out *o, const bundle_writer *w, size_t table, size_t column)
{
    MEMBER(o, "table", tab_out_str(o, bundle_bytes(w->b->tables[table]->id)));
    MEMBER(o, "column", tab_out_str(o, w->column_name[w->column_base[table] + column]));
}

/* How each column was filled, and which columns were not. */
static void imputed_columns(tab_out *o, const bundle_writer *w, const Tabella__Imputation *m)
{
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t i = 0; m != NULL && i < m->n_columns; i++) {
        const Tabella__FilledColumn *c = m->columns[i];
        tab_out_open(o, '{');
        table_and_column(o, w, c->table, c->column);
        MEMBER(o, "method", tab_out_cstr(o, c->method));
        MEMBER(o, "metric", tab_out_cstr(o, c->metric));
        MEMBER(o, "score", bundle_fixed_or_null(o, c->score, c->metric));
        MEMBER(o, "baseline", bundle_fixed_or_null(o, c->baseline, c->metric));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_key(o, "not_filled");
    tab_out_open(o, '[');
    for (size_t i = 0; m != NULL && i < m->n_not_filled; i++) {
        tab_out_open(o, '{');
        table_and_column(o, w, m->not_filled[i]->table, m->not_filled[i]->column);
        MEMBER(o, "reason", tab_out_cstr(o, m->not_filled[i]->reason));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void imputation(tab_out *o, const bundle_writer *w, const tab_bundle_view *view)
{
    const Tabella__Imputation *m = w->b->imputation;
    tab_out_open(o, '{');
    bundle_paged(o, w, TAB_PAGE_FILLED, "filled", "next_cursor", view);
    tab_out_key(o, "row_confidence");
    tab_out_open(o, '[');
    for (size_t i = 0; m != NULL && i < m->n_row_confidence; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(w->b->tables[m->confidence_table[i]]->id)));
        MEMBER(o, "row", tab_out_uint(o, m->confidence_row[i]));
        MEMBER(o, "confidence", tab_out_fixed(o, m->row_confidence[i]));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    imputed_columns(o, w, m);
    MEMBER(o, "total_filled", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_FILLED)));
    tab_out_close(o, '}');
}

static void suspects(tab_out *o, const bundle_writer *w, const tab_bundle_view *view)
{
    tab_out_open(o, '{');
    bundle_paged(o, w, TAB_PAGE_SUSPECTS, "cells", "next_cursor", view);
    MEMBER(o, "total", tab_out_uint(o, bundle_total(w->b, TAB_PAGE_SUSPECTS)));
    tab_out_close(o, '}');
}

static void target_selection(tab_out *o, const Tabella__TargetSelection *t)
{
    if (t == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    MEMBER(o, "mode", tab_out_cstr(o, t->mode));
    MEMBER(o, "column", bundle_address(o, t->column));
    MEMBER(o, "reason", tab_out_cstr(o, t->reason));
    MEMBER(o, "overridable", tab_out_bool(o, strcmp(t->mode, "user") != 0));
    tab_out_key(o, "candidates");
    if (t->candidates_null) {
        tab_out_null(o);
    } else {
        tab_out_open(o, '[');
        for (size_t i = 0; i < t->n_candidates; i++) {
            const Tabella__Candidate *c = t->candidates[i];
            tab_out_open(o, '{');
            MEMBER(o, "col", bundle_address(o, c->column));
            MEMBER(o, "selected", tab_out_bool(o, c->selected));
            MEMBER(o, "eligible", tab_out_bool(o, c->eligible));
            MEMBER(o, "reason", tab_out_cstr(o, c->reason));
            MEMBER(o, "score", tab_out_fixed(o, c->score));
            MEMBER(o, "explained", c->has_explained ? tab_out_fixed(o, c->explained) : tab_out_null(o));
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}

static void task_selection(tab_out *o, const Tabella__TaskSelection *t)
{
    if (t == NULL) {
        tab_out_null(o);
        return;
    }
    tab_out_open(o, '{');
    MEMBER(o, "mode", tab_out_cstr(o, t->mode));
    MEMBER(o, "type", bundle_text_or_null(o, t->type));
    MEMBER(o, "reason", tab_out_cstr(o, t->reason));
    MEMBER(o, "overridable", tab_out_bool(o, strcmp(t->mode, "user") != 0));
    tab_out_close(o, '}');
}

/* ---- what bundles share ---------------------------------------------------------------------- */

enum { TABLES, TARGET, MEMBERS };
struct tab_bundle_memory {
    const void *of[MEMBERS]; /* the message that the text is of */
    tab_out json[MEMBERS];
};

tab_bundle_memory *tab_bundle_memory_new(void)
{
    return calloc(1, sizeof(tab_bundle_memory));
}

void tab_bundle_memory_free(tab_bundle_memory *m)
{
    for (int i = 0; m != NULL && i < MEMBERS; i++)
        tab_out_free(&m->json[i]);
    free(m);
}

static bool recalled(tab_out *o, const tab_bundle_view *view, int member, const void *of)
{
    const tab_bundle_memory *m = view == NULL ? NULL : view->memory;
    if (m == NULL || of == NULL || m->of[member] != of)
        return false;
    tab_out_raw(o, tab_out_text(&m->json[member]));
    return true;
}

/* o holds the value from position `from` on. */
static void remember(const tab_out *o, const tab_bundle_view *view, int member, const void *of, size_t from)
{
    tab_bundle_memory *m = view == NULL ? NULL : view->memory;
    if (m == NULL || o->failed)
        return;
    m->json[member].n = 0;
    tab_out_bytes(&m->json[member], o->p + from, o->n - from);
    m->of[member] = m->json[member].failed ? NULL : of;
}

static void tables(tab_out *o, const Tabella__Bundle *b, const tab_bundle_view *view)
{
    if (recalled(o, view, TABLES, b->tables))
        return;
    size_t from = o->n;
    tab_out_open(o, '[');
    for (size_t i = 0; i < b->n_tables; i++)
        table(o, b->tables[i]);
    tab_out_close(o, ']');
    remember(o, view, TABLES, b->tables, from);
}

static void target(tab_out *o, const Tabella__Bundle *b, const tab_bundle_view *view)
{
    if (recalled(o, view, TARGET, b->target_selection))
        return;
    size_t from = o->n;
    target_selection(o, b->target_selection);
    remember(o, view, TARGET, b->target_selection, from);
}

void tab_bundle_json(tab_out *o, const Tabella__Bundle *b, const tab_bundle_view *view)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    bundle_writer w = { 0 };
    if (a == NULL || !bundle_writer_init(&w, a, b)) {
        o->failed = true;
        bundle_writer_free(&w);
        return;
    }
    w.view = view;
    MEMBER(o, "summary", summary(o, b, view));
    MEMBER(o, "tables", tables(o, b, view));
    MEMBER(o, "cross_table_map", cross_table_map(o, b));
    MEMBER(o, "unified_rows", unified_rows(o, &w, view));
    MEMBER(o, "duplicates", duplicate_groups(o, &w, view));
    MEMBER(o, "imputation", imputation(o, &w, view));
    MEMBER(o, "suspects", suspects(o, &w, view));
    MEMBER(o, "target_selection", target(o, b, view));
    MEMBER(o, "task_selection", task_selection(o, b->task_selection));
    MEMBER(o, "prediction", bundle_prediction(o, &w, view));
    bundle_writer_free(&w);
}

static void passes_column(tab_out *o, const Tabella__Passes *p, const Tabella__PassesColumn *c)
{
    char level[32];
    tab_out_open(o, '{');
    MEMBER(o, "present", tab_out_uint(o, c->present));
    MEMBER(o, "distinct", tab_out_uint(o, c->distinct));
    MEMBER(o, "distinct_exact", tab_out_bool(o, c->distinct_exact));
    if (c->n_quantiles > 0) {
        tab_out_key(o, "quantiles");
        tab_out_open(o, '{');
        for (size_t i = 0; i < c->n_quantiles && i < p->n_quantile_levels; i++) {
            level[tab_number_text(p->quantile_levels[i], level)] = 0;
            MEMBER(o, level, tab_out_real(o, c->quantiles[i]));
        }
        tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
}

static void passes(tab_out *o, const Tabella__Passes *p)
{
    tab_out_open(o, '{');
    MEMBER(o, "passes", tab_out_uint(o, p->passes));
    MEMBER(o, "bytes", tab_out_uint(o, p->bytes));
    MEMBER(o, "memory", tab_out_uint(o, p->memory));
    MEMBER(o, "rows", tab_out_uint(o, p->rows));
    MEMBER(o, "sample_rows", tab_out_uint(o, p->sample_rows));
    MEMBER(o, "unseen_rows", tab_out_uint(o, p->unseen_rows));
    MEMBER(o, "wide_records", tab_out_uint(o, p->wide_records));
    tab_out_key(o, "columns");
    tab_out_open(o, '[');
    for (size_t i = 0; i < p->n_columns; i++)
        passes_column(o, p, p->columns[i]);
    tab_out_close(o, ']');
    tab_out_key(o, "of_sample");
    tab_out_open(o, '[');
    for (size_t i = 0; i < p->n_of_sample; i++)
        tab_out_cstr(o, p->of_sample[i]);
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}

void tab_bundle_run_json(tab_out *o, const Tabella__Bundle *b)
{
    const char *const members[][2] = { { "mode", "run" },
                                       { "base", b->base_model },
                                       { "feed", b->n_tables > 1 ? "multi_table" : "single_table" },
                                       { "status", "complete" } };
    tab_out_open(o, '{');
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tab_out_key(o, members[i][0]);
        tab_out_cstr(o, members[i][1]);
    }
    tab_bundle_json(o, b, NULL);
    if (b->passes != NULL)
        MEMBER(o, "read_in_passes", passes(o, b->passes));
    if (b->n_warnings > 0) {
        tab_out_key(o, "warnings");
        tab_out_open(o, '[');
        for (size_t i = 0; i < b->n_warnings; i++)
            tab_out_cstr(o, b->warnings[i]);
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}
