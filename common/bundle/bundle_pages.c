/* The bundle's long arrays, entry by entry: results, filled cells, duplicates and the others that a
 * reader pages through. What many entries repeat (keys, column names) is rendered once, by
 * bundle_writer_init. */
#include "common/bundle/bundle_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bundle_address(tab_out *o, const Tabella__ColumnRef *c)
{
    if (c == NULL)
        tab_out_null(o);
    else
        tab_out_str(o, bundle_bytes(c->address));
}

void bundle_addresses(tab_out *o, size_t n, Tabella__ColumnRef *const *c)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++)
        bundle_address(o, c[i]);
    tab_out_close(o, ']');
}

void bundle_text_or_null(tab_out *o, const char *s)
{
    tab_out_cstr(o, s == NULL || *s == 0 ? NULL : s);
}

void bundle_fixed_or_null(tab_out *o, double x, const char *metric)
{
    if (*metric != 0)
        tab_out_fixed(o, x);
    else
        tab_out_null(o);
}

static const struct {
    const char *name;
    size_t first;
} PAGED[TAB_PAGE_COUNT] = {
#define TAB_X(e, n, f) { n, f },
    TAB_PAGED_ARRAYS(TAB_X)
#undef TAB_X
};

const char *tab_paged_name(tab_paged array)
{
    return PAGED[array].name;
}

size_t tab_paged_first(tab_paged array)
{
    return PAGED[array].first;
}

static size_t class_count(const Tabella__Prediction *p)
{
    return p->classes == NULL  ? 0
           : p->classes->coded ? p->classes->codes.len / 4
                               : p->classes->numbers.len / 8;
}
/* ---- arrays by pages ------------------------------------------------------------------------- */

static int by_attribute(const void *pa, const void *pb)
{
    const struct bundle_variant *a = pa, *b = pb;
    tab_str x = bundle_bytes(a->v->attribute), y = bundle_bytes(b->v->attribute);
    int c = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    if (c == 0)
        c = (x.n > y.n) - (x.n < y.n);
    return c != 0 ? c : (a->at > b->at) - (a->at < b->at);
}

static int by_name(const void *pa, const void *pb)
{
    const Tabella__ColumnProfile *const *a = pa, *const *b = pb;
    tab_str x = bundle_bytes((*a)->name), y = bundle_bytes((*b)->name);
    int c = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return c != 0 ? c : (x.n > y.n) - (x.n < y.n);
}

/* The name where it is alone in its table and not empty, else "c{index}"; in the
 * arena. */
static bool column_names(bundle_writer *w, tab_arena *a)
{
    const Tabella__Bundle *b = w->b;
    size_t total = 0;
    w->column_base = tab_arena_new_of(a, size_t, b->n_tables + 1);
    if (w->column_base == NULL)
        return false;
    for (size_t t = 0; t < b->n_tables; t++) {
        w->column_base[t] = total;
        total += b->tables[t]->n_column_profile;
    }
    w->column_name = tab_arena_new_of(a, tab_str, total + 1);
    for (size_t t = 0; t < b->n_tables && w->column_name != NULL; t++) {
        size_t n = b->tables[t]->n_column_profile;
        const Tabella__ColumnProfile **sorted = tab_arena_new_of(a, const Tabella__ColumnProfile *, n + 1);
        if (sorted == NULL)
            return false;
        for (size_t i = 0; i < n; i++)
            sorted[i] = b->tables[t]->column_profile[i];
        qsort(sorted, n, sizeof *sorted, by_name);
        for (size_t i = 0; i < n; i++) {
            const Tabella__ColumnProfile *c = sorted[i];
            bool alone = c->name.len > 0 && (i == 0 || by_name(&sorted[i - 1], &c) != 0) &&
                         (i + 1 == n || by_name(&sorted[i + 1], &c) != 0);
            if (c->index >= n)
                return false;
            w->column_name[w->column_base[t] + c->index] =
                alone ? bundle_bytes(c->name) : tab_str_of(tab_arena_printf(a, "c%u", c->index));
        }
    }
    return w->column_name != NULL;
}

static bool forecast_views(bundle_writer *w, tab_arena *a, const Tabella__Forecast *f)
{
    w->series = tab_arena_new_of(a, tab_column, f->n_series + 1);
    if (w->series == NULL || !tab_column_view(f->at, f->n_value, &w->at))
        return false;
    for (size_t i = 0; i < f->n_series; i++)
        if (!tab_column_view(f->series_value[i], f->n_value, &w->series[i]))
            return false;
    return true;
}

bool bundle_writer_init(bundle_writer *w, tab_arena *a, const Tabella__Bundle *b)
{
    *w = (bundle_writer){ .b = b, .median = SIZE_MAX, .first = bundle_first(b, TAB_PAGE_UNIFIED) };
    const Tabella__UnifiedRows *u = b->unified_rows;
    if (u != NULL) {
        w->record = tab_arena_new_of(a, tab_column, u->records->n_columns + 1);
        w->variant = tab_arena_new_of(a, struct bundle_variant, u->n_shared_variants + 1);
        if (w->record == NULL || w->variant == NULL)
            return false;
        for (size_t i = 0; i < u->records->n_columns; i++)
            if (!tab_column_view(u->records->columns[i], u->records->rows, &w->record[i]))
                return false;
        for (size_t i = 0; i < u->n_shared_variants; i++) {
            w->variant[i] = (struct bundle_variant){ .v = u->shared_variants[i], .at = i };
            if (!tab_column_view(u->shared_variants[i]->values, u->records->rows, &w->variant[i].values))
                return false;
        }
        qsort(w->variant, u->n_shared_variants, sizeof *w->variant, by_attribute);
    }
    if (b->suspects != NULL && (!tab_column_view(b->suspects->value, b->suspects->n_row, &w->doubted) ||
                                !tab_column_view(b->suspects->suggestion, b->suspects->n_row, &w->mended)))
        return false;
    if (b->imputation != NULL && !tab_column_view(b->imputation->value, b->imputation->n_row, &w->fill))
        return false;
    if (!column_names(w, a))
        return false;
    const Tabella__Prediction *p = b->prediction;
    if (p == NULL)
        return true;
    if (p->forecast != NULL && !forecast_views(w, a, p->forecast))
        return false;
    w->n_classes = class_count(p);
    w->key_end = tab_arena_new_of(a, size_t, w->n_classes + 1);
    w->quantile_end = tab_arena_new_of(a, size_t, p->n_quantile_levels + 1);
    if (w->key_end == NULL || w->quantile_end == NULL ||
        (w->n_classes > 0 && !tab_column_view(p->classes, w->n_classes, &w->classes)))
        return false;
    for (size_t i = 0; i < w->n_classes; i++) {
        tab_cell c = tab_cell_at(&w->classes, i);
        char buf[32];
        w->key.comma = false;
        tab_out_key_str(&w->key, c.text.n > 0 || c.kind != TAB_CELL_NUMBER
                                     ? c.text
                                     : (tab_str){ buf, tab_number_text(c.num, buf) });
        w->key_end[i] = w->key.n;
    }
    for (size_t i = 0; i < p->n_quantile_levels; i++) {
        char buf[32];
        w->quantile_key.comma = false;
        tab_out_key_str(&w->quantile_key, (tab_str){ buf, tab_number_text(p->quantile_levels[i], buf) });
        w->quantile_end[i] = w->quantile_key.n;
        if (p->quantile_levels[i] == 0.5)
            w->median = i;
    }
    return true;
}

void bundle_writer_free(bundle_writer *w)
{
    tab_out_free(&w->key);
    tab_out_free(&w->quantile_key);
}

/* Key i of a list of ready ones, with the comma it needs. */
static void ready_key(tab_out *o, const tab_out *keys, const size_t *end, size_t i)
{
    size_t from = i == 0 ? 0 : end[i - 1];
    tab_out_raw(o, (tab_str){ keys->p + from, end[i] - from });
    o->comma = false;
}

const char *const tab_bundle_regime[TAB_BUNDLE_REGIMES] = { "alike", "later", "new_group", "out_of_range" };

static double rounded(double x)
{
    return round(x * 1e6) / 1e6;
}

void bundle_result(tab_out *o, const bundle_writer *w, const Tabella__Results *r, size_t i)
{
    const Tabella__Prediction *p = w->b->prediction;
    tab_out_open(o, '{');
    MEMBER(o, "row", tab_out_uint(o, r->row[i]));
    if (r->n_label > 0) {
        const double *prob = r->probabilities + i * w->n_classes;
        MEMBER(o, "label", tab_out_cell(o, &w->classes, r->label[i]));
        MEMBER(o, "confidence", tab_out_fixed(o, prob[r->label[i]]));
        tab_out_key(o, "probabilities");
        tab_out_open(o, '{');
        for (size_t k = 0; k < w->n_classes; k++) {
            ready_key(o, &w->key, w->key_end, k);
            tab_out_fixed(o, prob[k]);
        }
        tab_out_close(o, '}');
    } else if (r->n_value > 0) {
        const double *q = r->quantiles + i * p->n_quantile_levels;
        MEMBER(o, "value", tab_out_real(o, r->value[i]));
        MEMBER(o, "median", tab_out_real(o, w->median == SIZE_MAX ? r->value[i] : q[w->median]));
        MEMBER(o, "std", r->n_std > 0 ? tab_out_real(o, r->std[i]) : tab_out_null(o));
        tab_out_key(o, "quantiles");
        tab_out_open(o, '{');
        for (size_t k = 0; k < p->n_quantile_levels; k++) {
            ready_key(o, &w->quantile_key, w->quantile_end, k);
            tab_out_real(o, q[k]);
        }
        tab_out_close(o, '}');
    } else {
        /* Rounded as it is printed, so that the members of one answer agree. */
        MEMBER(o, "anomaly_score", tab_out_fixed(o, r->anomaly_score[i]));
        MEMBER(o, "is_anomaly", tab_out_bool(o, rounded(r->anomaly_score[i]) >= rounded(p->threshold)));
    }
    if (w->view != NULL && w->view->receipt != NULL && r == p->results)
        MEMBER(o, "receipt", w->view->receipt(w->view->receipt_arg, o, i));
    if (r->n_regime > 0 && r->regime[i] > 0)
        MEMBER(o, "regime", tab_out_cstr(o, tab_bundle_regime[r->regime[i]]));
    if (r->n_doubt > 0 && r->doubt[i] > 0) {
        MEMBER(o, "low_confidence", tab_out_bool(o, true));
        MEMBER(o, "low_confidence_reason", tab_out_cstr(o, p->doubts[r->doubt[i] - 1]));
    }
    if (r->n_reasons > 0) {
        tab_out_key(o, "reasons");
        tab_out_open(o, '[');
        for (size_t k = 0; k < r->reasons[i]->n_reasons; k++) {
            tab_out_open(o, '{');
            MEMBER(o, "column", bundle_address(o, r->reasons[i]->reasons[k]->column));
            MEMBER(o, "contribution", tab_out_real(o, r->reasons[i]->reasons[k]->contribution));
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}

static void filled(tab_out *o, const bundle_writer *w, size_t i)
{
    const Tabella__Imputation *m = w->b->imputation;
    tab_out_open(o, '{');
    MEMBER(o, "table", tab_out_str(o, bundle_bytes(w->b->tables[m->table[i]]->id)));
    MEMBER(o, "row", tab_out_uint(o, m->row[i]));
    MEMBER(o, "column", tab_out_str(o, w->column_name[w->column_base[m->table[i]] + m->column[i]]));
    MEMBER(o, "value", tab_out_cell(o, &w->fill, i));
    MEMBER(o, "method", tab_out_cstr(o, m->method[m->method_of[i]]));
    tab_out_close(o, '}');
}

const char *const tab_bundle_suspect[TAB_BUNDLE_SUSPECTS] = { "format",  "typo",  "rule",
                                                              "outlier", "range", "swapped" };

static void suspect(tab_out *o, const bundle_writer *w, size_t i)
{
    const Tabella__Suspects *s = w->b->suspects;
    tab_out_open(o, '{');
    MEMBER(o, "table", tab_out_str(o, bundle_bytes(w->b->tables[s->table[i]]->id)));
    MEMBER(o, "row", tab_out_uint(o, s->row[i]));
    MEMBER(o, "column", tab_out_str(o, w->column_name[w->column_base[s->table[i]] + s->column[i]]));
    MEMBER(o, "value", tab_out_cell(o, &w->doubted, i));
    MEMBER(o, "kind", tab_out_cstr(o, tab_bundle_suspect[s->kind[i]]));
    MEMBER(o, "suggestion", tab_out_cell(o, &w->mended, i));
    MEMBER(o, "confidence", tab_out_fixed(o, s->confidence[i]));
    MEMBER(o, "reason", tab_out_cstr(o, s->reason[i]));
    tab_out_close(o, '}');
}

/* One step ahead of one series: its column's value is written as the table has it. */
static void forecast_row(tab_out *o, const bundle_writer *w, size_t i)
{
    const Tabella__Forecast *f = w->b->prediction->forecast;
    tab_out_open(o, '{');
    tab_out_key(o, "series");
    tab_out_open(o, '{');
    for (size_t k = 0; k < f->n_series; k++) {
        tab_out_key_str(o, bundle_bytes(f->series[k]->address));
        tab_out_cell(o, &w->series[k], i);
    }
    tab_out_close(o, '}');
    MEMBER(o, "time", tab_out_cell(o, &w->at, i));
    MEMBER(o, "value", tab_out_real(o, f->value[i]));
    MEMBER(o, "low", tab_out_real(o, f->low[i]));
    MEMBER(o, "high", tab_out_real(o, f->high[i]));
    tab_out_close(o, '}');
}

static void row_or_null(tab_out *o, uint32_t row)
{
    if (row == UINT32_MAX)
        tab_out_null(o);
    else
        tab_out_uint(o, row);
}

size_t bundle_first_of(const uint32_t *entity, size_t n, size_t e)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (entity[mid] < e)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Rows of an entity beside the first of each table: table -> rows. */
static void further_rows(tab_out *o, const Tabella__UnifiedRows *u, size_t e)
{
    size_t lo = bundle_first_of(u->also_entity, u->n_also_row, e);
    if (lo == u->n_also_row || u->also_entity[lo] != e)
        return;
    tab_out_key(o, "also");
    tab_out_open(o, '{');
    while (lo < u->n_also_row && u->also_entity[lo] == e) {
        uint32_t table = u->also_table[lo];
        tab_out_key_str(o, bundle_bytes(u->from_tables[table]));
        tab_out_open(o, '[');
        for (; lo < u->n_also_row && u->also_entity[lo] == e && u->also_table[lo] == table; lo++) {
            if (u->n_also_pinned == 0) {
                tab_out_uint(o, u->also_row[lo]);
                continue;
            }
            tab_out_open(o, '{');
            MEMBER(o, "row", tab_out_uint(o, u->also_row[lo]));
            MEMBER(o, "pinned", tab_out_bool(o, u->also_pinned[lo] != 0));
            tab_out_close(o, '}');
        }
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}

/* Rows that refer to an entity: [{table, rows}]. */
static void children(tab_out *o, const Tabella__UnifiedRows *u, size_t e)
{
    tab_out_open(o, '[');
    size_t k = bundle_first_of(u->child_entity, u->n_child_row, e);
    while (k < u->n_child_row && u->child_entity[k] == e) {
        uint32_t table = u->child_table[k];
        size_t from = k, pinned = 0;
        tab_out_open(o, '{');
        MEMBER(o, "table", tab_out_str(o, bundle_bytes(u->from_tables[table])));
        tab_out_key(o, "rows");
        tab_out_open(o, '[');
        for (; k < u->n_child_row && u->child_entity[k] == e && u->child_table[k] == table; k++) {
            bool p = u->n_child_pinned > 0 && u->child_pinned[k] != 0;
            pinned += p;
            if (!p)
                tab_out_uint(o, u->child_row[k]);
        }
        tab_out_close(o, ']');
        if (pinned > 0) {
            tab_out_key(o, "pinned_rows");
            tab_out_open(o, '[');
            for (size_t i = from; i < k; i++)
                if (u->child_pinned[i] != 0)
                    tab_out_uint(o, u->child_row[i]);
            tab_out_close(o, ']');
        }
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

/* Where the entity comes from: its row in each table. */
static void unified_from(tab_out *o, const Tabella__UnifiedRows *u, size_t e, const uint32_t *from)
{
    size_t tables = u->n_from_tables;
    /* a and b: the two tables of two; of more, the first two that the entity is in */
    uint32_t a = tables > 0 ? from[0] : UINT32_MAX, b = tables > 1 ? from[1] : UINT32_MAX;
    for (size_t t = 0, seen = 0; tables > 2 && t < tables; t++) {
        if (t == 0)
            a = b = UINT32_MAX;
        if (from[t] != UINT32_MAX && seen < 2)
            *(seen++ == 0 ? &a : &b) = from[t];
    }
    tab_out_open(o, '{');
    MEMBER(o, "a_row", row_or_null(o, a));
    MEMBER(o, "b_row", row_or_null(o, b));
    tab_out_key(o, "rows");
    tab_out_open(o, '{');
    for (size_t t = 0; t < tables; t++)
        if (from[t] != UINT32_MAX) {
            tab_out_key_str(o, bundle_bytes(u->from_tables[t]));
            tab_out_uint(o, from[t]);
        }
    tab_out_close(o, '}');
    further_rows(o, u, e);
    if (u->n_from_pinned > 0) {
        tab_out_key(o, "pinned");
        tab_out_open(o, '[');
        for (size_t t = 0; t < tables; t++)
            if (from[t] != UINT32_MAX && u->from_pinned[e * tables + t] != 0)
                tab_out_str(o, bundle_bytes(u->from_tables[t]));
        tab_out_close(o, ']');
    }
    tab_out_close(o, '}');
}

/* What each source says of an attribute that several have; w->variant is in order of attributes. */
static void shared_variants(tab_out *o, const bundle_writer *w, size_t e, const uint32_t *from)
{
    size_t n = w->b->unified_rows->n_shared_variants;
    tab_out_open(o, '{');
    for (size_t k = 0; k < n;) {
        tab_str attribute = bundle_bytes(w->variant[k].v->attribute);
        bool open = false;
        for (; k < n && tab_str_eq(bundle_bytes(w->variant[k].v->attribute), attribute); k++) {
            const Tabella__ColumnRef *c = w->variant[k].v->from;
            if (from[c->table] == UINT32_MAX)
                continue;
            if (!open) {
                tab_out_key_str(o, attribute);
                tab_out_open(o, '{');
                open = true;
            }
            tab_out_key_str(o, bundle_bytes(c->address));
            tab_out_cell(o, &w->variant[k].values, e);
        }
        if (open)
            tab_out_close(o, '}');
    }
    tab_out_close(o, '}');
}

static void unified(tab_out *o, const bundle_writer *w, size_t e)
{
    const Tabella__UnifiedRows *u = w->b->unified_rows;
    const uint32_t *from = u->from_row + e * u->n_from_tables;
    tab_out_open(o, '{');
    MEMBER(o, "entity", tab_out_uint(o, w->first + e));
    MEMBER(o, "from", unified_from(o, u, e, from));
    MEMBER(o, "children", children(o, u, e));
    MEMBER(o, "confidence", tab_out_fixed(o, u->confidence[e]));
    tab_out_key(o, "record");
    tab_out_open(o, '{');
    for (size_t k = 0; k < u->records->n_columns; k++) {
        tab_out_key_str(o, w->record[k].name);
        tab_out_cell(o, &w->record[k], e);
    }
    tab_out_close(o, '}');
    MEMBER(o, "shared_variants", shared_variants(o, w, e, from));
    tab_out_close(o, '}');
}

static const Tabella__Results *results_of(const Tabella__Bundle *b, tab_paged array)
{
    if (b->prediction == NULL)
        return NULL;
    return array == TAB_PAGE_RESULTS ? b->prediction->results : b->prediction->missing_target_results;
}

size_t bundle_held(const Tabella__Bundle *b, tab_paged array)
{
    const Tabella__Results *r = results_of(b, array);
    switch (array) {
    case TAB_PAGE_RESULTS:
    case TAB_PAGE_MISSING_TARGET:
        return r == NULL ? 0 : r->n_row;
    case TAB_PAGE_FILLED:
        return b->imputation == NULL ? 0 : b->imputation->n_row;
    case TAB_PAGE_FORECAST:
        return b->prediction == NULL || b->prediction->forecast == NULL ? 0
                                                                        : b->prediction->forecast->n_value;
    case TAB_PAGE_SUSPECTS:
        return b->suspects == NULL ? 0 : b->suspects->n_row;
    case TAB_PAGE_DUPLICATES:
        return bundle_groups_before(b, b->n_duplicates);
    default:
        return b->unified_rows == NULL ? 0 : b->unified_rows->records->rows;
    }
}

const Tabella__BundlePart *bundle_part(const Tabella__Bundle *b, const char *array)
{
    for (size_t i = 0; i < b->n_parts; i++)
        if (strcmp(b->parts[i]->array, array) == 0)
            return b->parts[i];
    return NULL;
}

size_t bundle_total(const Tabella__Bundle *b, tab_paged array)
{
    const Tabella__BundlePart *p = bundle_part(b, tab_paged_name(array));
    return p != NULL ? p->total : bundle_held(b, array);
}

size_t bundle_first(const Tabella__Bundle *b, tab_paged array)
{
    const Tabella__BundlePart *p = bundle_part(b, tab_paged_name(array));
    return p != NULL ? p->first : 0;
}

/* Elements [from, to) of those that the bundle holds, into an array that the caller opens and closes. */
static void items(tab_out *o, const bundle_writer *w, tab_paged array, size_t from, size_t to)
{
    const Tabella__Results *r = results_of(w->b, array);
    for (size_t i = from; i < to; i++)
        if (array == TAB_PAGE_FILLED)
            filled(o, w, i);
        else if (array == TAB_PAGE_UNIFIED)
            unified(o, w, i);
        else if (array == TAB_PAGE_FORECAST)
            forecast_row(o, w, i);
        else if (array == TAB_PAGE_SUSPECTS)
            suspect(o, w, i);
        else if (array == TAB_PAGE_DUPLICATES)
            bundle_group(o, w, i);
        else
            bundle_result(o, w, r, i);
}

/* The list that element `from` is of: the whole array, but of duplicates those of one table. */
static bundle_range part_of(const Tabella__Bundle *b, tab_paged array, size_t from)
{
    bundle_range p = { 0, bundle_total(b, array), 0 };
    if (array != TAB_PAGE_DUPLICATES)
        return p;
    for (p.end = 0; p.entry < b->n_duplicates; p.entry++) {
        p.from = p.end;
        p.end = bundle_groups_before(b, p.entry + 1);
        if (from < p.end)
            break;
    }
    return p;
}

static size_t first_page(const Tabella__Bundle *b, tab_paged array, const tab_bundle_view *view)
{
    size_t held = bundle_held(b, array);
    return view == NULL || view->cursor == NULL || view->first[array] >= held ? held : view->first[array];
}

static void next_cursor(tab_out *o, const tab_bundle_view *view, tab_paged array, size_t next, size_t total)
{
    if (next < total && view != NULL && view->cursor != NULL)
        view->cursor(view->arg, o, array, next);
    else
        tab_out_null(o);
}

void bundle_paged_part(tab_out *o, const bundle_writer *w, tab_paged array, bundle_range p, const char *key,
                       const tab_bundle_view *view)
{
    size_t n = p.end - p.from,
           shown = view == NULL || view->cursor == NULL || view->first[array] >= n ? n : view->first[array];
    tab_out_key(o, key);
    tab_out_open(o, '[');
    items(o, w, array, p.from, p.from + shown);
    tab_out_close(o, ']');
    MEMBER(o, "next_cursor", next_cursor(o, view, array, p.from + shown, p.end));
}

size_t bundle_paged(tab_out *o, const bundle_writer *w, tab_paged array, const char *key, const char *cursor,
                    const tab_bundle_view *view)
{
    size_t shown = first_page(w->b, array, view);
    tab_out_key(o, key);
    tab_out_open(o, '[');
    items(o, w, array, 0, shown);
    tab_out_close(o, ']');
    MEMBER(o, cursor, next_cursor(o, view, array, shown, bundle_total(w->b, array)));
    return shown;
}

/* What a piece has of elements [from, to). */
static void piece_items(tab_out *o, const Tabella__Bundle *b, tab_paged array, size_t from, size_t to)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    bundle_writer w = { 0 };
    size_t first = bundle_first(b, array), end = first + bundle_held(b, array);
    from = from > first ? from : first;
    to = to < end ? to : end;
    if (a == NULL || !bundle_writer_init(&w, a, b))
        o->failed = true;
    else if (from < to)
        items(o, &w, array, from - first, to - first);
    bundle_writer_free(&w);
}

void tab_bundle_page_json(tab_out *o, const Tabella__Bundle *const *piece, size_t pieces, tab_paged array,
                          size_t from, size_t limit, const tab_bundle_view *view)
{
    bundle_range p = pieces > 0 ? part_of(piece[0], array, from) : (bundle_range){ 0 };
    char name[64];
    snprintf(name, sizeof name, "duplicates[%zu].groups", p.entry);
    from = from < p.end ? from : p.end;
    size_t to = limit < p.end - from ? from + limit : p.end;
    tab_out_open(o, '{');
    MEMBER(o, "array", tab_out_cstr(o, array == TAB_PAGE_DUPLICATES ? name : tab_paged_name(array)));
    tab_out_key(o, "items");
    tab_out_open(o, '[');
    for (size_t i = 0; i < pieces; i++)
        piece_items(o, piece[i], array, from, to);
    tab_out_close(o, ']');
    MEMBER(o, "next_cursor", next_cursor(o, view, array, to, p.end));
    MEMBER(o, "total", tab_out_uint(o, p.end - p.from));
    tab_out_close(o, '}');
}
