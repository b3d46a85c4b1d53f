/* Where nothing tells of anything no target is chosen; references and parts of dates are none; in a wide
 * table what can be told is found wherever it stands: decision 0321. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/choose/select.h"

enum { ROWS = 400, WIDE = 290 };

typedef struct {
    tab_arena *a;
    tab_engine e;
    tab_column col[WIDE];
    tab_table t;
} made;

static double unit(size_t i, size_t j)
{
    return tab_unit(tab_mix2(i, j));
}

static void begin(made *m)
{
    *m = (made){ .a = tab_arena_new((size_t)1 << 30) };
    m->e.arena = m->a;
    m->t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .col = m->col };
}

static void add(made *m, const char *name, double (*value)(size_t i, size_t j))
{
    tab_builder *b = tab_builder_new(m->a, tab_str_of(name));
    for (size_t i = 0; i < ROWS; i++)
        tab_builder_number(b, value(i, m->t.cols));
    cr_assert(tab_builder_finish(b, &m->col[m->t.cols++]));
}

static tab_selection choose(made *m, const tab_run_options *o, const bool *refers)
{
    tab_profile *p = NULL;
    tab_selection s;
    cr_assert_eq(tab_profile_table(&m->e, &m->t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_select(&m->e, &p, 1, refers == NULL ? NULL : &refers, o, &s, NULL), TAB_OK);
    return s;
}

static const char *reason_of(const tab_selection *s, size_t column)
{
    for (size_t i = 0; i < s->target->n_candidates; i++)
        if (s->target->candidates[i]->column->column == column)
            return s->target->candidates[i]->reason;
    return "";
}

static double noise(size_t i, size_t j)
{
    return round(1e4 * unit(i, j + 1)) / 100;
}

static double follows(size_t i, size_t j)
{
    (void)j;
    return round(100 * (noise(i, 0) + noise(i, 1) + 60 * unit(i, 99))) / 100;
}

static double grade(size_t i, size_t j)
{
    return 1 + floor(40 * unit(i, j + 1)) + floor(noise(i, 0) / 4);
}

static double twenty(size_t i, size_t j)
{
    return 1 + floor(20 * unit(i, j + 1));
}

static double hundred(size_t i, size_t j)
{
    return 1 + floor(100 * unit(i, j + 1));
}

static double day(size_t i, size_t j)
{
    (void)j;
    return 1 + floor(28 * unit(i, 90)); /* dates in no order */
}

Test(nothing, is_predictable_where_all_is_chance)
{
    made m;
    begin(&m);
    for (size_t k = 0; k < 4; k++)
        add(&m, k == 0 ? "a" : k == 1 ? "b" : k == 2 ? "c" : "d", noise);
    tab_run_options o = { 0 };
    tab_selection s = choose(&m, &o, NULL);
    cr_expect(s.none);
    cr_expect_str_eq(s.target->mode, "none");
    cr_expect_not_null(strstr(s.target->reason, "nothing here is predictable"), "%s", s.target->reason);
    for (size_t k = 0; k < 4; k++) /* nor is it said of any that so much of it is explained */
        cr_expect(strchr(reason_of(&s, k), '%') == NULL, "%s", reason_of(&s, k));
    o.target = TAB_TARGET_COLUMN;
    o.target_column = TAB_S("c");
    s = choose(&m, &o, NULL);
    cr_expect_not(s.none, "a target that is named is answered");
    /* one column that follows is enough */
    add(&m, "y", follows);
    o = (tab_run_options){ 0 };
    s = choose(&m, &o, NULL);
    cr_expect_not(s.none, "%s", s.target->reason);
    tab_arena_free(m.a);
}

/* Whole numbers that would be classes are tried as such: they have no codes. */
Test(nothing, of_pieces_and_prices_by_chance_is_a_target)
{
    made m;
    tab_run_options o = { 0 };
    begin(&m);
    add(&m, "price", hundred);
    add(&m, "pieces", twenty);
    tab_selection s = choose(&m, &o, NULL);
    cr_expect(s.none, "%s", s.target->reason);
    tab_arena_free(m.a);
    begin(&m);
    add(&m, "pieces", twenty);
    add(&m, "more", twenty);
    s = choose(&m, &o, NULL);
    cr_expect(s.none, "%s", s.target->reason);
    tab_arena_free(m.a);
}

Test(nothing, is_predictable_in_one_column)
{
    made m;
    begin(&m);
    add(&m, "a", noise);
    tab_run_options o = { 0 };
    tab_selection s = choose(&m, &o, NULL);
    cr_expect(s.none);
    cr_expect_not_null(strstr(s.target->reason, "there is no other column"), "%s", s.target->reason);
    tab_arena_free(m.a);
}

Test(nothing, of_a_reference_or_a_part_of_a_date_is_a_target)
{
    made m;
    begin(&m);
    add(&m, "a", noise);
    add(&m, "b", noise);
    add(&m, "y", follows);
    add(&m, "r", grade);
    tab_builder *b = tab_builder_new(m.a, TAB_S("when"));
    for (size_t i = 0; i < ROWS; i++) {
        char text[32];
        snprintf(text, sizeof text, "2024-%02d-%02d", (int)(1 + floor(12 * unit(i, 91))), (int)day(i, 0));
        tab_builder_text(b, tab_arena_copy(m.a, tab_str_of(text)));
    }
    cr_assert(tab_builder_finish(b, &m.col[m.t.cols++]));
    add(&m, "d", day);
    const bool refers[] = { false, false, false, true, false, false };
    tab_run_options o = { 0 };
    tab_selection s = choose(&m, &o, refers);
    cr_expect_not(s.none);
    cr_expect_not_null(strstr(reason_of(&s, 3), "refers to the rows of another table"), "%s",
                       reason_of(&s, 3));
    cr_expect_not_null(strstr(reason_of(&s, 5), "a part of"), "%s", reason_of(&s, 5));
    s = choose(&m, &o, NULL);
    cr_expect_null(strstr(reason_of(&s, 3), "refers to"), "%s", reason_of(&s, 3));
    tab_arena_free(m.a);
}

/* 288 columns of chance, then one that follows from two of the first. */
Test(nothing, hides_behind_the_200th_column)
{
    made m;
    begin(&m);
    char name[16];
    for (size_t k = 0; k + 2 < WIDE; k++) {
        snprintf(name, sizeof name, "n%zu", k);
        add(&m, (const char *)tab_arena_copy(m.a, tab_str_of(name)).p, noise);
    }
    add(&m, "y", follows);
    tab_run_options o = { 0 };
    tab_selection s = choose(&m, &o, NULL);
    cr_expect_not(s.none, "%s", s.target->reason);
    cr_expect_null(strstr(reason_of(&s, WIDE - 2), "not eligible"), "%s", reason_of(&s, WIDE - 2));
    cr_expect(s.target->candidates[0]->column->column == WIDE - 2 ||
              s.target->candidates[0]->column->column < 2);
    tab_arena_free(m.a);
}
