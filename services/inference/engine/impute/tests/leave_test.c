/* What is filled by what, and what stays missing: decision 0292. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { ROWS = 600, COLS = 9 };

/* The columns; gaps lie where `gap` says. */
enum { SIZE, WEIGHT, NOISE, COUPON, SAMPLE, EMAIL, KIND, DEPOSIT, VOUCHER };

static double draw(size_t row, size_t column)
{
    return tab_unit(tab_mix2(row, column + 10));
}

static bool gap(size_t row, size_t column)
{
    double d = draw(row, column + 100);
    switch (column) {
    case WEIGHT:
    case NOISE:
    case KIND:
    case EMAIL:
        return d < 0.2 && row != 7;
    case COUPON:
        return row % 20 != 0; /* in one row of twenty, whatever else the row says */
    case SAMPLE:
        return d >= 0.08; /* measured in one row of twelve, by chance */
    case DEPOSIT:
        return draw(row, SIZE) < 0.95; /* only where there is much of it */
    case VOUCHER:
        return draw(row, SIZE) < 0.6; /* in four rows of ten, those with much of it */
    default:
        return false;
    }
}

static double weight(size_t row)
{
    return round(1000 * (3 * draw(row, SIZE) + 0.1 * draw(row, WEIGHT))) / 1000;
}

static void add_cell(tab_builder *b, size_t row, size_t column)
{
    static const char *const kinds[] = { "oak", "ash", "fir" }, *const coupons[] = { "SPRING", "VIP10" };
    char text[64];
    if (gap(row, column)) {
        tab_builder_null(b);
        return;
    }
    switch (column) {
    case SIZE:
        tab_builder_number(b, round(1000 * draw(row, SIZE)) / 1000);
        break;
    case WEIGHT:
        tab_builder_number(b, row == 7 ? 1e9 : weight(row)); /* one far value */
        break;
    case NOISE:
        tab_builder_number(b, round(1000 * exp(2 * draw(row, NOISE))) / 1000);
        break;
    case VOUCHER:
    case COUPON:
        tab_builder_text(b, tab_str_of(coupons[draw(row, column) < 0.5]));
        break;
    case SAMPLE:
        tab_builder_number(b, round(1000 * (10 - 4 * draw(row, SIZE))) / 1000);
        break;
    case EMAIL:
        snprintf(text, sizeof text, "anna.%zu@example.com", row * 7919 % 10007);
        tab_builder_text(b, tab_str_of(text));
        break;
    case KIND:
        tab_builder_text(b, tab_str_of(kinds[(size_t)(3 * draw(row, SIZE))]));
        break;
    default:
        tab_builder_number(b, round(1000 * draw(row, SIZE) * 5) / 1000);
    }
}

static Tabella__Imputation *impute(tab_arena *a, const tab_table *t)
{
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    Tabella__Imputation *m = NULL;
    tab_impute_target none = { 0 };
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    return m;
}

static const Tabella__FilledColumn *filled(const Tabella__Imputation *m, size_t column)
{
    for (size_t i = 0; i < m->n_columns; i++)
        if (m->columns[i]->column == column)
            return m->columns[i];
    return NULL;
}

static const char *left(const Tabella__Imputation *m, size_t column)
{
    for (size_t i = 0; i < m->n_not_filled; i++)
        if (m->not_filled[i]->column == column)
            return m->not_filled[i]->reason;
    return NULL;
}

/* Cell i of the fills as a number; texts stand beside numbers, so that all are coded. */
static double number_at(const Tabella__Column *c, size_t i)
{
    uint32_t code, from = 0, to;
    char text[64] = { 0 };
    memcpy(&code, c->codes.data + 4 * i, 4);
    if (code > 0)
        memcpy(&from, c->level_end.data + 4 * (code - 1), 4);
    memcpy(&to, c->level_end.data + 4 * code, 4);
    memcpy(text, c->level_text.data + from, to - from);
    return strtod(text, NULL);
}

static const Tabella__Imputation *whole(tab_arena *a)
{
    static const char *const names[] = { "size",  "weight", "noise",   "coupon", "sample",
                                         "email", "kind",   "deposit", "voucher" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t c = 0; c < COLS; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        for (size_t r = 0; r < ROWS; r++)
            add_cell(b, r, c);
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    return impute(a, t);
}

Test(leave, each_column_says_how_it_was_filled_and_how_well)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const Tabella__Imputation *m = whole(a);
    static const size_t told[] = { WEIGHT, SAMPLE, KIND };
    for (size_t k = 0; k < 3; k++) {
        const Tabella__FilledColumn *c = filled(m, told[k]);
        cr_assert_not_null(c, "column %zu is filled", told[k]);
        cr_expect_str_eq(c->method, "model");
        cr_expect_str_eq(c->metric, told[k] == KIND ? "accuracy" : "r2");
        cr_expect_gt(c->score, 0.85, "column %zu: %g", told[k], c->score);
        cr_expect_lt(c->baseline, 0.5, "column %zu: %g", told[k], c->baseline);
    }
    /* Nothing tells the noise: its median, which occurs, and no better score than that. */
    const Tabella__FilledColumn *c = filled(m, NOISE);
    cr_assert_not_null(c);
    cr_expect_str_eq(c->method, "median");
    cr_expect_eq(c->score, c->baseline);
    double first = NAN;
    for (size_t i = 0; i < m->n_row; i++)
        if (m->column[i] == NOISE) {
            first = isnan(first) ? number_at(m->value, i) : first;
            cr_expect_eq(number_at(m->value, i), first);
        }
    cr_expect(first > 1.8 && first < 3.8, "%g is not the middle of 1 to 7.4", first);
}

Test(leave, one_far_value_drives_no_fill)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const Tabella__Imputation *m = whole(a);
    size_t n = 0;
    for (size_t i = 0; i < m->n_row; i++)
        if (m->column[i] == WEIGHT) {
            double off = number_at(m->value, i) - weight(m->row[i]);
            cr_expect_lt(fabs(off), 0.6, "row %u is filled %g off", m->row[i], off);
            n++;
        }
    cr_expect_gt(n, ROWS / 10);
}

Test(leave, what_is_absent_by_its_nature_stays_so)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    const Tabella__Imputation *m = whole(a);
    static const size_t absent[] = { COUPON, DEPOSIT, EMAIL, VOUCHER };
    static const char *const why[] = { "no other column predicts it", "other columns determine which",
                                       "email", "a value of its own" };
    for (size_t k = 0; k < 4; k++) {
        const char *reason = left(m, absent[k]);
        cr_assert_not_null(reason, "column %zu is left", absent[k]);
        cr_expect(strstr(reason, why[k]) != NULL, "%s", reason);
        cr_expect_null(filled(m, absent[k]));
    }
    for (size_t i = 0; i < m->n_row; i++)
        for (size_t k = 0; k < 4; k++)
            cr_expect_neq(m->column[i], absent[k]);
}

/* Twelve branches and their sums: the last row has no manager and no average to fill. */
Test(leave, a_row_of_totals_is_not_filled)
{
    enum { BRANCHES = 12 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    static const char *const kinds[] = { "north", "south", "west" };
    tab_column col[4];
    double sum[2] = { 0, 0 };
    for (size_t c = 0; c < 4; c++) {
        static const char *const names[] = { "staff", "sales", "region", "rating" };
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        for (size_t r = 0; r <= BRANCHES; r++) {
            double v = c == 0 ? 3 + (double)(r * 5 % 11) : 1000 + round(99900 * draw(r, c)) / 100;
            if (c < 2)
                tab_builder_number(b, r < BRANCHES ? v : round(100 * sum[c]) / 100);
            else if (r == BRANCHES || r == 4)
                tab_builder_null(b);
            else if (c == 2)
                tab_builder_text(b, tab_str_of(kinds[r % 3]));
            else
                tab_builder_number(b, 1 + (double)(r % 5));
            if (c < 2)
                sum[c] += v;
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = BRANCHES + 1, .cols = 4, .col = col };
    const Tabella__Imputation *m = impute(a, &t);
    cr_expect_gt(m->n_row, 0);
    for (size_t i = 0; i < m->n_row; i++)
        cr_expect_eq(m->row[i], 4);
    cr_assert_not_null(left(m, 2));
    cr_expect_str_eq(left(m, 2), "row 12 is a row of totals");
}

/* "yes" or nothing: nothing says no. A country that a few rows lack is another matter. */
Test(leave, a_mark_that_is_there_or_not_is_not_put_everywhere)
{
    enum { PEOPLE = 300 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    static const char *const names[] = { "age", "vip", "ended", "country" }, *const marks[] = { "", "yes",
                                                                                                "x",
                                                                                                "Norway" };
    static const double without[] = { 0, 0.1, 0.6, 0.05 };
    tab_column col[4];
    for (size_t c = 0; c < 4; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        for (size_t r = 0; r < PEOPLE; r++)
            if (draw(r, 50 + c) < without[c])
                tab_builder_null(b);
            else if (c == 0)
                tab_builder_number(b, 18 + floor(60 * draw(r, 60)));
            else
                tab_builder_text(b, tab_str_of(marks[c]));
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    tab_table t = { .id = TAB_S("people"), .rows = PEOPLE, .cols = 4, .col = col };
    const Tabella__Imputation *m = impute(a, &t);
    for (size_t c = 1; c <= 2; c++) {
        cr_expect_null(filled(m, c), "%s is filled", names[c]);
        cr_assert_not_null(left(m, c));
        cr_expect(strstr(left(m, c), "most likely means the opposite") != NULL, "%s", left(m, c));
    }
    cr_expect_not_null(filled(m, 3));
}

/* What the third column is without, by the second: nothing beyond limits (decision 0745), or the more
 * often the larger. */
static const char *marked(bool limits)
{
    enum { PIECES = 500 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    static const char *const names[] = { "kind", "size", "mark" }, *const kinds[] = { "oak", "ash", "fir" };
    static char why[400];
    tab_column col[3];
    for (size_t c = 0; c < 3; c++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[c]));
        for (size_t r = 0; r < PIECES; r++) {
            double kind = floor(3 * draw(r, 70)), x = draw(r, 71);
            bool absent = limits ? fabs(x - 0.5) < 0.4 : draw(r, 72) < 1 / (1 + exp(6 * (x - 0.6)));
            if (c == 2 && absent)
                tab_builder_null(b);
            else if (c == 1)
                tab_builder_number(b, round(1000 * x * (kind + 1)) / 1000);
            else
                tab_builder_text(b, tab_str_of(c == 0 ? kinds[(size_t)kind] : x < 0.5 ? "low" : "high"));
        }
        cr_assert(tab_builder_finish(b, &col[c]));
    }
    tab_table t = { .id = TAB_S("pieces"), .rows = PIECES, .cols = 3, .col = col };
    const char *said = left(impute(a, &t), 2);
    snprintf(why, sizeof why, "%s", said == NULL ? "" : said);
    return why;
}

Test(leave, a_mark_of_what_is_beyond_limits_is_absent_within)
{
    cr_expect_not_null(strstr(marked(true), "an empty cell is a value of its own"), "%s", marked(true));
    cr_expect_str_eq(marked(false), "");
}
