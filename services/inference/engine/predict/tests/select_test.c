/* Which column is chosen where nobody named one: that which follows from many others together, not one
 * whose near copy stands beside it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/select.h"

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

static const char *chosen(const char *const *names, char *reason, size_t n)
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
    cr_assert_eq(tab_select(&e, &p, 1, &o, &s, NULL), TAB_OK);
    cr_assert_not(s.none);
    snprintf(reason, n, "%s", s.target->candidates[0]->reason);
    cr_assert(s.target->candidates[0]->selected);
    return names[s.column];
}

Test(select, what_follows_from_many_goes_before_what_has_a_near_copy)
{
    static const char *const orders[][COLS] = { { "a", "near", "b", "c", "y", "other" },
                                                { "y", "other", "c", "near", "a", "b" } };
    for (size_t k = 0; k < 2; k++) {
        char reason[200];
        cr_expect_str_eq(chosen(orders[k], reason, sizeof reason), "y", "chosen: %s", reason);
        cr_expect_not_null(strstr(reason, " alone "), "%s", reason);
    }
}
