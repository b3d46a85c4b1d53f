#include "services/inference/engine/sketch/sketch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/sketch/sample.h"

enum { ROWS = 300000, PIECE = 7000 };

/* SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static tab_sketch *of_numbers(const double *x, size_t n, size_t piece)
{
    tab_sketch *s = tab_sketch_new(20);
    cr_assert(s != NULL);
    for (size_t at = 0; at < n; at += piece) {
        tab_column c = { .layout = TAB_NUMBERS, .num = x + at };
        cr_assert(tab_sketch_add(s, &c, n - at < piece ? n - at : piece));
    }
    return s;
}

Test(sketch, quantiles_are_off_by_half_a_hundredth_in_rank)
{
    static double x[ROWS];
    for (int order = 0; order < 3; order++) {
        uint64_t state = 5;
        for (size_t i = 0; i < ROWS; i++) /* ascending, descending, as drawn */
            x[i] = order == 0   ? (double)i
                   : order == 1 ? (double)(ROWS - i - 1)
                                : floor((double)(draw(&state) >> 11) * 0x1p-53 * ROWS);
        tab_sketch *s = of_numbers(x, ROWS, PIECE);
        for (double q = 0.01; q < 1; q += 0.01)
            cr_expect_float_eq(tab_sketch_quantile(s, q) / ROWS, q, order == 2 ? 0.01 : 0.006, "%d: %f at %f",
                               order, tab_sketch_quantile(s, q) / ROWS, q);
        cr_expect(tab_sketch_present(s) == ROWS);
        tab_sketch_free(s);
    }
}

Test(sketch, numbers_that_differ_are_counted_within_three_standard_errors)
{
    static double x[ROWS];
    static const size_t many[] = { 1, 100, 4000, 5000, 20000, 60000, 100000, 300000 };
    for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
        bool exact;
        for (size_t i = 0; i < ROWS; i++)
            x[i] = (double)(i % many[k]) * 0.37;
        tab_sketch *s = of_numbers(x, ROWS, PIECE);
        double n = (double)tab_sketch_distinct(s, &exact);
        cr_expect(exact == (many[k] <= 4096), "%zu", many[k]);
        cr_expect_float_eq(n / (double)many[k], 1, exact ? 0 : 0.025, "%zu: %f", many[k], n);
        tab_sketch_free(s);
    }
}

Test(sketch, what_is_frequent_is_found_among_many_that_are_not)
{
    static double x[ROWS];
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 20);
    for (size_t i = 0; i < ROWS; i++) /* -1 a tenth of the rows, -2 a twentieth, all others twice at most */
        x[i] = i % 10 == 3 ? -1 : i % 20 == 6 ? -2 : (double)(i / 2);
    tab_sketch *s = of_numbers(x, ROWS, PIECE);
    bool exact;
    cr_expect(tab_sketch_count(s, TAB_S("-1"), &exact) == ROWS / 10 && !exact);
    cr_expect(tab_sketch_count(s, TAB_S("-2"), &exact) == ROWS / 20);
    Tabella__Spread *m = tab_sketch_spread(a, s, true);
    uint64_t sum = 0;
    cr_assert(m != NULL && m->n_bins == 16);
    for (size_t i = 0; i < m->n_bins; i++)
        sum += m->bins[i];
    cr_expect(sum == ROWS && m->low == -2 && m->high == (double)((ROWS - 1) / 2), "%llu",
              (unsigned long long)sum);
    const Tabella__Spread *top = tab_sketch_spread(a, s, false);
    cr_assert(top != NULL && top->n_value == 2, "%zu", top->n_value); /* none of the others */
    cr_expect(top->rows[0] == ROWS / 10 && top->rows[1] == ROWS / 20);
    tab_sketch_free(s);
}

Test(sketch, a_number_is_one_whether_it_came_as_number_or_as_text)
{
    static const double x[] = { 12, 0.5, NAN, 12 };
    static const char text[] = "12n/a007";
    static const uint32_t end[] = { 2, 5, 8 }, code[] = { 0, 1, TAB_NULL, 0, 2 };
    static const uint8_t kind[] = { TAB_CELL_TEXT, TAB_CELL_TEXT, TAB_CELL_TEXT };
    const tab_column numbers = { .layout = TAB_NUMBERS, .num = x };
    const tab_column texts = {
        .layout = TAB_CODED, .code = code, .text = text, .end = end, .kind = kind, .levels = 3
    };
    bool exact;
    tab_sketch *s = tab_sketch_new(1);
    cr_assert(tab_sketch_add(s, &numbers, 4) && tab_sketch_add(s, &texts, 5));
    cr_expect(tab_sketch_count(s, TAB_S("12"), &exact) == 4 && exact);
    cr_expect(tab_sketch_count(s, TAB_S("007"), &exact) == 1 && tab_sketch_count(s, TAB_S("7"), &exact) == 0);
    cr_expect(tab_sketch_distinct(s, &exact) == 4);
    cr_expect(tab_sketch_present(s) == 7 && tab_sketch_numbers(s) == 5);
    tab_sketch_free(s);
}

/* A sample of rows 0, 1, ... whose cells are their numbers, taken in pieces of such a size. */
static const tab_table *sampled(tab_arena *a, size_t piece, size_t from, size_t to, uint64_t **ret_row)
{
    enum { MOST = 3000, AT_ONCE = 3 };
    static double x[ROWS];
    const tab_column name[] = { { .name = TAB_S("x") } };
    const tab_table top = { .id = TAB_S("t"), .cols = 1, .col = name }, *t = NULL;
    tab_sample *s = tab_sample_new(MOST, 1, true, 7);
    cr_assert(s != NULL);
    for (size_t i = 0; i < ROWS; i++)
        x[i] = (double)i;
    for (size_t at = 0; at < ROWS;) {
        tab_column col[AT_ONCE];
        tab_table table[AT_ONCE];
        const tab_table *each[AT_ONCE];
        size_t n = 0;
        for (; n < AT_ONCE && at < ROWS; n++) {
            size_t rows = ROWS - at < piece ? ROWS - at : piece;
            col[n] = (tab_column){ .layout = TAB_NUMBERS, .num = x + at };
            table[n] = (tab_table){ .rows = rows, .cols = 1, .col = &col[n] };
            each[n] = &table[n];
            at += rows;
        }
        cr_assert(tab_sample_choose(s, each, n) && tab_sample_take(s, 0, each, n));
    }
    cr_assert(tab_sample_end(s) && tab_sample_table(s, a, &top, from, to, &t, ret_row));
    cr_expect(tab_sample_rows(s) == ROWS);
    tab_sample_free(s);
    return t;
}

Test(sample, is_even_and_of_the_rows_alone_whatever_the_pieces)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    uint64_t *row, *other, *rest;
    const tab_table *t = sampled(a, 7000, 0, 2000, &row), *u = sampled(a, 911, 0, 2000, &other),
                    *v = sampled(a, 911, 2000, 3000, &rest);
    double mean = 0;
    cr_assert(t->rows == 2000 && v->rows == 1000 && tab_table_equal(t, u));
    for (size_t i = 0; i < t->rows; i++) {
        cr_expect(row[i] == other[i] && (double)row[i] == t->col[0].num[i]);
        mean += (double)row[i] / ROWS / 2000;
    }
    for (size_t i = 0, k = 0; i < v->rows; i++) {
        while (k < t->rows && row[k] < rest[i])
            k++;
        cr_expect(k == t->rows || row[k] != rest[i], "a row is in both");
    }
    cr_expect_float_eq(mean, 0.5, 4 * 0.2887 / sqrt(2000), "%f", mean);
}

/* A sketch that was written and read goes on as the one that was not. */
Test(sketch, one_that_was_written_and_read_is_the_same)
{
    static double x[ROWS];
    uint64_t state = 9;
    for (size_t i = 0; i < ROWS; i++)
        x[i] = floor((double)(draw(&state) >> 11) * 0x1p-53 * 9000);
    tab_sketch *whole = of_numbers(x, ROWS, PIECE), *half = of_numbers(x, ROWS / 2, PIECE);
    tab_out o = { 0 };
    tab_sketch_write(half, &o);
    tab_out_bytes(&o, "behind", 6);
    tab_str rest = tab_out_text(&o);
    tab_sketch *back = tab_sketch_read(&rest);
    cr_assert(back != NULL);
    cr_expect(tab_str_eq(rest, TAB_S("behind")));
    for (size_t at = ROWS / 2; at < ROWS; at += PIECE) {
        tab_column c = { .layout = TAB_NUMBERS, .num = x + at };
        cr_assert(tab_sketch_add(back, &c, ROWS - at < PIECE ? ROWS - at : PIECE));
    }
    bool exact[2];
    cr_expect(tab_sketch_distinct(back, &exact[0]) == tab_sketch_distinct(whole, &exact[1]));
    cr_expect(exact[0] == exact[1] && tab_sketch_numbers(back) == tab_sketch_numbers(whole));
    for (double q = 0; q <= 1; q += 0.125) /* pieces are cut elsewhere: within the bound */
        cr_expect_float_eq(tab_sketch_quantile(back, q), tab_sketch_quantile(whole, q), 90);
    for (size_t n = 0; n < o.n - 6; n += 997) {
        tab_str cut = { o.p, n };
        cr_expect(tab_sketch_read(&cut) == NULL);
    }
    tab_sketch_free(whole);
    tab_sketch_free(half);
    tab_sketch_free(back);
    tab_out_free(&o);
}
