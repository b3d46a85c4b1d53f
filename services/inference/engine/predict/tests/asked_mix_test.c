/* Intervals and probabilities are as sure as rows of the asked mix are right (decisions 0495, 0541). */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/predict/fitted_parts.h"

enum { PLANTS = 10, EACH = 90, NOISY = 3, KNOWN = 40, ROWS = PLANTS * EACH, DRAWS = 5 };

static double draw(size_t i, size_t what)
{
    return tab_unit(tab_mix2(i, what));
}

/* Near a normal number. */
static double bell(size_t i, size_t what)
{
    double s = -6;
    for (size_t k = 0; k < 12; k++)
        s += draw(i, 100 * what + k);
    return s;
}

/* A plant's output is its level and what a load adds to it; one plant is twice as noisy. */
static double output(size_t draws, size_t i)
{
    size_t plant = i / EACH, row = i + ROWS * draws;
    return 100 + 20 * bell(plant + PLANTS * draws, 1) + 5 * bell(row, 2) +
           (plant == NOISY ? 12 : 6) * bell(row, 3);
}

/* Whether a row is asked: of the noisy plant those behind its first 40, or one row of eight of all. */
static bool asked(size_t i, bool all)
{
    return all ? draw(i, 9) < 0.12 : i / EACH == NOISY && i % EACH >= KNOWN;
}

/* The share of true values in the 80 % intervals; *said: what the run says of them. */
static double covered(size_t draws, bool all, double *said, bool *mixed)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
    TAB_AUTO(tab_fitted) *f = NULL;
    tab_engine e = { .arena = a };
    tab_builder *b[] = { tab_builder_new(a, TAB_S("plant")), tab_builder_new(a, TAB_S("load")),
                         tab_builder_new(a, TAB_S("output")) };
    tab_column col[3];
    for (size_t i = 0; i < ROWS; i++) {
        char name[32];
        snprintf(name, sizeof name, "plant %zu", i / EACH);
        tab_builder_text(b[0], tab_str_of(name));
        tab_builder_number(b[1], bell(i + ROWS * draws, 2));
        if (asked(i, all))
            tab_builder_null(b[2]);
        else
            tab_builder_number(b[2], output(draws, i));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROWS, .cols = 3, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-2", .target = 2, .task = TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, &f, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, f, false, &m, NULL), TAB_OK);
    const Tabella__Results *r = m->missing_target_results;
    size_t in = 0, levels = m->n_quantile_levels;
    for (size_t i = 0; i < r->n_row; i++) {
        double y = output(draws, r->row[i]);
        in += y >= r->quantiles[i * levels + 1] && y <= r->quantiles[i * levels + levels - 2];
    }
    cr_assert_gt(m->n_regimes, 0);
    *said += m->regimes[0]->score / DRAWS;
    *mixed = f->mix != NULL;
    return (double)in / (double)r->n_row;
}

Test(asked_mix, rows_of_one_noisy_plant_have_its_intervals, .timeout = 300)
{
    double in = 0, said = 0;
    bool mixed;
    for (size_t k = 0; k < DRAWS; k++) {
        in += covered(k, false, &said, &mixed) / DRAWS;
        cr_expect(mixed);
    }
    cr_expect(in > 0.74 && in < 0.9, "80%% intervals cover %.3f", in);
    cr_expect(said > 10 && said < 14, "the error is 12, said %.2f", said);
}

Test(asked_mix, rows_of_all_plants_are_as_they_were, .timeout = 300)
{
    double said = 0;
    bool mixed;
    covered(0, true, &said, &mixed);
    cr_expect_not(mixed);
}

enum { ROOM = 700, END = 100, TABLES = 3 };

/* A class that follows z, but not where x is large. */
static bool says_yes(size_t row)
{
    return draw(row, 13) < 1 / (1 + exp(-(draw(row, 11) > 0.9 ? 0 : 6) * bell(row, 12)));
}

/* A table of two numbers and a target, whose last rows are asked: all of them have a large x. */
static const Tabella__Prediction *end_of_x(tab_arena *a, size_t draws, bool classes, tab_fitted **ret)
{
    tab_engine e = { .arena = a };
    tab_builder *b[] = { tab_builder_new(a, TAB_S("x")), tab_builder_new(a, TAB_S("z")),
                         tab_builder_new(a, TAB_S("y")) };
    tab_column col[3];
    for (size_t i = 0; i < ROOM; i++) {
        size_t row = i + ROOM * draws;
        bool open = i >= ROOM - END;
        double x = open ? 0.9 + 0.1 * draw(row, 11) : draw(row, 11), z = bell(row, 12);
        tab_builder_number(b[0], x);
        tab_builder_number(b[1], z);
        if (open)
            tab_builder_null(b[2]);
        else if (classes)
            tab_builder_text(b[2], says_yes(row) ? TAB_S("yes") : TAB_S("no"));
        else
            tab_builder_number(b[2], 10 * x + (x > 0.9 ? 3 : 1) * bell(row, 14));
    }
    for (size_t c = 0; c < 3; c++)
        cr_assert(tab_builder_finish(b[c], &col[c]));
    tab_table t = { .id = TAB_S("t"), .rows = ROOM, .cols = 3, .col = col };
    tab_profile *p = NULL;
    Tabella__Prediction *m = NULL;
    tab_fit_options o = { .base = "base-2",
                          .target = 2,
                          .task = classes ? TAB_TASK_CLASSIFICATION : TAB_TASK_REGRESSION };
    cr_assert_eq(tab_profile_table(&e, &t, &p, NULL), TAB_OK);
    cr_assert_eq(tab_fit(&e, p, &o, ret, NULL), TAB_OK);
    cr_assert_eq(tab_fitted_results(&e, *ret, false, &m, NULL), TAB_OK);
    cr_assert_eq(m->missing_target_results->n_row, END);
    return m;
}

Test(asked_mix, rows_at_a_noisy_end_of_a_number_have_its_intervals, .timeout = 300)
{
    double in = 0;
    for (size_t k = 0; k < TABLES; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        TAB_AUTO(tab_fitted) *f = NULL;
        const Tabella__Prediction *m = end_of_x(a, k, false, &f);
        const Tabella__Results *r = m->missing_target_results;
        cr_expect(f->mix != NULL);
        for (size_t i = 0; i < END; i++) {
            size_t row = r->row[i] + ROOM * k;
            double y = 10 * (0.9 + 0.1 * draw(row, 11)) + 3 * bell(row, 14);
            const double *q = r->quantiles + i * m->n_quantile_levels;
            in += (double)(y >= q[1] && y <= q[m->n_quantile_levels - 2]) / (END * TABLES);
        }
    }
    cr_expect(in > 0.75 && in < 0.93, "80%% intervals cover %.3f", in);
}

/* Half of what is said of them is right, whatever it is; without the asked rows' temperature 0.63 is said. */
Test(asked_mix, classes_at_an_end_where_nothing_tells_them_are_not_sure, .timeout = 300)
{
    double said = 0;
    for (size_t k = 0; k < TABLES; k++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 30);
        TAB_AUTO(tab_fitted) *f = NULL;
        const Tabella__Results *r = end_of_x(a, k, true, &f)->missing_target_results;
        cr_expect(f->mix != NULL);
        for (size_t i = 0; i < END; i++)
            said += r->probabilities[2 * i + r->label[i]] / (END * TABLES);
    }
    cr_expect(said > 0.5 && said < 0.61, "half are right, said %.3f", said);
}

Test(asked_mix, weights_of_one_give_the_plain_quantile)
{
    tab_weighed v[9], often[9];
    for (size_t i = 0; i < 9; i++)
        v[i] = (tab_weighed){ (double)i, 1 }, often[i] = (tab_weighed){ (double)i, i == 8 ? 4 : 0.25 };
    cr_expect_float_eq(tab_weighed_quantile(v, 9, 0.1), 0, 1e-12);
    cr_expect_float_eq(tab_weighed_quantile(v, 9, 0.5), 4, 1e-12);
    cr_expect_float_eq(tab_weighed_quantile(v, 9, 0.85), 7.5, 1e-12);
    cr_expect_float_eq(tab_weighed_quantile(v, 9, 0.99), 8, 1e-12);
    cr_expect_gt(tab_weighed_quantile(often, 9, 0.5), 7);
}
