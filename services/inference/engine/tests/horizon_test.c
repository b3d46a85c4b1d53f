/* options.horizon: which rows are made, how their times are written, and where their answers stand. */
#include "services/inference/engine/horizon/horizon.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/bundle.h"
#include "services/inference/engine/features/mix.h"

enum { COLS = 6 };

typedef struct {
    tab_arena *a;
    tab_builder *b[COLS];
    size_t cols;
    tab_column col[COLS];
    tab_table t;
} maker;

static maker start(const char *const *names, size_t n)
{
    maker m = { .a = tab_arena_new((size_t)4 << 30), .cols = n, .t = { .id = TAB_S("t") } };
    for (size_t c = 0; c < n; c++)
        m.b[c] = tab_builder_new(m.a, tab_str_of(names[c]));
    return m;
}

static const tab_table *done(maker *m)
{
    m->t.rows = tab_builder_rows(m->b[0]);
    m->t.cols = m->cols;
    for (size_t c = 0; c < m->cols; c++)
        cr_assert(tab_builder_finish(m->b[c], &m->col[c]));
    m->t.col = m->col;
    return &m->t;
}

static double noise(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j)) - 0.5;
}

/* A cell as a text. */
static const char *cell(tab_arena *a, const tab_table *t, size_t c, size_t r)
{
    tab_cell x = tab_cell_at(&t->col[c], r);
    char buf[40];
    if (x.kind == TAB_CELL_NULL)
        return "";
    if (x.text.n > 0)
        return tab_arena_copy(a, x.text).p;
    buf[tab_number_text(x.num, buf)] = 0;
    return tab_arena_printf(a, "%s", buf);
}

static tab_status make(maker *m, const tab_table *t, size_t target, size_t horizon, tab_horizon *h,
                       tab_error *err)
{
    tab_engine e = { .arena = m->a };
    tab_profile *p;
    bool number;
    TAB_TRY(tab_profile_table(&e, t, &p, err));
    cr_assert(tab_view_as_number(m->a, &p->col[target], t->rows, &number));
    return tab_horizon_make(m->a, p, target, horizon, h, err);
}

/* ---- how times are written ---------------------------------------------------------------------------- */

typedef void write_time(size_t i, char *out, size_t room);

static void months(size_t i, char *out, size_t room)
{
    snprintf(out, room, "%zu-%02zu-01", 2019 + i / 12, i % 12 + 1);
}

static void german(size_t i, char *out, size_t room)
{
    snprintf(out, room, "01.%02zu.%zu", i % 12 + 1, 2019 + i / 12);
}

static void american(size_t i, char *out, size_t room)
{
    snprintf(out, room, "%zu/15/%zu", i % 12 + 1, 2019 + i / 12);
}

static void ends(size_t i, char *out, size_t room)
{
    static const int last[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    size_t y = 2019 + i / 12, m = i % 12;
    snprintf(out, room, "%zu-%02zu-%d", y, m + 1, m == 1 && y % 4 == 0 ? 29 : last[m]);
}

static void names(size_t i, char *out, size_t room)
{
    static const char *const of[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    snprintf(out, room, "%s %zu", of[i % 12], 2019 + i / 12);
}

static void hours(size_t i, char *out, size_t room)
{
    snprintf(out, room, "2026-03-%02zuT%02zu:00:00Z", 1 + i / 24, i % 24);
}

static void zone(size_t i, char *out, size_t room)
{
    snprintf(out, room, "2026-03-%02zu %02zu:00:00+02:00", 1 + i / 24, i % 24);
}

static void days(size_t i, char *out, size_t room)
{
    snprintf(out, room, "2026-%02zu-%02zu", i < 31 ? (size_t)1 : (size_t)2, i < 31 ? i + 1 : i - 30);
}

Test(horizon, times_are_written_as_the_column_writes_them)
{
    static const struct {
        const char *name;
        write_time *write;
        size_t rows;
        const char *want[3], *step;
    } cases[] = {
        { "months", months, 60, { "2024-01-01", "2024-02-01", "2024-03-01" }, "P1M" },
        { "day, month, year", german, 58, { "01.11.2023", "01.12.2023", "01.01.2024" }, "P1M" },
        { "month, day, year", american, 60, { "1/15/2024", "2/15/2024", "3/15/2024" }, "P1M" },
        { "ends of months", ends, 60, { "2024-01-31", "2024-02-29", "2024-03-31" }, "P1M" },
        { "names of months", names, 60, { "Jan 2024", "Feb 2024", "Mar 2024" }, "P1M" },
        { "hours",
          hours,
          100,
          { "2026-03-05T04:00:00Z", "2026-03-05T05:00:00Z", "2026-03-05T06:00:00Z" },
          "PT1H" },
        { "hours of a zone",
          zone,
          100,
          { "2026-03-05 04:00:00+02:00", "2026-03-05 05:00:00+02:00", "2026-03-05 06:00:00+02:00" },
          "PT1H" },
        { "days", days, 57, { "2026-02-27", "2026-02-28", "2026-03-01" }, "P1D" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m = start((const char *const[]){ "when", "sold" }, 2);
        for (size_t r = 0; r < cases[i].rows; r++) {
            char text[40];
            cases[i].write(r, text, sizeof text);
            tab_builder_text(m.b[0], tab_str_of(text));
            tab_builder_number(m.b[1],
                               round(100 + 2 * (double)r + 10 * sin((double)r / 2) + 9 * noise(r, i)));
        }
        const tab_table *t = done(&m);
        tab_horizon h;
        tab_error err = { 0 };
        bool number;
        cr_assert(make(&m, t, 1, 3, &h, &err) == TAB_OK, "%s: %s", cases[i].name, err.message);
        cr_assert_eq(h.made, 3, "%s: %zu", cases[i].name, h.made);
        cr_assert_eq(h.table->rows, cases[i].rows + 3);
        for (size_t k = 0; k < 3; k++) {
            const char *got = cell(m.a, h.table, 0, h.row[k]);
            cr_expect_str_eq(got, cases[i].want[k], "%s: %s", cases[i].name, got);
            cr_expect_str_eq(cell(m.a, h.table, 1, h.row[k]), "", "%s: the target is asked", cases[i].name);
        }
        for (size_t r = 0; r < t->rows; r++)
            cr_assert_str_eq(cell(m.a, h.table, 0, r), cell(m.a, t, 0, r));
        const char *step = tab_step_text(m.a, &h.series, &number);
        cr_expect(strcmp(step, cases[i].step) == 0 && !number, "%s: %s", cases[i].name, step);
        tab_arena_free(m.a);
    }
}

/* A number keeps the letters around it, and the zeros in front. */
Test(horizon, fiscal_years_keep_what_stands_around_their_number)
{
    maker m = start((const char *const[]){ "fiscal_year", "unit", "revenue" }, 3);
    char text[40];
    for (size_t unit = 0; unit < 8; unit++)
        for (size_t r = 0; r < 14; r++) {
            snprintf(text, sizeof text, "FY%02zu", r + 7);
            tab_builder_text(m.b[0], tab_str_of(text));
            snprintf(text, sizeof text, "unit %zu", unit);
            tab_builder_text(m.b[1], tab_str_of(text));
            double grown = 100 * ((double)unit + 1) * exp(0.06 * (double)r + 0.04 * noise(r, unit));
            tab_builder_number(m.b[2], round(10 * grown) / 10);
        }
    tab_horizon h;
    tab_error err = { 0 };
    cr_assert(make(&m, done(&m), 2, 2, &h, &err) == TAB_OK, "%s", err.message);
    cr_assert_eq(h.made, 16, "%zu", h.made);
    for (size_t k = 0; k < h.made; k++)
        cr_expect_str_eq(cell(m.a, h.table, 0, h.row[k]), k % 2 == 0 ? "FY21" : "FY22");
    tab_arena_free(m.a);
}

static double decimal_year(size_t i)
{
    return round((1949 + (double)i / 12) * 1e6) / 1e6;
}

static double short_year(size_t i)
{
    return round((1949 + (double)i / 12) * 1e4) / 1e4;
}

static double month6(size_t i)
{
    return (double)(100 * (2019 + i / 12) + i % 12 + 1);
}

static double year(size_t i)
{
    return 1960 + (double)i;
}

static double epoch(size_t i)
{
    return 1700000000000 + 86400000 * (double)i;
}

Test(horizon, numbers_that_are_times_go_on_as_they_are)
{
    static const struct {
        const char *name;
        double (*of)(size_t);
        size_t rows;
    } cases[] = {
        { "decimal years", decimal_year, 120 },
        { "decimal years of four digits", short_year, 144 },
        { "201704", month6, 58 },
        { "years", year, 50 },
        { "milliseconds", epoch, 80 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        maker m = start((const char *const[]){ "when", "sold" }, 2);
        for (size_t r = 0; r < cases[i].rows; r++) {
            tab_builder_number(m.b[0], cases[i].of(r));
            tab_builder_number(m.b[1], round(100 + 3 * (double)r + 40 * sin((double)r) + 9 * noise(r, i)));
        }
        tab_horizon h;
        tab_error err = { 0 };
        cr_assert(make(&m, done(&m), 1, 4, &h, &err) == TAB_OK, "%s: %s", cases[i].name, err.message);
        cr_assert_eq(h.made, 4, "%s: %zu", cases[i].name, h.made);
        for (size_t k = 0; k < 4; k++) {
            double got = h.table->col[0].num[h.row[k]], want = cases[i].of(cases[i].rows + k);
            cr_expect_float_eq(got, want, 1e-9 * want, "%s: %.10g, not %.10g", cases[i].name, got, want);
        }
        tab_arena_free(m.a);
    }
}

/* ---- which rows ---------------------------------------------------------------------------------------- */

/* Shops by month, the second of which ends two months before the others. price: known ahead of shop "a"
 * for one month that was sent. */
static maker shops(bool sent)
{
    maker m = start((const char *const[]){ "month", "shop", "price", "sold" }, 4);
    static const char *const of[] = { "a", "b", "c" };
    char text[40];
    for (size_t r = 0; r < 36; r++)
        for (size_t k = 0; k < 3; k++) {
            if (k == 1 && r >= 34)
                continue;
            months(r, text, sizeof text);
            tab_builder_text(m.b[0], tab_str_of(text));
            tab_builder_text(m.b[1], tab_str_of(of[k]));
            tab_builder_number(m.b[2], round(500 + 100 * noise(r, k)) / 100);
            tab_builder_number(
                m.b[3], round(100 * (double)(k + 1) * (1 + 0.3 * sin((double)r / 2)) + 9 * noise(r, 9)));
        }
    if (sent) {
        months(37, text, sizeof text);
        tab_builder_text(m.b[0], tab_str_of(text));
        tab_builder_text(m.b[1], TAB_S("a"));
        tab_builder_number(m.b[2], 4.75);
        tab_builder_null(m.b[3]);
    }
    return m;
}

Test(horizon, every_series_has_its_own_next_steps_and_sent_rows_win)
{
    maker m = shops(true);
    const tab_table *t = done(&m);
    tab_horizon h;
    tab_error err = { 0 };
    cr_assert(make(&m, t, 3, 3, &h, &err) == TAB_OK, "%s", err.message);
    cr_assert_eq(h.n, 9);
    cr_assert_eq(h.made, 8, "one of them was sent");
    size_t steps, made;
    tab_engine e = { .arena = m.a };
    tab_profile *p;
    bool number;
    cr_assert(tab_profile_table(&e, t, &p, &err) == TAB_OK &&
              tab_view_as_number(m.a, &p->col[3], t->rows, &number));
    cr_assert(tab_horizon_count(m.a, p, 3, 3, &steps, &made, &err) == TAB_OK, "%s", err.message);
    cr_expect(steps == 9 && made == 8, "counted alike: %zu, %zu", steps, made);
    cr_expect_eq(h.row[1], t->rows - 1);
    static const char *const want[] = { "2022-01-01", "2022-02-01", "2022-03-01", "2021-11-01", "2021-12-01",
                                        "2022-01-01", "2022-01-01", "2022-02-01", "2022-03-01" };
    for (size_t i = 0; i < 9; i++) {
        cr_expect_str_eq(cell(m.a, h.table, 0, h.row[i]), want[i]);
        cr_expect_str_eq(cell(m.a, h.table, 1, h.row[i]), i < 3 ? "a" : i < 6 ? "b" : "c");
        cr_expect_str_eq(cell(m.a, h.table, 2, h.row[i]), i == 1 ? "4.75" : "",
                         "what is not known stays empty");
    }
    tab_arena_free(m.a);
}

Test(horizon, a_table_without_times_has_no_next_rows)
{
    maker m = start((const char *const[]){ "size", "price" }, 2);
    for (size_t r = 0; r < 80; r++) {
        tab_builder_number(m.b[0], round(1000 * noise(r, 1)));
        tab_builder_number(m.b[1], round(1000 * noise(r, 2)));
    }
    tab_horizon h;
    tab_error err = { 0 };
    cr_expect_eq(make(&m, done(&m), 1, 3, &h, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "options.horizon");
    tab_arena_free(m.a);
}

/* ---- the whole pass ------------------------------------------------------------------------------ */

Test(horizon, a_pass_tells_the_steps_apart_from_the_rows_that_were_sent)
{
    maker m = shops(true);
    const tab_table *t = done(&m), *tables[] = { t };
    tab_engine e = { .arena = m.a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    Tabella__Bundle *b;
    tab_error err = { 0 };
    size_t table = 9, rows = 0;
    o.target = TAB_TARGET_COLUMN, o.target_column = TAB_S("sold"), o.horizon = 3;
    cr_assert(tab_horizon_rows(&e, tables, 1, &o, &table, &rows, &err) == TAB_OK, "%s", err.message);
    cr_expect_eq(table, 0);
    cr_expect_eq(rows, 8, "the count that is billed: %zu", rows);
    cr_assert(tab_engine_run(&e, tables, 1, &o, &b, &err) == TAB_OK, "%s", err.message);
    const Tabella__Prediction *p = b->prediction;
    const Tabella__Forecast *f = p->forecast;
    cr_assert_not_null(f);
    cr_expect_eq(f->n_value, 9);
    cr_expect(f->n_low == 9 && f->n_high == 9 && f->n_series == 1 && f->n_time == 1);
    cr_expect(f->time[0]->column == 0 && f->series[0]->column == 1);
    for (size_t i = 0; i < 9; i++)
        cr_expect(f->low[i] <= f->value[i] && f->value[i] <= f->high[i], "%zu: %g", i, f->value[i]);
    cr_expect(f->value[6] > f->value[0], "series stay apart: %g, %g", f->value[0], f->value[6]);
    cr_expect_eq(b->tables[0]->rows, t->rows, "made rows are in no table");
    cr_expect_eq(p->missing_target, 1);
    cr_assert_eq(p->missing_target_results->n_row, 1);
    cr_expect_eq(p->missing_target_results->row[0], t->rows - 1);
    cr_expect_float_eq(p->missing_target_results->value[0], f->value[1], 1e-9, "one row, one answer");
    for (size_t i = 0; i < b->imputation->n_row; i++)
        cr_expect_lt(b->imputation->row[i], t->rows);
    tab_arena_free(m.a);
}

Test(horizon, steps_ahead_are_of_a_number)
{
    maker m = shops(false);
    const tab_table *tables[] = { done(&m) };
    tab_engine e = { .arena = m.a };
    tab_run_options o = TAB_RUN_DEFAULTS;
    Tabella__Bundle *b;
    tab_error err = { 0 };
    o.horizon = 3;
    o.target = TAB_TARGET_NONE;
    cr_expect_eq(tab_engine_run(&e, tables, 1, &o, &b, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "options.horizon");
    o.target = TAB_TARGET_COLUMN, o.target_column = TAB_S("shop");
    cr_expect_eq(tab_engine_run(&e, tables, 1, &o, &b, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "options.horizon");
    tab_arena_free(m.a);
}
