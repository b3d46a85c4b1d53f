/* Whole numbers are filled with whole numbers that occur: decision 0263. */
#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/impute/impute.h"

enum { ROWS = 400 };

/* Department numbers 10, 13 ... 40, which follow from x up to noise; every fifth is missing. */
static double department(size_t i)
{
    return 10 + 3 * floor(10 * tab_unit(tab_mix2(i, 1)) + tab_unit(tab_mix2(i, 2)));
}

static bool gap(size_t i)
{
    return tab_unit(tab_mix2(i, 3)) < 0.2;
}

Test(impute, fills_whole_numbers_with_values_that_occur)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_engine e = { .arena = a };
    tab_column col[2];
    tab_builder *b[2] = { tab_builder_new(a, TAB_S("department")), tab_builder_new(a, TAB_S("x")) };
    for (size_t i = 0; i < ROWS; i++) {
        if (gap(i))
            tab_builder_null(b[0]);
        else
            tab_builder_number(b[0], department(i));
        tab_builder_number(b[1], tab_unit(tab_mix2(i, 1)));
    }
    cr_assert(tab_builder_finish(b[0], &col[0]) && tab_builder_finish(b[1], &col[1]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 2, .col = col };
    tab_profile *p = NULL;
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    /* what the column is taken for is not the matter here */
    bool number = false;
    cr_assert(tab_view_as_number(a, &p->col[0], ROWS, &number));
    cr_assert(number);
    p->col[0].identifying = false;
    tab_impute_target none = { 0, 2, NULL };
    Tabella__Imputation *m = NULL;
    cr_assert_eq(tab_impute(&e, &p, 1, NULL, &none, &m, NULL), TAB_OK);
    cr_assert_gt(m->n_row, ROWS / 10);
    for (size_t i = 0; i < m->n_row; i++) {
        double v;
        memcpy(&v, m->value->numbers.data + i * sizeof v, sizeof v);
        double steps = (v - 10) / 3;
        cr_expect(steps == floor(steps) && v >= 10 && v <= 40, "row %u: %g", m->row[i], v);
    }
}
