#include "services/data-connector/expectations/expectations.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/data-connector/expectations/chance.h"

Test(expectations, tails_are_those_of_urns)
{
    /* 4 of 10 balls are red, 3 are drawn: C(4,k) C(6,3-k) / C(10,3) is 20, 60, 36, 4 of 120. */
    chance_draw d = { 10, 4, 3 };
    static const double least[] = { 120, 100, 40, 4 }, most[] = { 20, 80, 116, 120 };
    for (int k = 0; k < 4; k++) {
        cr_expect_float_eq(chance_at_least(&d, k), least[k] / 120, 1e-12, "at least %d", k);
        cr_expect_float_eq(chance_at_most(&d, k), most[k] / 120, 1e-12, "at most %d", k);
    }
    cr_expect_float_eq(chance_least(&d), 2 * 4.0 / 120, 1e-12);
    chance_draw large = { 40000, 20000, 20000 };
    cr_expect_lt(chance_both(&large, 0), 1e-300);
    cr_expect_float_eq(chance_both(&large, 10000), 1, 0.01);
    cr_expect_float_eq(chance_normal(0.0455), 2, 0.001);
    cr_expect_float_eq(chance_student(2.228, 10), 0.05, 0.002); /* of any table */
}

/* ---- tables of known sources ----------------------------------------------------------------- */

enum { COLS = 7 };
static const char *const NAMES[COLS] = { "id", "day", "price", "total", "country", "currency", "mail" };

/* How the rows are unlike those of the source. */
typedef enum { AS_EVER, CENTS, EMPTIED, BLANKS, CATEGORY, MIXED, SWAPPED_ORDER, TWICE, TYPE, GONE } change;

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

static void put(tab_builder *b, const char *text)
{
    if (text[0] == 0)
        tab_builder_null(b);
    else
        tab_builder_text(b, tab_str_of(text));
}

static void add_row(tab_builder *b[COLS], size_t i, size_t first, unsigned *seed, change how)
{
    static const char *const country[] = { "DE", "FR", "US", "JP" }, *const money[] = { "EUR", "EUR", "USD",
                                                                                        "JPY" };
    char day[16], mail[32];
    size_t k = (size_t)(4 * uniform(seed)), other = (size_t)(4 * uniform(seed));
    double price = floor(100 * exp(3 + 0.6 * (uniform(seed) + uniform(seed) + uniform(seed) - 1.5))) / 100;
    double total = price * (1 + floor(5 * uniform(seed)));
    bool some = uniform(seed) < 0.1;
    snprintf(day, sizeof day, "2026-%02zu-%02zu", 1 + (first + i) / 1200 % 12, 1 + (first + i) / 40 % 28);
    snprintf(mail, sizeof mail, "c%zu@x.org", (size_t)(1e6 * uniform(seed)));
    tab_builder_number(b[0], (double)(how == TWICE ? first + i / 2 : first + i));
    put(b[1], day);
    if (how == TYPE && some)
        put(b[2], "n/a");
    else
        tab_builder_number(b[2], how == CENTS ? 100 * price : price);
    tab_builder_number(b[3], how == SWAPPED_ORDER && some ? price / 2 : total);
    put(b[4], how == CATEGORY && some ? "XX" : country[k]);
    put(b[5], money[how == MIXED ? other : k]);
    put(b[6], how == EMPTIED || (how == BLANKS && some) ? "" : mail);
}

static const tab_table *drawn(tab_arena *a, size_t rows, size_t first, unsigned seed, change how)
{
    tab_builder *b[COLS];
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t c = 0; c < COLS; c++)
        b[c] = tab_builder_new(a, tab_str_of(NAMES[c]));
    for (size_t i = 0; i < rows; i++)
        add_row(b, i, first, &seed, how);
    for (size_t c = 0; c < COLS; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = how == GONE ? COLS - 1 : COLS, .col = col };
    return t;
}

static bool says(const expectations *e, const char *column)
{
    for (size_t i = 0; i < e->n_changed; i++)
        if (tab_str_eq(e->changed[i].column, tab_str_of(column)) ||
            tab_str_eq(e->changed[i].with, tab_str_of(column)))
            return true;
    return false;
}

Test(expectations, fresh_rows_say_nothing_and_changed_ones_do)
{
    static const struct {
        change how;
        const char *column;
    } cases[] = {
        { AS_EVER, "" },         { CENTS, "price" },    { EMPTIED, "mail" },        { BLANKS, "mail" },
        { CATEGORY, "country" }, { MIXED, "currency" }, { SWAPPED_ORDER, "total" }, { TWICE, "id" },
        { TYPE, "price" },       { GONE, "mail" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t wrong = 0;
        for (unsigned seed = 1; seed <= (cases[i].how == AS_EVER ? 100 : 3); seed++) {
            TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
            expectations_case c = { .share = 1,
                                    .appended = true,
                                    .known = drawn(a, 2000, 0, 7 * seed, AS_EVER),
                                    .judged = drawn(a, 400, 2000, 7 * seed + 3, cases[i].how) };
            expectations found;
            cr_assert_eq(expectations_judge(a, &c, &found, NULL), TAB_OK);
            cr_expect_gt(found.checks, 20);
            if (cases[i].how == AS_EVER)
                wrong += found.n_changed > 0;
            else
                cr_expect(says(&found, cases[i].column), "case %zu, seed %u: %s", i, seed, cases[i].column);
        }
        cr_expect_leq(wrong, 3, "%zu of 100 fresh samples",
                      wrong); /* of one in a hundred each: 1 of 54 times */
    }
}

Test(expectations, what_a_source_does_by_itself_is_learnt_from_earlier_snapshots)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    expectations found;
    expectations_case c = { .share = 1,
                            .known = drawn(a, 1000, 3000, 5, AS_EVER),
                            .judged = drawn(a, 1000, 4000, 6, AS_EVER) };
    cr_assert_eq(expectations_judge(a, &c, &found, NULL), TAB_OK);
    cr_expect(says(&found, "id"), "the first other month is news");
    for (unsigned e = 0; e < 2; e++)
        c.earlier[c.n_earlier++] = drawn(a, 1000, 2000 - 1000 * e, 7 + e, AS_EVER);
    cr_assert_eq(expectations_judge(a, &c, &found, NULL), TAB_OK);
    cr_expect(!says(&found, "id"), "the third is none");
}

Test(expectations, a_file_that_broke_off_has_too_few_rows)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    expectations found;
    expectations_case c = { .share = 1, .known = drawn(a, 1000, 0, 5, AS_EVER) };
    for (; c.n_counts < 8; c.n_counts++)
        c.counts[c.n_counts] = 990 + 7 * c.n_counts % 20;
    for (int k = 0; k < 2; k++) {
        c.judged = drawn(a, k == 0 ? 1003 : 600, 0, 6, AS_EVER);
        cr_assert_eq(expectations_judge(a, &c, &found, NULL), TAB_OK);
        bool rows = false;
        for (size_t i = 0; i < found.n_changed; i++)
            rows = rows || strcmp(found.changed[i].kind, "rows") == 0;
        cr_expect_eq(rows, k == 1);
    }
}

Test(expectations, the_rows_that_came_are_judged_where_none_went)
{
    static const struct {
        const char *name;
        row_diff d;
        size_t rows; /* judged */
    } cases[] = { { "as before", { .unchanged = 100 }, 0 },
                  { "appended", { .unchanged = 100, .added = 2 }, 2 },
                  { "changed", { .unchanged = 98, .changed = 2 }, 102 },
                  { "another table", { .added = 102, .removed = 100 }, 102 } };
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    row_change came[] = { { ROW_ADDED, 100, 100 }, { ROW_ADDED, 101, 101 } };
    row_changes list = { came, 2 };
    expectations_case c = { .known = drawn(a, 100, 0, 5, AS_EVER), .judged = drawn(a, 102, 0, 5, AS_EVER) };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expectations found;
        cr_assert_eq(expectations_step(a, &c, &cases[i].d, &list, &found, NULL), TAB_OK);
        cr_expect_eq(found.rows, cases[i].rows, "%s: %zu", cases[i].name, found.rows);
        cr_expect_eq(found.checks > 0, cases[i].rows > 0, "%s", cases[i].name);
    }
}

Test(expectations, tables_without_rows_or_values_are_no_case)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX);
    static const size_t rows[][2] = { { 0, 0 }, { 0, 50 }, { 50, 0 }, { 1, 1 }, { 20, 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int appended = 0; appended < 2; appended++) {
            expectations found;
            expectations_case c = { .share = 1,
                                    .appended = appended,
                                    .known = drawn(a, rows[i][0], 0, 5, EMPTIED),
                                    .judged = drawn(a, rows[i][1], 0, 6, EMPTIED) };
            cr_assert_eq(expectations_judge(a, &c, &found, NULL), TAB_OK);
            cr_expect_eq(found.n_changed, 0, "case %zu", i);
        }
}
