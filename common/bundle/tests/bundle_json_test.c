#include "common/bundle/bundle_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A bundle of two tables put together by hand: six results, three entities, two filled cells. */
#define B(s)                                     \
    {                                            \
        sizeof(s) - 1, (uint8_t *)(uintptr_t)(s) \
    }

static Tabella__ColumnRef *reference(void)
{
    static Tabella__ColumnRef ref = TABELLA__COLUMN_REF__INIT;
    ref.address = (ProtobufCBinaryData)B("b.y\"");
    ref.table = 1;
    return &ref;
}

static Tabella__Prediction *predicted(void)
{
    static uint32_t codes[] = { 0, 1 }, ends[] = { 2, 4 };
    static uint8_t kinds[] = { TAB_CELL_NUMBER, TAB_CELL_TEXT };
    static Tabella__Column classes = TABELLA__COLUMN__INIT;
    classes.coded = 1;
    classes.codes = (ProtobufCBinaryData){ 8, (uint8_t *)codes };
    classes.level_end = (ProtobufCBinaryData){ 8, (uint8_t *)ends };
    classes.level_kind = (ProtobufCBinaryData){ 2, kinds };
    classes.level_text = (ProtobufCBinaryData)B("10no");
    static uint32_t row[] = { 0, 1, 2, 3, 4, 5 }, label[] = { 0, 1, 0, 1, 0, 1 };
    static double prob[] = { 0.75, 0.25, 1.0 / 3, 2.0 / 3, 0.9, 0.1, 0.2, 0.8, 0.6, 0.4, 0.5, 0.5 };
    static Tabella__Results results = TABELLA__RESULTS__INIT;
    results.n_row = results.n_label = 6, results.row = row, results.label = label;
    results.n_probabilities = 12, results.probabilities = prob;
    static Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    p.target = reference(), p.task_type = (char *)(uintptr_t) "classification",
    p.tier = (char *)(uintptr_t) "in_context";
    p.classes = &classes, p.results = &results, p.table = 1;
    return &p;
}

static Tabella__Imputation *filled(void)
{
    static double fills[] = { 1.5, 2 };
    static uint32_t zero[] = { 0, 0 }, fill_row[] = { 3, 4 }, fill_col[] = { 1, 0 };
    static char *method[] = { (char *)(uintptr_t) "median" };
    static Tabella__Column fill = TABELLA__COLUMN__INIT;
    fill.numbers = (ProtobufCBinaryData){ 16, (uint8_t *)fills };
    static Tabella__Imputation imp = TABELLA__IMPUTATION__INIT;
    imp.n_table = imp.n_row = imp.n_column = imp.n_method_of = 2;
    imp.table = zero, imp.row = fill_row, imp.column = fill_col, imp.method_of = zero;
    imp.n_method = 1, imp.method = method, imp.value = &fill;
    return &imp;
}

static Tabella__UnifiedRows *unified(void)
{
    static double values[] = { 7, 8, 9 }, conf[] = { 0.5, 1, 1 };
    static Tabella__Column rec = TABELLA__COLUMN__INIT;
    rec.name = (ProtobufCBinaryData)B("attr");
    rec.numbers = (ProtobufCBinaryData){ 24, (uint8_t *)values };
    static Tabella__Column *recs[] = { &rec };
    static Tabella__Table records = TABELLA__TABLE__INIT;
    records.rows = 3, records.n_columns = 1, records.columns = recs;
    static Tabella__SharedVariants variant = TABELLA__SHARED_VARIANTS__INIT;
    variant.attribute = (ProtobufCBinaryData)B("attr");
    variant.from = reference(), variant.values = &rec;
    static Tabella__SharedVariants *variants[] = { &variant };
    static ProtobufCBinaryData ids[] = { B("a"), B("b") };
    static uint32_t from[] = { 0, 0, 1, UINT32_MAX, UINT32_MAX, 1 };
    static uint64_t unmatched[] = { 1, 1 };
    static Tabella__UnifiedRows u = TABELLA__UNIFIED_ROWS__INIT;
    u.records = &records, u.n_from_tables = 2, u.from_tables = ids, u.n_from_row = 6, u.from_row = from;
    u.n_confidence = 3, u.confidence = conf, u.n_shared_variants = 1, u.shared_variants = variants;
    u.n_unmatched = 2, u.unmatched = unmatched, u.matched = 1;
    static uint32_t also_entity[] = { 2, 2, 2 }, also_table[] = { 0, 1, 1 }, also_row[] = { 4, 2, 3 };
    u.n_also_entity = u.n_also_table = u.n_also_row = 3;
    u.also_entity = also_entity, u.also_table = also_table, u.also_row = also_row;
    static uint32_t child_entity[] = { 1, 1, 1 }, child_table[] = { 0, 1, 1 }, child_row[] = { 7, 4, 5 };
    u.n_child_entity = u.n_child_table = u.n_child_row = 3;
    u.child_entity = child_entity, u.child_table = child_table, u.child_row = child_row;
    return &u;
}

static Tabella__Bundle *example(void)
{
    static Tabella__ColumnProfile c0 = TABELLA__COLUMN_PROFILE__INIT, c1 = TABELLA__COLUMN_PROFILE__INIT,
                                  c2 = TABELLA__COLUMN_PROFILE__INIT;
    c0.name = (ProtobufCBinaryData)B("x");
    c1.name = (ProtobufCBinaryData)B("x");
    c1.index = 1;
    c2.name = (ProtobufCBinaryData)B("y\"");
    static Tabella__ColumnProfile *ca[] = { &c0, &c1 }, *cb[] = { &c2 };
    static Tabella__TableUnderstanding ta = TABELLA__TABLE_UNDERSTANDING__INIT,
                                       tb = TABELLA__TABLE_UNDERSTANDING__INIT;
    ta.id = (ProtobufCBinaryData)B("a");
    tb.id = (ProtobufCBinaryData)B("b");
    ta.n_column_profile = 2, ta.column_profile = ca;
    tb.n_column_profile = 1, tb.column_profile = cb;
    static Tabella__TableUnderstanding *tables[] = { &ta, &tb };

    static Tabella__Bundle b = TABELLA__BUNDLE__INIT;
    b.n_tables = 2, b.tables = tables, b.prediction = predicted(), b.imputation = filled(),
    b.unified_rows = unified();
    return &b;
}

/* Steps ahead of two series, added to the example's table b by hand. */
static Tabella__Forecast *steps_ahead(void)
{
    static Tabella__ColumnRef day = TABELLA__COLUMN_REF__INIT, shop = TABELLA__COLUMN_REF__INIT;
    day.table = shop.table = 1;
    day.address = (ProtobufCBinaryData)B("b.day");
    shop.address = (ProtobufCBinaryData)B("b.shop");
    static Tabella__ColumnRef *time[] = { &day, &shop }, *series[] = { &shop };
    static uint32_t days[] = { 0, 0, 1 }, shops[] = { 0, TAB_NULL, 0 }, ends[] = { 10, 20 }, end[] = { 1 };
    static uint8_t kinds[] = { TAB_CELL_TEXT, TAB_CELL_TEXT };
    static Tabella__Column at = TABELLA__COLUMN__INIT, of = TABELLA__COLUMN__INIT;
    at.coded = of.coded = 1;
    at.codes = (ProtobufCBinaryData){ sizeof days, (uint8_t *)days };
    at.level_end = (ProtobufCBinaryData){ sizeof ends, (uint8_t *)ends };
    at.level_kind = (ProtobufCBinaryData){ 2, kinds };
    at.level_text = (ProtobufCBinaryData)B("2026-12-012026-12-02");
    of.codes = (ProtobufCBinaryData){ sizeof shops, (uint8_t *)shops };
    of.level_end = (ProtobufCBinaryData){ sizeof end, (uint8_t *)end };
    of.level_kind = (ProtobufCBinaryData){ 1, kinds };
    of.level_text = (ProtobufCBinaryData)B("n");
    static Tabella__Column *values[] = { &of };
    static double value[] = { 5, 6, 7 }, low[] = { 4, 4.5, 5 }, high[] = { 6, 7.5, 9 }, season[] = { 7 };
    static char *note[] = { (char *)(uintptr_t) "one day is missing" };
    static Tabella__Forecast f = TABELLA__FORECAST__INIT;
    f.n_time = 1, f.time = time, f.n_series = 1, f.series = series;
    f.step = (char *)(uintptr_t) "P1D", f.regular = 1, f.n_seasons = 1, f.seasons = season;
    f.method = (char *)(uintptr_t) "theta", f.n_notes = 1, f.notes = note;
    f.n_series_value = 1, f.series_value = values, f.at = &at;
    f.n_value = f.n_low = f.n_high = 3, f.value = value, f.low = low, f.high = high;
    return &f;
}

static void cursor(void *arg, tab_out *o, tab_paged array, size_t next)
{
    (void)arg;
    char buf[64];
    snprintf(buf, sizeof buf, "%s@%zu", tab_paged_name(array), next);
    tab_out_cstr(o, buf);
}

/* Of a bundle that holds all. */
static void page(tab_out *o, const Tabella__Bundle *b, tab_paged array, size_t from, size_t limit,
                 const tab_bundle_view *view)
{
    tab_bundle_page_json(o, &b, 1, array, from, limit, view);
}

static void expect_json(tab_out *o, const char *want)
{
    tab_out_bytes(o, "", 0);
    cr_expect_str_eq(o->p, want);
    tab_out_free(o);
}

Test(bundle_json, pages_name_the_next_one_and_the_last_none)
{
    Tabella__Bundle *b = example();
    cr_assert(tab_bundle_sound(b));
    tab_bundle_view view = { .first = { 2, 2, 1, 1 }, .cursor = cursor };
    tab_out o = { 0 };
    page(&o, b, TAB_PAGE_RESULTS, 1, 2, &view);
    expect_json(
        &o,
        "{\"array\":\"prediction.results\",\"items\":[{\"row\":1,\"label\":\"no\",\"confidence\":0.666667,"
        "\"probabilities\":{\"10\":0.333333,\"no\":0.666667}},"
        "{\"row\":2,\"label\":10,\"confidence\":0.9,\"probabilities\":{\"10\":0.9,\"no\":0.1}}],"
        "\"next_cursor\":\"prediction.results@3\",\"total\":6}");
    page(&o, b, TAB_PAGE_RESULTS, 5, 100, &view);
    expect_json(&o,
                "{\"array\":\"prediction.results\",\"items\":[{\"row\":5,\"label\":\"no\",\"confidence\":0.5,"
                "\"probabilities\":{\"10\":0.5,\"no\":0.5}}],\"next_cursor\":null,\"total\":6}");
    page(&o, b, TAB_PAGE_FILLED, 0, 9, &view);
    expect_json(
        &o, "{\"array\":\"imputation.filled\",\"items\":[{\"table\":\"a\",\"row\":3,\"column\":\"c1\","
            "\"value\":1.5,\"method\":\"median\"},{\"table\":\"a\",\"row\":4,\"column\":\"c0\",\"value\":2,"
            "\"method\":\"median\"}],\"next_cursor\":null,\"total\":2}");
    page(&o, b, TAB_PAGE_UNIFIED, 0, 2, &view);
    expect_json(&o,
                "{\"array\":\"unified_rows.rows\",\"items\":[{\"entity\":0,\"from\":{\"a_row\":0,\"b_row\":0,"
                "\"rows\":{\"a\":0,\"b\":0}},\"children\":[],\"confidence\":0.5,\"record\":{\"attr\":7},"
                "\"shared_variants\":{\"attr\":{\"b.y\\\"\":7}}},"
                "{\"entity\":1,\"from\":{\"a_row\":1,\"b_row\":null,\"rows\":{\"a\":1}},"
                "\"children\":[{\"table\":\"a\",\"rows\":[7]},{\"table\":\"b\",\"rows\":[4,5]}],"
                "\"confidence\":1,\"record\":{\"attr\":8},\"shared_variants\":{}}],"
                "\"next_cursor\":\"unified_rows.rows@2\",\"total\":3}");
    page(&o, b, TAB_PAGE_UNIFIED, 2, 2, &view);
    expect_json(
        &o, "{\"array\":\"unified_rows.rows\",\"items\":[{\"entity\":2,\"from\":{\"a_row\":null,\"b_row\":1,"
            "\"rows\":{\"b\":1},\"also\":{\"a\":[4],\"b\":[2,3]}},\"children\":[],"
            "\"confidence\":1,\"record\":{\"attr\":9},"
            "\"shared_variants\":{\"attr\":{\"b.y\\\"\":9}}}],\"next_cursor\":null,\"total\":3}");
    page(&o, b, TAB_PAGE_UNIFIED, 99, 2, &view);
    expect_json(&o, "{\"array\":\"unified_rows.rows\",\"items\":[],\"next_cursor\":null,\"total\":3}");
}

/* Groups of duplicates of both tables, added to the example by hand: three of a, one of b. */
static void add_duplicates(Tabella__Bundle *b)
{
    static uint32_t end[] = { 2, 4, 7 }, row[] = { 0, 3, 1, 2, 4, 5, 6 }, told[] = { 1, 1, 2 },
                    column[] = { 1, 0 };
    static double sure[] = { 0.9, 0.8, 0.6 }, like[] = { 1, 0.25 }, weight[] = { 4.0004, -1.5 };
    static Tabella__DuplicateGroups x = TABELLA__DUPLICATE_GROUPS__INIT, y = TABELLA__DUPLICATE_GROUPS__INIT;
    x.n_row_end = x.n_confidence = x.n_evidence_end = 3, x.row_end = end, x.confidence = sure;
    x.n_row = 7, x.row = row, x.evidence_end = told, x.column = column, x.similarity = like,
    x.weight = weight;
    x.n_column = x.n_similarity = x.n_weight = 2;
    static uint32_t of_request[] = { 0, 1 };
    static Tabella__DuplicateGroups *both[] = { &x, &y };
    y = x;
    y.table = 1, y.n_row_end = y.n_confidence = y.n_evidence_end = 1, y.n_row = y.n_pinned = 2;
    y.pinned = of_request, y.n_column = y.n_similarity = y.n_weight = 1, column[0] = 0;
    b->n_duplicates = 2, b->duplicates = both;
}

static void page_of(tab_out *o, const Tabella__Bundle *b, size_t from, size_t limit,
                    const tab_bundle_view *view)
{
    tab_bundle_page_json(o, &b, 1, TAB_PAGE_DUPLICATES, from, limit, view);
}

Test(bundle_json, duplicates_are_paged_table_by_table)
{
    Tabella__Bundle *b = example();
    add_duplicates(b);
    cr_assert(tab_bundle_sound(b));
    tab_bundle_view view = { .cursor = cursor };
    tab_out o = { 0 };
    page_of(&o, b, 1, 1, &view);
    expect_json(&o, "{\"array\":\"duplicates[0].groups\",\"items\":[{\"rows\":[1,2],\"confidence\":0.8,"
                    "\"evidence\":[]}],\"next_cursor\":\"duplicates[i].groups@2\",\"total\":3}");
    page_of(&o, b, 2, 9, &view);
    expect_json(&o, "{\"array\":\"duplicates[0].groups\",\"items\":[{\"rows\":[4,5,6],\"confidence\":0.6,"
                    "\"evidence\":[{\"column\":\"c0\",\"similarity\":0.25,\"weight\":-1.5}]}],"
                    "\"next_cursor\":null,\"total\":3}");
    page_of(&o, b, 3, 9, &view);
    expect_json(&o, "{\"array\":\"duplicates[1].groups\",\"items\":[{\"rows\":[0],\"pinned_rows\":[3],"
                    "\"confidence\":0.9,\"evidence\":[{\"column\":\"y\\\"\",\"similarity\":1,"
                    "\"weight\":4}]}],\"next_cursor\":null,\"total\":1}");
    page_of(&o, b, 99, 9, &view);
    cr_expect(strstr(o.p, "\"items\":[],") != NULL, "%s", o.p);
    tab_out_free(&o);
    b->n_duplicates = 0;
    page_of(&o, b, 0, 9, &view);
    cr_expect(strstr(o.p, "\"items\":[],") != NULL, "%s", o.p);
    tab_out_free(&o);
}

Test(bundle_json, duplicates_out_of_bounds_are_not_sound)
{
    Tabella__Bundle *b = example();
    add_duplicates(b);
    Tabella__DuplicateGroups *d = b->duplicates[0];
    d->row_end[2] = 8;
    cr_expect_not(tab_bundle_sound(b));
    d->row_end[2] = 7;
    d->column[1] = 2;
    cr_expect_not(tab_bundle_sound(b));
    d->column[1] = 0;
    d->evidence_end[0] = 3;
    cr_expect_not(tab_bundle_sound(b));
    d->evidence_end[0] = 1;
    d->table = 2;
    cr_expect_not(tab_bundle_sound(b));
    d->table = 0;
    cr_expect(tab_bundle_sound(b));
}

Test(bundle_json, is_json_with_every_field_and_whole_without_cursors)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Bundle *b = example();
    for (int paged = 0; paged < 2; paged++) {
        tab_bundle_view view = { .first = { 2, 2, 1, 1 }, .cursor = cursor };
        tab_out o = { 0 };
        tab_out_open(&o, '{');
        tab_bundle_json(&o, b, paged ? &view : NULL);
        tab_out_close(&o, '}');
        tab_out_bytes(&o, "", 0);
        const tab_json *j;
        tab_error err;
        cr_assert(tab_json_read(a, tab_out_text(&o), 12, &j, &err) == TAB_OK, "%s: %s", err.message, o.p);
        static const char *const members[] = { "summary",        "tables",     "cross_table_map",
                                               "unified_rows",   "imputation", "target_selection",
                                               "task_selection", "prediction" };
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            cr_expect_not_null(tab_json_get(j, members[i]), "%s", members[i]);
        const tab_json *p = tab_json_get(j, "prediction");
        cr_expect_eq(tab_json_get(p, "results")->count, paged ? 2 : 6);
        cr_expect(tab_json_get(p, "total")->num == 6);
        cr_expect(tab_json_get(p, "next_cursor")->kind == (paged ? TAB_JSON_STRING : TAB_JSON_NULL));
        cr_expect(tab_json_get(tab_json_get(j, "unified_rows"), "sample_shown")->num == (paged ? 1 : 3));
        tab_out_free(&o);
    }
}

Test(bundle_json, a_shared_message_is_written_as_the_first_time)
{
    TAB_AUTO(tab_bundle_memory) *memory = tab_bundle_memory_new();
    Tabella__Bundle first = *example(), other = first;
    Tabella__TableUnderstanding *one[] = { first.tables[1], first.tables[0] };
    Tabella__TargetSelection t = TABELLA__TARGET_SELECTION__INIT;
    t.mode = (char *)(uintptr_t) "auto";
    first.target_selection = other.target_selection = &t;
    other.tables = one;
    const Tabella__Bundle *turn[] = { &first, &first, &other, &first, &other };
    tab_bundle_view with = { .memory = memory };
    for (size_t i = 0; i < sizeof turn / sizeof *turn; i++) {
        tab_out o[2] = { { 0 }, { 0 } };
        for (int k = 0; k < 2; k++) {
            tab_out_open(&o[k], '{');
            tab_bundle_json(&o[k], turn[i], k == 0 ? NULL : &with);
            tab_out_close(&o[k], '}');
        }
        cr_expect(tab_str_eq(tab_out_text(&o[0]), tab_out_text(&o[1])), "%zu", i);
        tab_out_free(&o[0]);
        tab_out_free(&o[1]);
    }
}

Test(bundle_json, what_is_out_of_bounds_is_not_sound)
{
    Tabella__Bundle *b = example();
    b->prediction->results->label[2] = 2;
    cr_expect(!tab_bundle_sound(b));
    b->prediction->results->label[2] = 1;
    cr_expect(tab_bundle_sound(b));
    b->imputation->column[0] = 2;
    cr_expect(!tab_bundle_sound(b));
    b->imputation->column[0] = 1;
    b->prediction->results->n_probabilities = 11;
    cr_expect(!tab_bundle_sound(b));
    b->prediction->results->n_probabilities = 12;
    b->prediction->classes->level_end.len = 4;
    cr_expect(!tab_bundle_sound(b));
}

/* The bundle's prediction alone, as JSON. */
static const tab_json *prediction_of(tab_arena *a, const Tabella__Bundle *b, const tab_bundle_view *view,
                                     tab_out *o)
{
    const tab_json *j;
    tab_error err;
    tab_out_open(o, '{');
    tab_bundle_json(o, b, view);
    tab_out_close(o, '}');
    tab_out_bytes(o, "", 0);
    cr_assert(tab_json_read(a, tab_out_text(o), 12, &j, &err) == TAB_OK, "%s: %s", err.message, o->p);
    return tab_json_get(j, "prediction");
}

Test(bundle_json, a_forecast_is_paged_as_results_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Bundle *b = example();
    tab_bundle_view view = { .first = { 2, 2, 1, 1, 2 }, .cursor = cursor };
    tab_out o = { 0 }, part = { 0 };
    cr_expect_null(tab_json_get(prediction_of(a, b, &view, &part), "forecast"));
    tab_out_free(&part);
    part = (tab_out){ 0 };
    b->prediction->forecast = steps_ahead();
    cr_assert(tab_bundle_sound(b));
    page(&o, b, TAB_PAGE_FORECAST, 1, 2, &view);
    expect_json(&o, "{\"array\":\"prediction.forecast.rows\",\"items\":[{\"series\":{\"b.shop\":null},"
                    "\"time\":\"2026-12-01\",\"value\":6,\"low\":4.5,\"high\":7.5},"
                    "{\"series\":{\"b.shop\":\"n\"},\"time\":\"2026-12-02\",\"value\":7,\"low\":5,"
                    "\"high\":9}],\"next_cursor\":null,\"total\":3}");
    const tab_json *f = tab_json_get(prediction_of(a, b, &view, &part), "forecast");
    cr_assert_not_null(f);
    cr_expect(tab_str_eq(tab_json_get(f, "time")->text, TAB_S("b.day")));
    cr_expect(tab_str_eq(tab_json_get(f, "step")->text, TAB_S("P1D")));
    cr_expect(tab_str_eq(tab_json_get(f, "method")->text, TAB_S("theta")));
    cr_expect(tab_str_eq(tab_json_get(f, "series")->first->text, TAB_S("b.shop")));
    cr_expect(tab_str_eq(tab_json_get(f, "next_cursor")->text, TAB_S("prediction.forecast.rows@2")));
    cr_expect_eq(tab_json_get(f, "rows")->count, 2);
    cr_expect(tab_json_get(f, "total")->num == 3 && tab_json_get(f, "regular")->yes);
    cr_expect(tab_json_get(f, "seasons")->first->num == 7);
    cr_expect_eq(tab_json_get(f, "notes")->count, 1);
    tab_out_free(&part);
}

Test(bundle_json, a_time_may_be_a_number_in_parts_or_the_order_of_rows)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    Tabella__Bundle *b = example();
    Tabella__Forecast *f = steps_ahead();
    b->prediction->forecast = f;
    f->step = (char *)(uintptr_t) "0.25", f->step_is_number = 1, f->n_time = 2;
    cr_assert(tab_bundle_sound(b));
    tab_out o = { 0 };
    const tab_json *j = tab_json_get(prediction_of(a, b, NULL, &o), "forecast");
    cr_expect(tab_json_get(j, "step")->num == 0.25);
    cr_expect_eq(tab_json_get(j, "time")->count, 2);
    tab_out_free(&o);
    f->n_time = 0;
    o = (tab_out){ 0 };
    j = tab_json_get(prediction_of(a, b, NULL, &o), "forecast");
    cr_expect(tab_json_get(j, "time")->kind == TAB_JSON_NULL);
    cr_expect(tab_json_get(j, "next_cursor")->kind == TAB_JSON_NULL);
    tab_out_free(&o);
    static const char *const none[] = { "", "P1D", "1,2", "1 }" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        f->step = (char *)(uintptr_t)none[i];
        cr_expect(!tab_bundle_sound(b), "%s", none[i]);
    }
}

Test(bundle_json, rows_say_their_regime_where_it_is_another_than_alike)
{
    Tabella__Bundle *b = example();
    static uint32_t regime[] = { 0, 1, 2, 3, 0, 0 };
    Tabella__Results *r = b->prediction->results;
    r->n_regime = 6, r->regime = regime;
    cr_assert(tab_bundle_sound(b));
    static const char *const want[] = { NULL, "later", "new_group", "out_of_range", NULL, NULL };
    for (size_t i = 0; i < 6; i++) {
        tab_out o = { 0 };
        page(&o, b, TAB_PAGE_RESULTS, i, 1, NULL);
        tab_out_bytes(&o, "", 0);
        const char *at = strstr(o.p, "\"regime\":\"");
        cr_expect_eq(at == NULL, want[i] == NULL);
        if (want[i] != NULL && at != NULL)
            cr_expect(strncmp(at + strlen("\"regime\":\""), want[i], strlen(want[i])) == 0, "%s", o.p);
        tab_out_free(&o);
    }
    regime[2] = 4;
    cr_expect(!tab_bundle_sound(b));
    regime[2] = 0;
    r->n_regime = 5;
    cr_expect(!tab_bundle_sound(b));
}

Test(bundle_json, quality_is_said_by_regime_and_linked_tables_say_what_was_left_out)
{
    Tabella__Bundle *b = example();
    Tabella__RegimeQuality later = TABELLA__REGIME_QUALITY__INIT, few = TABELLA__REGIME_QUALITY__INIT;
    later.regime = (char *)(uintptr_t) "later", later.metric = (char *)(uintptr_t) "rmse";
    later.rows = 36, later.score = 2.125, later.baseline = 4, later.judged = 120;
    later.has_coverage = 1, later.coverage = 0.81, later.has_distance = 1, later.distance = 3;
    few.regime = (char *)(uintptr_t) "new_group", few.rows = 2;
    Tabella__RegimeQuality *regimes[] = { &later, &few };
    Tabella__LinkedTable link = TABELLA__LINKED_TABLE__INIT;
    link.rows_used = 10, link.rows_left_out = 3, link.reason = (char *)(uintptr_t) "they came later";
    link.as_of = b->prediction->target;
    Tabella__LinkedTable *linked[] = { &link };
    b->prediction->n_regimes = 2, b->prediction->regimes = regimes;
    b->prediction->n_linked = 1, b->prediction->linked = linked;
    cr_assert(tab_bundle_sound(b));
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    tab_bundle_json(&o, b, NULL);
    tab_out_close(&o, '}');
    tab_out_bytes(&o, "", 0);
    cr_expect(strstr(o.p, "\"quality\":{\"rows\":0,\"error\":null,\"baseline\":null,\"slices\":[],"
                          "\"calibration\":[],\"regimes\":[{\"regime\":\"later\",\"rows\":36,"
                          "\"metric\":\"rmse\",\"score\":2.125,\"baseline\":4,\"coverage\":0.81,"
                          "\"distance\":3,\"judged\":120},{\"regime\":\"new_group\",\"rows\":2,"
                          "\"metric\":null,\"score\":null,\"baseline\":null,\"coverage\":null,"
                          "\"distance\":null,\"judged\":0}]}") != NULL,
              "%s", o.p);
    cr_expect(strstr(o.p, "\"linked\":[{\"table\":\"a\",\"as_of\":\"b.y\\\"\",\"rows_used\":10,"
                          "\"rows_left_out\":3,\"reason\":\"they came later\"}]") != NULL,
              "%s", o.p);
    tab_out_free(&o);
    link.as_of = NULL, link.table = 2;
    cr_expect(!tab_bundle_sound(b), "a table that there is not");
}

Test(bundle_json, a_forecast_out_of_bounds_is_not_sound)
{
    Tabella__Bundle *b = example();
    Tabella__Forecast *f = b->prediction->forecast = steps_ahead();
    f->n_low = 2;
    cr_expect(!tab_bundle_sound(b));
    f->n_low = 3, f->n_series_value = 0;
    cr_expect(!tab_bundle_sound(b));
    f->n_series_value = 1, f->at->codes.len = 8;
    cr_expect(!tab_bundle_sound(b));
    f->at->codes.len = 12, f->at = NULL;
    cr_expect(!tab_bundle_sound(b));
}
