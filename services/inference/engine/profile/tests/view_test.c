#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/features/column.h"
#include "services/inference/engine/profile/roles/roles.h"

/* A table of one column from texts; NULL is a null. */
static tab_profile *profile_of(tab_arena *a, const char *const *cells, size_t n)
{
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    for (size_t i = 0; i < n; i++)
        cells[i] == NULL ? tab_builder_null(b) : tab_builder_text(b, tab_str_of(cells[i]));
    tab_column *c = tab_arena_new_of(a, tab_column, 1);
    cr_assert(tab_builder_finish(b, c));
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    *t = (tab_table){ .id = TAB_S("t"), .rows = n, .cols = 1, .col = c };
    tab_engine *e = tab_arena_new_of(a, tab_engine, 1);
    e->arena = a;
    tab_profile *p;
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    return p;
}
#define PROFILE(a, ...)                                   \
    profile_of((a), (const char *const[]){ __VA_ARGS__ }, \
               sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

Test(view, of_money_has_numbers_and_nan_for_foreign_cells)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "$1,200.50", "?", "$3.25", NULL, " $17.10 ", "N/A", "$9.99", "$120.00");
    tab_column_profile *c = &p->col[0];
    cr_assert_eq(c->type, TAB_NUMERIC);
    static const double want[] = { 1200.5, (double)NAN, 3.25, (double)NAN, 17.1, (double)NAN, 9.99, 120 };
    for (size_t i = 0; i < 8; i++)
        cr_expect(c->number[i] == want[i] || (isnan(c->number[i]) && isnan(want[i])), "row %zu: %g", i,
                  c->number[i]);
    cr_expect_eq(c->present, 7);
    cr_expect_eq(c->missing, 0.125, "a mark is a value as sent");
    cr_expect_eq(c->decimals, 2);
}

Test(view, of_marks_alone_is_empty)
{
    static const char *const marks[] = { "?", "N/A", "NA", "-", "null", ".", "NaN", "", " ", "\xc2\xa0" };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
        tab_profile *p = PROFILE(a, marks[i], NULL, marks[i], "--", NULL);
        tab_column_profile *c = &p->col[0];
        cr_expect_eq(c->role, TAB_ROLE_EMPTY, "\"%s\": %s", marks[i], tab_role_names[c->role]);
        cr_expect(c->present == 0 && c->distinct == 0 && c->levels == 0 && !c->pii);
        cr_expect_eq(c->missing, 0.4, "a mark is a value as sent");
        cr_expect(c->code == NULL || c->code[0] == TAB_NULL);
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    cr_expect_neq(PROFILE(a, "?", NULL, "x", "?")->col[0].role, TAB_ROLE_EMPTY, "one value is a value");
    cr_expect_neq(PROFILE(a, "unknown", "none")->col[0].role, TAB_ROLE_EMPTY, "words may be kinds");
    cr_expect_eq(PROFILE(a, "none", NULL, "?")->col[0].role, TAB_ROLE_EMPTY, "a word beside marks is one");
    cr_expect_eq(PROFILE(a, "none", NULL, "none")->col[0].role, TAB_ROLE_EMPTY, "and beside nulls");
}

Test(view, of_dates_uses_one_order_that_an_impossible_day_decides)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "01/02/2020", "03/04/2020", "31/05/2020", "07/07/2020");
    cr_assert_eq(p->col[0].type, TAB_DATETIME);
    cr_expect_eq(p->col[0].number[0], 1580515200.0, "1 February: 31/05 cannot be month first");
}

Test(view, of_a_decimal_comma)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "1,5", "2,75", "1.250,5", "-3,25", "7,125");
    cr_assert_eq(p->col[0].type, TAB_NUMERIC);
    cr_expect_eq(p->col[0].number[2], 1250.5);
    cr_expect_eq(p->col[0].number[4], 7.125);
}

Test(view, of_a_missing_code_is_nan)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "12.5", "14.25", "-999", "11.75", "13.5", "12.25");
    cr_assert_eq(p->col[0].type, TAB_NUMERIC);
    cr_expect(isnan(p->col[0].number[2]));
}

Test(view, of_categories_merges_what_trimming_makes_equal)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "red", " red", "blue ", "blue", "?", "red", "blue", "red", NULL);
    tab_column_profile *c = &p->col[0];
    cr_assert_eq(c->type, TAB_CATEGORICAL);
    cr_expect_eq(c->levels, 2);
    cr_expect(tab_str_eq(c->level[0], TAB_S("red")) && tab_str_eq(c->level[1], TAB_S("blue")));
    cr_expect(c->code[0] == 0 && c->code[1] == 0 && c->code[2] == 1 && c->code[4] == TAB_NULL &&
              c->code[8] == TAB_NULL);
}

Test(view, of_yes_and_no_is_one_and_zero)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "Yes", "no", "NO", NULL, "yes");
    cr_assert_eq(p->col[0].type, TAB_BOOLEAN);
    cr_expect(p->col[0].number[0] == 1 && p->col[0].number[1] == 0 && p->col[0].number[2] == 0 &&
              isnan(p->col[0].number[3]));
}

Test(view, of_nothing_is_empty)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, NULL, NULL, NULL);
    cr_expect_eq(p->col[0].role, TAB_ROLE_EMPTY);
    cr_expect_eq(p->col[0].missing, 1.0);
}

/* A long column is read by a sample first; what the sample did not show still counts. */
static tab_profile *long_dates(tab_arena *a, size_t n, bool slashes, const char *odd, const char **cells)
{
    for (size_t i = 0; i < n; i++) {
        char *t = tab_arena_alloc(a, 32, 1);
        int y, m, d;
        tab_civil_from_days(10000 + (int64_t)i, &y, &m, &d);
        snprintf(t, 32, slashes ? "%d/%d/%d" : "%04d-%02d-%02d 10:00:00", slashes ? 1 + (int)(i % 12) : y,
                 slashes ? 1 + (int)(i / 12 % 12) : m, slashes ? 1900 + (int)(i / 144) : d);
        cells[i] = t;
    }
    cells[n / 2 + 1] = odd;
    return profile_of(a, cells, n);
}

Test(view, of_a_long_column_of_dates_leaves_out_what_is_none)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    enum { N = 6000 };
    static const char *cells[N];
    tab_profile *p = long_dates(a, N, false, "n/a", cells);
    cr_assert_eq(p->col[0].type, TAB_DATETIME);
    cr_expect_eq(p->col[0].number[0], 10000.0 * 86400 + 36000);
    cr_expect_eq(p->col[0].number[N - 1], (10000.0 + N - 1) * 86400 + 36000);
    cr_expect(isnan(p->col[0].number[N / 2 + 1]));
}

Test(view, of_a_long_column_takes_the_order_of_one_impossible_day)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 28);
    enum { N = 6000 };
    static const char *cells[N];
    tab_profile *p = long_dates(a, N, true, "25/12/1999", cells);
    cr_assert_eq(p->col[0].type, TAB_DATETIME);
    cr_expect_eq(p->col[0].number[1], (double)tab_days_from_civil(1900, 1, 2) * 86400,
                 "2/1/1900 is the second of January");
}

/* What a request's rows are read by must be what the pinned rows were read by. */
Test(view, of_a_known_column_is_that_of_the_whole_reading)
{
    static const double columns[][5] = { { 1.5, (double)NAN, -2, 1.5, 1e300 },
                                         { -999, 3, 4, (double)NAN, -999 },
                                         { 1700000000, 20190531, 0, 1, 2 },
                                         { 7, 7, 7, 7, 7 } };
    static const struct {
        tab_type type;
        tab_role role;
    } as[] = { { TAB_NUMERIC, TAB_ROLE_AGE },
               { TAB_DATETIME, TAB_ROLE_BIRTH_DATE },
               { TAB_BOOLEAN, TAB_ROLE_GENDER },
               { TAB_CATEGORICAL, TAB_ROLE_GENDER } };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (size_t k = 0; k < sizeof as / sizeof *as; k++)
            for (size_t rows = 1; rows <= 5; rows += 4) {
                TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
                tab_column c = { .name = TAB_S("x"),
                                 .layout = TAB_NUMBERS,
                                 .num = (double *)(uintptr_t)columns[i] };
                tab_column_profile whole = { .column = &c, .type = as[k].type, .role = as[k].role },
                                   known = whole;
                tab_reading r;
                cr_assert(tab_read_column(a, &c, rows, &r) && tab_view_column(&r, &whole));
                cr_assert(tab_read_known(a, &c, rows, &r, &known));
                cr_expect_eq(whole.levels, known.levels);
                cr_assert_eq(whole.number == NULL, known.number == NULL);
                for (size_t j = 0; whole.number != NULL && j < rows; j++)
                    cr_expect_eq(memcmp(&whole.number[j], &known.number[j], sizeof(double)), 0,
                                 "column %zu as type %zu, row %zu", i, k, j);
            }
}

/* Numbers of telephones that were floats for a while, as texts of JSON have them, are whole again. */
Test(view, of_digits_that_were_floats_is_of_digits)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "18035357024.0", "12125550147.0", NULL, "14155550123", "13105550188.0", "nan",
                             "16175550134.0", "19175550101.0", "12025550175.0", "17735550110.0");
    const tab_column_profile *c = &p->col[0];
    cr_expect_eq(c->role, TAB_ROLE_PHONE, "%s", tab_role_names[c->role]);
    cr_expect(tab_str_eq(c->level[0], TAB_S("18035357024")), "%.*s", TAB_STR(c->level[0]));
    p = PROFILE(a, "1803.0", "1212.0", "1415.0", "1310.0", "1617.0", "1917.0", "1202.0", "1773.0");
    cr_expect(p->col[0].level == NULL || tab_str_eq(p->col[0].level[0], TAB_S("1803.0")), "short ones stay");
    p = PROFILE(a, "180353570.0", "121255501.5", "141555501.0", "131055501.0");
    cr_expect(tab_str_eq(p->col[0].level[0], TAB_S("180353570.0")), "and those beside fractions");
}

Test(view, of_several_values_in_a_cell_is_a_list)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_profile *p = PROFILE(a, "red;blue", "blue", "green;red", "blue;green", "red;green;blue", "green",
                             "red", "blue;red", "green;blue", "blue;green;red");
    cr_expect(p->col[0].role == TAB_ROLE_LIST && p->col[0].role_confidence > 0.95, "%s %g",
              tab_role_names[p->col[0].role], p->col[0].role_confidence);
    p = PROFILE(a, "Lyon, France", "Paris, France", "Nice, France", "Rome, Italy", "Bari, Italy",
                "Pisa, Italy", "Ulm, Germany", "Bonn, Germany", "Kiel, Germany");
    cr_expect(p->col[0].role != TAB_ROLE_LIST || p->col[0].role_confidence < 0.95, "a town and its country");
}

/* n texts: the numbers from, from + step ... between two others. */
static tab_profile *written(tab_arena *a, const char *before, const char *behind, long from, long step,
                            size_t n)
{
    const char **cell = tab_arena_new_of(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        char *text = tab_arena_alloc(a, 64, 1);
        snprintf(text, 64, "%s%06ld%s", before, from + (long)i * step, behind);
        cell[i] = text;
    }
    return profile_of(a, cell, n);
}

Test(view, days_in_the_writing_of_programs_are_days)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_column_profile *c = &written(a, "/Date(", ")/", 1700000000000, 86400000, 30)->col[0];
    cr_assert_eq(c->type, TAB_DATETIME);
    cr_expect_eq(c->number[1] - c->number[0], 86400);
    c = &written(a, "/Date(", "+0100)/", 1700000000000, 86400000, 30)->col[0];
    cr_expect(c->type == TAB_DATETIME && c->number[0] == 1.7e9);
    c = &PROFILE(a, "240101", "240115", "240131", "240207", "240229", "240318", "240331", "240402", "240419",
                 "240430", "240513", "240527", "240603", "240617", "240630", "240709", "240722", "240731",
                 "240814", "240829", "240916", "240930")
             ->col[0];
    cr_assert_eq(c->type, TAB_DATETIME);
    cr_expect_eq(c->number[0], 1704067200);
    cr_expect_neq(written(a, "", "", 240301, 1, 31)->col[0].type, TAB_DATETIME,
                  "a counter, as well as March");
    cr_expect_neq(written(a, "", "", 240301, 3, 31)->col[0].type, TAB_DATETIME, "day 34 is none");
}

Test(view, numbers_with_a_minus_behind_and_marks_in_words)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 24);
    tab_column_profile *c =
        &PROFILE(a, "4.105,88-", "1.049,47", "12,50-", "3,00", "$(7,5)", "None", "missing", ":")->col[0];
    static const double want[] = { -4105.88, 1049.47, -12.5, 3, -7.5, (double)NAN, (double)NAN, (double)NAN };
    cr_assert_eq(c->type, TAB_NUMERIC);
    for (size_t i = 0; i < 8; i++)
        cr_expect(c->number[i] == want[i] || (isnan(c->number[i]) && isnan(want[i])), "row %zu: %g", i,
                  c->number[i]);
    cr_expect_eq(c->marks, 3);
    c = &PROFILE(a, "35.5", "9999", "41.2", "28.1", "9999", "63.7", "9999", "57.0", "22.9", "70.3", "31.6")
             ->col[0];
    cr_assert_eq(c->type, TAB_NUMERIC);
    cr_expect(isnan(c->number[1]) && c->number[0] == 35.5, "9999 beside ages");
    c = &PROFILE(a, "3500.5", "9999", "41.2", "28.1", "9999", "63.7", "9999", "57.0", "22.9", "70.3", "31.6")
             ->col[0];
    cr_expect(c->type == TAB_NUMERIC && c->number[1] == 9999, "and beside what is as large");
}
