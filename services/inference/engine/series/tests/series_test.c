#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/csv/csv.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/series/tests/held.h"
#include "services/inference/engine/series/tests/places.h"

/* ---- made tables ---------------------------------------------------------------------------------- */

Test(series, of_made_tables_is_found)
{
    size_t n = 0, right = 0;
    for (size_t i = 0; i < MADE_WITH_TIME; i += 5, n++) {
        made_table m;
        held h;
        made_series(2, i, &m);
        cr_assert(hold_series(&m, &h));
        right += h.right;
        if (!h.right)
            fprintf(stderr, "%zu %s: %s\n", i, m.group, h.said);
        free(m.text);
    }
    cr_expect_geq(100 * right, 98 * n, "%zu of %zu", right, n);
}

Test(series, is_seen_in_no_table_without_time)
{
    for (size_t i = 0; i < MADE_WITHOUT; i++) {
        made_table m;
        held h;
        made_series(3, MADE_WITH_TIME + i, &m);
        cr_assert(hold_series(&m, &h));
        cr_expect(h.right, "%zu %s: %s", i, m.group, h.said);
        free(m.text);
    }
}

/* ---- tables by hand ------------------------------------------------------------------------------- */

typedef struct {
    tab_arena *a;
    const tab_table *t;
    tab_profile *p;
    bool *asked;
    tab_series s;
    size_t target;
} found;

/* The time of a CSV whose last column is the target; its empty cells are asked. */
static found find(tab_arena *a, const char *text)
{
    found f = { .a = a };
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    tab_csv_notes notes;
    tab_error err = { 0 };
    e->arena = a;
    cr_assert_eq(tab_csv_read(a, tab_str_of(text), TAB_S("t"), &f.t, &notes, &err), TAB_OK, "%s",
                 err.message);
    cr_assert_eq(tab_profile_table(e, f.t, &f.p, &err), TAB_OK);
    f.target = f.t->cols - 1;
    f.asked = tab_arena_new_of(a, bool, f.t->rows + 1);
    for (size_t r = 0; r < f.t->rows; r++)
        f.asked[r] = tab_cell_at(&f.t->col[f.target], r).kind == TAB_CELL_NULL;
    cr_assert_eq(tab_series_find(a, f.p, f.target, f.asked, &f.s, &err), TAB_OK);
    return f;
}

typedef struct {
    char *p;
    size_t n, room;
} page;

__attribute__((format(printf, 2, 3))) static void put(page *o, const char *fmt, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, fmt);
    size_t n = (size_t)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (o->n + n + 1 > o->room)
        o->p = realloc(o->p, o->room = 2 * (o->n + n) + 256);
    memcpy(o->p + o->n, line, n + 1);
    o->n += n;
}

/* Chance without state: 0..1 from a number. */
static double die(size_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    return (double)((z ^ z >> 27) >> 11) / 9007199254740992.0;
}

static bool is(const found *f, size_t column, const char *name)
{
    return tab_str_eq(f->t->col[column].name, tab_str_of(name));
}

Test(series, with_a_year_and_stores_numbered_like_months_is_by_store)
{
    static const double level[] = { 300, 50, 800, 120, 640, 90, 400, 700, 20, 550, 260, 900 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    put(&o, "year,store,y\n");
    for (size_t y = 0; y < 16; y++)
        for (size_t s = 0; s < 12; s++)
            put(&o, y < 14 ? "%zu,%zu,%.2f\n" : "%zu,%zu,\n", 2005 + y, s + 1,
                level[s] + 5 * (double)y + 9 * die(12 * y + s));
    found f = find(a, o.p);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect(is(&f, f.s.time[0], "year") && f.s.keys == 1 && is(&f, f.s.key[0], "store"));
    cr_expect_eq(f.s.n, 12);
    cr_expect_eq(f.s.unit, TAB_STEP_YEARS);
    free(o.p);
}

Test(series, of_years_of_an_account_is_seen_and_of_numbers_like_years_is_not)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page fiscal = { 0 }, ids = { 0 };
    put(&fiscal, "fiscal,revenue\n");
    for (size_t y = 0; y < 20; y++)
        put(&fiscal, "FY%02zu,%.2f\n", (95 + y) % 100, 100 + 4 * (double)y + 5 * die(y));
    found f = find(a, fiscal.p);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect_eq(f.s.unit, TAB_STEP_YEARS);
    cr_expect_eq(f.s.index[19], 19, "over the turn of the century");
    put(&ids, "id,x,y\n");
    for (size_t k = 1900; k < 2100; k++)
        put(&ids, "%zu,%.3f,%.3f\n", k, die(k), die(k + 5000));
    f = find(a, ids.p);
    cr_expect_eq(f.s.kind, TAB_TIME_NONE);
    free(fiscal.p);
    free(ids.p);
}

Test(series, of_two_dates_is_by_the_one_after_which_the_asked_rows_come)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    put(&o, "shipped,born,ordered,y\n");
    for (size_t i = 0; i < 600; i++) { /* shuffled: 7 and 600 have no common divisor */
        size_t k = i * 7 % 600, day = k / 4, ship = day + 1 + (size_t)(9 * die(i));
        put(&o, "2020-%02zu-%02zu,%d-%02d-11,2020-%02zu-%02zu,", ship / 28 + 1, ship % 28 + 1,
            1950 + (int)(40 * die(i + 999)), 1 + (int)(12 * die(i + 5)), day / 28 + 1, day % 28 + 1);
        put(&o, k < 500 ? "%.3f\n" : "\n", die(i + 777));
    }
    found f = find(a, o.p);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect(is(&f, f.s.time[0], "ordered"));
    cr_expect_eq(f.s.keys, 0);
    free(o.p);
}

Test(series, of_histories_of_events_is_told_apart_by_values)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    put(&o, "who,day,wins\n");
    double at[8] = { 0 };
    size_t wins[8] = { 3, 90, 40, 11, 60, 25, 1, 75 };
    for (size_t i = 0; i < 400; i++) {
        size_t w = (size_t)(8 * die(i));
        at[w] = (double)i * 9 + 7 * die(i + 50);
        size_t day = (size_t)at[w];
        put(&o, "P%zu,%zu-%02zu-%02zu,%zu\n", w, 1990 + day / 336, day % 336 / 28 + 1, day % 28 + 1,
            ++wins[w]);
    }
    found f = find(a, o.p);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect(f.s.keys == 1 && is(&f, f.s.key[0], "who"));
    cr_expect_not(f.s.regular);
    free(o.p);
}

Test(series, of_dates_newest_first_in_text_is_turned_over)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    put(&o, "Week,y\n");
    for (size_t i = 0; i < 60; i++) {
        int y, m, d;
        tab_civil_from_days(17000 - 7 * (int64_t)i, &y, &m, &d);
        put(&o, i < 9 ? "%d/%d/%d,\n" : "%d/%d/%d,%.2f\n", m, d, y, 50 + 10 * sin((double)i / 5) + die(i));
    }
    found f = find(a, o.p);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect_eq(f.s.unit, TAB_STEP_SECONDS);
    cr_expect_eq(f.s.step, 7 * 86400.0);
    cr_expect(f.s.regular && f.s.falls && f.s.index[59] == 0 && f.s.index[0] == 59);
    cr_expect_str_eq(f.s.note[0], "the newest rows come first");
    free(o.p);
}

/* A walk without a column of time, a seventh of whose rows is asked: its last ones, or drawn and put last. */
static tab_time_kind walk(bool drawn)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    enum { ROWS = 700 };
    double x[ROWS], y[ROWS], at = 50, noise = 0;
    page o = { 0 };
    for (size_t i = 0; i < ROWS; i++) {
        at += die(i) + die(i + 7000) - 1;
        noise = 0.8 * noise + die(i + 9000) - 0.5;
        x[i] = at, y[i] = 100 - at + noise;
    }
    put(&o, "x,y\n");
    for (size_t asked = 0; asked < 2; asked++)
        for (size_t i = 0; i < ROWS; i++)
            if ((drawn ? die(i + 333) < 1.0 / 7 : i >= ROWS - ROWS / 7) == asked)
                put(&o, asked ? "%.4f,\n" : "%.4f,%.4f\n", x[i], y[i]);
    found f = find(a, o.p);
    free(o.p);
    return f.s.kind;
}

Test(series, of_rows_in_order_is_seen_unless_the_last_were_drawn_from_all)
{
    cr_expect_eq(walk(false), TAB_TIME_ORDER);
    cr_expect_eq(walk(true), TAB_TIME_NONE);
}

/* ---- places ---------------------------------------------------------------------------------------- */

Test(series, says_how_many_steps_ahead_asked_rows_are)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    put(&o, "shop,month,y\n");
    for (size_t s = 0; s < 6; s++)
        for (size_t k = 0; k < 30; k++) {
            bool ask = s == 5 || k >= (s == 4 ? 20 : 28) || k == 11;
            put(&o, ask ? "S%zu,%zu-%02zu,\n" : "S%zu,%zu-%02zu,%.2f\n", s, 2019 + k / 12, k % 12 + 1,
                100 * (double)s + (double)k + die(30 * s + k));
        }
    put(&o, "S1,,\n");
    found f = find(a, o.p);
    tab_row_place *at;
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_assert(tab_series_place(a, &f.s, f.t->rows, f.asked, &at));
    cr_expect(at[28].relation == TAB_PLACE_AFTER && at[28].ahead == 1 && !at[28].new_series);
    cr_expect(at[29].relation == TAB_PLACE_AFTER && at[29].ahead == 2);
    cr_expect(at[11].relation == TAB_PLACE_AMONG && at[11].ahead == 0);
    cr_expect(at[4 * 30 + 29].relation == TAB_PLACE_AFTER && at[4 * 30 + 29].ahead == 10);
    cr_expect(at[5 * 30].relation == TAB_PLACE_AMONG && at[5 * 30].new_series);
    cr_expect_eq(at[180].relation, TAB_PLACE_UNKNOWN, "no time, no place");
    cr_expect_eq(at[0].relation, TAB_PLACE_UNKNOWN, "not asked");
    free(o.p);
}

/* ---- groups ---------------------------------------------------------------------------------------- */

enum { ASK_TOWNS, ASK_ROWS, ASK_REGION };

static tab_str grouped(tab_arena *a, int ask)
{
    page o = { 0 };
    put(&o, "row,region,town,x,y\n");
    for (size_t i = 0; i < 400; i++) {
        size_t town = i / 10, region = town / 8;
        bool asked = ask == ASK_TOWNS ? town % 5 == 3 : ask == ASK_REGION ? region == 2 : die(i) < 0.2;
        put(&o, asked ? "R%zu,reg%zu,%zu,%.3f,\n" : "R%zu,reg%zu,%zu,%.3f,%.3f\n", i, region, 500 + 13 * town,
            die(i + 4000), die(i + 8000) + (double)(town % 7));
    }
    found f = find(a, o.p);
    size_t column;
    bool *fresh;
    cr_assert(tab_asked_groups(a, f.p, &f.s, f.target, f.asked, &column, &fresh));
    for (size_t r = 0; r < f.t->rows; r++)
        cr_expect_eq(fresh[r], f.asked[r] && column < f.t->cols);
    free(o.p);
    return column < f.t->cols ? f.t->col[column].name : TAB_S("none");
}

Test(series, names_the_groups_of_which_all_that_are_asked_are_new)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    cr_expect(tab_str_eq(grouped(a, ASK_TOWNS), TAB_S("town")), "regions are known, rows are new by nature");
    cr_expect(tab_str_eq(grouped(a, ASK_REGION), TAB_S("region")), "the coarser of two that are new");
    cr_expect(tab_str_eq(grouped(a, ASK_ROWS), TAB_S("none")), "rows at random");
}

/* ---- seasons, blocks --------------------------------------------------------------------------------- */

/* Fifteen years of months; a year in them or none. */
static size_t seasons_of(double swing)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    page o = { 0 };
    double y = 50;
    put(&o, "month,y\n");
    for (size_t k = 0; k < 180; k++) {
        y += 2 * die(k) - 1;
        put(&o, k < 170 ? "%zu-%02zu,%.3f\n" : "%zu-%02zu,\n", 2005 + k / 12, k % 12 + 1,
            y + swing * sin(2 * 3.14159265 * (double)k / 12));
    }
    found f = find(a, o.p);
    cr_assert_eq(f.s.unit, TAB_STEP_MONTHS);
    free(o.p);
    return f.s.seasons;
}

Test(series, has_the_calendars_season_where_the_values_have_it)
{
    cr_expect_eq(seasons_of(3), 1);
    cr_expect_eq(seasons_of(0), 0, "a random walk has no year");
}

/* Nine series one below the other, then six rows of each to be answered, one below the other as well. */
static found below(tab_arena *a, bool counted)
{
    page o = { 0 };
    put(&o, counted ? "item,t,y\n" : "item,y\n");
    for (size_t i = 0; i < 9 * 36; i++) {
        bool asked = i >= 9 * 30;
        size_t s = asked ? (i - 9 * 30) / 6 : i / 30, k = asked ? 30 + (i - 9 * 30) % 6 : i % 30;
        put(&o, "%zu,", s);
        if (counted)
            put(&o, "%zu,", k + 1);
        put(&o, asked ? "\n" : "%.2f\n", (double)(s + 1) * (10 + 4 * (double)(k % 4 == 1) + die(40 * s + k)));
    }
    found f = find(a, o.p);
    free(o.p);
    return f;
}

Test(series, one_below_the_other_are_no_order_of_rows)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    cr_expect_eq(below(a, false).s.kind, TAB_TIME_NONE);
}

Test(series, are_by_a_count_after_which_rows_of_each_are_asked)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 28);
    found f = below(a, true);
    cr_assert_eq(f.s.kind, TAB_TIME_COLUMN);
    cr_expect(is(&f, f.s.time[0], "t") && f.s.keys == 1 && is(&f, f.s.key[0], "item"));
}

/* ---- edges ----------------------------------------------------------------------------------------- */

Test(series, of_what_is_hardly_a_table_is_none)
{
    static const char *const text[] = {
        "a,y\n",
        "a,y\n1,2\n",
        "a,y\n,\n,\n",
        "a,b,y\n1,,\n2,,\n3,,\n",
        "t,y\n1,\n1,\n1,\n1,\n1,\n1,\n1,\n",
        "year,month,y\n2020,1,1\n2020,2,\n,,\n2021,13,4\n",
        "d,y\n2020-01-01,1\n2020-01-01,2\n2020-01-01,3\n2020-01-01,4\n2020-01-01,5\n2020-01-01,6\n",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
        found f = find(a, text[i]);
        tab_row_place *at;
        size_t column;
        bool *fresh;
        cr_expect_eq(f.s.kind, TAB_TIME_NONE, "%s", text[i]);
        cr_assert(tab_series_place(a, &f.s, f.t->rows, f.asked, &at));
        cr_assert(tab_asked_groups(a, f.p, &f.s, f.target, f.asked, &column, &fresh));
        /* nobody asked, and no target */
        cr_expect_eq(tab_series_find(a, f.p, f.t->cols, NULL, &f.s, NULL), TAB_OK);
    }
}

/* Cells of all kinds at random: whatever comes, it is answered within its bounds. */
Test(series, of_any_cells_holds_its_bounds)
{
    static const char *const odd[] = { "",       "1",         "0",     "-1",         "2020",
                                       "202013", "20200230",  "1e308", "-1e308",     "99999999999999",
                                       "Feb",    "Q3",        "x7",    "2020-02-30", "2019-05-04",
                                       "23:59",  "1949.0833", "0.1",   "NA" };
    for (size_t n = 0; n < 120; n++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 27);
        page o = { 0 };
        size_t cols = 1 + n % 6, kinds = 1 + (n * 7) % (sizeof odd / sizeof *odd);
        for (size_t c = 0; c < cols; c++)
            put(&o, "c%zu,", c);
        put(&o, "y\n");
        for (size_t r = 0; r < 10 + n; r++) {
            for (size_t c = 0; c < cols; c++)
                put(&o, "%s,",
                    odd[((size_t)(die(n * 99991 + r * 31 + c) * (double)kinds) + c * n) %
                        (sizeof odd / sizeof *odd)]);
            put(&o, die(r + n) < 0.2 ? "\n" : "%zu\n", r % 5);
        }
        found f = find(a, o.p);
        for (size_t r = 0; r < f.t->rows; r++) {
            cr_assert(f.s.series[r] == TAB_NULL || f.s.series[r] < f.s.n);
            cr_assert(f.s.index[r] == INT64_MIN || (f.s.index[r] >= 0 && !isnan(f.s.when[r])));
        }
        cr_assert(f.s.step > 0);
        free(o.p);
    }
}
