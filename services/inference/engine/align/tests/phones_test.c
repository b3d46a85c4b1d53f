/* Telephone numbers are one value, however a program has written them. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "services/inference/engine/align/view.h"
#include "services/inference/engine/profile/profile.h"
#include "services/inference/engine/profile/roles/roles.h"

enum { ROWS = 60, FORMS = 4 };

static const tab_table *table_of(tab_arena *a, int form)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 1);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    tab_builder *b = tab_builder_new(a, TAB_S("phone"));
    for (unsigned i = 0; i < ROWS; i++) {
        char text[40];
        unsigned area = 200 + i * 37 % 700, office = 211 + i * 53 % 700, line = 1000 + i * 1237 % 9000;
        double number = 1e10 + area * 1e7 + office * 1e4 + line;
        snprintf(text, sizeof text,
                 form == 0   ? "(%u) %u-%u"
                 : form == 1 ? "1%u%u%u.0"
                             : "+1 %u %u %u",
                 area, office, line);
        if (form == 3)
            tab_builder_number(b, number);
        else
            tab_builder_text(b, tab_str_of(text));
    }
    cr_assert(tab_builder_finish(b, col));
    *t = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = 1, .col = col };
    return t;
}

Test(phones, are_one_value_in_every_notation)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_profile *p[FORMS];
    tab_views *v;
    for (int f = 0; f < FORMS; f++) {
        cr_assert_eq(tab_profile_table(&e, table_of(a, f), &p[f], NULL), TAB_OK);
        if (f == 1)
            p[f]->col[0].role =
                TAB_ROLE_PHONE; /* as a caller may say: texts of numbers are read as amounts */
        cr_assert_eq(p[f]->col[0].role, TAB_ROLE_PHONE, "%d: %s", f, tab_role_names[p[f]->col[0].role]);
    }
    cr_assert_eq(tab_views_new(&e, p, FORMS, &v, NULL), TAB_OK);
    for (int f = 1; f < FORMS; f++)
        for (size_t row = 0; row < ROWS; row++) {
            const tab_view *x = &v->table[0].col[0], *y = &v->table[f].col[0];
            cr_assert(x->code[row] < x->values && y->code[row] < y->values);
            cr_expect_eq(x->value[x->code[row]].key, y->value[y->code[row]].key, "form %d, row %zu", f, row);
        }
    tab_views_free(v);
}

/* A German number from abroad, by a program's zeros, and at home. */
static void german(tab_builder *b, unsigned i, int form)
{
    char text[40];
    snprintf(text, sizeof text,
             form == 0   ? "+49 %u %u"
             : form == 1 ? "0049%u%u"
             : form == 2 ? "(0%u) %u"
                         : "+49 (0)%u-%u",
             200 + i * 37 % 700, 1000000 + i * 123457 % 8999999);
    tab_builder_text(b, tab_str_of(text));
}

Test(phones, are_one_value_at_home_and_abroad)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[FORMS];
    tab_table t[FORMS];
    tab_profile *p[FORMS];
    tab_views *v;
    for (int f = 0; f < FORMS; f++) {
        tab_builder *b = tab_builder_new(a, TAB_S("phone"));
        for (unsigned i = 0; i < ROWS; i++)
            german(b, i, f);
        cr_assert(tab_builder_finish(b, &col[f]));
        t[f] = (tab_table){ .id = TAB_S("t"), .rows = ROWS, .cols = 1, .col = &col[f] };
        cr_assert_eq(tab_profile_table(&e, &t[f], &p[f], NULL), TAB_OK);
        p[f]->col[0].role = TAB_ROLE_PHONE;
    }
    cr_assert_eq(tab_views_new(&e, p, FORMS, &v, NULL), TAB_OK);
    for (int f = 1; f < FORMS; f++)
        for (size_t row = 0; row < ROWS; row++) {
            const tab_view *x = &v->table[0].col[0], *y = &v->table[f].col[0];
            cr_expect_eq(x->value[x->code[row]].key, y->value[y->code[row]].key, "form %d, row %zu", f, row);
        }
    tab_views_free(v);
}
