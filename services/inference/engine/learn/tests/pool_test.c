/* Calibration and weights where no row is answered wrongly (opinion_pool.h): how sure they may become. */
#include "services/inference/engine/learn/stack/opinion_pool.h"

#include <criterion/criterion.h>
#include <math.h>

#include "services/inference/engine/features/mix.h"

enum { ROWS = 400, MEMBERS = 4 };

/* Rows of two classes by turns, whose log-odds are `margin` for their own. */
typedef struct {
    uint32_t label[ROWS], row[ROWS];
    float z[ROWS * 2];
    tab_problem problem;
} separable;

static void make(separable *s, double margin)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        s->row[i] = i;
        s->label[i] = i % 2;
        s->z[2 * i + i % 2] = (float)margin;
        s->z[2 * i + 1 - i % 2] = 0;
        tab_log_softmax(s->z + (size_t)2 * i, 2, 1);
    }
    s->problem = (tab_problem){ .classification = true, .outputs = 2, .label = s->label };
}

/* Mean probability of the wrong class under n rows' log-odds. */
static double doubt_at(double log_odds)
{
    return 1 / (1 + exp(log_odds));
}

/* The first-order condition of the smoothed loss: over n sure rows a quarter of a row is split between the
 * classes, and half of that is wrong. The pull to 1 may halve it. */
Test(pool, a_temperature_leaves_the_doubt_of_its_rows)
{
    static separable s;
    const double expected = 0.25 / 2 / ROWS;
    for (double margin = 6; margin <= 12; margin += 2) {
        make(&s, margin);
        double t = tab_best_temperature(&s.problem, s.row, ROWS, s.z), left = doubt_at(t * margin);
        cr_expect(left > 0.4 * expected && left < 4 * expected, "margin %g: t %g, %g left of %g", margin, t,
                  left, expected);
    }
}

/* Sure members are not added up: the pool is as sure as its rows are many, whatever its members say. */
Test(pool, weights_leave_the_doubt_of_their_rows)
{
    static separable s;
    static float prior[2];
    prior[0] = prior[1] = logf(0.5F);
    tab_stack stack = { .classification = true, .outputs = 2, .members = MEMBERS, .prior = prior };
    make(&s, 10);
    float *z[MEMBERS] = { s.z, s.z, s.z, s.z };
    tab_pool_weights(&s.problem, &stack, s.row, ROWS, z);
    double sum = 0;
    for (size_t l = 0; l < MEMBERS; l++)
        sum += stack.member[l].weight;
    double left = doubt_at(10 * sum), expected = 0.25 / 2 / ROWS;
    cr_expect(left > 0.4 * expected && left < 4 * expected, "weights %g, %g left of %g", sum, left, expected);
}

/* Where rows are answered wrongly, as everywhere but there, a quarter of a row is not felt. */
Test(pool, doubt_is_not_felt_beside_errors)
{
    static separable s;
    make(&s, 3);
    for (uint32_t i = 0; i < ROWS / 5; i++) /* a fifth of the labels is turned round */
        s.label[i] = 1 - s.label[i];
    double t = tab_best_temperature(&s.problem, s.row, ROWS, s.z);
    cr_expect_float_eq(doubt_at(3 * t), 0.2, 0.005, "%g at t %g", doubt_at(3 * t), t);
}

/* The stack of a column x (rows) and two classes; *data: the rows as they stand. */
static tab_stack *fit(tab_arena *a, const double *x, const bool *second, size_t rows, tab_data **data)
{
    tab_engine e = { .arena = a };
    tab_builder *b = tab_builder_new(a, TAB_S("x"));
    tab_column *col = tab_arena_new_of(a, tab_column, 1);
    tab_table *t = tab_arena_new_of(a, tab_table, 1);
    for (size_t i = 0; i < rows; i++)
        tab_builder_number(b, x[i]);
    cr_assert(tab_builder_finish(b, col));
    *t = (tab_table){ .id = TAB_S("t"), .rows = rows, .cols = 1, .col = col };
    tab_profile *profile = NULL;
    cr_assert_eq(tab_profile_table(&e, t, &profile, NULL), TAB_OK);
    const bool use[] = { true };
    tab_encoder *enc = tab_encode_fit(&e, a, profile, use, data);
    cr_assert_not_null(enc);
    uint32_t *label = tab_arena_new_of(a, uint32_t, rows);
    for (size_t i = 0; i < rows; i++)
        label[i] = second[(*data)->row[i]];
    tab_problem p = { .enc = enc, .data = *data, .classification = true, .outputs = 2, .label = label };
    tab_recipe r = { .learner = { &tab_learn_boost, &tab_learn_linear, &tab_learn_forest },
                     .n = 3,
                     .work = 1e15 };
    tab_stack *s = tab_stack_fit(&e, a, &p, &r);
    cr_assert_not_null(s);
    return s;
}

/* Below a half one class, each row once, and twenty copies of one row far above, of the other. Their fold
 * cannot know their class: that is one error where copies always agree, and twenty where one does not. */
Test(pool, copies_that_agree_are_one_row)
{
    enum { ONCE = 300, COPIES = 20 };
    for (size_t turned = 0; turned < 2; turned++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        double x[ONCE + COPIES], sure = 0;
        bool second[ONCE + COPIES];
        for (size_t i = 0; i < ONCE + COPIES; i++) {
            x[i] = i < ONCE ? tab_unit(tab_mix2(i, 1)) / 2 : 9;
            second[i] = i >= ONCE + turned;
        }
        tab_data *data;
        const tab_stack *s = fit(a, x, second, ONCE + COPIES, &data);
        for (size_t i = 0; i < data->rows; i++)
            if (data->row[i] < ONCE)
                sure += exp((double)s->oof[2 * i]) / ONCE;
        cr_expect(turned ? sure < 0.97 : sure > 0.985, "turned %zu: %g", turned, sure);
    }
}

/* Two classes far apart in a table of which learners may end after a fold: all are right, and how many times
 * a loss of nearly nothing one has is chance. */
Test(pool, nobody_is_behind_by_chance)
{
    enum { N = 1800 };
    static double x[N];
    static bool second[N];
    for (size_t i = 0; i < N; i++) {
        second[i] = i % 2;
        x[i] = tab_unit(tab_mix2(i, 1)) + (second[i] ? 2 : 0);
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    tab_data *data;
    const tab_stack *s = fit(a, x, second, N, &data);
    cr_expect_eq(s->members, 3);
    cr_expect_eq(s->skips, 0, "%s", s->skips > 0 ? s->skipped[0] : "");
}
