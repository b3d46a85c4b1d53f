/* To which parts of its rows a served row belongs: pinned columns told by hand, rows asked, names read. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "common/security/receipt.h"
#include "services/inference/engine/profile/features/column.h"
#include "services/inference/serve/slices.h"

enum { ROWS = 100, COLUMNS = 8 };

/* A column by its rows: "" is missing. */
typedef struct {
    const char *name;
    tab_type type;
    const char *(*cell)(size_t row);
    bool pii, identifying;
} made_column;

typedef struct {
    serve_state *st;
    tab_table pinned;
    tab_column col[COLUMNS];
    tab_profile profile;
    tab_column_profile of[COLUMNS];
    const tab_table *table[1];
    tab_profile *profiles[1];
} fixture;

static void build(tab_arena *a, const made_column *of, const char *const *own, size_t rows, tab_column *ret)
{
    tab_builder *b = tab_builder_new(a, tab_str_of(of->name));
    for (size_t i = 0; i < rows; i++) {
        const char *cell = own != NULL ? own[i] : of->cell(i);
        if (cell[0] == 0)
            tab_builder_null(b);
        else if (of->type == TAB_NUMERIC)
            tab_builder_number(b, strtod(cell, NULL));
        else if (of->type == TAB_BOOLEAN)
            tab_builder_bool(b, cell[0] == 't');
        else
            tab_builder_text(b, tab_str_of(cell));
    }
    cr_assert(tab_builder_finish(b, ret));
}

/* A state of one pinned table of ROWS rows, whose last column is the target. */
static void pin(fixture *f, const made_column *of, size_t n)
{
    static char fitted; /* there is a prediction; nobody looks into it here */
    *f = (fixture){ 0 };
    cr_assert_leq(n, (size_t)COLUMNS);
    cr_assert_eq(serve_state_empty(&f->st, NULL), TAB_OK);
    for (size_t c = 0; c < n; c++) {
        tab_reading r;
        build(f->st->arena, &of[c], NULL, ROWS, &f->col[c]);
        f->of[c] = (tab_column_profile){ .index = c,
                                         .column = &f->col[c],
                                         .type = of[c].type,
                                         .pii = of[c].pii,
                                         .identifying = of[c].identifying };
        cr_assert(tab_read_known(f->st->arena, &f->col[c], ROWS, &r, &f->of[c]));
    }
    f->pinned = (tab_table){ .id = TAB_S("goods"), .rows = ROWS, .cols = n, .col = f->col };
    f->profile = (tab_profile){ .table = &f->pinned, .col = f->of };
    f->table[0] = &f->pinned;
    f->profiles[0] = &f->profile;
    f->st->n = 1;
    f->st->table = f->table;
    f->st->profile = f->profiles;
    f->st->sel = (tab_selection){ .column = n - 1 };
    f->st->fitted = (tab_fitted *)(void *)&fitted;
}

static void unpin(fixture *f)
{
    f->st->fitted = NULL;
    serve_state_free(f->st);
}

/* The slices of one asked row, joined by " | "; "" for none. */
static const char *asked(tab_arena *a, fixture *f, const made_column *of, const char *const *row)
{
    tab_column col[COLUMNS];
    tab_table t = { .id = TAB_S("goods"), .rows = 1, .cols = f->pinned.cols, .col = col };
    for (size_t c = 0; c < t.cols; c++)
        build(a, &of[c], &row[c], 1, &col[c]);
    const tab_table *tables[] = { &t };
    size_t pinned[] = { 0 };
    uint32_t rows[] = { 0 };
    serve_request r = { .n = 1, .table = tables, .pinned = pinned };
    Tabella__Results results = TABELLA__RESULTS__INIT;
    Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    Tabella__ServePart y = TABELLA__SERVE_PART__INIT;
    results.n_row = 1;
    results.row = rows;
    p.results = &results;
    cr_assert(slices_of(a, f->st, &r, &p, &y));
    if (y.n_slice_of == 0)
        return "";
    cr_assert_eq(y.n_slice_of, (size_t)TAB_RECEIPT_SLICES);
    const char *said = "";
    for (size_t k = 0; k < TAB_RECEIPT_SLICES; k++) {
        cr_assert_leq(y.slice_of[k], y.n_slice);
        if (y.slice_of[k] == 0)
            continue;
        ProtobufCBinaryData name = y.slice[y.slice_of[k] - 1];
        cr_assert(name.len > 0 && name.len < TAB_RECEIPT_SLICE, "it fits a receipt");
        said = tab_arena_printf(a, "%s%s%.*s", said, said[0] == 0 ? "" : " | ", (int)name.len,
                                (const char *)name.data);
    }
    return said;
}

static const char *hundred(size_t row)
{
    static char text[ROWS][8];
    snprintf(text[row], sizeof text[row], "%zu", row);
    return text[row];
}

static const char *colour(size_t row)
{
    static const char *const of[] = { "red", "red", "red", "green", "green", "blue" };
    return of[row % 6];
}

static const char *seven(size_t row)
{
    static const char *const of[] = { "a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "g" };
    return of[row % 12];
}

static const char *flag(size_t row)
{
    return row % 3 == 0 ? "true" : "false";
}

static const char *one(size_t row)
{
    return row == 0 ? "rare" : "common";
}

static const char *steps(size_t row) /* three numbers: fifths of which two fall on one bound */
{
    return row < 50 ? "1" : row < 90 ? "2" : "3";
}

static const char *lengthy(size_t row)
{
    return row % 2 == 0 ? "a value that is longer than what a receipt has room for, by itself" : "short";
}

static const char *control(size_t row)
{
    return row % 2 == 0 ? "two\nlines" : "one";
}

static void expect(const made_column *of, size_t n, const char *const *row, const char *want)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    fixture f;
    pin(&f, of, n);
    cr_expect_str_eq(asked(a, &f, of, row), want);
    unpin(&f);
}

#define ROW(...) ((const char *const[]){ __VA_ARGS__ })

static const made_column goods[] = { { "size", TAB_NUMERIC, hundred, false, false },
                                     { "colour", TAB_CATEGORICAL, colour, false, false },
                                     { "sold", TAB_BOOLEAN, flag, false, false },
                                     { "price", TAB_NUMERIC, hundred, false, false } };

Test(slices, a_number_stands_in_the_fifth_that_its_name_says)
{
    static const struct {
        const char *size, *part;
    } cases[] = { { "-5", "below 20" },
                  { "19.99", "below 20" },
                  { "20", "from 20 to below 40" },
                  { "59", "from 40 to below 60" },
                  { "80", "from 80" },
                  { "1e300", "from 80" },
                  { "", "is missing" },
                  { "79", "from 60 to below 80" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[160];
        snprintf(want, sizeof want, "goods.colour = red | goods.size %s | goods.sold = true", cases[i].part);
        expect(goods, 4, ROW(cases[i].size, "red", "true", ""), want);
    }
}

Test(slices, categories_are_their_commonest_values_another_or_none)
{
    static const made_column of[] = { { "kind", TAB_CATEGORICAL, seven, false, false },
                                      { "colour", TAB_CATEGORICAL, colour, false, false },
                                      { "price", TAB_NUMERIC, hundred, false, false } };
    expect(of, 3, ROW("a", "blue", ""), "goods.kind = a | goods.colour = blue");
    expect(of, 3, ROW("g", "blue", ""), "goods.kind has another value | goods.colour = blue");
    expect(of, 3, ROW("new", "", ""), "goods.kind has another value | goods.colour is missing");
    expect(of, 3, ROW("", "violet", ""), "goods.kind is missing | goods.colour has another value");
}

Test(slices, truth_values_have_two_parts)
{
    expect(goods, 4, ROW("0", "green", "false", ""),
           "goods.colour = green | goods.size below 20 | goods.sold = false");
    expect(goods, 4, ROW("0", "green", "", ""),
           "goods.colour = green | goods.size below 20 | goods.sold is missing");
}

Test(slices, equal_fifths_are_one_part)
{
    static const made_column of[] = { { "step", TAB_NUMERIC, steps, false, false },
                                      { "price", TAB_NUMERIC, hundred, false, false } };
    expect(of, 2, ROW("1", ""), "goods.step below 2");
    expect(of, 2, ROW("2", ""), "goods.step from 2");
    expect(of, 2, ROW("3", ""), "goods.step from 2");
}

Test(slices, what_tells_of_a_person_or_hardly_varies_makes_none)
{
    static const made_column of[] = { { "name", TAB_CATEGORICAL, seven, true, false },
                                      { "code", TAB_CATEGORICAL, seven, false, true },
                                      { "note", TAB_TEXT, seven, false, false },
                                      { "state", TAB_CATEGORICAL, one, false, false },
                                      { "long", TAB_CATEGORICAL, lengthy, false, false },
                                      { "lines", TAB_CATEGORICAL, control, false, false },
                                      { "price", TAB_NUMERIC, hundred, false, false } };
    expect(of, 7, ROW("a", "b", "c", "common", "short", "one", ""), "");
}

Test(slices, at_most_four_half_of_them_categories_where_there_are_so_many)
{
    static const made_column of[] = {
        { "n1", TAB_NUMERIC, hundred, false, false },    { "n2", TAB_NUMERIC, hundred, false, false },
        { "n3", TAB_NUMERIC, hundred, false, false },    { "c1", TAB_CATEGORICAL, colour, false, false },
        { "c2", TAB_CATEGORICAL, colour, false, false }, { "c3", TAB_CATEGORICAL, colour, false, false },
        { "price", TAB_NUMERIC, hundred, false, false }
    };
    expect(of, 7, ROW("0", "0", "0", "red", "red", "red", ""),
           "goods.c1 = red | goods.c2 = red | goods.n1 below 20 | goods.n2 below 20");
    expect(&of[3], 4, ROW("red", "red", "red", ""), "goods.c1 = red | goods.c2 = red | goods.c3 = red");
}

Test(slices, a_state_without_a_prediction_or_a_call_without_the_table_has_none)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    fixture f;
    pin(&f, goods, 4);
    tab_fitted *was = f.st->fitted;
    f.st->fitted = NULL;
    cr_expect_str_eq(asked(a, &f, goods, ROW("0", "red", "true", "")), "");
    unpin(&f);
    pin(&f, goods, 4);
    cr_assert_eq(f.st->fitted, was);
    serve_request none = { 0 };
    Tabella__Prediction p = TABELLA__PREDICTION__INIT;
    Tabella__ServePart y = TABELLA__SERVE_PART__INIT;
    cr_expect(slices_of(a, f.st, &none, &p, &y) && y.n_slice == 0 && y.n_slice_of == 0);
    unpin(&f);
}
