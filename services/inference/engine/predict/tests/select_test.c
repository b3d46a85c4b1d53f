/* Which column is chosen where nobody named one: that which follows from many others together, not one
 * whose near copy stands beside it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/select.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { ROWS = 900, COLS = 6 };

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

/* a, b, c by themselves; near copies a with a little noise, too much of it to be a twin; y follows from a,
 * b and c together; `other` from nothing. */
static double value(size_t i, const char *name)
{
    double a = unit(i, 1), b = unit(i, 2), c = unit(i, 3);
    return strcmp(name, "a") == 0      ? 100 * a
           : strcmp(name, "b") == 0    ? 100 * b
           : strcmp(name, "c") == 0    ? 100 * c
           : strcmp(name, "near") == 0 ? 70 * a + 10 * unit(i, 4)
           : strcmp(name, "y") == 0    ? 40 * a + 35 * b + 30 * c + 10 * unit(i, 5)
                                       : 50 * unit(i, 6);
}

/* The score and the reason of the column `what` in a table of these columns. */
static double score_of(const char *const *names, const char *what, char *reason, size_t n)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < ROWS; i++)
            tab_builder_number(b, (double)(int)(1000 * value(i, names[j])) / 1000);
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    for (size_t j = 0; j < COLS; j++) { /* what a column is taken for is not the matter here */
        p->col[j].role = 0;
        p->col[j].identifying = false;
        cr_assert_eq(p->col[j].type, TAB_NUMERIC);
    }
    tab_run_options o = { 0 };
    tab_selection s;
    cr_assert_eq(tab_select(&e, &p, 1, NULL, &o, &s, NULL), TAB_OK);
    cr_assert_not(s.none);
    cr_assert(s.target->candidates[0]->selected);
    for (size_t i = 0; i < s.target->n_candidates; i++)
        if (strcmp(names[s.target->candidates[i]->column->column], what) == 0) {
            snprintf(reason, n, "%s", s.target->candidates[i]->reason);
            return s.target->candidates[i]->score;
        }
    cr_assert_fail("%s is no candidate", what);
    return 0;
}

/* Each at the other's place, so that the place does not decide. */
Test(select, what_follows_from_many_goes_before_what_has_a_near_copy)
{
    static const char *const orders[][COLS] = { { "a", "near", "b", "y", "c", "other" },
                                                { "a", "y", "b", "near", "c", "other" } };
    char reason[200];
    for (size_t k = 0; k < 2; k++) {
        double y = score_of(orders[k], "y", reason, sizeof reason);
        cr_expect_not_null(strstr(reason, " alone "), "%s", reason);
        cr_expect_gt(y, score_of(orders[1 - k], "near", reason, sizeof reason), "order %zu", k);
    }
}

/* A month told by the day before it is no outcome, however well it is told. */
Test(select, a_part_of_a_date_is_no_target)
{
    static const char *const names[COLS] = { "a", "near", "b", "c", "y", "other" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column *col = tab_arena_new_of(a, tab_column, COLS);
    for (size_t j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(names[j]));
        for (size_t i = 0; i < ROWS; i++)
            tab_builder_number(b, floor(value(i, names[j])));
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    p->col[4].role = TAB_ROLE_YEAR;
    p->col[4].role_confidence = 0.9;
    tab_run_options o = { 0 };
    tab_selection s;
    cr_assert_eq(tab_select(&e, &p, 1, NULL, &o, &s, NULL), TAB_OK);
    cr_expect(s.none || s.column != 4);
    bool said = false;
    for (size_t i = 0; i < s.target->n_candidates; i++)
        said =
            said || strstr(s.target->candidates[i]->reason, "not eligible: a part of a date (year)") != NULL;
    cr_expect(said);
}

/* The profile of a table of numbers: value(i, names[j]), or where names is NULL amounts that are noise. */
static tab_profile *profile_of(const tab_engine *e, const char *const *names)
{
    tab_table *t = tab_arena_new_of(e->arena, tab_table, 1);
    tab_column *col = tab_arena_new_of(e->arena, tab_column, COLS);
    for (size_t j = 0; j < COLS; j++) {
        tab_builder *b = tab_builder_new(e->arena, tab_str_of(names != NULL ? names[j] : ""));
        for (size_t i = 0; i < ROWS; i++)
            tab_builder_number(b, names != NULL ? value(i, names[j]) : 50 * unit(i, 10 + j));
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = COLS, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(e, t, &p, NULL), TAB_OK);
    for (size_t j = 0; j < COLS; j++) {
        p->col[j].role = names != NULL ? 0 : TAB_ROLE_AMOUNT;
        p->col[j].identifying = false;
    }
    return p;
}

/* Two tables: in the first each column is noise, in the second y follows from the others. */
Test(select, of_several_tables_one_that_tells_something)
{
    static const char *const names[COLS] = { "a", "y", "b", "near", "c", "other" };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_profile *p[2] = { profile_of(&e, NULL), profile_of(&e, names) };
    tab_run_options o = { 0 };
    tab_selection s;
    cr_assert_eq(tab_select(&e, p, 2, NULL, &o, &s, NULL), TAB_OK);
    cr_assert_not(s.none);
    cr_expect_eq(s.table, 1);
    bool rival = false; /* or the scores alone would have chosen the same */
    for (size_t i = 1; i < s.target->n_candidates; i++)
        rival = rival || s.target->candidates[i]->score > s.target->candidates[0]->score;
    cr_expect(rival);
}

/* Of a wide table those columns are tried that are foreseen as likely; their number falls with the width. */
Test(select, of_a_wide_table_some_columns_are_tried)
{
    enum { WIDTH = 800, FEW = 60, TRIED = 200 * 400 / WIDTH, TOLD = 700 };
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, WIDTH);
    for (size_t j = 0; j < WIDTH; j++) {
        tab_builder *b = tab_builder_new(a, tab_str_of(tab_arena_printf(a, "v%zu", j)));
        for (size_t i = 0; i < FEW; i++) {
            double noise = unit(i, 1000 + j), follows = 0.8 * unit(i, 1000 + TOLD - 1) + 0.2 * noise;
            tab_builder_number(b, floor(1e4 * (j == TOLD ? follows : noise)) / 100);
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    *t = (tab_table){ .id = TAB_S("t"), .rows = FEW, .cols = WIDTH, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &p, NULL), TAB_OK);
    for (size_t j = 0; j < WIDTH; j++)
        p->col[j].identifying = false;
    tab_run_options o = { 0 };
    tab_selection s;
    cr_assert_eq(tab_select(&e, &p, 1, NULL, &o, &s, NULL), TAB_OK);
    size_t passed = 0;
    bool told = false;
    for (size_t i = 0; i < s.target->n_candidates; i++) {
        bool by = strstr(s.target->candidates[i]->reason, "100 other columns are likelier targets") != NULL;
        passed += by;
        told = told || (!by && s.target->candidates[i]->column->column == TOLD);
    }
    cr_expect_eq(passed, WIDTH - TRIED);
    cr_expect(told, "the column that another tells is among those tried");
}
