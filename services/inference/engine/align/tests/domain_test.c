/* A column against lists of what values there are. */
#include "services/inference/engine/align/domain.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/align/align.h"

enum { ROWS = 60, COLS = 3, LISTS = 6 };

typedef struct {
    tab_arena *arena;
    tab_views *views;
    float p[COLS * LISTS];
} world;

/* Row r of column c: a focus, a stage with a mark of its own, a small count. */
static void datum(size_t r, size_t c, char out[32])
{
    static const char *const focus[] = { "Unifocal", "multifocal", "Unifocal" };
    static const char *const stage[] = { "pt1", "pt2", "pt3", "ptx" };
    if (c == 0)
        snprintf(out, 32, "%s", focus[r * r % 3]);
    else if (c == 1)
        snprintf(out, 32, "%s", stage[r * 7 / 3 % 4]);
    else
        snprintf(out, 32, "%zu", r * r % 7);
}

/* Lists of values: what the columns hold, and what they do not. */
static const char *const list[LISTS][7] = {
    { "Multifocal", "Unifocal", "Unknown", NULL }, { "T0", "T1", "T2", "T3", "TX", NULL },
    { "0", "1", "2", "3", "4", "5", NULL },        { "Left", "Right", "Bilateral", NULL },
    { "N0", "N1", "N2", "unknown", NULL },         { "yes", "no", "unknown", NULL },
};

static world made(void)
{
    world w = { .arena = tab_arena_new(SIZE_MAX / 2) };
    tab_column *col[2] = { tab_arena_new_of(w.arena, tab_column, COLS),
                           tab_arena_new_of(w.arena, tab_column, LISTS) };
    for (size_t c = 0; c < COLS; c++) {
        tab_builder *b = tab_builder_new(w.arena, TAB_S(""));
        for (size_t r = 0; r < ROWS; r++) {
            char text[32];
            datum(r, c, text);
            if (c == 2)
                tab_builder_number(b, text[0] - '0');
            else
                tab_builder_text(b, tab_str_of(text));
        }
        cr_assert(tab_builder_finish(b, &col[0][c]));
    }
    for (size_t c = 0; c < LISTS; c++) {
        tab_builder *b = tab_builder_new(w.arena, TAB_S(""));
        bool ended = false;
        for (size_t r = 0; r < 8; r++) {
            ended = ended || r == 7 || list[c][r] == NULL;
            if (ended)
                tab_builder_null(b);
            else if (c == 2)
                tab_builder_number(b, list[c][r][0] - '0');
            else
                tab_builder_text(b, tab_str_of(list[c][r]));
        }
        cr_assert(tab_builder_finish(b, &col[1][c]));
    }
    tab_table *t = tab_arena_new_of(w.arena, tab_table, 2);
    t[0] = (tab_table){ .id = TAB_S("a"), .rows = ROWS, .cols = COLS, .col = col[0] };
    t[1] = (tab_table){ .id = TAB_S("b"), .rows = 8, .cols = LISTS, .col = col[1] };
    tab_profile *p[2];
    tab_error err = { 0 };
    tab_engine e = { .arena = w.arena };
    tab_signature *s[2];
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(tab_profile_table(&e, &t[i], &p[i], &err), TAB_OK);
    cr_assert_eq(tab_views_new(&e, p, 2, &w.views, &err), TAB_OK);
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(tab_signatures_new(&e, w.views, i, w.arena, &s[i], &err), TAB_OK);
    cr_assert_eq(tab_align_scores(&e, w.views, 0, 1, s[0], s[1], NULL, w.p, NULL, &err), TAB_OK);
    return w;
}

static void done(world *w)
{
    tab_views_free(w->views);
    tab_arena_free(w->arena);
}

Test(domain, a_list_that_holds_a_columns_values_is_its_attribute)
{
    world w = made();
    cr_expect_geq(w.p[0], 0.5f, "%f", (double)w.p[0]);
    for (size_t l = 1; l < LISTS; l++)
        cr_expect_lt(w.p[l], 0.2f, "list %zu: %f", l, (double)w.p[l]);
    done(&w);
}

Test(domain, a_mark_that_all_values_begin_with_is_read_past)
{
    world w = made();
    const tab_view *stage = &w.views->table[0].col[1], *lists = w.views->table[1].col;
    cr_expect_float_eq(tab_domain_soft(w.views, stage, &lists[1], true).values, 1, 1e-9);
    cr_expect_eq(tab_domain_soft(w.views, stage, &lists[4], true).values, 0);
    for (size_t l = 0; l < LISTS; l++)
        cr_expect(l == 1 || w.p[LISTS + l] < w.p[LISTS + 1], "list %zu", l);
    done(&w);
}

Test(domain, small_counts_are_in_a_list_of_small_numbers_by_chance)
{
    world w = made();
    const tab_view *count = &w.views->table[0].col[2], *lists = w.views->table[1].col;
    cr_expect_gt(tab_domain_chance(count, &lists[2]), 0.8); /* 0, 1, 2, 4 of 0 to 4 */
    cr_expect_eq(tab_domain_chance(count, &lists[0]), 0);
    cr_expect_lt(w.p[2 * LISTS + 2], 0.5f, "%f", (double)w.p[2 * LISTS + 2]);
    done(&w);
}

Test(domain, a_value_tells_the_less_the_more_columns_hold_it)
{
    world w = made();
    const tab_views *v = w.views;
    const tab_view *lists = v->table[1].col;
    cr_expect_eq(v->telling[lists[3].value[0].key], 1);    /* left, in one column */
    cr_expect_eq(v->telling[lists[0].value[0].key], 1);    /* multifocal, in two */
    cr_expect_lt(v->telling[lists[0].value[2].key], 0.9f); /* unknown, in three */
    for (size_t i = 0; i < v->terms; i++)
        cr_expect(v->telling[i] >= 0 && v->telling[i] <= 1);
    done(&w);
}
