/* What the caller says of cells and columns wins over what is read: decision 0293. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/profile/given.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { ROWS = 200 };

/* "load": numbers with marks; "state": words, one of which may be a mark; "size": numbers with -1. */
static const tab_table *table(tab_arena *a)
{
    static const char *const words[] = { "open", "shut", "none" };
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    tab_builder *b[] = { tab_builder_new(a, TAB_S("load")), tab_builder_new(a, TAB_S("state")),
                         tab_builder_new(a, TAB_S("size")) };
    for (size_t i = 0; i < ROWS; i++) {
        if (i % 10 == 3)
            tab_builder_text(b[0], TAB_S("N/A"));
        else
            tab_builder_number(b[0], round(1000 * tab_unit(tab_mix2(i, 1))) / 10);
        tab_builder_text(b[1], tab_str_of(words[i % 3]));
        tab_builder_number(b[2], i % 8 == 0 ? -1 : round(1000 * tab_unit(tab_mix2(i, 2))) / 10);
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
    return t;
}

static size_t nulls(const tab_column *c)
{
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        n += tab_cell_at(c, i).kind == TAB_CELL_NULL;
    return n;
}

static tab_profile *profile(tab_arena *a, const tab_given *g, tab_status want)
{
    tab_engine e = { .arena = a };
    tab_profile *p = NULL;
    tab_error err = { 0 };
    cr_assert_eq(tab_profile_given(&e, table(a), g, &p, &err), want, "%s", err.message);
    return p;
}

Test(given, marks_are_missing_where_the_caller_or_the_values_say_so)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    const tab_profile *p = profile(a, NULL, TAB_OK);
    for (size_t c = 0; c < 3; c++)
        cr_expect_eq(nulls(p->col[c].column), 0, "a supplied cell stays: column %zu", c);
    p = profile(a, &(tab_given){ .missing_auto = true }, TAB_OK);
    cr_expect_eq(nulls(p->col[0].column), 20);
    cr_expect_float_eq(p->col[0].missing, 0.1, 1e-9);
    cr_expect_eq(p->col[0].column->layout, TAB_NUMBERS, "what is left is numbers");
    cr_expect_eq(p->col[0].marks, 1, "the mark is told");
    cr_expect_eq(nulls(p->col[1].column), 0, "a word among words is none");
    /* served rows lose the same marks */
    const tab_table *served = tab_void_cells(a, p, table(a));
    cr_expect_eq(nulls(&served->col[0]), 20);
    tab_str text[] = { TAB_S("none") };
    double number[] = { -1 };
    tab_given named = {
        .missing_text = text, .missing_texts = 1, .missing_number = number, .missing_numbers = 1
    };
    p = profile(a, &named, TAB_OK);
    cr_expect_eq(nulls(p->col[0].column), 0);
    cr_expect_eq(nulls(p->col[1].column), ROWS / 3);
    cr_expect_eq(nulls(p->col[2].column), ROWS / 8);
    cr_expect_eq(nulls(&tab_void_cells(a, p, table(a))->col[2]), ROWS / 8);
}

Test(given, columns_are_what_the_caller_says)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_column_option o[] = {
        { .column = TAB_S("load"), .type = TAB_S("categorical") },
        { .table = TAB_S("t"), .column = TAB_S("state"), .role = TAB_S("username"), .use = TAB_S("feature") },
        { .column = TAB_S("size"), .use = TAB_S("ignore") },
        { .table = TAB_S("elsewhere"), .column = TAB_S("x"), .use = TAB_S("key") },
    };
    tab_given g = { .column = o, .columns = 4 };
    const tab_profile *p = profile(a, &g, TAB_OK);
    cr_expect_eq(p->col[0].type, TAB_CATEGORICAL);
    cr_assert_not_null(p->col[0].code);
    cr_expect_not(tab_numeric_target(&p->col[0]));
    cr_expect_str_eq(tab_role_names[p->col[1].role], "username");
    cr_expect(p->col[1].pii);
    cr_expect(tab_explains(&p->col[1]), "the caller wants it as a feature");
    cr_expect_not(tab_explains(&p->col[2]));
    o[1] = (tab_column_option){ .column = TAB_S("state"), .type = TAB_S("numeric") };
    profile(a, &g, TAB_VALIDATION);
    o[1] = (tab_column_option){ .column = TAB_S("stat"), .use = TAB_S("key") };
    tab_engine e = { .arena = a };
    tab_profile *none = NULL;
    tab_error err = { 0 };
    cr_expect_eq(tab_profile_given(&e, table(a), &g, &none, &err), TAB_VALIDATION);
    cr_expect_str_eq(err.param, "options.columns[1].column");
    cr_expect(strstr(err.message, "\"state\"") != NULL, "%s", err.message);
}
