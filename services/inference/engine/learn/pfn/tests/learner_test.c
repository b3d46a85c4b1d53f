/* The transformer in the stack of base-3, through the engine's own entry points. */
#include <cblas.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/learn/learner.h"
#include "services/inference/engine/learn/pfn/weights.h"
#include "services/inference/engine/predict/fitted.h"

/* rows x (numbers + one category + target "y"); the class follows the first number and the category. */
typedef struct {
    size_t rows, numbers, classes;
    bool reversed; /* columns in reverse order */
    bool numeric;  /* the target: a number, in the thousands */
    bool flat;     /* every column but the target is constant */
} recipe;

static tab_table table_of(tab_arena *a, recipe r)
{
    size_t cols = r.numbers + 2;
    tab_column *col = tab_arena_new_of(a, tab_column, cols);
    for (size_t j = 0; j < cols; j++) {
        size_t k = r.reversed ? cols - 1 - j : j;
        tab_builder *b =
            tab_builder_new(a, k == cols - 1 ? TAB_S("y") : tab_str_of(tab_arena_printf(a, "x%zu", k)));
        for (size_t i = 0; i < r.rows; i++) {
            double x = tab_unit(tab_mix2(i, 1)), noise = tab_unit(tab_mix2(i, 2));
            uint64_t level = tab_mix2(i, 3) % 5;
            if (k < cols - 1 && r.flat) {
                tab_builder_number(b, 7);
            } else if (k < r.numbers) {
                if (tab_mix2(i, 50 + k) % 20 == 0)
                    tab_builder_null(b);
                else
                    tab_builder_number(b, k == 0 ? x : k == 1 ? 7 : tab_unit(tab_mix2(i, 100 + k)));
            } else if (k == r.numbers) {
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "level %d", (int)level)));
            } else {
                double at = 0.7 * x + 0.1 * (double)level * 0.5 + 0.1 * noise;
                if (r.numeric) {
                    tab_builder_number(b, 5000 + 1000 * at);
                    continue;
                }
                int class = (int)fmin(at * (double)r.classes, (double)r.classes - 1);
                tab_builder_text(b, tab_str_of(tab_arena_printf(a, "class %d", class)));
            }
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    return (tab_table){ .id = TAB_S("t"), .rows = r.rows, .cols = cols, .col = col };
}

static tab_fitted *fit_as(const tab_engine *e, const tab_table *t, tab_task task)
{
    tab_profile *p = NULL;
    tab_fitted *f = NULL;
    tab_error err = { 0 };
    openblas_set_num_threads(1);
    cr_assert_eq(tab_profile_table(e, t, &p, &err), TAB_OK, "%s", err.message);
    tab_fit_options o = { .base = "base-3", .task = task };
    for (size_t j = 0; j < t->cols; j++)
        if (tab_str_eq(t->col[j].name, TAB_S("y")))
            o.target = j;
    cr_assert_eq(tab_fit(e, p, &o, &f, &err), TAB_OK, "%s", err.message);
    return f;
}

static tab_fitted *fit(const tab_engine *e, const tab_table *t)
{
    return fit_as(e, t, TAB_TASK_CLASSIFICATION);
}

static const tab_member *pfn_of(const tab_stack *s)
{
    for (size_t i = 0; i < s->members; i++)
        if (s->member[i].learner == &tab_learn_pfn)
            return &s->member[i];
    return NULL;
}

static void learns(recipe r)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_table t = table_of(a, r);
    TAB_AUTO(tab_fitted) *f = fit(&e, &t);
    const tab_stack *s = tab_fitted_stack(f);
    const tab_member *m = pfn_of(s);
    cr_assert_not_null(m, "%zu x %zu: %s", r.rows, r.numbers, s->skips > 0 ? s->skipped[0] : "");
    cr_assert(isfinite(m->loss));
    cr_assert_lt(m->loss, s->prior_loss, "%zu x %zu, %zu classes: %g, the class shares have %g", r.rows,
                 r.numbers, r.classes, m->loss, s->prior_loss);
    for (size_t i = 0; i < s->outputs * t.rows; i++)
        cr_assert(isfinite(s->oof[i]));
}

Test(pfn_learner, binary_beats_the_class_shares)
{
    learns((recipe){ .rows = 150, .numbers = 3, .classes = 2 });
}

Test(pfn_learner, more_than_ten_classes)
{
    learns((recipe){ .rows = 400, .numbers = 2, .classes = 14 });
}

Test(pfn_learner, more_than_a_hundred_columns)
{
    learns((recipe){ .rows = 120, .numbers = 130, .classes = 2 });
}

Test(pfn_learner, a_numeric_target_beats_the_mean)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_table t = table_of(a, (recipe){ .rows = 200, .numbers = 3, .numeric = true });
    TAB_AUTO(tab_fitted) *f = fit_as(&e, &t, TAB_TASK_REGRESSION);
    const tab_stack *s = tab_fitted_stack(f);
    const tab_member *m = pfn_of(s);
    if (!tab_pfn_default(NULL)->numeric)
        cr_skip_test("the weights are of classes alone");
    cr_assert_not_null(m, "%s", s->skips > 0 ? s->skipped[0] : "");
    cr_assert_lt(m->loss, 0.7 * s->prior_loss, "%g, the mean has %g", m->loss, s->prior_loss);
}

Test(pfn_learner, constant_columns_are_left_to_the_others)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_table t = table_of(a, (recipe){ .rows = 150, .numbers = 2, .classes = 3, .flat = true });
    TAB_AUTO(tab_fitted) *f = fit(&e, &t);
    const tab_stack *s = tab_fitted_stack(f);
    cr_assert_null(pfn_of(s));
    for (size_t i = 0; i < s->outputs * t.rows; i++)
        cr_assert(isfinite(s->oof[i]));
}

/* rows x (two numbers at the ends of what a double holds, and the target "y") */
static tab_table extreme(tab_arena *a, size_t rows, size_t classes, bool numeric)
{
    tab_column *col = tab_arena_new_of(a, tab_column, 3);
    for (size_t j = 0; j < 3; j++) {
        tab_builder *b = tab_builder_new(a, j == 2 ? TAB_S("y") : tab_str_of(tab_arena_printf(a, "x%zu", j)));
        for (size_t i = 0; i < rows; i++) {
            static const double end[] = { 1.7e308, -1.7e308, 5e-324, 0, -1e-300, 1 };
            if (j < 2)
                tab_builder_number(b, end[tab_mix2(i, j) % 6]);
            else if (numeric)
                tab_builder_number(b, end[tab_mix2(i, 0) % 6] * 1e-8);
            else
                tab_builder_text(
                    b, tab_str_of(tab_arena_printf(a, "class %d", (int)(tab_mix2(i, 0) % 6 % classes))));
        }
        cr_assert(tab_builder_finish(b, &col[j]));
    }
    return (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 3, .col = col };
}

Test(pfn_learner, odd_tables_get_finite_answers)
{
    static const struct {
        size_t rows, classes;
        bool numeric, takes_part;
    } odd[] = { { 150, 3, false, true }, { 150, 1, false, false }, { 1, 1, false, false },
                { 2, 2, false, false },  { 150, 0, true, true },   { 1, 0, true, false } };
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
        tab_engine e = { .arena = a };
        tab_table t = extreme(a, odd[k].rows, odd[k].classes, odd[k].numeric);
        TAB_AUTO(tab_fitted) *f =
            fit_as(&e, &t, odd[k].numeric ? TAB_TASK_REGRESSION : TAB_TASK_CLASSIFICATION);
        const tab_stack *s = tab_fitted_stack(f);
        cr_assert_eq(pfn_of(s) != NULL, odd[k].takes_part, "%zu rows, %zu classes: %s", odd[k].rows,
                     odd[k].classes, s->skips > 0 ? s->skipped[0] : "");
        cr_assert(pfn_of(s) == NULL || isfinite(pfn_of(s)->loss));
        for (size_t i = 0; i < s->outputs * t.rows; i++)
            cr_assert(isfinite(s->oof[i]), "%zu rows, %zu classes", odd[k].rows, odd[k].classes);
    }
}

Test(pfn_learner, the_order_of_columns_is_no_matter)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    recipe r = { .rows = 90, .numbers = 3, .classes = 3 };
    tab_table one = table_of(a, r), two;
    r.reversed = true;
    two = table_of(a, r);
    TAB_AUTO(tab_fitted) *f = fit(&e, &one);
    TAB_AUTO(tab_fitted) *g = fit(&e, &two);
    const tab_stack *s = tab_fitted_stack(f), *q = tab_fitted_stack(g);
    cr_assert_float_eq(pfn_of(s)->loss, pfn_of(q)->loss, 1e-9);
    cr_assert_arr_eq(s->oof, q->oof, s->outputs * one.rows * sizeof(float));
}

Test(pfn_learner, refused_weights_leave_the_others_working)
{
    setenv("TAB_PFN_WEIGHTS", "Makefile", 1);
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)2 << 30);
    tab_engine e = { .arena = a };
    tab_table t = table_of(a, (recipe){ .rows = 150, .numbers = 3, .classes = 2 });
    TAB_AUTO(tab_fitted) *f = fit(&e, &t);
    const tab_stack *s = tab_fitted_stack(f);
    cr_assert_null(pfn_of(s));
    cr_assert_gt(s->members, 2);
    cr_assert_lt(s->loss, s->prior_loss);
    bool said = false;
    for (size_t i = 0; i < s->skips; i++)
        said |= strcmp(s->skipped[i], "pfn: not apt") == 0;
    cr_assert(said);
}
