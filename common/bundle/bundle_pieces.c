/* See bundle_pieces.h. What has one value an element is pointed into; dictionaries are made anew of the
 * levels that a slice uses, so that a slice of a million texts is no million texts. */
#include "common/bundle/bundle_pieces.h"

#include <assert.h>
#include <string.h>

#include "common/bundle/bundle_internal.h"

size_t tab_bundle_total(const Tabella__Bundle *b, tab_paged array)
{
    return bundle_total(b, array);
}

size_t tab_bundle_held(const Tabella__Bundle *b, tab_paged array)
{
    return bundle_held(b, array);
}

size_t tab_bundle_first(const Tabella__Bundle *b, tab_paged array)
{
    return bundle_first(b, array);
}

/* A message of the arena, as `of` is. A full arena gives NULL. */
#define COPY(a, type, of) ((type *)copied((a), (of), sizeof(type)))
static void *copied(tab_arena *a, const void *of, size_t size)
{
    void *p = tab_arena_alloc(a, 1, size);
    if (p != NULL)
        memcpy(p, of, size);
    return p;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static ProtobufCBinaryData view(const void *p, size_t n)
{
    return (ProtobufCBinaryData){ n, (uint8_t *)(uintptr_t)p };
}

/* Cells [from, to) of a column. */
static Tabella__Column *cells(tab_arena *a, const Tabella__Column *c, size_t rows, size_t from, size_t to)
{
    tab_column all, part;
    tab_builder *b;
    Tabella__Column *m = COPY(a, Tabella__Column, c);
    if (m == NULL)
        return NULL;
    assert(from <= to && to <= rows);
    m->n_pad = 0;
    if (!c->coded) {
        m->numbers = view(c->numbers.data + 8 * from, 8 * (to - from));
        return m;
    }
    if (!tab_column_view(c, rows, &all) || (b = tab_builder_new(a, all.name)) == NULL)
        return NULL;
    for (size_t i = from; i < to; i++)
        tab_builder_cell(b, tab_cell_at(&all, i));
    if (!tab_builder_finish(b, &part))
        return NULL;
    m->coded = part.layout == TAB_CODED;
    m->numbers = m->coded ? view(NULL, 0) : view(part.num, 8 * (to - from));
    m->codes = m->coded ? view(part.code, 4 * (to - from)) : view(NULL, 0);
    m->level_end = view(part.end, m->coded ? 4 * part.levels : 0);
    m->level_kind = view(part.kind, m->coded ? part.levels : 0);
    m->level_text = view(part.text, m->coded && part.levels > 0 ? part.end[part.levels - 1] : 0);
    return m;
}

/* Member `of` has so many values an element, or none at all. */
#define NARROW(m, of, each)         \
    do {                            \
        if ((m)->n_##of > 0) {      \
            (m)->of += (each)*from; \
            (m)->n_##of = (each)*n; \
        }                           \
    } while (0)

static Tabella__Results *results(tab_arena *a, const Tabella__Prediction *p, const Tabella__Results *r,
                                 size_t from, size_t to)
{
    size_t n = to - from, classes = r->n_row > 0 ? r->n_probabilities / r->n_row : 0;
    Tabella__Results *m = COPY(a, Tabella__Results, r);
    if (m == NULL)
        return NULL;
    NARROW(m, row, 1);
    NARROW(m, label, 1);
    NARROW(m, probabilities, classes);
    NARROW(m, value, 1);
    NARROW(m, std, 1);
    NARROW(m, quantiles, p->n_quantile_levels);
    NARROW(m, anomaly_score, 1);
    NARROW(m, reasons, 1);
    NARROW(m, doubt, 1);
    NARROW(m, regime, 1);
    return m;
}

static Tabella__Imputation *filled(tab_arena *a, const Tabella__Imputation *i, size_t from, size_t to)
{
    size_t n = to - from;
    Tabella__Imputation *m = COPY(a, Tabella__Imputation, i);
    if (m == NULL || (m->value = cells(a, i->value, i->n_row, from, to)) == NULL)
        return NULL;
    NARROW(m, table, 1);
    NARROW(m, row, 1);
    NARROW(m, column, 1);
    NARROW(m, method_of, 1);
    return m;
}

static Tabella__Suspects *suspects(tab_arena *a, const Tabella__Suspects *s, size_t from, size_t to)
{
    size_t n = to - from;
    Tabella__Suspects *m = COPY(a, Tabella__Suspects, s);
    if (m == NULL || (m->value = cells(a, s->value, s->n_row, from, to)) == NULL ||
        (m->suggestion = cells(a, s->suggestion, s->n_row, from, to)) == NULL)
        return NULL;
    NARROW(m, table, 1);
    NARROW(m, row, 1);
    NARROW(m, column, 1);
    NARROW(m, kind, 1);
    NARROW(m, confidence, 1);
    NARROW(m, reason, 1);
    return m;
}

static Tabella__Forecast *forecast(tab_arena *a, const Tabella__Forecast *f, size_t from, size_t to)
{
    size_t n = to - from;
    Tabella__Forecast *m = COPY(a, Tabella__Forecast, f);
    if (m == NULL || (m->series_value = tab_arena_new_of(a, Tabella__Column *, f->n_series + 1)) == NULL)
        return NULL;
    for (size_t i = 0; i < f->n_series; i++)
        if ((m->series_value[i] = cells(a, f->series_value[i], f->n_value, from, to)) == NULL)
            return NULL;
    if (f->at != NULL && (m->at = cells(a, f->at, f->n_value, from, to)) == NULL)
        return NULL;
    NARROW(m, value, 1);
    NARROW(m, low, 1);
    NARROW(m, high, 1);
    return m;
}

/* Rows that belong to entities [from, to), whose numbers count from `from` on. */
static bool rows_of(tab_arena *a, size_t from, size_t to, size_t *n, uint32_t **entity, size_t *n_entity,
                    uint32_t **table, size_t *n_table, uint32_t **row, uint32_t **pinned, size_t *n_pinned)
{
    size_t lo = bundle_first_of(*entity, *n, from), hi = bundle_first_of(*entity, *n, to);
    assert(lo <= hi && hi <= *n);
    uint32_t *own = tab_arena_new_of(a, uint32_t, hi - lo + 1);
    if (own == NULL)
        return false;
    for (size_t i = lo; i < hi; i++)
        own[i - lo] = (*entity)[i] - (uint32_t)from;
    *entity = own;
    *table += lo;
    *row += lo;
    if (*n_pinned > 0)
        *pinned += lo;
    *n_pinned = *n_pinned > 0 ? hi - lo : 0;
    *n = *n_entity = *n_table = hi - lo;
    return true;
}

static Tabella__UnifiedRows *unified(tab_arena *a, const Tabella__UnifiedRows *u, size_t from, size_t to)
{
    size_t n = to - from, rows = u->records->rows;
    Tabella__UnifiedRows *m = COPY(a, Tabella__UnifiedRows, u);
    Tabella__Table *records = COPY(a, Tabella__Table, u->records);
    Tabella__Column **column = tab_arena_new_of(a, Tabella__Column *, u->records->n_columns + 1);
    Tabella__SharedVariants **variant =
        tab_arena_new_of(a, Tabella__SharedVariants *, u->n_shared_variants + 1);
    if (m == NULL || records == NULL || column == NULL || variant == NULL)
        return NULL;
    records->rows = n;
    for (size_t i = 0; i < records->n_columns; i++)
        if ((column[i] = cells(a, u->records->columns[i], rows, from, to)) == NULL)
            return NULL;
    for (size_t i = 0; i < u->n_shared_variants; i++) {
        variant[i] = COPY(a, Tabella__SharedVariants, u->shared_variants[i]);
        if (variant[i] == NULL ||
            (variant[i]->values = cells(a, u->shared_variants[i]->values, rows, from, to)) == NULL)
            return NULL;
    }
    records->columns = column;
    m->records = records;
    m->shared_variants = variant;
    NARROW(m, from_row, u->n_from_tables);
    NARROW(m, confidence, 1);
    NARROW(m, from_pinned, u->n_from_tables);
    if (!rows_of(a, from, to, &m->n_also_row, &m->also_entity, &m->n_also_entity, &m->also_table,
                 &m->n_also_table, &m->also_row, &m->also_pinned, &m->n_also_pinned) ||
        !rows_of(a, from, to, &m->n_child_row, &m->child_entity, &m->n_child_entity, &m->child_table,
                 &m->n_child_table, &m->child_row, &m->child_pinned, &m->n_child_pinned))
        return NULL;
    return m;
}

/* ---- what the elements need besides ----------------------------------------------------------- */

/* Names of tables; with `columns`, of their columns too. */
static bool names(tab_arena *a, const Tabella__Bundle *b, bool columns, Tabella__Bundle *ret)
{
    ret->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, b->n_tables + 1);
    for (size_t t = 0; ret->tables != NULL && t < b->n_tables; t++) {
        const Tabella__TableUnderstanding *from = b->tables[t];
        Tabella__TableUnderstanding *to = tab_arena_new_of(a, Tabella__TableUnderstanding, 1);
        Tabella__ColumnProfile *c = tab_arena_new_of(a, Tabella__ColumnProfile, from->n_column_profile + 1);
        if (to == NULL || c == NULL)
            return false;
        tabella__table_understanding__init(to);
        to->id = from->id;
        to->rows = from->rows;
        to->cols = from->cols;
        ret->tables[ret->n_tables++] = to;
        if (!columns)
            continue;
        to->column_profile = tab_arena_new_of(a, Tabella__ColumnProfile *, from->n_column_profile + 1);
        for (size_t i = 0; to->column_profile != NULL && i < from->n_column_profile; i++) {
            tabella__column_profile__init(&c[i]);
            c[i].name = from->column_profile[i]->name;
            c[i].index = from->column_profile[i]->index;
            c[i].type = from->column_profile[i]->type;
            to->column_profile[to->n_column_profile++] = &c[i];
        }
    }
    return !tab_arena_full(a);
}

/* What results and forecasts are read by; neither of them yet. */
static Tabella__Prediction *prediction(tab_arena *a, const Tabella__Prediction *p)
{
    Tabella__Prediction *m = tab_arena_new_of(a, Tabella__Prediction, 1);
    if (m == NULL)
        return NULL;
    tabella__prediction__init(m);
    m->target = p->target;
    m->task_type = p->task_type;
    m->classes = p->classes;
    m->threshold = p->threshold;
    m->n_quantile_levels = p->n_quantile_levels;
    m->quantile_levels = p->quantile_levels;
    m->table = p->table;
    m->n_doubts = p->n_doubts;
    m->doubts = p->doubts;
    return m;
}

static bool add_part(tab_arena *a, Tabella__Bundle *b, const char *array, size_t first, size_t total)
{
    Tabella__BundlePart *p = tab_arena_new_of(a, Tabella__BundlePart, 1);
    if (b->parts == NULL)
        b->parts = tab_arena_new_of(a, Tabella__BundlePart *, TAB_PAGE_COUNT + 1);
    if (p == NULL || b->parts == NULL)
        return false;
    tabella__bundle_part__init(p);
    assert(b->n_parts <= TAB_PAGE_COUNT && first <= total);
    p->array = (char *)(uintptr_t)array;
    p->first = first;
    p->total = total;
    b->parts[b->n_parts++] = p;
    return true;
}

Tabella__Bundle *tab_bundle_slice(tab_arena *a, const Tabella__Bundle *b, tab_paged array, size_t from,
                                  size_t to)
{
    assert(from <= to && to <= bundle_held(b, array));
    Tabella__Bundle *m = tab_arena_new_of(a, Tabella__Bundle, 1);
    if (m == NULL)
        return NULL;
    tabella__bundle__init(m);
    if (!names(a, b, array == TAB_PAGE_FILLED || array == TAB_PAGE_SUSPECTS, m) ||
        !add_part(a, m, tab_paged_name(array), from, bundle_total(b, array)))
        return NULL;
    const Tabella__Prediction *p = b->prediction;
    bool predicted =
        array == TAB_PAGE_RESULTS || array == TAB_PAGE_MISSING_TARGET || array == TAB_PAGE_FORECAST;
    if (predicted && (m->prediction = prediction(a, p)) == NULL)
        return NULL;
    const void *made = NULL;
    switch (array) {
    case TAB_PAGE_RESULTS:
        made = m->prediction->results = results(a, p, p->results, from, to);
        break;
    case TAB_PAGE_MISSING_TARGET:
        made = m->prediction->missing_target_results = results(a, p, p->missing_target_results, from, to);
        break;
    case TAB_PAGE_FORECAST:
        made = m->prediction->forecast = forecast(a, p->forecast, from, to);
        break;
    case TAB_PAGE_FILLED:
        made = m->imputation = filled(a, b->imputation, from, to);
        if (made != NULL) { /* the head's alone */
            m->imputation->n_confidence_table = m->imputation->n_confidence_row = 0;
            m->imputation->n_row_confidence = m->imputation->n_columns = m->imputation->n_not_filled = 0;
        }
        break;
    case TAB_PAGE_SUSPECTS:
        made = m->suspects = suspects(a, b->suspects, from, to);
        break;
    default:
        made = m->unified_rows = unified(a, b->unified_rows, from, to);
        break;
    }
    return made != NULL && !tab_arena_full(a) ? m : NULL;
}

Tabella__Bundle *tab_bundle_head(tab_arena *a, const Tabella__Bundle *b)
{
    Tabella__Bundle *m = COPY(a, Tabella__Bundle, b);
    size_t to[TAB_PAGE_COUNT];
    if (m == NULL)
        return NULL;
    m->n_parts = 0;
    m->parts = NULL;
    for (int i = 0; i < TAB_PAGE_COUNT; i++) {
        size_t held = bundle_held(b, (tab_paged)i), first = tab_paged_first((tab_paged)i);
        to[i] = held < first ? held : first;
        if (to[i] < held && i != TAB_PAGE_DUPLICATES && /* those stay whole */
            !add_part(a, m, tab_paged_name((tab_paged)i), 0, held))
            return NULL;
    }
    Tabella__Prediction *p = b->prediction == NULL ? NULL : COPY(a, Tabella__Prediction, b->prediction);
    m->prediction = p;
    if (p != NULL && p->results != NULL)
        p->results = results(a, p, p->results, 0, to[TAB_PAGE_RESULTS]);
    if (p != NULL && p->missing_target_results != NULL)
        p->missing_target_results = results(a, p, p->missing_target_results, 0, to[TAB_PAGE_MISSING_TARGET]);
    if (p != NULL && p->forecast != NULL)
        p->forecast = forecast(a, p->forecast, 0, to[TAB_PAGE_FORECAST]);
    if (b->imputation != NULL)
        m->imputation = filled(a, b->imputation, 0, to[TAB_PAGE_FILLED]);
    if (b->suspects != NULL)
        m->suspects = suspects(a, b->suspects, 0, to[TAB_PAGE_SUSPECTS]);
    if (b->unified_rows != NULL) {
        m->unified_rows = unified(a, b->unified_rows, 0, to[TAB_PAGE_UNIFIED]);
        if (to[TAB_PAGE_UNIFIED] < b->unified_rows->records->rows &&
            !add_part(a, m, BUNDLE_CHILDREN, 0, b->unified_rows->n_child_row))
            return NULL;
    }
    return tab_arena_full(a) ? NULL : m;
}

size_t tab_bundle_stride(const Tabella__Bundle *b, tab_paged array, size_t bytes)
{
    enum { LOOKED_AT = 256 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    size_t n = bundle_held(b, array), most = n < LOOKED_AT ? n : LOOKED_AT;
    if (a == NULL || most == 0)
        return 1;
    /* in the middle: the first ones may be unlike the others */
    const Tabella__Bundle *some = tab_bundle_slice(a, b, array, (n - most) / 2, (n - most) / 2 + most),
                          *none = tab_bundle_slice(a, b, array, 0, 0);
    if (some == NULL || none == NULL)
        return most;
    size_t of = tabella__bundle__get_packed_size(some), without = tabella__bundle__get_packed_size(none);
    size_t each = of > without ? (of - without) / most + 1 : 1;
    size_t stride = bytes / each;
    return stride > 0 ? stride : 1;
}

bool tab_bundle_next(const Tabella__Bundle *b, tab_bundle_piece *p)
{
    if (p->step == 0 && tabella__bundle__get_packed_size(b) <= TAB_PIECE_BYTES)
        return false;
    int k = (int)p->array;
    if (p->step > 0 && p->to == bundle_total(b, p->array)) {
        k++;
        p->to = p->step = 0;
    }
    for (; k < TAB_PAGE_COUNT; k++) {
        tab_paged array = (tab_paged)k;
        size_t total = bundle_total(b, array), from = p->to;
        if (total <= tab_paged_first(array) || array == TAB_PAGE_DUPLICATES) /* those are the head's */
            continue;
        size_t step = p->step > 0 ? p->step : tab_bundle_stride(b, array, TAB_PIECE_BYTES);
        *p = (tab_bundle_piece){ array, from, total - from < step ? total : from + step, step };
        return true;
    }
    return false;
}
