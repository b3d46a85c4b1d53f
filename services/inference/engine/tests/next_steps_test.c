/* A forecast that is asked with no more said (decision 0842), and one of a handful of values (0843). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"

typedef double of_step(size_t i, size_t seed);

static double normal(size_t i, size_t j) /* Irwin and Hall */
{
    double sum = -6;
    for (size_t k = 0; k < 12; k++)
        sum += tab_unit(tab_mix2(tab_mix2(i, j), k));
    return sum;
}

static double level(size_t i, size_t seed)
{
    return round(200 + 14 * normal(i, seed));
}

static double trend(size_t i, size_t seed)
{
    return 100 + 5 * (double)i + 3 * normal(i, seed);
}

static double growth(size_t i, size_t seed)
{
    return 1000 * exp(0.08 * (double)i + 0.02 * normal(i, seed));
}

static double count(size_t i, size_t seed)
{
    (void)seed;
    return 5 + (double)i;
}

/* n values of f, under the times that `dated` says: a date each, a count beside them, or nothing. */
typedef enum { DATED, COUNTED, BARE } times;

static tab_status ahead(tab_arena *a, times when, of_step *f, size_t seed, size_t n, size_t horizon,
                        const char *also, Tabella__Bundle **ret, tab_error *err)
{
    tab_column col[3];
    tab_builder *b[3] = { tab_builder_new(a, when == COUNTED ? TAB_S("step") : TAB_S("day")),
                          tab_builder_new(a, TAB_S("sold")),
                          tab_builder_new(a, tab_str_of(also == NULL ? "" : also)) };
    char day[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(day, sizeof day, "%zu-01-01", 1990 + i);
        if (when == DATED)
            tab_builder_text(b[0], tab_arena_copy(a, tab_str_of(day)));
        else
            tab_builder_number(b[0], (double)i);
        tab_builder_number(b[1], f(i, seed));
        tab_builder_text(b[2], i % 2 == 0 ? TAB_S("yes") : TAB_S("no"));
    }
    size_t cols = 0;
    if (when != BARE)
        cr_assert(tab_builder_finish(b[0], &col[cols++]));
    cr_assert(tab_builder_finish(b[1], &col[cols++]));
    if (also != NULL)
        cr_assert(tab_builder_finish(b[2], &col[cols++]));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *own = tab_arena_new_of(a, tab_column, cols);
    memcpy(own, col, cols * sizeof *own);
    *t = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = cols, .col = own };
    const tab_table *tables[] = { t };
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    o.horizon = horizon;
    return tab_engine_run(&e, tables, 1, &o, ret, err);
}

static const Tabella__Forecast *steps(tab_arena *a, times when, of_step *f, size_t seed, size_t n)
{
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    cr_assert_eq(ahead(a, when, f, seed, n, 3, NULL, &b, &err), TAB_OK, "%s", err.message);
    cr_assert_eq(b->prediction->forecast->n_value, 3);
    return b->prediction->forecast;
}

/* Nothing beside the day tells of what is sold: its own past does. */
Test(next_steps, are_of_the_column_of_numbers_where_no_target_is_named)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const Tabella__Forecast *f = steps(a, DATED, level, 1, 60);
    cr_expect(fabs(f->value[0] - 200) < 14 && f->low[0] < 190 && f->high[0] > 210);
    f = steps(a, DATED, trend, 1, 60); /* the day determines it: it is no copy of the day */
    cr_expect(fabs(f->value[2] - 410) < 10, "%g", f->value[2]);
    f = steps(a, DATED, count, 0, 30); /* it looks like numbers of rows */
    cr_expect(fabs(f->value[0] - 35) < 1, "%g", f->value[0]);
}

Test(next_steps, of_a_bare_list_are_counted_from_its_first_value)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    const Tabella__Forecast *f = steps(a, BARE, level, 2, 60);
    cr_expect_eq(f->n_time, 0);
    double at[3];
    cr_assert_eq(f->at->numbers.len, sizeof at);
    memcpy(at, f->at->numbers.data, sizeof at);
    cr_expect(at[0] == 60 && at[2] == 62);
    f = steps(a, COUNTED, trend, 2, 40);
    cr_expect_eq(f->n_time, 1);
    cr_expect(fabs(f->value[2] - 310) < 12, "%g", f->value[2]);
}

Test(next_steps, need_numbers)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_column col[2];
    tab_builder *b[2] = { tab_builder_new(a, TAB_S("day")), tab_builder_new(a, TAB_S("open")) };
    char day[32];
    for (size_t i = 0; i < 30; i++) {
        snprintf(day, sizeof day, "2026-03-%02zu", i + 1);
        tab_builder_text(b[0], tab_arena_copy(a, tab_str_of(day)));
        tab_builder_text(b[1], i % 3 == 0 ? TAB_S("yes") : TAB_S("no"));
    }
    cr_assert(tab_builder_finish(b[0], &col[0]) && tab_builder_finish(b[1], &col[1]));
    tab_table t = { .id = TAB_S("t"), .rows = 30, .cols = 2, .col = col };
    const tab_table *tables[] = { &t };
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    Tabella__Bundle *m;
    tab_error err = { 0 };
    o.horizon = 2;
    cr_expect_eq(tab_engine_run(&e, tables, 1, &o, &m, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.message, "no column of numbers to forecast was found; name one in target.column");
}

/* The share of 80% intervals that hold what comes, over series of 3 to 11 values. */
static double held(of_step *f, double *ret_beside_last)
{
    size_t in = 0, all = 0;
    double off = 0, last = 0;
    for (size_t n = 3; n < 12; n++)
        for (size_t seed = 10; seed < 22; seed++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
            const Tabella__Forecast *s = steps(a, DATED, f, seed, n);
            for (size_t h = 0; h < 3; h++, all++) {
                double truth = f(n + h, seed);
                cr_assert(s->low[h] <= s->value[h] && s->value[h] <= s->high[h]);
                in += truth >= s->low[h] && truth <= s->high[h];
                off += fabs(truth - s->value[h]), last += fabs(truth - f(n - 1, seed));
            }
        }
    *ret_beside_last = off / last;
    return (double)in / (double)all;
}

Test(next_steps, of_a_handful_of_values_hold_what_comes)
{
    double beside, share = held(level, &beside);
    cr_expect(share > 0.72 && share < 0.95, "about a mean: %g", share);
    cr_expect(beside < 1, "%g", beside);
    share = held(trend, &beside);
    cr_expect(share > 0.75, "on a line: %g", share); /* 0.04 to 0.5 before */
    cr_expect(beside < 0.6, "%g", beside);
    share = held(growth, &beside);
    cr_expect(share > 0.75, "growth: %g", share); /* 0 to 0.5 before */
    cr_expect(beside < 0.6, "%g", beside);
}

Test(next_steps, of_a_handful_of_values_are_wider_the_farther_they_lie)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    Tabella__Bundle *b = NULL;
    tab_error err = { 0 };
    cr_assert_eq(ahead(a, DATED, trend, 5, 6, 40, NULL, &b, &err), TAB_OK, "%s", err.message);
    const Tabella__Forecast *f = b->prediction->forecast;
    for (size_t h = 1; h < 40; h++)
        cr_expect_gt(f->high[h] - f->low[h], f->high[h - 1] - f->low[h - 1]);
    cr_expect_lt(f->value[39], 400, "a slope of six values does not go on for forty: %g", f->value[39]);
    cr_expect_eq(b->prediction->n_regimes, 1);
    cr_expect_eq(b->prediction->regimes[0]->judged, 4, "each value from the third on");
}

Test(next_steps, of_few_values_in_each_of_some_series_stay_apart)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)4 << 30);
    tab_column col[3];
    tab_builder *b[3] = { tab_builder_new(a, TAB_S("shop")), tab_builder_new(a, TAB_S("year")),
                          tab_builder_new(a, TAB_S("sold")) };
    for (size_t i = 0; i < 10; i++) {
        tab_builder_text(b[0], i < 5 ? TAB_S("harbour") : TAB_S("station"));
        tab_builder_number(b[1], 2019 + (double)(i % 5));
        tab_builder_number(b[2], (i < 5 ? 100 : 9000) + 3 * normal(i, 1));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = 10, .cols = 3, .col = col };
    const tab_table *tables[] = { &t };
    tab_engine e = { .arena = a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    Tabella__Bundle *m;
    tab_error err = { 0 };
    o.horizon = 2, o.target = TAB_TARGET_COLUMN, o.target_column = TAB_S("sold");
    cr_assert_eq(tab_engine_run(&e, tables, 1, &o, &m, &err), TAB_OK, "%s", err.message);
    const Tabella__Forecast *f = m->prediction->forecast;
    cr_assert_eq(f->n_value, 4);
    cr_expect(fabs(f->value[0] - 100) < 12 && fabs(f->value[2] - 9000) < 12, "%g, %g", f->value[0],
              f->value[2]);
    cr_expect(f->high[1] < 150 && f->low[3] > 8900);
}
