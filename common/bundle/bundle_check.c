/* Checks a bundle that another process sent: every index lies within its array, and arrays that run in
 * parallel have one length. After that, bundle_json.c and bundle_pages.c read it without checks of their
 * own. */
#include "common/bundle/bundle_json.h"

bool tab_column_view(const Tabella__Column *c, size_t rows, tab_column *ret)
{
    *ret = (tab_column){ .layout = TAB_NUMBERS };
    if (c == NULL)
        return rows == 0;
    ret->name = (tab_str){ (const char *)c->name.data, c->name.len };
    if (!c->coded) {
        ret->num = (const double *)(const void *)c->numbers.data;
        return c->numbers.len / 8 >= rows;
    }
    ret->layout = TAB_CODED;
    ret->code = (const uint32_t *)(const void *)c->codes.data;
    ret->text = (const char *)c->level_text.data;
    ret->end = (const uint32_t *)(const void *)c->level_end.data;
    ret->kind = c->level_kind.data;
    ret->levels = c->level_kind.len;
    if (c->codes.len / 4 < rows || c->level_end.len / 4 < ret->levels)
        return false;
    uint32_t last = 0;
    for (size_t i = 0; i < ret->levels; i++) {
        if (ret->end[i] < last || ret->end[i] > c->level_text.len || ret->kind[i] == TAB_CELL_NULL ||
            ret->kind[i] > TAB_CELL_BOOL)
            return false;
        last = ret->end[i];
    }
    for (size_t r = 0; r < rows; r++)
        if (ret->code[r] != TAB_NULL && ret->code[r] >= ret->levels)
            return false;
    return true;
}

static bool below(const uint32_t *x, size_t n, size_t bound)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] >= bound)
            return false;
    return true;
}

static size_t class_count(const Tabella__Prediction *p)
{
    return p->classes == NULL  ? 0
           : p->classes->coded ? p->classes->codes.len / 4
                               : p->classes->numbers.len / 8;
}

static bool results_sound(const Tabella__Prediction *p, const Tabella__Results *r)
{
    if (r == NULL)
        return true;
    size_t n = r->n_row, classes = class_count(p);
    return (r->n_label == 0 ||
            (r->n_label == n && r->n_probabilities == n * classes && below(r->label, n, classes))) &&
           (r->n_value == 0 || (r->n_value == n && r->n_quantiles == n * p->n_quantile_levels)) &&
           (r->n_std == 0 || r->n_std == n) && (r->n_anomaly_score == 0 || r->n_anomaly_score == n) &&
           (r->n_reasons == 0 || r->n_reasons == n) &&
           (r->n_regime == 0 || (r->n_regime == n && below(r->regime, n, TAB_BUNDLE_REGIMES))) &&
           (r->n_doubt == 0 || (r->n_doubt == n && below(r->doubt, n, p->n_doubts + 1))) &&
           (r->n_label + r->n_value + r->n_anomaly_score == n);
}

static bool unified_sound(const Tabella__UnifiedRows *u, size_t tables)
{
    if (u == NULL)
        return true;
    tab_column c;
    if (u->records == NULL || u->n_from_tables != tables || u->n_unmatched != tables)
        return false;
    size_t n = u->records->rows;
    if (u->n_confidence != n || u->n_from_row != n * tables ||
        (u->n_from_pinned != 0 && u->n_from_pinned != n * tables))
        return false;
    size_t also = u->n_also_row;
    if (u->n_also_entity != also || u->n_also_table != also ||
        (u->n_also_pinned != 0 && u->n_also_pinned != also) || !below(u->also_entity, also, n) ||
        !below(u->also_table, also, tables))
        return false;
    for (size_t i = 1; i < also; i++)
        if (u->also_entity[i] < u->also_entity[i - 1])
            return false;
    size_t child = u->n_child_row;
    if (u->n_child_entity != child || u->n_child_table != child ||
        (u->n_child_pinned != 0 && u->n_child_pinned != child) || !below(u->child_entity, child, n) ||
        !below(u->child_table, child, tables))
        return false;
    for (size_t i = 1; i < child; i++)
        if (u->child_entity[i] < u->child_entity[i - 1])
            return false;
    for (size_t i = 0; i < u->records->n_columns; i++)
        if (!tab_column_view(u->records->columns[i], n, &c))
            return false;
    for (size_t i = 0; i < u->n_shared_variants; i++)
        if (u->shared_variants[i]->from == NULL || u->shared_variants[i]->from->table >= tables ||
            u->shared_variants[i]->values == NULL || !tab_column_view(u->shared_variants[i]->values, n, &c))
            return false;
    return true;
}

static bool imputation_sound(const Tabella__Bundle *b)
{
    const Tabella__Imputation *m = b->imputation;
    if (m == NULL)
        return true;
    tab_column c;
    size_t n = m->n_row;
    if (m->n_table != n || m->n_column != n || m->n_method_of != n ||
        m->n_confidence_row != m->n_row_confidence || m->n_confidence_table != m->n_row_confidence ||
        !tab_column_view(m->value, n, &c) || !below(m->method_of, n, m->n_method) ||
        !below(m->table, n, b->n_tables) || !below(m->confidence_table, m->n_confidence_table, b->n_tables))
        return false;
    for (size_t i = 0; i < n; i++)
        if (m->column[i] >= b->tables[m->table[i]]->n_column_profile)
            return false;
    for (size_t i = 0; i < m->n_columns; i++)
        if (m->columns[i]->table >= b->n_tables ||
            m->columns[i]->column >= b->tables[m->columns[i]->table]->n_column_profile)
            return false;
    for (size_t i = 0; i < m->n_not_filled; i++)
        if (m->not_filled[i]->table >= b->n_tables ||
            m->not_filled[i]->column >= b->tables[m->not_filled[i]->table]->n_column_profile)
            return false;
    return true;
}

static bool suspects_sound(const Tabella__Bundle *b)
{
    const Tabella__Suspects *s = b->suspects;
    tab_column c;
    if (s == NULL)
        return true;
    size_t n = s->n_row;
    if (s->n_table != n || s->n_column != n || s->n_kind != n || s->n_confidence != n || s->n_reason != n ||
        !tab_column_view(s->value, n, &c) || !tab_column_view(s->suggestion, n, &c) ||
        !below(s->table, n, b->n_tables) || !below(s->kind, n, TAB_BUNDLE_SUSPECTS))
        return false;
    for (size_t i = 0; i < n; i++)
        if (s->column[i] >= b->tables[s->table[i]]->n_column_profile)
            return false;
    return true;
}

static bool grains_sound(const Tabella__Bundle *b)
{
    for (size_t t = 0; t < b->n_tables; t++)
        for (size_t i = 0; b->tables[t]->grain != NULL && i < b->tables[t]->grain->n_of; i++)
            if (b->tables[t]->grain->of[i] == NULL)
                return false;
    return true;
}

static bool map_sound(const Tabella__Bundle *b)
{
    const Tabella__CrossTableMap *m = b->cross_table_map;
    if (m == NULL)
        return true;
    if (m->n_only != b->n_tables)
        return false;
    for (size_t i = 0; i < m->n_column_alignment; i++)
        if (m->column_alignment[i]->a == NULL || m->column_alignment[i]->b == NULL)
            return false;
    for (size_t i = 0; i < m->n_relation; i++) {
        const Tabella__TableRelation *r = m->relation[i];
        if (r->a_table >= b->n_tables || r->b_table >= b->n_tables)
            return false;
        for (size_t k = 0; k < r->n_a_columns; k++)
            if (r->a_columns[k] == NULL)
                return false;
        for (size_t k = 0; k < r->n_b_columns; k++)
            if (r->b_columns[k] == NULL)
                return false;
    }
    const Tabella__Duplicates *d = m->duplicates;
    if (d != NULL &&
        (d->n_table != d->n_row || d->n_other_row != d->n_row || d->n_confidence != d->n_row ||
         (d->n_pinned != 0 && d->n_pinned != d->n_row) || !below(d->table, d->n_row, b->n_tables)))
        return false;
    const Tabella__EntityMatches *e = m->entity_matches;
    if (e == NULL)
        return true;
    size_t n = e->n_a_row;
    uint32_t last = 0;
    if (e->n_b_row != n || e->n_a_table != n || e->n_b_table != n || e->n_confidence != n ||
        e->n_matched_on_end != n || (e->n_pinned != 0 && e->n_pinned != n) ||
        !below(e->a_table, n, b->n_tables) || !below(e->b_table, n, b->n_tables) ||
        e->n_similarity != e->n_matched_on || e->n_weight != e->n_matched_on ||
        !below(e->matched_on, e->n_matched_on, e->n_attributes))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (e->matched_on_end[i] < last || e->matched_on_end[i] > e->n_matched_on)
            return false;
        last = e->matched_on_end[i];
    }
    return true;
}

static bool ascending_to(const uint32_t *end, size_t n, size_t all)
{
    uint32_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (end[i] < last)
            return false;
        last = end[i];
    }
    return last == all;
}

static bool duplicates_sound(const Tabella__Bundle *b)
{
    for (size_t i = 0; i < b->n_duplicates; i++) {
        const Tabella__DuplicateGroups *d = b->duplicates[i];
        size_t n = d->n_confidence;
        if (d->table >= b->n_tables || d->n_row_end != n || d->n_evidence_end != n ||
            (d->n_pinned != 0 && d->n_pinned != d->n_row) || d->n_similarity != d->n_column ||
            d->n_weight != d->n_column || !ascending_to(d->row_end, n, d->n_row) ||
            !ascending_to(d->evidence_end, n, d->n_column) ||
            !below(d->column, d->n_column, b->tables[d->table]->n_column_profile))
            return false;
    }
    return true;
}

/* A number is written as it came: it has to be one of JSON's. */
static bool is_number(const char *s)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(4096);
    const tab_json *v = NULL;
    tab_error err;
    return a != NULL && tab_json_read(a, tab_str_of(s), 1, &v, &err) == TAB_OK && v->kind == TAB_JSON_NUMBER;
}

static bool forecast_sound(const Tabella__Forecast *f)
{
    tab_column c;
    if (f == NULL)
        return true;
    size_t n = f->n_value;
    if (f->n_low != n || f->n_high != n || f->n_series_value != f->n_series ||
        !tab_column_view(f->at, n, &c) || (f->step_is_number && !is_number(f->step)))
        return false;
    for (size_t i = 0; i < f->n_series; i++)
        if (!tab_column_view(f->series_value[i], n, &c))
            return false;
    return true;
}

static bool linked_sound(const Tabella__Bundle *b, const Tabella__Prediction *p)
{
    for (size_t i = 0; i < p->n_linked; i++)
        if (p->linked[i]->table >= b->n_tables)
            return false;
    return true;
}

bool tab_bundle_sound(const Tabella__Bundle *b)
{
    const Tabella__Prediction *p = b->prediction;
    tab_column c;
    return grains_sound(b) && map_sound(b) && duplicates_sound(b) &&
           unified_sound(b->unified_rows, b->n_tables) && imputation_sound(b) && suspects_sound(b) &&
           (p == NULL || ((p->classes == NULL || tab_column_view(p->classes, class_count(p), &c)) &&
                          forecast_sound(p->forecast) && linked_sound(b, p) && results_sound(p, p->results) &&
                          results_sound(p, p->missing_target_results) && results_sound(p, p->most_unusual)));
}
