/* A bundle in pieces says what it says whole: random bundles, every array, every page. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "common/base/proto.h"
#include "common/bundle/bundle_pieces.h"

enum { ROWS = 3000, CLASSES = 3, TABLES = 2, ENTITIES = 700, LEVELS = 3 };

static uint64_t state = 7;
static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static ProtobufCBinaryData bytes(tab_arena *a, const char *name, uint32_t x)
{
    return tab_proto_bytes(a, tab_str_of(tab_arena_printf(a, "%s%u", name, x)));
}

static ProtobufCBinaryData raw(const void *p, size_t n)
{
    return (ProtobufCBinaryData){ n, (uint8_t *)(uintptr_t)p };
}

/* kinds: 0 numbers, 1 texts of which few repeat, 2 numbers, texts, booleans and nulls */
static Tabella__Column *column(tab_arena *a, size_t rows, int kind)
{
    tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "c%d", kind)));
    tab_column c;
    for (size_t i = 0; i < rows; i++)
        if (kind == 2 && i % 7 == 0)
            tab_builder_null(b);
        else if (kind == 0 || (kind == 2 && i % 7 == 1))
            tab_builder_number(b, draw(1000) / 8.0);
        else if (kind == 2 && i % 7 == 2)
            tab_builder_bool(b, i % 2 != 0);
        else
            tab_builder_text(b, tab_str_of(tab_arena_printf(a, "text %u", draw(2000))));
    cr_assert(tab_builder_finish(b, &c));
    Tabella__Column *m = tab_arena_new_of(a, Tabella__Column, 1);
    tabella__column__init(m);
    m->name = tab_proto_bytes(a, c.name);
    m->coded = c.layout == TAB_CODED;
    if (!m->coded) {
        m->numbers = raw(c.num, 8 * rows);
        return m;
    }
    m->codes = raw(c.code, 4 * rows);
    m->level_end = raw(c.end, 4 * c.levels);
    m->level_kind = raw(c.kind, c.levels);
    m->level_text = raw(c.text, c.levels > 0 ? c.end[c.levels - 1] : 0);
    return m;
}

static uint32_t *numbers(tab_arena *a, size_t n, uint32_t below)
{
    uint32_t *x = tab_arena_new_of(a, uint32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        x[i] = draw(below);
    return x;
}

static double *shares(tab_arena *a, size_t n)
{
    double *x = tab_arena_new_of(a, double, n + 1);
    for (size_t i = 0; i < n; i++)
        x[i] = draw(1000) / 1000.0;
    return x;
}

static Tabella__Results *results(tab_arena *a, size_t n, bool classes)
{
    Tabella__Results *r = tab_arena_new_of(a, Tabella__Results, 1);
    tabella__results__init(r);
    r->n_row = n, r->row = numbers(a, n, ROWS);
    if (classes) {
        r->n_label = n, r->label = numbers(a, n, CLASSES);
        r->n_probabilities = n * CLASSES, r->probabilities = shares(a, n * CLASSES);
    } else {
        r->n_value = r->n_std = n, r->value = shares(a, n), r->std = shares(a, n);
        r->n_quantiles = n * LEVELS, r->quantiles = shares(a, n * LEVELS);
    }
    r->n_regime = r->n_doubt = n, r->regime = numbers(a, n, 4), r->doubt = numbers(a, n, 2);
    return r;
}

static Tabella__UnifiedRows *unified(tab_arena *a)
{
    Tabella__UnifiedRows *u = tab_arena_new_of(a, Tabella__UnifiedRows, 1);
    tabella__unified_rows__init(u);
    u->records = tab_arena_new_of(a, Tabella__Table, 1);
    tabella__table__init(u->records);
    u->records->rows = ENTITIES;
    u->records->n_columns = 3;
    u->records->columns = tab_arena_new_of(a, Tabella__Column *, 3);
    for (int k = 0; k < 3; k++)
        u->records->columns[k] = column(a, ENTITIES, k);
    u->n_from_tables = u->n_unmatched = TABLES;
    u->from_tables = tab_arena_new_of(a, ProtobufCBinaryData, TABLES);
    u->unmatched = tab_arena_new_of(a, uint64_t, TABLES);
    for (uint32_t t = 0; t < TABLES; t++)
        u->from_tables[t] = bytes(a, "t", t);
    u->n_from_row = ENTITIES * TABLES, u->from_row = numbers(a, ENTITIES * TABLES, ROWS);
    u->n_confidence = ENTITIES, u->confidence = shares(a, ENTITIES);
    size_t n = 2 * ENTITIES;
    u->n_also_entity = u->n_also_table = u->n_also_row = u->n_child_entity = u->n_child_table =
        u->n_child_row = n;
    u->also_entity = numbers(a, n, ENTITIES), u->child_entity = numbers(a, n, ENTITIES);
    for (size_t i = 0; i < n; i++)
        u->also_entity[i] = (uint32_t)(i / 2), u->child_entity[i] = (uint32_t)(i * i / (4 * ENTITIES));
    u->also_table = numbers(a, n, TABLES), u->child_table = numbers(a, n, TABLES);
    u->also_row = numbers(a, n, ROWS), u->child_row = numbers(a, n, ROWS);
    Tabella__SharedVariants *v = tab_arena_new_of(a, Tabella__SharedVariants, 1);
    Tabella__ColumnRef *ref = tab_arena_new_of(a, Tabella__ColumnRef, 1);
    tabella__shared_variants__init(v);
    tabella__column_ref__init(ref);
    ref->address = bytes(a, "t0.c", 1);
    v->from = ref, v->attribute = bytes(a, "c", 1), v->values = column(a, ENTITIES, 1);
    u->shared_variants = tab_arena_new_of(a, Tabella__SharedVariants *, 1);
    u->shared_variants[0] = v, u->n_shared_variants = 1;
    return u;
}

static Tabella__Imputation *imputation(tab_arena *a)
{
    static char *method[] = { (char *)(uintptr_t) "model", (char *)(uintptr_t) "mode" };
    Tabella__Imputation *m = tab_arena_new_of(a, Tabella__Imputation, 1);
    tabella__imputation__init(m);
    m->n_table = m->n_row = m->n_column = m->n_method_of = ROWS;
    m->table = numbers(a, ROWS, TABLES), m->row = numbers(a, ROWS, ROWS), m->column = numbers(a, ROWS, 3);
    m->method_of = numbers(a, ROWS, 2), m->n_method = 2, m->method = method;
    m->value = column(a, ROWS, 2);
    return m;
}

static Tabella__Forecast *forecast(tab_arena *a)
{
    Tabella__Forecast *f = tab_arena_new_of(a, Tabella__Forecast, 1);
    tabella__forecast__init(f);
    f->n_series = f->n_series_value = 1;
    f->series = tab_arena_new_of(a, Tabella__ColumnRef *, 1);
    f->series[0] = tab_arena_new_of(a, Tabella__ColumnRef, 1);
    tabella__column_ref__init(f->series[0]);
    f->series[0]->address = bytes(a, "t0.c", 1);
    f->series_value = tab_arena_new_of(a, Tabella__Column *, 1);
    f->series_value[0] = column(a, ROWS, 1);
    f->at = column(a, ROWS, 1);
    f->n_value = f->n_low = f->n_high = ROWS;
    f->value = shares(a, ROWS), f->low = shares(a, ROWS), f->high = shares(a, ROWS);
    return f;
}

static Tabella__Suspects *suspects(tab_arena *a)
{
    Tabella__Suspects *m = tab_arena_new_of(a, Tabella__Suspects, 1);
    tabella__suspects__init(m);
    m->n_table = m->n_row = m->n_column = m->n_kind = m->n_confidence = m->n_reason = ROWS;
    m->table = numbers(a, ROWS, TABLES), m->row = numbers(a, ROWS, ROWS), m->column = numbers(a, ROWS, 3);
    m->kind = numbers(a, ROWS, TAB_BUNDLE_SUSPECTS), m->confidence = shares(a, ROWS);
    m->value = column(a, ROWS, 2), m->suggestion = column(a, ROWS, 1);
    m->reason = tab_arena_new_of(a, char *, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        m->reason[i] = tab_arena_printf(a, "reason %zu", i % 9);
    return m;
}

static Tabella__Bundle *example(tab_arena *a, bool classes)
{
    Tabella__Bundle *b = tab_arena_new_of(a, Tabella__Bundle, 1);
    tabella__bundle__init(b);
    b->n_tables = TABLES;
    b->tables = tab_arena_new_of(a, Tabella__TableUnderstanding *, TABLES);
    for (uint32_t t = 0; t < TABLES; t++) {
        Tabella__TableUnderstanding *x = b->tables[t] = tab_arena_new_of(a, Tabella__TableUnderstanding, 1);
        tabella__table_understanding__init(x);
        x->id = bytes(a, "t", t), x->rows = ROWS, x->cols = 3, x->n_column_profile = 3;
        x->column_profile = tab_arena_new_of(a, Tabella__ColumnProfile *, 3);
        for (uint32_t c = 0; c < 3; c++) {
            x->column_profile[c] = tab_arena_new_of(a, Tabella__ColumnProfile, 1);
            tabella__column_profile__init(x->column_profile[c]);
            x->column_profile[c]->name = bytes(a, "c", c), x->column_profile[c]->index = c;
        }
    }
    Tabella__Prediction *p = b->prediction = tab_arena_new_of(a, Tabella__Prediction, 1);
    static double level[] = { 0.1, 0.5, 0.9 };
    static char *doubt[] = { (char *)(uintptr_t) "few rows" };
    tabella__prediction__init(p);
    p->task_type = (char *)(uintptr_t)(classes ? "classification" : "regression");
    p->n_quantile_levels = LEVELS, p->quantile_levels = level, p->n_doubts = 1, p->doubts = doubt;
    if (classes)
        p->classes = column(a, CLASSES, 1);
    p->results = results(a, ROWS, classes);
    p->missing_target_results = results(a, ROWS / 2, classes);
    p->forecast = forecast(a);
    b->imputation = imputation(a);
    b->unified_rows = unified(a);
    b->suspects = suspects(a);
    return b;
}

/* As it comes back from where it lay. */
static const Tabella__Bundle *stored(tab_arena *a, const Tabella__Bundle *b)
{
    cr_assert_not_null(b);
    const Tabella__Bundle *back =
        tab_proto_read(a, &tabella__bundle__descriptor, tab_proto_write(a, &b->base));
    cr_assert_not_null(back);
    cr_assert(tab_bundle_sound(back));
    return back;
}

static void cursor(void *arg, tab_out *o, tab_paged array, size_t next)
{
    char text[64];
    (void)arg;
    snprintf(text, sizeof text, "%d:%zu", (int)array, next);
    tab_out_cstr(o, text);
}

static void expect_same(tab_out *x, tab_out *y, const char *what)
{
    cr_assert(!x->failed && !y->failed);
    cr_expect(x->n == y->n && memcmp(x->p, y->p, x->n) == 0, "%s\n%.*s\n%.*s", what,
              (int)(x->n < 900 ? x->n : 900), x->p, (int)(y->n < 900 ? y->n : 900), y->p);
    tab_out_free(x);
    tab_out_free(y);
}

static void whole_and_pieces(bool classes)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const Tabella__Bundle *b = example(a, classes);
    const size_t strides[] = { 1000, 137, 1 };
    tab_bundle_view view = { .cursor = cursor };
    cr_assert(tab_bundle_sound(b));
    for (int k = 0; k < TAB_PAGE_COUNT; k++) {
        tab_paged array = (tab_paged)k;
        size_t total = tab_bundle_total(b, array);
        view.first[k] = tab_paged_first(array);
        if (array == TAB_PAGE_DUPLICATES) /* those stay whole */
            continue;
        for (size_t s = 0; s < 3; s++)
            for (size_t from = 0; from <= total; from += total / 3 - 1) {
                const Tabella__Bundle *piece[1002];
                size_t n = 0, limit = s == 2 ? 40 : 900;
                for (size_t at = from - from % strides[s]; at < total && at < from + limit; at += strides[s])
                    piece[n++] =
                        stored(a, tab_bundle_slice(a, b, array, at,
                                                   at + strides[s] < total ? at + strides[s] : total));
                if (n == 0)
                    piece[n++] = stored(a, tab_bundle_head(a, b));
                tab_out x = { 0 }, y = { 0 };
                tab_bundle_page_json(&x, &b, 1, array, from, limit, &view);
                tab_bundle_page_json(&y, piece, n, array, from, limit, &view);
                expect_same(&x, &y, tab_paged_name(array));
            }
    }
    tab_out x = { 0 }, y = { 0 };
    tab_bundle_json(&x, b, &view);
    tab_bundle_json(&y, stored(a, tab_bundle_head(a, b)), &view);
    expect_same(&x, &y, "the first pages");
}

Test(bundle_pieces, pieces_say_what_the_whole_says, .timeout = 120)
{
    whole_and_pieces(true);
    whole_and_pieces(false);
}

Test(bundle_pieces, a_slice_has_about_the_bytes_asked_for)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const Tabella__Bundle *b = example(a, false);
    for (int k = 0; k < TAB_PAGE_DUPLICATES; k++) {
        size_t stride = tab_bundle_stride(b, (tab_paged)k, 16384), total = tab_bundle_total(b, (tab_paged)k);
        cr_assert_lt(stride, total);
        size_t n = tabella__bundle__get_packed_size(tab_bundle_slice(a, b, (tab_paged)k, 0, stride));
        cr_expect(n > 8192 && n < 32768, "%s: %zu elements are %zu bytes", tab_paged_name((tab_paged)k),
                  stride, n);
    }
}

/* Every element of every array that is longer than its first page, once, in order; of a small bundle none. */
Test(bundle_pieces, the_pieces_are_all_there_is)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const Tabella__Bundle *b = example(a, false);
    cr_assert_gt(tabella__bundle__get_packed_size(b), TAB_PIECE_BYTES);
    size_t seen[TAB_PAGE_COUNT] = { 0 }, n = 0;
    for (tab_bundle_piece p = { 0 }; tab_bundle_next(b, &p); n++) {
        cr_assert_eq(p.from, seen[p.array], "%s goes on at %zu", tab_paged_name(p.array), p.from);
        cr_assert_gt(p.to, p.from);
        cr_assert_neq(p.array, TAB_PAGE_DUPLICATES);
        seen[p.array] = p.to;
    }
    cr_expect_gt(n, 1);
    for (int k = 0; k < TAB_PAGE_DUPLICATES; k++) {
        size_t total = tab_bundle_total(b, (tab_paged)k), first = tab_paged_first((tab_paged)k);
        cr_expect_eq(seen[k], total > first ? total : 0, "%s: %zu of %zu", tab_paged_name((tab_paged)k),
                     seen[k], total);
    }
    Tabella__Bundle small = TABELLA__BUNDLE__INIT;
    tab_bundle_piece none = { 0 };
    cr_expect(!tab_bundle_next(&small, &none));
}
